"""Whether a value counts as another: the same to a test, but for what no test should be picky about.

1, 1.0 and True are one value, floats may differ by 1e-9 (relative or absolute), and NaN is like NaN. In all else what Python
shows of a value counts: a list is no tuple, a named tuple has its names, a dictionary its order, a Decimal its digits.
Handles are alike by class name and number, functions by their text. An opaque value is like nothing.
"""

from __future__ import annotations

import cmath
from typing import Any

from selfplay.cases.equality import PAIRS, SEQUENCES, items_of, tag_of
from selfplay.cases.steps import Mismatch, Steps
from selfplay.cases.values import Tree, dump, number, rebuild

CLOSE = 1e-9


def alike(a: Tree, b: Tree, steps: Steps | None = None) -> bool:
    """Whether two trees count as one value. Passes over both once; sets are paid for, and unlike where `steps` run out."""
    try:
        return (a == b and not _holds_opaque(a)) or _alike(a, b, steps or Steps())
    except Mismatch:
        return False


def _holds_opaque(tree: Tree) -> bool:
    todo = [tree]
    while todo:
        tree = todo.pop()
        if type(tree) is list:
            if tree and tree[0] == "o":
                return True
            todo += [part for part in tree if type(part) is list]
    return False


def _alike(a: Tree, b: Tree, steps: Steps) -> bool:
    x, y = number(a), number(b)
    if x is not None and y is not None:
        return x == y or a == b or _close(x, y)
    if type(a) is not list or type(b) is not list:
        return type(a) is type(b) and a == b
    tag = a[0]
    if tag != b[0] or len(a) != len(b) or tag == "o":
        return False
    if tag in ("s", "z"):
        steps.weigh(a)
        steps.weigh(b)
        return _all_alike(sorted(a[1:], key=_rank), sorted(b[1:], key=_rank), steps)
    if tag in PAIRS:
        return all(_all_alike(one, other, steps) for one, other in zip(a[1:], b[1:], strict=True))
    if tag in (*SEQUENCES, "g"):
        items = items_of(a)
        return a[: -len(items)] == b[: -len(items)] and _all_alike(items, items_of(b), steps) if items else a == b
    if tag == "e":  # how an iterator ended: of an exception the class counts, not what it says
        return a[1] == b[1]
    return a == b or (tag == "r" and rebuild(a) == rebuild(b))


def _all_alike(a: list[Tree], b: list[Tree], steps: Steps) -> bool:
    return all(_alike(x, y, steps) for x, y in zip(a, b, strict=True))


def _close(x: complex, y: complex) -> bool:
    """Two numbers that are not equal; integers are close to nothing but floats."""
    if isinstance(x, int) and isinstance(y, int):
        return False
    try:
        return cmath.isclose(x, y, rel_tol=CLOSE, abs_tol=CLOSE)
    except OverflowError:  # an integer beyond the floats
        return False


def _rank(tree: Tree) -> tuple[Any, ...]:
    """Where an item of a set stands among others: close numbers side by side."""
    value = number(tree)
    if value is not None:
        return (1, dump(tree)) if isinstance(value, complex) or value != value else (0, value)
    if tag_of(tree) in ("t", "n"):
        items = items_of(tree)
        return (2, dump(tree[: -len(items) or None]), len(items), [_rank(item) for item in items])
    return (3, dump(tree))
