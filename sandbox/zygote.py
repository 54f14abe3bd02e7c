"""The zygote: a small process that never holds a secret and forks one jailed child for each order.

Started by exec with an empty environment, it imports the common standard library once, puts up its walls, and serves
orders from its standard input, one at a time, each in a child:

    order     header (kind, cases, CPU seconds, wall seconds, memory, output, length) and a body of that length
    answer    frames of kind (1 byte), length (4 bytes), body:  H hello · R a child's report · O what a program
              printed · E the child's end (why, wait status, reports seen, CPU and wall seconds)

The *child* reads the order's body, and reports pass through one buffer that is wiped, so neither sources nor results
stay in the memory that later children inherit. A child that stops itself, floods, hangs or dies ends with the whole
tree killed and the reason told (watch.py); the host sends what was left in a new order.
"""

import _sitebuiltins
import builtins
import contextlib
import ctypes
import fcntl
import gc
import json
import os
import struct
import sys
from importlib.machinery import PathFinder

from sandbox import jail, runner
from sandbox.watch import END, FRAME, PIPE, Watch, send

ORDER = struct.Struct("!BIddQQI")
PROGRAM = 1  # the kind of an order that is a program; 0 is a function

_REPORT_OVERHEAD = 4096  # what a report holds beside its value
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
    send(answers, [FRAME.pack(b"H", len(hello)), hello])
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
    builtins.exit, builtins.quit = _sitebuiltins.Quitter("exit", ""), _sitebuiltins.Quitter("quit", "")
    os.chdir("/")
    sys.argv = ["solution.py"]
    sys.dont_write_bytecode = True
    if config["packages"]:
        sys.meta_path.append(NamedPackages(config["packages"], config["path"]))
    for name in [*config["preimport"], *config["packages"]]:
        with contextlib.suppress(ImportError):  # a program that imports it will be told
            __import__(name)


class NamedPackages:
    """Finds the packages that a problem names among the installed ones, and no other."""

    def __init__(self, names, folders):
        self.names, self.folders = frozenset(names), list(folders)

    def find_spec(self, name, path=None, target=None):
        if path is None and name in self.names:
            return PathFinder.find_spec(name, self.folders, target)
        return None


def _tune_memory():
    """One malloc arena: each further one reserves 64 MiB of the address space that the memory limit counts."""
    if sys.platform == "linux":
        ctypes.CDLL(None).mallopt(-8, 1)


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


class Order:
    """What the host asks of one child."""

    def __init__(self, kind, cases, cpu, wall, memory, output, length):
        self.is_program = kind == PROGRAM
        self.cases, self.cpu, self.wall = cases, cpu, wall
        self.memory, self.output, self.length = memory, output, length
        self.longest_report = output + _REPORT_OVERHEAD


class Service:
    """Serves orders one by one."""

    def __init__(self, commands, answers, walls):
        self.commands, self.answers, self.walls = commands, answers, walls
        self.buffer = bytearray(PIPE)
        self.used = 0
        # listed here, because a walk through all modules dirties 60 pages of a child
        self.own_modules = [name for name in sys.modules if name.split(".")[0] == "sandbox"]

    def serve_one(self):
        """False when the host is gone."""
        header = _take(self.commands, ORDER.size)
        if header is None:
            return False
        order = Order(*ORDER.unpack(header))
        printed = _new_file() if order.is_program else -1
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._child(order, writer, printed)
        os.close(writer)
        _widen(reader)
        watch = Watch(self, pid, reader, order)
        end = watch.until_the_end()
        os.close(reader)
        if watch.reports == 0:
            os._exit(3)  # the body is still in the pipe, half read: the host starts another zygote
        if order.is_program:
            self._relay_output(printed, order.output)
        send(self.answers, [FRAME.pack(b"E", END.size), end])
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
        send(self.answers, [FRAME.pack(b"O", size), view[:size]])

    def grow(self, size):
        if size > len(self.buffer):
            self._wipe()
            self.buffer = bytearray(size)

    def _wipe(self):
        """No later child may find in its memory what an earlier one returned."""
        address = (ctypes.c_char * 1).from_buffer(self.buffer)
        ctypes.memset(ctypes.addressof(address), 0, self.used)
        self.used = 0

    def _child(self, order, writer, printed):
        """Everything a child does. Never returns."""
        status = 70
        try:
            source, entry_point, inputs = json.loads(_take(self.commands, order.length) or b"")
            report = runner.Report(writer)
            report(b"P")
            if order.is_program:
                os.dup2(_new_file(inputs[0].encode("utf-8", "surrogatepass")), 0)
                os.dup2(printed, 1)
            report = runner.Report(_only(writer))
            self._confine(order, report)
            report(b"W")
            if order.is_program:
                status = runner.run_program(source, report)
            else:
                runner.run_function(source, entry_point, inputs, report, order.output)
                status = 0
        finally:
            os._exit(status)

    def _confine(self, order, report):
        try:
            os.setsid()
            self.walls.enter(order.memory, (order.cases + 1) * order.cpu, order.output + 1 if order.is_program else 0)
        except (OSError, ValueError) as error:
            report(b"I", str(error).encode("utf-8", "replace"))
            os._exit(71)
        for name in self.own_modules:
            del sys.modules[name]
        runner.new_module("__main__")


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
        import tempfile  # loads a dozen modules, and only macOS comes here

        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _widen(pipe):
    with contextlib.suppress(OSError):  # the user's share of pipe memory is spent: the default size will do
        fcntl.fcntl(pipe, _SET_PIPE_SIZE, PIPE)
