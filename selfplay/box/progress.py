"""One task on its way through a box: the orders that it takes, what is known of its cases, what its owners may still use.

A task's orders are run one after the other, so its totals hold exactly (accounts.py), and several tasks share the workers.
Orders are cut by the bytes of their inputs: however long the arguments of a suite are together, no order is too long for a
box.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from selfplay.box.accounts import Account, Accounts, Ending
from selfplay.box.task import Execution, Task
from selfplay.box.wire import INFRA, TOO_LARGE, Order, conclude, timed_out

ORDER_SIZE = 8 << 20  # characters of inputs in an order
LONGEST = 32 << 20  # characters of one input or of a source: one that is longer is never run


class Progress:
    """`known`: for each case its execution, once it has one. `attempts` counts what died with the order that is next."""

    def __init__(self, index: int, task: Task) -> None:
        self.index, self.task = index, task
        # an input too long for any order crashes every program alike, so no reference passes it either
        self.known = [Execution("crashed") if len(text) > LONGEST else None for text in task.inputs]
        self.attempts = self.first = 0  # `first`: all cases before it are known
        owners = task.owners or ((0,),) * len(task.inputs)
        self.accounts = Accounts(owners, _accounts(task, Counter(owner for asking in owners for owner in asking)))
        if len(task.source) > LONGEST:
            self._fill(Execution("not_collected", exception=("SourceTooLarge",)))
        self._pass_over()

    @property
    def done(self) -> bool:
        """Whether every case is known."""
        return self.first == len(self.known)

    @property
    def executions(self) -> tuple[Execution, ...]:
        """Every case's execution, once all are known."""
        return tuple(execution or INFRA for execution in self.known)

    def orders(self) -> Iterator[Order]:
        """The orders for all cases that are to be run."""
        cases: list[int] = []
        size, inputs = 0, self.task.inputs
        for case in range(self.first, len(inputs)):
            if self.known[case] is not None or self.accounts.payer(case).spent:
                continue
            size += len(inputs[case])
            if cases and (size > ORDER_SIZE or not self.task.entry_point or not self._together(cases[0], case)):
                yield Order(self, cases)
                cases, size = [], len(inputs[case])
            cases.append(case)
        if cases:
            yield Order(self, cases)

    def rest(self, order: Order) -> list[int]:
        """Those of an order's cases that its next child runs."""
        return self.accounts.chosen(case for case in order.cases if self.known[case] is None)

    def settle(self, order: Order, ending: Ending) -> None:
        """Notes what became of an order's cases, and charges their owners for it."""
        self.attempts = 0
        calls = order.calls
        executions = conclude(order, ending, calls)
        if not order.loaded and not ending.by_total:
            self._fill(executions[0])
        else:
            marks = self.accounts.charge(order.cases, calls, ending, len(order.printed))
            for case, execution, mark in zip(order.cases, executions, marks, strict=False):
                self.known[case] = self._spent(mark) if mark else execution
        self._pass_over()

    def fail(self) -> bool:
        """Notes that the next order was lost with what ran it. True where it may be tried once more."""
        self.attempts += 1
        if self.attempts > 1:
            self.give_up()
        return self.attempts < 2

    def give_up(self) -> None:
        """The cases that are not known are the box's failure."""
        self._fill(INFRA)

    def _fill(self, execution: Execution) -> None:
        self.known = [known or execution for known in self.known]
        self.first = len(self.known)

    def _pass_over(self) -> None:
        """Moves on to the first case that is to be run: one whose owners have spent what they had is not."""
        first, known = self.first, self.known
        while first < len(known):
            if known[first] is None:
                mark = self.accounts.payer(first).spent
                if not mark:
                    break
                known[first] = self._spent(mark)
            first += 1
        self.first = first

    def _spent(self, mark: str) -> Execution:
        return TOO_LARGE if mark == "room" else timed_out(self.task)

    def _together(self, one: int, other: int) -> bool:
        return not self.accounts.alone or self.accounts.payer(one) is self.accounts.payer(other)


def _accounts(task: Task, asked: Counter[int]) -> dict[int, Account]:
    """Each owner's account, by how many inputs it asks for."""
    limits = task.limits
    return {
        owner: Account(
            limits.total_cpu_seconds(count), limits.total_wall_seconds(count), limits.answer_bytes, limits.timeouts
        )
        for owner, count in asked.items()
    }
