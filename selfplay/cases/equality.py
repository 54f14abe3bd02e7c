"""The kinds of tree, and whether what two trees stand for is equal: both are built (values.py), and Python says.

NaN, iterators, handles and opaque values equal nothing. Building costs what Steps.weigh() asks: the keys of sets and
dictionaries may have been chosen so that they share a hash.
"""

from __future__ import annotations

from selfplay.cases.steps import Mismatch, Steps
from selfplay.cases.values import Tree, rebuild

SEQUENCES = ("l", "t", "n", "q")
PAIRS = ("d", "C", "O", "dd")
BROKEN = (
    Mismatch,
    TypeError,
    ValueError,
    ArithmeticError,
    AttributeError,
    RecursionError,
)  # what a comparison may raise
_FIRST = {"n": 3, "q": 2}  # where the items of a sequence begin, if not at 1


def tag_of(tree: Tree) -> str:
    """The tag of a tree; empty for None, booleans, small integers and text."""
    return tree[0] if type(tree) is list else ""


def items_of(tree: Tree) -> list[Tree]:
    """The items of a sequence or a set."""
    return tree[_FIRST.get(tree[0], 1) :]


def equal(a: Tree, b: Tree, steps: Steps | None = None) -> bool:
    """Python's `==`; not equal where that cannot be told within the steps."""
    steps = steps or Steps()
    try:
        steps.weigh(a, build=True)
        steps.weigh(b, build=True)
        return bool(rebuild(a) == rebuild(b))
    except BROKEN:
        return False
