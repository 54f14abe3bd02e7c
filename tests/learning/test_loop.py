"""Whole small runs of the embedded player: what they record, that they repeat, and that arms share what they should."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from selfplay.config import Config, configure
from selfplay.game.advantages import RunningMeans
from selfplay.game.episode import ROLES
from selfplay.game.phases import trained_stages
from selfplay.learning import loop, setup
from selfplay.learning.credit import CreditSettings, credit
from selfplay.learning.ranks import Ranks
from selfplay.match.ledger import from_json, to_json
from selfplay.match.record import Match
from selfplay.match.score import score
from selfplay.run.recorders import Memory

SMALL = {
    "stages": "5",
    "n_discriminator_steps": 1,
    "n_generator_steps": 1,
    "k": 0,
    "problems_per_step": 2,
    "num_generations": 2,
    "num_suites": 1,
    "num_targets": 1,
    "eval_problems": 1,
    "final_eval_problems": 2,
    "processes": 1,
    "sample_every": 1,
}


def config(**knobs: Any) -> Config:
    return configure(SMALL | knobs)


def run(**knobs: Any) -> tuple[Memory, loop.Result]:
    memory = Memory()
    return memory, loop.train(config(**knobs), memory)


@pytest.fixture(scope="module")
def once() -> tuple[Memory, loop.Result]:
    return run()


def ledger(memory: Memory) -> str:
    return json.dumps(memory.episode_records)


def test_a_run_evaluates_before_after_each_stage_and_after(once: tuple[Memory, loop.Result]) -> None:
    memory, result = once
    assert [record["when"] for record in memory.evaluations] == ["before", "stage-5", "after"]
    assert list(result.evaluations) == ["before", "stage-5", "after"]


def test_an_evaluation_has_every_figure_with_its_interval(once: tuple[Memory, loop.Result]) -> None:
    record = once[0].evaluations[0]
    for figure in (
        *("code_correct", "code_greedy", "pass_at_4", "test_validity"),
        *("mutation_score", "mutation_score_kept", "fixed_kills", "distinct", "distinct_all"),
    ):
        assert set(record[figure]) == {"value", "low", "high"}
    assert (record["kind"], record["split"], record["schema"]) == ("evaluation", "dev", 1)


def test_every_step_is_recorded_with_what_its_line_shows(once: tuple[Memory, loop.Result]) -> None:
    memory, result = once
    assert result.steps == len(memory.steps) == 2
    for step in memory.steps:
        assert {"loss", "pass_rate", "pass_rate_baseline", "validity", "kills", "distinct", "logprob_gap"} <= set(step)
        assert step["seconds"] > 0
        assert step["logprob_gap"] < 1e-4


def test_every_match_is_in_the_ledger_with_ids_and_logprobs(once: tuple[Memory, loop.Result]) -> None:
    matches = [from_json(record) for record in once[0].episode_records]
    assert {match.step.role for match in matches} == {"generator", "discriminator"}
    for match in matches:
        for role in ROLES:
            for turn in (turn for conversation in match.conversations(role) for turn in conversation.turns):
                assert len(turn.ids) == len(turn.logprobs) > 0


def test_the_ledger_is_read_back_exactly(once: tuple[Memory, loop.Result]) -> None:
    for record in once[0].episode_records:
        line = json.dumps(record)
        assert json.dumps(to_json(from_json(json.loads(line)))) == line


def test_rewards_and_advantages_can_be_computed_again_from_the_ledger() -> None:
    """Two steps of each role under a rule that counts refused cases too, with advantages that remember earlier steps."""
    knobs = {"rewards": "progressive", "advantages": "running", "n_discriminator_steps": 2, "n_generator_steps": 2}
    memory, _ = run(**knobs)
    made = config(**knobs)
    running = RunningMeans()
    for step in loop.planned_steps(made):
        recorded = [match for match in map(from_json, memory.episode_records) if match.step.index == step.index]
        assert score(recorded, setup.reward_rule(made)) == recorded
        for role in loop.trained_roles(made, step):
            bare = [without_advantages(match) for match in recorded]
            again = credit(
                bare, role, trained_stages(step, made.trained_stages), CreditSettings("running"), running, Ranks()
            )
            running = again.running
            assert list(again.matches) == recorded


def without_advantages(match: Match) -> Match:
    chains = tuple(replace(chain, advantages=()) for chain in match.chains)
    return replace(match, chains=chains, suites=tuple(replace(suite, advantages=()) for suite in match.suites))


def test_the_adapters_are_saved_once_at_the_end(once: tuple[Memory, loop.Result]) -> None:
    assert once[0].saved == 1


def test_the_same_seed_writes_the_same_ledger(once: tuple[Memory, loop.Result]) -> None:
    assert ledger(run()[0]) == ledger(once[0])


def test_another_seed_writes_another(once: tuple[Memory, loop.Result]) -> None:
    assert ledger(run(seed=1)[0]) != ledger(once[0])


def test_arms_play_the_same_problems_in_the_generator_steps_they_share(once: tuple[Memory, loop.Result]) -> None:
    def played(memory: Memory) -> set[tuple[int, str]]:
        records = [record for record in memory.episode_records if record["step"]["role"] == "generator"]
        return {(record["step"]["index"], record["problem"]["id"]) for record in records}

    assert played(run(adversary="none")[0]) == played(once[0])


def test_without_an_adversary_no_suite_is_written_and_only_the_generator_learns() -> None:
    memory, _ = run(adversary="none")
    assert [step["role"] for step in memory.steps] == ["generator"]
    assert [record["when"] for record in memory.evaluations] == ["before", "stage-5", "after"]
    assert all(record["suites"] == [] for record in memory.episode_records)


def test_a_frozen_adversary_writes_suites_and_never_learns() -> None:
    memory, _ = run(adversary="frozen")
    assert [step["role"] for step in memory.steps] == ["generator"]
    assert all(record["suites"] for record in memory.episode_records)


def test_each_stage_ends_once_whatever_an_arm_skips() -> None:
    for adversary in ("trained", "frozen", "none"):
        steps = loop.planned_steps(configure({"adversary": adversary}))
        assert [step.stage for step in steps if step.ends_stage] == [1, 2, 3, 4, 5]


def test_the_learning_rate_falls_over_the_whole_schedule_whatever_an_arm_skips() -> None:
    last = loop.planned_steps(config(adversary="none"))[-1]
    assert loop.rate_factor(config(adversary="none"), last) == loop.rate_factor(config(), last) == 0.5
    assert loop.rate_factor(config(lr_scheduler_type="constant"), last) == 1.0


class Impatient(Memory):
    """Someone who presses Ctrl-C after the first step."""

    def step(self, metrics: Any) -> None:
        super().step(metrics)
        raise KeyboardInterrupt


def test_ctrl_c_saves_the_adapters_and_says_how_far_it_came() -> None:
    recorder = Impatient()
    result = loop.train(config(), recorder)
    assert result.interrupted
    assert recorder.saved == 1
    assert len(recorder.steps) == 1
