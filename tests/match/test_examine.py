"""The exam: what groups said becomes programs, cases and verdicts, and the reference settles what counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from selfplay.box.local import LocalBox
from selfplay.game.episode import TurnKey
from selfplay.game.phases import Step
from selfplay.game.players import Sampling
from selfplay.game.problems import Problem
from selfplay.game.prompts import Prompts
from selfplay.game.rollout import Table, play
from selfplay.judging.judge import Judge
from selfplay.judging.turns import MAX_CASES
from selfplay.match.examine import examine
from selfplay.match.match import Match
from selfplay.mutation.cache import MutantCache
from tests.match.groups import BIG
from tests.scripted import ScriptedPlayer

PROBLEM = replace(BIG, hidden_tests=())
RIGHT, MISCONCEIVED = "def f(n):\n    return n >= 3", "def f(n):\n    return n > 3"
LONG = Sampling(max_tokens=4000)
STEP = Step(0, 1, "generator", "")


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    box = LocalBox()
    yield Judge(box)
    box.close()


def examined(
    judge: Judge,
    tests: dict[int, str],
    programs: tuple[str, ...] = (RIGHT, MISCONCEIVED),
    mutants: bool = False,
) -> Match:
    """A generator step in which the branches write `programs` and every suite writes `tests` (by stage)."""

    def said(key: TurnKey) -> str:
        if key.role == "discriminator":
            return tests.get(key.stage, "")
        return programs[key.branch] if key.stage == 5 else "thinking"

    table = Table(len(programs), 1, 0, LONG, LONG)
    groups = play(ScriptedPlayer(said), Prompts("compact"), [PROBLEM], STEP, table)
    return examine(groups, STEP, judge, 2, MutantCache() if mutants else None)[0]


def test_a_misconception_is_killed_by_the_case_on_the_boundary_and_by_no_other(judge: Judge) -> None:
    exam = examined(judge, {1: "assert f(9) == True", 2: "assert f(3) == True"})
    assert exam.verdicts_on(exam.programs[0], exam.admitted) == ("passed", "passed")
    assert exam.verdicts_on(exam.programs[1], exam.admitted) == ("passed", "failed")
    assert exam.verdicts_on(exam.programs[1], exam.baseline) == ("passed", "passed")


def test_a_test_that_is_run_stands_in_the_matrix_like_any_other(judge: Judge) -> None:
    exam = examined(judge, {1: "ns = [2, 3]\nassert [f(n) for n in ns] == [False, True]\nassert f(9) == True"})
    assert [case.literal for case in exam.admitted] == [True, False]
    assert exam.verdicts_on(exam.programs[0], exam.admitted) == ("passed", "passed")
    assert exam.verdicts_on(exam.programs[1], exam.admitted) == ("passed", "failed")


def test_a_run_test_that_the_reference_fails_is_another_than_the_right_one(judge: Judge) -> None:
    exam = examined(judge, {1: "x = f(4)\nassert x == True", 2: "x = f(4)\nassert x == False"})
    assert [turn.valid for turn in exam.suites[0].turns[:2]] == [(True,), (False,)]
    assert exam.verdicts_on(exam.programs[0], exam.well_formed) == ("passed", "failed")


def test_what_is_said_twice_is_one_case_of_the_match(judge: Judge) -> None:
    exam = examined(judge, {1: "assert f(4) == True", 2: "x = f(4)\nassert x == True", 3: "assert f(n=4) == True"})
    first, run, spelled = exam.well_formed[0], *(exam.suites[0].turns[place].cases[0] for place in (1, 2))
    assert len(exam.cases) == exam.num_baseline + 1
    assert replace(run, name=first.name, source=first.source) == first
    assert replace(spelled, name=first.name, source=first.source) == first


def test_a_case_that_the_reference_fails_is_written_but_not_admitted(judge: Judge) -> None:
    exam = examined(judge, {1: "assert f(3) == False\nassert f(4) == True"})
    turn = exam.suites[0].turns[0]
    assert (turn.written, turn.valid) == (2, (False, True))
    assert [refusal.reason for refusal in turn.refused] == ["reference"]


def test_a_case_repeated_in_its_suite_is_a_duplicate(judge: Judge) -> None:
    exam = examined(judge, {1: "assert f(4) == True", 5: "assert f(4) == True"})
    assert [turn.valid for turn in exam.suites[0].turns] == [(True,), (), (), (), (False,)]
    assert exam.suites[0].turns[4].refused[0].reason == "duplicate"
    assert len(exam.suites[0].admitted) == 1


def test_what_cannot_be_read_counts_as_written(judge: Judge) -> None:
    exam = examined(judge, {1: "assert f(4) == True\nassert f((("})
    turn = exam.suites[0].turns[0]
    assert (turn.written, len(turn.cases)) == (2, 1)


def test_an_empty_turn_writes_nothing_and_refuses_nothing(judge: Judge) -> None:
    turn = examined(judge, {})
    assert all(t.written == 0 and not t.refused for t in turn.suites[0].turns)


def test_a_turn_without_code_passes_nothing(judge: Judge) -> None:
    exam = examined(judge, {1: "assert f(4) == True"}, programs=("no idea", RIGHT))
    assert exam.chains[0].code.source is None
    assert exam.verdicts_on(exam.programs[0], (*exam.baseline, *exam.admitted)) == ("not_collected",) * 3


def test_mutants_are_targets_of_the_cases_that_tell_them_apart(judge: Judge) -> None:
    exam = examined(judge, {1: "assert f(3) == True"}, mutants=True)
    killed = ["failed" in target.verdicts for target in exam.targets]
    assert any(killed)
    assert not all(killed)
    assert examined(judge, {1: "assert f(3) == True"}).targets == ()


def test_a_refused_case_runs_after_those_that_count(judge: Judge) -> None:
    exam = examined(judge, {1: "assert f(9) == False\nassert f(5) == True"})
    refused = exam.cases[-1]
    assert refused.source == "assert f(9) == False"
    assert refused not in exam.admitted
    assert exam.verdicts_on(exam.programs[0], [refused]) == ("failed",)


def test_a_refused_case_cannot_spoil_what_a_right_program_remembers(judge: Judge) -> None:
    """A memo that a call out of the domain poisons: honest cases pass, as they do under plain pytest."""
    memo = "seen = {}\ndef f(n):\n    if type(n) is str: seen['bad'] = 1\n    return n >= 3 and not seen"
    exam = examined(judge, {1: "assert f('x') == True", 2: "assert f(8) == True"}, (memo, RIGHT))
    assert exam.verdicts_on(exam.programs[0], (*exam.baseline, *exam.admitted)) == ("passed",) * 3


def test_mutants_run_what_counts_and_nothing_else(judge: Judge) -> None:
    exam = examined(judge, {1: "assert f(9) == False\nassert f(5) == True"}, mutants=True)
    assert exam.targets
    for target in exam.targets:
        assert None not in exam.row_on(target.verdicts, (*exam.baseline, *exam.admitted))
        assert target.verdicts[-1] is None


def test_a_refused_tolerance_leaves_the_baseline_as_it_was(judge: Judge) -> None:
    problem = Problem(
        "half",
        "Half.",
        "f",
        "def f(n: int) -> float:",
        ("assert abs(f(4) - 2.0) < 1e-6",),
        "def f(n):\n    return n / 2",
    )
    written = "assert abs(f(4) - 2.0) < 1e300\nassert abs(f(4) - 2.0) <= 0.0"
    said = ScriptedPlayer(lambda key: written if key.role == "discriminator" else "def f(n):\n    return 0.0")
    groups = play(said, Prompts("compact"), [problem], Step(0, 1, "generator", ""), Table(1, 1, 0, LONG, LONG))
    [exam] = examine(groups, STEP, judge, 2)
    assert exam.verdicts_on(exam.programs[0], exam.baseline) == ("failed",)


def test_cases_beyond_a_turn_s_limit_are_refused_with_a_count(judge: Judge) -> None:
    exam = examined(judge, {1: "\n".join(f"assert f({n}) == {n >= 3}" for n in range(200))})
    turn = exam.suites[0].turns[0]
    assert len(turn.cases) == MAX_CASES
    assert "too_many" in [refusal.reason for refusal in turn.refused]


def test_two_cases_of_one_statement_keep_their_own_reasons(judge: Judge) -> None:
    rows = "[(4, True), (4, True), (5, False)]"
    text = f"import pytest\n@pytest.mark.parametrize('n,e', {rows})\ndef test_f(n, e):\n    assert f(n) == e"
    turn = examined(judge, {1: text}).suites[0].turns[0]
    assert [refusal and refusal.reason for refusal in turn.refusals] == [None, "duplicate", "reference"]


def test_the_walk_through_is_judged_as_its_table_says(judge: Judge, walk_through) -> None:
    table = Table(1, 1, 0, LONG, LONG)
    player = ScriptedPlayer(walk_through.script)
    groups = play(player, Prompts("instruct"), [walk_through.problem], Step(0, 1, "both", ""), table)
    (exam,) = examine(groups, STEP, judge, 2)
    assert {turn.stage: turn.valid for turn in exam.suites[0].turns} == dict(walk_through.reference_passes)
    assert set(exam.verdicts_on(exam.programs[0], exam.admitted)) == {"passed"}
    assert exam.suites[0].turns[0].critique.startswith("It says nothing")
