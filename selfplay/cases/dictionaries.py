"""What dictionaries do with keys, on trees, within a budget: looked up by canonical text, never by a hash."""

from __future__ import annotations

from selfplay.cases.equality import canonical, hashable, tag_of
from selfplay.cases.steps import Mismatch, Steps
from selfplay.cases.values import Tree


def value_of(steps: Steps, tree: Tree, key: Tree) -> tuple[Tree] | None:
    """The value of a key, in a tuple, the last where a key comes twice; None where there is none.

    Raises Mismatch for what is no dictionary, or no key for Python.
    """
    if tag_of(tree) != "d":
        raise Mismatch("not a dictionary")
    steps.weigh(key)
    if not hashable(key):
        raise Mismatch("not hashable")
    keys = steps.table(tree, _keys)
    try:
        position = keys.get(canonical(key))
    except Mismatch:  # NaN and opaque values are no one's key
        return None
    return None if position is None else (tree[position][1],)


def _keys(tree: Tree) -> dict[str, int]:
    found: dict[str, int] = {}
    for position, (key, _) in enumerate(tree[1:], 1):
        try:
            found[canonical(key)] = position
        except Mismatch:
            continue
    return found


def value_or(steps: Steps, tree: Tree, key: Tree, default: Tree = None) -> Tree:
    """tree.get(key, default)."""
    found = value_of(steps, tree, key)
    return default if found is None else found[0]


def pairs(steps: Steps, tree: Tree) -> list[tuple[Tree, Tree]]:
    """The keys and values of a dictionary, in its order; the last value where a key comes twice."""
    if tag_of(tree) != "d":
        raise Mismatch("not a dictionary")
    steps.weigh(tree)
    found: dict[str, tuple[Tree, Tree]] = {}
    for key, value in tree[1:]:
        text = canonical(key)
        found[text] = (found[text][0] if text in found else key, value)
    return list(found.values())
