"""Whole small runs of the embedded player: what they record, that they repeat, and that arms share what they should."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from selfplay.config import Config, configure
from selfplay.errors import SelfplayError
from selfplay.evaluation.evaluator import Evaluator
from selfplay.game.advantages import RunningMeans
from selfplay.game.episode import ROLES
from selfplay.game.phases import trained_stages
from selfplay.game.rewards import RewardRule
from selfplay.learning import loop, setup
from selfplay.learning.credit import credit
from selfplay.learning.policy import PolicyError
from selfplay.learning.ranks import Ranks
from selfplay.learning.samples import Sample, Span
from selfplay.learning.update import clipped_update
from selfplay.match.ledger import from_json, to_json
from selfplay.match.match import Match
from selfplay.match.score import score
from tests.memory import Memory

SMALL = {
    "stages": "5",
    "schedule": "full",
    "n_discriminator_steps": 1,
    "n_generator_steps": 1,
    "k": 0,
    "problems_per_step": 2,
    "num_generations": 2,
    "num_suites": 1,
    "num_targets": 1,
    "eval_problems": (1, 2),
    "processes": 1,
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
        for role in loop.learning_roles(made, step):
            bare = [without_advantages(match) for match in recorded]
            again = credit(bare, role, trained_stages(step, made.trained_stages), made, running, Ranks())
            running = again.running
            assert list(again.matches) == recorded


@pytest.mark.parametrize("kept", ["texts", "off"])
def test_what_the_ledger_keeps_changes_nothing_else(once: tuple[Memory, loop.Result], kept: str) -> None:
    memory, _ = run(ledger=kept)
    assert [computed(step) for step in memory.steps] == [computed(step) for step in once[0].steps]
    assert len(memory.episode_records) == (0 if kept == "off" else len(once[0].episode_records))
    assert all(turn["ids"] == [] for record in memory.episode_records for turn in record["turns"])
    assert any("cannot be scored again" in line for line in memory.said) == (kept == "off")


def computed(step: Any) -> dict[str, Any]:
    return {name: value for name, value in step.items() if not name.startswith("seconds")}


def without_advantages(match: Match) -> Match:
    chains = tuple(replace(chain, advantages=(None,) * len(chain.advantages)) for chain in match.chains)
    suites = tuple(replace(suite, advantages=(None,) * len(suite.advantages)) for suite in match.suites)
    return replace(match, chains=chains, suites=suites)


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


def test_a_golden_exam_stands_in_for_the_adversary_and_nothing_of_it_is_trained() -> None:
    memory, _ = run(adversary="golden")
    assert [step["role"] for step in memory.steps] == ["generator"]
    assert all(len(record["suites"]) == 1 for record in memory.episode_records)
    assert all(
        not turn["ids"]
        for record in memory.episode_records
        for turn in record["turns"]
        if turn["role"] == "discriminator"
    )
    assert memory.steps[0]["validity"] > 0.5


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


def test_ctrl_c_before_the_first_step_saves_nothing() -> None:
    class Hasty(Memory):
        def evaluation(self, record: Any) -> None:
            raise KeyboardInterrupt

    recorder = Hasty()
    with pytest.raises(KeyboardInterrupt):
        loop.train(config(), recorder)
    assert recorder.saved == 0


def test_an_error_after_the_first_update_saves_the_adapters_and_is_raised_on() -> None:
    class Failing(Memory):
        def step(self, metrics: Any) -> None:
            raise OSError("the disk went away")

    recorder = Failing()
    with pytest.raises(OSError, match="went away"):
        loop.train(config(), recorder)
    assert recorder.saved == 1


def test_what_keeps_the_adapters_from_being_saved_is_a_note_to_the_first_error() -> None:
    class Failing(Memory):
        def step(self, metrics: Any) -> None:
            raise OSError("the disk went away")

        def save(self, policy: Any) -> None:
            raise SelfplayError("no disk, no adapters")

    with pytest.raises(OSError, match="went away") as raised:
        loop.train(config(), Failing())
    assert raised.value.__notes__ == ["the adapters could not be saved: no disk, no adapters"]


def test_the_last_stage_and_the_end_are_one_evaluation(
    once: tuple[Memory, loop.Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[list[str]] = []
    measure = Evaluator.measure

    def counted(self: Evaluator, entrant: Any, opponent: Any) -> Any:
        played.append([problem.id for problem in self.problems])
        return measure(self, entrant, opponent)

    monkeypatch.setattr(Evaluator, "measure", counted)
    memory, _ = run()
    assert [len(own) for own in played] == [2, 2]
    assert [record["problems"] for record in memory.evaluations] == [2, 1, 2]
    figures = [name for name in memory.evaluations[1] if isinstance(memory.evaluations[1][name], dict)]
    for then, now in zip(once[0].evaluations, memory.evaluations, strict=True):
        assert {name: then[name] for name in figures} == {name: now[name] for name in figures}


def test_the_change_from_before_to_after_has_an_interval(once: tuple[Memory, loop.Result]) -> None:
    before, _, after = once[0].evaluations
    for name, change in after["change"].items():
        if change["value"] is not None:
            assert change["value"] == pytest.approx(after[name]["value"] - before[name]["value"], abs=2e-5)
            assert change["low"] <= change["value"] <= change["high"]


def test_a_result_shows_as_a_table(once: tuple[Memory, loop.Result]) -> None:
    shown = repr(once[1])
    assert shown.startswith("done in 2 steps; evaluations: before, stage-5, after")
    assert "\ngreedy  " in shown
    assert len(shown) < 2500


def test_each_thing_that_takes_time_is_said_with_its_count(once: tuple[Memory, loop.Result]) -> None:
    said = "\n".join(once[0].said)
    assert "starting the sandbox" in said
    assert "loading the embedded player" in said
    assert "problems: 1600 train" in said or "train, " in said
    assert "evaluating before: 2 problems" in said
    assert "evaluating stage-5 and after: 2 problems" in said


@pytest.mark.parametrize(
    "knobs",
    [
        {"schedule": "discriminator_only", "adversary": "frozen"},
        {"schedule": "discriminator_only", "adversary": "none"},
        {"n_discriminator_steps": 0, "n_generator_steps": 0, "k": 0},
        {"schedule": "full", "adversary": "frozen", "n_generator_steps": 0, "k": 0},
        {"schedule": "single_stage", "n_discriminator_steps": 0, "n_generator_steps": 0, "k": 0},
        {"schedule": "alternating", "adversary": "none", "n_discriminator_steps": 1, "n_generator_steps": 0, "k": 0},
    ],
)
def test_a_run_without_a_step_is_refused(knobs: dict[str, Any]) -> None:
    with pytest.raises(SelfplayError, match="nothing to train: schedule"):
        loop.train(config(**knobs), Memory())


def test_three_updates_in_a_row_without_a_finite_gradient_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(policy: Any, role: Any, samples: Any, *rest: Any) -> Any:
        too_much = Sample((5, 6, 7, 8), (Span(1, 4, 3e38),))
        return clipped_update(policy, role, [too_much], *rest)

    monkeypatch.setattr(loop, "clipped_update", broken)
    memory = Memory()
    with pytest.raises(PolicyError, match="3 updates of the generator in a row"):
        loop.train(config(k=4), memory)
    assert memory.saved == 1
    assert [step["skipped"] for step in memory.steps] == [1] * 4  # two of each role, then the generator's third
    assert sum("is skipped" in line for line in memory.said) == 5


def test_a_run_that_pays_nothing_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    poor = RewardRule("novel_kills", lambda program: 0.0, lambda suite: (0.0,) * len(suite.turns), True, "")
    monkeypatch.setattr(loop.setup, "reward_rule", lambda config: poor)
    memory, _ = run()
    assert any(line.startswith("every reward so far is 0") for line in memory.said)
