"""Outputs near a right one: the battery that tells a test that checks something from one that checks nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from selfplay.judging.equality import equal
from selfplay.judging.values import Tree, integer, number


def perturbed(tree: Tree) -> list[Tree]:
    """Different outputs, mostly of the same type, each once: off by one, sign, empty, order."""
    if type(tree) is bool:
        return [not tree]
    found: list[Tree] = []
    for other in (*_variations(tree), None):
        if not equal(other, tree) and not any(type(other) is type(seen) and equal(other, seen) for seen in found):
            found.append(other)
    return found


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
        yield from ([tree[0], *tree[2:]], [tree[0], *tree[1:], 987654321], [tree[0]], [tree[0], *tree[1:-1]])
    elif tree[0] == "d":
        yield from _dictionaries(tree)
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


def rejected_share(accepts: Callable[[Any], bool], tree: Tree) -> float:
    """The share of outputs near `tree` that a test refuses."""
    others = perturbed(tree)
    return sum(not accepts(other) for other in others) / len(others)
