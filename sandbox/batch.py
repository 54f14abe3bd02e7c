"""Runs a batch of orders inside a virtual machine: starts zygotes there, feeds them, writes what they answer to a file.

    python3 batch.py FOLDER       reads FOLDER/box.json and FOLDER/orders, writes FOLDER/answers

`box.json` is what a zygote is made of. `orders` is a length (4 bytes), a JSON head, and orders as zygote.py tells them;
its name is gone before the first program runs. The head's `programs` say how many orders each program has, one after
the other, and after how many timeouts it is given up. `answers` is a sequence of records of kind (1 byte), order (4
bytes), length (4 bytes), body:

    B  a child begins with the order        R O E  its frames, as zygote.py tells them
    F  the order was given up, why          Z      the last record: how many came before it, and the zygote's hello

A record is written when it comes, so what is held in memory is one frame for each core, whatever a program returns.

What a child leaves undone (it crashed, hung, flooded) is ordered again here, without the case that did it; a journey to
the host would cost more than the case. A program that has used up its totals gets no further child: the host comes to
the same conclusion from the same records. When the head's seconds or bytes are spent the rest is left out, and the host
orders it again. Expected values, references and verdicts are not known here.
"""

import contextlib
import functools
import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time
import types

ORDER = struct.Struct("!BIddddQQQI")
FRAME = struct.Struct("!cI")
END = struct.Struct("!BiIdd")
RECORD = struct.Struct("!cII")

_BEFORE_CASES = 1  # reports of a child before its first case: the program is loaded
_BEFORE_VALUE = 9  # bytes of a report before the value that a call returned
_TIMEOUTS, _FULL = (1, 2, 5), 6  # reasons of a child's end, see watch.py: CPU, wall-clock time, a total; no room
_PATIENCE, _PACE = 60.0, 256 << 10  # seconds beyond every limit, and bytes a second more for the order, of silence


class Died(Exception):
    """A zygote ended or fell silent before its answer was complete."""


def main(folder):
    with open(os.path.join(folder, "box.json"), encoding="utf-8") as file:
        box = json.load(file)
    orders = open_orders(os.path.join(folder, "orders"))
    head, programs = read_head(orders)
    configuration = configured(box, head["imports"])
    answers = os.path.join(folder, "answers")
    with orders, open(answers + ".part", "wb") as file:
        batch = Batch(orders, programs, file, head["seconds"], head["bytes"])
        start = functools.partial(Zygote, box["flags"], head["environment"], configuration)
        first = start()  # where none starts, nothing needs to be tried
        cores = min(len(os.sched_getaffinity(0)), len(programs))
        workers = [Worker(batch, start, first if number == 0 else None) for number in range(max(1, cores))]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        batch.finish(first.hello)
    os.replace(answers + ".part", answers)


def open_orders(path):
    """The file of orders, which has no name any more."""
    file = open(path, "rb")  # noqa: SIM115  # it is closed when the batch is done
    os.unlink(path)
    return file


def read_head(file):
    """The head, and the programs: what each may use, and its orders as (number, header fields, where the body is)."""
    head = json.loads(file.read(int.from_bytes(file.read(4), "big")))
    programs, number = [], 0
    for count, timeouts in head["programs"]:
        orders = []
        for _ in range(count):
            fields = ORDER.unpack(file.read(ORDER.size))
            orders.append((number, fields, file.tell()))
            file.seek(fields[-1], os.SEEK_CUR)
            number += 1
        programs.append((Account(orders[0][1], timeouts), orders))
    return head, programs


def configured(box, imports):
    """A zygote's configuration: the box's code, and where the named packages lie in this machine."""
    packages = sys.modules["packages"] = types.ModuleType("packages")
    exec(compile(box["packages"], "packages.py", "exec"), packages.__dict__)
    found = packages.locate(tuple(imports))
    configuration = {
        "modules": box["modules"],
        "jail": True,
        "tests": False,
        "preimport": box["preimport"],
        "packages": found.names,
        "path": found.folders,
        "grants": found.grants,
    }
    return json.dumps(configuration).encode()


class Account:
    """What a program may still use. `closed`: it gets no further child."""

    def __init__(self, fields, timeouts):
        self.cpu, self.wall, self.room, self.timeouts = fields[4], fields[5], fields[8], timeouts
        self.closed = False

    def charged(self, fields, length):
        """An order's header with what is left, for a body of `length` bytes."""
        return (*fields[:4], self.cpu, self.wall, *fields[6:8], max(self.room, 0), length)

    def charge(self, run):
        self.cpu -= run.cpu
        self.wall -= run.wall
        self.room -= run.size
        self.timeouts -= run.timed_out and run.loaded
        spent = self.timeouts <= 0 or self.cpu <= 0 or self.wall <= 0
        self.closed = spent or run.reason == _FULL or self.room <= 0 or not run.loaded


class Run:
    """What one child did with an order."""

    def __init__(self):
        self.reports = self.size = 0
        self.loaded = False

    def report(self, body):
        self.reports += 1
        self.size += len(body) - _BEFORE_VALUE if body[:1] == b"V" else 0
        self.loaded = self.loaded or (self.reports == 1 and body == b"L")

    def end(self, body):
        self.reason, status, _, self.cpu, self.wall = END.unpack(body)
        killed = self.reason == 0 and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU
        self.timed_out = self.reason in _TIMEOUTS or killed

    def done(self, cases):
        """How many cases it has settled: the last of them by the child's end, where it did not get through."""
        return min(cases, self.reports - _BEFORE_CASES + 1) if self.loaded else cases


class Batch:
    """The programs that wait, their orders, and the file of answers; shared by the workers."""

    def __init__(self, orders, programs, file, seconds, size):
        self.orders, self.file = orders, file
        self.deadline, self.room = time.monotonic() + seconds, size
        self.lock = threading.Lock()
        self.waiting, self.fresh = list(reversed(programs)), True
        self.records = 0

    def next(self):
        """A program, or None where nothing is left or no time for it."""
        with self.lock:
            fresh, self.fresh = self.fresh, False  # one order is always begun, so that every batch gets on
            return self.waiting.pop() if self.waiting and (fresh or not self.spent) else None

    @property
    def spent(self):
        return time.monotonic() > self.deadline or self.room <= 0

    def body(self, fields, position):
        """An order's body, from the file."""
        parts = []
        while sum(map(len, parts)) < fields[-1]:
            done = sum(map(len, parts))
            parts.append(os.pread(self.orders.fileno(), fields[-1] - done, position + done))
        return b"".join(parts)

    def note(self, kind, number, body=b""):
        with self.lock:
            self.file.write(RECORD.pack(kind, number, len(body)))
            self.file.write(body)
            self.records += 1
            self.room -= len(body)

    def finish(self, hello):
        self.file.write(RECORD.pack(b"Z", self.records, len(hello)) + hello)


class Worker(threading.Thread):
    """Serves programs on a zygote of its own."""

    def __init__(self, batch, start_zygote, zygote=None):
        threading.Thread.__init__(self)
        self.batch, self.start_zygote, self.zygote = batch, start_zygote, zygote

    def run(self):
        program = self.batch.next()
        while program is not None:
            self.serve(*program)
            program = self.batch.next()
        self.bury()

    def serve(self, account, orders):
        """Runs a program's orders, until it may not have another child or the batch has no time for one."""
        for number, fields, position in orders:
            try:
                self.run_order(account, number, fields, self.batch.body(fields, position))
            except (Died, OSError) as error:
                self.batch.note(b"F", number, str(error).encode("utf-8", "replace"))
                self.bury()
                return
            if account.closed or self.batch.spent:
                return

    def run_order(self, account, number, fields, body):
        """Runs the order in as many children as it takes. Raises Died where a zygote died with it twice."""
        left = fields[1]
        while True:
            run = self.exchange(number, account.charged(fields, len(body)), body)
            account.charge(run)
            left -= run.done(left)
            if left <= 0 or account.closed or self.batch.spent:
                return
            fields, body = shortened(fields, body, left)

    def exchange(self, number, fields, body):
        """What became of an order, in a second zygote where the first one died with it. Raises Died."""
        pass_on = functools.partial(self.pass_on, number)
        self.batch.note(b"B", number)
        try:
            return self.fresh().exchange(fields, body, pass_on)
        except (Died, OSError):
            self.bury()
        self.batch.note(b"B", number)
        return self.fresh().exchange(fields, body, pass_on)

    def pass_on(self, number, kind, body):
        self.batch.note(kind, number, body)

    def fresh(self):
        if self.zygote is None:
            self.zygote = self.start_zygote()
        return self.zygote

    def bury(self):
        if self.zygote is not None:
            self.zygote.close()
            self.zygote = None


def shortened(fields, body, left):
    """The order for its last `left` cases."""
    source, entry_point, inputs = json.loads(body)
    body = json.dumps([source, entry_point, inputs[-left:]], separators=(",", ":")).encode()
    return (fields[0], left, *fields[2:-1], len(body)), body


class Zygote:
    """A zygote process; see zygote.py for what is said."""

    def __init__(self, flags, environment, configuration):
        newer = sys.version_info >= (3, 11)  # -P is unknown to older ones, which have nothing to hide at / either
        flags = [flag for flag in flags if newer or flag != "-P"]
        self.process = subprocess.Popen(
            [sys.executable, *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd="/",
        )
        assert self.process.stdin and self.process.stdout and self.process.stderr  # noqa: PT018
        self.stdin, self.stdout, self.stderr = self.process.stdin, self.process.stdout, self.process.stderr
        try:
            self.send(struct.pack("!I", len(configuration)) + configuration)
            self.hello = self.take()[1]
        except (Died, OSError) as error:
            self.process.kill()
            told = self.stderr.read().decode("utf-8", "replace").strip().splitlines()
            self.close()
            raise Died("the sandbox process did not start: " + (told[-1] if told else str(error))) from None
        self.stderr.close()

    def send(self, data):
        self.stdin.write(data)
        self.stdin.flush()

    def take(self):
        """One frame: kind and body."""
        kind, length = FRAME.unpack(self.read(FRAME.size))
        return kind, self.read(length)

    def read(self, count):
        data = self.stdout.read(count)
        if len(data) < count:
            raise Died("it ended in the middle of an answer")
        return data

    def exchange(self, fields, body, pass_on):
        """Has an order run, and passes on every frame that answers it. Raises Died."""
        cases, wall, total, length = fields[1], fields[3], fields[5], fields[-1]
        silence = min(wall * (cases + _BEFORE_CASES + 1), total) + length / _PACE + _PATIENCE
        guard = threading.Timer(silence, self.process.kill)
        guard.daemon = True
        guard.start()
        try:
            self.send(ORDER.pack(*fields) + body)
            run, kind, content = Run(), b"", b""
            while kind != b"E":
                kind, content = self.take()
                if kind == b"F":
                    raise Died("the walls did not go up: " + content.decode("utf-8", "replace"))
                pass_on(kind, content)
                if kind == b"R":
                    run.report(content)
                elif kind == b"O":
                    run.size += len(content)
            run.end(content)
            return run
        finally:
            guard.cancel()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.stdin, self.stdout, self.stderr):
            with contextlib.suppress(OSError):  # what could not be sent any more
                pipe.close()


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except Died as error:
        sys.exit(str(error))
