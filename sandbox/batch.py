"""Runs a batch of orders inside a virtual machine: starts zygotes there, feeds them, writes what they answer to a file.

    python3 batch.py FOLDER       reads FOLDER/box.json and FOLDER/orders, writes FOLDER/answers

`box.json` is what a zygote is made of. `orders` is a length (4 bytes), a JSON head, and orders as zygote.py tells them;
it is removed before the first program runs. `answers` is a sequence of records of kind (1 byte), order (4 bytes), length
(4 bytes), body:

    A  the frames of one child          F  the order was given up, why
    Z  the last record: how many came before it, and the zygote's hello

What a child leaves undone (it crashed, hung, flooded) is ordered again here, without the case that did it; a journey to
the host would cost more than the case. When the head's seconds or bytes are spent the rest is left out, and the host
orders it again. Expected values, references and verdicts are not known here.
"""

import contextlib
import functools
import json
import os
import struct
import subprocess
import sys
import threading
import time
import types

ORDER = struct.Struct("!BIddQQI")
FRAME = struct.Struct("!cI")
RECORD = struct.Struct("!cII")

_BEFORE_CASES = 3  # reports of a child before its first case: order read, walls up, program loaded
_PATIENCE = 30.0  # seconds beyond every limit after which a silent zygote is killed


class Died(Exception):
    """A zygote ended or fell silent before its answer was complete."""


def main(folder):
    with open(os.path.join(folder, "box.json"), encoding="utf-8") as file:
        box = json.load(file)
    head, orders = read_orders(os.path.join(folder, "orders"))
    configuration = configured(box, head["imports"])
    answers = os.path.join(folder, "answers")
    with open(answers + ".part", "wb") as file:
        batch = Batch(orders, file, head["seconds"], head["bytes"])
        start = functools.partial(Zygote, box["flags"], head["environment"], configuration)
        first = start()  # where none starts, nothing needs to be tried
        cores = min(len(os.sched_getaffinity(0)), len(orders))
        workers = [Worker(batch, start, first if number == 0 else None) for number in range(max(1, cores))]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        batch.finish(first.hello)
    os.replace(answers + ".part", answers)


def read_orders(path):
    """The head and the orders, as (header fields, body); the file is gone afterwards."""
    with open(path, "rb") as file:
        data = file.read()
    os.unlink(path)
    position = 4 + int.from_bytes(data[:4], "big")
    head = json.loads(data[4:position])
    orders = []
    while position < len(data):
        fields = ORDER.unpack_from(data, position)
        position += ORDER.size
        orders.append((fields, data[position : position + fields[-1]]))
        position += fields[-1]
    return head, orders


def configured(box, imports):
    """A zygote's configuration: the box's code, and where the named packages lie in this machine."""
    packages = sys.modules["packages"] = types.ModuleType("packages")
    exec(compile(box["packages"], "packages.py", "exec"), packages.__dict__)
    found = packages.locate(tuple(imports))
    configuration = {
        "modules": box["modules"],
        "jail": True,
        "preimport": box["preimport"],
        "packages": found.names,
        "path": found.folders,
        "grants": found.grants,
    }
    return json.dumps(configuration).encode()


class Batch:
    """The orders that wait, and the file of answers; shared by the workers."""

    def __init__(self, orders, file, seconds, size):
        self.orders, self.file = orders, file
        self.deadline, self.room = time.monotonic() + seconds, size
        self.lock = threading.Lock()
        self.waiting = list(reversed(range(len(orders))))
        self.records = 0

    def next(self):
        """An order's number, or None where nothing is left or no time for it."""
        with self.lock:
            fresh = len(self.waiting) == len(self.orders)  # one order is always begun, so that every batch gets on
            return self.waiting.pop() if self.waiting and (fresh or not self.spent) else None

    @property
    def spent(self):
        return time.monotonic() > self.deadline or self.room <= 0

    def note(self, kind, number, body):
        with self.lock:
            self.file.write(RECORD.pack(kind, number, len(body)) + body)
            self.records += 1
            self.room -= len(body)

    def finish(self, hello):
        self.file.write(RECORD.pack(b"Z", self.records, len(hello)) + hello)


class Worker(threading.Thread):
    """Serves orders on a zygote of its own."""

    def __init__(self, batch, start_zygote, zygote=None):
        threading.Thread.__init__(self)
        self.batch, self.start_zygote, self.zygote = batch, start_zygote, zygote

    def run(self):
        number = self.batch.next()
        while number is not None:
            try:
                self.serve(number)
            except (Died, OSError) as error:
                self.batch.note(b"F", number, str(error).encode("utf-8", "replace"))
                self.bury()
            number = self.batch.next()
        self.bury()

    def serve(self, number):
        """Runs the order in as many children as it takes. Raises Died where a zygote died with it twice."""
        fields, body = self.batch.orders[number]
        left = fields[1]
        while True:
            frames, reports = self.exchange(fields, body)
            walls = reports[1] if len(reports) > 1 else b""
            if walls[:1] != b"W":
                raise Died("the walls did not go up: " + walls[1:].decode("utf-8", "replace"))
            self.batch.note(b"A", number, frames)
            left -= done_by(reports, left)
            if left <= 0 or self.batch.spent:
                return
            fields, body = shortened(self.batch.orders[number], left)

    def exchange(self, fields, body):
        try:
            return self.fresh().exchange(fields, body)
        except (Died, OSError):
            self.bury()
            return self.fresh().exchange(fields, body)

    def fresh(self):
        if self.zygote is None:
            self.zygote = self.start_zygote()
        return self.zygote

    def bury(self):
        if self.zygote is not None:
            self.zygote.close()
            self.zygote = None


def done_by(reports, cases):
    """How many cases a child has settled: the last of them by its own end, where it did not get through."""
    if len(reports) < _BEFORE_CASES or reports[2][:1] != b"L":
        return cases
    return min(cases, len(reports) - _BEFORE_CASES + 1)


def shortened(order, left):
    """The order for its last `left` cases."""
    fields, body = order
    source, entry_point, inputs = json.loads(body)
    body = json.dumps([source, entry_point, inputs[-left:]], separators=(",", ":")).encode()
    return (fields[0], left, *fields[2:6], len(body)), body


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
        """One frame: kind, body, and both with their head."""
        head = self.read(FRAME.size)
        kind, length = FRAME.unpack(head)
        body = self.read(length)
        return kind, body, head + body

    def read(self, count):
        data = self.stdout.read(count)
        if len(data) < count:
            raise Died("it ended in the middle of an answer")
        return data

    def exchange(self, fields, body):
        """The frames that answer an order, and the reports among them."""
        cases, wall = fields[1], fields[3]
        guard = threading.Timer(wall * (cases + _BEFORE_CASES + 1) + _PATIENCE, self.process.kill)
        guard.daemon = True
        guard.start()
        try:
            self.send(ORDER.pack(*fields) + body)
            frames, reports, kind = [], [], b""
            while kind != b"E":
                kind, content, frame = self.take()
                frames.append(frame)
                if kind == b"R":
                    reports.append(content)
            return b"".join(frames), reports
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
