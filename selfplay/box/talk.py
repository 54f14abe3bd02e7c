"""Children that take turns with the host: one runs tests and asks, one is a program and performs operations.

    with talker.tests(text, told, settings, limits) as child:
        frame = child.say()                 the first thing it says
        frame = child.say(outcome)          what it says to an answer; raises Ended when it is over

What is said is told in sandbox/tester.py and sandbox/session.py, how it travels in sandbox/talk.py. A talker has zygotes of
its own, started when they are needed (by the packages that may be imported): two for programs, of which one is a reference,
and two for tests, which differ in the seed of Python's hashes. It serves one thread. Left out: talking to E2B's cloud,
where a turn would take a journey.
"""

from __future__ import annotations

import json
import os
import select
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from selfplay.box.accounts import Ending
from selfplay.box.task import Limits
from selfplay.box.tiers import tier_of
from selfplay.box.wire import ORDER, frames
from selfplay.box.zygotes import BoxUnavailable, Zygote

_TESTS, _SESSION, _WORD = 2, 3, 9  # kinds of order, as in sandbox/zygote.py
_PATIENCE = 30.0  # seconds beyond every limit after which a silent zygote is given up
_LONGEST = 32 << 20  # bytes of a word or an order
_TURNS = 4_000  # of one child


Key = tuple[tuple[str, ...], int | None, bool]  # packages, seed of hashes (None: programs), whether it stands beside


class Ended(Exception):
    """The child is over; `ending` says how. None: what ran it failed, and nothing can be said about the child."""

    def __init__(self, ending: Ending | None) -> None:
        super().__init__("the child ended" if ending else "the sandbox failed")
        self.ending = ending


@dataclass(frozen=True, slots=True)
class Budget:
    """What a child may use: CPU seconds of a turn and of all, bytes of a frame and of all, memory, depth of recursion."""

    turn_seconds: float
    seconds: float
    frame_bytes: int
    bytes: int
    memory_mib: int
    depth: int = 1000

    @classmethod
    def of(cls, limits: Limits, turns: int) -> Budget:
        """A program's, for so many operations."""
        total = limits.total_cpu_seconds(turns)
        return cls(limits.cpu_seconds, total, limits.output_bytes, limits.answer_bytes, limits.memory_mib, limits.depth)


class Talker:
    """Starts children that talk. `jail` False leaves the walls out, for demonstrations."""

    def __init__(self, jail: bool = True) -> None:
        self.jail = jail
        self._zygotes: dict[Key, Zygote] = {}

    def tests(
        self, text: str, told: Mapping[str, Any], settings: Mapping[str, Any], budget: Budget, hashes: int = 0,
        imports: tuple[str, ...] = (),
    ) -> Child:  # fmt: skip
        """A child that runs a text of tests against what the interface `told` describes."""
        return Child(self, (imports, hashes, False), _TESTS, [text, told, settings], budget)

    def program(
        self,
        source: str,
        entry_point: str,
        public: Sequence[str] | None,
        budget: Budget,
        imports: tuple[str, ...] = (),
        beside: bool = False,
        objects: bool = True,
    ) -> Child:
        """A child that is a program. The first thing it says is L and its interface, or N and why it does not load.

        `beside`: while another program is at work. `objects`: instances of its classes cross as handles.
        """
        body = [source, entry_point, {"public": public, "objects": objects}]
        return Child(self, (imports, None, beside), _SESSION, body, budget)

    def zygote(self, key: Key) -> Zygote:
        """The zygote for some packages, for tests with a seed of hashes or for programs. Raises BoxUnavailable."""
        if key not in self._zygotes:
            imports, hashes, _ = key
            found = Zygote(imports, self.jail, hashes)
            if self.jail and not tier_of(found.hello, self.jail).reaches("jailed"):
                found.close()
                raise BoxUnavailable("tests run only behind all walls, and these do not all stand here")
            self._zygotes[key] = found
        return self._zygotes[key]

    def drop(self, key: Key) -> None:
        """Ends a zygote that failed; the next child gets a new one."""
        if key in self._zygotes:
            self._zygotes.pop(key).close()

    def close(self) -> None:
        """Ends all of its processes. A later child starts new ones."""
        for key in list(self._zygotes):
            self._zygotes.pop(key).close()


class Child:
    """A child that talks. Its zygote serves nobody else until it is over."""

    def __init__(self, talker: Talker, key: Key, kind: int, body: list[Any], budget: Budget) -> None:
        self.talker, self.key, self.budget = talker, key, budget
        self.cpu_seconds = 0.0
        self.over = False
        self._order = _packed(kind, budget, json.dumps(body).encode())
        self._begun = False

    def say(self, word: str | None = None) -> bytes:
        """What the child says next: to a word, or at first. Raises Ended."""
        try:
            zygote = self.talker.zygote(self.key)
            if not self._begun:
                self._begun = True
                _write(zygote, self._order)
            elif word is not None:
                _write(zygote, _packed(_WORD, self.budget, word.encode()))
            return self._hear(zygote)
        except (OSError, EOFError, struct.error, BoxUnavailable) as error:
            self._fail()
            raise Ended(None) from error
        except Ended:
            raise
        except BaseException:  # an interrupt leaves half a message in the pipe
            self._fail()
            raise

    def _hear(self, zygote: Zygote) -> bytes:
        deadline = time.monotonic() + 5 * self.budget.turn_seconds + 1 + _PATIENCE + len(self._order) / (256 << 10)
        while True:
            for kind, body in frames(zygote.incoming):
                if kind == b"R":
                    return body
                if kind == b"E":
                    self.over = True
                    ending = Ending.of(body)
                    self.cpu_seconds = ending.cpu_seconds
                    raise Ended(ending)
                raise EOFError(body.decode("utf-8", "replace"))
            if not select.select((zygote.stdout,), (), (), max(0.0, deadline - time.monotonic()))[0]:
                raise EOFError("it fell silent")
            data = os.read(zygote.stdout, 1 << 20)
            if not data:
                raise EOFError("it ended")
            zygote.incoming += data

    def _fail(self) -> None:
        self.over = True
        self.talker.drop(self.key)

    def close(self) -> None:
        """Ends the child."""
        if self._begun and not self.over:
            try:
                zygote = self.talker.zygote(self.key)
                _write(zygote, _packed(_WORD, self.budget, b""))
                while True:
                    self._hear(zygote)
            except Ended:
                pass
            except (OSError, EOFError, struct.error):
                self._fail()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _packed(kind: int, budget: Budget, body: bytes) -> bytes:
    if len(body) > _LONGEST:
        raise EOFError(f"{len(body)} bytes, more than any order takes")
    wall = 5.0 * budget.turn_seconds + 1.0
    header = ORDER.pack(
        *(kind, _TURNS, budget.turn_seconds, wall, budget.seconds, 2 * budget.seconds + 10),
        *(budget.memory_mib << 20, budget.frame_bytes, budget.bytes, budget.depth, len(body)),
    )
    return header + body


def _write(zygote: Zygote, data: bytes) -> None:
    view = memoryview(data)
    deadline = time.monotonic() + _PATIENCE + len(data) / (256 << 10)
    while view:
        try:
            view = view[os.write(zygote.stdin, view) :]
        except BlockingIOError:
            if not select.select((), (zygote.stdin,), (), max(0.0, deadline - time.monotonic()))[1]:
                raise EOFError("it does not listen") from None
