"""Python's `==` and bool() on trees, without ever building or hashing an object of the other side's choosing.

1 == 1.0 == True == Decimal(1), a list is no tuple and a named tuple is one, sets and dictionaries are unordered (two
OrderedDicts are not, and what a Counter lacks counts 0 in another), NaN, iterators, handles and opaque values equal
nothing, numbers compare exactly, functions by their text. Sets and dictionaries are put in order by one canonical text
per item, so the work is n log n in the size of the frame whatever the items hash to.

Left out: a Decimal beyond 10**1000 or below 10**-1000 equals Decimals alone.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import zip_longest
from math import isinf, isnan, nan
from typing import Any, TypeVar

from selfplay.cases.steps import Mismatch
from selfplay.cases.values import Tree, number, rebuild, whole

SETS = ("s", "z")
Item = TypeVar("Item")
SEQUENCES = ("l", "t", "n", "q")
PAIRS = ("d", "C", "O", "dd")
EXACT = ("D", "F")
NOTHING = ("o", "g", "h")  # tags of what equals nothing
_BY_TEXT = ("date", "datetime", "time", "delta", "u", "y")
_FIRST = {"n": 3, "q": 2}  # where the items of a sequence begin, if not at 1


def equal(a: Tree, b: Tree) -> bool:
    """Python's `==` on trees."""
    if type(a) is not list or type(b) is not list:
        return a == b if type(a) is type(b) else _equal_scalar(a, b)
    tag, other = a[0], b[0]
    if tag in NOTHING or other in NOTHING:
        return False
    if tag in SEQUENCES:
        return _KIND.get(tag, tag) == _KIND.get(other, other) and _equal_items(items_of(a), items_of(b))
    if tag in PAIRS:
        return other in PAIRS and _equal_dicts(a, b)
    if tag in SETS:
        return other in SETS and _equal_sets(a, b)
    if tag == "b" or tag == "B":
        return other in ("b", "B") and a[1] == b[1]
    if tag == "r":
        return other == "r" and range_key(a) == range_key(b)
    if tag in _BY_TEXT:
        return tag == other and canonical(a) == canonical(b)
    return _equal_scalar(a, b)


_KIND = {"n": "t"}  # a named tuple is compared as a tuple


def items_of(tree: Tree) -> list[Tree]:
    """The items of a sequence or a set."""
    return tree[_FIRST.get(tree[0], 1) :]


def _equal_items(a: list[Tree], b: list[Tree]) -> bool:
    return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))


def _equal_scalar(a: Tree, b: Tree) -> bool:
    x, y = number(a), number(b)
    if x is None or y is None:
        if tag_of(a) in EXACT or tag_of(b) in EXACT:
            return _equal_exact(a, b)
        return x is y and type(a) is type(b) and type(a) is not list and a == b
    return x == y


def _equal_exact(a: Tree, b: Tree) -> bool:
    """Two numbers of which one is a Decimal or a Fraction."""
    try:
        return all(number(tree) is not None or tag_of(tree) in EXACT for tree in (a, b)) and canonical(a) == canonical(
            b
        )
    except Mismatch:  # NaN
        return False


def _equal_sets(a: Tree, b: Tree) -> bool:
    if all(type(item) is int for item in a[1:]) and all(type(item) is int for item in b[1:]):
        return _each_once(sorted(a[1:])) == _each_once(sorted(b[1:]))
    try:
        return items(a) == items(b)
    except Mismatch:
        return False


def _equal_dicts(a: Tree, b: Tree) -> bool:
    left, right = entries(a), entries(b)
    if left is None or right is None:
        return False
    if a[0] == b[0] == "C":
        counts, others = dict(left), dict(right)
        return all(equal(counts.get(key, 0), others.get(key, 0)) for key in counts | others)
    if len(left) != len(right) or (a[0] == b[0] == "O" and _keys(a) != _keys(b)):
        return False
    return all(k == m and equal(v, w) for (k, v), (m, w) in zip(left, right, strict=True))


def _keys(tree: Tree) -> list[str]:
    """The canonical texts of a dictionary's keys in its order."""
    return list(dict.fromkeys(canonical(key) for key, _ in tree[1:]))


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
    return _each_once(sorted(map(canonical, tree[1:])))


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


def _canonical_exact(tree: Tree) -> str:
    """A Decimal or a Fraction; where an int or a float is its equal, the text of that."""
    value = rebuild(tree)
    if isinstance(value, Decimal):
        if not value.is_finite():
            return _canonical_float(nan if value.is_nan() else float(value))
        if value and abs(value.adjusted()) > 1_000:
            digits = "".join(map(str, value.as_tuple().digits)).rstrip("0")
            return f"D{'-' * value.is_signed()}{digits}e{value.adjusted()}"
    top, bottom = value.as_integer_ratio()
    if bottom == 1:
        return hex(top)
    if top.bit_length() <= 53 and bottom.bit_length() <= 1_075 and top / bottom == value:
        return _canonical_float(top / bottom)
    return f"q{top:x}/{bottom:x}"


def _canonical_time(tree: Tree) -> str:
    """A point or a span of time; where a time zone is known, in microseconds of universal time."""
    value: Any = rebuild(tree)
    zone = value.utcoffset() if isinstance(value, (dt.datetime, dt.time)) else None
    if zone is None:
        return f"{tree[0]} {value}"
    day = value.toordinal() if isinstance(value, dt.datetime) else 0
    since = (
        dt.timedelta(day, 0, value.microsecond, 0, value.minute, value.hour) + dt.timedelta(seconds=value.second) - zone
    )
    return f"{tree[0]} {since // dt.timedelta(microseconds=1)} UTC"


_CANONICAL: dict[str, Callable[[Tree], str]] = {
    "l": lambda tree: f"[{','.join(map(canonical, tree[1:]))}]",
    "q": lambda tree: f"q[{','.join(map(canonical, tree[2:]))}]",
    **dict.fromkeys(("t", "n"), lambda tree: f"({','.join(map(canonical, items_of(tree)))})"),
    **dict.fromkeys(SETS, lambda tree: "s" + _digest(items(tree))),
    **dict.fromkeys(PAIRS, _canonical_dict),
    **dict.fromkeys(("b", "B"), lambda tree: f"b{tree[1]}"),
    **dict.fromkeys(("u", "y"), lambda tree: tree[0] + _quoted(tree[1])),
    **dict.fromkeys(("date", "datetime", "time", "delta"), _canonical_time),
    "r": lambda tree: f"r{':'.join(map(hex, range_key(tree)))}",
    **dict.fromkeys(("f", "I", "c"), _canonical_number),
    **dict.fromkeys(EXACT, _canonical_exact),
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
    tag = tree[0]
    if tag in ("o", "h"):
        raise Mismatch("an opaque value has no known truth")
    if tag == "r":
        return range_key(tree)[0] > 0
    if tag in ("b", "B"):
        return tree[1] != ""
    if tag in (*EXACT, "delta"):
        return bool(rebuild(tree))
    return tag in ALWAYS or len(items_of(tree)) > 0


ALWAYS = ("g", "u", "y", "date", "datetime", "time")  # tags of what is always true


def hashable(tree: Tree) -> bool:
    """Whether Python could put a value into a set."""
    tag = tag_of(tree)
    if tag in ("t", "n"):
        return all(map(hashable, items_of(tree)))
    return tag not in ("l", "s", *PAIRS, "q", "B")


def tag_of(tree: Tree) -> str:
    """The tag of a tree; empty for None, booleans, small integers and text."""
    return tree[0] if type(tree) is list else ""
