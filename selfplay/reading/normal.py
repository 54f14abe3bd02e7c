"""What a test says about results, as terms in one normal form.

A term is a nested tuple in the language of terms.py, except that a result stands with the text of its arguments,
`("result", TEXT)`, and data as canonical text, `("data", TEXT)`: calls and variables get their numbers when a condition
is written (conditions.py). Steps that change nothing for any result are dropped where a term is made (`sorted(list(x))`,
`int(len(x))`, `not not x`, `x == 1 or x == 2`), so that equal statements become equal cases.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from selfplay.cases.equality import canonical
from selfplay.cases.functions import FUNCTIONS, takes
from selfplay.cases.steps import Mismatch
from selfplay.cases.values import Tree, dump, load
from selfplay.reading.refusals import refuse

Term: TypeAlias = tuple[Any, ...]  # a name, then terms, texts and numbers by its kind

TRUE: Term = ("data", "true")
FALSE: Term = ("data", "false")
FLIPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "is": "is", "is_not": "is_not"}
_NEGATED = {"==": "!=", "!=": "==", "is": "is_not", "is_not": "is"}


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


_KINDS = {
    **dict.fromkeys(words("len ord .count .index .find .rfind .bit_length"), "int"),
    **dict.fromkeys(words("list sorted reversed .split .splitlines"), "list"),
    **dict.fromkeys(words("str repr .lower .upper .strip .lstrip .rstrip .replace .join .title .capitalize"), "str"),
    **dict.fromkeys(words("bool not == != < <= > >= in is is_not any all isinstance type_is approx isclose"), "bool"),
    **dict.fromkeys(words(".startswith .endswith .isdigit .isalpha .isalnum .isupper .islower .isspace"), "bool"),
    **dict.fromkeys(words(".issubset .issuperset .isdisjoint"), "bool"),
    "tuple": "tuple",
    "set": "set",
    "float": "float",
    "int": "int",
}


def kind(term: Term) -> str:
    """The name of the type that a term has on every program, where that is known; else empty."""
    if term[0] == "for":
        return term[1]
    if term[0] in ("and", "or"):
        return "bool" if all(kind(part) == "bool" for part in term[1:]) else ""
    if term[0] == "call" and term[1] == "round" and len(term) == 3:
        return "int"
    return _KINDS.get(term[1], "") if term[0] == "call" else ""


# ---- making terms ----


def make(name: str, *terms: Term) -> Term:
    """The call of a function, method or operator, less what changes nothing; refuses arguments that are too many or few."""
    if name in FUNCTIONS and not takes(name, len(terms)):
        refuse("on_value", name=f"{name.lstrip('.')} with these arguments")
    rule = _RULES.get(name)
    found = rule(*terms) if rule else None
    return ("call", name, *terms) if found is None else found


def is_call(term: Term, *names: str) -> bool:
    """Whether a term is a call of one of these functions, methods or operators."""
    return term[0] == "call" and term[1] in names


def _converted(name: str) -> Callable[..., Term | None]:
    return lambda *terms: terms[0] if len(terms) == 1 and kind(terms[0]) == name else None


def _of_items(name: str) -> Callable[..., Term | None]:
    """A function that only looks at the items: list(x) and tuple(x) in it change nothing."""

    def rule(*terms: Term) -> Term | None:
        if len(terms) == 1 and is_call(terms[0], "list", "tuple") and len(terms[0]) == 3:
            inner = terms[0][2]
            return None if name == "len" and is_call(inner, "zip", "enumerate") else make(name, inner)
        if name == "set" and terms and kind(terms[0]) == "set":
            return terms[0]
        return terms[0] if name == "sorted" and len(terms) == 1 and is_call(terms[0], "sorted") else None

    return rule


def _listed(name: str) -> Callable[..., Term | None]:
    def rule(*terms: Term) -> Term | None:
        if len(terms) == 1 and is_call(terms[0], "list", "tuple") and terms[0][1] != name and len(terms[0]) == 3:
            return make(name, terms[0][2])
        return _converted(name)(*terms)

    return rule


def _rounded(*terms: Term) -> Term | None:
    digits = _whole(terms[1]) if len(terms) == 2 else 0
    if digits is None or digits < 0:
        return None
    inner = terms[0]
    if kind(inner) == "int":
        return inner
    if is_call(inner, "round") and len(inner) == 4:
        already = _whole(inner[3])
        return inner if len(terms) == 2 and already is not None and already <= digits else None
    return None


def _whole(term: Term) -> int | None:
    return int(term[1]) if term[0] == "data" and re.fullmatch(r"-?\d{1,9}", term[1]) else None


def _repeated(name: str) -> Callable[..., Term | None]:
    return lambda *terms: (
        terms[0] if len(terms) == 1 and terms[0][:2] == ("call", name) and len(terms[0]) == 3 else None
    )


def _magnitude(*terms: Term) -> Term | None:
    return terms[0] if is_call(terms[0], "len") else _repeated("abs")(*terms)


def _sliced(of: Term, *bounds: Term) -> Term | None:
    whole = all(bound == ("data", "null") for bound in bounds)
    return of if whole and kind(of) in ("list", "tuple", "str") else None


def _not(term: Term) -> Term | None:
    if is_call(term, "not"):
        return make("bool", term[2])
    if is_call(term, "bool"):
        return make("not", term[2])
    if is_call(term, *_NEGATED):
        return make(_NEGATED[term[1]], *term[2:])
    return None


def _compared(name: str) -> Callable[[Term, Term], Term | None]:
    def rule(a: Term, b: Term) -> Term | None:
        if name != "is" and name != "is_not" and (is_call(a, "frozenset") or is_call(b, "frozenset")):
            return make(name, *(make("set", *of[2:]) if is_call(of, "frozenset") else of for of in (a, b)))
        if a[0] == "data":
            return make(FLIPPED[name], b, a) if b[0] != "data" else None
        if b[0] != "data":
            return _related(name, a, b)
        if kind(a) == "bool" and b in (TRUE, FALSE) and name in _NEGATED:
            return a if (b == TRUE) == (name in ("==", "is")) else make("not", a)
        return None

    return rule


def _related(name: str, a: Term, b: Term) -> Term | None:
    """Two terms, neither of them data: written one way round."""
    if name in (">", ">="):
        return ("call", FLIPPED[name], b, a)
    return ("call", name, b, a) if name in ("==", "!=") and repr(b) < repr(a) else None


def _in(a: Term, b: Term) -> Term | None:
    """Membership in a known list: its items once, in one order."""
    if a[0] == "data" or b[0] != "data" or b[1][:4] not in ('["l"', '["t"'):
        return None
    try:
        items = {canonical(item): item for item in reversed(load(b[1])[1:])}
    except Mismatch:
        return None
    if len(items) == 1:
        return make("==", a, ("data", dump(*items.values())))
    found = ("data", dump(["l", *(items[text] for text in sorted(items))]))
    return None if found == b else ("call", "in", a, found)


_RULES: dict[str, Callable[..., Term | None]] = {
    **{name: _converted(name) for name in ("int", "float", "str", "bool")},
    **{name: _of_items(name) for name in ("sorted", "set", "len", "sum", "min", "max", "any", "all")},
    **{name: _listed(name) for name in ("list", "tuple")},
    **{name: _repeated(name) for name in (".lower", ".upper", ".strip")},
    **{name: _compared(name) for name in ("==", "!=", "<", "<=", ">", ">=", "is", "is_not")},
    "abs": _magnitude,
    "round": _rounded,
    "not": _not,
    "[:]": _sliced,
    "in": _in,
}


def joined(connective: str, parts: list[Term]) -> Term:
    """`and` or `or` of several terms: nested ones are taken apart, equal ones count once, `x == 1 or x == 2` is `in`."""
    each = (one for part in parts for one in (part[1:] if part[0] == connective else (part,)))
    flat = list(dict.fromkeys(each))
    if connective == "or":
        flat = _alternatives(flat)
    return flat[0] if len(flat) == 1 else (connective, *flat)


def _alternatives(parts: list[Term]) -> list[Term]:
    """`x == 1 or x == 2` as `x in [1, 2]`, where all parts speak about the same thing."""
    subject = parts[0][2] if is_call(parts[0], "==", "in") else None
    values: list[Tree] = []
    for part in parts:
        if not is_call(part, "==", "in") or part[2] != subject or part[3][0] != "data" or part[2][0] == "data":
            return parts
        tree = load(part[3][1])
        if part[1] == "in" and (type(tree) is not list or tree[0] not in ("l", "t")):
            return parts
        values += tree[1:] if part[1] == "in" else [tree]
    return [make("in", subject, ("data", dump(["l", *values])))] if subject else parts


def calls_of(term: Term) -> Iterator[str]:
    """The arguments of the calls in a term."""
    if term[0] == "result":
        yield term[1]
    for part in term[1:]:
        if isinstance(part, tuple) and part:
            yield from calls_of(part if isinstance(part[0], str) else ("", *part))


def comprehension_of(kind: str, shape: Sequence[tuple[tuple[int, ...], int]], terms: Sequence[Term]) -> Term:
    """The term of a comprehension from those of its iterables, each with its conditions, and of its element."""
    left = iter(terms)
    generators = tuple((next(left), numbers, tuple(next(left) for _ in range(wanted))) for numbers, wanted in shape)
    return ("for", kind, generators, next(left))
