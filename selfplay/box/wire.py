"""What the host and a zygote say to each other, as bytes, and what a child's reports amount to.

The layout is told at the top of sandbox/zygote.py and sandbox/runner.py. Whatever a child reports is a program's own
word: a frame that is broken, forged or missing becomes a crash, never an error of the host.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from selfplay.box.accounts import CALL, Ending, call_of
from selfplay.box.task import Execution, Task

if TYPE_CHECKING:
    from selfplay.box.progress import Progress

FRAME = struct.Struct("!cI")
ORDER = struct.Struct("!BIddddQQQII")
_NAMES, _NAME, _LONGEST_WORDS = 20, 100, 32 << 10  # of an exception: names, characters of each, bytes of its report
_BEFORE_CASES = 1  # reports of a child before its first case: the program is loaded
_PATIENCE, _PACE = 30.0, 256 << 10  # as in sandbox/watch.py: seconds, and bytes a second more, to read an order

INFRA = Execution("infra_error")
TOO_LARGE = Execution("raised", exception=("OutputTooLarge",))


@dataclass(slots=True)
class Order:
    """Part of a task for one child: some of its cases, and what has come back so far."""

    progress: Progress
    cases: list[int]
    reports: list[bytes] = field(default_factory=list)
    printed: bytes = b""
    length: int = 0  # of its body, once it is packed
    wall: float = 0.0  # seconds that all of it may take

    @property
    def task(self) -> Task:
        """What is run."""
        return self.progress.task

    @property
    def count(self) -> int:
        """How many cases it has."""
        return len(self.cases)

    @property
    def size(self) -> int:
        """Characters of its source and inputs."""
        return len(self.task.source) + sum(len(self.task.inputs[case]) for case in self.cases)

    @property
    def loaded(self) -> bool:
        """Whether the child said that the program is loaded."""
        return self.reports[:1] == [b"L"]

    @property
    def calls(self) -> list[tuple[float, float, int]]:
        """What the reports say of calls; a program that reads standard input has none."""
        told = self.reports[_BEFORE_CASES : _BEFORE_CASES + self.count] if self.task.entry_point else []
        return [call_of(report) for report in told]

    def pack(self) -> bytes:
        """Header and body, in one piece: every further write wakes the zygote."""
        task, limits = self.task, self.task.limits
        cpu, self.wall, room = self.progress.accounts.left(self.cases)
        inputs = [task.inputs[case] for case in self.cases]
        body = json.dumps([task.source, task.entry_point, inputs], separators=(",", ":")).encode()
        self.length = len(body)
        header = ORDER.pack(
            0 if task.entry_point else 1,
            self.count,
            limits.cpu_seconds,
            _wall_seconds(task),
            cpu,
            self.wall,
            limits.memory_mib << 20,
            limits.output_bytes,
            room,
            limits.depth,
            len(body),
        )
        return header + body

    def forget(self) -> None:
        """Drops what has come back: the order starts over."""
        self.reports.clear()
        self.printed = b""

    @property
    def allowance(self) -> float:
        """Wall-clock seconds within which a zygote must have ended the child of a packed order."""
        cases = _wall_seconds(self.task) * (self.count + _BEFORE_CASES + 1)
        return min(cases, self.wall) + _PATIENCE + self.length / _PACE


def _wall_seconds(task: Task) -> float:
    """The backstop: CPU time is what is limited, but a sleeping program uses none."""
    return 5.0 * task.limits.cpu_seconds + 1.0


def frames(buffer: bytearray) -> Iterator[tuple[bytes, bytes]]:
    """Takes the whole frames off the front of the buffer."""
    position = 0
    try:
        while len(buffer) - position >= FRAME.size:
            kind, length = FRAME.unpack_from(buffer, position)
            start = position + FRAME.size
            if len(buffer) - start < length:
                return
            position = start + length
            yield kind, bytes(buffer[start:position])
    finally:
        del buffer[:position]


def conclude(order: Order, ending: Ending, calls: list[tuple[float, float, int]]) -> list[Execution]:
    """What became of the order's first cases, in order; a new child must run the rest. `calls` are the order's."""
    if not order.loaded:
        return [_not_loaded(order.reports[:1])] * order.count
    if not order.task.entry_point:
        return [_program(order, ending, order.task)]
    task = order.task
    executions = [
        _call(report, min(seconds, task.limits.cpu_seconds))
        for report, (seconds, _, _) in zip(order.reports[_BEFORE_CASES:], calls, strict=False)
    ]
    if len(executions) < order.count:
        executions.append(_unfinished(ending, task))
    return executions


def _unfinished(ending: Ending, task: Task) -> Execution:
    """The case at which a child ended."""
    if ending.timed_out:
        return timed_out(task)
    return TOO_LARGE if ending.full else Execution("crashed")


def timed_out(task: Task) -> Execution:
    """The execution of a case that took as long as it may."""
    return Execution("timeout", seconds=task.limits.cpu_seconds)


def _not_loaded(reports: list[bytes]) -> Execution:
    told = _json(reports[0][1:]) if reports and reports[0][:1] == b"N" else None
    match told:
        case [names, str(why)]:
            printable = "".join(each if each.isprintable() else "?" for each in why[:200])
            return Execution("not_collected", exception=_strings(names), detail=printable)
    return Execution("not_collected")


def _names(text: bytes) -> tuple[str, ...]:
    return _strings(_json(text))


def _strings(told: object) -> tuple[str, ...]:
    """Names of an exception's classes, no more and no longer ones than sandbox/runner.py tells."""
    told = told[:_NAMES] if isinstance(told, list) else []
    return tuple(name[:_NAME] for name in told if isinstance(name, str))


def _json(text: bytes) -> object:
    """What a report says of an exception; None for what is no JSON, or longer than any that is honest."""
    if len(text) > _LONGEST_WORDS:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _call(report: bytes, seconds: float) -> Execution:
    """What one report says; a forged or broken one is a crash."""
    kind, body = report[:1], report[1 + CALL.size :]
    if kind not in (b"V", b"X") or len(report) <= CALL.size:
        return Execution("crashed")
    if kind == b"X":
        return Execution("raised", exception=_names(body), seconds=seconds)
    try:
        return Execution("returned", value=body.decode("ascii"), seconds=seconds)
    except UnicodeDecodeError:
        return Execution("crashed", seconds=seconds)


def _program(order: Order, ending: Ending, task: Task) -> Execution:
    """A program's run: it returned only with exit status 0 and output within the cap."""
    seconds = min(ending.cpu_seconds, task.limits.cpu_seconds)
    text = order.printed[: task.limits.output_bytes].decode("utf-8", "replace")
    if ending.timed_out:
        return Execution("timeout", text, seconds=task.limits.cpu_seconds)
    if ending.full:
        return TOO_LARGE
    if ending.exit_status is None:
        return Execution("crashed", text, seconds=seconds)
    if len(order.printed) > task.limits.output_bytes:
        return Execution("raised", text, TOO_LARGE.exception, seconds)
    if ending.exit_status == 0:
        return Execution("returned", text, seconds=seconds)
    return Execution("raised", text, _raised(order), seconds)


def _raised(order: Order) -> tuple[str, ...]:
    """The names of what a program raised; SystemExit where it only ended with a status."""
    reports = [report for report in order.reports[_BEFORE_CASES:] if report[:1] == b"X"]
    return _names(reports[0][1 + CALL.size :]) if reports else ("SystemExit",)
