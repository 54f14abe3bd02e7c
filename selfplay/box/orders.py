"""One task on its way through a box: the orders that it takes, what is known of its cases, what its owners may still use.

A task's orders are run one after the other, so its totals hold exactly (accounts.py), and several tasks share the workers.
Orders are cut by the bytes of their inputs: however long the arguments of a suite are together, no order is too long for a
box.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field

from selfplay.box.accounts import Account, Accounts, Ending, call_of
from selfplay.box.task import Execution, Task
from selfplay.box.wire import BEFORE_CASES, INFRA, ORDER, TOO_LARGE, conclude, loaded, timed_out

ORDER_SIZE = 8 << 20  # characters of inputs in an order
LONGEST = 32 << 20  # characters of one input or of a source: one that is longer is never run
_PATIENCE, _PACE = 30.0, 256 << 10  # as in sandbox/watch.py: seconds, and bytes a second more, to read an order


class RunningTask:
    """`known`: for each case its execution, once it has one. `attempts` counts what died with the order that is next."""

    def __init__(self, index: int, task: Task) -> None:
        self.index, self.task = index, task
        # an input too long for any order crashes every program alike, so no reference passes it either
        self.known = [Execution("crashed") if len(text) > LONGEST else None for text in task.inputs]
        self.attempts = self.first = 0  # `first`: all cases before it are known
        owners, limits = task.owners or ((0,),) * len(task.inputs), task.limits
        accounts = {
            owner: Account(
                limits.total_cpu_seconds(count), limits.total_wall_seconds(count), limits.answer_bytes, limits.timeouts
            )
            for owner, count in Counter(owner for asking in owners for owner in asking).items()
        }
        self.accounts = Accounts(owners, accounts)
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

    def next_order(self) -> Order:
        """The cases that the next child runs: as many as one order takes, of one payer where each is alone."""
        cases: list[int] = []
        size, inputs, payer = 0, self.task.inputs, self.accounts.payer
        for case in range(self.first, len(inputs)):
            if self.known[case] is not None or payer(case).spent:
                continue
            size += len(inputs[case])
            apart = self.accounts.alone and cases and payer(cases[0]) is not payer(case)
            if cases and (size > ORDER_SIZE or not self.task.entry_point or apart):
                break
            cases.append(case)
        return Order(self, cases)

    def settle(self, order: Order, ending: Ending) -> None:
        """Notes what became of an order's cases, and charges their owners for it."""
        self.attempts = 0
        calls = order.calls
        executions = conclude(self.task, order.count, order.reports, order.printed, ending, calls)
        if not loaded(order.reports) and not ending.by_total:
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


@dataclass(slots=True)
class Order:
    """Part of a task for one child: some of its cases, and what has come back so far."""

    running: RunningTask
    cases: list[int]
    reports: list[bytes] = field(default_factory=list)
    printed: bytes = b""
    length: int = 0  # of its body, once it is packed
    wall: float = 0.0  # seconds that all of it may take

    @property
    def task(self) -> Task:
        """What is run."""
        return self.running.task

    @property
    def count(self) -> int:
        """How many cases it has."""
        return len(self.cases)

    @property
    def calls(self) -> list[tuple[float, float, int]]:
        """What the reports say of calls; a program that reads standard input has none."""
        reports = self.reports[BEFORE_CASES : BEFORE_CASES + self.count] if self.task.entry_point else []
        return [call_of(report) for report in reports]

    def pack(self) -> bytes:
        """Header and body, in one piece: every further write wakes the zygote."""
        task, limits = self.task, self.task.limits
        cpu, self.wall, room = self.running.accounts.left(self.cases)
        inputs = [task.inputs[case] for case in self.cases]
        body = json.dumps([task.source, task.entry_point, inputs], separators=(",", ":")).encode()
        self.length = len(body)
        header = ORDER.pack(
            *(0 if task.entry_point else 1, self.count, limits.cpu_seconds, _wall_seconds(task), cpu, self.wall),
            *(limits.memory_mib << 20, limits.output_bytes, room, limits.depth, len(body)),
        )
        return header + body

    def forget(self) -> None:
        """Drops what has come back: the order starts over."""
        self.reports.clear()
        self.printed = b""

    @property
    def allowance(self) -> float:
        """Wall-clock seconds within which a zygote must have ended the child of a packed order."""
        cases = _wall_seconds(self.task) * (self.count + BEFORE_CASES + 1)
        return min(cases, self.wall) + _PATIENCE + self.length / _PACE


def _wall_seconds(task: Task) -> float:
    """The backstop: CPU time is what is limited, but a sleeping program uses none."""
    return 5.0 * task.limits.cpu_seconds + 1.0
