"""One child process that tries inputs, and what its parent learns of it, alive or dead.

The child is a fork with a limit on its memory. For every input a timer of CPU time is set to the input's bound; it ends
the process wherever that is, in C code too, after the stack has been written down. Peak memory is the kernel's own mark
(VmHWM), set back before every input; where that cannot be had, only the limit on memory holds.
"""

from __future__ import annotations

import contextlib
import dataclasses
import faulthandler
import itertools
import json
import os
import resource
import select
import signal
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from benchmarks.fuzz_targets import Input, Target

BATCH = 500  # inputs of one child, if it lives
ROOM = 2 << 30  # bytes of address space beside what the child starts with


@dataclass(frozen=True, slots=True)
class Finding:
    """An input and what is wrong. `kind` is the same for findings that look alike; `seed`: what it was drawn from."""

    target: str
    kind: str
    detail: str
    given: Input
    seed: str = ""


@dataclass(frozen=True, slots=True)
class Tried:
    """One input that was tried, with its finding if there is one."""

    finding: Finding | None


Job = tuple[str, str, Input | None]  # target, seed, and the input where it is not to be drawn from the seed


def attempt(targets: Mapping[str, Target], jobs: Iterable[Job], end: float = float("inf")) -> Iterator[Tried]:
    """Tries jobs in turn until `end` (by time.monotonic); a child that dies is a finding, and another one goes on."""
    rest = iter(jobs)
    with tempfile.TemporaryFile() as stacks:
        while batch := list(itertools.islice(rest, BATCH)):
            while batch:
                if time.monotonic() >= end:
                    return
                done = 0
                for tried in _batch(targets, batch, stacks, end):
                    done += 1
                    yield tried
                batch = batch[done:]


def _batch(targets: Mapping[str, Target], jobs: list[Job], stacks: Any, end: float) -> Iterator[Tried]:
    """What a child says of the jobs, one by one; the last may be the one that killed it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _be_child(targets, jobs, writer, stacks)
    os.close(writer)
    done = 0
    for line in _lines(reader, end):
        done += 1
        yield Tried(Finding(**line) if line else None)
    late = time.monotonic() >= end
    if late:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if late or (os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0):
        return
    if os.WIFEXITED(status):
        raise RuntimeError(f"drawing the input {jobs[done]} failed, see above: mend the fuzzer")
    yield Tried(_death(targets, jobs[done], os.WTERMSIG(status), _stack(stacks)))


def _death(targets: Mapping[str, Target], job: Job, number: int, stack: str) -> Finding:
    name, seed, given = job
    given = targets[name].draw(Random(seed)) if given is None else given
    what = "over its bound of CPU time" if number == signal.SIGPROF else f"killed by {signal.Signals(number).name}"
    return Finding(name, f"{what} in {_place(stack)}", stack, given, seed)


def _lines(reader: int, end: float) -> Iterator[Any]:
    """JSON lines of a pipe, until it closes or the time is up."""
    kept = b""
    try:
        while True:
            left = end - time.monotonic()
            if left <= 0 or not select.select([reader], [], [], min(left, 3600))[0]:
                return
            got = os.read(reader, 1 << 16)
            if not got:
                return
            *lines, kept = (kept + got).split(b"\n")
            yield from map(json.loads, lines)
    finally:
        os.close(reader)


def _be_child(targets: Mapping[str, Target], jobs: list[Job], writer: int, stacks: Any) -> None:
    """Never returns. A line for each job: `null`, or the finding."""
    try:
        stacks.seek(0)
        stacks.truncate()
        faulthandler.enable(stacks)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        faulthandler.register(signal.SIGPROF, stacks, all_threads=False, chain=True)
        used = _status("VmSize")
        resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, used + ROOM))
        for name, seed, given in jobs:
            drawn = targets[name].draw(Random(seed)) if given is None else given
            found = examine(name, targets[name], drawn, seed)
            os.write(writer, json.dumps(found and dataclasses.asdict(found)).encode() + b"\n")
    except BaseException:  # noqa: BLE001 (a fork must not go on as its parent)
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def examine(name: str, target: Target, given: Input, seed: str) -> Finding | None:
    """Tries one input in this process, under the timer."""
    size = sum(len(part) for part in map(str, given.values()))
    seconds, mebibytes = target.bounds(size)
    before = _mark()
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        complaint = target.run(given)
    except BaseException as error:  # noqa: BLE001 (that nothing is raised is what is tried)
        stack = "".join(traceback.format_exception(error)[-12:])[-4000:]
        return Finding(name, f"{type(error).__name__} in {_raised_in(error)}", stack, given, seed)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if complaint:
        return Finding(name, complaint.partition(":")[0], complaint[:4000], given, seed)
    grown = (_status("VmHWM") - before) / 2**20
    if before and grown > mebibytes:
        detail = f"{grown:.0f} MiB where {mebibytes:.0f} are allowed for {size} characters"
        return Finding(name, "over its bound of memory", detail, given, seed)
    return None


def _mark() -> int:
    """Sets the peak of memory back to what is in use, and returns it in bytes; 0 where the system has no such mark."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")
        return _status("VmRSS")
    return 0


def _status(field: str) -> int:
    """Bytes of a line of /proc/self/status."""
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) << 10
    return 0


def _raised_in(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return next(
        (f"{f.filename.rpartition('/')[2]}:{f.name}" for f in reversed(frames) if "selfplay" in f.filename), "?"
    )


def _stack(stacks: Any) -> str:
    stacks.seek(0)
    return stacks.read().decode("utf-8", "replace")[-6000:]


def _place(stack: str) -> str:
    """The innermost function of the project in a stack that faulthandler wrote, and of what is not the project's."""
    for line in stack.splitlines():
        if "/selfplay/" in line:
            return f"{line.rpartition('/')[2].partition(chr(34))[0]}:{line.rpartition(' in ')[2]}"
    return "?"
