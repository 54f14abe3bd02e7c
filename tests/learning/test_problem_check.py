"""References and contracts are asked before a run: which problems are refused, on which test, and which not asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from selfplay.box.local import LocalBox
from selfplay.box.task import Limits
from selfplay.errors import Flaw, ProblemError
from selfplay.game.problems import Contract, Problem
from selfplay.judging.judge import Judge
from selfplay.learning.problem_check import check_references
from selfplay.learning.ranks import Ranks

RIGHT = "def f(n):\n    return 2 * n"
BASELINE, HIDDEN = ("assert f(2) == 4", "assert f(3) == 6"), ("assert f(0) == 0",)


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with LocalBox() as box:
        yield Judge(box, limits=Limits(cpu_seconds=0.5))


def problem(reference: str | None, name: str = "double", hidden: tuple[str, ...] = HIDDEN) -> Problem:
    return Problem(name, "Double it.", "f", "def f(n: int) -> int:", BASELINE, reference, hidden_tests=hidden)


def flaws(judge: Judge, *problems: Problem, ranks: Ranks | None = None) -> list[str]:
    try:
        check_references("mine.jsonl", problems, judge, ranks)
    except ProblemError as error:
        return [str(flaw) for flaw in error.flaws]
    return []


def test_references_that_pass_their_tests_are_let_through(judge: Judge) -> None:
    assert flaws(judge, problem(RIGHT), problem(RIGHT, "again")) == []


@pytest.mark.parametrize(
    ("reference", "why", "action"),
    [
        ("def f(n):\n    return n + 2", "does not give what `assert f(3) == 6` asks for", "correct the reference"),
        ("def f(n):\n    return [4][n - 2] * 1", "raises an error on `assert f(3) == 6`", "correct the reference"),
        ("def f(n):\n    while True: pass", "is not done with `assert f(2) == 4` within 0.5 s", "raise --timeout"),
        ("import nowhere\ndef f(n):\n    return 2 * n", "cannot be loaded", "run it by itself"),
        ("def f(n): return 4 if n == 2 else 6", "does not give what `assert f(0) == 0` asks for", "correct the"),
    ],
)
def test_a_reference_is_refused_by_its_first_test_that_it_does_not_pass(
    judge: Judge, reference: str, why: str, action: str
) -> None:
    [flaw] = flaws(judge, problem(reference))
    assert "problem 'double': the reference_solution" in flaw
    assert why in flaw
    assert action in flaw


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("n < 3", "does not allow the arguments of `assert f(3) == 6`"),
        ("nobody(n)", "does not allow the arguments of `assert f(2) == 4` (NameError)"),
        ("n / (n - 3)", "does not allow the arguments of `assert f(3) == 6` (ZeroDivisionError)"),
        ("any(iter(int, 1))", "does not allow the arguments of `assert f(2) == 4` (timeout)"),
        ("n >", "does not allow the arguments of `assert f(2) == 4` (SyntaxError)"),
    ],
)
@pytest.mark.parametrize("reference", [RIGHT, None])
def test_a_contract_is_refused_by_the_first_test_that_it_does_not_allow(
    judge: Judge, condition: str, why: str, reference: str | None
) -> None:
    narrow = replace(problem(reference), contract=Contract((condition,)))
    [flaw] = flaws(judge, narrow, problem(RIGHT, "other"))
    assert f"problem 'double': the contract {why}" in flaw
    assert "correct the contract or the test" in flaw


def test_a_contract_that_allows_the_baseline_tests_is_let_through(judge: Judge) -> None:
    """Hidden tests are read by evaluations alone, where every test of the problem's counts."""
    assert flaws(judge, replace(problem(RIGHT), contract=Contract(("n > 1",)))) == []


def test_each_problem_has_one_flaw_and_the_others_none(judge: Judge) -> None:
    wrong = "def f(n):\n    return -1"
    found = flaws(judge, problem(wrong, "one"), problem(RIGHT, "two"), problem(wrong, "three"))
    assert [flaw.split("'")[1] for flaw in found] == ["one", "three"]


def test_a_problem_without_a_reference_and_a_set_of_ours_are_not_asked(judge: Judge) -> None:
    assert flaws(judge, problem(None)) == []
    check_references("handwritten", [problem("def f(n):\n    return -1")], judge)


def test_a_long_test_is_named_by_its_beginning(judge: Judge) -> None:
    long = problem(RIGHT, hidden=(f"assert f({'1 + ' * 60}1) == 0",))
    [flaw] = flaws(judge, long)
    assert "assert f(1 + 1" in flaw
    assert len(flaw) < 300


class OneOfTwo(Ranks):
    """A rank of two; what the other one found is given."""

    size = 2

    def __init__(self, rank: int, found: list[Flaw]) -> None:
        self.rank, self.found = rank, found

    def gather(self, value):
        return [value, self.found] if self.rank == 0 else [self.found, value]


def test_ranks_share_the_references_and_every_rank_hears_of_every_flaw(judge: Judge) -> None:
    wrong = [problem("def f(n):\n    return -1", name) for name in ("one", "two", "three")]
    own = [[flaw.split("'")[1] for flaw in flaws(judge, *wrong, ranks=OneOfTwo(rank, []))] for rank in (0, 1)]
    assert own == [["one", "three"], ["two"]]
    assert flaws(judge, problem(RIGHT), ranks=OneOfTwo(0, [Flaw(0, "", "told by the other", "mend it")])) == [
        "told by the other; mend it"
    ]
