"""What a box is asked, and what it answers: tasks, executions, and the protocol of a box. No expected value enters it."""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, Self


@dataclass(frozen=True, slots=True)
class Limits:
    """What a program may use: for each case, and for all cases of an owner together.

    `cpu_seconds`, `memory_mib`, `output_bytes`: of one case (wall-clock time at five times the CPU seconds and one more).
    `answer_bytes`: of all results and names of exceptions together; the case that goes beyond, and those after it, have
    raised OutputTooLarge.
    `timeouts`: after so many cases that timed out the remaining ones are timeouts, without being run.
    `depth`: Python's limit of recursion, which a program may raise.
    """

    cpu_seconds: float = 2.0
    memory_mib: int = 1024
    output_bytes: int = 1 << 20
    answer_bytes: int = 16 << 20
    timeouts: int = 3
    depth: int = 1000

    def total_cpu_seconds(self, cases: int) -> float:
        """CPU seconds that a program may use for so many cases together; what is left then is a timeout."""
        return self.cpu_seconds * (10 + cases / 10)

    def total_wall_seconds(self, cases: int) -> float:
        """The same in wall-clock time."""
        return 2 * self.total_cpu_seconds(cases) + 10

    def halved(self) -> Limits:
        """What a reference may use, so that what it passes leaves a right program a margin."""
        return replace(
            self,
            cpu_seconds=self.cpu_seconds / 2,
            memory_mib=self.memory_mib * 3 // 4,
            output_bytes=self.output_bytes // 2,
            answer_bytes=self.answer_bytes // 2,
            depth=self.depth * 4 // 5,
        )


@dataclass(frozen=True, slots=True)
class Task:
    """One program and the inputs to call it with, for the box. Holds no expected value.

    `secret`: the program is a reference, or made from one; it must not leave this machine.
    `owners`: who asks for each input, such as a suite's number; the first that can pays for it (accounts.py). Empty: one
    owner asks for all.
    """

    source: str
    entry_point: str  # "" runs the source as a program, once per input, with the input as stdin
    inputs: tuple[str, ...]
    imports: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    secret: bool = False
    owners: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Execution:
    """What one call did. `value`: canonical text of the returned value (stdio: what it printed).

    `detail`: where the program did not load, where and why, in words that the program may have chosen.
    """

    status: Literal["returned", "raised", "timeout", "crashed", "not_collected", "infra_error"]
    value: str = ""
    exception: tuple[str, ...] = ()  # names of the exception's classes, most derived first
    seconds: float = 0.0
    detail: str = ""

    def __reduce__(self) -> tuple[type[Execution], tuple[object, ...]]:
        return Execution, (self.status, self.value, self.exception, self.seconds, self.detail)


class Box(Protocol):
    """Runs candidates. `tier` says how strongly they are confined."""

    tier: str

    def stream(self, tasks: Sequence[Task]) -> Generator[tuple[int, tuple[Execution, ...]]]:
        """Each task's index and its executions, one per input, as soon as the task is done: in any order.

        Failures of the box itself are `infra_error`, never raised. What was not taken is not run: an iterator that is
        closed early (contextlib.closing) ends what runs. One stream at a time in a thread.
        """
        ...

    def run(self, tasks: Sequence[Task]) -> list[tuple[Execution, ...]]:
        """The executions of all tasks, in their order; all of them are held in memory."""
        done = dict(self.stream(tasks))
        return [done[index] for index in range(len(tasks))]

    def close(self) -> None:
        """End all processes and machines of the box. It may be closed twice."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_open_boxes: weakref.WeakSet[Box] = weakref.WeakSet()
close_at_exit = _open_boxes.add


@atexit.register
def _close_all() -> None:
    for box in list(_open_boxes):
        box.close()
