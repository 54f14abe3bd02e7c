"""Conditions on results, drawn at random: what a test may say of `f(1)`, and what Python can answer at once."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from benchmarks.fuzz_values import SCALARS, is_plain, similar, value
from selfplay.reading.known import BUILTINS
from selfplay.reading.methods import METHODS

STEPS = (
    *(
        "len({})",
        "sorted({})",
        "list({})",
        "tuple({})",
        "set({})",
        "sum({})",
        "min({})",
        "max({})",
        "abs({})",
        "str({})",
    ),
    *(
        "int({})",
        "float({})",
        "bool({})",
        "round({})",
        "round({}, 1)",
        "round({}, -1)",
        "any({})",
        "all({})",
        "list(reversed({}))",
    ),
    *(
        "{}[0]",
        "{}[-1]",
        "{}[1:]",
        "{}[::-1]",
        "{}[:2]",
        "{}[1:9:2]",
        "{}['a']",
        "{}[1]",
        "{}.lower()",
        "{}.upper()",
        "{}.strip()",
    ),
    *(
        "sorted({}, reverse=True)",
        "sorted({}, key=len)",
        "sorted({}.items())",
        "list({}.keys())",
        "list({}.values())",
        "dict({})",
    ),
    *(
        "[x for x in {}]",
        "[x + x for x in {} if x]",
        "{{x for x in {}}}",
        "[len(x) for x in {}]",
        "frozenset({})",
        "type({})",
    ),
    *(
        "{}.split()",
        "{}.startswith('a')",
        "{}.endswith('b')",
        "{}.count(1)",
        "{}.index(1)",
        "{}.isdigit()",
        "''.join({})",
        "-{}",
    ),
    *(
        "{} % 2",
        "{} + 1",
        "{} * 2",
        "{} + {}",
        "2 * {}",
        "{} // 2",
        "{} - 1",
        "1 - {}",
        "{} | {{1}}",
        "{} & {{1}}",
        "[{}]",
        "({}, 1)",
    ),
    *(
        "list(zip({}, {}[1:]))",
        "list(enumerate({}))",
        "list(map(str, {}))",
        "min({}, key=abs)",
        "{}.get('a')",
        "{}.copy()",
        "not {}",
    ),
)
TESTS = (
    *(
        "isinstance({}, (int, str))",
        "isinstance({}, list)",
        "isinstance({}, bool)",
        "isinstance({}, float)",
        "type({}) is int",
    ),
    *(
        "type({}) == list",
        "{} is None",
        "{} is not None",
        "{} is True",
        "{} is False",
        "not {}",
        "{}",
        "bool({})",
        "1 in {}",
    ),
    *(
        "'a' in {}",
        "[] not in {}",
        "all(x > 0 for x in {})",
        "any(x == 1 for x in {})",
        "all(isinstance(x, int) for x in {})",
    ),
    *(
        "all(a <= b for a, b in zip({}, {}[1:]))",
        "0 <= {} <= 3",
        "0 < {} < 10",
        "len({}) == len(set({}))",
        "{} == {}[::-1]",
    ),
    *(
        "{} == sorted({})",
        "len({}) > 0",
        "math.isclose({}, 1.0)",
        "abs({} - 1) < 0.5",
        "abs({} - 0.1) <= 1e-9",
        "{}.isalpha()",
    ),
    *(
        "all(len(x) == 2 for x in {})",
        "{} == 1 or {} == 2",
        "{} and len({}) == 2",
        "set({}) <= {{1, 2, 3}}",
        "sum({}) > 1",
    ),
    *(
        "f(1) == f(2)",
        "f(1) != f(2)",
        "f(1) < f(2)",
        "f(1) is f(2)",
        "len(f(1)) <= len(f(2))",
        "sorted(f(1)) == sorted(f(2))",
    ),
    *(
        "f(1) == f(2)[::-1]",
        "set(f(1)) == set(f(2))",
        "f(1) in f(2)",
        "f(1) + f(2) == f(2) + f(1)",
        "type(f(1)) is type(f(2))",
    ),
)
RELATIONS = ("==", "==", "==", "!=", "<", "<=", ">", ">=", "in", "not in")


def condition(random: Random, call: str, evaluate: Callable[[str], Any] | None = None) -> str:
    """A condition on `call`. `evaluate` lets the other side be what Python says, or something like it."""
    draw = random.random()
    if draw < 0.3:
        text = random.choice(TESTS).replace("{}", _seen(random, call, 1)).replace("{{", "{").replace("}}", "}")
        return f"not ({text})" if random.random() < 0.2 else text
    seen = _seen(random, call, 2)
    if draw < 0.4:
        seen = _known(random, seen)
    other = _other_side(random, seen, evaluate)
    relation = random.choice(RELATIONS)
    text = f"{seen} {relation} {other}" if random.random() < 0.85 else f"{other} {relation} {seen}"
    if random.random() < 0.06:
        return f"{text} {random.choice(('or', 'and'))} {seen} == {_literal(random)}"
    return text


def _seen(random: Random, call: str, most: int) -> str:
    for _ in range(random.choice((0, 1, 1, most))):
        call = random.choice(STEPS).replace("{}", call).replace("{{", "{").replace("}}", "}")
    return call if call.endswith((")", "]")) and call[0] not in "-[({n1" else f"({call})"


def _known(random: Random, seen: str) -> str:
    """Any function or method of the reader's around a result."""
    if random.random() < 0.5:
        return f"{random.choice(_FUNCTIONS)}({seen}{random.choice(('', '', ', 1', ', 2'))})"
    kind = random.choice(sorted(METHODS, key=lambda kind: kind.__name__))
    arguments = random.choice(("", "", "1", "'a'", "'a', 'b'", "[1, 2]", "0, 1"))
    return f"{seen}.{random.choice(sorted(METHODS[kind]))}({arguments})"


def _other_side(random: Random, seen: str, evaluate: Callable[[str], Any] | None) -> str:
    if evaluate is not None and random.random() < 0.7:
        try:
            found = evaluate(seen)
        except Exception:  # noqa: BLE001 (whatever Python says of an expression drawn at random)
            return _literal(random)
        if random.random() < 0.4:
            found = similar(random, found)
        if _is_literal(found):
            return repr(found)
    return _literal(random)


def _literal(random: Random) -> str:
    for _ in range(9):
        drawn = value(random, 1)
        if _is_literal(drawn):
            return repr(drawn)
    return "0"


def _is_literal(found: Any) -> bool:
    """Whether repr() is an expression for it that the reader takes."""
    if isinstance(found, (list, tuple, set, frozenset)):
        return all(map(_is_literal, found)) and len(repr(found)) < 2000
    if isinstance(found, dict):
        return all(_is_literal(key) and _is_literal(item) for key, item in found.items())
    return type(found) in _SCALAR_TYPES and is_plain(found) and len(repr(found)) < 2000


_SCALAR_TYPES = {type(scalar) for scalar in SCALARS}
_FUNCTIONS = sorted(
    name for name in BUILTINS if name[0].islower() and name not in ("print", "range", "bytes", "bytearray")
)
