"""Suites before references and programs, in a line each: what the tests of the judge share."""

from __future__ import annotations

from selfplay.cases.case import Case
from selfplay.game.problems import Problem
from selfplay.judging.judge import Job, Judge
from selfplay.judging.references import subject_of
from selfplay.judging.turns import WrittenTurn

Row = tuple[str, ...]


def asks(reference: str | None, description: str = "", signature: str = "", **others: object) -> Problem:
    """A problem about `f`. Other public names of the reference are under test where the description names them."""
    return Problem("p", description, "f", signature, (), reference, **others)  # type: ignore[arg-type]


def settled(judge: Judge, problem: Problem, *suites: str, trust: bool = False) -> list[WrittenTurn]:
    """Suites of one turn each, read, screened, run and before the reference."""
    read = [judge.desk.suite(problem, [(1, f"```python\n{text}\n```")]) for text in suites]
    return [turn for [turn] in judge.settle([(problem, read, ())], trust)[0]]


def reasons(turn: WrittenTurn) -> list[str]:
    """Why each case does not count, "" where it does; the reasons of what is no case at all come first."""
    return [each.reason for each in turn.unread] + [each.reason if each else "" for each in turn.refusals]


def rows(judge: Judge, problem: Problem, cases: tuple[Case, ...], *programs: str) -> list[Row]:
    """What each program does on the cases."""
    job = Job(problem.entry_point, programs, cases, problem.imports, subject=subject_of(problem))
    return list(judge.matrices([job])[0].verdicts)
