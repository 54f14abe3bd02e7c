"""Python's `==` and bool() on trees, without ever building or hashing an object of the other side's choosing.

1 == 1.0 == True, a list is no tuple, sets and dictionaries are unordered, NaN and opaque values equal nothing, a huge
integer compares exactly with a float. Sets and dictionaries are put in order by one canonical text per item, so the
work is n log n in the size of the frame whatever the items hash to.

Beside the trees of values.py there are those that only views and terms make, which no program can return:

    list? tuple?     a list or tuple in the order of a set. That order is no one's to rely on: whether it equals a list
                     of the same items is a Mismatch, as everything is that depends on it
    keys items       views of a dictionary: they equal sets, and are ordered by inclusion
    values iterator  equal to nothing
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import zip_longest
from math import isfinite, isinf, isnan
from typing import TypeVar

from selfplay.cases.steps import Mismatch
from selfplay.cases.values import Tree, number, whole

SETS = ("s", "z", "keys", "items")
SHUFFLED = ("list?", "tuple?")
Item = TypeVar("Item")
HOLDING = ("l", "t", *SETS, *SHUFFLED, "values", "iterator")  # tags that stand before the items themselves


def equal(a: Tree, b: Tree, rel: float = 0.0, abs: float = 0.0) -> bool:
    """Python's `==` on trees; with a tolerance, numbers may differ by max(rel * |b|, abs), inside sequences too."""
    if type(a) is not list or type(b) is not list:
        if type(a) is type(b) and not (rel or abs):
            return a == b
        return _equal_scalar(a, b, rel, abs)
    tag = a[0]
    if tag == "o" or b[0] == "o":
        return False
    if tag == "l" or tag == "t":
        if tag != b[0]:
            return b[0] in SHUFFLED and _equal_shuffled(b, a)
        return len(a) == len(b) and _equal_items(a, b, rel, abs)
    if tag == "d":
        return b[0] == "d" and _equal_dicts(a, b, rel, abs)
    if tag in SETS:
        return b[0] in SETS and _equal_sets(a, b)
    if tag == "b" or tag == "B":
        return b[0] in ("b", "B") and a[1] == b[1]
    if tag == "r":
        return b[0] == "r" and range_key(a) == range_key(b)
    if tag in SHUFFLED:
        return _equal_shuffled(a, b)
    return _equal_scalar(a, b, rel, abs)


def _equal_items(a: Tree, b: Tree, rel: float, abs: float) -> bool:
    return all(equal(x, y, rel, abs) for x, y in zip(a[1:], b[1:], strict=True))


def _equal_shuffled(a: Tree, b: Tree) -> bool:
    """False where no order of the items makes them equal; else the answer depends on the order."""
    if len(a) == len(b) and b[0] in (a[0], a[0][0]) and sorted_texts(a) == sorted_texts(b):
        raise Mismatch("the order of a set")
    return False


def _equal_scalar(a: Tree, b: Tree, rel: float, abs: float) -> bool:
    x, y = number(a), number(b)
    if x is None or y is None:
        return x is y and type(a) is type(b) and type(a) is not list and a == b
    return x == y or (bool(rel or abs) and near(x, y, rel, abs))


def near(x: int | float | complex, y: int | float | complex, rel: float, abs: float) -> bool:
    """|x - y| <= max(rel * |y|, abs), the rule of pytest.approx; infinities and NaN are near nothing but themselves."""
    try:
        distance, size = magnitude(x - y), magnitude(y)
        return x == y or (isfinite(distance) and isfinite(size) and distance <= max(rel * size, abs))
    except OverflowError:  # an integer beyond the floats
        return not isinstance(x, complex) and not isinstance(y, complex) and _near_exactly(x, y, rel, abs)


def _near_exactly(x: int | float, y: int | float, rel: float, abs: float) -> bool:
    if (isinstance(x, float) and not isfinite(x)) or (isinstance(y, float) and not isfinite(y)):
        return False
    distance, size = magnitude(Fraction(x) - Fraction(y)), magnitude(Fraction(y))
    return distance <= max(Fraction(rel) * size, Fraction(abs))


magnitude = abs


def _equal_sets(a: Tree, b: Tree) -> bool:
    if all(type(item) is int for item in a[1:]) and all(type(item) is int for item in b[1:]):
        return _each_once(sorted(a[1:])) == _each_once(sorted(b[1:]))
    try:
        return items(a) == items(b)
    except Mismatch:
        return False


def _equal_dicts(a: Tree, b: Tree, rel: float, abs: float) -> bool:
    left, right = entries(a), entries(b)
    if left is None or right is None or len(left) != len(right):
        return False
    return all(k == m and equal(v, w, rel, abs) for (k, v), (m, w) in zip(left, right, strict=True))


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
    return _each_once(sorted_texts(tree))


def sorted_texts(tree: Tree) -> list[str]:
    """The canonical texts of all items, sorted. Raises Mismatch for an item that equals nothing."""
    return sorted(map(canonical, tree[1:]))


def _each_once(ordered: list[Item]) -> list[Item]:
    return [one for one, after in zip_longest(ordered, ordered[1:]) if one != after]


_quoted = json.JSONEncoder().encode


def canonical(tree: Tree) -> str:
    """One text for all trees that Python holds equal. Raises Mismatch for NaN and opaque values."""
    kind = type(tree)
    if kind is str:
        return _quoted(tree)
    if kind is int or kind is bool:
        return hex(tree)
    if kind is not list:
        return "null"
    write = _CANONICAL.get(tree[0])
    if write is None:
        raise Mismatch("a value that equals nothing, or has no order")
    return write(tree)


def _canonical_dict(tree: Tree) -> str:
    found = entries(tree)
    if found is None:
        raise Mismatch("a key that equals nothing")
    return "d" + _digest([f"{_digest([key])}:{canonical(value)}" for key, value in found])


def _digest(texts: Sequence[str]) -> str:
    """A nested collection as one short text, so that nobody copies or compares it at every level around it."""
    return hashlib.blake2b("\n".join(texts).encode(), digest_size=24).hexdigest()


def _canonical_number(tree: Tree) -> str:
    value = number(tree)
    if isinstance(value, complex):
        if value.imag != 0:
            return f"c{_canonical_float(value.real)},{_canonical_float(value.imag)}"
        value = value.real
    return hex(value) if isinstance(value, int) else _canonical_float(value or 0.0)


def _canonical_float(value: float) -> str:
    if isnan(value):
        raise Mismatch("NaN equals nothing")
    if isinf(value) or not value.is_integer():
        return "f" + value.hex()
    return hex(int(value))


_CANONICAL: dict[str, Callable[[Tree], str]] = {
    "l": lambda tree: f"[{','.join(map(canonical, tree[1:]))}]",
    "t": lambda tree: f"({','.join(map(canonical, tree[1:]))})",
    **dict.fromkeys(SETS, lambda tree: "s" + _digest(items(tree))),
    "d": _canonical_dict,
    **dict.fromkeys(("b", "B"), lambda tree: f"b{tree[1]}"),
    "r": lambda tree: f"r{':'.join(map(hex, range_key(tree)))}",
    **dict.fromkeys(("f", "I", "c"), _canonical_number),
}


def range_key(tree: Tree) -> tuple[int, ...]:
    """What makes two ranges equal: their sequence."""
    start, stop, step = map(whole, tree[1:])
    length = max(0, -((start - stop) // step))
    return (length, start, step)[: min(length, 2) + 1]


def truth(tree: Tree) -> bool:
    """Python's bool(); raises Mismatch for an opaque value, whose class may say what it likes."""
    value = number(tree)
    if value is not None:
        return bool(value)
    if type(tree) is not list:
        return bool(tree)
    if tree[0] == "o":
        raise Mismatch("an opaque value has no known truth")
    if tree[0] == "r":
        return range_key(tree)[0] > 0
    if tree[0] in ("b", "B"):
        return tree[1] != ""
    return len(tree) > 1 or tree[0] == "iterator"


def hashable(tree: Tree) -> bool:
    """Whether Python could put a value into a set."""
    tag = tag_of(tree)
    if tag == "t":
        return all(map(hashable, tree[1:]))
    return tag not in ("l", "s", "d", "B", "list?", "keys", "items")


def tag_of(tree: Tree) -> str:
    """The tag of a tree; empty for None, booleans, small integers and text."""
    return tree[0] if type(tree) is list else ""
