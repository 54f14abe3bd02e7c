"""What evaluating somebody else's expressions may cost, and the refusal when it costs more.

Every step of the interpreter spends from one budget, and so does every look into a container: shared lists nested
thirty deep are a billion items to whoever compares or prints them. The caps leave room for ordinary stress tests
(`list(range(10000))`, `"a" * 5000`).
"""

from __future__ import annotations

from typing import Any

MAX_ITEMS = 100_000  # of one container or text
MAX_BITS = 10_000  # of one integer
MAX_NESTING = 100
MAX_GROWN = 5_000  # items a set or dictionary may hold while it grows one by one
MAX_SAME_HASH = 32  # items of one set or dictionary that may share a hash

_SMALL = frozenset({bool, float, complex, type(None)})
_NUMBERS = frozenset({bool, int, float, complex, type(None)})
_OTHER_DATA = (float, complex, range, slice, type(None), type(...))
_CONTAINERS = (list, tuple, set, frozenset, dict)


class NotReadable(ValueError):
    """Code that is not evaluated. `reason` is a short slug that is counted, `detail` says what was met."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class Unknown:
    """A value that stands for something else than data: a result not known yet, a module, a marker.

    Whatever an expression does to it is one of the methods below; the defaults refuse.
    """

    what = "a value that is only known when the program runs"

    def _refuse(self) -> Any:
        raise NotReadable("property", f"the test depends on {self.what}")

    def call(self, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        return self._refuse()

    def attribute(self, name: str) -> Any:
        return self._refuse()

    def item(self, key: Any) -> Any:
        return self._refuse()

    def passed_to(self, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """The value of the builtin `name` called with this value among the arguments."""
        return self._refuse()

    def compare(self, operator: str, other: Any, flipped: bool) -> Any:
        """This `operator` other; `flipped` where this value stood on the right."""
        return self._refuse()

    def negated(self) -> Any:
        return self._refuse()

    def combine(self, operator: str, other: Any, flipped: bool) -> Any:
        """An arithmetic operator by its name in ast, such as `Sub`."""
        return self._refuse()

    def truth(self) -> bool:
        return self._refuse()


class Lazy(list[Any]):
    """What zip, map, enumerate, reversed and generator expressions give: may be iterated, is no list."""


class Budget:
    """Counts steps down; `spend` and the guards raise NotReadable."""

    def __init__(self, steps: int = 200_000) -> None:
        self.left = steps

    def spend(self, steps: int = 1) -> None:
        self.left -= steps
        if self.left < 0:
            raise NotReadable("budget", "too many steps")

    def weigh(self, value: Any) -> Any:
        """Pay for looking through `value` once; refuses what is unknown, iterators and deep nesting. Returns it."""
        stack = [(value, 0)]
        while stack:
            item, depth = stack.pop()
            if isinstance(item, _CONTAINERS):
                stack.extend(self._parts(item, depth))
            else:
                self._weigh_one(item)
        return value

    def _parts(self, container: Any, depth: int) -> list[tuple[Any, int]]:
        if depth > MAX_NESTING:
            raise NotReadable("budget", f"nested more than {MAX_NESTING} deep")
        if isinstance(container, Lazy):
            raise NotReadable("unsupported", "an iterator as a value")
        items = list(container)
        if isinstance(container, dict):
            items += container.values()
        self.spend(len(items) // 16 + 1)
        kinds = set(map(type, items))
        if kinds <= _SMALL or (kinds == {int} and min(items) > -(1 << 64) and max(items) < 1 << 64):
            return []
        return [(item, depth + 1) for item in items]

    def _weigh_one(self, item: Any) -> None:
        if isinstance(item, Unknown):
            item._refuse()
        if isinstance(item, (str, bytes, bytearray)):
            self.spend(len(item) // 64 + 1)
        elif isinstance(item, int):
            self.spend(item.bit_length() // 64 + 1)
        elif not isinstance(item, _OTHER_DATA):
            raise NotReadable("unsupported", f"a {type(item).__name__} as a value")

    def items(self, value: Any) -> list[Any]:
        """The items of something iterable, as a new list."""
        if isinstance(value, Unknown):
            value._refuse()
        if isinstance(value, range):
            length = max(0, -((value.start - value.stop) // value.step))
        elif isinstance(value, (*_CONTAINERS, str, bytes, bytearray)):
            length = len(value)
        else:
            raise NotReadable("unreadable", f"a {type(value).__name__} is not iterable")
        self.sized(length)
        self.spend(length // 16 + 1)
        items = list(value)
        if isinstance(value, (set, frozenset)) and not set(map(type, items)) <= _NUMBERS:
            items.sort(key=repr)  # texts are hashed with a salt: read the same test the same way in every process
        return items

    def sized(self, length: int) -> None:
        if length > MAX_ITEMS:
            raise NotReadable("budget", f"{length} items where {MAX_ITEMS} are allowed")


def hashable(items: list[Any]) -> list[Any]:
    """Items that may enter a set or a dictionary: not too many of one hash, which would take quadratic time."""
    if len(items) > 4 * MAX_SAME_HASH:
        hashes = sorted(map(hash, items))
        crowded = {a for a, b in zip(hashes, hashes[MAX_SAME_HASH:], strict=False) if a == b}
        for value in crowded:
            _few([item for item in items if hash(item) == value])
    return items


def _few(items: list[Any]) -> None:
    """Refuse more than a few different items, found by comparing alone."""
    different: list[Any] = []
    for item in items:
        if not any(item == other for other in different):
            different.append(item)
            if len(different) > MAX_SAME_HASH:
                raise NotReadable("budget", "a set or dictionary whose items share a hash")


def bits(value: int) -> int:
    """`value`, if it is not too long."""
    if value.bit_length() > MAX_BITS:
        raise NotReadable("budget", f"an integer of more than {MAX_BITS} bits")
    return value
