"""The local box: runs candidates in jailed children of zygote processes on this machine.

The host never forks (a trainer is large) and never runs a candidate: it starts each zygote by exec with an empty
environment, ships the code of the top-level folder `sandbox/` to it as text, and then exchanges frames over two pipes
(their layout is told at the top of sandbox/zygote.py). All zygotes are served by one loop in the calling thread.

    box = LocalBox(workers=2)
    box.run([Task(source, "add", ('["t",1,2]',))])   ->  [(Execution("returned", "3", ...),)]

What a child leaves undone (it crashed, hung, flooded) goes into a new order without the case that did it. A zygote that
dies is replaced and its orders are tried once more; after that their cases are `infra_error`. Nothing in `run` raises.
Left out: Windows, which has none of the walls (use WSL or E2B).
"""

from __future__ import annotations

import atexit
import itertools
import os
import selectors
import struct
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from selfplay.judging.box.tiers import Tier, tier_of
from selfplay.judging.box.wire import INFRA, BoxFailed, Order, allowance, conclude, frames, orders, pack
from selfplay.judging.box.zygotes import BoxUnavailable, Zygote
from selfplay.judging.cases import Box, Execution, Task

_AHEAD = 2  # orders a zygote may hold: one runs, one waits in the pipe
_PATIENCE = 30.0  # seconds beyond every limit after which a silent zygote is given up
_KEPT = 4  # zygotes with different packages that one worker keeps

Start = Callable[[tuple[str, ...]], Zygote]
_open_boxes: weakref.WeakSet[LocalBox] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for box in list(_open_boxes):
        box.close()


class LocalBox(Box):
    """Runs tasks on `workers` zygotes. `tier` names what confines them, `confinement` says it in full.

    `jail=False` leaves the walls out, for demonstrations. Raises BoxUnavailable where nothing can be started.
    """

    def __init__(self, workers: int = 1, jail: bool = True) -> None:
        if sys.platform == "win32":
            raise BoxUnavailable("Windows has no local sandbox: run inside WSL, or use E2B (--sandbox e2b)")
        if workers < 1:
            raise ValueError(f"workers is {workers}, it must be at least 1")
        self._jail = jail
        self._lock = threading.Lock()
        self._slots: list[list[Zygote]] = [[] for _ in range(workers)]
        first = Zygote((), jail)
        self._slots[0].append(first)
        self.confinement: Tier = tier_of(first.hello, jail)
        self.tier: str = self.confinement.name
        _open_boxes.add(self)

    @property
    def workers(self) -> int:
        return len(self._slots)

    @property
    def pids(self) -> list[int]:
        """The zygotes' process ids."""
        return [zygote.process.pid for slot in self._slots for zygote in slot]

    def stream(self, tasks: Sequence[Task]) -> Iterator[tuple[int, tuple[Execution, ...]]]:
        """See Box. Raises RuntimeError where this thread has not finished an earlier stream."""
        with self._lock:
            yield from _Run(self._slots, tasks, self._start).stream()

    def _start(self, imports: tuple[str, ...]) -> Zygote:
        """A further zygote; one that came up with weaker walls than the first is refused."""
        zygote = Zygote(imports, self._jail)
        if not tier_of(zygote.hello, self._jail).reaches(self.tier):
            zygote.close()
            raise BoxUnavailable(f"a new sandbox process does not reach the tier {self.tier!r} any more")
        return zygote

    def close(self) -> None:
        """Ends the zygotes and whatever runs in them. A later `run` starts new ones."""
        with self._lock:
            for slot in self._slots:
                while slot:
                    slot.pop().close()

    def __enter__(self) -> LocalBox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Run:
    """One call of `run`: hands out orders, collects executions."""

    def __init__(self, slots: list[list[Zygote]], tasks: Sequence[Task], start: Start) -> None:
        self.slots, self.tasks, self.start = slots, tasks, start
        self.results: list[list[Execution | None]] = [[None] * len(task.inputs) for task in tasks]
        self.waiting = deque(itertools.chain.from_iterable(map(orders, range(len(tasks)), tasks)))
        self.done: deque[int] = deque()  # tasks that wait to be told
        self.selector = selectors.DefaultSelector()
        self.active: set[Zygote] = set()

    def stream(self) -> Iterator[tuple[int, tuple[Execution, ...]]]:
        try:
            yield from ((index, ()) for index, row in enumerate(self.results) if not row)
            while self.waiting or any(zygote.orders for zygote in self.active):
                self._hand_out()
                self._exchange()
                while self.done:
                    index = self.done.popleft()
                    row = tuple(execution or INFRA for execution in self.results[index])
                    self.results[index].clear()
                    yield index, row
        except BaseException:  # an interrupt leaves half-told frames: no zygote can be used again
            for zygote in [zygote for slot in self.slots for zygote in slot]:
                self._discard(zygote)
            raise
        finally:
            self.selector.close()

    # ---- handing out ----

    def _hand_out(self) -> None:
        for depth in range(_AHEAD):
            for slot in self.slots:
                if self.waiting and sum(len(zygote.orders) for zygote in slot) <= depth:
                    self._give(slot, self.waiting.popleft())

    def _give(self, slot: list[Zygote], order: Order) -> None:
        try:
            zygote = self._zygote(slot, self.tasks[order.task].imports)
            zygote.outgoing.append(memoryview(pack(self.tasks[order.task], order)))
        except (BoxUnavailable, OSError, ValueError):
            self._lose(order)
            return
        if not zygote.orders:
            zygote.deadline = time.monotonic() + allowance(self.tasks[order.task], order) + _PATIENCE
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
        self._watch_writing(zygote)

    def _watch_writing(self, zygote: Zygote) -> None:
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
            zygote.orders.popleft()
            self._conclude(order, body)
        else:
            raise ValueError(f"unknown frame {kind!r}")
        if zygote.orders:
            following = zygote.orders[0]
            zygote.deadline = time.monotonic() + allowance(self.tasks[following.task], following) + _PATIENCE

    def _bury(self, zygote: Zygote) -> None:
        """A zygote died or fell silent: its orders start over, the ones that had their second chance are lost."""
        orders = list(zygote.orders)
        self._discard(zygote)
        for order in reversed(orders):
            self._again(order)

    def _again(self, order: Order) -> None:
        order.attempts += 1
        order.reports.clear()
        order.printed = b""
        if order.attempts < 2:
            self.waiting.appendleft(order)
        else:
            self._lose(order)

    def _lose(self, order: Order) -> None:
        self._note(order, [INFRA] * order.count)

    # ---- concluding ----

    def _conclude(self, order: Order, end: bytes) -> None:
        """Notes what became of the order's cases; the rest, after one that ended its child, goes into a new order."""
        try:
            executions = conclude(order, end, self.tasks[order.task])
        except BoxFailed:
            self._again(order)
            return
        self._note(order, executions)
        if len(executions) < order.count:
            self.waiting.appendleft(order.after(len(executions)))

    def _note(self, order: Order, executions: list[Execution]) -> None:
        self.results[order.task][order.first : order.first + len(executions)] = executions
        if None not in self.results[order.task]:
            self.done.append(order.task)


def probe() -> Tier:
    """What this machine offers: starts one zygote, lets it try its walls, ends it. Raises BoxUnavailable."""
    with LocalBox() as box:
        return box.confinement
