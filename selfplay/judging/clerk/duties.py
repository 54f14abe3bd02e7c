"""What the clerk can be asked to do: pure functions of data, none of which runs anything that a model wrote.

Their input comes from models, so each may cost more than anybody foresaw: call them through the desk, which says of each
what it is for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from selfplay.box.task import Execution
from selfplay.cases.calls import bare_call, call_of, is_call
from selfplay.cases.case import Case, Refusal, Verdict
from selfplay.cases.check import check
from selfplay.cases.near import NEAR
from selfplay.cases.near import near as near_outcomes
from selfplay.cases.outcome import is_like, outcome_of, outcome_text
from selfplay.cases.read import read_cases
from selfplay.cases.steps import Steps
from selfplay.game.extract import Code, extract_code
from selfplay.game.problems import Problem
from selfplay.judging.admission import admit, screen
from selfplay.judging.domain import fits_annotations
from selfplay.judging.entry import called_entry_point, called_functions
from selfplay.judging.naming import call_name, call_names
from selfplay.judging.state import keeps_state
from selfplay.judging.turns import read_suite

Ran = Mapping[str, Execution]  # what one program did, by the arguments of the call
Row = tuple[Verdict, ...]
Settled = tuple[tuple[Case, ...], tuple[Refusal | None, ...]]
Called = tuple[
    str, bool
]  # how an operation is named where sameness is asked, and whether the problem allows its arguments


def code(problem: Problem, text: str) -> Code:
    """The program in a turn of stage 5."""
    return extract_code(text, problem)


def verdicts(cases: Sequence[Case], programs: Sequence[tuple[str, Ran]]) -> tuple[tuple[Row, bool], ...]:
    """For each program, given as its source and what it did, its verdicts, and whether it may keep something from one
    call to the next: asked together, because a request costs as much as a comparison."""
    return tuple((_row(cases, ran), keeps_state(source)) for source, ran in programs)


def _row(cases: Sequence[Case], ran: Ran) -> Row:
    steps = Steps()  # a total: whoever answers so that it runs out fails what is left
    return tuple(check(case, ran[case.arguments], steps) for case in cases)


def named(operations: Sequence[tuple[str, str]], entry_point: str, signature: str) -> list[Called]:
    """For each operation of a text, given with its outcome, its name, and whether its arguments fit the annotations."""
    names = call_names(operations, entry_point, signature)
    return [(name, not is_call(name) or fits_annotations(signature, *call_of(bare_call(name)))) for name in names]


def alike(outcome: str, reference: str) -> bool:
    """Whether an outcome of a program counts as what the reference did; text that is none is like nothing."""
    try:
        return is_like(outcome_of(outcome), outcome_of(reference))
    except ValueError:
        return False


def near(outcome: str, seed: str, operation: str, entry_point: str, signature: str) -> tuple[str, ...]:
    """The near outcomes of a reference's outcome. An instance stands for itself: another would be no answer at all."""
    right = outcome_of(outcome)
    if type(right.value) is list and right.value[0] == "h":
        return (outcome,) * NEAR
    seed = f"{seed}:{call_name(operation, entry_point, signature)}"
    return tuple(outcome_text(other) for other in near_outcomes(right, seed))


DUTIES: dict[str, Callable[..., Any]] = {
    "suite": read_suite,
    "tests": read_cases,
    "screened": partial(screen, trust=True),
    "admission": admit,
    "state": keeps_state,
    "called": called_functions,
    "entry_point": called_entry_point,
    **{duty.__name__: duty for duty in (code, verdicts, named, alike, near)},
}
