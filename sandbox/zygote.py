"""The zygote: a small process that never holds a secret and forks one jailed child for each order.

Started by exec with an empty environment, it imports the common standard library once, puts up its walls, and serves
orders from its standard input, one at a time, each in a child:

    order     header (kind, cases, CPU seconds, wall seconds, memory, output, length) and a body of that length
    answer    frames of kind (1 byte), length (4 bytes), body:  H hello · R a child's report · O what a program
              printed · E the child's end (why, wait status, reports seen, CPU and wall seconds)

The *child* reads the order's body, and reports pass through one buffer that is wiped, so neither sources nor results stay
in the memory that later children inherit. The child's CPU time is read from outside: a program has no timer to disarm.
A child that stops itself, floods, hangs or dies ends with the whole tree killed and the reason told; the host sends what
was left in a new order.
"""

import ctypes
import gc
import json
import os
import select
import signal
import struct
import sys
import tempfile
import time

from sandbox import jail, runner

ORDER = struct.Struct("!BIddQQI")
FRAME = struct.Struct("!cI")
END = struct.Struct("!BiIdd")
FUNCTION, PROGRAM = 0, 1
DONE, CPU, WALL, STOPPED, FLOOD = range(5)

_REPORT_OVERHEAD = 4096  # what a report holds beside its value
_PIPE = 256 << 10
_SET_PIPE_SIZE = 1031
_CHILD_PIPE = 3


def main(config):
    """Prepares, says hello and serves orders until the host goes away."""
    commands, answers, null = _take_pipes()
    _prepare(config)
    walls = jail.Walls()
    if config["jail"]:
        walls.confine_zygote(config["grants"])
        walls.self_test()
    _tune_memory()
    gc.collect()
    gc.freeze()
    hello = json.dumps({"walls": walls.report, "python": sys.version.split()[0], "root": walls.root}).encode()
    _send(answers, [FRAME.pack(b"H", len(hello)), hello])
    os.dup2(null, 2, inheritable=False)  # until here a failure could be told
    os.close(null)
    service = Service(commands, answers, walls)
    while service.serve_one():
        pass
    os._exit(0)


def _take_pipes():
    """Moves the host's pipes out of the way: 0, 1 and 2 are /dev/null here and in every child."""
    commands, answers = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):
        os.dup2(null, standard, inheritable=False)
    return commands, answers, null


def _prepare(config):
    os.chdir("/")
    sys.argv = ["solution.py"]
    sys.dont_write_bytecode = True
    if config["packages"]:
        sys.meta_path.append(NamedPackages(config["packages"], config["path"]))
    for name in [*config["preimport"], *config["packages"]]:
        try:
            __import__(name)
        except ImportError:
            pass  # a program that imports it will be told


class NamedPackages:
    """Finds the packages that a problem names among the installed ones, and no other."""

    def __init__(self, names, folders):
        self.names, self.folders = frozenset(names), list(folders)

    def find_spec(self, name, path=None, target=None):
        from importlib.machinery import PathFinder

        if path is None and name in self.names:
            return PathFinder.find_spec(name, self.folders, target)
        return None


def _tune_memory():
    """One malloc arena: each further one reserves 64 MiB of the address space that the memory limit counts."""
    if sys.platform == "linux":
        ctypes.CDLL(None).mallopt(-8, 1)


def _send(pipe, pieces):
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


def _take(pipe, count):
    """Exactly `count` bytes, or None where the host is gone."""
    parts = []
    while count:
        part = os.read(pipe, min(count, 1 << 20))
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


class Service:
    """Serves orders one by one."""

    def __init__(self, commands, answers, walls):
        self.commands, self.answers, self.walls = commands, answers, walls
        self.buffer = bytearray(_PIPE)
        self.used = 0

    def serve_one(self):
        """False when the host is gone."""
        header = _take(self.commands, ORDER.size)
        if header is None:
            return False
        kind, cases, cpu, wall, memory, output, length = ORDER.unpack(header)
        printed = _new_file() if kind == PROGRAM else -1
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._child(kind, (cases + 1) * cpu, memory, output, length, writer, printed)
        os.close(writer)
        if sys.platform == "linux":
            _widen(reader)
        watch = Watch(self, pid, reader, cases, cpu, wall, output + _REPORT_OVERHEAD)
        end = watch.until_the_end()
        os.close(reader)
        if watch.reports == 0:
            os._exit(3)  # the body is still in the pipe, half read: the host starts another zygote
        if printed >= 0:
            self._relay_output(printed, output)
        _send(self.answers, [FRAME.pack(b"E", END.size), end])
        self._wipe()
        return True

    def _relay_output(self, printed, output):
        """What the program printed, one byte past the cap where it went over."""
        size = min(os.fstat(printed).st_size, output + 1)
        self.grow(size)
        view = memoryview(self.buffer)[:size]
        os.lseek(printed, 0, os.SEEK_SET)
        size = os.readv(printed, [view[:size]]) if size else 0
        os.close(printed)
        self.used = max(self.used, size)
        _send(self.answers, [FRAME.pack(b"O", size), view[:size]])

    def grow(self, size):
        if size > len(self.buffer):
            self._wipe()
            self.buffer = bytearray(size)

    def _wipe(self):
        """No later child may find in its memory what an earlier one returned."""
        address = (ctypes.c_char * 1).from_buffer(self.buffer)
        ctypes.memset(ctypes.addressof(address), 0, self.used)
        self.used = 0

    def _child(self, kind, cpu, memory, output, length, writer, printed):
        """Everything a child does. Never returns."""
        status = 70
        try:
            report = runner.Report(writer)
            source, entry_point, inputs = json.loads(_take(self.commands, length) or b"[]")
            report(b"P")
            if kind == PROGRAM:
                os.dup2(_new_file(inputs[0].encode("utf-8", "surrogatepass")), 0)
                os.dup2(printed, 1)
            report = runner.Report(_only(writer))
            try:
                os.setsid()
                self.walls.enter(memory, cpu, output + 1 if kind == PROGRAM else 0)
            except (OSError, ValueError) as error:
                report(b"I", str(error).encode("utf-8", "replace"))
                os._exit(71)
            for name in [name for name in sys.modules if name.split(".")[0] == "sandbox"]:
                del sys.modules[name]
            runner.new_module("__main__")
            if kind == PROGRAM:
                status = runner.run_program(source, report)
            else:
                runner.run_function(source, entry_point, inputs, report, output)
                status = 0
        finally:
            os._exit(status)


def _only(writer):
    """Leaves a child its standard files and the result pipe, and closes everything else."""
    if writer != _CHILD_PIPE:
        os.dup2(writer, _CHILD_PIPE, inheritable=False)
    os.closerange(_CHILD_PIPE + 1, 1 << 16)
    return _CHILD_PIPE


def _new_file(content=b""):
    """A regular file in memory: programs ask standard input for its size, which a pipe does not have."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("file")
    else:
        file = tempfile.TemporaryFile()
        descriptor = os.dup(file.fileno())
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _widen(pipe):
    import fcntl

    try:
        fcntl.fcntl(pipe, _SET_PIPE_SIZE, _PIPE)
    except OSError:
        pass  # the user's share of pipe memory is spent: the default size will do


class Watch:
    """Follows one child to its end: relays its reports, and kills it where it goes over a limit or stops itself."""

    def __init__(self, service, pid, reader, cases, cpu, wall, longest):
        self.service, self.pid, self.reader = service, pid, reader
        self.cases, self.cpu, self.wall, self.longest = cases, cpu, wall, longest
        self.reports = self.filled = 0
        self.spent = self.begun = 0.0
        self.hurried = False
        service.grow(longest + _PIPE)

    def until_the_end(self):
        """The end frame's body."""
        os.set_blocking(self.reader, False)
        poller = select.poll()
        poller.register(self.service.commands, 0)  # says when the host hangs up
        exited = _exit_descriptor(self.pid)
        if exited >= 0:
            poller.register(exited, select.POLLIN)
        start = self.begun = time.monotonic()
        try:
            while True:
                elapsed = time.monotonic() - start
                events = poller.poll(1 if self.hurried else max(2, min(20, elapsed * 250)))
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
        if stopped or not sound:
            return (STOPPED if stopped else FLOOD), self._kill()
        now = _cpu_seconds(self.pid)
        if now - self.spent > self.cpu:
            return CPU, self._kill()
        if time.monotonic() - self.begun > self.wall:
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
        self.hurried = moved > _PIPE // 4
        if total is not None:
            self.spent = total
        elif self.reports != before:
            self.spent, self.begun = _cpu_seconds(self.pid), time.monotonic()
        return sound

    def _pass_on(self, view):
        pieces, position = [], 0
        while self.filled - position >= 4:
            length = int.from_bytes(view[position : position + 4], "big")
            if not 1 <= length <= self.longest or self.reports > self.cases + 1:
                return False
            if self.filled - position < 4 + length:
                break
            pieces += [FRAME.pack(b"R", length), view[position + 4 : position + 4 + length]]
            position += 4 + length
            self.reports += 1
        if pieces:
            _send(self.service.answers, pieces)
            view[: self.filled - position] = view[position : self.filled]
            self.filled -= position
        return True

    def _kill(self):
        """Kills the child and whatever it started. Returns its wait status."""
        for kill in (os.killpg, os.kill):
            try:
                kill(self.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
        return self._sweep(os.waitpid(self.pid, 0)[1])

    def _sweep(self, status):
        """Kills what a child left behind where no filter kept it from starting processes."""
        if not self.service.walls.seccomp:
            _kill_group(self.pid)
            while _kill_orphans(self.service.walls.children):
                pass
        return status


def _kill_group(pid):
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


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


def _cpu_seconds(pid):
    """CPU seconds that a process has used, all threads; 0 where only wall-clock time can be watched."""
    try:
        return time.clock_gettime(~pid << 3 | 2)
    except OSError:
        return 0.0
