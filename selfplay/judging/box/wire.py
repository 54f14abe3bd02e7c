"""What the host and a zygote say to each other, as bytes, and what a child's reports amount to.

The layout is told at the top of sandbox/zygote.py and sandbox/runner.py. Whatever a child reports is a program's own
word: a frame that is broken, forged or missing becomes a crash, never an error of the host.
"""

from __future__ import annotations

import json
import os
import signal
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from selfplay.judging.cases import Execution, Task

FRAME = struct.Struct("!cI")
_ORDER = struct.Struct("!BIddQQI")
_END = struct.Struct("!BiIdd")
_SECONDS = struct.Struct("!d")
_EXITED, _CPU, _WALL = range(3)  # why a child ended; further reasons (stopped, flood) are crashes
_BEFORE_CASES = 3  # reports of a child before its first case: order read, walls up, program loaded
_LONGEST_ORDER = 256 << 20

INFRA = Execution("infra_error")


@dataclass(slots=True)
class Order:
    """Part of a task for one child: its cases from `first` on. `attempts` counts zygotes that died with it."""

    task: int
    first: int
    count: int
    attempts: int = 0
    reports: list[bytes] = field(default_factory=list)
    printed: bytes = b""

    def after(self, done: int) -> Order:
        """The order for the cases that are left when the first `done` are settled."""
        return Order(self.task, self.first + done, self.count - done)


def orders(index: int, task: Task) -> Iterable[Order]:
    if task.entry_point:
        return [Order(index, 0, len(task.inputs))] if task.inputs else []
    return [Order(index, first, 1) for first in range(len(task.inputs))]


def pack(task: Task, order: Order) -> bytes:
    """The order's header and body, in one piece: every further write wakes the zygote."""
    limits = task.limits
    inputs = task.inputs[order.first : order.first + order.count]
    body = json.dumps([task.source, task.entry_point, inputs], separators=(",", ":")).encode()
    if len(body) > _LONGEST_ORDER:
        raise ValueError(f"an order takes {len(body)} bytes, the limit is {_LONGEST_ORDER}")
    header = _ORDER.pack(
        0 if task.entry_point else 1,
        order.count,
        limits.cpu_seconds,
        _wall_seconds(task),
        limits.memory_mib << 20,
        limits.output_bytes,
        len(body),
    )
    return header + body


def _wall_seconds(task: Task) -> float:
    """The backstop: CPU time is what is limited, but a sleeping program uses none."""
    return 5.0 * task.limits.cpu_seconds + 1.0


def allowance(task: Task, order: Order) -> float:
    """Wall-clock seconds within which a zygote must have ended the order's child."""
    return _wall_seconds(task) * (order.count + _BEFORE_CASES + 1)


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


class BoxFailed(Exception):
    """A child ended before the program's code began: nothing can be said about the program."""


def conclude(order: Order, end: bytes, task: Task) -> list[Execution]:
    """What became of the order's cases, in order; shorter than the order where a new child must run the rest.

    Raises BoxFailed, and struct.error for an end frame that is none.
    """
    ending = Ending(*_END.unpack(end))
    kinds = [report[:1] for report in order.reports[:_BEFORE_CASES]]
    if kinds[:2] != [b"P", b"W"]:
        raise BoxFailed(b" ".join(order.reports[1:2]).decode("utf-8", "replace"))
    if kinds[2:] != [b"L"]:
        return [_not_loaded(order.reports[2:3])] * order.count
    if not task.entry_point:
        return [_program(order, ending, task)]
    return _calls(order, ending, task)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a child ended: why, its wait status, its reports, CPU and wall-clock seconds."""

    reason: int
    status: int
    reports: int
    cpu_seconds: float
    wall_seconds: float

    @property
    def timed_out(self) -> bool:
        return self.reason in (_CPU, _WALL) or self._signal == signal.SIGXCPU

    @property
    def exit_status(self) -> int | None:
        """None where the child was killed."""
        return os.WEXITSTATUS(self.status) if self.reason == _EXITED and os.WIFEXITED(self.status) else None

    @property
    def _signal(self) -> int | None:
        return os.WTERMSIG(self.status) if self.reason == _EXITED and os.WIFSIGNALED(self.status) else None


def _calls(order: Order, ending: Ending, task: Task) -> list[Execution]:
    executions = [_call(report, task) for report in order.reports[_BEFORE_CASES : _BEFORE_CASES + order.count]]
    if len(executions) < order.count:
        timed_out = Execution("timeout", seconds=task.limits.cpu_seconds)
        executions.append(timed_out if ending.timed_out else Execution("crashed"))
    return executions


def _clamped(seconds: float, task: Task) -> float:
    return min(max(seconds, 0.0), task.limits.cpu_seconds) if seconds == seconds else 0.0


def _not_loaded(reports: list[bytes]) -> Execution:
    names = _names(reports[0][1:]) if reports and reports[0][:1] == b"N" else ()
    return Execution("not_collected", exception=names)


def _names(text: bytes) -> tuple[str, ...]:
    try:
        names = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()


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
    if ending.exit_status is None:
        return Execution("crashed", text, seconds=seconds)
    if len(order.printed) > task.limits.output_bytes:
        return Execution("raised", text, ("OutputTooLarge",), seconds)
    if ending.exit_status == 0:
        return Execution("returned", text, seconds=seconds)
    return Execution("raised", text, _raised(order), seconds)


def _raised(order: Order) -> tuple[str, ...]:
    """The names of what a program raised; SystemExit where it only ended with a status."""
    reports = [report for report in order.reports[_BEFORE_CASES:] if report[:1] == b"X"]
    return _names(reports[0][1 + _SECONDS.size :]) if reports else ("SystemExit",)
