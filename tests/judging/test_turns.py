"""A discriminator's conversation as cases: what is counted, what is capped, and what a problem's helpers are for."""

from __future__ import annotations

from selfplay.cases.case import Case, Refusal
from selfplay.game.problems import Problem, StdinTest
from selfplay.judging.judge import Judge
from selfplay.judging.turns import MAX_CASES, MAX_SUITE_BYTES, WrittenTurn, read_suite
from tests.judging.court import asks, reasons, settled

PROBLEM = Problem("p", "The same list.", "f", "def f(xs):", (), "def f(xs): return xs")
SUM = Problem("sum", "", "", "", (StdinTest("1", "1"),), kind="stdio")


def test_written_counts_what_was_read_refused_and_lost() -> None:
    [turn] = read_suite(PROBLEM, [(1, "It looks fine.\n\nassert f([1]) == [1]\nassert f([1]) == [1]\nassert f(((")])
    assert (turn.written, turn.valid) == (3, (True, False))
    assert turn.refused[-1].reason == "duplicate"
    assert turn.critique == "It looks fine."


def test_a_case_of_an_earlier_turn_is_a_duplicate() -> None:
    suite = read_suite(PROBLEM, [(1, "assert f([1]) == [1]"), (2, "assert f([1]) == [1]\nassert f([2]) == [2]")])
    assert [turn.valid for turn in suite] == [(True,), (False, True)]


def test_a_turn_s_cases_are_capped_when_they_are_read() -> None:
    many = "\n".join(f"assert f([{n}]) == [{n}]" for n in range(5 * MAX_CASES))
    [turn] = read_suite(PROBLEM, [(1, many)])
    assert len(turn.cases) == MAX_CASES
    assert [refusal.reason for refusal in turn.unread] == ["too_many"]
    pairs = "\n".join(f"### Input\n```\n{n}\n```\n### Output\n```\n{n}\n```" for n in range(5 * MAX_CASES))
    [turn] = read_suite(SUM, [(1, pairs)])
    assert (len(turn.cases), turn.written) == (MAX_CASES, 5 * MAX_CASES)


def test_sites_beyond_the_cap_of_a_turn_are_refused(judge: Judge) -> None:
    [turn] = settled(
        judge, PROBLEM, f"def test_a():\n    for n in range({MAX_CASES + 3}):\n        assert f([n]) == [n]"
    )
    assert len(turn.cases) == MAX_CASES
    assert [refusal.reason for refusal in turn.unread] == ["too_many"] * 3


def test_bytes_of_arguments_are_capped_over_a_suite() -> None:
    large = "assert f('a' * 500_000, {}) == 1"
    turns = [(stage, "\n".join(large.format(f"{stage}{n}") for n in range(5))) for stage in range(1, 6)]
    suite = read_suite(PROBLEM, turns)
    assert sum(len(case.arguments) for turn in suite for case in turn.cases) <= MAX_SUITE_BYTES
    assert "budget" in {refusal.reason for turn in suite for refusal in turn.refused}
    assert suite[0].cases


def test_helpers_that_the_problem_brings_are_there_for_its_tests(judge: Judge) -> None:
    helpers = "def encode(text):\n    return text[::-1]"
    decode = asks("def f(text):\n    return text[::-1]", helpers=helpers)
    [turn] = settled(judge, decode, "assert f(encode('abc')) == 'abc'")
    assert (reasons(turn), turn.cases[0].calls) == ([""], ('["l","cba"]',))


def test_what_is_literal_and_what_runs_stand_in_one_turn(judge: Judge) -> None:
    [turn] = settled(
        judge, PROBLEM, "assert f([1]) == [1]\ndef test_a():\n    r = f([2])\n    assert r[0] == 2\n    assert r == 5"
    )
    assert [case.literal for case in turn.cases] == [True, False, False]
    assert reasons(turn)[0] == ""
    assert reasons(turn)[2] == "reference"
    assert turn.text == ""


def test_a_text_that_does_not_count_as_a_whole_is_one_that_was_not_read() -> None:
    whole = Case("module", "x", "", "runs", "", text="x")
    site = Case("test_a", "assert r", "", "runs", "test_a:0.0", text="x")
    turn = WrittenTurn(1, text="x").joined([(whole, Refusal("module", "x", "budget")), (site, None)])
    assert (turn.cases, [one.reason for one in turn.unread], turn.written) == ((site,), ["budget"], 2)
