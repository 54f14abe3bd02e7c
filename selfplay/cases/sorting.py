"""Python's `<`, sorted, min, max and the operators of sets, on trees, within a budget.

None of them lets the order of a set through.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from selfplay.cases.equality import SETS, canonical, equal, items, tag_of, truth
from selfplay.cases.membership import positions
from selfplay.cases.sequences import parts, set_of, shuffled
from selfplay.cases.steps import PARTS, Mismatch, Steps
from selfplay.cases.values import Tree, dump, number


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


class _Ordered:
    """A value that sorts as Python sorts it."""

    __slots__ = ("steps", "tree")

    def __init__(self, steps: Steps, tree: Tree) -> None:
        self.steps, self.tree = steps, tree

    def __lt__(self, other: _Ordered) -> bool:
        return order(self.tree, other.tree, operator.lt, self.steps)

    def __gt__(self, other: _Ordered) -> bool:
        return order(self.tree, other.tree, operator.gt, self.steps)


def in_sorted_order(steps: Steps, tree: Tree, reverse: Tree = False) -> Tree:
    """sorted(tree, reverse=reverse)."""
    values = _comparable(steps, tree)
    down = truth(reverse)
    if _of_one_kind(values):
        steps.spend(len(values) // PARTS)
        return ["l", *sorted(values, reverse=down)]
    found = sorted(values, key=functools.partial(_Ordered, steps), reverse=down)
    if shuffled(tree):
        _require_no_ties(found)
    return ["l", *found]


def _of_one_kind(values: Sequence[Tree]) -> bool:
    """Whether Python's own comparison will do: all are small integers, or all are texts."""
    return all(type(value) is int for value in values) or all(type(value) is str for value in values)


def _comparable(steps: Steps, tree: Tree) -> list[Tree]:
    """The items to sort; raises Mismatch where the result would hang on the order of a set."""
    values = parts(steps, tree)
    if shuffled(tree) and any(map(_partly_ordered, values)):
        raise Mismatch("the order of a set")
    return values


def _partly_ordered(tree: Tree) -> bool:
    """Whether a value holds a set or NaN, which are neither below nor above others."""
    tag = tag_of(tree)
    return (
        tag in SETS or (tag == "f" and tree[1] == "nan") or (tag in ("l", "t") and any(map(_partly_ordered, tree[1:])))
    )


def _require_no_ties(values: Sequence[Tree]) -> None:
    texts = [(canonical(value), dump(value)) for value in values]
    if any(a[0] == b[0] and a[1] != b[1] for a, b in pairwise(texts)):
        raise Mismatch("the order of a set, among values that are equal")


def extreme(best: Callable[..., Any]) -> Callable[..., Tree]:
    """min or max, of the items of one value or of several values."""

    def choose(steps: Steps, *trees: Tree) -> Tree:
        values = _comparable(steps, trees[0]) if len(trees) == 1 else trees
        if _of_one_kind(values):
            return best(values)
        found = best(values, key=functools.partial(_Ordered, steps))
        if len(trees) == 1 and shuffled(trees[0]):
            _require_no_ties([found, *(values[position] for position in positions(found, values))])
        return found

    return choose


def set_operation(name: str) -> Callable[[Steps, Tree, Tree], Tree]:
    """a & b, a | b, a - b, a ^ b of sets."""

    def combine(steps: Steps, a: Tree, b: Tree) -> Tree:
        left, right = ({canonical(item): item for item in tree[1:]} for tree in (a, b))
        ours = [item for text, item in left.items() if name in ("|", "^", "-") or text in right]
        if name in ("-", "^"):
            ours = [item for text, item in left.items() if text not in right]
        theirs = [item for text, item in right.items() if text not in left] if name in ("|", "^") else []
        return ["z" if tag_of(a) == "z" else "s", *ours, *theirs]

    return combine


def compared_as_sets(test: Callable[[Any, Any], bool]) -> Callable[[Steps, Tree, Tree], Tree]:
    """issubset, issuperset: a set against any iterable."""

    def compare(steps: Steps, a: Tree, b: Tree) -> Tree:
        if tag_of(a) not in ("s", "z"):
            raise Mismatch("not a set")
        return order(a, set_of("s")(steps, b), test, steps)

    return compare


def disjoint(steps: Steps, a: Tree, b: Tree) -> Tree:
    """a.isdisjoint(b)."""
    if tag_of(a) not in ("s", "z"):
        raise Mismatch("not a set")
    return not set(items(a)) & set(items(set_of("s")(steps, b)))
