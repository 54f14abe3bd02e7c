"""The local box: runs candidates in jailed children of zygote processes on this machine.

The host never forks (a trainer is large) and never runs a candidate: it starts each zygote by exec with an empty
environment, ships the code of the top-level folder `sandbox/` to it as text, and then exchanges frames over two pipes
(their layout is told at the top of sandbox/zygote.py). One loop in the calling thread serves all zygotes (exchange.py).

    box = LocalBox(workers=2)
    box.run([Task(source, "add", ('["t",1,2]',))])   ->  [(Execution("returned", "3", ...),)]

Left out: Windows, which has none of the walls (use WSL or E2B).
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Generator, Sequence

from selfplay.box.exchange import Exchange
from selfplay.box.task import Box, Execution, Task, close_at_exit
from selfplay.box.tiers import Tier, tier_of
from selfplay.box.zygotes import BoxUnavailable, Zygote


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
        self._streaming: int | None = None  # the thread that has taken a part of a stream and works on it
        self._running: Generator[tuple[int, tuple[Execution, ...]]] | None = None
        self._slots: list[list[Zygote]] = [[] for _ in range(workers)]
        first = Zygote((), jail)
        self._slots[0].append(first)
        self.confinement: Tier = tier_of(first.hello, jail)
        self.tier: str = self.confinement.name
        close_at_exit(self)

    @property
    def workers(self) -> int:
        """Programs that may run at once."""
        return len(self._slots)

    @property
    def pids(self) -> list[int]:
        """The zygotes' process ids."""
        return [zygote.process.pid for slot in self._slots for zygote in slot]

    def stream(self, tasks: Sequence[Task]) -> Generator[tuple[int, tuple[Execution, ...]]]:
        """See Box. Raises RuntimeError where this thread has begun another stream and not finished it."""
        if self._streaming == threading.get_ident():
            raise RuntimeError("this box is in the middle of a stream: take all of it, or close it, before the next")
        with self._lock:
            self._running = Exchange(self._slots, tasks, self._start).stream()
            try:
                for done in self._running:
                    self._streaming = threading.get_ident()
                    yield done
                    self._streaming = None
            finally:
                self._streaming = None
                self._running.close()

    def _start(self, imports: tuple[str, ...]) -> Zygote:
        """A further zygote; one that came up with weaker walls than the first is refused."""
        zygote = Zygote(imports, self._jail)
        if not tier_of(zygote.hello, self._jail).reaches(self.tier):
            zygote.close()
            raise BoxUnavailable(f"a new sandbox process does not reach the tier {self.tier!r} any more")
        return zygote

    def close(self) -> None:
        """Ends the zygotes, whatever runs in them, and a stream that this thread has left. Later tasks start new ones."""
        left = self._streaming == threading.get_ident()
        if left and self._running:
            self._running.close()
        with contextlib.nullcontext() if left else self._lock:
            for slot in self._slots:
                while slot:
                    slot.pop().close()


def probe() -> Tier:
    """What this machine offers: starts one zygote, lets it try its walls, ends it. Raises BoxUnavailable."""
    with LocalBox() as box:
        return box.confinement
