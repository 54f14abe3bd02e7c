"""The problems that ship: enough of them, well-formed, and every reference passes its own tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from selfplay.box.local import LocalBox
from selfplay.box.task import Limits
from selfplay.cases.read import problem_cases
from selfplay.game.problems import Problem, load_problems, validate_problem
from selfplay.judging.judge import Job, Judge
from selfplay.judging.references import subject_of

SETS = ("handwritten", "stdio", "procedural/dev", "procedural/test")


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    box = LocalBox()
    yield Judge(box, Limits(cpu_seconds=5.0))
    box.close()


def test_there_are_enough_hand_written_functions_from_easy_to_hard() -> None:
    problems = load_problems("handwritten")
    assert len(problems) >= 100
    assert {problem.difficulty for problem in problems} == {"easy", "medium", "hard"}
    assert problems[0].id == "two_sum"


def test_there_are_enough_programs_that_read_standard_input() -> None:
    problems = load_problems("stdio")
    assert len(problems) >= 15
    assert {problem.kind for problem in problems} == {"stdio"}


@pytest.mark.parametrize("name", ["handwritten", "stdio"])
def test_each_has_two_to_four_baseline_tests_and_ten_or_more_hidden_ones(name: str) -> None:
    for problem in load_problems(name):
        assert 2 <= len(problem.baseline_tests) <= 4, problem.id
        assert len(problem.hidden_tests) >= 10, problem.id


def test_held_out_procedural_problems_have_two_baseline_and_twenty_hidden_tests() -> None:
    for split in ("dev", "test"):
        for problem in load_problems(f"procedural/{split}"):
            assert len(problem.baseline_tests) == 2
            assert len(problem.hidden_tests) >= 10, problem.id


@pytest.mark.parametrize("name", [*SETS, "procedural/train"])
def test_nothing_is_wrong_with_any_problem(name: str) -> None:
    assert {p.id: flaws for p in load_problems(name) if (flaws := validate_problem(p))} == {}


def job(judge: Judge, problem: Problem, program: str) -> Job:
    """The program before all tests of the problem, none of which is refused."""
    read = [problem_cases(problem, which) for which in ("baseline", "hidden")]
    assert not [refusal for reading in read for refusal in reading.refused], problem.id
    cases = (*judge.own_cases(problem), *judge.own_cases(problem, "hidden"))
    assert len(cases) >= sum(len(reading.cases) + bool(reading.rest) for reading in read), problem.id
    return Job(problem.entry_point, (program,), cases, problem.imports, subject=subject_of(problem, everything=True))


@pytest.mark.parametrize("name", SETS)
def test_every_reference_passes_its_own_tests(judge: Judge, name: str) -> None:
    problems = load_problems(name)
    jobs = [job(judge, problem, problem.reference_solution or "") for problem in problems]
    failing = {
        (problem.id, case.source, verdict)
        for problem, job, matrix in zip(problems, jobs, judge.matrices(jobs), strict=True)
        for case, verdict in zip(job.cases, matrix.verdicts[0], strict=True)
        if verdict != "passed"
    }
    assert failing == set()


def test_an_empty_program_passes_none_of_them(judge: Judge) -> None:
    problems = load_problems("handwritten")
    jobs = [job(judge, problem, f"{problem.signature}\n    pass") for problem in problems]
    for problem, matrix in zip(problems, judge.matrices(jobs), strict=True):
        assert set(matrix.verdicts[0]) != {"passed"}, problem.id
