"""A batch of orders as the bytes that go to a sandbox, and what comes back. The layout is told in sandbox/batch.py.

Everything from the sandbox is read with suspicion: a record or frame that is broken, missing or too much refuses the
whole answer, which is then asked of another sandbox.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from selfplay.box import packages
from selfplay.box.progress import Progress
from selfplay.box.task import Execution
from selfplay.box.tiers import Tier, tier_of
from selfplay.box.wire import Ending, Order, conclude
from selfplay.box.zygotes import FLAGS, PREIMPORTED, box_modules, environment
from selfplay.resources import resource

MAX_ORDERS = 256
MAX_BYTES = 32 << 20  # of orders in a batch; of answers after which the sandbox leaves out the rest
_RECORD = struct.Struct("!cII")
_REPORT_OVERHEAD = 8192
_PATIENCE = 60.0

Record = tuple[bytes, int, bytes]  # of an answer: kind, number of the order, body
Settled = list[tuple[list[Execution], Ending, int]]  # what children of a program did and reported, one after the other


@dataclass(slots=True)
class Answer:
    """What became of a program's orders, and why the sandbox gave up the next one, if it did."""

    settled: Settled = field(default_factory=list)
    given_up: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """Programs with the same imports, each with some of its orders, one after the other."""

    programs: tuple[tuple[Progress, tuple[Order, ...]], ...]
    seconds: float

    @property
    def orders(self) -> list[Order]:
        """All orders, by number."""
        return [order for _, orders in self.programs for order in orders]

    def pack(self) -> bytes:
        """The whole batch as bytes, as sandbox/batch.py reads them."""
        imports = self.programs[0][0].task.imports
        head = {
            "imports": imports,
            "environment": environment(imports),
            "seconds": self.seconds,
            "bytes": MAX_BYTES,
            "programs": [(len(orders), progress.timeouts) for progress, orders in self.programs],
        }
        text = json.dumps(head).encode()
        return b"".join([struct.pack("!I", len(text)), text, *(order.pack() for order in self.orders)])

    @property
    def limit(self) -> float:
        """Wall-clock seconds within which the sandbox must have answered, once the batch is packed."""
        return self.seconds + 2 * max(order.allowance for order in self.orders) + _PATIENCE

    @property
    def most_bytes(self) -> int:
        """The longest answer that can be honest: the cap, and one more order on each of the sandbox's cores."""
        longest = max(
            (order.count + 3) * _REPORT_OVERHEAD + order.task.limits.output_bytes + order.task.limits.answer_bytes
            for order in self.orders
        )
        return MAX_BYTES + 16 * longest

    def answers(self, records: Iterable[Record]) -> tuple[list[Answer], bytes]:
        """One answer per program, and the zygote's hello. Raises ValueError where a sound sandbox writes other records."""
        reading = _Reading(self)
        hello = b""
        for kind, number, body in records:
            if kind == b"Z":
                hello = body
            else:
                reading.take(kind, number, body)
        reading.finish()
        return reading.answers, hello


class _Reading:
    """The records of one answer, put together to what each child did."""

    def __init__(self, batch: Batch) -> None:
        self.orders = batch.orders
        self.places = [place for place, (_, orders) in enumerate(batch.programs) for _ in orders]
        self.answers = [Answer() for _ in batch.programs]
        self.done = [0] * len(self.orders)  # cases, of each order
        self.begun: dict[int, Order] = {}

    def take(self, kind: bytes, number: int, body: bytes) -> None:
        if number >= len(self.orders) or self.answers[self.places[number]].given_up:
            raise ValueError(f"an answer to order {number} of {len(self.orders)}")
        if kind == b"B":
            self._begin(number)
        elif kind == b"F":
            self.answers[self.places[number]].given_up = body.decode("utf-8", "replace")[:300] or "no reason told"
        elif number not in self.begun:
            raise ValueError(f"record {kind!r} of order {number}, which has not begun")
        elif kind == b"R" and len(self.begun[number].reports) <= self.begun[number].count:
            self.begun[number].reports.append(body)
        elif kind == b"O":
            self.begun[number].printed = body
        elif kind == b"E":
            self._conclude(number, body)
        else:
            raise ValueError(f"unexpected record {kind!r}")

    def _begin(self, number: int) -> None:
        """A child begins with what is left of an order; all orders of its program before this one must be done."""
        before = number - 1
        if before >= 0 and self.places[before] == self.places[number] and self.done[before] < self.orders[before].count:
            raise ValueError(f"order {number} begins before order {before} has ended")
        self.begun[number] = self.orders[number].after(self.done[number])
        if self.begun[number].count < 1:
            raise ValueError(f"order {number} begins, but it is done")

    def finish(self) -> None:
        """Every child that began has ended, or its order was given up."""
        for number in self.begun:
            if not self.answers[self.places[number]].given_up:
                raise ValueError(f"a child of order {number} began and did not end")

    def _conclude(self, number: int, body: bytes) -> None:
        try:
            ending = Ending.of(body)
        except struct.error as error:
            raise ValueError(f"an end that is none: {error}") from None
        order = self.begun.pop(number)
        executions = conclude(order, ending)
        self.done[number] += len(executions)
        self.answers[self.places[number]].settled.append((executions, ending, order.answered))


def box_files() -> dict[str, bytes]:
    """What a sandbox needs before its first batch: file names and contents."""
    box = {
        "flags": FLAGS,
        "modules": box_modules(),
        "preimport": PREIMPORTED,
        "packages": packages.__loader__.get_source(packages.__name__),  # type: ignore[union-attr]
    }
    return {"box.json": json.dumps(box).encode(), "batch.py": (resource("sandbox") / "batch.py").read_bytes()}


def records_of(parts: Iterable[bytes]) -> Iterator[Record]:
    """The records of an answer as its bytes come; the last says how many come before it. Raises ValueError, at the latest
    at the end: nothing may be believed before."""
    buffer, count, ended = bytearray(), 0, False
    for part in parts:
        buffer += part
        for kind, number, body in whole_records(buffer):
            if ended or (kind == b"Z" and number != count):
                raise ValueError("the answer has not the end that it announces")
            ended, count = kind == b"Z", count + 1
            yield kind, number, body
    if buffer or not ended:
        raise ValueError("the answer has no end, or ends in the middle of a record")


def whole_records(buffer: bytearray) -> Iterator[Record]:
    """Takes the whole records off the front of the buffer."""
    position = 0
    try:
        while len(buffer) - position >= _RECORD.size:
            kind, number, length = _RECORD.unpack_from(buffer, position)
            start = position + _RECORD.size
            if len(buffer) - start < length:
                return
            position = start + length
            yield kind, number, bytes(buffer[start:position])
    finally:
        del buffer[:position]


def inside(hello: bytes) -> Tier:
    """How strongly programs were confined inside the sandbox, by its own word. Raises ValueError where it has none."""
    try:
        return tier_of(json.loads(hello), platform="linux")
    except (LookupError, TypeError) as error:
        raise ValueError(f"the answer does not say how programs were confined: {error!r}") from None
