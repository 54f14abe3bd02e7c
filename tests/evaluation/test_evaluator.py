"""Figures follow from what was measured, and the opponent stays what it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from selfplay.box.local import LocalBox
from selfplay.evaluation.evaluator import Evaluator
from selfplay.evaluation.figures import Measured, figures, measured_of
from selfplay.game.episode import TurnKey
from selfplay.game.players import Sampling
from selfplay.game.prompts import Prompts
from selfplay.game.rewards import get_rule
from selfplay.judging.judge import Judge
from selfplay.match.entrant import Entrant
from selfplay.match.ledger import from_json, to_json
from selfplay.match.score import score
from selfplay.mutation.cache import MutantCache
from tests.match.groups import BIG
from tests.scripted import ScriptedPlayer

RIGHT, MISCONCEIVED = "def f(n):\n    return n >= 3", "def f(n):\n    return n > 3"


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Evaluator]:
    box = LocalBox()
    yield Evaluator(Judge(box), MutantCache(), [BIG])
    box.close()


def player(code: str, tests: str) -> Entrant:
    def said(key: TurnKey) -> str:
        if key.role == "discriminator":
            return tests if key.stage == 5 else ""
        return code if key.stage == 5 else "thinking"

    return Entrant("scripted", ScriptedPlayer(said), Prompts("compact"), Sampling(max_tokens=1000), (1, 5))


def measured(evaluator: Evaluator, code: str, tests: str) -> Measured:
    opponent = evaluator.opponent(player(MISCONCEIVED, ""))
    return measured_of(evaluator.measure(player(code, tests), opponent)[0])


def test_code_is_right_when_it_passes_the_hidden_cases_too(evaluator: Evaluator) -> None:
    assert measured(evaluator, RIGHT, "").correct == (True,) * 4
    assert measured(evaluator, MISCONCEIVED, "").correct == (False,) * 4


def test_the_fixed_wrong_program_is_killed_by_the_boundary_alone(evaluator: Evaluator) -> None:
    boundary = measured(evaluator, RIGHT, "assert f(3) == True")
    happy = measured(evaluator, RIGHT, "assert f(9) == True")
    assert (boundary.kills or {})["recorded"] == (1, 1)
    assert (happy.kills or {})["recorded"] == (0, 1)


def test_kills_do_not_depend_on_how_good_the_generator_has_become(evaluator: Evaluator) -> None:
    suites = "assert f(3) == True"
    assert measured(evaluator, RIGHT, suites).kills == measured(evaluator, MISCONCEIVED, suites).kills


def test_validity_counts_what_could_not_be_read(evaluator: Evaluator) -> None:
    told = measured(evaluator, RIGHT, "assert f(3) == True\nassert f(3) == False\nassert f(((")
    assert (told.valid, told.written) == (1, 3)


def test_an_evaluations_match_has_no_holes(evaluator: Evaluator) -> None:
    """Every program and every target has its verdicts, that of the opponent's chain included, so any rule can pay it."""
    opponent = evaluator.opponent(player(MISCONCEIVED, ""))
    [match] = evaluator.measure(player(RIGHT, "assert f(3) == True"), opponent)
    counting = (*match.baseline, *match.admitted)
    assert [chain.greedy for chain in match.chains] == [False] * 4 + [True]
    assert [match.verdicts_on(row, counting) for row in match.programs] == [("passed",) * 3] * 5
    assert match.verdicts_on(match.outside_verdicts, counting) == ("passed", "passed", "failed")
    [scored] = score([match], get_rule("shifted"))
    assert [chain.reward for chain in scored.chains] == [0.5] * 5
    assert (
        scored.suites[0].rewards == (pytest.approx(0.4 + 0.6),) * 2
    )  # its one test is valid and fails the program read


def test_an_evaluations_match_survives_its_record_and_holds_no_hidden_case(evaluator: Evaluator) -> None:
    evaluator = replace(evaluator, problems=[replace(BIG, hidden_tests=("assert f(123456) == True",))])
    opponent = evaluator.opponent(player(MISCONCEIVED, ""))
    [match] = evaluator.measure(player(RIGHT, "assert f(3) == True"), opponent)
    line = json.dumps(to_json(match))
    assert from_json(json.loads(line)) == match
    assert "123456" not in line


def test_figures_are_shares_over_problems() -> None:
    one = Measured(
        "a",
        (True, False, False, False),
        True,
        4,
        2,
        2,
        ((1,), (2,), (2,)),
        {"recorded": (1, 2), "paid": (0, 0), "kept": (1, 1)},
    )
    two = Measured("b", (False,) * 4, False, 4, 0, 1, ((3,),), {"recorded": (0, 2), "paid": (0, 0), "kept": (0, 1)})
    told = {name: estimate.value for name, estimate in figures([one, two]).estimates().items()}
    assert told["code_correct"] == 0.125
    assert told["code_greedy"] == 0.5
    assert told["pass_at_4"] == 0.5
    assert told["test_validity"] == 0.25
    assert told["fixed_kills"] == 0.25
    assert told["distinct"] == 0.375
    assert told["distinct_all"] == 0.75
    assert told["mutation_score"] != told["mutation_score"]  # nothing was there to kill


def test_tests_of_two_problems_with_equal_inputs_and_other_results_differ(evaluator: Evaluator) -> None:
    small = replace(
        BIG,
        id="small",
        baseline_tests=("assert f(7) == False",),
        hidden_tests=(),
        reference_solution="def f(n):\n    return n < 3",
    )
    other = Evaluator(evaluator.judge, MutantCache(), [small])
    big = measured(evaluator, RIGHT, "assert f(3) == True")
    both = [big, measured(other, RIGHT, "assert f(3) == False")]
    assert [one.valid for one in both] == [1, 1]
    assert figures(both).estimates()["distinct_all"].value == 1
    assert figures([big, big]).estimates()["distinct_all"].value == 0.5


def test_without_problems_every_figure_is_there_and_says_nothing() -> None:
    names = set(figures([Measured("a")]).estimates())
    assert dict.fromkeys(names) == {name: one.as_json()["value"] for name, one in figures([]).estimates().items()}
