"""The E2B box: runs candidates in virtual machines of E2B's cloud, several batches at a time.

    with E2BBox(E2BSettings(size=4)) as box:
        box.run([Task(source, "add", ('["t",1,2]',))])   ->  [(Execution("returned", "3", ...),)]

A batch of programs goes to each machine, and what a batch leaves out goes into a later one. A machine that fails in any way is
ended, and its programs are tried once more in another; after that their cases are `infra_error`, never raised. What is held in
memory is the answers of the batches that are out, and no further one is begun while many programs wait to be taken. What costs
money is announced: each kind of trouble once, and at `close` the machine-seconds that were used.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from selfplay.box.e2b.machine import MAX_BYTES, Fault, Rows, seconds_for
from selfplay.box.e2b.pool import E2BSettings, NoMachine, Pool
from selfplay.box.task import Box, Execution, Task, close_at_exit
from selfplay.box.tiers import Tier
from selfplay.box.wire import INFRA
from selfplay.box.zygotes import BoxUnavailable
from selfplay.errors import install

_SMALLEST_BATCH, _LARGEST_BATCH = 16, 256  # programs: fewer are not worth a machine of their own
_UNTOLD = 64  # programs that are done and that nobody has taken: more are not run meanwhile


def to_stderr(message: str) -> None:
    """Say it on standard error, at once."""
    print(message, file=sys.stderr, flush=True)


class E2BBox(Box):
    """Runs tasks in E2B's machines, created when there is something to run. Safe to use from several threads.

    Raises BoxUnavailable where the SDK or the key is missing, the key is refused, or E2B does not answer.
    """

    tier = "e2b"

    def __init__(self, settings: E2BSettings | None = None, announce: Callable[[str], None] = to_stderr) -> None:
        check_requirements()
        self.settings = settings or E2BSettings()
        self.inside: Tier | None = None  # how the machines confine programs, by their own word; None before the first
        self._announce = announce
        self._announced: set[str] = set()
        self._runs: weakref.WeakSet[_Run] = weakref.WeakSet()
        self._saying = threading.Lock()  # what is said once is asked by several threads
        self._shown = 0.0
        self._pool = Pool(self.settings, announce)
        try:
            stale = self._pool.sweep()
        except Fault as fault:
            why = f"E2B cannot be used now ({fault}); try again, or use --sandbox local"
            if fault.refused:
                why = f"E2B refuses the key in E2B_API_KEY ({fault}); make one at https://e2b.dev/dashboard?tab=keys"
            raise BoxUnavailable(why) from None
        if stale:
            announce(f"E2B: ended {stale} sandboxes that an earlier run of {self.settings.label!r} had left")
        close_at_exit(self)

    @property
    def seconds(self) -> float:
        """Machine-seconds used so far: what E2B charges for."""
        return self._pool.seconds

    @property
    def created(self) -> int:
        """Machines created so far."""
        return self._pool.created

    def stream(self, tasks: Sequence[Task]) -> Generator[tuple[int, tuple[Execution, ...]]]:
        """See Box. Failures of the cloud are `infra_error`, never raised."""
        run = _Run(self, tasks)
        self._runs.add(run)
        yield from run.stream()

    def _tell(self, fault: Fault) -> None:
        """Announces a kind of trouble the first time that it comes up."""
        with self._saying:
            if fault.what not in self._announced:
                self._announced.add(fault.what)
                self._announce(f"E2B: {fault}")

    def _look(self, inside: Tier | None) -> None:
        """Announces walls that are missing inside the machines, when they are first seen or change."""
        with self._saying:
            changed, self.inside = inside != self.inside, inside
            if changed and inside and inside.name != "jailed":
                self._announce(
                    f"E2B: inside its sandboxes programs have the tier {inside}; an escape ends in that machine"
                )

    def close(self) -> None:
        """Ends all machines and streams, and announces what they cost. Later tasks create new ones."""
        for run in list(self._runs):
            run.stop()
        self._pool.close()
        seconds = self.seconds
        if seconds > self._shown:
            self._shown = seconds
            budget = f" of {self.settings.budget:.0f}" if self.settings.budget is not None else ""
            self._announce(f"E2B: {self.created} sandboxes, {seconds:.0f}{budget} sandbox-seconds used")


def check_requirements() -> None:
    """Raises BoxUnavailable where the SDK is not installed or no key is set."""
    if importlib.util.find_spec("e2b") is None:
        raise BoxUnavailable(f"E2B needs its SDK: {install('e2b')}")
    if not os.environ.get("E2B_API_KEY"):
        raise BoxUnavailable(
            "E2B needs a key: set E2B_API_KEY to one from https://e2b.dev/dashboard?tab=keys "
            f"(and {install('e2b')}), or use --sandbox local"
        )


class _Run:
    """One call of `stream`: threads take batches of waiting programs, each to a machine, until all is settled."""

    def __init__(self, box: E2BBox, tasks: Sequence[Task]) -> None:
        self.pool, self.tasks, self.tell, self.look = box._pool, tasks, box._tell, box._look
        self.waiting = deque(number for number, task in enumerate(tasks) if task.inputs)
        self.done: deque[tuple[int, tuple[Execution, ...]]] = deque(
            (number, ()) for number, task in enumerate(tasks) if not task.inputs
        )
        self.attempts = [0] * len(tasks)
        self.changed = threading.Condition()
        self.out = 0  # batches that are being run
        self.stopped = False
        size, count = self.pool.settings.size, len(self.waiting)
        self.batch_size = min(max(-(-count // size), _SMALLEST_BATCH), _LARGEST_BATCH)
        self.threads = min(size, -(-count // self.batch_size))

    def stream(self) -> Generator[tuple[int, tuple[Execution, ...]]]:
        with ThreadPoolExecutor(max(self.threads, 1), "e2b") as executor:
            running = [executor.submit(self._work) for _ in range(self.threads)]
            try:
                while done := self._next_done(running):
                    yield done
            except BaseException:
                # An interrupt, or nobody wants the rest: what the threads wait for is ended under them.
                self.stop()
                self.pool.close()
                raise
        for each in running:
            each.result()

    def _next_done(self, running: Sequence[Future[None]]) -> tuple[int, tuple[Execution, ...]] | None:
        """A program that is done; waits for one. None where nothing is left."""
        with self.changed:
            while not self.done and not all(each.done() for each in running):
                self.changed.wait(0.2)  # a thread that fails says nothing
            done = self.done.popleft() if self.done else None
            self.changed.notify_all()
            return done

    def stop(self) -> None:
        """No further batch is begun."""
        with self.changed:
            self.stopped = True
            self.changed.notify_all()

    # ---- a thread ----

    def _work(self) -> None:
        """Until nothing is left, or there is no machine for this thread while others have one."""
        while batch := self._next():
            rows, failed = Rows(), True
            tasks, seconds = [self.tasks[number] for number in batch], self.pool.settings.batch_seconds
            try:
                with self.pool.machine(seconds_for(tasks, seconds)) as machine:
                    done = machine.run(tasks, seconds)
                self.look(machine.inside)
                rows = {batch[place]: row for place, row in done.items()}
                failed = not rows
            except Fault as fault:
                self.tell(fault)
                if isinstance(fault, NoMachine) and self.out > 1:
                    failed = False
                    return
            finally:
                self._put_back(batch, rows, failed)

    def _next(self) -> list[int]:
        """A batch of waiting programs; waits while others may still put some back, or too much waits to be told. Empty at
        the end."""
        with self.changed:
            while not self.stopped and ((not self.waiting and self.out) or len(self.done) > _UNTOLD):
                self.changed.wait(1.0)
            batch: list[int] = []
            size = 0
            while self.waiting and not self.stopped and len(batch) < self.batch_size:
                task = self.tasks[self.waiting[0]]
                size += len(task.source) + sum(map(len, task.inputs))
                if batch and size > MAX_BYTES:
                    break
                batch.append(self.waiting.popleft())
            self.out += bool(batch)
            return batch

    def _put_back(self, batch: Collection[int], rows: Mapping[int, tuple[Execution, ...]], failed: bool) -> None:
        """What is done, or has failed twice, waits to be told, the rest for another batch."""
        with self.changed:
            self.out -= 1
            for number in reversed(list(batch)):
                self.attempts[number] += failed
                if number in rows or self.attempts[number] > 1:
                    self.done.append((number, rows.get(number, (INFRA,) * len(self.tasks[number].inputs))))
                else:
                    self.waiting.appendleft(number)
            self.changed.notify_all()
