"""A batch of orders as the bytes that go to a sandbox, and what comes back. The layout is told in sandbox/batch.py.

Everything from the sandbox is read with suspicion: a record or frame that is broken, missing or too much refuses the
whole answer, which is then asked of another sandbox.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from selfplay.judging.box import packages
from selfplay.judging.box.tiers import Tier, tier_of
from selfplay.judging.box.wire import BoxFailed, Order, allowance, conclude, frames, pack
from selfplay.judging.box.zygotes import FLAGS, PREIMPORTED, box_modules, environment
from selfplay.judging.cases import Execution, Task
from selfplay.resources import resource

MAX_ORDERS = 256
MAX_BYTES = 32 << 20  # of orders in a batch; of answers after which the sandbox leaves out the rest
_RECORD = struct.Struct("!cII")
_REPORT_OVERHEAD = 8192
_PATIENCE = 60.0

Record = tuple[bytes, int, bytes]  # of an answer: kind, number of the order, body


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one order: executions of its first cases, and whether the sandbox gave it up."""

    executions: tuple[Execution, ...] = ()
    given_up: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """Orders for tasks with the same imports."""

    orders: tuple[Order, ...]
    tasks: tuple[Task, ...]  # the task of each order
    seconds: float

    def pack(self) -> bytes:
        """Raises ValueError for an order that is too long."""
        imports = self.tasks[0].imports
        head = {"imports": imports, "environment": environment(imports), "seconds": self.seconds, "bytes": MAX_BYTES}
        text = json.dumps(head).encode()
        parts = [pack(task, order) for task, order in zip(self.tasks, self.orders, strict=True)]
        return b"".join([struct.pack("!I", len(text)), text, *parts])

    @property
    def limit(self) -> float:
        """Wall-clock seconds within which the sandbox must have answered."""
        longest = max(allowance(task, order) for task, order in zip(self.tasks, self.orders, strict=True))
        return self.seconds + longest + _PATIENCE

    @property
    def most_bytes(self) -> int:
        """The longest answer that can be honest: the cap, and one more order on each of the sandbox's cores."""
        pairs = zip(self.tasks, self.orders, strict=True)
        longest = max((order.count + 3) * (task.limits.output_bytes + _REPORT_OVERHEAD) for task, order in pairs)
        return MAX_BYTES + 16 * longest

    def answers(self, records: Sequence[Record]) -> list[Answer]:
        """One answer per order. Raises ValueError where the records are not what a sound sandbox writes."""
        taken: list[list[Execution]] = [[] for _ in self.orders]
        given_up: dict[int, str] = {}
        for kind, number, body in records[:-1]:
            if number >= len(self.orders) or number in given_up:
                raise ValueError(f"an answer to order {number} of {len(self.orders)}")
            if kind == b"F":
                given_up[number] = body.decode("utf-8", "replace")[:300] or "no reason told"
            elif kind == b"A":
                rest = self.orders[number].after(len(taken[number]))
                taken[number] += _executions(rest, body, self.tasks[number])
            else:
                raise ValueError(f"unknown record {kind!r}")
        return [Answer(tuple(own), given_up.get(number, "")) for number, own in enumerate(taken)]


def box_files() -> dict[str, bytes]:
    """What a sandbox needs before its first batch: file names and contents."""
    box = {
        "flags": FLAGS,
        "modules": box_modules(),
        "preimport": PREIMPORTED,
        "packages": packages.__loader__.get_source(packages.__name__),  # type: ignore[union-attr]
    }
    return {"box.json": json.dumps(box).encode(), "batch.py": (resource("sandbox") / "batch.py").read_bytes()}


def records_of(data: bytes) -> list[Record]:
    """All records of an answer; the last must say how many come before it. Raises ValueError."""
    found: list[Record] = []
    position = 0
    while position < len(data):
        if len(data) - position < _RECORD.size:
            raise ValueError("the answer ends in the middle of a record's head")
        kind, number, length = _RECORD.unpack_from(data, position)
        position += _RECORD.size + length
        if position > len(data):
            raise ValueError("the answer ends in the middle of a record")
        found.append((kind, number, data[position - length : position]))
    if not found or found[-1][0] != b"Z" or found[-1][1] != len(found) - 1:
        raise ValueError("the answer has no end, or not the one that it announces")
    return found


def inside(records: Sequence[Record]) -> Tier:
    """How strongly programs were confined inside the sandbox, by its own word. Raises ValueError where it has none."""
    try:
        return tier_of(json.loads(records[-1][2]), platform="linux")
    except (LookupError, TypeError) as error:
        raise ValueError(f"the answer does not say how programs were confined: {error!r}") from None


def _executions(order: Order, body: bytes, task: Task) -> list[Execution]:
    """One child's frames as executions of the order's first cases."""
    if order.count < 1:
        raise ValueError("an answer to an order that is done")
    buffer, end = bytearray(body), None
    for kind, content in frames(buffer):
        if end is not None or kind not in (b"R", b"O", b"E"):
            raise ValueError(f"unexpected frame {kind!r}")
        if kind == b"R":
            order.reports.append(content)
        elif kind == b"O":
            order.printed = content
        else:
            end = content
    if end is None or buffer:
        raise ValueError("a child's frames end before their end")
    try:
        return conclude(order, end, task)
    except (struct.error, BoxFailed) as error:
        raise ValueError(f"an answer that no child gives: {error}") from None
