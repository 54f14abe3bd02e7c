"""The E2B box: runs candidates in virtual machines of E2B's cloud, several batches at a time.

    with E2BBox(E2BSettings(size=4)) as box:
        box.run([Task(source, "add", ('["t",1,2]',))])   ->  [(Execution("returned", "3", ...),)]

Orders are the local box's; a batch of programs goes to each sandbox, and what a batch leaves out goes into a later one. A
sandbox that fails in any way is ended, and its programs are tried once more in another; after that their cases are
`infra_error`, never raised. What is held in memory is the answers of the batches that are out, and no further one is
begun while many programs wait to be taken. What costs money is announced: each kind of trouble once, and at `close` the
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
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from selfplay.box.e2b.batch import MAX_BYTES, MAX_ORDERS, Answer, Batch
from selfplay.box.e2b.faults import Fault, Kind
from selfplay.box.e2b.pool import Pool
from selfplay.box.e2b.settings import E2BSettings
from selfplay.box.progress import Progress
from selfplay.box.task import Box, Execution, Task
from selfplay.box.tiers import Tier
from selfplay.box.wire import Order
from selfplay.box.zygotes import BoxUnavailable
from selfplay.errors import install

_SMALLEST_BATCH = 16  # orders: fewer are not worth a sandbox of their own
_UNTOLD = 64  # programs that are done and that nobody has taken: more are not run meanwhile
_NO_PACKAGE = f"E2B needs its SDK: {install('e2b')}"
_NO_KEY = (
    f"E2B needs a key: set E2B_API_KEY to one from https://e2b.dev/dashboard?tab=keys (and {install('e2b')}), "
    "or use --sandbox local"
)

_open_boxes: weakref.WeakSet[E2BBox] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for box in list(_open_boxes):
        box.close()


def to_stderr(message: str) -> None:
    """Say it on standard error, at once."""
    print(message, file=sys.stderr, flush=True)


class E2BUnavailable(BoxUnavailable):
    """E2B cannot be used. `passing`: it may be tomorrow, with nothing changed here."""

    def __init__(self, message: str, passing: bool = False) -> None:
        super().__init__(message)
        self.passing = passing


class E2BBox(Box):
    """Runs tasks in E2B sandboxes, created when there is something to run. Safe to use from several threads.

    Raises BoxUnavailable where the SDK or the key is missing, the key is refused, or E2B does not answer.
    """

    tier = "e2b"

    def __init__(self, settings: E2BSettings | None = None, announce: Callable[[str], None] = to_stderr) -> None:
        self.settings = settings or E2BSettings()
        self._announce = announce
        self._announced: set[object] = set()
        self._runs: weakref.WeakSet[_Run] = weakref.WeakSet()
        self._saying = threading.Lock()  # what is said once is asked by several threads
        self._shown = 0.0
        self.inside: Tier | None = None  # how the sandboxes confine programs, by their own word; None before the first
        check_requirements()
        self._pool = Pool(self.settings, announce)
        try:
            stale = self._pool.sweep_stale()
        except Fault as fault:
            raise E2BUnavailable(_unavailable(fault), passing=fault.kind is not Kind.AUTH) from None
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

    def stream(self, tasks: Sequence[Task]) -> Generator[tuple[int, tuple[Execution, ...]]]:
        """See Box. Failures of the cloud are `infra_error`, never raised."""
        run = _Run(self._pool, tasks, self.settings, self._tell, self._look)
        self._runs.add(run)
        yield from run.stream()

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
        """Ends all sandboxes and streams, and announces what they cost. Later tasks create new ones."""
        for run in list(self._runs):
            run.stop()
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
        raise E2BUnavailable(_NO_PACKAGE)
    if not os.environ.get("E2B_API_KEY"):
        raise E2BUnavailable(_NO_KEY)


def _unavailable(fault: Fault) -> str:
    if fault.kind is Kind.AUTH:
        return f"E2B refuses the key in E2B_API_KEY ({fault}); make one at https://e2b.dev/dashboard?tab=keys"
    return f"E2B cannot be used now ({fault}); try again, or use --sandbox local"


class _Run:
    """One call of `stream`: threads take batches of waiting programs, each to a sandbox, until all is settled."""

    def __init__(
        self,
        pool: Pool,
        tasks: Sequence[Task],
        settings: E2BSettings,
        tell: Callable[[Fault], None],
        look: Callable[[Tier | None], None],
    ) -> None:
        self.pool, self.settings, self.tell, self.look = pool, settings, tell, look
        everything = [Progress(index, task) for index, task in enumerate(tasks)]
        self.waiting = deque(progress for progress in everything if not progress.done)
        self.done = deque(progress for progress in everything if progress.done)  # what waits to be told
        self.changed = threading.Condition()
        self.out = 0  # batches that are being run
        self.stopped = False
        orders = sum(sum(1 for _ in progress.orders()) for progress in self.waiting)
        self.batch_size = min(max(-(-orders // settings.size), _SMALLEST_BATCH), MAX_ORDERS)
        self.threads = min(settings.size, -(-orders // self.batch_size), len(self.waiting))

    def stream(self) -> Generator[tuple[int, tuple[Execution, ...]]]:
        with ThreadPoolExecutor(max(self.threads, 1), "e2b") as executor:
            running = [executor.submit(self._work) for _ in range(self.threads)]
            try:
                while progress := self._next_done(running):
                    yield progress.index, progress.executions
            except (
                BaseException
            ):  # an interrupt, or nobody wants the rest: what the threads wait for is ended under them
                self.stop()
                self.pool.close()
                raise
        for each in running:
            each.result()

    def _next_done(self, running: Sequence[Future[None]]) -> Progress | None:
        """A program that is done; waits for one. None where nothing is left."""
        with self.changed:
            while not self.done and not all(each.done() for each in running):
                self.changed.wait(0.2)  # a thread that fails says nothing
            told = self.done.popleft() if self.done else None
            self.changed.notify_all()
            return told

    def stop(self) -> None:
        """No further batch is begun."""
        with self.changed:
            self.stopped = True
            self.changed.notify_all()

    # ---- a thread ----

    def _work(self) -> None:
        while batch := self._next():
            try:
                self._serve(batch)
            finally:
                self._put_back(batch)

    def _next(self) -> Batch | None:
        """A batch of waiting programs; waits while others may still put some back, or too much waits to be told. None at
        the end."""
        with self.changed:
            while not self.stopped and ((not self.waiting and self.out) or len(self.done) > _UNTOLD):
                self.changed.wait(1.0)
            if not self.waiting or self.stopped:
                return None
            self.out += 1
            return Batch(tuple(self._choose()), self.settings.batch_seconds)

    def _choose(self) -> list[tuple[Progress, tuple[Order, ...]]]:
        imports = self.waiting[0].task.imports
        chosen: list[tuple[Progress, tuple[Order, ...]]] = []
        passed: list[Progress] = []
        room, size = self.batch_size, 0
        while self.waiting and room > 0 and size < MAX_BYTES:
            progress = self.waiting.popleft()
            orders: list[Order] = []
            for order in itertools.islice(progress.orders(), room) if progress.task.imports == imports else ():
                if (chosen or orders) and size + order.size > MAX_BYTES:
                    break
                size += order.size
                orders.append(order)
            room -= len(orders)
            if orders:
                chosen.append((progress, tuple(orders)))
            else:
                passed.append(progress)
        self.waiting.extendleft(reversed(passed))
        return chosen

    def _serve(self, batch: Batch) -> None:
        """Runs a batch, and notes in each program what became of it."""
        everyone = [progress for progress, _ in batch.programs]
        try:
            machine = self.pool.take(batch.limit)
        except Fault as fault:
            self.tell(fault)
            for progress in everyone:
                progress.give_up()  # there is no cloud
            return
        try:
            answers = machine.run(batch)
        except Fault as fault:
            self.pool.discard(machine)
            self.tell(fault)
            for progress in everyone:
                progress.fail()
            return
        self.look(machine.inside)
        self.pool.give_back(machine)
        self._settle(everyone, answers)

    def _settle(self, everyone: Sequence[Progress], answers: Sequence[Answer]) -> None:
        for progress, answer in zip(everyone, answers, strict=True):
            progress.become(answer.progress)
            if answer.given_up and not progress.done:
                self.tell(Fault(Kind.LOST, f"a program could not be run: {answer.given_up}"))
                progress.fail()
        if not any(answer.children or answer.given_up for answer in answers):
            for progress in everyone:
                progress.fail()

    def _put_back(self, batch: Batch) -> None:
        """What is done waits to be told, the rest for another batch."""
        with self.changed:
            self.out -= 1
            for progress, _ in reversed(batch.programs):
                if progress.done:
                    self.done.append(progress)
                else:
                    self.waiting.appendleft(progress)
            self.changed.notify_all()
