"""Stages as data."""

from __future__ import annotations

import pytest

from selfplay.errors import SelfplayError
from selfplay.game.stages import Stage, get_all_stages, get_stage


def test_there_are_five_stages_in_order():
    assert [stage.id for stage in get_all_stages()] == [1, 2, 3, 4, 5]


def test_stage_three_is_pseudocode():
    assert get_stage(3).name == "Pseudocode"


@pytest.mark.parametrize("stage", get_all_stages(), ids=lambda stage: stage.name)
def test_a_stage_has_name_description_and_both_prompts(stage: Stage):
    assert stage.name
    assert stage.description
    assert stage.generator_prompt
    assert stage.discriminator_prompt


@pytest.mark.parametrize("wrong", [0, 6, -1])
def test_an_id_outside_one_to_five_is_a_clear_error(wrong: int):
    with pytest.raises(SelfplayError, match="from 1 to 5"):
        get_stage(wrong)
