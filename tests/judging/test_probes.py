"""Probes: the inputs on which programs go wrong, of those that the problem allows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from selfplay.box.local import LocalBox
from selfplay.box.task import Execution, Limits, Task
from selfplay.cases.calls import call_text
from selfplay.cases.case import Case
from selfplay.cases.read import problem_cases
from selfplay.cases.values import decode
from selfplay.game.problems import Contract, Problem, load_problems
from selfplay.judging.domain import fits_annotations
from selfplay.judging.judge import Judge
from selfplay.judging.probes import PROBES, candidates, probe_inputs, variations

PROBLEM = Problem(
    "p",
    "At most 12 numbers.",
    "f",
    "def f(xs: list[int], k: int) -> list[int]:",
    ("assert f([9, 2, 7], 1) == []", "assert f([6, 7], 2) == [7]"),
    "def f(xs, k):\n    return sorted(xs)[1:k] if len(xs) > 3 else []",
    contract=Contract(("0 <= k <= len(xs)", "len(xs) <= 12")),
)


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with LocalBox() as box:
        yield Judge(box)


def baseline(problem: Problem) -> tuple[Case, ...]:
    return problem_cases(problem).cases


def probed(judge: Judge, problem: Problem, limit: int = PROBES) -> list[list[Any]]:
    found = probe_inputs({problem: baseline(problem)}, limit, judge.run, judge.limits)
    return [decode(text) for text in found[problem]]


def test_probes_stay_within_contract_and_annotations(judge: Judge) -> None:
    probes = probed(judge, PROBLEM)
    assert len(probes) == 40
    assert all(fits_annotations(PROBLEM.signature, arguments) for arguments in probes)
    assert all(0 <= k <= len(xs) <= 12 for xs, k in probes)


def test_probes_are_the_candidates_that_the_contract_allows_in_their_order(judge: Judge) -> None:
    tried = [decode(text) for text in candidates(PROBLEM, baseline(PROBLEM), 8)]
    assert probed(judge, PROBLEM, 8) == [[xs, k] for xs, k in tried if 0 <= k <= len(xs) <= 12][:8]


def test_probes_hold_the_inputs_on_which_programs_go_wrong(judge: Judge) -> None:
    lists = [arguments[0] for arguments in probed(judge, PROBLEM)]
    assert [] in lists
    assert any(len(xs) == 1 for xs in lists)
    assert any(len(set(xs)) < len(xs) for xs in lists)
    assert any(min(xs, default=0) < 0 for xs in lists)
    assert any(len(xs) > 6 for xs in lists)
    assert any(0 in xs for xs in lists)


def test_numbers_of_the_text_and_the_reference_are_probed_with_their_neighbours(judge: Judge) -> None:
    reference = "def f(n):\n    return n > 70"
    problem = Problem("p", "At least 50.", "f", "def f(n: int) -> int:", ("assert f(1) == 1",), reference)
    assert {49, 50, 51, 69, 70, 71, 0, 1, -1} <= {n for [n] in probed(judge, problem)}


def test_the_probes_of_shipped_problems_are_what_they_were(judge: Judge) -> None:
    """Mutants, golden exams and every figure of a run hang on them: a change of the digest is a change of all these."""
    problems = load_problems("handwritten")
    found = probe_inputs({problem: baseline(problem) for problem in problems}, PROBES, judge.run, judge.limits)
    told = json.dumps([found[problem] for problem in problems]).encode()
    assert hashlib.sha256(told).hexdigest().startswith("9e43de88eb0bce2f")


class Failing:
    """A box that fails on contracts."""

    def __call__(self, tasks: Sequence[Task]) -> list[tuple[Execution, ...]]:
        return [(Execution("infra_error"),) * len(task.inputs) for task in tasks]


def test_a_problem_on_whose_contract_the_box_failed_is_missing() -> None:
    free = Problem("q", "", "f", "def f(n: int) -> int:", ("assert f(1) == 1",))
    own = {problem: baseline(problem) for problem in (PROBLEM, free)}
    assert list(probe_inputs(own, PROBES, Failing(), Limits())) == [free]


def test_large_inputs_do_not_add_up() -> None:
    """Beyond what is asked for there are candidates for at most a few MiB."""
    long = Problem("p", "", "f", "def f(text: str) -> str:", (), contract=Contract(("text",)))
    few, many = ([Case("t", "", call_text(["ab" * size]), "==", "1")] for size in (300_000, 3))
    assert len(candidates(long, few, 2)) < len(candidates(long, many, 2))


@pytest.mark.parametrize("value", [True, 3, 2.5, "abc", [3, 1], (1, 2), {1, 2}, frozenset("ab"), {"a": 1}, []])
def test_variations_keep_the_type(value: object) -> None:
    found = list(variations(value))
    assert found
    assert all(type(other) is type(value) for other in found)
