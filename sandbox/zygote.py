"""The zygote: a small process that never holds a secret and forks one jailed child for each order.

Started by exec with an empty environment, it imports the common standard library once, puts up its walls, and serves
orders from its standard input, one at a time, each in a child:

    order     header (kind: 0 function, 1 program, 2 tests, 3 session, 9 a word to the child that talks; cases; CPU and wall
              seconds of a case, then of all that are left; memory, output, room for answers, depth of recursion, length)
              and a body of that length
    answer    frames of kind (1 byte), length (4 bytes), body:  H hello · R a child's report · O what a program
              printed · E the child's end (why, wait status, reports seen, CPU and wall seconds) · F (in place of all
              others) the child failed before the program's first line: why

The *child* reads the order's body, and reports pass through one buffer that is wiped, so neither sources nor results
stay in the memory that later children inherit. A child that stops itself, floods, hangs or dies ends with the whole
tree killed and the reason told (watch.py); the host sends what was left in a new order.

A child reports over a socket pair, which cannot be opened again through /proc as a pipe can: what it has said lies with the
zygote and cannot be taken back. Its first word, before the program's first line, is that the walls stand, and when that
was; so whether an order was begun, and when its clocks started, is settled before a program can have a word in it.
"""

import _sitebuiltins
import _socket
import builtins
import contextlib
import ctypes
import gc
import json
import os
import struct
import sys
import time
from importlib.machinery import PathFinder

from sandbox import jail, runner, session, talk
from sandbox.watch import BEGUN, DONE, END, FRAME, FULL, PIPE, Failed, Watch, send

ORDER = struct.Struct("!BIddddQQQII")
PROGRAM, TESTS, SESSION = 1, 2, 3  # kinds of order; 0 is a function

_REPORT_OVERHEAD = 4096  # what a report holds beside its value
_CHILD_PIPE = 3


def main(config):
    """Prepares, says hello and serves orders until the host goes away."""
    # The host's pipes move out of the way: 0, 1 and 2 are /dev/null here and in every child.
    commands, answers = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):
        os.dup2(null, standard, inheritable=False)
    _prepare(config)
    warm = None
    if config["tests"]:
        from sandbox import tester  # only a zygote for tests has its code

        warm = tester.Warm()
    walls = jail.Walls()
    if config["jail"]:
        walls.confine_zygote(config["grants"])
        walls.self_test()
    if sys.platform == "linux":  # one malloc arena: each further one reserves 64 MiB of what the memory limit counts
        ctypes.CDLL(None).mallopt(-8, 1)
    gc.collect()
    gc.freeze()
    hello = json.dumps({"walls": walls.report, "python": sys.version.split()[0], "root": walls.root}).encode()
    send(answers, [FRAME.pack(b"H", len(hello)), hello])
    os.dup2(null, 2, inheritable=False)  # until here a failure could be told
    os.close(null)
    service = Service(commands, answers, walls, warm)
    while service.serve_one():
        pass
    os._exit(0)


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


class Order:
    """What the host asks of one child."""

    def __init__(self, kind, cases, cpu, wall, total_cpu, total_wall, memory, output, room, depth, length):
        self.kind, self.is_program = kind, kind == PROGRAM
        self.cases, self.cpu, self.wall, self.total_cpu, self.total_wall = cases, cpu, wall, total_cpu, total_wall
        self.memory, self.output, self.room, self.depth, self.length = memory, output, room, depth, length
        self.longest_report = output + _REPORT_OVERHEAD


class Service:
    """Serves orders one by one."""

    def __init__(self, commands, answers, walls, warm=None):
        self.commands, self.answers, self.walls, self.warm = commands, answers, walls, warm
        self.buffer = bytearray(PIPE)
        self.used = 0
        # listed here, because a walk through all modules dirties 60 pages of a child
        self.own_modules = [name for name in sys.modules if name.split(".")[0] == "sandbox"]

    def serve_one(self):
        """False when the host is gone."""
        header = runner.take(self.commands, ORDER.size)
        if header is None:
            return False
        order = Order(*ORDER.unpack(header))
        if order.kind == talk.WORD:  # to a child that is gone
            runner.take(self.commands, order.length)
            return True
        printed = _new_file() if order.is_program else -1
        ours, theirs = _pair()
        pid = os.fork()
        if pid == 0:
            self._child(order, theirs, printed)
        os.close(theirs)
        follow = talk.Talk if order.kind in (TESTS, SESSION) else Watch
        watch = follow(self, pid, ours, order)
        try:
            reason, *rest = watch.until_the_end()
        except Failed as failure:
            if not failure.order_was_read:
                os._exit(3)  # the body is still in the pipe, half read: the host starts another zygote
            text = str(failure).encode("utf-8", "replace")
            send(self.answers, [FRAME.pack(b"F", len(text)), text])
        else:
            if order.is_program and self._relay_output(printed, order) and reason == DONE:
                reason = FULL
            send(self.answers, [FRAME.pack(b"E", END.size), END.pack(reason, *rest)])
        finally:
            os.close(ours)
            if order.is_program:
                os.close(printed)
        self._wipe()
        return True

    def word(self):
        """The host's word to a child that talks; None where the host is gone."""
        header = runner.take(self.commands, ORDER.size)
        return None if header is None else runner.take(self.commands, Order(*ORDER.unpack(header)).length)

    def _relay_output(self, printed, order):
        """Passes on what the program printed, one byte past the cap where it went over. Whether there was no room."""
        written = os.fstat(printed).st_size
        size = min(written, order.output + 1, order.room)
        self.grow(size)
        view = memoryview(self.buffer)[:size]
        os.lseek(printed, 0, os.SEEK_SET)
        size = os.readv(printed, [view[:size]]) if size else 0
        self.used = max(self.used, size)
        send(self.answers, [FRAME.pack(b"O", size), view[:size]])
        return min(written, order.output) > order.room

    def grow(self, size):
        if size > len(self.buffer):
            self._wipe()
            self.buffer = bytearray(size)

    def _wipe(self):
        """No later child may find in its memory what an earlier one returned."""
        address = (ctypes.c_char * 1).from_buffer(self.buffer)
        ctypes.memset(ctypes.addressof(address), 0, self.used)
        self.used = 0

    def _child(self, order, pipe, printed):
        """Everything a child does. Never returns."""
        status = 70
        try:
            source, entry_point, inputs = json.loads(runner.take(self.commands, order.length) or b"")
            _own_null()
            if order.is_program:
                os.dup2(_new_file(inputs[0].encode("utf-8", "surrogatepass")), 0)
                os.dup2(printed, 1)
            pipe = _only(pipe)
            self._confine(order, pipe)
            sys.setrecursionlimit(order.depth)
            status = self._work(order, runner.Report(pipe), runner.listener(pipe), source, entry_point, inputs)
        finally:
            os._exit(status)

    def _work(self, order, report, listen, source, entry_point, inputs):
        """What a child is there for. Returns its exit status."""
        if order.is_program:
            return runner.run_program(source, report)
        if order.kind == TESTS and self.warm:
            self.warm.run(source, entry_point, inputs, report, listen)
        elif order.kind == SESSION:
            session.serve(source, entry_point, **inputs, report=report, listen=listen, output_bytes=order.output)
        else:
            runner.run_function(source, entry_point, inputs, report, order.output)
        return 0

    def _confine(self, order, pipe):
        """Puts up the walls and says so: from then on it is the program's time."""
        cpu = time.process_time() + min(order.total_cpu, (order.cases + 1) * order.cpu)
        try:
            os.setsid()
            self.walls.enter(order.memory, cpu, order.output + 1 if order.is_program else 0)
        except (OSError, ValueError) as error:
            os.write(pipe, b"I" + str(error).encode("utf-8", "replace"))
            os._exit(71)
        for name in self.own_modules:
            del sys.modules[name]
        runner.new_module("__main__")
        os.write(pipe, BEGUN.pack(b"W", time.process_time(), time.monotonic()))


def _pair():
    """The zygote's and the child's end of a stream on which the child reports."""
    ours, theirs = _socket.socketpair()
    with contextlib.suppress(OSError):  # what the system gives anyway will do
        theirs.setsockopt(_socket.SOL_SOCKET, _socket.SO_SNDBUF, PIPE)
    return ours.detach(), theirs.detach()


def _own_null():
    """A null device of the child's own: what it sets on an open file holds for all who share it."""
    try:
        null = os.open(os.devnull, os.O_RDWR)
    except OSError:  # a kernel on which nothing may be opened for writing here: the zygote's is shared
        return
    for standard in (0, 1, 2):
        os.dup2(null, standard)


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
