"""The E2B box: runs candidates in virtual machines of E2B's cloud, several batches at a time.

    with E2BBox(CloudSettings(size=4)) as box:
        box.run([Task(source, "add", ('["t",1,2]',))])   ->  [(Execution("returned", "3", ...),)]

Orders are the local box's; a batch of them goes to each sandbox, and what a batch leaves out goes into a later one. A
sandbox that fails in any way is ended, and its orders are tried once more in another; after that their cases are
`infra_error`. `run` never raises. What costs money is announced: each kind of trouble once, and at `close` the
sandbox-seconds that were used.
"""

from __future__ import annotations

import atexit
import importlib.util
import itertools
import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait

from selfplay.judging.box.tiers import Tier
from selfplay.judging.box.wire import INFRA, Order, orders
from selfplay.judging.box.zygotes import BoxUnavailable
from selfplay.judging.cases import Box, Execution, Task
from selfplay.judging.cloud.batch import MAX_BYTES, MAX_ORDERS, Answer, Batch
from selfplay.judging.cloud.faults import Fault, Kind
from selfplay.judging.cloud.pool import Pool
from selfplay.judging.cloud.settings import CloudSettings

_SMALLEST_BATCH = 16  # orders: fewer are not worth a sandbox of their own
_NO_PACKAGE = 'E2B needs its SDK: pip install "selfplay[e2b]"'
_NO_KEY = (
    'E2B needs a key: set E2B_API_KEY to one from https://e2b.dev/dashboard?tab=keys (and pip install "selfplay[e2b]"), '
    "or use --sandbox local"
)

_open_boxes: weakref.WeakSet[E2BBox] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for box in list(_open_boxes):
        box.close()


def to_stderr(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


class CloudUnavailable(BoxUnavailable):
    """E2B cannot be used. `passing`: it may be tomorrow, with nothing changed here."""

    def __init__(self, message: str, passing: bool = False) -> None:
        super().__init__(message)
        self.passing = passing


class E2BBox(Box):
    """Runs tasks in E2B sandboxes, created when there is something to run. Safe to use from several threads.

    Raises BoxUnavailable where the SDK or the key is missing, the key is refused, or E2B does not answer.
    """

    tier = "e2b"

    def __init__(self, settings: CloudSettings | None = None, announce: Callable[[str], None] = to_stderr) -> None:
        self.settings = settings or CloudSettings()
        self._announce = announce
        self._announced: set[object] = set()
        self._lock = threading.Lock()
        self._saying = threading.Lock()  # what is said once is asked by several threads
        self._shown = 0.0
        self.inside: Tier | None = None  # how the sandboxes confine programs, by their own word; None before the first
        check_requirements()
        self._pool = Pool(self.settings, announce)
        try:
            stale = self._pool.sweep_stale()
        except Fault as fault:
            raise CloudUnavailable(_unavailable(fault), passing=fault.kind is not Kind.AUTH) from None
        if stale:
            announce(f"E2B: ended {stale} sandboxes that an earlier run of {self.settings.label!r} had left")
        _open_boxes.add(self)

    @property
    def seconds(self) -> float:
        """Sandbox-seconds used so far: what E2B charges for."""
        return self._pool.seconds

    @property
    def created(self) -> int:
        """Sandboxes created so far."""
        return self._pool.created

    def stream(self, tasks: Sequence[Task]) -> Iterator[tuple[int, tuple[Execution, ...]]]:
        """See Box. Failures of the cloud are `infra_error`, never raised."""
        with self._lock:
            yield from enumerate(_Run(self._pool, tasks, self.settings, self._tell, self._look).finish())

    def _tell(self, fault: Fault) -> None:
        """Announces a kind of trouble the first time that it comes up."""
        with self._saying:
            if fault.kind not in self._announced:
                self._announced.add(fault.kind)
                self._announce(f"E2B: {fault}")

    def _look(self, inside: Tier | None) -> None:
        """Announces walls that are missing inside the sandboxes, when they are first seen or change."""
        with self._saying:
            changed, self.inside = inside != self.inside, inside
            if changed and inside and inside.name != "jailed":
                self._announce(
                    f"E2B: inside its sandboxes programs have the tier {inside}; an escape ends in that machine"
                )

    def close(self) -> None:
        """Ends all sandboxes and announces what they cost. A later `run` creates new ones."""
        self._pool.close()
        seconds = self.seconds
        if seconds > self._shown:
            self._shown = seconds
            budget = f" of {self.settings.budget:.0f}" if self.settings.budget is not None else ""
            self._announce(f"E2B: {self.created} sandboxes, {seconds:.0f}{budget} sandbox-seconds used")

    def __enter__(self) -> E2BBox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_requirements() -> None:
    """Raises BoxUnavailable where the SDK is not installed or no key is set."""
    if importlib.util.find_spec("e2b") is None:
        raise CloudUnavailable(_NO_PACKAGE)
    if not os.environ.get("E2B_API_KEY"):
        raise CloudUnavailable(_NO_KEY)


def _unavailable(fault: Fault) -> str:
    if fault.kind is Kind.AUTH:
        return f"E2B refuses the key in E2B_API_KEY ({fault}); make one at https://e2b.dev/dashboard?tab=keys"
    return f"E2B cannot be used now ({fault}); try again, or use --sandbox local"


class _Run:
    """One call of `run`: threads take batches of waiting orders, each to a sandbox, until all is settled."""

    def __init__(
        self,
        pool: Pool,
        tasks: Sequence[Task],
        settings: CloudSettings,
        tell: Callable[[Fault], None],
        look: Callable[[Tier | None], None],
    ) -> None:
        self.pool, self.tasks, self.settings, self.tell, self.look = pool, tasks, settings, tell, look
        self.results: list[list[Execution | None]] = [[None] * len(task.inputs) for task in tasks]
        self.waiting = deque(itertools.chain.from_iterable(map(orders, range(len(tasks)), tasks)))
        self.changed = threading.Condition()
        self.out = 0  # batches that are being run
        self.stopped = False
        share = -(-len(self.waiting) // settings.size)
        self.batch_size = min(max(share, _SMALLEST_BATCH), MAX_ORDERS)

    def finish(self) -> list[tuple[Execution, ...]]:
        threads = min(self.settings.size, -(-len(self.waiting) // self.batch_size))
        if threads:
            with ThreadPoolExecutor(threads, "e2b") as executor:
                running = [executor.submit(self._work) for _ in range(threads)]
                try:
                    wait(running)
                except BaseException:  # an interrupt: what the threads wait for is ended under them
                    self.stopped = True
                    self.pool.close()
                    raise
            for each in running:
                each.result()
        return [tuple(execution or INFRA for execution in row) for row in self.results]

    # ---- a thread ----

    def _work(self) -> None:
        while batch := self._next():
            undone = list(batch.orders)
            try:
                undone = self._serve(batch)
            finally:
                self._done(undone)

    def _next(self) -> Batch | None:
        """Waiting orders with the same imports; waits while others may still put some back. None at the end."""
        with self.changed:
            while not self.waiting and self.out and not self.stopped:
                self.changed.wait(1.0)
            if not self.waiting or self.stopped:
                return None
            self.out += 1
            chosen = self._choose()
        return Batch(tuple(chosen), tuple(self.tasks[order.task] for order in chosen), self.settings.batch_seconds)

    def _choose(self) -> list[Order]:
        imports = self.tasks[self.waiting[0].task].imports
        chosen: list[Order] = []
        passed: list[Order] = []
        size = 0
        while self.waiting and len(chosen) < self.batch_size and size < MAX_BYTES:
            order = self.waiting.popleft()
            task = self.tasks[order.task]
            own = len(task.source) + sum(map(len, task.inputs))
            if task.imports != imports or (chosen and size + own > MAX_BYTES):
                passed.append(order)
                continue
            size += own
            chosen.append(order)
        self.waiting.extendleft(reversed(passed))
        return chosen

    def _serve(self, batch: Batch) -> list[Order]:
        """Runs a batch. Returns the orders that must wait for another one."""
        if self.stopped:
            return []
        try:
            machine = self.pool.take(batch.limit)
        except Fault as fault:
            self.tell(fault)
            return []  # there is no cloud: they stay infra_error
        try:
            answers = machine.run(batch)
        except Fault as fault:
            self.pool.discard(machine)
            self.tell(fault)
            return self._again(batch.orders)
        except ValueError:  # an order too long to be sent; such a one is alone in its batch
            self.pool.give_back(machine)
            return []
        self.look(machine.inside)
        self.pool.give_back(machine)
        return self._settle(batch, answers)

    def _done(self, undone: Sequence[Order]) -> None:
        with self.changed:
            self.out -= 1
            self.waiting.extendleft(undone)
            self.changed.notify_all()

    # ---- results ----

    def _settle(self, batch: Batch, answers: Sequence[Answer]) -> list[Order]:
        undone: list[Order] = []
        for order, answer in zip(batch.orders, answers, strict=True):
            done = len(answer.executions)
            self.results[order.task][order.first : order.first + done] = answer.executions
            if done == order.count:
                continue
            rest = order.after(done) if done else order
            if answer.given_up:
                self.tell(Fault(Kind.LOST, f"a program could not be run: {answer.given_up}"))
                undone += self._again([rest])
            else:
                undone.append(rest)
        untouched = not any(answer.executions or answer.given_up for answer in answers)
        return self._again(undone) if untouched else undone

    def _again(self, failed: Sequence[Order]) -> list[Order]:
        """The orders for their second try, without those that have had it."""
        for order in failed:
            order.attempts += 1
            order.reports.clear()
            order.printed = b""
        return [order for order in failed if order.attempts < 2]
