"""What it may cost to look at a returned value: one budget of steps for each comparison.

A step is about a microsecond of work, or some hundred bytes of memory. Work is paid for by the size of what it reads and
makes, before it is done; a comparison that runs out fails, as one that raises does. What passes over a value once
(`alike`) is bounded by the size of the value itself and pays nothing.
"""

from __future__ import annotations

from selfplay.cases.values import Tree

MAX_STEPS = 500_000
CHARACTERS = 64  # of text, or hexadecimal digits, that one step reads or writes
PARTS = 8  # of a list that one step passes over
COLLIDING = 50  # pairs of keys of one hash that are compared in a step
_SCATTERED = ("f", "b")  # tags of keys of which not many can share a hash, as of those without a tag
_KEYED = ("s", "z", "d", "C", "O", "dd")


class Mismatch(ValueError):
    """A comparison that the returned value does not support: Python would have raised."""


class Steps:
    """Counts steps down; raises Mismatch below zero."""

    __slots__ = ("left",)

    def __init__(self, left: int = MAX_STEPS) -> None:
        self.left = left

    def spend(self, steps: int = 1) -> None:
        """Pay for what follows. Raises Mismatch where nothing is left."""
        self.left -= steps
        if self.left < 0:
            raise Mismatch("too many steps")

    def weigh(self, tree: Tree, *, build: bool = False) -> None:
        """Pay for looking through a whole tree once: a part that is held twice is paid for twice. To `build` what it stands
        for, keys that may have been made to share a hash (tuples, long integers, exact numbers, dates) are paid for by the
        square of their number."""
        if type(tree) is not list:
            self.spend(1 + len(tree) // CHARACTERS if type(tree) is str else 1)
            return
        stack = [tree]
        while stack:
            parts = stack.pop()
            self.spend(1 + len(parts) // PARTS)
            for part in parts:
                if type(part) is list:
                    stack.append(part)
                elif type(part) is str and len(part) >= CHARACTERS:
                    self.spend(len(part) // CHARACTERS)
            if build and parts and parts[0] in _KEYED:
                keys = parts[1:] if parts[0] in ("s", "z") else [pair[0] for pair in parts[1:] if type(pair) is list]
                self.spend(sum(type(key) is list and key[0] not in _SCATTERED for key in keys) ** 2 // COLLIDING)
