"""Python's `in` on trees, and where in a sequence something stands (equality.py says what equals what)."""

from __future__ import annotations

from collections.abc import Sequence

from selfplay.cases.equality import EXACT, HOLDING, SHUFFLED, canonical, equal, hashable, sorted_texts, tag_of
from selfplay.cases.steps import Mismatch
from selfplay.cases.values import Tree, number, whole


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
    texts = sorted_texts(wanted)
    alike = (item for item in among if tag_of(item) in (wanted[0], wanted[0][0]) and len(item) == len(wanted))
    if any(sorted_texts(item) == texts for item in alike):
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
