"""Who performs operations: a program in a child of its own, and the reference as far as a run has come.

actor.ask('["call", "f", ...]')     the outcome of an operation, as text
follower.outcome(operation)         the same of the reference, from what is known of it where that is enough
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from selfplay.box.talk import Budget, Child, Ended, Talker
from selfplay.box.task import Limits
from selfplay.cases.case import Verdict
from selfplay.judging.script import Broken, Interface, Script, interface_of


class Subject(NamedTuple):
    """What is under test: `reference` None where there is none; `public` None: every public name of it may be used."""

    entry_point: str
    reference: str | None = None
    imports: tuple[str, ...] = ()
    public: tuple[str, ...] | None = None
    signature: str = ""


class Stopped(Exception):
    """The program cannot answer any more; `infra_error`: the sandbox failed."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict)
        self.verdict: Verdict = verdict


class NotLoaded(Exception):
    """The program does not load; the message says why."""


def grown(history: str, operation: str) -> str:
    """What stands for all operations so far, one more among them."""
    return hashlib.blake2b((history + operation).encode(), digest_size=16).hexdigest()


def places(operations: Sequence[str], stateful: bool) -> Iterator[str]:
    """What decides the outcome of each operation: itself and, where something is remembered, all before it."""
    history = ""
    for operation in operations:
        history = grown(history, operation) if stateful else ""
        yield history or operation


class Actor:
    """A program that performs operations, one after the other, in a child that is started when it is needed."""

    def __init__(self, talker: Talker, limits: Limits, subject: Subject, source: str, beside: bool = False) -> None:
        self.talker, self.limits = talker, limits
        self.subject, self.source, self.beside = subject, source, beside
        self.objects = True  # whether instances cross as handles
        self.history: list[str] = []
        self._child: Child | None = None

    def load(self) -> Interface:
        """Starts the program. Raises NotLoaded and Stopped."""
        budget = Budget.of(self.limits, 100)
        self._child = self.talker.program(
            *(self.source, self.subject.entry_point, self.subject.public, budget),
            *(self.subject.imports, self.beside, self.objects),
        )
        self.history = []
        said = self._said(None)
        if said[:1] != b"L":
            raise NotLoaded(_why(said[1:]))
        try:
            return interface_of(said[1:])
        except Broken as error:
            raise NotLoaded(f"what it has to offer cannot be read: {error}") from None

    def prepare(self, operations: Sequence[str]) -> None:
        """These will be asked, whatever the outcomes are; here each is performed when it is."""

    def ask(self, operation: str) -> str:
        """The outcome of an operation, as text. Raises Stopped where there is none."""
        if self._child is None:
            self.load()
        self.history.append(operation)
        said = self._said(operation)
        if said[:1] != b"V":
            raise Stopped("error")
        return said[1:].decode("ascii", "replace")

    def _said(self, word: str | None) -> bytes:
        assert self._child is not None
        try:
            return self._child.say(word)
        except Ended as end:
            self._child = None
            if end.ending is None:
                raise Stopped("infra_error") from None
            raise Stopped("timeout" if end.ending.timed_out else "error") from None

    def close(self) -> None:
        """Ends the child."""
        if self._child is not None:
            self._child.close()
            self._child = None

    def __enter__(self) -> Actor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _why(told: bytes) -> str:
    try:
        names, said = json.loads(told)
        return f"{str(names[0])[:100]}: {str(said)[:200]}"
    except (ValueError, TypeError, IndexError, RecursionError):
        return "it ended while it was loaded"


class Follower:
    """Answers as the reference does: from what is known of it, else by asking it, brought to the same point before."""

    def __init__(self, script: Script, reference: Actor) -> None:
        self.script, self.reference = script, reference
        self.operations: list[str] = []
        self.history = ""

    def outcome(self, operation: str) -> str:
        """The reference's outcome of the next operation. Raises Stopped."""
        self.operations.append(operation)
        self.history = grown(self.history, operation) if self.script.stateful else ""
        place = self.history or operation
        if place not in self.script.known:
            self.script.known[place] = self._asked(operation)
        return self.script.known[place]

    def _asked(self, operation: str) -> str:
        if not self.script.stateful:
            return self.reference.ask(operation)
        before = self.operations[:-1]
        if self.reference.history != before:
            self.reference.close()
            self.reference.load()
            for earlier in before:
                self.reference.ask(earlier)
        return self.reference.ask(operation)
