"""What the host and a zygote say to each other, as bytes, and what a child's reports amount to.

The layout is told at the top of sandbox/zygote.py and sandbox/runner.py. Whatever a child reports is a program's own
word: a frame that is broken, forged or missing becomes a crash, never an error of the host.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence

from selfplay.box.accounts import CALL, Ending
from selfplay.box.task import Execution, Task

FRAME = struct.Struct("!cI")
ORDER = struct.Struct("!BIddddQQQII")
_NAMES, _NAME, _LONGEST_WORDS = 20, 100, 32 << 10  # of an exception: names, characters of each, bytes of its report
BEFORE_CASES = 1  # reports of a child before its first case: the program is loaded

INFRA = Execution("infra_error")
TOO_LARGE = Execution("raised", exception=("OutputTooLarge",))


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


def loaded(reports: Sequence[bytes]) -> bool:
    """Whether a child said that the program is loaded."""
    return reports[:1] == [b"L"]


def conclude(
    task: Task,
    count: int,
    reports: Sequence[bytes],
    printed: bytes,
    ending: Ending,
    calls: Sequence[tuple[float, float, int]],
) -> list[Execution]:
    """What became of the first of a child's `count` cases, in order; a new child must run the rest.

    `calls`: what its reports say of calls.
    """
    if not loaded(reports):
        return [_not_loaded(reports)] * count
    if not task.entry_point:
        return [_program(reports, printed, ending, task)]
    executions = [
        _call(report, min(seconds, task.limits.cpu_seconds))
        for report, (seconds, _, _) in zip(reports[BEFORE_CASES:], calls, strict=False)
    ]
    if len(executions) < count:  # the case at which the child ended
        unfinished = TOO_LARGE if ending.full else Execution("crashed")
        executions.append(timed_out(task) if ending.timed_out else unfinished)
    return executions


def timed_out(task: Task) -> Execution:
    """The execution of a case that took as long as it may."""
    return Execution("timeout", seconds=task.limits.cpu_seconds)


def _not_loaded(reports: Sequence[bytes]) -> Execution:
    match _json(reports[0][1:]) if reports and reports[0][:1] == b"N" else None:
        case [names, str(why)]:
            printable = "".join(each if each.isprintable() else "?" for each in why[:200])
            return Execution("not_collected", exception=_strings(names), detail=printable)
    return Execution("not_collected")


def _strings(names: object) -> tuple[str, ...]:
    """Names of an exception's classes, no more and no longer ones than sandbox/runner.py tells."""
    names = names[:_NAMES] if isinstance(names, list) else []
    return tuple(name[:_NAME] for name in names if isinstance(name, str))


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
        return Execution("raised", exception=_strings(_json(body)), seconds=seconds)
    try:
        return Execution("returned", value=body.decode("ascii"), seconds=seconds)
    except UnicodeDecodeError:
        return Execution("crashed", seconds=seconds)


def _program(reports: Sequence[bytes], printed: bytes, ending: Ending, task: Task) -> Execution:
    """A program's run: it returned only with exit status 0 and output within the cap."""
    seconds = min(ending.cpu_seconds, task.limits.cpu_seconds)
    text = printed[: task.limits.output_bytes].decode("utf-8", "replace")
    if ending.timed_out:
        return Execution("timeout", text, seconds=task.limits.cpu_seconds)
    if ending.full:
        return TOO_LARGE
    if ending.exit_status is None:
        return Execution("crashed", text, seconds=seconds)
    if len(printed) > task.limits.output_bytes:
        return Execution("raised", text, TOO_LARGE.exception, seconds)
    if ending.exit_status == 0:
        return Execution("returned", text, seconds=seconds)
    raised = next((report for report in reports[BEFORE_CASES:] if report[:1] == b"X"), None)
    names = ("SystemExit",) if raised is None else _strings(_json(raised[1 + CALL.size :]))
    return Execution("raised", text, names, seconds)
