"""Outputs near a right one: the battery that tells a test that checks something from one that checks nothing.

`perturbed` is coarse and even-handed: the share of it that a test refuses says whether it checks anything. `drawn` is
random, by a seed that the test's author cannot work out: no list of exceptions covers it. `variants` is fine: what one test
refuses in it and another does not is what the one states beyond the other.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterator
from itertools import islice

from selfplay.cases.equality import equal
from selfplay.cases.scalars import tree_of
from selfplay.cases.values import Tree, integer, number

PLACES = 40  # of a value that are changed, one at a time
DRAWN = 24  # random outputs of a value's type


def perturbed(tree: Tree) -> list[Tree]:
    """Different outputs, mostly of the same type, each once: off by one, sign, empty, order."""
    if type(tree) is bool:
        return [not tree]
    found: list[Tree] = []
    for other in (*_variations(tree), None):
        if not equal(other, tree) and not any(type(other) is type(seen) and equal(other, seen) for seen in found):
            found.append(other)
    return found


def drawn(tree: Tree, seed: str) -> list[Tree]:
    """Different outputs of the same type at random, the same for the same seed."""
    rng = random.Random(seed)
    others = (_random_like(tree, rng, 0) for _ in range(DRAWN))
    return [other for other in others if not equal(other, tree)]


def _random_like(tree: Tree, rng: random.Random, depth: int) -> Tree:
    if type(tree) is bool:
        return rng.random() < 0.5
    if type(tree) is str:
        letters = [*tree[:20], *"abcdefghij XYZ019-"]
        return "".join(rng.choice(letters) for _ in range(rng.randint(0, 2 * min(len(tree), 20) + 4)))
    value = number(tree)
    if isinstance(value, int):
        scale = rng.choice((20, 1_000, 1_000_000)) + 4 * min(abs(value), 1 << 60)
        return integer(rng.randint(-scale, scale))
    if isinstance(value, float):
        scale = max(50.0, 4 * min(abs(value), 1e300)) if math.isfinite(value) else 50.0
        return ["f", repr(rng.uniform(-scale, scale))]
    if type(tree) is list and tree[0] in ("l", "t", "s", "z") and depth < 4:
        items = tree[1 : 1 + PLACES] or [0]
        return [
            tree[0],
            *(_random_like(rng.choice(items), rng, depth + 1) for _ in range(rng.randint(0, len(items) + 3))),
        ]
    if type(tree) is list and tree[0] == "d" and depth < 4:
        pairs = tree[1 : 1 + PLACES] or [["a", 0]]
        kept = [pair for pair in pairs if rng.random() < 0.5]
        return ["d", *([key, _random_like(item, rng, depth + 1)] for key, item in kept)]
    if isinstance(value, complex):
        return ["c", *(repr(rng.uniform(-50, 50)) for _ in range(2))]
    if type(tree) is list and tree[0] in ("b", "B"):
        return [tree[0], rng.randbytes(rng.randint(0, min(len(tree[1]), 20) + 4)).hex()]
    if type(tree) is list and tree[0] == "r":
        return ["r", rng.randint(-9, 9), rng.randint(-9, 30), rng.choice((1, 1, 2, 5, -1))]
    return integer(rng.randint(-50, 50))


def changed_at(tree: Tree, places: Collection[int]) -> Iterator[Tree]:
    """A sequence with only the items at these places changed, one at a time."""
    if type(tree) is list and tree[0] in ("l", "t"):
        items = tree[1:]
        for place in sorted({each % len(items) for each in places if -len(items) <= each < len(items)}):
            for other in perturbed(items[place]):
                yield [tree[0], *items[:place], other, *items[place + 1 :]]


def _variations(tree: Tree) -> Iterator[Tree]:
    if tree is None:
        yield from (0, 1, -1, False, True, "", ["l"])
    elif type(tree) is str:
        yield from _texts(tree)
    elif number(tree) is not None:
        yield from _numbers(tree)
    elif tree[0] in ("l", "t"):
        yield from _sequences(tree)
    elif tree[0] in ("s", "z"):
        yield from ([tree[0]], [tree[0], *tree[1:], 987654321], *islice(_without_one(tree), 8))
    elif tree[0] == "d":
        yield from _dictionaries(tree)
    elif tree[0] in ("b", "B"):
        yield from ([tree[0], text] for text in ("", tree[1][2:], tree[1][:-2], tree[1] + "61", tree[1] + tree[1]))
    elif tree[0] == "r":
        start, stop, step = tree[1:]
        yield from (["r", 0, 0, 1], ["r", 0, 5, 1], ["r", start, stop, 7], ["r", 1, 9, step], ["r", 9, 0, -1])
    else:
        yield from (0, 1, "", ["l"])


def _numbers(tree: Tree) -> Iterator[Tree]:
    value = number(tree)
    if isinstance(value, int):
        for other in (value + 1, value - 1, -value, 0, 1, value * 2, value + 10, value - 10):
            yield integer(other)
    elif isinstance(value, float):
        for other in (value + 1, value - 1, -value, 0.0, value * 2, value * 1.1, value + 0.05, value - 0.05):
            yield ["f", repr(other)]
    else:
        yield from (0, 1, ["c", "1.0", "1.0"])


def _texts(text: str) -> Iterator[Tree]:
    yield from ("", text[1:], text[:-1], text[::-1], text.swapcase(), f"{text}a", f" {text}", text + text, text.strip())


def _sequences(tree: Tree) -> Iterator[Tree]:
    tag, items = tree[0], tree[1:]
    if not items:
        yield from ([tag, 0], [tag, 1], [tag, ""], [tag, None], [tag, 0, 0])
        return
    yield from ([tag], [tag, *items[1:]], [tag, *items[:-1]], [tag, *reversed(items)], [tag, *items, items[-1]])
    yield [tag, _other(items[0]), *items[1:]]
    yield [tag, *items[:-1], _other(items[-1])]
    middle = len(items) // 2
    yield [tag, *items[:middle], _other(items[middle]), *items[middle + 1 :]]


def _dictionaries(tree: Tree) -> Iterator[Tree]:
    pairs = tree[1:]
    yield from (["d"], ["d", *pairs, [987654321, 0]], ["d", *pairs, ["extra", 0]])
    if pairs:
        yield from (["d", *pairs[1:]], ["d", *pairs[:-1]])
        yield ["d", [pairs[0][0], _other(pairs[0][1])], *pairs[1:]]
        yield ["d", *pairs[:-1], [pairs[-1][0], _other(pairs[-1][1])]]


def _other(tree: Tree) -> Tree:
    return perturbed(tree)[0]


def _without_one(tree: Tree) -> Iterator[Tree]:
    for position in range(1, len(tree)):
        yield [*tree[:position], *tree[position + 1 :]]


def variants(tree: Tree, places: Collection[int] = ()) -> Iterator[Tree]:
    """Outputs that one test may tell from `tree` and another not: perturbed ones, equals of other types, small steps,
    a change in each of up to 40 places, those at the indices `places` among them. Not all differ from `tree`."""
    yield from perturbed(tree)
    yield from islice(_twins(tree), PLACES)
    yield from _changed(tree, PLACES, frozenset(islice(places, PLACES)))
    yield from _rearranged(tree)


def _twins(tree: Tree) -> Iterator[Tree]:
    """What is equal, or would be but for its type."""
    value = number(tree)
    if value is not None:
        if not isinstance(value, complex) and math.isfinite(value) and abs(value) < 2**53:
            yield from (["f", repr(float(value))], integer(int(value)), bool(value))
    elif type(tree) is list and tree[0] in _TWIN_TAGS:
        yield [_TWIN_TAGS[tree[0]], *tree[1:]]
        for position in _positions(tree, PLACES, frozenset()):
            for twin in _twins(tree[position]) if tree[0] in ("l", "t") else ():
                yield [*tree[:position], twin, *tree[position + 1 :]]


_TWIN_TAGS = {"l": "t", "t": "l", "s": "z", "z": "s", "b": "B", "B": "b"}


def _positions(tree: Tree, most: int, named: frozenset[int]) -> list[int]:
    """Positions of items, evenly spread where there are more than `most`, and the named ones."""
    count = len(tree) - 1
    spread = {1 + number * count // most for number in range(most)} if count > most else set(range(1, count + 1))
    return sorted(spread | {index % count + 1 for index in named if count and -count <= index < count})


def _changed(tree: Tree, most: int, named: frozenset[int]) -> Iterator[Tree]:
    """The value with one of its smallest parts changed a little."""
    tag = tree[0] if type(tree) is list else ""
    if type(tree) is str:
        for position in _positions([None, *tree], most, named):
            before, character, after = tree[: position - 1], tree[position - 1], tree[position:]
            yield f"{before}{'b' if character == 'a' else 'a'}{after}"
            if character.swapcase() != character:
                yield f"{before}{character.swapcase()}{after}"
    elif tag in ("l", "t", "d") and len(tree) > 1:
        chosen = _positions(tree, most, named)
        for position in chosen:
            part = tree[position][1] if tag == "d" else tree[position]
            for other in _changed(part, max(1, most // len(chosen)), named):
                yield [*tree[:position], [tree[position][0], other] if tag == "d" else other, *tree[position + 1 :]]
    elif number(tree) is not None:
        yield from _stepped(number(tree))
    else:
        yield from perturbed(tree)[:most]


def _stepped(value: int | float | complex | None) -> Iterator[Tree]:
    if isinstance(value, (complex, type(None))):
        return
    if isinstance(value, int) and abs(value) < 2**53:
        yield from (integer(value + step) for step in (1, -1, 2, -3, 7, -25, 100, 1000))
        yield from (tree_of(value + step) for step in (0.4, -0.4, 0.6))
    elif isinstance(value, float) and math.isfinite(value):
        for step in (1e-6, 1e-3, 0.4, 7.0):
            yield from (tree_of(value + step), tree_of(value - step), tree_of(value * (1 + step)))


def _rearranged(tree: Tree) -> Iterator[Tree]:
    """The items in other orders, one left out, one twice; a dictionary's entries likewise."""
    tag = tree[0] if type(tree) is list else ""
    if tag in ("s", "z"):
        yield from islice(_without_one(tree), PLACES)
    elif tag in ("l", "t", "d") and len(tree) > 2:
        yield [tag, *tree[:0:-1]]
        for position in _positions(tree, PLACES // 2, frozenset())[:-1]:
            before, one, after = tree[:position], tree[position], tree[position + 1 :]
            yield [*before, *after]
            yield [*before, *after[:1], one, *after[1:]]
            if tag != "d":
                yield [*before, one, one, *after]
