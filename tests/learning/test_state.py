from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import torch

from selfplay.cases.case import Case
from selfplay.config import Config, configure
from selfplay.errors import SelfplayError
from selfplay.evaluation.evaluator import Opponent
from selfplay.evaluation.figures import Measured
from selfplay.game.advantages import RunningMeans
from selfplay.game.episode import ROLES, Conversation, Turn, TurnKey
from selfplay.game.extract import Code
from selfplay.game.problems import Problem
from selfplay.learning.plan import planned_steps
from selfplay.learning.state import State, prototype_score
from selfplay.learning.update import UpdateStats, update_relief
from selfplay.match.livebank import Bank
from selfplay.match.match import Chain
from selfplay.match.testbank import BankedSuite, BankedTest
from tests.learning.bigram import bigram_policy

CONFIG = configure({"stages": "4,5", "n_discriminator_steps": 1, "n_generator_steps": 1, "k": 0, "processes": 1})


def fresh(config: Config = CONFIG) -> State:
    return State(bigram_policy(), config, planned_steps(config), update_relief(config.micro_batch_tokens))


def opponent() -> Opponent:
    turn = Turn(TurnKey(-2, "p", "generator", 0, 5), (1, 2), (3, 4), (-0.1, -1 / 3), "def f(): …\ud800", True)
    return Opponent(
        {"p": Chain(Conversation("generator", (turn,)), Code("def f(): pass", "fenced"))}, {"p": ("wrong",)}
    )


def bank() -> Bank:
    """Two suites as a run may find them, one for a program that reads standard input."""
    case = Case("t", "assert f('\ud800') == 1", "x", "approx", "1", (0.1, 0.0), ("y",), mark="111111110")
    text = "x = f('\ud800')\nassert x == 1"
    run = Case("module", "assert x == 1", "", "runs", "module:0.0", calls=("y",), text=text, mark="111111111")
    function = Problem("p", "Say it.", "f", "def f(s: str) -> int:", ())
    program = Problem("q", "Say it.", "", "", (), kind="stdio")
    tests = (
        (BankedTest(case.source, 3, (0,), "runs/a", case, 4), BankedTest("", 3, (0,), "r", run, 5, text, run.name)),
        (BankedTest({"input": "a", "output": "b"}, 1, (), "r", case, 0),),
    )
    return {
        problem.id: BankedSuite(problem, own, ("wrong\ud800",), 7, {})
        for problem, own in zip((function, program), tests, strict=True)
    }


def lived() -> State:
    """A state that has something in every field."""
    state = fresh()
    state.opponent = opponent()
    measured = Measured(
        "p", (True, False), True, 3, 2, 1, ((("a",), "==", ("x", 0.1)),), {"recorded": (1, 2), "paid": (0, 3)}
    )
    state.evaluated({"before": {"code_greedy": {"value": 0.25}}}, (measured,))
    state.drift.measure(state.policy.trainer, 4, [], 1.0, state.relief)
    skipped = UpdateStats(tokens=9, skipped=1)
    for _ in range(2):
        move(state)
        running = RunningMeans(MappingProxyType({("generator", 4): 1 / 3, ("discriminator", 5): -0.1}))
        state.step_done(running, {"generator": skipped}, [bank()], {"reward/generator": 0.5, "validity": 0.5})
    state.relief.size = 512
    return state


def move(state: State) -> None:
    gradient_D = torch.linspace(-1, 1, 257 * 257, dtype=torch.float64)
    state.policy.step("generator", gradient_D[: state.policy.trainer.take_gradient("generator").numel()], 1.0)


def told(state: State, folder: Path) -> dict[str, Any]:
    folder.mkdir()
    state.save(folder)
    return json.loads((folder / "state.json").read_text())


def test_a_state_is_read_back_as_it_was(tmp_path: Path) -> None:
    one, other = lived(), fresh()
    before = told(one, tmp_path / "one")
    other.load(tmp_path / "one")
    assert told(other, tmp_path / "other") == before
    for role in ROLES:
        assert other.policy.trainer.digest(role) == one.policy.trainer.digest(role)
        then = {name: tensor.tolist() for name, tensor in one.drift.then[role].items()}
        assert {name: tensor.tolist() for name, tensor in other.drift.then[role].items()} == then
    assert (other.opponent, other.running, other.measured) == (one.opponent, one.running, one.measured)
    assert other.bank == one.bank == bank()
    assert other.whole
    assert other.begun


@pytest.mark.parametrize(
    ("done", "made", "due"),
    [
        (0, (), ["before"]),
        (0, ("before",), []),
        (1, ("before",), []),
        (2, ("before",), ["stage-4"]),
        (2, ("before", "stage-4"), []),
        (4, ("before", "stage-4"), ["stage-5", "after"]),
        (4, ("before", "stage-4", "stage-5", "after"), []),
    ],
)
def test_the_state_knows_which_evaluations_are_due(done: int, made: tuple[str, ...], due: list[str]) -> None:
    state = fresh()
    state.done, state.evaluations = done, {when: {} for when in made}
    assert state.due == due
    assert state.finished == (done == 4 and not due)


def test_between_two_updates_the_weights_are_those_of_no_step() -> None:
    state = fresh()
    assert state.whole
    move(state)
    assert not state.whole
    state.step_done(state.running, {}, [], {})
    assert state.whole


def test_records_that_are_ahead_of_the_state_are_those_of_no_step() -> None:
    state = fresh()
    state.ahead()
    assert not state.whole
    state.evaluated({"before": {"code_greedy": {"value": None}}}, ())
    assert state.whole


def test_the_score_of_the_last_weights_is_of_the_problems_that_every_stage_reads() -> None:
    state = fresh()
    state.evaluated({"stage-5": {"code_greedy": {"value": 0.5}}, "after": {"code_greedy": {"value": 0.4}}}, ())
    assert state.scores["code_greedy"] == 0.5


def test_a_step_scores_by_the_prototypes_formula_until_it_is_evaluated() -> None:
    state = lived()
    assert state.about({}).scores == {"prototype": pytest.approx(0.7 * 0.5 + 0.3 * 0.5)}
    assert state.about({}).metrics == {"generator_reward": 0.5, "discriminator_reward": None, "test_validity": 0.5}
    state.evaluated({"stage-4": {"code_greedy": {"value": 0.4}}}, ())
    assert state.about({}).scores["code_greedy"] == 0.4
    assert state.about({}).evaluated


def test_without_a_reward_or_a_validity_there_is_no_prototypes_score() -> None:
    assert prototype_score({"reward/generator": 0.5}) is None
    assert prototype_score({"reward/generator": 1.0, "validity": 0.0}) == 0.7


def test_a_state_of_another_configuration_is_refused(tmp_path: Path) -> None:
    told(lived(), tmp_path / "one")
    with pytest.raises(
        SelfplayError, match=r"was made with learning_rate \[0\.0025, 0\.004\], config\.yaml says \[0\.001\]"
    ):
        fresh(replace(CONFIG, learning_rate=1e-3)).load(tmp_path / "one")


def test_what_decides_nothing_may_have_changed(tmp_path: Path) -> None:
    told(lived(), tmp_path / "one")
    fresh(replace(CONFIG, processes=2, output_dir="elsewhere")).load(tmp_path / "one")
