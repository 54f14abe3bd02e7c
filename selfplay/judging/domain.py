"""Which inputs a problem allows: arguments that fit its signature's annotations and its contract; for programs that
read standard input, those that are spelled as the problem's own are.

Annotations are compared here; those that are unknown fit anything, an int fits where a float is asked, a bool only
where a bool is. A contract is code that came with the problem, so it is never evaluated here: `domain_task` makes it a
program for the box, and `allowed` takes the box's word.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from inspect import Parameter, Signature
from typing import Any

from selfplay.box.task import Execution, Limits, Task
from selfplay.cases.calls import call_of, parameters
from selfplay.cases.values import encode
from selfplay.game.problems import Problem, StdinTest

_CONTRACT = "_contract_holds"  # the entry point of a contract as a program


def _is(*kinds: type, but: type | tuple[type, ...] = ()) -> Callable[[object], bool]:
    return lambda value: isinstance(value, kinds) and not isinstance(value, but)


_PLAIN: dict[str, Callable[[object], bool]] = {
    "int": _is(int, but=bool),
    "float": _is(int, float, but=bool),
    "complex": _is(int, float, complex, but=bool),
    "bytes": _is(bytes, bytearray),
    "None": lambda value: value is None,
    "sequence": _is(list, tuple, str, range, bytes),
    "collection": _is(Iterable),
    "callable": lambda value: False,
    **{kind.__name__: _is(kind) for kind in (bool, str, bytearray, list, tuple, dict, set, frozenset, range)},
}
_ALIASES = {
    name: kind
    for kind, names in {
        "list": "List MutableSequence",
        "tuple": "Tuple",
        "dict": "Dict Mapping MutableMapping DefaultDict defaultdict Counter",
        "set": "Set AbstractSet",
        "frozenset": "FrozenSet",
        "sequence": "Sequence",
        "collection": "Iterable Collection",
        "str": "Text",
        "callable": "Callable",
    }.items()
    for name in names.split()
}

_NOTHING: Mapping[str, object] = {}


def conditions(problem: Problem) -> tuple[str, ...]:
    """What the contract asks of the arguments; none where there is no contract."""
    return problem.contract.requires if problem.contract else ()


def domain_task(problem: Problem, calls: Iterable[str], limits: Limits) -> Task | None:
    """The problem's contract as a program, before each distinct call; None where the problem has no conditions."""
    if not conditions(problem):
        return None
    all_hold = " and ".join(f"({condition}\n)" for condition in conditions(problem))
    source = (
        f"{problem.helpers}\nimport math\n"
        f"def {_CONTRACT}({_bare(problem.signature)}):\n    return True if {all_hold} else False\n"
    )
    return Task(source, _CONTRACT, tuple(dict.fromkeys(calls)), problem.imports, limits, secret=True)


def _bare(signature: str) -> str:
    """The signature's parameters without annotations, which may name what is not there; other defaults than literals
    are None."""
    spec = deepcopy(parameters(signature)) or ast.arguments([], [], None, [], [], None, [])
    for node in ast.walk(spec):
        if isinstance(node, ast.arg):
            node.annotation = None
    spec.defaults = [_plain(node) for node in spec.defaults]
    spec.kw_defaults = [node and _plain(node) for node in spec.kw_defaults]
    return ast.unparse(spec)


def _plain(default: ast.expr) -> ast.expr:
    return ast.Constant(None) if _literal(default) is None else default


def contract_holds(ran: Execution) -> bool | None:
    """What the box says of one call. A contract that raises, does not end or does not load allows nothing; None where
    the box failed."""
    return None if ran.status == "infra_error" else ran.status == "returned" and ran.value == encode(True)


def allowed(problem: Problem, call: str, ran: Execution | None = None, annotated: bool = True) -> bool | None:
    """Whether the problem must handle this call, given as its text (for stdin programs the input).

    `ran`: what the contract did on it, see `domain_task`. `annotated` False asks the contract alone. None where there is
    a contract and nobody knows: the box has not run it, or failed; that is infrastructure, not an input from outside.
    """
    if problem.kind == "stdio":
        return not stdin_oddities(problem, call)
    if annotated and not fits_annotations(problem.signature, *call_of(call)):
        return False
    if not conditions(problem):
        return True
    return None if ran is None else contract_holds(ran)


def _literal(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def fits_annotations(signature: str, arguments: Sequence[object], keywords: Mapping[str, object] = _NOTHING) -> bool:
    """Whether a call fits in its parameters and their types. A signature that cannot be parsed fits everything."""
    known = _signature(signature)
    if known is None:
        return True
    try:
        bound = known.bind(*arguments, **keywords)
    except TypeError:
        return False
    for name, value in bound.arguments.items():
        parameter = known.parameters[name]
        values: Iterable[object] = [value]
        if parameter.kind is Parameter.VAR_POSITIONAL:
            values = value
        elif parameter.kind is Parameter.VAR_KEYWORD:
            values = value.values()
        if not all(fits(parameter.annotation, one) for one in values):
            return False
    return True


@lru_cache(maxsize=1024)
def _signature(text: str) -> Signature | None:
    """The parameters of a signature, their annotations as syntax; None where it cannot be parsed."""
    spec = parameters(text)
    if spec is None:
        return None
    placed = [*spec.posonlyargs, *spec.args]
    with_default = placed[len(placed) - len(spec.defaults) :]
    with_default += [one for one, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default]
    kinds = [
        (spec.posonlyargs, Parameter.POSITIONAL_ONLY),
        (spec.args, Parameter.POSITIONAL_OR_KEYWORD),
        ([spec.vararg] if spec.vararg else [], Parameter.VAR_POSITIONAL),
        (spec.kwonlyargs, Parameter.KEYWORD_ONLY),
        ([spec.kwarg] if spec.kwarg else [], Parameter.VAR_KEYWORD),
    ]
    return Signature(
        [
            Parameter(
                one.arg, kind, default=None if one in with_default else Parameter.empty, annotation=one.annotation
            )
            for group, kind in kinds
            for one in group
        ]
    )


def fits(annotation: ast.expr | None, value: object) -> bool:
    """Whether a value fits an annotation, its parts included."""
    match annotation:
        case ast.Constant(value=None):
            return value is None
        case ast.Constant(value=str(text)):
            return _fits_text(text, value)
        case ast.Name() | ast.Attribute():
            name = _name(annotation)
            plain = _PLAIN.get(_ALIASES.get(name, name))
            return plain is None or plain(value)
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return fits(left, value) or fits(right, value)
        case ast.Subscript(value=of, slice=parts):
            return _fits_generic(_name(of), parts.elts if isinstance(parts, ast.Tuple) else [parts], value)
    return True


def _fits_text(text: str, value: object) -> bool:
    try:
        return fits(ast.parse(text, mode="eval").body, value)
    except (SyntaxError, ValueError):
        return True


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _fits_generic(name: str, parts: list[ast.expr], value: object) -> bool:
    if name == "Optional":
        return value is None or fits(parts[0], value)
    if name == "Union":
        return any(fits(part, value) for part in parts)
    if name == "Literal":
        return any(isinstance(part, ast.Constant) and part.value == value for part in parts)
    if name in ("Annotated", "Final"):
        return fits(parts[0], value)
    kind = _ALIASES.get(name, name)
    plain = _PLAIN.get(kind)
    return plain is None or (plain(value) and _parts_fit(kind, parts, value))


def _parts_fit(kind: str, parts: list[ast.expr], value: Any) -> bool:
    """Whether the parts of a value of this kind are what the annotation says."""
    if isinstance(value, dict):
        keys = all(fits(parts[0], key) for key in value)
        return keys and (len(parts) < 2 or all(fits(parts[1], item) for item in value.values()))
    if kind == "tuple":
        if len(parts) == 2 and isinstance(parts[1], ast.Constant) and parts[1].value is Ellipsis:
            return all(fits(parts[0], item) for item in value)
        return len(parts) == len(value) and all(fits(part, item) for part, item in zip(parts, value, strict=True))
    if isinstance(value, (str, bytes, bytearray, range)):
        return True
    return all(fits(parts[0], item) for item in value)


def returns(signature: str) -> str:
    """The text of the return annotation, empty where there is none."""
    return signature.rpartition("->")[2].strip().rstrip(":").strip() if "->" in signature else ""


# ---- standard input ----


def stdin_oddities(problem: Problem, text: str) -> list[str]:
    """What the input's spelling has and that of none of the problem's own inputs: a right program may read its input as
    strictly as those are written."""
    tests = (*problem.baseline_tests, *problem.hidden_tests)
    usual = _usual(tuple(test.input for test in tests if isinstance(test, StdinTest)))
    return sorted(_spelling(text) - usual)


@lru_cache(maxsize=1024)
def _usual(texts: tuple[str, ...]) -> frozenset[str]:
    return frozenset(feature for text in texts for feature in _spelling(text))


_FEATURES = {
    "a blank at the start of a line": re.compile(r"^[^\S\n]", re.MULTILINE),
    "a blank at the end of a line": re.compile(r"[^\S\n]$", re.MULTILINE),
    "two blanks in a row": re.compile(r"[^\S\n]{2}"),
    "a tab": re.compile(r"\t"),
    "a carriage return": re.compile(r"\r"),
    "a blank line at the start": re.compile(r"\A[^\S\n]*\n"),
    "a blank line between others": re.compile(r"\S[^\S\n]*\n[^\S\n]*\n\s*\S"),
    "a blank line at the end": re.compile(r"(?:\A|\n)(?:[^\S\n]*\n|[^\S\n]+)\Z"),
    "no line feed at the end": re.compile(r"[^\n]\Z"),
}
_ORDINARY = str.maketrans("", "", "\n\t\r")


def _spelling(text: str) -> set[str]:
    """The features of a text that a strict reader may stumble over."""
    found = {name for name, pattern in _FEATURES.items() if pattern.search(text)}
    return found if text.translate(_ORDINARY).isprintable() else found | {"a character that is not printable"}
