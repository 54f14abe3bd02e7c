"""Outcomes near a right one: the battery that tells a test that checks something from one that checks nothing.

`near` gives nine changed outcomes, none of which counts as the right one: three *coarse* ones (empty, reversed, negated,
nothing, another type), three of the same type *drawn* at random, three with one *leaf* changed (an item, a character, a
number by a small step). Which ones hangs on a seed that the test's author cannot know: no list of exceptions covers them.

    what the call did                                  what changes
    returned a value                                   the value; what it printed and the arguments it changed with it
    returned None, and printed or changed something    these; the value in the coarse ones alone
    raised an exception                                it returns something, or raises another built-in exception
"""

from __future__ import annotations

import builtins
import datetime as dt
import math
import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from selfplay.cases.alike import alike
from selfplay.cases.equality import PAIRS, SEQUENCES, equal, items_of, tag_of
from selfplay.cases.outcome import Outcome, is_like
from selfplay.cases.values import Tree, dump, encode, integer, load, number, rebuild

EACH = 3  # coarse, drawn and leaf
NEAR = 3 * EACH
LARGE = 100_000  # characters of a value of which only the top level is changed
PLACES = 40  # of a value that a drawn one is made of
TRIED = 30  # changes, until enough are different
_OTHERS: tuple[Tree, ...] = (None, 0, "", False, ["l"], 1, "a", True, ["d"], ["l", 0], -1, "None")
_HOLDING = (*SEQUENCES, "g", "s", "z", *PAIRS)
_MUTABLE = ("l", "s", "q", "B", *PAIRS)
_MOVING = ("D", "F", "date", "datetime", "time", "delta")
_ERRORS = [
    "ValueError", "TypeError", "KeyError", "IndexError", "ZeroDivisionError", "OverflowError", "AttributeError",
    "NameError", "RuntimeError", "NotImplementedError", "RecursionError", "LookupError", "ArithmeticError", "OSError",
    "FileNotFoundError", "PermissionError", "EOFError", "BufferError", "ImportError", "TimeoutError",
]  # fmt: skip


def near(outcome: Outcome, seed: str) -> tuple[Outcome, ...]:
    """Nine changed outcomes, the same for the same seed: EACH coarse, EACH drawn, EACH with one leaf changed."""
    rng = random.Random(seed)
    acts = bool(outcome.printed) or outcome.changed is not None
    values, raised = [outcome.value] * NEAR, [()] * NEAR
    if outcome.raised:
        values, raised = _instead_of_raising(outcome.raised, rng)
    elif outcome.value is not None or not acts:
        values = _values(outcome.value, rng)
    else:
        values[:EACH] = _values(None, rng)[:EACH]
    printed = _values(outcome.printed, rng, keep=True) if outcome.printed else [""] * NEAR
    changed = [None] * NEAR if outcome.changed is None else _arguments(outcome.changed, rng)
    found = [Outcome(*parts) for parts in zip(values, raised, [""] * NEAR, printed, changed, strict=True)]
    if outcome.changed is not None:  # a changed argument is still the one that is returned
        found = [one if one.raised else replace(one, argument=outcome.argument) for one in found]
    others = [other for other in map(Outcome, _OTHERS) if not is_like(other, outcome)]
    return tuple(others[place] if is_like(one, outcome) else one for place, one in enumerate(found))


def _instead_of_raising(raised: tuple[str, ...], rng: random.Random) -> tuple[list[Tree], list[tuple[str, ...]]]:
    """Three times nothing raised, three times another exception, three times one of its kin; for a bare Exception,
    whose kin are all, nothing raised."""
    kinds = [_names(name) for name in rng.sample(_ERRORS, len(_ERRORS))]
    others = [names for names in kinds if names[0] not in raised and raised[0] not in names]
    siblings = [names for names in others if names[1] in raised[1:] and names[1] != "Exception"]
    parents = [_names(name) for name in raised[1:] if name == "Exception" or name in _ERRORS]
    errors = [*others[:EACH], *[*siblings[:1], *parents, *others[EACH:]][:EACH]]
    values = [*_OTHERS[:EACH], *([None] * len(errors) or _OTHERS[EACH:NEAR])]
    return values, [(), (), (), *(errors or [()] * 2 * EACH)]


def _names(name: str) -> tuple[str, ...]:
    return tuple(kind.__name__ for kind in getattr(builtins, name).__mro__[:-1])


def _arguments(tree: Tree, rng: random.Random) -> list[Tree]:
    """Nine times the arguments of a call, or a tuple among them, with all changed that a call can change."""
    if tag_of(tree) != "d":
        head, items = tree[: len(tree) - len(items_of(tree))], items_of(tree)
        columns = [_inside(item, rng) for item in items]
        return [[*head, *row] for row in zip(*columns, strict=True)] or [tree] * NEAR
    keys = [key for key, _ in tree[1:]]  # with keyword arguments; the positional ones stand under ""
    columns = [_arguments(value, rng) if key == "" else _inside(value, rng) for key, value in tree[1:]]
    return [["d", *map(list, zip(keys, row, strict=True))] for row in zip(*columns, strict=True)]


def _inside(tree: Tree, rng: random.Random) -> list[Tree]:
    if tag_of(tree) in _MUTABLE:
        return _values(tree, rng, keep=True)
    return _arguments(tree, rng) if tag_of(tree) in ("t", "n") else [tree] * NEAR


def _values(tree: Tree, rng: random.Random, keep: bool = False) -> list[Tree]:
    """Nine other values; `keep`: of the same type. Repeated where a type has no nine; the tree itself if it has none."""
    many = len(dump(tree)) > LARGE
    coarse = _different(tree, chain(_coarse(tree, rng), _OTHERS), keep, NEAR if many else EACH) or [tree]
    if many:
        return [coarse[place % len(coarse)] for place in range(NEAR)]
    drawn = _different(tree, (_drawn(tree, rng) for _ in range(TRIED)), keep, EACH) or coarse
    leaf = _different(tree, (_leaf(tree, rng) for _ in range(TRIED)), keep, EACH) or coarse
    return [group[place % len(group)] for group in (coarse, drawn, leaf) for place in range(EACH)]


def _different(tree: Tree, others: Iterable[Tree], keep: bool, most: int) -> list[Tree]:
    """The first of others that are neither equal to the tree nor like it."""
    found: list[Tree] = []
    for other in others:
        same = type(other) is type(tree) and tag_of(other) == tag_of(tree)
        if (same or not keep) and other not in found and not alike(other, tree) and not equal(other, tree):
            found.append(other)
            if len(found) == most:
                break
    return found


def _with_items(tree: Tree, items: list[Tree]) -> Tree:
    """A collection like `tree` with other items; a named tuple keeps its number, a deque its maximum."""
    held = items_of(tree)
    if tag_of(tree) == "n":
        items = [*items, *held[len(items) :]][: len(held)]
    if tag_of(tree) == "q" and tree[1] is not None:
        items = items[: tree[1]]
    return [*tree[: len(tree) - len(held)], *items]


def _items(tree: Tree) -> list[Tree]:
    return [item for item in items_of(tree) if tag_of(item) != "e"]  # not how an iterator ended


def _coarse(tree: Tree, rng: random.Random) -> Iterator[Tree]:
    tag = tag_of(tree)
    if type(tree) is bool:
        yield from (not tree, None, "")
    elif type(tree) is str:
        yield from ("" if tree else "a", rng.choice((tree[::-1], tree + tree, tree.swapcase())), None)
        yield from (tree[1:], tree + "a", f" {tree}", tree[:-1])
    elif tag in _HOLDING:
        items, extra = _items(tree), [["987654321", 1] if tag in PAIRS else 987654321]
        yield from (
            _with_items(tree, [] if items else extra),
            _with_items(tree, rng.choice((items[::-1], items[1:]))),
            None,
        )
        yield from (_with_items(tree, other) for other in (items[:-1], items[1:], items + extra, items[::-1], extra))
    elif tag in ("b", "B"):
        text = tree[1]
        yield from ([tag, other] for other in ("" if text else "61", text + text, text[2:], "00", text + "61"))
    elif tag == "r":
        yield from (["r", 0, 0, 1], ["r", 0, rng.randint(1, 30), 1], None, ["r", 9, 0, -1])
    elif tree is not None:
        yield from (_moved(tree, None), rng.choice((_moved(tree, 10), _moved(tree, -100))), None)


def _moved(tree: Tree, step: int | None) -> Tree:
    """A number or a date moved by a step; without one a number negated, a date by a year. None for all else."""
    if tag_of(tree) not in _MOVING and number(tree) is None:
        return None
    value: Any = rebuild(tree)
    try:
        if isinstance(value, dt.time):
            return load(encode(value.replace(minute=(value.minute + (step or 30)) % 60)))
        if isinstance(value, (dt.date, dt.timedelta)):
            return load(encode(value + dt.timedelta(days=step or 365)))
        return load(encode(-value if step is None and value else value + type(value)(step or 1)))
    except (ArithmeticError, ValueError):  # beyond what its type can hold
        return None


def _drawn(tree: Tree, rng: random.Random, depth: int = 0) -> Tree:
    tag, value = tag_of(tree), number(tree)
    if type(tree) is bool:
        return rng.random() < 0.5
    if type(tree) is str:
        letters = [*tree[:20], *"abcdefghij XYZ019-"]
        return "".join(rng.choices(letters, k=rng.randint(0, 2 * min(len(tree), 20) + 4)))
    if isinstance(value, int):
        scale = rng.choice((20, 1_000, 1_000_000)) + 4 * min(abs(value), 1 << 60)
        return integer(rng.randint(-scale, scale))
    if isinstance(value, float):
        scale = max(50.0, 4 * min(abs(value), 1e300)) if math.isfinite(value) else 50.0
        return ["f", repr(rng.uniform(-scale, scale))]
    if tag in _HOLDING and depth < 4:
        items = _items(tree)[:PLACES]
        if tag in PAIRS:
            return [tag, *([key, _drawn(item, rng, depth + 1)] for key, item in items if rng.random() < 0.7)]
        count = len(_items(tree)) if tag == "n" else rng.randint(0, len(items) + 3)
        return _with_items(tree, [_drawn(rng.choice(items or [0]), rng, depth + 1) for _ in range(count)])
    if tag in ("b", "B"):
        return [tag, _drawn(bytes.fromhex(tree[1]).decode("latin-1"), rng).encode("latin-1").hex()]
    if tag in _MOVING or value is not None:
        return _moved(tree, rng.randint(-1_000, 1_000))
    return rng.choice((rng.randint(-50, 50), "".join(rng.choices("abc xyz", k=4))))


def _leaf(tree: Tree, rng: random.Random) -> Tree:
    tag, value = tag_of(tree), number(tree)
    if type(tree) is bool:
        return not tree
    if type(tree) is str:
        place = rng.randint(0, len(tree))
        return tree[:place] + rng.choice(("", rng.choice("abcxyzAZ019 "))) + tree[place + rng.randint(0, 1) :]
    if isinstance(value, float) and math.isfinite(value):
        return ["f", repr(value + rng.choice((1e-3, -1e-3, 0.05, -0.05, 1, -1)) * max(1.0, abs(value)))]
    if value is not None or tag in _MOVING:
        return _moved(tree, rng.choice((1, -1, 2)))
    if tag in _HOLDING:
        items = list(_items(tree)) or ([["a", 0]] if tag in PAIRS else [rng.choice((None, "a", 1))])
        place = rng.randrange(len(items))
        items[place] = [items[place][0], _leaf(items[place][1], rng)] if tag in PAIRS else _leaf(items[place], rng)
        return _with_items(tree, items)
    if tag in ("b", "B"):
        return [tag, _leaf(bytes.fromhex(tree[1]).decode("latin-1"), rng).encode("latin-1").hex()]
    return rng.choice((0, 1, "", "a", True))
