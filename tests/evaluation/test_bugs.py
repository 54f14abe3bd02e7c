"""The bugs that ship are bugs: the reference passes every test, the buggy program those alone that players see."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from selfplay.box.local import LocalBox
from selfplay.errors import ProblemError
from selfplay.evaluation.bugs import Bug, load_bugs
from selfplay.game.problems import SETS, load_problems, validate_problem
from selfplay.judging.judge import Job, Judge
from selfplay.judging.references import subject_of


@pytest.fixture(scope="module")
def bugs() -> tuple[Bug, ...]:
    return load_bugs()


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    box = LocalBox()
    yield Judge(box)
    box.close()


def failed(judge: Judge, bugs: tuple[Bug, ...], programs: list[str], which: str) -> list[bool]:
    """For each bug whether its program fails one of the problem's tests."""
    jobs = []
    for bug, program in zip(bugs, programs, strict=True):
        cases = [case for kind in which.split() for case in judge.own_cases(bug.problem, kind)]  # type: ignore[arg-type]
        subject = subject_of(bug.problem, everything=True)
        jobs.append(Job(bug.problem.entry_point, (program,), tuple(cases), subject=subject))
    return [any(verdict != "passed" for verdict in matrix.verdicts[0]) for matrix in judge.matrices(jobs)]


def test_there_are_forty_or_more_and_none_is_a_problem_of_another_set(bugs: tuple[Bug, ...]) -> None:
    known = {problem.id for name in SETS for problem in load_problems(name)}
    assert len({bug.problem.id for bug in bugs} - known) == len(bugs) >= 40


def test_their_problems_are_sound(bugs: tuple[Bug, ...]) -> None:
    assert {bug.problem.id: flaws for bug in bugs if (flaws := validate_problem(bug.problem))} == {}


def test_every_reference_passes_all_tests(judge: Judge, bugs: tuple[Bug, ...]) -> None:
    wrong = failed(judge, bugs, [bug.problem.reference_solution or "" for bug in bugs], "baseline hidden")
    assert [bug.problem.id for bug, fails in zip(bugs, wrong, strict=True) if fails] == []


def test_every_bug_hides_from_the_baseline_tests_and_shows_on_others(judge: Judge, bugs: tuple[Bug, ...]) -> None:
    programs = [bug.buggy for bug in bugs]
    shown = failed(judge, bugs, programs, "baseline")
    assert [bug.problem.id for bug, fails in zip(bugs, shown, strict=True) if fails] == []
    caught = failed(judge, bugs, programs, "hidden")
    assert [bug.problem.id for bug, fails in zip(bugs, caught, strict=True) if not fails] == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "holds no bug"),
        ("nonsense", "line 1: is no bug"),
        (json.dumps({"problem": {}, "buggy": "x"}), "line 1: is no bug .*reference"),
        (
            json.dumps({"problem": {"description": "d", "signature": "def f("}, "buggy": "", "reference": ""}),
            "signature",
        ),
    ],
)
def test_a_file_that_holds_no_bugs_is_refused(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "bugs.jsonl").write_text(line)
    with pytest.raises(ProblemError, match=said):
        load_bugs(tmp_path / "bugs.jsonl")
