"""What a value of a test being read may be, and what stands for the values that are not known while it is read.

Plain data (numbers, texts, lists, ...) is itself. Beside it stand iterators (`Lazy`), functions of the test (names.py),
known functions (known.py), and everything that is not known yet or is no data at all: an `Unknown`, which says itself
what an operator, a call or an item of it means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn, Protocol, TypeAlias

from selfplay.reading.refusals import NotReadable

# A value of the test that is only handed on, or looked at after its type is known.
Value: TypeAlias = object
# A value of the test that Python's own operators and functions are applied to. Where they do not fit, they raise, which
# refuses the test (expressions.ERRORS); so no type is demanded of it before.
Data: TypeAlias = Any
Arguments: TypeAlias = Sequence[Data]
Keywords: TypeAlias = Mapping[str, Data]


class Apply(Protocol):
    """Calls a function of the test, or any other value that may be called: the `key` of `sorted`."""

    def __call__(self, function: Value, arguments: list[Value], keywords: Keywords | None = None, /) -> Data: ...


class Unknown:
    """A value that stands for something else than data: a result not known yet, a module, a marker.

    Whatever an expression does to it is one of the methods below; the defaults refuse. All may raise NotReadable.
    """

    what = "a value that is only known when the program runs"

    def refuse(self) -> NoReturn:
        """Raise the refusal of a test that depends on this value."""
        raise NotReadable("property", f"the test depends on {self.what}")

    def call(self, arguments: Arguments, keywords: Keywords) -> Value:
        """This value, called."""
        self.refuse()

    def attribute(self, name: str) -> Value:
        """value.name"""
        self.refuse()

    def item(self, key: Value) -> Value:
        """value[key]; a slice is a key too."""
        self.refuse()

    def passed_to(self, name: str, arguments: Arguments, keywords: Keywords) -> Value:
        """The value of the builtin `name` called with this value among the arguments."""
        self.refuse()

    def compare(self, operator: str, other: Value, flipped: bool) -> Value:
        """This `operator` other; `flipped` where this value stood on the right."""
        self.refuse()

    def negated(self) -> Value:
        """`not` value"""
        self.refuse()

    def combine(self, operator: str, other: Value, flipped: bool) -> Value:
        """An arithmetic operator by its name in ast, such as `Sub`; `flipped` where this value stood on the right."""
        self.refuse()

    def truth(self) -> bool:
        """Which way an `if` on it goes."""
        self.refuse()

    def change(self) -> None:
        """Something unseen may have been done to it: forget what is known of it."""


def denied(value: Value) -> Value:
    """`not value`, known or not."""
    return value.negated() if isinstance(value, Unknown) else not value


class Lazy(list[Data]):
    """What zip, map, enumerate, reversed and generator expressions give: may be iterated once, is no list.

    `taken` counts the items that are gone.
    """

    taken = 0

    def rest(self) -> Iterator[Data]:
        """The items that are left, each gone once it is given."""
        while self.taken < len(self):
            self.taken += 1
            yield self[self.taken - 1]


class View(Lazy):
    """What a dictionary's keys, values and items are: may be iterated again."""

    def rest(self) -> Iterator[Data]:
        """All items, however often they were asked for."""
        return iter(self)
