"""What Python's builtins and methods do with lists, tuples, sets, dictionaries and ranges, on trees, within a budget.

The order of a set is nobody's to rely on, and the one that it is written in is ours, not Python's. What is made from a
set by list(), tuple() or a comprehension is therefore unordered (`list?`, see equality.py) until something makes the
order irrelevant: sorted, set, len, sum, min, max, any, all, in, count. Everything else raises Mismatch.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from selfplay.cases.dictionaries import value_of
from selfplay.cases.equality import (
    HOLDING,
    SHUFFLED,
    canonical,
    hashable,
    range_key,
    tag_of,
    truth,
)  # fmt: skip
from selfplay.cases.membership import positions
from selfplay.cases.scalars import number_of, text_of, tree_of, whole_of
from selfplay.cases.steps import CHARACTERS, PARTS, Mismatch, Steps
from selfplay.cases.values import Tree, integer, number, rebuild, whole


def parts(steps: Steps, tree: Tree) -> list[Tree]:
    """The items that iterating gives, those of a set in any order; raises Mismatch where Python cannot iterate."""
    if type(tree) is str:
        steps.spend(1 + len(tree) // PARTS)
        return list(tree)
    tag = tag_of(tree)
    steps.spend(1 + len(tree) // PARTS if tag in HOLDING or tag == "d" else 1)
    if tag in ("s", "z"):
        return distinct(steps, tree[1:])
    if tag in HOLDING:
        return tree[1:]
    if tag == "d":
        return distinct(steps, [key for key, _ in tree[1:]])
    if tag in ("b", "B"):
        steps.spend(1 + len(tree[1]) // PARTS)
        return list(bytes.fromhex(tree[1]))
    if tag == "r":
        return _range_items(steps, tree)
    raise Mismatch("not iterable")


def shuffled(tree: Tree) -> bool:
    """Whether iterating gives the items in the order of a set, and there is more than one."""
    return type(tree) is list and len(tree) > 2 and tree[0] in ("s", "z", *SHUFFLED)


def in_order(steps: Steps, tree: Tree) -> list[Tree]:
    """The items that iterating gives; raises Mismatch where their order is that of a set."""
    found = parts(steps, tree)
    if shuffled(tree) and len(found) > 1:
        raise Mismatch("the order of a set")
    return found


def _range_items(steps: Steps, tree: Tree) -> list[Tree]:
    bounds = [whole(part) for part in tree[1:]]
    steps.spend(sum(bound.bit_length() for bound in bounds) // CHARACTERS)
    length = range_key(tree)[0]
    steps.spend(length // 4 + length * max(bound.bit_length() for bound in bounds) // 4 // CHARACTERS)
    return [integer(value) for value in range(*bounds)]


def distinct(steps: Steps, trees: list[Tree]) -> list[Tree]:
    """Each value once, the first of equal ones, in order."""
    found: dict[str, Tree] = {}
    for tree in trees:
        steps.spend()
        steps.weigh(tree)
        found.setdefault(canonical(tree), tree)
    return list(found.values())


def length(steps: Steps, tree: Tree) -> Tree:
    """len(tree)."""
    tag = tag_of(tree)
    if type(tree) is str:
        return len(tree)
    if tag == "r":
        steps.weigh(tree)
        return integer(range_key(tree)[0])
    if tag in ("l", "t", *SHUFFLED, "keys", "items", "values"):
        return len(tree) - 1
    if tag == "iterator":
        raise Mismatch("an iterator has no length")
    return len(tree[1]) // 2 if tag in ("b", "B") else len(parts(steps, tree))


def collected(tag: str) -> Callable[[Steps, Tree], Tree]:
    """list() or tuple(), by tag."""

    def collect(steps: Steps, tree: Tree) -> Tree:
        found = parts(steps, tree)
        return [tag if len(found) < 2 or not shuffled(tree) else f"{_KINDS[tag]}?", *found]

    return collect


_KINDS = {"l": "list", "t": "tuple"}


def set_of(tag: str) -> Callable[..., Tree]:
    """set() or frozenset(), by tag."""

    def collect(steps: Steps, *trees: Tree) -> Tree:
        found = distinct(steps, [item for tree in trees for item in parts(steps, tree)])
        if not all(map(hashable, found)):
            raise Mismatch("not hashable")
        return [tag, *found]

    return collect


def total(steps: Steps, tree: Tree, start: Tree = 0) -> Tree:
    """sum(tree, start) of numbers. What depends on the order of a set, its floats' rounding, is rounded once."""
    values = [number_of(start), *map(number_of, parts(steps, tree))]
    if shuffled(tree) and any(isinstance(value, float) for value in values):
        return tree_of(math.fsum(values))
    result = sum(values[1:], values[0])
    return tree_of(result + 0 if type(result) is bool else result)


def any_of(steps: Steps, tree: Tree) -> Tree:
    """any(tree)."""
    return _first_truth(steps, tree, True)


def all_of(steps: Steps, tree: Tree) -> Tree:
    """all(tree)."""
    return not _first_truth(steps, tree, False)


def _first_truth(steps: Steps, tree: Tree, wanted: bool) -> bool:
    found = parts(steps, tree)
    if shuffled(tree):
        found = [truth(item) for item in found]
    return any(truth(item) == wanted for item in found)


def backwards(steps: Steps, tree: Tree) -> Tree:
    """list(reversed(tree)); of sets there is none."""
    if tag_of(tree) in ("s", "z", "iterator"):
        raise Mismatch("not reversible")
    return ["l", *reversed(in_order(steps, tree))]


def numbered(steps: Steps, tree: Tree, start: Tree = 0) -> Tree:
    """enumerate(tree, start)."""
    found = in_order(steps, tree)
    first = whole_of(start)
    steps.spend(3 * len(found))
    return ["iterator", *(["t", integer(position), item] for position, item in enumerate(found, first))]


def zipped(steps: Steps, *trees: Tree) -> Tree:
    """zip(*trees)."""
    found = [parts(steps, tree) for tree in trees]  # of all of them: what has no items to give raises
    if not all(found):
        return ["iterator"]
    rows = [in_order(steps, tree) for tree in trees]
    steps.spend((1 + len(rows)) * min(map(len, rows), default=0))
    return ["iterator", *(["t", *row] for row in zip(*rows, strict=False))]


def range_of(steps: Steps, *bounds: Tree) -> Tree:
    """range(*bounds)."""
    made = range(*map(whole_of, bounds))
    return ["r", *map(integer, (made.start, made.stop, made.step))]


def item(steps: Steps, tree: Tree, position: Tree) -> Tree:
    """tree[position]: an item by position, or a dictionary's value by key."""
    tag = tag_of(tree)
    if tag == "d":
        found = value_of(steps, tree, position)
        if found is None:
            raise Mismatch("no such key")
        return found[0]
    steps.weigh(position)
    at = whole_of(position)
    if type(tree) is str:
        return tree[at]
    if tag in ("l", "t"):
        if not -len(tree) < at < len(tree):
            raise Mismatch("no such position")
        return tree[at + 1 if at >= 0 else at]
    if tag in ("b", "B"):
        steps.weigh(tree)
        return bytes.fromhex(tree[1])[at]
    if tag == "r":
        steps.weigh(tree)
        return integer(range(*map(whole, tree[1:]))[at])
    raise Mismatch("no positions")


def part(steps: Steps, tree: Tree, start: Tree, stop: Tree, step: Tree) -> Tree:
    """tree[start:stop:step]; of a range a range."""
    bounds = slice(*(None if bound is None else whole_of(bound) for bound in (start, stop, step)))
    tag = tag_of(tree)
    if type(tree) is str:
        return tree[bounds]
    if tag in ("l", "t"):
        return [tag, *tree[1:][bounds]]
    if tag in ("b", "B"):
        return [tag, bytes.fromhex(tree[1])[bounds].hex()]
    if tag == "r":
        found = range(*map(whole, tree[1:]))[bounds]
        return ["r", *map(integer, (found.start, found.stop, found.step))]
    raise Mismatch("no positions")


def occurrences(steps: Steps, tree: Tree, wanted: Tree) -> Tree:
    """tree.count(wanted)."""
    if type(tree) is str:
        return tree.count(text_of(wanted))
    if tag_of(tree) in ("l", "t", *SHUFFLED):
        return len(positions(wanted, tree[1:]))
    if tag_of(tree) == "r":
        return len(positions(wanted, parts(steps, tree)))
    if tag_of(tree) in ("b", "B") and tag_of(wanted) in ("", "b", "B"):
        return bytes.fromhex(tree[1]).count(rebuild(wanted))
    raise Mismatch("no count")


def first_position(steps: Steps, tree: Tree, wanted: Tree) -> Tree:
    """tree.index(wanted)."""
    if type(tree) is str:
        return tree.index(text_of(wanted))
    if tag_of(tree) in ("b", "B") and tag_of(wanted) in ("", "b", "B"):
        return bytes.fromhex(tree[1]).index(rebuild(wanted))
    if tag_of(tree) not in ("l", "t", "r"):
        raise Mismatch("no index")
    found = positions(wanted, parts(steps, tree))
    if not found:
        raise Mismatch("no such item")
    return found[0]


def repeated(steps: Steps, tree: Tree, times: int) -> Tree:
    """tree * times, of a text, bytes, list or tuple."""
    tag = tag_of(tree)
    if type(tree) is str:
        steps.spend(len(tree) * max(times, 0) // CHARACTERS)
        return tree * times
    if tag in ("b", "B"):
        steps.spend(len(tree[1]) * max(times, 0) // CHARACTERS)
        return [tag, tree[1] * times]
    if tag not in ("l", "t"):
        raise Mismatch("no repetition")
    steps.spend(len(tree) * max(times, 0))
    return [tag, *tree[1:] * times]


def chained(steps: Steps, a: Tree, b: Tree) -> Tree:
    """a + b, of texts, bytes, lists or tuples."""
    if type(a) is str and type(b) is str:
        return a + b
    if tag_of(a) in ("b", "B") and tag_of(b) in ("b", "B"):
        return [a[0], a[1] + b[1]]
    if tag_of(a) != tag_of(b) or tag_of(a) not in ("l", "t"):
        raise Mismatch("no sum")
    return [*a, *b[1:]]


def is_number(tree: Tree) -> bool:
    """Whether operators do arithmetic with it."""
    return number(tree) is not None
