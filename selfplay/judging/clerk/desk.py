"""The clerk's duties as functions that always answer: where the clerk gave up, the one who caused it bears it.

A turn that cannot be read in time is a refused turn, a comparison that takes too long is a failed case, code that cannot be
found is no code. Work is asked for in pieces, and in smaller ones after a failure, until only the cause is left.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from selfplay.cases.case import Case, Refusal
from selfplay.cases.near import NEAR
from selfplay.cases.read import Reading
from selfplay.game.extract import Code
from selfplay.game.problems import Problem
from selfplay.judging.admission import Beside
from selfplay.judging.clerk.client import Clerk, GaveUp
from selfplay.judging.clerk.duties import Called, Ran, Row, Settled
from selfplay.judging.turns import Suite, unread_suite

MAX_CASES = 10_000  # of one file of tests
Answer = TypeVar("Answer")


class Desk:
    """What a clerk is asked, each question answered whatever it costs."""

    def __init__(self, clerk: Clerk | None = None) -> None:
        self.clerk = clerk or Clerk()

    def code(self, problem: Problem, text: str) -> Code:
        """The program in a turn of stage 5."""
        return self._answer(Code(None, "no_code"), "code", problem, text)

    def suite(self, problem: Problem, texts: Sequence[tuple[int, str]]) -> Suite:
        """A discriminator's conversation, given as (stage, text), read and screened."""
        try:
            return self.clerk.do("suite", problem, tuple(texts))
        except GaveUp as error:
            if len(texts) == 1:
                return unread_suite(texts, error.reason, str(error))
        return self._without_costly(problem, texts)

    def _without_costly(self, problem: Problem, texts: Sequence[tuple[int, str]]) -> Suite:
        """The turns that can be read alone, read together; the others refused."""
        alone = [self.suite(problem, [turn])[0] for turn in texts]
        costly = {
            number
            for number, turn in enumerate(alone)
            if not turn.cases and turn.unread[:1] and _gave_up(turn.unread[0])
        }
        if not costly:  # each is cheap, all together are not
            return tuple(alone)
        rest = [(stage, "" if number in costly else text) for number, (stage, text) in enumerate(texts)]
        read = self.suite(problem, rest)
        return tuple(alone[number] if number in costly else turn for number, turn in enumerate(read))

    def tests(self, text: str, entry_point: str, signature: str = "", limit: int = MAX_CASES) -> Reading:
        """A text of tests. Where it cannot be read in time, one refusal stands for all of it."""
        try:
            return self.clerk.do("tests", text, entry_point, signature, limit)
        except GaveUp as error:
            return Reading(refused=(Refusal("module", text[:200], error.reason, str(error)),))

    def screened(self, problem: Problem, reading: Reading) -> list[Refusal | None]:
        """What of a command line's literal tests cannot count."""
        try:
            return self.clerk.do("screened", problem, reading)
        except GaveUp as error:
            return [_costly(case, error) for case in reading.cases]

    def admission(
        self, problem: Problem, cases: Sequence[Case], refusals: Sequence[Refusal | None], beside: Beside
    ) -> Settled:
        """One suite's cases with their marks, and why those do not count that do not. Where they take too long together,
        what is too costly alone is refused, and the others are looked at together again; if none is, the later half is
        refused: a case must know of those before it."""
        try:
            return self.clerk.do("admission", problem, tuple(cases), tuple(refusals), beside)
        except GaveUp as error:
            if len(cases) <= 1:
                return tuple(cases), tuple(
                    known or _costly(case, error) for case, known in zip(cases, refusals, strict=True)
                )
            costly = [known or self._cost(problem, case, beside) for case, known in zip(cases, refusals, strict=True)]
            if costly == list(refusals):
                half = len(cases) // 2
                costly[half:] = [
                    known or _costly(case, error) for case, known in zip(cases[half:], refusals[half:], strict=True)
                ]
        cheap = [case for case, refusal in zip(cases, costly, strict=True) if refusal is None]
        settled = self.admission(problem, cheap, [None] * len(cheap), replace(beside, ran=_only(beside.ran, cheap)))
        told = iter(zip(*settled, strict=True))
        rows = [(case, refusal) if refusal else next(told) for case, refusal in zip(cases, costly, strict=True)]
        return tuple(case for case, _ in rows), tuple(refusal for _, refusal in rows)

    def _cost(self, problem: Problem, case: Case, beside: Beside) -> Refusal | None:
        """The refusal of a case that is too costly alone."""
        try:
            self.clerk.do("admission", problem, (case,), (None,), replace(beside, ran=_only(beside.ran, [case])))
        except GaveUp as error:
            return _costly(case, error)
        return None

    def verdicts(self, cases: Sequence[Case], programs: Sequence[tuple[str, Ran]]) -> list[tuple[Row, bool]]:
        """For each program, given as its source and what it did, its verdict on each case and whether it may keep
        something from one call to the next; so does one that cannot be told."""
        try:
            asked = tuple((source, _only(ran, cases)) for source, ran in programs)
            return list(self.clerk.do("verdicts", tuple(cases), asked))
        except GaveUp:
            if len(programs) == 1 and len(cases) <= 1:
                row: Row = ("failed",) * len(cases)
                return [(row, True)]
        if len(programs) > 1:
            return [self.verdicts(cases, [program])[0] for program in programs]
        alone = [self.verdicts([case], programs)[0] for case in cases]
        row: Row = tuple(verdict for own, _ in alone for verdict in own)
        return [(row, any(keeps for _, keeps in alone))]

    def keeps_state(self, source: str) -> bool:
        """Whether a program may keep something from one call to the next; so does one that cannot be told."""
        return self._answer(True, "state", source)

    def called(self, source: str, text: str) -> tuple[str, ...]:
        """The functions of a program that a text of tests calls, the most called first."""
        return self._answer((), "called", source, text)

    def entry_point(self, source: str, text: str) -> str:
        """The function of a program that a text of tests is about, empty where it defines none."""
        return self._answer("", "entry_point", source, text)

    def named(self, operations: Sequence[tuple[str, str]], entry_point: str, signature: str) -> list[Called]:
        """For each operation of a text, given with its outcome, how it is named where sameness is asked, and whether its
        arguments fit the signature's annotations; itself, and no, where that takes too long."""
        refused = [(operation, False) for operation, _ in operations]
        return self._answer(refused, "named", tuple(operations), entry_point, signature)

    def alike(self, outcome: str, reference: str) -> bool:
        """Whether an outcome counts as what the reference did; one that nobody can compare in time does not."""
        return self._answer(False, "alike", outcome, reference)

    def near(self, outcome: str, seed: str, operation: str, entry_point: str, signature: str) -> tuple[str, ...]:
        """The near outcomes of what the reference did when asked for an operation; the outcome itself where they take too
        long to find."""
        return self._answer((outcome,) * NEAR, "near", outcome, seed, operation, entry_point, signature)

    def _answer(self, otherwise: Answer, duty: str, *arguments: object) -> Answer:
        try:
            return self.clerk.do(duty, *arguments)
        except GaveUp:
            return otherwise

    def close(self) -> None:
        """End the clerk's process."""
        self.clerk.close()


def _only(ran: Ran, cases: Sequence[Case]) -> Ran:
    """What a program did on the calls of these cases."""
    return {case.arguments: ran[case.arguments] for case in cases if case.arguments in ran}


def _gave_up(refusal: Refusal) -> bool:
    return refusal.name == "turn" and refusal.reason in ("budget", "clerk_failed")


def _costly(case: Case, error: GaveUp) -> Refusal:
    return Refusal(case.name, case.source, error.reason, str(error))


@functools.cache
def shared_desk() -> Desk:
    """The desk of this process; its clerk ends with it."""
    return Desk()
