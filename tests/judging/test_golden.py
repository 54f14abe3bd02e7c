"""The golden exam is right, reaches the edges, and stands where a suite stands."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from selfplay.box.local import LocalBox
from selfplay.game.phases import Step
from selfplay.game.players import Sampling
from selfplay.game.problems import Problem, load_problems
from selfplay.game.prompts import Prompts
from selfplay.game.rewards import get_rule
from selfplay.game.rollout import Table, play
from selfplay.judging.golden import CASES, GoldenExams
from selfplay.judging.judge import Judge
from selfplay.match.examine import examine
from selfplay.match.ledger import from_json, to_json
from selfplay.match.score import score
from tests.scripted import ScriptedPlayer

HEAD = Problem(
    "head",
    "The first two, doubled.",
    "f",
    "def f(xs: list[int]) -> list[int]:",
    ("assert f([1, 2, 3]) == [2, 4]",),
    "def f(xs):\n    return [2 * x for x in xs[:2]]",
)
WRONG = "def f(xs):\n    return [2 * xs[0], 2 * xs[1]]"  # fails on fewer than two


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    box = LocalBox()
    yield Judge(box)
    box.close()


def test_there_are_twenty_right_cases_with_edges_and_none_of_the_problem_s_own(judge: Judge) -> None:
    [text] = GoldenExams().texts([HEAD], judge)
    lines = text.splitlines()
    assert len(lines) == len(set(lines)) == CASES
    assert "assert f([]) == []" in lines
    assert HEAD.baseline_tests[0] not in lines


def test_the_exam_counts_and_fails_what_happy_paths_let_pass(judge: Judge) -> None:
    long = Sampling(max_tokens=2000)
    step = Step(3, 1, "generator", "stage 1 generator")
    player = ScriptedPlayer(lambda key: WRONG if key.stage == 5 else "thought")
    played = play(player, Prompts("compact"), [HEAD], step, Table(2, 0, 0, long, long))
    [match] = examine(GoldenExams().dealt(played, judge), step, judge, 2)
    assert len(match.admitted) > CASES / 2
    assert {turn.stage for suite in match.suites for turn in suite.turns} == {5}
    assert "error" in match.verdicts_on(match.programs[0], match.admitted)
    assert match.verdicts_on(match.programs[0], match.baseline) == ("passed",)


@pytest.mark.parametrize("played", [(1, 2, 3, 4, 5), (1, 2)])
def test_the_ledger_of_a_match_with_an_exam_is_read_back(judge: Judge, played: tuple[int, ...]) -> None:
    long = Sampling(max_tokens=2000)
    step = Step(0, 1, "generator", "stage 1 generator", played=played)
    groups = play(ScriptedPlayer(lambda key: WRONG), Prompts("compact"), [HEAD], step, Table(2, 0, 0, long, long))
    [match] = score(examine(GoldenExams().dealt(groups, judge), step, judge, 2), get_rule("novel_kills"))
    assert len(match.suites) == 1
    assert from_json(to_json(match)) == match


def test_without_a_reference_a_problem_keeps_its_own_tests(judge: Judge) -> None:
    [program, *_] = load_problems("stdio")
    assert GoldenExams().texts([program], judge) == [""]


def test_every_kind_of_training_problem_gets_an_exam(judge: Judge) -> None:
    texts = GoldenExams().texts(load_problems("procedural/train")[::40], judge)
    assert all(len(text.splitlines()) >= CASES / 2 for text in texts)
