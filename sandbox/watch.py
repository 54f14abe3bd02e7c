"""Follows one child from the zygote: relays its reports, and kills it where it goes over a limit or stops itself.

CPU time is read from outside through the child's clock, at every tick and every report, so a program has no timer to
disarm. Wall-clock time is only the backstop for one that sleeps. Threads are counted here as well: the kernel's own
limit counts all processes of a user, so it can be set only for a user that owns nothing else. Left out: waking up for
every report; they wait in the pipe until the next tick or the child's end, which saves two context switches per case.
"""

import contextlib
import os
import select
import signal
import struct
import time

from sandbox.jail import THREADS

FRAME = struct.Struct("!cI")
END = struct.Struct("!BiIdd")
DONE, CPU, WALL, STOPPED, FLOOD = range(5)
PIPE = 256 << 10
_BEFORE_CASES = 3  # reports: the order was read, the walls stand, the program is loaded


def send(pipe, pieces):
    """Writes all pieces, 500 a call. Ends the process where the host is gone."""
    try:
        for start in range(0, len(pieces), 500):
            _write_all(pipe, pieces[start : start + 500])
    except BrokenPipeError:
        os._exit(0)


def _write_all(pipe, pieces):
    written = os.writev(pipe, pieces)
    for piece in pieces:
        if written >= len(piece):
            written -= len(piece)
            continue
        rest = memoryview(piece)[written:]
        written = 0
        while rest:
            rest = rest[os.write(pipe, rest) :]


class Watch:
    """One child's way to its end. `service` has the buffer, the answers' pipe and the walls."""

    def __init__(self, service, pid, reader, order):
        self.service, self.pid, self.reader, self.order = service, pid, reader, order
        self.reports = self.filled = 0
        self.spent = self.begun = 0.0
        self.hurried = False
        service.grow(order.longest_report + PIPE)

    def until_the_end(self):
        """The end frame's body."""
        os.set_blocking(self.reader, False)
        poller = select.poll()
        poller.register(self.service.commands, 0)  # says when the host hangs up
        exited = _exit_descriptor(self.pid)
        if exited >= 0:
            poller.register(exited, select.POLLIN)
        shortest = 10 if exited >= 0 else 2  # most children have ended by then, and their end wakes us
        start = self.begun = time.monotonic()
        try:
            while True:
                elapsed = time.monotonic() - start
                events = poller.poll(1 if self.hurried else max(shortest, min(20, elapsed * 250)))
                reason, status = self._look(any(what == self.service.commands for what, _ in events))
                if reason is not None:
                    return END.pack(reason, status, self.reports, self.spent, time.monotonic() - start)
        finally:
            if exited >= 0:
                os.close(exited)

    def _look(self, host_gone):
        """(reason, wait status) once the child has ended, else (None, 0)."""
        if host_gone:
            self._kill()
            os._exit(0)
        pid, status, usage = os.wait4(self.pid, os.WNOHANG | os.WUNTRACED)
        stopped = pid and os.WIFSTOPPED(status)
        ended = pid and not stopped
        sound = self._relay(usage.ru_utime + usage.ru_stime if ended else None)
        if ended:
            return (DONE if sound else FLOOD), self._sweep(status)
        if stopped or not sound or _threads(self.pid) > THREADS:
            return (STOPPED if stopped else FLOOD), self._kill()
        now = _cpu_seconds(self.pid)
        if now - self.spent > self.order.cpu:
            return CPU, self._kill()
        if time.monotonic() - self.begun > self.order.wall:
            return WALL, self._kill()
        return None, 0

    def _relay(self, total):
        """Passes on all whole reports that have come; False where there are too many, or one is too long.

        `total`: the CPU seconds of a child that has ended."""
        before = self.reports
        moved = 0
        while True:
            view = memoryview(self.service.buffer)
            try:
                count = os.readv(self.reader, [view[self.filled :]])
            except BlockingIOError:
                count = 0
            self.filled += count
            moved += count
            self.service.used = max(self.service.used, self.filled)
            sound = self._pass_on(view)
            if not sound or not count:
                break
        self.hurried = moved > PIPE // 4
        if total is not None:
            self.spent = total
        elif self.reports != before:
            self.spent, self.begun = _cpu_seconds(self.pid), time.monotonic()
        return sound

    def _pass_on(self, view):
        pieces, position, sound = [], 0, True
        while self.filled - position >= 4:
            length = int.from_bytes(view[position : position + 4], "big")
            sound = 1 <= length <= self.order.longest_report and self.reports < self.order.cases + _BEFORE_CASES
            if not sound or self.filled - position < 4 + length:
                break
            pieces += [FRAME.pack(b"R", length), view[position + 4 : position + 4 + length]]
            position += 4 + length
            self.reports += 1
        if pieces:
            send(self.service.answers, pieces)
            view[: self.filled - position] = view[position : self.filled]
            self.filled -= position
        return sound

    def _kill(self):
        """Kills the child and whatever it started. Returns its wait status."""
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(self.pid, signal.SIGKILL)
        return self._sweep(os.waitpid(self.pid, 0)[1])

    def _sweep(self, status):
        """Kills what a child left behind where no filter kept it from starting processes."""
        if not self.service.walls.seccomp:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            while _kill_orphans(self.service.walls.children):
                pass
        return status


def _kill_orphans(children):
    """Kills this process's remaining children (a subreaper inherits orphans); True while there were any."""
    if children < 0:
        return False
    pids = [int(pid) for pid in os.pread(children, 1 << 16, 0).split()]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return bool(pids)


def _exit_descriptor(pid):
    """A descriptor that becomes readable when the child ends; -1 where the kernel has none (then ticks must do)."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return -1


def _threads(pid):
    """How many threads a process has: the kernel counts a folder for each. Landlock closes /proc to reading, not to
    this look at its size; 0 where even that is hidden."""
    try:
        return os.stat(f"/proc/{pid}/task").st_nlink - 2
    except OSError:
        return 0


def _cpu_seconds(pid):
    """CPU seconds that a process has used, all threads; 0 where only wall-clock time can be watched."""
    try:
        return time.clock_gettime(~pid << 3 | 2)
    except OSError:
        return 0.0
