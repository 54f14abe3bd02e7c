"""What a configuration plans: who learns in which step, and at what rate."""

from __future__ import annotations

from itertools import pairwise

import pytest

from selfplay.config import configure
from selfplay.errors import SelfplayError
from selfplay.game.phases import SCHEDULES
from selfplay.learning.plan import learning_roles, planned_steps, rate_factor, whole_schedule

ARMS = [(schedule, adversary) for schedule in SCHEDULES for adversary in ("trained", "frozen", "none")]
TRAINING = [arm for arm in ARMS if arm[0] != "discriminator_only" or arm[1] == "trained"]


@pytest.mark.parametrize(("schedule", "adversary"), TRAINING)
def test_every_planned_step_trains_somebody(schedule: str, adversary: str) -> None:
    config = configure({"schedule": schedule, "adversary": adversary})
    for step in planned_steps(config):
        roles = learning_roles(config, step)
        assert roles
        assert set(roles) <= {"generator", "discriminator"}
        assert adversary == "trained" or roles == ["generator"]


@pytest.mark.parametrize(("schedule", "adversary"), TRAINING)
def test_each_stage_of_a_plan_ends_once_with_its_last_step(schedule: str, adversary: str) -> None:
    steps = planned_steps(configure({"schedule": schedule, "adversary": adversary}))
    ends = [step for step in steps if step.ends_stage]
    assert [step.stage for step in ends] == sorted({step.stage for step in steps})
    for end in ends:
        assert all(step.index <= end.index for step in steps if step.stage == end.stage)


@pytest.mark.parametrize(("schedule", "adversary"), TRAINING)
def test_a_plan_leaves_steps_out_and_renumbers_none(schedule: str, adversary: str) -> None:
    config = configure({"schedule": schedule, "adversary": adversary})
    whole = {step.index: (step.stage, step.role, step.phase) for step in whole_schedule(config)}
    kept = [step.index for step in planned_steps(config)]
    assert kept == sorted(set(kept))
    assert all(whole[step.index] == (step.stage, step.role, step.phase) for step in planned_steps(config))


@pytest.mark.parametrize("adversary", ["trained", "frozen", "none"])
def test_every_arm_trains_the_generator_in_the_same_steps(adversary: str) -> None:
    config = configure({"adversary": adversary, "schedule": "full", "n_discriminator_steps": 3, "n_generator_steps": 3})
    steps = [step.index for step in planned_steps(config) if "generator" in learning_roles(config, step)]
    assert len(steps) == 20
    assert steps == [step.index for step in whole_schedule(config) if step.role == "generator"]


@pytest.mark.parametrize("adversary", ["frozen", "none"])
def test_a_plan_that_trains_nobody_is_refused_with_what_to_change(adversary: str) -> None:
    with pytest.raises(SelfplayError, match=r"nothing to train.*give --adversary trained"):
        planned_steps(configure({"schedule": "discriminator_only", "adversary": adversary}))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_counts_that_leave_no_step_are_refused_with_what_to_raise(schedule: str) -> None:
    none = {"schedule": schedule, "n_discriminator_steps": 0, "n_generator_steps": 0, "k": 0}
    with pytest.raises(SelfplayError, match=r"nothing to train.*raise one of the three"):
        planned_steps(configure(none))


def test_the_rate_falls_in_even_steps_from_all_to_nearly_nothing() -> None:
    config = configure({"lr_scheduler_type": "linear"})
    left = [rate_factor(config, step) for step in planned_steps(config)]
    assert left[0] == 1
    assert left[-1] == pytest.approx(1 / len(left))
    assert [a - b for a, b in pairwise(left)] == pytest.approx([1 / len(left)] * (len(left) - 1))


def test_a_step_has_the_same_rate_in_every_arm() -> None:
    arms = [configure({"lr_scheduler_type": "linear", "adversary": a}) for a in ("trained", "frozen")]
    every = {step.index: rate_factor(arms[0], step) for step in planned_steps(arms[0])}
    assert all(rate_factor(arms[1], step) == every[step.index] for step in planned_steps(arms[1]))
