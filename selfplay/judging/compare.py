"""The trusted comparison: what a program returned against what a case expects, with Python's semantics, over trees.

1 == 1.0 == True, a list is no tuple, sets and dictionaries are unordered, NaN and opaque values equal nothing, a huge
integer compares exactly with a float. Nothing that came from a program is ever hashed by its value or rebuilt: sets and
dictionaries are put in order by a canonical text of each item, so the work is n log n in the size of the frame.

What Python would answer with a TypeError (`3 < "a"`) is a failed case here: the program returned, and returned wrong.
"""

from __future__ import annotations

import hashlib
import json
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import zip_longest
from math import inf, isfinite, isinf, isnan
from typing import Any

from selfplay.judging.cases import Case, Execution, Verdict
from selfplay.judging.values import Tree, dump, load, number
from selfplay.judging.views import Mismatch, view

_STATUS: dict[str, Verdict] = {
    "timeout": "timeout",
    "crashed": "error",
    "not_collected": "not_collected",
    "infra_error": "infra_error",
}


def check(case: Case, execution: Execution) -> Verdict:
    """The verdict on one call. Never raises, whatever the program returned."""
    if execution.status in _STATUS:
        return _STATUS[execution.status]
    if case.operator == "raises":
        expected = set(json.loads(case.expected))
        return "passed" if execution.status == "raised" and expected & set(execution.exception) else "failed"
    if execution.status == "raised":
        return "error"
    if case.operator == "stdout":
        return _verdict(same_output(execution.value, case.expected, case.tolerance))
    try:
        tree = load(execution.value)
    except ValueError:
        return "error"
    return _verdict(holds(case, tree))


def _verdict(passed: bool) -> Verdict:
    return "passed" if passed else "failed"


def holds(case: Case, tree: Tree) -> bool:
    """Whether the returned `tree` is what the case (neither `raises` nor `stdout`) expects."""
    try:
        seen = view(case.view, tree)
        if case.operator in ("truthy", "falsy"):
            return truth(seen) == (case.operator == "truthy")
        return _OPERATORS[case.operator](seen, load(case.expected), case.tolerance)
    except (Mismatch, RecursionError):
        return False


def _approx(a: Tree, b: Tree, tolerance: tuple[float, float]) -> bool:
    if _tag(a) in ("l", "t") and _tag(b) in ("l", "t"):  # pytest.approx and friends do not tell them apart
        a, b = ["l", *a[1:]], ["l", *b[1:]]
    return equal(a, b, *tolerance)


def _is(a: Tree, b: Tree, tolerance: tuple[float, float]) -> bool:
    return a is b if a is None or type(a) is bool else False


_OPERATORS: dict[str, Callable[[Tree, Tree, tuple[float, float]], bool]] = {
    "==": lambda a, b, _: equal(a, b),
    "!=": lambda a, b, _: not equal(a, b),
    "<": lambda a, b, _: order(a, b, operator.lt),
    "<=": lambda a, b, _: order(a, b, operator.le),
    ">": lambda a, b, _: order(a, b, operator.gt),
    ">=": lambda a, b, _: order(a, b, operator.ge),
    "is": _is,
    "is_not": lambda a, b, t: not _is(a, b, t),
    "in": lambda a, b, _: member(a, b),
    "not_in": lambda a, b, _: not member(a, b),
    "approx": _approx,
}


def equal(a: Tree, b: Tree, rel: float = 0.0, abs: float = 0.0) -> bool:
    """Python's `==` on trees; with a tolerance, numbers may differ by max(rel * |b|, abs), in sequences and values too."""
    if type(a) is not list or type(b) is not list:
        if type(a) is type(b) and not (rel or abs):
            return a == b
        return _equal_scalar(a, b, rel, abs)
    tag = a[0]
    if tag == "o" or b[0] == "o":
        return False
    if tag == "l" or tag == "t":
        return tag == b[0] and len(a) == len(b) and all(equal(x, y, rel, abs) for x, y in zip(a[1:], b[1:]))
    if tag == "d":
        return b[0] == "d" and _equal_dicts(entries(a), entries(b), rel, abs)
    if tag == "s" or tag == "z":
        return b[0] in ("s", "z") and _equal_sets(a, b)
    if tag == "b" or tag == "B":
        return b[0] in ("b", "B") and a[1] == b[1]
    if tag == "r":
        return b[0] == "r" and range_key(a) == range_key(b)
    return _equal_scalar(a, b, rel, abs)


def _equal_scalar(a: Tree, b: Tree, rel: float, abs: float) -> bool:
    x, y = number(a), number(b)
    if x is None or y is None:
        return x is y and type(a) is type(b) and type(a) is not list and a == b
    return x == y or (bool(rel or abs) and near(x, y, rel, abs))


def near(x: int | float | complex, y: int | float | complex, rel: float, abs: float) -> bool:
    """|x - y| <= max(rel * |y|, abs), the rule of pytest.approx; infinities and NaN are near nothing but themselves."""
    if isinstance(x, complex) or isinstance(y, complex):
        distance, size = magnitude(complex(x) - complex(y)), magnitude(complex(y))
        return not isnan(distance) and isfinite(size) and distance <= max(rel * size, abs)
    if isnan(x) if isinstance(x, float) else False:
        return False
    try:
        if isinf(x) or isinf(y):
            return x == y
        return magnitude(x - y) <= max(rel * magnitude(y), abs)
    except OverflowError:  # an integer beyond the floats
        return _near_exactly(x, y, rel, abs)


def _near_exactly(x: int | float, y: int | float, rel: float, abs: float) -> bool:
    if x in (inf, -inf) or y in (inf, -inf) or x != x or y != y:
        return False
    distance, size = magnitude(Fraction(x) - Fraction(y)), magnitude(Fraction(y))
    return distance <= max(Fraction(rel) * size, Fraction(abs))


magnitude = abs


def _equal_sets(a: Tree, b: Tree) -> bool:
    try:
        return items(a) == items(b)
    except Mismatch:
        return False


def _equal_dicts(a: list[tuple[str, Tree]] | None, b: list[tuple[str, Tree]] | None, rel: float, abs: float) -> bool:
    if a is None or b is None or len(a) != len(b):
        return False
    return all(k == l and equal(v, w, rel, abs) for (k, v), (l, w) in zip(a, b))


def entries(tree: Tree) -> list[tuple[str, Tree]] | None:
    """A dictionary's values by the canonical text of their key, sorted; None where a key equals nothing."""
    try:
        keyed = [(canonical(key), position) for position, (key, _) in enumerate(tree[1:])]
    except Mismatch:
        return None
    keyed.sort()
    last = [pair for pair, after in zip_longest(keyed, keyed[1:]) if after is None or after[0] != pair[0]]
    return [(key, tree[1 + position][1]) for key, position in last]


def items(tree: Tree) -> list[str]:
    """The canonical texts of a set's items, sorted, each once. Raises Mismatch for an item that equals nothing."""
    texts = sorted(canonical(item) for item in tree[1:])
    return [text for text, after in zip_longest(texts, texts[1:]) if text != after]


def canonical(tree: Tree) -> str:
    """One text for all trees that Python holds equal. Raises Mismatch for NaN and opaque values."""
    return dump(_canonical(tree))


def _canonical(tree: Tree) -> Any:
    if type(tree) is str or tree is None:
        return tree
    value = number(tree)
    if value is not None:
        return _canonical_number(value)
    tag = tree[0]
    if tag in ("l", "t"):
        return [tag, *(_canonical(item) for item in tree[1:])]
    if tag in ("s", "z"):
        return ["s", _digest(items(tree))]
    if tag == "d":
        pairs = [[_digest([key]), _canonical(item)] for key, item in _known(entries(tree))]
        return ["d", _digest([dump(pair) for pair in pairs])]
    if tag in ("b", "B"):
        return ["b", tree[1]]
    if tag == "r":
        return ["r", *range_key(tree)]
    raise Mismatch("an opaque value equals nothing")


def _known(entries: list[tuple[str, Tree]] | None) -> list[tuple[str, Tree]]:
    if entries is None:
        raise Mismatch("a key that equals nothing")
    return entries


def _digest(texts: Sequence[str]) -> str:
    """A nested collection as one short text: writing it out would escape its quotes anew at every level."""
    return hashlib.blake2b("\n".join(texts).encode(), digest_size=24).hexdigest()


def _canonical_number(value: int | float | complex) -> Any:
    if isinstance(value, complex):
        if value.imag == 0:
            return _canonical_number(value.real)
        return ["c", _canonical_number(value.real), _canonical_number(value.imag)]
    if isinstance(value, float):
        if isnan(value):
            raise Mismatch("NaN equals nothing")
        if isinf(value) or not value.is_integer():
            return ["f", value.hex()]
    return ["n", hex(int(value))]


def range_key(tree: Tree) -> tuple[int, ...]:
    """What makes two ranges equal: their sequence."""
    start, stop, step = (int(number(part) or 0) for part in tree[1:])
    length = max(0, -((start - stop) // step))
    return (length, start, step)[: min(length, 2) + 1]


def truth(tree: Tree) -> bool:
    """Python's bool(); an opaque value is true to nobody's profit, so it is a mismatch."""
    value = number(tree)
    if value is not None:
        return bool(value)
    if type(tree) is not list:
        return bool(tree)
    if tree[0] == "o":
        raise Mismatch("an opaque value has no known truth")
    if tree[0] == "r":
        return range_key(tree)[0] > 0
    return len(tree) > 1 and tree[1] != "" if tree[0] in ("b", "B") else len(tree) > 1


def member(a: Tree, b: Tree) -> bool:
    """Python's `a in b`; raises Mismatch where `b` holds nothing."""
    if type(b) is str and type(a) is str:
        return a in b
    tag = _tag(b)
    if tag in ("l", "t", "s", "z"):
        return any(equal(a, item) for item in b[1:])
    if tag == "d":
        return any(equal(a, key) for key, _ in b[1:])
    if tag == "r":
        return _in_range(a, b)
    raise Mismatch("not a container")


def _in_range(a: Tree, b: Tree) -> bool:
    value = number(a)
    if value is None or isinstance(value, complex) or value != value or value in (inf, -inf) or int(value) != value:
        return False
    start, stop, step = (int(number(part) or 0) for part in b[1:])
    inside = start <= value < stop if step > 0 else stop < value <= start
    return inside and (int(value) - start) % step == 0


def order(a: Tree, b: Tree, test: Callable[[Any, Any], bool]) -> bool:
    """Python's ordering: numbers, texts, bytes, sequences item by item, sets by inclusion; else Mismatch."""
    x, y = number(a), number(b)
    if x is not None and y is not None and not isinstance(x, complex) and not isinstance(y, complex):
        return test(x, y)
    if type(a) is str and type(b) is str:
        return test(a, b)
    left, right = _tag(a), _tag(b)
    if left in ("b", "B") and right in ("b", "B"):
        return test(a[1], b[1])
    if left == right and left in ("l", "t"):
        return _order_sequences(a, b, test)
    if left in ("s", "z") and right in ("s", "z"):
        return _order_sets(items(a), items(b), test)
    raise Mismatch("not comparable")


def _order_sequences(a: Tree, b: Tree, test: Callable[[Any, Any], bool]) -> bool:
    for x, y in zip(a[1:], b[1:]):
        if not equal(x, y):
            return order(x, y, test)
    return test(len(a), len(b))


def _order_sets(a: list[str], b: list[str], test: Callable[[Any, Any], bool]) -> bool:
    if test(1, 2):  # < or <=: swap so that only inclusion of the second in the first is asked
        a, b = b, a
    have = iter(a)
    included = all(any(text == other for other in have) for text in b)
    return included and (test(1, 1) or len(a) > len(b))


def _tag(tree: Tree) -> str:
    return tree[0] if type(tree) is list else ""


def same_output(printed: str, expected: str, tolerance: tuple[float, float] = (0.0, 0.0)) -> bool:
    """Line by line; blanks at the end of a line and empty lines at the end count for nothing."""
    got, want = _lines(printed), _lines(expected)
    if len(got) != len(want):
        return False
    if not any(tolerance):
        return got == want
    return all(_same_line(x, y, tolerance) for x, y in zip(got, want))


def _lines(text: str) -> list[str]:
    return "\n".join(line.rstrip() for line in text.replace("\r\n", "\n").split("\n")).rstrip("\n").split("\n")


def _same_line(got: str, want: str, tolerance: tuple[float, float]) -> bool:
    tokens, wanted = got.split(), want.split()
    return len(tokens) == len(wanted) and all(_same_token(x, y, tolerance) for x, y in zip(tokens, wanted))


def _same_token(got: str, want: str, tolerance: tuple[float, float]) -> bool:
    if got == want:
        return True
    try:
        return near(float(got), float(want), *tolerance)
    except ValueError:
        return False
