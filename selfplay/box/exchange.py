"""The exchange of orders and answers with the zygotes of a local box, in one loop of the calling thread.

What a child leaves undone (it crashed, hung, flooded) goes into a new order without the case that did it (orders.py). A
zygote that dies is replaced and its order is tried once more; after that the program's remaining cases are
`infra_error`, never raised. What is held in memory is what is in flight: the answers of at most two programs a worker.
"""

from __future__ import annotations

import itertools
import os
import selectors
import struct
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import TypeAlias

from selfplay.box.accounts import Ending
from selfplay.box.orders import Order, RunningTask
from selfplay.box.task import Execution, Task
from selfplay.box.wire import frames
from selfplay.box.zygotes import BoxUnavailable, Zygote

_AHEAD = 2  # orders a zygote may hold: one runs, one waits in the pipe
_PATIENCE = 30.0  # seconds beyond every limit after which a silent zygote is given up
_KEPT = 4  # zygotes with different packages that one worker keeps

Start: TypeAlias = Callable[[tuple[str, ...]], Zygote]


class Exchange:
    """One call of `stream`: hands out orders, collects executions. `start` starts a zygote for some packages."""

    def __init__(self, slots: list[list[Zygote]], tasks: Sequence[Task], start: Start) -> None:
        self.slots, self.start = slots, start
        self.waiting: deque[Order] = deque()
        self.done: deque[RunningTask] = deque()  # what waits to be told
        self.selector = selectors.DefaultSelector()
        self.active: set[Zygote] = set()
        for running in itertools.starmap(RunningTask, enumerate(tasks)):
            self._go_on(running)
        self.waiting.reverse()  # each was put in front

    def stream(self) -> Generator[tuple[int, tuple[Execution, ...]]]:
        """Each task's executions by its number, as they are done. A failure of the machinery is `infra_error`, not raised."""
        try:
            while self.waiting or self.done or any(zygote.orders for zygote in self.active):
                for depth, slot in itertools.product(range(_AHEAD), self.slots):
                    if self.waiting and sum(len(zygote.orders) for zygote in slot) <= depth:
                        self._give(slot, self.waiting.popleft())
                yield from self._tell()
                self._exchange()
        except GeneratorExit:  # only between two exchanges: who holds no order has nothing half told
            self._discard_all(lambda zygote: bool(zygote.orders))
            raise
        except BaseException:  # an interrupt, anywhere: no zygote can be used again
            self._discard_all(lambda _: True)
            raise
        finally:
            self.selector.close()

    def _tell(self) -> Generator[tuple[int, tuple[Execution, ...]]]:
        """What is done. The time that it takes whoever asked is no zygote's silence."""
        while self.done:
            running = self.done.popleft()
            before = time.monotonic()
            yield running.index, running.executions
            for zygote in self.active:
                zygote.deadline += time.monotonic() - before

    def _discard_all(self, which: Callable[[Zygote], bool]) -> None:
        for zygote in [zygote for slot in self.slots for zygote in slot if which(zygote)]:
            self._discard(zygote)

    # ---- handing out ----

    def _give(self, slot: list[Zygote], order: Order) -> None:
        try:
            zygote = self._zygote(slot, order.task.imports)
        except (BoxUnavailable, OSError):
            order.running.give_up()
            self._go_on(order.running)
            return
        zygote.outgoing.append(memoryview(order.pack()))
        if not zygote.orders:
            zygote.deadline = time.monotonic() + order.allowance + _PATIENCE
        zygote.orders.append(order)
        self._write(zygote)

    def _zygote(self, slot: list[Zygote], imports: tuple[str, ...]) -> Zygote:
        """The slot's zygote for these packages, started where there is none; the least recently used one makes room."""
        found = next((zygote for zygote in slot if zygote.imports == imports), None)
        if found is None:
            idle = [zygote for zygote in slot if not zygote.orders]
            if len(slot) >= _KEPT and idle:
                self._discard(idle[0])
            found = self.start(imports)
        else:
            slot.remove(found)
        slot.append(found)
        if found not in self.active:
            self.active.add(found)
            self.selector.register(found.stdout, selectors.EVENT_READ, found)
        return found

    def _discard(self, zygote: Zygote) -> None:
        for slot in self.slots:
            if zygote in slot:
                slot.remove(zygote)
        if zygote in self.active:
            self.active.remove(zygote)
            self.selector.unregister(zygote.stdout)
            if zygote.stdin in self.selector.get_map():
                self.selector.unregister(zygote.stdin)
        zygote.close()

    # ---- exchanging ----

    def _exchange(self) -> None:
        now = time.monotonic()
        patience = min((zygote.deadline - now for zygote in self.active if zygote.orders), default=0.0)
        for key, mask in self.selector.select(max(0.0, patience)):
            if key.data not in self.active:
                continue
            if mask & selectors.EVENT_WRITE:
                self._write(key.data)
            else:
                self._read(key.data)
        for zygote in [each for each in self.active if each.orders and time.monotonic() > each.deadline]:
            self._bury(zygote)

    def _write(self, zygote: Zygote) -> None:
        try:
            while zygote.outgoing:
                written = os.write(zygote.stdin, zygote.outgoing[0])
                zygote.outgoing[0] = zygote.outgoing[0][written:]
                if not zygote.outgoing[0]:
                    zygote.outgoing.popleft()
        except BlockingIOError:
            pass
        except OSError:
            self._bury(zygote)
            return
        watched = zygote.stdin in self.selector.get_map()
        if zygote.outgoing and not watched:
            self.selector.register(zygote.stdin, selectors.EVENT_WRITE, zygote)
        elif watched and not zygote.outgoing:
            self.selector.unregister(zygote.stdin)

    def _read(self, zygote: Zygote) -> None:
        try:
            data = os.read(zygote.stdout, 1 << 20)
        except BlockingIOError:
            return
        if not data:
            self._bury(zygote)
            return
        zygote.incoming += data
        try:
            for kind, body in frames(zygote.incoming):
                self._take(zygote, kind, body)
        except (struct.error, ValueError, IndexError):
            self._bury(zygote)

    def _take(self, zygote: Zygote, kind: bytes, body: bytes) -> None:
        order = zygote.orders[0]
        if kind == b"R":
            order.reports.append(body)
        elif kind == b"O":
            order.printed = body
        elif kind == b"E":
            ending = Ending.of(body)
            zygote.orders.popleft()
            order.running.settle(order, ending)
            self._go_on(order.running)
        elif kind == b"F":
            zygote.orders.popleft()
            self._again(order)
        else:
            raise ValueError(f"unknown frame {kind!r}")
        if zygote.orders:
            zygote.deadline = time.monotonic() + zygote.orders[0].allowance + _PATIENCE

    def _bury(self, zygote: Zygote) -> None:
        """A zygote died or fell silent: its orders start over. The one that it was at has had one of its two chances."""
        orders = list(zygote.orders)
        self._discard(zygote)
        self.waiting.extendleft(reversed(orders[1:]))
        if orders:
            self._again(orders[0])

    def _again(self, order: Order) -> None:
        order.forget()
        if order.running.fail():
            self.waiting.appendleft(order)
        else:
            self._go_on(order.running)

    def _go_on(self, running: RunningTask) -> None:
        """The task's next order; none where all of its cases are known."""
        if running.done:
            self.done.append(running)
        else:
            self.waiting.appendleft(running.next_order())
