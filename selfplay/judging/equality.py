"""Python's `==`, `<` and `in` on trees, without ever building or hashing an object of the other side's choosing.

1 == 1.0 == True, a list is no tuple, sets and dictionaries are unordered, NaN and opaque values equal nothing, a huge
integer compares exactly with a float. Sets and dictionaries are put in order by one canonical text per item, so the
work is n log n in the size of the frame whatever the items hash to.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import zip_longest
from math import isfinite, isinf, isnan
from typing import Any

from selfplay.judging.values import Tree, dump, number, whole


class Mismatch(ValueError):
    """A comparison or a step of a view that the returned value does not support: Python would have raised."""


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
        return tag == b[0] and len(a) == len(b) and _equal_items(a, b, rel, abs)
    if tag == "d":
        return b[0] == "d" and _equal_dicts(entries(a), entries(b), rel, abs)
    if tag == "s" or tag == "z":
        return b[0] in ("s", "z") and _equal_sets(a, b)
    if tag == "b" or tag == "B":
        return b[0] in ("b", "B") and a[1] == b[1]
    if tag == "r":
        return b[0] == "r" and range_key(a) == range_key(b)
    return _equal_scalar(a, b, rel, abs)


def _equal_items(a: Tree, b: Tree, rel: float, abs: float) -> bool:
    return all(equal(x, y, rel, abs) for x, y in zip(a[1:], b[1:], strict=True))


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
    try:
        return items(a) == items(b)
    except Mismatch:
        return False


def _equal_dicts(a: list[tuple[str, Tree]] | None, b: list[tuple[str, Tree]] | None, rel: float, abs: float) -> bool:
    if a is None or b is None or len(a) != len(b):
        return False
    return all(k == m and equal(v, w, rel, abs) for (k, v), (m, w) in zip(a, b, strict=True))


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
        return ["r", *map(hex, range_key(tree))]
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
    if tag in ("b", "B"):
        return _in_bytes(a, bytes.fromhex(b[1]))
    raise Mismatch("not a container")


def _in_bytes(a: Tree, whole: bytes) -> bool:
    value = number(a)
    if isinstance(value, int):
        return 0 <= value < 256 and value in whole
    if _tag(a) not in ("b", "B"):
        raise Mismatch("bytes hold bytes")
    return bytes.fromhex(a[1]) in whole


def _in_range(a: Tree, b: Tree) -> bool:
    value = number(a)
    if value is None or isinstance(value, complex) or not (isinstance(value, int) or value.is_integer()):
        return False
    start, stop, step = map(whole, b[1:])
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
    for x, y in zip(a[1:], b[1:], strict=False):
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
