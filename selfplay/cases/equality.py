"""Python's `==`, `<` and `in` on trees, without ever building or hashing an object of the other side's choosing.

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
from typing import Any

from selfplay.cases.steps import Mismatch, Steps
from selfplay.cases.values import Tree, number, whole

__all__ = ["Mismatch", "Steps", "canonical", "entries", "equal", "items", "member", "near", "order", "truth"]

SETS = ("s", "z", "keys", "items")
SHUFFLED = ("list?", "tuple?")
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
    if len(a) == len(b) and b[0] in (a[0], a[0][0]) and _sorted_texts(a) == _sorted_texts(b):
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
    return _each_once(_sorted_texts(tree))


def _sorted_texts(tree: Tree) -> list[str]:
    return sorted(map(canonical, tree[1:]))


def _each_once(ordered: list[Any]) -> list[Any]:
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


def member(a: Tree, b: Tree) -> bool:
    """Python's `a in b`; raises Mismatch where `b` holds nothing. One pass over both."""
    if type(b) is str and type(a) is str:
        return a in b
    tag = tag_of(b)
    if tag in HOLDING or tag == "d":
        if tag in ("s", "z", "d", "keys") and not (hashable(a) or (tag_of(a) == "s" and tag in ("s", "z"))):
            raise Mismatch("not hashable")
        return bool(positions(a, [key for key, _ in b[1:]] if tag == "d" else b[1:]))
    if tag == "r":
        return _in_range(a, b)
    if tag in ("b", "B"):
        return _in_bytes(a, bytes.fromhex(b[1]))
    raise Mismatch("not a container")


def positions(wanted: Tree, among: Sequence[Tree]) -> list[int]:
    """Where in `among` something equals `wanted`, which is looked through once however long `among` is."""
    if type(wanted) is not list:
        return [position for position, item in enumerate(among) if equal(wanted, item)]
    if wanted[0] in SHUFFLED:
        return _positions_of_shuffled(wanted, among)
    try:
        text = canonical(wanted)
    except Mismatch:
        if _is_shuffled(wanted):
            raise
        return []
    return [position for position, item in enumerate(among) if _same_text(item, text)]


def _positions_of_shuffled(wanted: Tree, among: Sequence[Tree]) -> list[int]:
    """None, where no order of the items makes it equal to one of the others; else the answer depends on the order."""
    texts = _sorted_texts(wanted)
    alike = (item for item in among if tag_of(item) in (wanted[0], wanted[0][0]) and len(item) == len(wanted))
    if any(_sorted_texts(item) == texts for item in alike):
        raise Mismatch("the order of a set")
    return []


def _same_text(tree: Tree, text: str) -> bool:
    try:
        return canonical(tree) == text
    except Mismatch:
        if _is_shuffled(tree):
            raise
        return False


def _is_shuffled(tree: Tree) -> bool:
    return type(tree) is list and (tree[0] in SHUFFLED or any(map(_is_shuffled, tree[1:])))


def _in_bytes(a: Tree, whole: bytes) -> bool:
    value = number(a)
    if isinstance(value, int):
        if not 0 <= value < 256:
            raise Mismatch("a byte lies in range(256)")
        return value in whole
    if tag_of(a) not in ("b", "B"):
        raise Mismatch("bytes hold bytes")
    return bytes.fromhex(a[1]) in whole


def _in_range(a: Tree, b: Tree) -> bool:
    value = number(a)
    if value is None or isinstance(value, complex) or not (isinstance(value, int) or value.is_integer()):
        return False
    start, stop, step = map(whole, b[1:])
    inside = start <= value < stop if step > 0 else stop < value <= start
    return inside and (int(value) - start) % step == 0


def order(a: Tree, b: Tree, test: Callable[[Any, Any], bool], steps: Steps | None = None) -> bool:
    """Python's ordering: numbers, texts, bytes, sequences item by item, sets by inclusion; else Mismatch."""
    steps = steps or Steps()
    steps.spend(2)
    if tag_of(a) in ("l", "t"):
        found = _deciding(a, b, steps)
        if found is None:
            return test(0, 0)
        a, b = found
    steps.weigh(a)
    steps.weigh(b)
    x, y = number(a), number(b)
    if x is not None and y is not None and not isinstance(x, complex) and not isinstance(y, complex):
        return test(x, y)
    if type(a) is str and type(b) is str:
        return test(a, b)
    left, right = tag_of(a), tag_of(b)
    if left in ("b", "B") and right in ("b", "B"):
        return test(a[1], b[1])
    if left in SETS and right in SETS:
        return _order_sets(items(a), items(b), test)
    raise Mismatch("not comparable")


def _deciding(a: Tree, b: Tree, steps: Steps) -> tuple[Tree, Tree] | None:
    """The first parts of two sequences that differ, as deep as both go, in one pass: what their order hangs on. Their
    lengths where one is the beginning of the other, None where they are equal."""
    steps.spend()
    if type(a) is not list or type(b) is not list:
        return None if equal(a, b) else (a, b)
    if a[0] != b[0] or a[0] not in ("l", "t"):
        steps.weigh(a)
        steps.weigh(b)
        return None if equal(a, b) else (a, b)
    for x, y in zip(a[1:], b[1:], strict=False):
        found = _deciding(x, y, steps)
        if found is not None:
            return found
    return None if len(a) == len(b) else (len(a), len(b))


def _order_sets(a: list[str], b: list[str], test: Callable[[Any, Any], bool]) -> bool:
    if test(1, 2):  # < or <=: swap so that only inclusion of the second in the first is asked
        a, b = b, a
    have = iter(a)
    included = all(any(text == other for other in have) for text in b)
    return included and (test(1, 1) or len(a) > len(b))


def tag_of(tree: Tree) -> str:
    """The tag of a tree; empty for None, booleans, small integers and text."""
    return tree[0] if type(tree) is list else ""
