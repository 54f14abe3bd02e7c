"""The bank of a run stays small, says where its tests are from, and goes to a file and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from selfplay.cases.case import Case, Verdict
from selfplay.cases.values import encode
from selfplay.game.episode import Conversation
from selfplay.game.extract import Code
from selfplay.game.phases import Step
from selfplay.game.problems import Problem
from selfplay.judging.turns import WrittenTurn
from selfplay.match.livebank import PROGRAMS, TESTS, Bank, banked, suite_from_json
from selfplay.match.match import Chain, Match, Suite
from selfplay.match.testbank import collect

PROBLEM = Problem("p", "Say it.", "f", "def f(n: int) -> int:", (), "def f(n):\n    return n")
FAILED: tuple[Verdict, ...] = ("passed", "failed", "error", "timeout")


def case(number: int) -> Case:
    """A literal case, or from 20 to 29 one that is run."""
    calls = (encode([number]),)
    if 20 <= number < 30:
        text = f"x = f({number})\nassert x == {number}"
        return Case("module", "assert x", "", "runs", "module:0.0", calls=calls, text=text, mark="111111111")
    return Case(f"t{number}", "", encode([number]), "==", encode(number), calls=calls, mark="111111111")


def group(step: int, numbers: Sequence[int], programs: Sequence[tuple[str, Sequence[Verdict]]]) -> Match:
    """A suite's cases of these numbers at stage 3, and each program's verdicts on them."""
    cases = tuple(map(case, numbers))
    turn = WrittenTurn(3, cases, (None,) * len(cases))
    return Match(
        PROBLEM,
        Step(step, 1, "both", ""),
        2,
        tuple(Chain(Conversation("generator"), Code(source, "bare")) for source, _ in programs),
        (Suite(Conversation("discriminator"), 0, (turn,)),),
        cases,
        0,
        tuple(tuple(row) for _, row in programs),
    )


def wide(step: int, first: int, count: int) -> Match:
    """As many new cases as new programs, of which each case kills one."""
    numbers = range(first, first + count)
    rows: list[tuple[str, list[Verdict]]] = [
        (f"wrong {number}", ["failed" if other == number else "passed" for other in numbers]) for number in numbers
    ]
    return group(step, numbers, rows)


def folded(matches: Sequence[Match]) -> Bank:
    bank: Bank = {}
    for match in matches:
        bank = {**bank, **banked(bank, [match], "runs/a")}
    return bank


groups = st.builds(
    lambda step, numbers, rows: group(step, numbers, [(f"def f{i}", row[: len(numbers)]) for i, row in rows]),
    st.integers(0, 9),
    st.lists(st.integers(0, 30), max_size=8, unique=True),
    st.lists(st.tuples(st.integers(0, 50), st.tuples(*[st.sampled_from(FAILED)] * 8)), max_size=5),
)


def test_a_test_says_who_wrote_it_when_and_what_it_kills() -> None:
    bank = folded(
        [group(4, [1, 2], [("a", ["failed", "passed"])]), group(9, [1], [("b", ["error"]), ("a", ["failed"])])]
    )
    [test] = bank["p"].tests
    assert (test.test, test.run, test.step, test.stage) == ("assert f(1) == 1", "runs/a", 4, 3)
    assert [bank["p"].programs[number] for number in test.kills] == ["a", "b"]
    assert test.case == case(1)


def test_a_test_that_is_run_goes_to_json_and_back_as_it_was() -> None:
    bank = folded([group(4, [20, 1], [("a", ["failed", "error"])])])
    told = {name: json.loads(json.dumps(suite.as_json())) for name, suite in bank.items()}
    back = {name: suite_from_json(suite) for name, suite in told.items()}
    assert [test.case for test in back["p"].tests] == [case(20), case(1)]
    assert back["p"].tests == bank["p"].tests
    assert [test.text for test in back["p"].tests] == [case(20).text, ""]


def test_what_killed_nothing_or_killed_by_time_alone_is_not_banked() -> None:
    assert folded([group(0, [1, 2], [("a", ["passed", "timeout"])])]) == {}


def test_without_a_reference_nothing_is_banked() -> None:
    match = group(0, [1], [("a", ["failed"])])
    assert banked({}, [replace(match, problem=replace(PROBLEM, reference_solution=None))], "runs/a") == {}


def test_a_full_bank_keeps_what_is_needed_and_then_the_newest() -> None:
    strong = group(0, [1000, 1001], [("a", ["failed", "passed"]), ("b", ["failed", "failed"])])
    same = [group(step, [step], [("a", ["failed"])]) for step in range(1, TESTS + 5)]
    bank = folded([strong, *same])
    assert [test.step for test in bank["p"].tests] == [0, *range(6, TESTS + 5)]


@given(st.lists(groups, max_size=6))
def test_a_bank_goes_to_json_and_back(matches: list[Match]) -> None:
    for suite in folded(matches).values():
        told = json.loads(json.dumps(suite.as_json()))
        assert suite_from_json(told).as_json() == suite.as_json()


@given(st.lists(groups, max_size=6))
def test_below_its_bounds_a_bank_is_what_the_ledger_says(matches: list[Match]) -> None:
    kept = [
        (suite.tests, {suite.programs[n] for one in suite.tests for n in one.kills})
        for suite in folded(matches).values()
    ]
    for (tests, programs), whole in zip(kept, collect(matches, "runs/a"), strict=True):
        assert programs <= set(whole.programs)
        if len(whole.tests) <= TESTS:
            assert [(one.test, one.step) for one in tests] == [(one.test, one.step) for one in whole.tests]


def test_however_much_is_found_a_bank_stays_within_its_bounds() -> None:
    bank = folded([wide(step, 15 * step, 15) for step in range(10)])
    assert len(bank["p"].tests) == TESTS
    assert len(bank["p"].programs) <= PROGRAMS
    assert all(number < len(bank["p"].programs) for test in bank["p"].tests for number in test.kills)
