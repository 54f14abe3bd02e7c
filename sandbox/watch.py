"""Follows one child from the zygote: hears that it has begun, relays its reports, and kills it where it goes over a limit
or stops itself.

The clocks start when the walls stand, as the child's first word says; reading an order is nobody's time. CPU time is
read from outside through the child's clock, at every tick and every report, so a program has no timer to disarm. A
function's load and each of its calls have an allowance of their own, which a report ends and the next one's begins:
whoever forges reports spends their number. A program that reads standard input has one allowance; nothing restarts it.
Wall-clock time is only the backstop for one that sleeps. Threads are counted here as well, at every tick, and exactly:
the kernel's own limit counts all processes of a user, whoever started them. Left out: waking up for every report; they
wait in the socket until the next tick or the child's end, which saves two context switches per case.
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
# A child's first word: W the walls stand, CPU and monotonic seconds then; or I and why not.
BEGUN = struct.Struct("!cdd")
DONE, CPU, WALL, STOPPED, FLOOD, TOTAL, FULL = range(7)
PIPE = 256 << 10
_READS = 16  # between two looks at the clock: a program that writes without end must not keep us from it
_PATIENCE, _PACE = 30.0, 256 << 10  # seconds, and bytes a second more, in which a child must have read its order


def send(pipe, pieces):
    """Writes all pieces, 500 a call. Ends the process where the host is gone."""
    try:
        for start in range(0, len(pieces), 500):
            some = pieces[start : start + 500]
            written = os.writev(pipe, some)
            for piece in some:
                rest = memoryview(piece)[written:]
                written = max(0, written - len(piece))
                while rest:
                    rest = rest[os.write(pipe, rest) :]
    except BrokenPipeError:
        os._exit(0)


class Failed(Exception):
    """A child ended before the program's first line: nothing can be said about the program."""

    def __init__(self, said):
        Exception.__init__(self, said[1:].decode("utf-8", "replace"))
        self.order_was_read = said[:1] == b"I"


class Watch:
    """One child's way to its end. `service` has the buffer, the answers' pipe and the walls."""

    def __init__(self, service, pid, reader, order):
        self.service, self.pid, self.reader, self.order = service, pid, reader, order
        self.reports = self.filled = 0
        self.room = order.room
        self.has_begun = False
        self.zero = self.spent = self.used = 0.0  # CPU seconds: before the program, at the last report, of the program
        self.start = self.begun = time.monotonic()  # of the program (before: of the child), and of the last report
        self.hurried = False
        service.grow(order.longest_report + PIPE)

    def until_the_end(self):
        """The end frame's fields. Raises Failed."""
        os.set_blocking(self.reader, False)
        poller = select.poll()
        poller.register(self.service.commands, 0)  # says when the host hangs up
        exited = exit_descriptor(self.pid)
        if exited >= 0:
            poller.register(exited, select.POLLIN)
        # most children have ended by then, and their end wakes us; hundreds of reports fill the socket sooner
        shortest = 10 if exited >= 0 and self.order.cases <= 256 else 2
        try:
            while True:
                elapsed = time.monotonic() - self.start
                events = poller.poll(1 if self.hurried else max(shortest, min(20, elapsed * 250)))
                if any(what == self.service.commands for what, _ in events):  # the host has hung up
                    self._kill()
                    os._exit(0)
                reason, status = self._look()
                if reason is not None:
                    return reason, status, self.reports, self.used, time.monotonic() - self.start
        finally:
            if exited >= 0:
                os.close(exited)

    def _look(self):
        """(reason, wait status) once the child has ended, else (None, 0). Raises Failed."""
        pid, status, usage = os.wait4(self.pid, os.WNOHANG | os.WUNTRACED)
        stopped = pid and os.WIFSTOPPED(status)
        ended = pid and not stopped
        if not self.has_begun and not self._begin(ended):
            return None, 0
        if ended:
            self.used = max(0.0, usage.ru_utime + usage.ru_stime - self.zero)
            return self._relay(to_the_end=True) or DONE, self._sweep(status)
        reports = self.reports
        broken = self._relay(to_the_end=False)
        self.used = max(0.0, _cpu_seconds(self.pid) - self.zero)
        if self.reports > reports and not self.order.is_program:
            self.spent, self.begun = self.used, time.monotonic()
        reason = STOPPED if stopped else broken or self._over()
        return (None, 0) if reason is None else (reason, self._kill())

    def _begin(self, ended):
        """Whether the walls stand by now. Raises Failed where they never will."""
        try:
            said = os.read(self.reader, BEGUN.size)
        except BlockingIOError:
            said = b""
        self.has_begun = said[:1] == b"W"
        if self.has_begun:
            _, self.zero, self.start = BEGUN.unpack(said)
            self.begun = self.start
        elif said or ended or time.monotonic() > self.start + _PATIENCE + self.order.length / _PACE:
            if not ended:
                self._kill()
            with contextlib.suppress(BlockingIOError):
                said += os.read(self.reader, 4096)
            raise Failed(said)
        return self.has_begun

    def _over(self):
        """Which limit is passed, if any."""
        now = time.monotonic()
        if threads_of(self.pid) > THREADS:
            return FLOOD
        if self.used > self.order.total_cpu or now - self.start > self.order.total_wall:
            return TOTAL
        if self.used - self.spent > self.order.cpu:
            return CPU
        return WALL if now - self.begun > self.order.wall else None

    def _relay(self, to_the_end):
        """Passes on whole reports that have come. Why it is over where there are too many, or they are too long.

        `to_the_end`: the child has ended, and what it wrote is finite."""
        moved, reads, reports, broken = 0, 0, 0, None
        while to_the_end or reads < _READS:
            view = memoryview(self.service.buffer)
            try:
                count = os.readv(self.reader, [view[self.filled :]])
            except OSError:  # nothing there, or an end that was closed with something unread in it
                count = 0
            self.filled += count
            self.service.used = max(self.service.used, self.filled)
            before = self.reports
            broken = self._pass_on(view)
            moved, reads, reports = moved + count, reads + 1, reports + self.reports - before
            if broken or not count:
                break
        self.hurried = moved > PIPE // 4 or reports > 32  # small reports fill a socket sooner than their bytes say
        return broken

    def _pass_on(self, view):
        pieces, position, broken = [], 0, None
        while self.filled - position >= 4:
            length = int.from_bytes(view[position : position + 4], "big")
            if not 1 <= length <= self.order.longest_report or self.reports > self.order.cases:
                broken = FLOOD
            elif length > self.room:
                broken = FULL
            if broken or self.filled - position < 4 + length:
                break
            pieces += [FRAME.pack(b"R", length), view[position + 4 : position + 4 + length]]
            position += 4 + length
            self.room -= length
            self.reports += 1
        if pieces:
            before = time.monotonic()
            send(self.service.answers, pieces)
            waited = time.monotonic() - before  # the time that the host lets us wait is not the program's
            self.start += waited
            self.begun += waited
            view[: self.filled - position] = view[position : self.filled]
            self.filled -= position
        return broken

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


def exit_descriptor(pid):
    """A descriptor that becomes readable when the child ends; -1 where the kernel has none (then ticks must do)."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return -1


def threads_of(pid):
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
