"""The desk: who bears it when the clerk gives up, and that the others do not."""

from __future__ import annotations

import time
from typing import Any

import pytest

from selfplay.box.task import Execution, Limits
from selfplay.cases.case import Case
from selfplay.cases.read import read_cases
from selfplay.game.problems import Problem
from selfplay.judging.admission import Beside
from selfplay.judging.clerk.client import Clerk, GaveUp
from selfplay.judging.clerk.desk import Desk
from selfplay.judging.clerk.duties import DUTIES

PROBLEM = Problem("p", "", "f", "def f(n: int) -> int:", (), "def f(n): return n")


class Choosy(Clerk):
    """A clerk that does its duties here, and gives up on whatever holds the word COSTLY."""

    def do(self, duty: str, *arguments: Any) -> Any:
        if "COSTLY" in repr(arguments):
            raise GaveUp(f"{duty}: more than 5 CPU seconds")
        return DUTIES[duty](*arguments)


class Together(Clerk):
    """A clerk that gives up on more than two cases at once."""

    def do(self, duty: str, *arguments: Any) -> Any:
        if duty == "admission" and len(arguments[1]) > 2:
            raise GaveUp(f"{duty}: more than 5 CPU seconds")
        return DUTIES[duty](*arguments)


@pytest.fixture
def desk() -> Desk:
    return Desk(Choosy())


def test_a_turn_that_costs_too_much_is_refused_alone(desk: Desk) -> None:
    turns = [(1, "assert f(1) == 1"), (2, "assert f(2) == 'COSTLY'"), (3, "assert f(3) == 3\nassert f(1) == 1")]
    first, second, third = desk.suite(PROBLEM, turns)
    assert (first.written, second.written, third.written) == (1, 1, 2)
    assert [refusal.reason for refusal in second.refused] == ["budget"]
    assert [refusal and refusal.reason for refusal in third.refusals] == [None, "duplicate"]


def test_code_that_cannot_be_found_in_time_is_no_code(desk: Desk) -> None:
    assert desk.code(PROBLEM, "COSTLY").source is None


def test_a_comparison_that_costs_too_much_fails_its_case_alone(desk: Desk) -> None:
    cases = read_cases("assert f(1) == 1\nassert f(2) == 'x'", "f").cases
    good, bad = Execution("returned", "1"), Execution("returned", '"COSTLY"')
    one, other = cases[0].arguments, cases[1].arguments
    programs = [("def f(n): return 1", {one: good, other: good}), ("def f(n): return 2", {one: good, other: bad})]
    assert [row for row, _ in desk.verdicts(cases, programs)] == [("passed", "failed"), ("passed", "failed")]


def test_a_case_that_costs_admission_too_much_is_refused_alone(desk: Desk) -> None:
    """The others still know of one another: the last one says again what the first one says."""
    cases = read_cases("assert f(1) == 1\nassert f(2) == 2\nassert f(3) == 1\nassert f(1) in [1]", "f").cases
    ran = {case.arguments: Execution("returned", "1") for case in cases}
    ran[cases[1].arguments] = Execution("returned", '"COSTLY"')
    marked, refusals = desk.admission(PROBLEM, cases, [None] * 4, Beside(ran, {}, Limits()))
    assert [refusal and refusal.reason for refusal in refusals] == [None, "budget", None, "duplicate"]
    assert [case.mark for case in marked] == ["1" * 9, "", "1" * 9, "1" * 9]


def test_a_file_of_tests_that_costs_too_much_is_one_refusal(desk: Desk) -> None:
    reading = desk.tests("assert f(1) == 'COSTLY'", "f")
    assert [refusal.reason for refusal in reading.refused] == ["budget"]
    refused = desk.screened(PROBLEM, read_cases("assert f(1) == 'COSTLY'\nassert f(2) == 2", "f"))
    assert [refusal and refusal.reason for refusal in refused] == ["budget", "budget"]


def test_a_program_whose_text_cannot_be_told_may_keep_state(desk: Desk) -> None:
    assert not desk.keeps_state("def f(n): return n")
    assert desk.keeps_state("COSTLY = 1")
    assert desk.entry_point("COSTLY", "") == ""
    assert desk.called("COSTLY", "") == ()


def test_cases_that_cost_too_much_together_lose_the_later_ones(desk: Desk) -> None:
    cases = read_cases("assert f(1) == 1\nassert f(1) in [1]\nassert f(2) == 1\nassert f(3) == 1", "f").cases
    ran = {case.arguments: Execution("returned", "1") for case in cases}
    refusals = Desk(Together()).admission(PROBLEM, cases, [None] * 4, Beside(ran, {}, Limits()))[1]
    assert [refusal and refusal.reason for refusal in refusals] == [None, "duplicate", "budget", "budget"]


def test_a_case_is_named_in_its_refusal(desk: Desk) -> None:
    case = Case("test_f", "assert f(1) == 'COSTLY'", '["l",1]', "==", '"COSTLY"')
    beside = Beside({case.arguments: Execution("raised")}, {}, Limits())
    [refusal] = desk.admission(PROBLEM, [case], [None], beside)[1]
    assert refusal
    assert (refusal.name, refusal.source) == (case.name, case.source)


def test_outcomes_that_cost_too_much_are_not_alike_and_have_nothing_near(desk: Desk) -> None:
    assert not desk.alike('{"v":"COSTLY"}', '{"v":"COSTLY"}')
    assert set(desk.near('{"v":"COSTLY"}', "", '["get"]', "f", "")) == {'{"v":"COSTLY"}'}


def test_a_call_whose_arguments_collide_as_hashes_is_named_by_its_text(desk: Desk) -> None:
    numbers = ",".join(f'["I","{hex(i * (2**61 - 1))}"]' for i in range(2**16, 2**16 + 40_000))
    operation = f'["call","f",["t",["s",{numbers}]],["d"]]'
    begin = time.process_time()
    asked = [(operation, '{"v":0}'), ('["call","f",["t",1],["d"]]', '{"v":0}')]
    assert desk.named(asked, "f", "def f(n: str)") == [(operation, True), ('["l",1]', False)]
    assert time.process_time() - begin < 5
