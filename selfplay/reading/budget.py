"""What evaluating somebody else's expressions may cost, and the refusal when it costs more.

One currency: a step is about a microsecond of time, or `STEP_BYTES` of memory that something new may take. All that the
interpreter does is paid for before it is done, and nothing is given back, so that one number bounds time and memory
alike. Whoever looks into a value pays for it as a tree: shared lists nested thirty deep are a billion items to whoever
compares, hashes or prints them. A large argument costs its bytes: `"(" * 10**6` and `list(range(10**5))` are ordinary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from selfplay.reading.refusals import NotReadable
from selfplay.reading.unknown import Data, Lazy, Unknown

FUNCTION_STEPS = (
    600_000  # of one test function: `[i % 7 for i in range(10**5)]` is a pass over 100,000 items of four steps
)
MODULE_STEPS = 1_800_000  # of a whole text: under two seconds, under 150 MB
SHORT_STEPS = 250  # of a short text, for each of its characters, beside one function's
STEP_BYTES = 64
WRITING = 8  # times that writing a value as canonical text takes what looking through it does
MAX_BYTES = 4 << 20  # of one text, or of one container's table; canonical text of one argument has the same limit
MAX_BITS = 10_000  # of one integer
MAX_NESTING = 100
MAX_SAME_HASH = 8  # different keys of one hash, in all that one budget pays for

_SHALLOW = frozenset({bool, complex, type(None)})
_SCALARS = _SHALLOW | {int, float}
_TEXTS = frozenset({str, bytes, bytearray})
_SEQUENCES = frozenset({list, tuple})
_HASHED = frozenset({set, frozenset, dict})
_COPIED = _TEXTS | _SEQUENCES | _HASHED
_SAFE_KEYS = frozenset({str, bytes, bool, float, type(None)})  # texts are hashed with a salt, few floats share a hash
_SMALL = 1 << 60  # integers below this share no hash (but -1 and -2)
_END = object()


class Budget:
    """Counts steps down. `spend` and all that pays refuse with NotReadable, before anything is done.

    `begin` sets a smaller limit for the next part of the work (a test function), within the same steps.
    """

    def __init__(self, steps: int = FUNCTION_STEPS) -> None:
        self.left = steps
        self.floor = 0
        self._same_hash: dict[int, list[Data]] = {}

    def begin(self, steps: int) -> None:
        """What follows may spend `steps`, and no more than what is left of all."""
        self.floor = max(0, self.left - steps)

    def spend(self, steps: int = 1) -> None:
        """Pay for what follows; refuses what more than is left would be needed for."""
        if steps > self.left - self.floor:
            raise NotReadable("budget", "it takes too many steps to evaluate; write smaller arguments or shorter loops")
        self.left -= steps

    def made(self, length: int, each: int = 1) -> None:
        """Pay for something new of `length` items of `each` bytes; refuses what is too large to be an argument."""
        self.sized(length, min(each, 8))
        self.spend(length * each // STEP_BYTES + 1)

    def sized(self, length: int, each: int = 8) -> None:
        """Refuse a container of `length` pointers, or a text of as many characters of `each` bytes."""
        if length * each > MAX_BYTES:
            raise NotReadable("budget", f"{length} items where {MAX_BYTES // each} are allowed")

    def weigh(self, value: Data, times: int = 1) -> Data:
        """Pay for looking through `value`, as a tree, `times` times. Returns it.

        Refuses what is unknown, iterators and deep nesting.
        """
        walk: list[Iterator[Data]] = [iter((value,))]
        while walk:
            item = next(walk[-1], _END)
            kind = type(item)
            if item is _END:
                walk.pop()
            elif kind in _SEQUENCES or kind in _HASHED:
                if len(walk) > MAX_NESTING:
                    raise NotReadable("budget", f"nested more than {MAX_NESTING} deep")
                self._weigh_parts(item, times, walk)
            elif kind not in _SHALLOW:
                self._weigh_one(item, kind, times)
        return value

    def _weigh_parts(self, container: Data, times: int, walk: list[Iterator[Data]]) -> None:
        """Pay for the parts of a container that are all numbers or all texts; for any others they are walked next."""
        self.spend((len(container) // 16 + 1) * times)
        items = container if type(container) is not dict else [*container, *container.values()]
        kinds = set(map(type, items))
        if kinds <= _SCALARS:
            if float in kinds or complex in kinds:
                self.spend(len(items) // 4 * times)
            if int not in kinds or all(-_SMALL < item < _SMALL for item in items if type(item) is int):
                return
        elif kinds == {str}:
            self.spend(sum(map(str.__sizeof__, items)) * min(times, 4) // STEP_BYTES)
            return
        else:
            self.spend(len(items) // 2 * times)
        walk.append(iter(items))

    def _weigh_one(self, item: Data, kind: type, times: int) -> None:
        if kind in _TEXTS:
            self.spend(item.__sizeof__() * min(times, 4) // STEP_BYTES + 1)
        elif kind is int:
            words = item.bit_length() // 64
            self.spend(words * times + words * words // 256 + 1)
        elif isinstance(item, Unknown):
            item.refuse()
        elif kind is range:
            self.weigh((item.start, item.stop, item.step), times)
        elif isinstance(item, Lazy):
            raise NotReadable("unsupported", "an iterator as a value; write list(...) around it")
        elif kind not in (float, slice, type(...)):
            raise NotReadable("unsupported", f"a {kind.__name__} as a value")

    def copied(self, *values: Data) -> None:
        """Pay for a copy of each value that leaves its parts as they are."""
        for value in values:
            if type(value) in _COPIED:
                self.sized(len(value), 1 if type(value) in _TEXTS else 8)
                self.spend(value.__sizeof__() // STEP_BYTES + 1)
            else:
                self.weigh(value)

    def items(self, value: Data) -> list[Data]:
        """The items of something iterable, as a new list. An iterator is empty afterwards."""
        self._paid_items(value)
        items = list(value.rest() if isinstance(value, Lazy) else value)
        if type(value) in (set, frozenset) and not set(map(type, items)) <= _SCALARS:
            self.weigh(items, 4 + len(items).bit_length())
            items.sort(key=repr)  # texts are hashed with a salt: read the same test the same way in every process
        return items

    def _paid_items(self, value: Data) -> None:
        if isinstance(value, Unknown):
            value.refuse()
        elif type(value) is range:
            length = max(0, -((value.start - value.stop) // value.step))
            self.made(length, 40)
        elif type(value) is str and not value.isascii():
            self.made(len(value), 88)
        elif type(value) in (bytes, bytearray) or isinstance(value, (list, tuple, set, frozenset, dict, str)):
            self.made(len(value), 8)
        else:
            raise NotReadable("unreadable", f"a {type(value).__name__} is not iterable")

    def each(self, value: Data) -> Iterable[Data]:
        """The items of something iterable, one by one where no list of them is needed."""
        if isinstance(value, Lazy):
            return value.rest()
        return value if type(value) is range else self.items(value)

    def keys(self, items: Iterable[Data]) -> Iterable[Data]:
        """Pay for items that enter a set, or are a dictionary's keys. Returns them.

        Refuses many different ones of one hash: each is compared with all the others.
        """
        for item in items:
            kind = type(item)
            if kind not in _SAFE_KEYS and not (kind is int and -_SMALL < item < _SMALL):
                self._few_like(self.weigh(item, 3))
        return items

    def _few_like(self, item: Data) -> None:
        self.spend(4)
        alike = self._same_hash.setdefault(hash(item), [])
        if not any(item == other for other in alike):
            alike.append(item)
        if len(alike) > MAX_SAME_HASH:
            raise NotReadable("budget", "a set or dictionary whose items share a hash")


def module_steps(text: str) -> int:
    """The steps that reading a text of tests may take."""
    return min(MODULE_STEPS, FUNCTION_STEPS + SHORT_STEPS * len(text))


def bits(value: int) -> int:
    """`value`, if it is not too long."""
    if value.bit_length() > MAX_BITS:
        raise NotReadable("budget", f"an integer of more than {MAX_BITS} bits")
    return value
