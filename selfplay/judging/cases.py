"""What is judged, as data: cases, tasks for the box, executions, verdicts.

Values cross process borders as canonical JSON text of tagged trees (see values.py), never as live objects.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from selfplay.game.rewards.outcomes import Verdict as Verdict


@dataclass(frozen=True, slots=True)
class Case:
    """One test, read to data: call the entry point with `arguments`, view the result, compare with `expected`.

    `arguments`: text of the call's arguments, see calls.py (kind stdio: the stdin text itself).
    `operator`: == != < <= > >= is is_not in not_in truthy falsy approx raises stdout satisfies
    `expected`: canonical text of the encoded right-hand side (stdio: the expected stdout; raises: JSON list of names;
    satisfies: a condition on the results, see terms.py).
    `view`: pure steps applied to the result before comparing, e.g. ("sorted",), ("len",), ("index", "0"), ("round", "2").
    `further`: arguments of further calls, whose results a condition relates to the first one's (satisfies only).
    """

    name: str
    source: str
    arguments: str
    operator: str
    expected: str
    view: tuple[str, ...] = ()
    tolerance: tuple[float, float] = (0.0, 0.0)  # relative, absolute; for approx
    further: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[type[Case], tuple[object, ...]]:
        # Cases cross to another process by the thousand, and a frozen class with slots is slow to pickle by itself.
        return Case, (
            *(self.name, self.source, self.arguments, self.operator),
            *(self.expected, self.view, self.tolerance, self.further),
        )

    @property
    def calls(self) -> tuple[str, ...]:
        """The arguments of every call that the case needs, the first one's first."""
        return (self.arguments, *self.further)

    @property
    def key(self) -> tuple[object, ...]:
        """Everything that decides a verdict: two cases of one key have the same verdict on every program."""
        return (self.calls, self.operator, self.expected, self.view, self.tolerance)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A test that is not admitted, and why (`reason` is a short slug that is counted: unreadable, vacuous, duplicate ...)."""

    name: str
    source: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a program may use: for each case, and for all of its cases together.

    `cpu_seconds`, `memory_mib`, `output_bytes`: of one case (wall-clock time at five times the CPU seconds and one more).
    `answer_bytes`: of all answers together; the case that goes beyond, and those after it, have raised OutputTooLarge.
    `timeouts`: after so many cases that timed out the remaining ones are timeouts, without being run.
    """

    cpu_seconds: float = 2.0
    memory_mib: int = 1024
    output_bytes: int = 1 << 20
    answer_bytes: int = 16 << 20
    timeouts: int = 3

    def total_cpu_seconds(self, cases: int) -> float:
        """CPU seconds that a program may use for so many cases together; what is left then is a timeout."""
        return self.cpu_seconds * (10 + cases / 10)

    def total_wall_seconds(self, cases: int) -> float:
        """The same in wall-clock time."""
        return 2 * self.total_cpu_seconds(cases) + 10


@dataclass(frozen=True, slots=True)
class Task:
    """One program and the inputs to call it with, for the box. Holds no expected value.

    `secret`: the program is a reference, or made from one; it must not leave this machine.
    `apart`: every input meets a process of its own, so that no call sees what an earlier one left behind.
    """

    source: str
    entry_point: str  # "" runs the source as a program, once per input, with the input as stdin
    inputs: tuple[str, ...]
    imports: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    secret: bool = False
    apart: bool = False


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

    def close(self) -> None: ...
