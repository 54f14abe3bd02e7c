"""What the clerk can be asked to do: pure functions of data, none of which runs anything that a model wrote.

Their input comes from models, so each may cost more than anybody foresaw: call them through the desk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from selfplay.box.task import Execution
from selfplay.cases.case import Case, Refusal, Verdict
from selfplay.cases.check import check
from selfplay.cases.near import NEAR
from selfplay.cases.near import near as near_outcomes
from selfplay.cases.outcome import is_like, outcome_of, outcome_text
from selfplay.cases.read import Reading, read_cases
from selfplay.cases.steps import Steps
from selfplay.game.extract import Code, extract_code
from selfplay.game.problems import Problem
from selfplay.judging.admission import Beside, admit, screen
from selfplay.judging.entry import called_entry_point, called_functions
from selfplay.judging.state import keeps_state
from selfplay.judging.turns import Suite, read_suite

Ran = Mapping[str, Execution]  # what one program did, by the arguments of the call
Row = tuple[Verdict, ...]
Settled = tuple[tuple[Case, ...], tuple[Refusal | None, ...]]


def code(problem: Problem, text: str) -> Code:
    """The program in a turn of stage 5."""
    return extract_code(text, problem)


def suite(problem: Problem, texts: Sequence[tuple[int, str]]) -> Suite:
    """A discriminator's turns, read and screened."""
    return read_suite(problem, texts)


def tests(text: str, entry_point: str, signature: str, limit: int) -> Reading:
    """A text of tests."""
    return read_cases(text, entry_point, signature, limit=limit)


def screened(problem: Problem, reading: Reading) -> list[Refusal | None]:
    """What of a command line's literal tests cannot count: the reference, if there is one, is trusted."""
    return screen(problem, reading, trust=True)


def admission(problem: Problem, cases: Sequence[Case], refusals: Sequence[Refusal | None], beside: Beside) -> Settled:
    """One suite's cases with their marks, and why those do not count that do not."""
    return admit(problem, cases, refusals, beside)


def verdicts(cases: Sequence[Case], programs: Sequence[tuple[str, Ran]]) -> tuple[tuple[Row, bool], ...]:
    """For each program, given as its source and what it did, its verdicts, and whether it may keep something from one
    call to the next: asked together, because a request costs as much as a comparison."""
    return tuple((_row(cases, ran), keeps_state(source)) for source, ran in programs)


def _row(cases: Sequence[Case], ran: Ran) -> Row:
    steps = Steps()  # a total: whoever answers so that it runs out fails what is left
    return tuple(check(case, ran[case.arguments], steps) for case in cases)


def state(source: str) -> bool:
    """Whether a program may keep something from one call to the next."""
    return keeps_state(source)


def called(source: str, text: str) -> tuple[str, ...]:
    """The functions of a program that a text of tests calls."""
    return called_functions(source, text)


def entry_point(source: str, text: str) -> str:
    """The function of a program that a text of tests is about."""
    return called_entry_point(source, text)


def alike(outcome: str, reference: str) -> bool:
    """Whether an outcome of a program counts as what the reference did; text that is none is like nothing."""
    try:
        return is_like(outcome_of(outcome), outcome_of(reference))
    except ValueError:
        return False


def near(outcome: str, seed: str) -> tuple[str, ...]:
    """The near outcomes of a reference's outcome. An instance stands for itself: another would be no answer at all."""
    right = outcome_of(outcome)
    if type(right.value) is list and right.value[0] == "h":
        return (outcome,) * NEAR
    return tuple(outcome_text(other) for other in near_outcomes(right, seed))


DUTIES: dict[str, Callable[..., Any]] = {
    duty.__name__: duty
    for duty in (code, suite, tests, screened, admission, verdicts, state, called, entry_point, alike, near)
}
