"""What the host and a zygote say to each other, as bytes, and what a child's reports amount to.

The layout is told at the top of sandbox/zygote.py and sandbox/runner.py. Whatever a child reports is a program's own
word: a frame that is broken, forged or missing becomes a crash, never an error of the host.
"""

from __future__ import annotations

import json
import os
import signal
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from selfplay.box.task import Execution, Task

if TYPE_CHECKING:
    from selfplay.box.progress import Progress

FRAME = struct.Struct("!cI")
ORDER = struct.Struct("!BIddddQQQI")
_END = struct.Struct("!BiIdd")
_SECONDS = struct.Struct("!d")
_EXITED, _CPU, _WALL, _STOPPED, _FLOOD, _TOTAL, _FULL = range(7)  # why a child ended
_BEFORE_CASES = 1  # reports of a child before its first case: the program is loaded
_PATIENCE, _PACE = 30.0, 256 << 10  # as in sandbox/watch.py: seconds, and bytes a second more, to read an order

INFRA = Execution("infra_error")
TOO_LARGE = Execution("raised", exception=("OutputTooLarge",))


@dataclass(slots=True)
class Order:
    """Part of a task for one child: its cases from `first` on, and what has come back so far."""

    owner: Progress
    first: int
    count: int
    reports: list[bytes] = field(default_factory=list)
    printed: bytes = b""
    size: int = 0  # of its source and inputs, in characters
    length: int = 0  # of its body, once it is packed

    @property
    def task(self) -> Task:
        """What is run."""
        return self.owner.task

    def after(self, done: int) -> Order:
        """The order for the cases that are left when the first `done` are settled."""
        return Order(self.owner, self.first + done, self.count - done)

    def pack(self) -> bytes:
        """Header and body, in one piece: every further write wakes the zygote."""
        task, limits, owner = self.task, self.task.limits, self.owner
        inputs = task.inputs[self.first : self.first + self.count]
        body = json.dumps([task.source, task.entry_point, inputs], separators=(",", ":")).encode()
        self.length = len(body)
        header = ORDER.pack(
            0 if task.entry_point else 1,
            self.count,
            limits.cpu_seconds,
            _wall_seconds(task),
            owner.cpu_seconds,
            owner.wall_seconds,
            limits.memory_mib << 20,
            limits.output_bytes,
            max(owner.room, 0),
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
        return min(cases, self.owner.wall_seconds) + _PATIENCE + self.length / _PACE


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


@dataclass(frozen=True, slots=True)
class Ending:
    """How a child ended: why, its wait status, its reports; CPU and wall-clock seconds of its program."""

    reason: int
    status: int
    reports: int
    cpu_seconds: float
    wall_seconds: float

    @classmethod
    def of(cls, frame: bytes) -> Ending:
        """Raises struct.error for an end frame that is none."""
        return cls(*_END.unpack(frame))

    @property
    def timed_out(self) -> bool:
        """Whether a limit of time ended it."""
        return self.reason in (_CPU, _WALL, _TOTAL) or self._signal == signal.SIGXCPU

    @property
    def full(self) -> bool:
        """Whether there was no room for an answer."""
        return self.reason == _FULL

    @property
    def exit_status(self) -> int | None:
        """None where the child was killed."""
        return os.WEXITSTATUS(self.status) if self.reason == _EXITED and os.WIFEXITED(self.status) else None

    @property
    def _signal(self) -> int | None:
        return os.WTERMSIG(self.status) if self.reason == _EXITED and os.WIFSIGNALED(self.status) else None


def conclude(order: Order, ending: Ending) -> list[Execution]:
    """What became of the order's cases, in order; shorter than the order where a new child must run the rest."""
    if order.reports[:1] != [b"L"]:
        return [_not_loaded(order.reports[:1])] * order.count
    if not order.task.entry_point:
        return [_program(order, ending, order.task)]
    return _calls(order, ending, order.task)


def _calls(order: Order, ending: Ending, task: Task) -> list[Execution]:
    executions = [_call(report, task) for report in order.reports[_BEFORE_CASES : _BEFORE_CASES + order.count]]
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


def _clamped(seconds: float, task: Task) -> float:
    return min(max(seconds, 0.0), task.limits.cpu_seconds) if seconds == seconds else 0.0


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
    return tuple(name for name in told if isinstance(name, str)) if isinstance(told, list) else ()


def _json(text: bytes) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _call(report: bytes, task: Task) -> Execution:
    """What one report says; a forged or broken one is a crash."""
    kind, rest = report[:1], report[1:]
    if kind not in (b"V", b"X") or len(rest) < _SECONDS.size:
        return Execution("crashed")
    seconds = _clamped(_SECONDS.unpack_from(rest)[0], task)
    body = rest[_SECONDS.size :]
    if kind == b"X":
        return Execution("raised", exception=_names(body), seconds=seconds)
    try:
        return Execution("returned", value=body.decode("ascii"), seconds=seconds)
    except UnicodeDecodeError:
        return Execution("crashed", seconds=seconds)


def _program(order: Order, ending: Ending, task: Task) -> Execution:
    """A program's run: it returned only with exit status 0 and output within the cap."""
    seconds = _clamped(ending.cpu_seconds, task)
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
    return _names(reports[0][1 + _SECONDS.size :]) if reports else ("SystemExit",)
