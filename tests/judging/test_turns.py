"""A discriminator's conversation as cases: what is counted, what is capped, and what a problem's helpers are for."""

from __future__ import annotations

from selfplay.cases.case import Refusal
from selfplay.game.problems import Problem, StdinTest
from selfplay.judging.turns import MAX_CASES, MAX_SUITE_BYTES, read_suite, screened_of, settled

PROBLEM = Problem("p", "The same list.", "f", "def f(xs):", (), "def f(xs): return xs")
SUM = Problem("sum", "", "", "", (StdinTest("1", "1"),), kind="stdio")


def test_written_counts_what_was_read_refused_and_lost() -> None:
    [turn] = read_suite(PROBLEM, [(1, "It looks fine.\n\nassert f([1]) == [1]\nassert f([1]) == [1]\nassert f(((")])
    assert (turn.written, turn.valid) == (3, (True, False))
    assert turn.refused[-1].reason == "duplicate"
    assert turn.critique == "It looks fine."


def test_a_case_of_an_earlier_turn_is_a_duplicate_whatever_its_keywords() -> None:
    suite = read_suite(PROBLEM, [(1, "assert f([1]) == [1]"), (2, "assert f(xs=[1]) == [1]\nassert f([2]) == [2]")])
    assert [turn.valid for turn in suite] == [(True,), (False, True)]


def test_a_turn_s_cases_are_capped_when_they_are_read() -> None:
    many = "\n".join(f"assert f([{n}]) == [{n}]" for n in range(5 * MAX_CASES))
    [turn] = read_suite(PROBLEM, [(1, many)])
    assert len(turn.cases) == MAX_CASES
    assert [refusal.reason for refusal in turn.unread] == ["too_many"]
    pairs = "\n".join(f"### Input\n```\n{n}\n```\n### Output\n```\n{n}\n```" for n in range(5 * MAX_CASES))
    [turn] = read_suite(SUM, [(1, pairs)])
    assert len(turn.cases) == MAX_CASES
    assert turn.written == 5 * MAX_CASES


def test_a_loop_of_cases_is_capped_too() -> None:
    [turn] = read_suite(PROBLEM, [(1, "for n in range(25_000):\n    assert f([n]) == [n]")])
    assert len(turn.cases) <= MAX_CASES


def test_bytes_of_arguments_are_capped_over_a_suite() -> None:
    large = "assert f('a' * 1_000_000 + '{}') == 1"
    turns = [(stage, "\n".join(large.format(f"{stage}{n}") for n in range(5))) for stage in range(1, 6)]
    suite = read_suite(PROBLEM, turns)
    assert sum(len(case.arguments) for turn in suite for case in turn.cases) <= MAX_SUITE_BYTES
    assert "budget" in {refusal.reason for turn in suite for refusal in turn.refused}
    assert suite[0].cases


def test_a_small_case_after_large_ones_of_its_turn_is_refused_as_they_are() -> None:
    """What counts does not depend on how the large ones were refused: the turn's room is spent in order."""
    text = "\n".join(f"assert f('a' * 1_500_000 + '{n}') == 1" for n in range(4)) + "\nassert f([1]) == [1]"
    [turn] = read_suite(PROBLEM, [(1, text)])
    assert len(turn.cases) == 2
    assert turn.written == 5


def test_helpers_that_the_problem_brings_are_called_on_known_values() -> None:
    helpers = "def encode(text):\n    return text[::-1]"
    decode = Problem("d", "Undo.", "decode", "def decode(text):", (), helpers=helpers)
    [turn] = read_suite(decode, [(1, "assert decode(encode('abc')) == 'abc'")])
    assert [case.arguments for case in turn.cases] == ['["l","cba"]']


def test_admission_s_word_lands_on_the_cases_that_were_asked_about() -> None:
    suite = read_suite(PROBLEM, [(1, "assert f([1]) == [1]\nassert f([1]) == [1]"), (2, "assert f([2]) == [3]")])
    word = Refusal("assert", "assert f([2]) == [3]", "reference")
    after = settled(suite, [None, word])
    assert [[refusal and refusal.reason for refusal in turn.refusals] for turn in after] == [
        [None, "duplicate"],
        ["reference"],
    ]
    assert screened_of(after) == (suite[0].cases[0],)
