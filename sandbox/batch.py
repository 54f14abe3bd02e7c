"""Runs a batch of orders inside a virtual machine: starts zygotes there, feeds them, writes what they answer to a file.

    python3 batch.py FOLDER       reads FOLDER/box.json and FOLDER/orders, writes FOLDER/answers

`box.json` is what a zygote is made of. `orders` is a length (4 bytes), a JSON head, and orders as zygote.py tells them;
its name is gone before the first program runs. The head's `programs` say how many orders each program has, one after
the other, and what the owners of their cases may use. `answers` is a sequence of records of kind (1 byte), order (4
bytes), length (4 bytes), body:

    B  a child begins with the order        R O E  its frames, as zygote.py tells them
    F  the order was given up, why          Z      the last record: how many came before it, and the zygote's hello

A record is written when it comes, so what is held in memory is one frame for each core, whatever a program returns.

What a child leaves undone (it crashed, hung, flooded) is ordered again here, without the case that did it; a journey to
the host would cost more than the case. Cases whose owners have used up their totals get no further child: the host comes
to the same conclusion from the same records, by the same text (selfplay/box/accounts.py, which box.json brings along).
When the head's seconds or bytes are spent the rest is left out, and the host orders it again. Expected values, references
and verdicts are not known here.
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

ORDER = struct.Struct("!BIddddQQQII")
FRAME = struct.Struct("!cI")
RECORD = struct.Struct("!cII")

_BEFORE_CASES = 1  # reports of a child before its first case: the program is loaded
_PATIENCE, _PACE = 60.0, 256 << 10  # seconds beyond every limit, and bytes a second more for the order, of silence


class Died(Exception):
    """A zygote ended or fell silent before its answer was complete."""


def main(folder):
    with open(os.path.join(folder, "box.json"), encoding="utf-8") as file:
        box = json.load(file)
    accounts, packages = (module(name, box[name]) for name in ("accounts", "packages"))
    orders = open_orders(os.path.join(folder, "orders"))
    head, programs = read_head(orders, accounts.Accounts)
    configuration = configured(box, packages.locate(tuple(head["imports"])))
    answers = os.path.join(folder, "answers")
    with orders, open(answers + ".part", "wb") as file:
        batch = Batch(orders, programs, file, head["seconds"], head["bytes"], accounts)
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


def read_head(file, accounts):
    """The head, and the programs: what each may use, and its orders as (number, first case, header fields, where the body
    is)."""
    head = json.loads(file.read(int.from_bytes(file.read(4), "big")))
    programs, number = [], 0
    for count, told in head["programs"]:
        orders, first = [], 0
        for _ in range(count):
            fields = ORDER.unpack(file.read(ORDER.size))
            orders.append((number, first, fields, file.tell()))
            file.seek(fields[-1], os.SEEK_CUR)
            number += 1
            first += fields[1]
        programs.append((accounts.of(told), orders))
    return head, programs


def module(name, text):
    """A module of the host's, from its text."""
    made = sys.modules[name] = types.ModuleType(name)
    exec(compile(text, name + ".py", "exec"), made.__dict__)
    return made


def configured(box, packages):
    """A zygote's configuration: the box's code, and where the named packages lie in this machine."""
    configuration = {
        "modules": box["modules"],
        "jail": True,
        "tests": False,
        "preimport": box["preimport"],
        "packages": packages.names,
        "path": packages.folders,
        "grants": packages.grants,
    }
    return json.dumps(configuration).encode()


class Run:
    """What one child did with an order."""

    def __init__(self, accounts, is_program):
        self.accounts, self.is_program = accounts, is_program
        self.reports = self.printed = 0
        self.calls, self.loaded, self.ending = [], False, None

    def take(self, kind, body):
        if kind == b"R":
            self.reports += 1
            self.loaded = self.loaded or (self.reports == 1 and body == b"L")
            if self.reports > _BEFORE_CASES and not self.is_program:
                self.calls.append(self.accounts.call_of(body))
        elif kind == b"O":
            self.printed = len(body)
        elif kind == b"E":
            self.ending = self.accounts.Ending.of(body)

    def charge(self, accounts, cases):
        """Charges the owners of the cases. How many of them are settled."""
        assert self.ending
        if self.loaded or self.ending.by_total:
            return len(accounts.charge(cases, self.calls[: len(cases)], self.ending, self.printed))
        accounts.close()
        return len(cases)


class Batch:
    """The programs that wait, their orders, and the file of answers; shared by the workers."""

    def __init__(self, orders, programs, file, seconds, size, accounts):
        self.orders, self.file, self.accounts = orders, file, accounts
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

    def serve(self, accounts, orders):
        """Runs a program's orders, until its owners may not have another child or the batch has no time for one."""
        for number, first, fields, position in orders:
            try:
                self.run_order(accounts, number, range(first, first + fields[1]), fields, position)
            except (Died, OSError) as error:
                self.batch.note(b"F", number, str(error).encode("utf-8", "replace"))
                self.bury()
                return
            if self.batch.spent:
                return

    def run_order(self, accounts, number, cases, fields, position):
        """Runs the order in as many children as it takes. Raises Died where a zygote died with it twice."""
        left = list(cases)
        while chosen := accounts.chosen(left):
            body = chosen_body(self.batch.body(fields, position), [case - cases[0] for case in chosen], fields[1])
            cpu, wall, room = accounts.left(chosen)
            run = self.exchange(
                number,
                (fields[0], len(chosen), *fields[2:4], cpu, wall, *fields[6:8], room, fields[9], len(body)),
                body,
            )
            settled = set(chosen[: run.charge(accounts, chosen)])
            left = [case for case in left if case not in settled]
            if self.batch.spent:
                return

    def exchange(self, number, fields, body):
        """What became of an order, in a second zygote where the first one died with it. Raises Died."""
        pass_on = functools.partial(self.pass_on, number)
        self.batch.note(b"B", number)
        try:
            return self.fresh().exchange(fields, body, Run(self.batch.accounts, fields[0] == 1), pass_on)
        except (Died, OSError):
            self.bury()
        self.batch.note(b"B", number)
        return self.fresh().exchange(fields, body, Run(self.batch.accounts, fields[0] == 1), pass_on)

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


def chosen_body(body, cases, count):
    """An order's body with these of its `count` cases alone."""
    if len(cases) == count:
        return body
    source, entry_point, inputs = json.loads(body)
    return json.dumps([source, entry_point, [inputs[case] for case in cases]], separators=(",", ":")).encode()


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

    def exchange(self, fields, body, run, pass_on):
        """Has an order run, and passes on every frame that answers it. Raises Died."""
        cases, wall, total, length = fields[1], fields[3], fields[5], fields[-1]
        silence = min(wall * (cases + _BEFORE_CASES + 1), total) + length / _PACE + _PATIENCE
        guard = threading.Timer(silence, self.process.kill)
        guard.daemon = True
        guard.start()
        try:
            self.send(ORDER.pack(*fields) + body)
            kind = b""
            while kind != b"E":
                kind, content = self.take()
                if kind == b"F":
                    raise Died("the walls did not go up: " + content.decode("utf-8", "replace"))
                pass_on(kind, content)
                run.take(kind, content)
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
