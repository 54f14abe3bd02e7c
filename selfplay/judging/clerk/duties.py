"""What the clerk can be asked to do: pure functions of data, none of which runs anything that a model wrote.

Their input comes from models, so each may cost more than anybody foresaw: call them through the desk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from selfplay.box.task import Execution, Limits
from selfplay.cases.case import Case, Refusal, Verdict
from selfplay.cases.compare import check
from selfplay.game.extract import Code, extract_code
from selfplay.game.problems import Problem
from selfplay.judging.admission import Admission, admit, samples_of, screen
from selfplay.judging.entry import called_entry_point, called_functions
from selfplay.judging.probes import candidates
from selfplay.judging.state import keeps_state
from selfplay.judging.turns import Suite, read_suite
from selfplay.reading import Reading, problem_cases, read_cases

PROBED = 10_000  # characters of arguments that are varied
PROBED_CASES = 20
Ran = Mapping[str, Execution]  # what one program did, by the arguments of the call
Row = tuple[Verdict, ...]


def code(problem: Problem, text: str) -> Code:
    """The program in a turn of stage 5."""
    return extract_code(text, problem)


def suite(problem: Problem, texts: Sequence[tuple[int, str]]) -> Suite:
    """A discriminator's turns, read and screened."""
    return read_suite(problem, texts)


def tests(text: str, entry_point: str, signature: str, limit: int) -> Reading:
    """A text of tests."""
    return read_cases(text, entry_point, signature, limit=limit)


def screened(problem: Problem, reading: Reading) -> tuple[tuple[Case, ...], tuple[Refusal, ...]]:
    """What of a command line's tests may count, and what not: the reference, if there is one, is trusted."""
    return screen(problem, reading, trust_reference=True)


def admission(
    problem: Problem,
    suites: Sequence[Sequence[Case]],
    ran: Ran | None,
    limits: Limits,
    share: float,
    others: Sequence[Execution],
) -> tuple[Admission, ...]:
    """One admission per suite of a problem. `ran`: what the reference did; `others`: and on inputs that nobody asked."""
    samples = samples_of([*others, *(ran or {}).values()])
    return tuple(admit(problem, cases, ran, limits, share, samples) for cases in suites)


def probes(problem: Problem, cases: Sequence[Case], limit: int) -> tuple[str, ...]:
    """Inputs near those of a problem's own tests or, where it has none, of these cases, that fit its annotations."""
    small = [case for case in problem_cases(problem).cases or cases if len(case.arguments) < PROBED]
    return candidates(problem, small[:PROBED_CASES], limit)


def verdicts(cases: Sequence[Case], programs: Sequence[tuple[str, Ran]]) -> tuple[tuple[Row, bool], ...]:
    """For each program, given as its source and what it did, its verdicts, and whether it may keep something from one
    call to the next: asked together, because a request costs as much as a comparison."""
    return tuple(
        (tuple(check(case, *(ran[call] for call in case.calls)) for case in cases), keeps_state(source))
        for source, ran in programs
    )


def state(source: str) -> bool:
    """Whether a program may keep something from one call to the next."""
    return keeps_state(source)


def called(source: str, text: str) -> tuple[str, ...]:
    """The functions of a program that a text of tests calls."""
    return called_functions(source, text)


def entry_point(source: str, text: str) -> str:
    """The function of a program that a text of tests is about."""
    return called_entry_point(source, text)


DUTIES: dict[str, Callable[..., Any]] = {
    duty.__name__: duty
    for duty in (code, suite, tests, screened, probes, admission, verdicts, state, called, entry_point)
}
