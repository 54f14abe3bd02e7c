"""Functions of this process that test code may call, and how they are entered into a table of names.

A function of data is `Offered` with what it costs (costs.py), which is paid before it is called; one that calls back
into the test, or works item by item, is a `Native` that pays as it goes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from selfplay.reading.budget import Budget
from selfplay.reading.costs import Cost
from selfplay.reading.operators import short
from selfplay.reading.unknown import Apply, Arguments, Data, Keywords


class Call(Protocol):
    """What a call of a known function does. May raise NotReadable, and whatever Python raises for these arguments."""

    def __call__(self, budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords, /) -> Data: ...


class Native:
    """A known function. `apply` lets it call functions of the test itself (the `key` of `sorted`)."""

    __slots__ = ("function", "name")

    def __init__(self, name: str, function: Call) -> None:
        self.name, self.function = name, function


class Offered(Native):
    """A function of data, with its cost. The arguments are paid for before the call, the size of an integer after it."""

    __slots__ = ("cost", "of_data")

    def __init__(self, name: str, cost: Cost, of_data: Callable[..., Data]) -> None:
        super().__init__(name, self._paid)
        self.cost, self.of_data = cost, of_data

    def _paid(self, budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Data:
        self.cost(budget, arguments, keywords)
        return short(self.of_data(*arguments, **keywords))


def native(table: dict[str, Data], name: str) -> Callable[[Call], Call]:
    """Enter a function that pays as it goes into a table, under the name that tests call it by."""

    def enter(function: Call) -> Call:
        table[name] = Native(name, function)
        return function

    return enter
