"""The host's end of the clerk: one process, started when it is first needed, replaced when it dies.

    Clerk().do("code", problem, text)    ->  what duties.code(problem, text) returns

A request has a budget of CPU seconds that grows with its size. One that spends it, or ends the process twice, raises
GaveUp: that says something about what was to be read, and nothing about the machine. Left out: several processes (the boxes'
workers run meanwhile; the clerk's share of a step is a few hundredths).
"""

from __future__ import annotations

import io
import logging
import os
import pickle
import select
import signal
import struct
import subprocess
import sys
import threading
import time
import weakref
from typing import Any

from selfplay.judging.clerk.server import HEAD, LENGTH
from selfplay.printing import printable

_log = logging.getLogger(__name__)

SECONDS = 3.0  # CPU seconds that any request may take
SECONDS_PER_MIB = 5.0  # and for each MiB that it holds
MEMORY = 2 << 30  # address space of the process, 0.1 GiB of which is Python's own
_LONGEST_ANSWER = 256 << 20
_BOOT = "import sys; sys.path[:] = sys.argv[2:]\nfrom selfplay.judging.clerk.server import main\nmain(int(sys.argv[1]))"

_ALLOWED = {
    "selfplay.cases.case": {"Case", "Refusal"},
    "selfplay.judging.turns": {"WrittenTurn"},
    "selfplay.cases.read": {"Reading"},
    "selfplay.game.extract.code": {"Code"},
}


class GaveUp(Exception):
    """The clerk did not finish. `reason`: `budget` where what it was given costs more than it may, else `clerk_failed`, an
    error of ours that is logged with its traceback."""

    def __init__(self, why: str, reason: str = "budget") -> None:
        super().__init__(why)
        self.reason = reason


class Clerk:
    """A process that does duties (duties.py) within limits. Safe to use from several threads."""

    def __init__(self, seconds: float = SECONDS, memory: int = MEMORY) -> None:
        self.seconds, self.memory = seconds, memory
        self.started = 0  # processes, the replaced ones included
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def do(self, duty: str, *arguments: object) -> Any:
        """The result of a duty. Raises GaveUp."""
        body = pickle.dumps((duty, arguments), pickle.HIGHEST_PROTOCOL)
        seconds = self.seconds + SECONDS_PER_MIB * len(body) / (1 << 20)
        with self._lock:
            try:
                return self._exchange(body, seconds)
            except _Died as death:
                if death.spent:
                    raise GaveUp(f"{duty}: more than {seconds:.0f} CPU seconds") from None
            try:
                return self._exchange(body, seconds)
            except _Died as death:
                if not death.traceback:
                    raise GaveUp(f"{duty}: {death}") from None
                _log.error(
                    "the clerk failed at %r:\n%s", duty, printable(death.traceback)
                )  # an exception may quote a model
                raise GaveUp(f"{duty}: {death}", "clerk_failed") from None

    def _exchange(self, body: bytes, seconds: float) -> Any:
        process = self._process = self._process or self._start()
        try:
            _write(process, HEAD.pack(seconds, len(body)) + body)
            deadline = time.monotonic() + 10 * seconds + 60  # a process that sleeps spends nothing
            length, last = LENGTH.unpack(_read(process, LENGTH.size, deadline))
            if length > _LONGEST_ANSWER:
                raise _Died(f"an answer of {length} bytes")
            answer = _Unpickler(io.BytesIO(_read(process, length, deadline))).load()
        except (_Died, OSError, struct.error, pickle.UnpicklingError) as error:
            raise self._bury(error) from None
        except BaseException:  # an interrupt leaves half a message in the pipe
            self._bury(None)
            raise
        if last:
            _end(process)
            self._process = None
        return answer

    def _start(self) -> subprocess.Popen[bytes]:
        self.started += 1
        process = subprocess.Popen(
            [sys.executable, "-B", "-S", "-W", "ignore", "-c", _BOOT, str(self.memory), *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PYTHONUTF8": "1"},
            bufsize=0,
            start_new_session=True,  # Ctrl-C is for the host
        )
        weakref.finalize(self, _end, process)
        return process

    def _bury(self, error: Exception | None) -> _Died:
        """Ends the process. Returns why it had to be: its CPU seconds, or its last words."""
        process, self._process = self._process, None
        assert process
        assert process.stderr
        process.kill()
        told = process.stderr.read(1 << 16).decode("utf-8", "replace").strip()
        _end(process)
        last = told.splitlines()[-1][:200] if told else str(error) or f"exit status {process.returncode}"
        failed = bool(told) and not last.startswith("MemoryError")
        return _Died(last, process.returncode == -signal.SIGPROF, told if failed else "")

    def close(self) -> None:
        """Ends the process. A later request starts a new one."""
        with self._lock:
            if self._process is not None:
                _end(self._process)
                self._process = None


class _Died(Exception):
    """The process ended in the middle of a request: because its CPU seconds were `spent`, or with a `traceback`."""

    def __init__(self, why: str, spent: bool = False, traceback: str = "") -> None:
        super().__init__(why)
        self.spent, self.traceback = spent, traceback


class _Unpickler(pickle.Unpickler):
    """Reads answers made of plain data and the listed dataclasses, and of nothing else."""

    def find_class(self, module_name: str, global_name: str) -> object:
        if global_name not in _ALLOWED.get(module_name, ()):
            raise pickle.UnpicklingError(f"{module_name}.{global_name} in an answer")
        return super().find_class(module_name, global_name)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    with process:  # closes its pipes and waits for it
        pass


def _write(process: subprocess.Popen[bytes], data: bytes) -> None:
    assert process.stdin
    view = memoryview(data)
    while view:
        view = view[os.write(process.stdin.fileno(), view) :]


def _read(process: subprocess.Popen[bytes], count: int, deadline: float) -> bytes:
    assert process.stdout
    pipe, data = process.stdout.fileno(), bytearray()
    poller = select.poll()
    poller.register(pipe, select.POLLIN)
    while len(data) < count:
        ready = poller.poll(max(0.0, 1e3 * (deadline - time.monotonic())))
        part = os.read(pipe, min(count - len(data), 1 << 20)) if ready else b""
        if not part:
            raise _Died("" if ready else "it fell silent")
        data += part
    return bytes(data)
