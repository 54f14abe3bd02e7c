"""Which arguments a problem allows: those that fit its signature's annotations and its contract.

Annotations that are unknown here fit anything; an int fits where a float is asked, a bool only where a bool is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from selfplay.cases.calls import parameters
from selfplay.game.problems import Problem
from selfplay.reading.interpret import holds
from selfplay.reading.refusals import NotReadable

_PLAIN: dict[str, Callable[[object], bool]] = {
    "int": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "float": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "complex": lambda value: isinstance(value, (int, float, complex)) and not isinstance(value, bool),
    "bool": lambda value: isinstance(value, bool),
    "str": lambda value: isinstance(value, str),
    "bytes": lambda value: isinstance(value, (bytes, bytearray)),
    "bytearray": lambda value: isinstance(value, bytearray),
    "None": lambda value: value is None,
    "list": lambda value: isinstance(value, list),
    "tuple": lambda value: isinstance(value, tuple),
    "dict": lambda value: isinstance(value, dict),
    "set": lambda value: isinstance(value, set),
    "frozenset": lambda value: isinstance(value, frozenset),
    "range": lambda value: isinstance(value, range),
    "sequence": lambda value: isinstance(value, (list, tuple, str, range, bytes)),
    "collection": lambda value: isinstance(value, (list, tuple, str, range, bytes, dict, set, frozenset)),
    "callable": lambda value: False,
}
_ALIASES = {
    "List": "list",
    "MutableSequence": "list",
    "Tuple": "tuple",
    "Dict": "dict",
    "Mapping": "dict",
    "MutableMapping": "dict",
    "DefaultDict": "dict",
    "defaultdict": "dict",
    "Counter": "dict",
    "Set": "set",
    "AbstractSet": "set",
    "FrozenSet": "frozenset",
    "Sequence": "sequence",
    "Iterable": "collection",
    "Collection": "collection",
    "Text": "str",
    "Callable": "callable",
}


_NOTHING: Mapping[str, object] = {}


def in_domain(
    problem: Problem, arguments: Sequence[object], keywords: Mapping[str, object] = _NOTHING, annotated: bool = True
) -> bool:
    """Whether the problem must handle a call with these arguments. `annotated` False asks the contract alone."""
    if annotated and not fits_annotations(problem.signature, arguments, keywords):
        return False
    if problem.contract is None or not problem.contract.requires:
        return True
    bound = named(problem.signature, arguments, keywords)
    if bound is None:
        return False
    try:
        return holds(problem.contract.requires, bound)
    except NotReadable:
        return False


def named(
    signature: str, arguments: Sequence[object], keywords: Mapping[str, object] = _NOTHING
) -> dict[str, object] | None:
    """Arguments by parameter name, with the signature's literal defaults; None where Python could not bind them."""
    spec = parameters(signature)
    if spec is None:
        return None
    places = [argument.arg for argument in (*spec.posonlyargs, *spec.args)]
    by_name = [argument.arg for argument in (*spec.args, *spec.kwonlyargs)]
    if len(arguments) > len(places) and spec.vararg is None:
        return None
    bound: dict[str, object] = dict(zip(places, arguments, strict=False))
    if any(name in bound or (name not in by_name and spec.kwarg is None) for name in keywords):
        return None
    bound |= {name: value for name, value in keywords.items() if name in by_name}
    if spec.vararg is not None:
        bound[spec.vararg.arg] = tuple(arguments[len(places) :])
    if spec.kwarg is not None:
        bound[spec.kwarg.arg] = {name: value for name, value in keywords.items() if name not in by_name}
    for name, default in _defaults(spec):
        bound.setdefault(name, _literal(default))
    return bound if all(name in bound for name in (*places, *by_name)) else None


def _defaults(spec: ast.arguments) -> list[tuple[str, ast.expr]]:
    places = [*spec.posonlyargs, *spec.args]
    last = zip(places[len(places) - len(spec.defaults) :], spec.defaults, strict=True)
    named_only = zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
    return [(argument.arg, default) for argument, default in (*last, *named_only) if default is not None]


def _literal(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def fits_annotations(signature: str, arguments: Sequence[object], keywords: Mapping[str, object] = _NOTHING) -> bool:
    """Whether a call fits in its parameters and their types. A signature that cannot be parsed fits everything."""
    spec = parameters(signature)
    if spec is None:
        return True
    if named(signature, arguments, keywords) is None:
        return False
    positional = [*spec.posonlyargs, *spec.args]
    rest = spec.vararg.annotation if spec.vararg else None
    annotations = [argument.annotation for argument in positional]
    annotations += [rest] * (len(arguments) - len(positional))
    others = spec.kwarg.annotation if spec.kwarg else None
    by_name = {argument.arg: argument.annotation for argument in (*spec.args, *spec.kwonlyargs)}
    fitting = all(fits(annotation, value) for annotation, value in zip(annotations, arguments, strict=False))
    return fitting and all(fits(by_name.get(name, others), value) for name, value in keywords.items())


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
