"""One task on its way through a box: the orders that it takes, what is known of its cases, what it may still use.

A task's orders are run one after the other, so its totals (CPU and wall-clock seconds, bytes of answers, timeouts) hold
exactly, and several tasks share the workers. Orders are cut by the bytes of their inputs: however long the arguments of
a suite are together, no order is too long for a box. sandbox/batch.py keeps the same account where orders run far away.
"""

from __future__ import annotations

from collections.abc import Iterator

from selfplay.box.task import Execution, Task
from selfplay.box.wire import INFRA, TOO_LARGE, Ending, Order, timed_out

ORDER_SIZE = 8 << 20  # characters of inputs in an order
LONGEST = 32 << 20  # characters of one input or of a source: one that is longer is never run


class Progress:
    """`known` are the executions of the first cases. `attempts` counts what died with the order that is next."""

    def __init__(self, index: int, task: Task) -> None:
        self.index, self.task = index, task
        self.known: list[Execution] = []
        self.attempts = 0
        cases, limits = len(task.inputs), task.limits
        self.cpu_seconds, self.wall_seconds = limits.total_cpu_seconds(cases), limits.total_wall_seconds(cases)
        self.room, self.timeouts = limits.answer_bytes, limits.timeouts
        if len(task.source) > LONGEST:
            self._fill(Execution("not_collected", exception=("SourceTooLarge",)))
        self._pass_over()

    @property
    def done(self) -> bool:
        """Whether every case is known."""
        return len(self.known) == len(self.task.inputs)

    def orders(self) -> Iterator[Order]:
        """The orders for all cases that are not known, up to the first that cannot be run."""
        first, inputs = len(self.known), self.task.inputs
        while count := self._fitting(first):
            size = len(self.task.source) + sum(map(len, inputs[first : first + count]))
            yield Order(self, first, count, size=size)
            first += count

    def settle(self, executions: list[Execution], ending: Ending, answered: int) -> None:
        """Notes what became of the next cases, and charges the program for it. `answered`: bytes that its child reported."""
        self.known += executions
        self.attempts = 0
        self.cpu_seconds -= max(0.0, ending.cpu_seconds)
        self.wall_seconds -= max(0.0, ending.wall_seconds)
        self.room -= answered
        self.timeouts -= sum(execution.status == "timeout" for execution in executions)
        if executions and executions[-1].status == "not_collected":
            self._fill(executions[-1])
        elif ending.full or self.room <= 0:
            self._fill(TOO_LARGE)
        elif self.timeouts <= 0 or self.cpu_seconds <= 0 or self.wall_seconds <= 0:
            self._fill(timed_out(self.task))
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
        self.known += [execution] * (len(self.task.inputs) - len(self.known))

    def _pass_over(self) -> None:
        """An input too long for any order crashes every program alike, so no reference passes it either."""
        while not self.done and len(self.task.inputs[len(self.known)]) > LONGEST:
            self.known.append(Execution("crashed"))

    def _fitting(self, first: int) -> int:
        """How many inputs from `first` on go into one order."""
        inputs, size, count = self.task.inputs, 0, 0
        alone = self.task.apart or not self.task.entry_point
        for index in range(first, len(inputs)):
            size += len(inputs[index])
            if len(inputs[index]) > LONGEST or (count and (alone or size > ORDER_SIZE)):
                break
            count += 1
        return count
