"""A discriminator's conversation, read: what each turn wrote, which of it counts, and why the rest does not.

`read_suite` reads texts to literal cases and screens them; what is left of a turn is its `text`, to be run (texts.py), and
becomes cases as well. `judge` adds the reference's word. Reading is done by the clerk: its input is what a model wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from selfplay.cases.case import Case, Refusal
from selfplay.cases.read import Reading, read_cases, read_stdin_cases
from selfplay.game.extract import extract_tests
from selfplay.game.problems import Problem
from selfplay.judging.admission import screen

MAX_CASES = 64  # of one turn that are read; a turn is asked for two or three
MAX_TURN_BYTES = 4 << 20  # of a turn's arguments
MAX_SUITE_BYTES = 8 << 20  # of a suite's arguments, all turns together


@dataclass(frozen=True, slots=True)
class WrittenTurn:
    """One discriminator's turn, read.

    `cases` are the well-formed ones in order, `refusals`, aligned with them, say why a case does not count: None where it
    does. `unread` are tests that could not be read, `dropped` counts what was lost before reading. `text` is what still has
    to be run to become cases; empty once it has.
    """

    stage: int
    cases: tuple[Case, ...] = ()
    refusals: tuple[Refusal | None, ...] = ()
    unread: tuple[Refusal, ...] = ()
    dropped: int = 0
    critique: str = ""
    salvaged: int = 0
    text: str = ""

    @property
    def written(self) -> int:
        """Every case of the turn, the unreadable ones included."""
        return len(self.cases) + len(self.unread) + self.dropped

    @property
    def valid(self) -> tuple[bool, ...]:
        """For each case whether it counts."""
        return tuple(refusal is None for refusal in self.refusals)

    @property
    def admitted(self) -> tuple[Case, ...]:
        """The cases that count."""
        return tuple(case for case, refusal in zip(self.cases, self.refusals, strict=True) if refusal is None)

    @property
    def refused(self) -> tuple[Refusal, ...]:
        """Why the others do not count, the unreadable ones first."""
        return (*self.unread, *(refusal for refusal in self.refusals if refusal is not None))

    def joined(self, run: Sequence[tuple[Case, Refusal | None]], limit: int = MAX_CASES) -> WrittenTurn:
        """The turn with the cases that running its text gave, at most `limit` in all; a refusal of the whole text
        goes to `unread`."""
        room = max(0, limit - len(self.cases))
        sites = [(case, refusal) for case, refusal in run if case.expected]
        kept, over = sites[:room], sites[room:]
        beyond = [
            Refusal(case.name, case.source, "too_many", f"more than {limit} cases in one turn") for case, _ in over
        ]
        return replace(
            self,
            cases=(*self.cases, *(case for case, _ in kept)),
            refusals=(*self.refusals, *(refusal for _, refusal in kept)),
            unread=(*self.unread, *(refusal for case, refusal in run if refusal and not case.expected), *beyond),
            text="",
        )


Suite = tuple[WrittenTurn, ...]


def read_suite(problem: Problem, texts: Sequence[tuple[int, str]], limit: int = MAX_CASES) -> Suite:
    """The turns of one conversation, given as (stage, text), read and screened; no reference has spoken yet.

    A case that the suite held earlier is a duplicate. Past `limit` cases or the bytes of their arguments, a turn's
    further cases are refused.
    """
    turns: list[WrittenTurn] = []
    already: list[object] = []
    room = MAX_SUITE_BYTES
    for stage, text in texts:
        tests = extract_tests(text, problem)
        if problem.kind == "stdio":
            reading = read_stdin_cases(tests.stdin[:limit], problem.tolerance)
        else:
            reading = read_cases(tests.source, problem.entry_point, problem.signature, limit=limit)
        over = max(0, len(tests.stdin) - limit)
        reading = _within(reading, min(room, MAX_TURN_BYTES))
        turn = _screened(problem, stage, reading, already)
        room -= sum(len(case.arguments) for case in turn.cases)
        already += [case.identity for case in turn.admitted]
        dropped, salvaged = tests.dropped + over, tests.salvaged + reading.salvaged
        turns.append(replace(turn, dropped=dropped, critique=tests.critique, salvaged=salvaged))
    return tuple(turns)


def _within(reading: Reading, room: int) -> Reading:
    """The reading without the cases whose arguments, counted from the first case on, take more than `room` bytes."""
    kept: list[Case] = []
    refused = list(reading.refused)
    for case in reading.cases:
        room -= len(case.arguments)
        if room >= 0:
            kept.append(case)
        else:
            detail = "the arguments of this turn's tests are too large"
            refused.append(Refusal(case.name, case.source, "budget", detail))
    return replace(reading, cases=tuple(kept), refused=tuple(refused))


def _screened(problem: Problem, stage: int, reading: Reading, already: Iterable[object]) -> WrittenTurn:
    refusals = tuple(screen(problem, reading, already))
    return WrittenTurn(stage, reading.cases, refusals, reading.refused, text=reading.rest)


def unread_suite(texts: Sequence[tuple[int, str]], reason: str, detail: str) -> Suite:
    """A conversation of which nothing was read."""
    return tuple(WrittenTurn(stage, unread=(Refusal("turn", text[:200], reason, detail),)) for stage, text in texts)
