"""Schedules: who learns when."""

from __future__ import annotations

from itertools import groupby

import pytest

from selfplay.errors import SelfplayError, UnknownName
from selfplay.game.phases import SCHEDULES, Step, schedule, trained_stages


def roles(steps: tuple[Step, ...]) -> str:
    return "".join(step.role[0].upper() for step in steps)


def test_full_is_n_discriminator_n_generator_and_k_alternating_steps_per_stage():
    steps = schedule("full", (1, 2), n_discriminator_steps=3, n_generator_steps=2, k=3)
    assert roles(steps) == "DDDGGGDG" * 2
    assert [step.stage for step in steps] == [1] * 8 + [2] * 8


def test_alternating_steps_begin_with_the_generator():
    steps = schedule("full", (1,), n_discriminator_steps=0, n_generator_steps=0, k=4)
    assert roles(steps) == "GDGD"


def test_the_default_run_has_forty_steps_half_of_them_the_generators():
    steps = schedule("full")
    assert len(steps) == 40
    assert roles(steps).count("G") == 20


def test_indices_count_the_steps():
    assert [step.index for step in schedule("full")] == list(range(40))


def test_alternating_spends_the_same_budget_from_stage_one():
    steps = schedule("alternating")
    assert roles(steps) == "DG" * 20
    assert {step.stage for step in steps} == {1}


def test_single_stage_plays_stage_five_alone():
    steps = schedule("single_stage")
    assert {(step.stage, step.played) for step in steps} == {(5, (5,))}


@pytest.mark.parametrize(("name", "role"), [("generator_only", "G"), ("discriminator_only", "D")])
def test_one_role_alone_makes_the_updates_it_makes_under_full(name: str, role: str):
    assert roles(schedule(name)) == role * roles(schedule("full")).count(role)


def test_a_joint_step_trains_both():
    assert all(step.trains("generator") and step.trains("discriminator") for step in schedule("joint"))


def test_a_shared_step_is_laid_out_as_under_full_and_trains_both():
    shared, full = schedule("shared"), schedule("full")
    assert [step.layout for step in shared] == [step.role for step in full]
    assert [step.phase for step in shared] == [step.phase for step in full]
    assert roles(shared) == "B" * len(full)


def test_a_role_is_frozen_in_the_others_step():
    step = schedule("discriminator_only", (1,))[0]
    assert step.trains("discriminator")
    assert not step.trains("generator")


@pytest.mark.parametrize("name", ["full", "shared", "joint", "generator_only", "discriminator_only"])
def test_the_last_step_of_each_stage_is_marked(name: str):
    for _, steps in groupby(schedule(name), key=lambda step: step.stage):
        assert [step.ends_stage for step in steps][::-1].index(True) == 0


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_schedule_ends_with_a_marked_step(name: str):
    assert schedule(name)[-1].ends_stage


def test_phases_are_labelled():
    labels = [label for label, _ in groupby(step.phase for step in schedule("full", (2,)))]
    assert labels == ["stage 2 discriminator", "stage 2 generator", "stage 2 alternating"]


def test_an_unknown_schedule_names_the_nearest():
    with pytest.raises(UnknownName, match="did you mean 'joint'"):
        schedule("jont")


@pytest.mark.parametrize("stages", [(), (0,), (6,), (2, 1), (1, 1)])
def test_stages_out_of_range_or_order_are_refused(stages: tuple[int, ...]):
    with pytest.raises(SelfplayError, match="stages"):
        schedule("full", stages)


def test_a_negative_count_is_refused_by_name():
    with pytest.raises(SelfplayError, match="n_generator_steps is -1"):
        schedule("full", n_generator_steps=-1)


def test_from_trains_the_stage_and_those_after_it():
    assert trained_stages(schedule("full", (3,))[0], "from") == (3, 4, 5)


def test_only_trains_the_stage_alone():
    assert trained_stages(schedule("full", (3,))[0], "only") == (3,)


def test_single_stage_trains_stage_five_under_both_choices():
    step = schedule("single_stage")[0]
    assert trained_stages(step, "from") == trained_stages(step, "only") == (5,)


def test_an_unknown_choice_of_trained_stages_is_refused():
    with pytest.raises(UnknownName, match="did you mean 'only'"):
        trained_stages(schedule("full")[0], "onli")
