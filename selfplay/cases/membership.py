"""Python's `in` on trees (equality.py says what equals what)."""

from __future__ import annotations

from collections.abc import Sequence

from selfplay.cases.equality import EXACT, SETS, canonical, equal, hashable, tag_of
from selfplay.cases.steps import Mismatch
from selfplay.cases.values import Tree, number, whole


def member(a: Tree, b: Tree) -> bool:
    """Python's `a in b`, of what a literal can be; raises Mismatch where `b` holds nothing. One pass over both."""
    if type(b) is str and type(a) is str:
        return a in b
    tag = tag_of(b)
    if tag in ("l", "t", *SETS, "d"):
        if tag in (*SETS, "d") and not (hashable(a) or (tag_of(a) == "s" and tag in SETS)):
            raise Mismatch("not hashable")
        return _is_among(a, [key for key, _ in b[1:]] if tag == "d" else b[1:])
    if tag == "r":
        return _in_range(a, b)
    if tag in ("b", "B"):
        return _in_bytes(a, bytes.fromhex(b[1]))
    raise Mismatch("not a container")


def _is_among(wanted: Tree, items: Sequence[Tree]) -> bool:
    """Whether one of the items equals `wanted`, which is looked through once however many there are."""
    if type(wanted) is not list:
        return any(equal(wanted, item) for item in items)
    try:
        text = canonical(wanted)
    except Mismatch:
        return False
    return any(_has_text(item, text) for item in items)


def _has_text(tree: Tree, text: str) -> bool:
    try:
        return canonical(tree) == text
    except Mismatch:
        return False


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
    """A range holds what equals one of its integers: floats and exact numbers, too."""
    try:
        text = canonical(a)
    except Mismatch:
        return False
    if (number(a) is None and tag_of(a) not in EXACT) or not text.startswith(("0x", "-0x")):
        return False
    value = int(text, 16)
    start, stop, step = map(whole, b[1:])
    inside = start <= value < stop if step > 0 else stop < value <= start
    return inside and (value - start) % step == 0
