"""What `auto` comes to on which machine, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from selfplay.config import CARDS, Config
from selfplay.errors import SelfplayError
from selfplay.learning.choice import (
    Machine,
    card,
    check_half,
    check_room,
    choose,
    memory_plan,
    row_tokens,
    this_machine,
)
from selfplay.learning.memory import plan
from selfplay.learning.policy import Choice, PolicyError
from selfplay.learning.shapes import USUAL, ModelShape, shape_of

SHAPE, LARGEST = shape_of(USUAL["qwen2.5-1.5b"]), shape_of(USUAL["qwen2.5-32b"])
LAPTOP = Machine()
T4 = Machine(14.7, bf16=False, bitsandbytes=True, unsloth=True)
BARE = Machine(79.1, bf16=True)


def chosen(machine: Machine, shape: ModelShape | None = SHAPE, **given: Any) -> Choice:
    return choose(Config(**{"model": "some/model", **given}), machine, shape)


def test_a_gpu_with_everything_gets_unsloth_in_four_bit_and_its_generate() -> None:
    taken = chosen(T4)
    assert (taken.backend, taken.sampler, taken.four_bit, taken.dtype) == ("unsloth", "generate", True, "float16")
    assert taken.checkpointing


def test_a_gpu_with_nothing_else_gets_transformers_in_bf16() -> None:
    taken = chosen(BARE)
    assert (taken.backend, taken.sampler, taken.four_bit, taken.dtype) == ("transformers", "auto", False, "bfloat16")
    assert "bitsandbytes is not installed" in taken.why["precision"]


def test_a_cpu_gets_transformers_in_fp32() -> None:
    taken = chosen(LAPTOP)
    assert (taken.backend, taken.four_bit, taken.dtype) == ("transformers", False, "float32")
    assert taken.why["backend"] == "there is no CUDA GPU"


def test_the_embedded_player_stays_as_it_is_even_beside_a_gpu() -> None:
    taken = choose(Config(), T4, None)
    assert (taken.backend, taken.checkpointing, taken.rows) == ("transformers", False, 128)


def test_unsloth_on_a_cpu_is_had_by_asking_and_says_that_it_accelerates_nothing() -> None:
    taken = chosen(Machine(unsloth=True), backend="unsloth")
    assert taken.backend == "unsloth"
    assert "accelerates nothing" in taken.facts()["backend"]


def test_what_is_kept_between_turns_is_what_the_plan_leaves_at_most_one_batch() -> None:
    for gib in (4.0, 14.7, 79.1):
        taken = chosen(Machine(gib, bf16=True))
        made = plan(SHAPE, taken)
        batch = made.sampling["keys and values"]
        assert 0 <= taken.cache_mib << 20 <= batch
        assert made.sampling.get("kept between turns", 0) == taken.cache_mib << 20
        assert made.fits(gib) or taken.cache_mib == 0
    assert chosen(Machine(79.1, bf16=True)).cache_mib > 1024


def test_nothing_is_kept_for_a_sampler_that_keeps_nothing() -> None:
    assert chosen(T4).cache_mib == chosen(LAPTOP, sampler="generate").cache_mib == 0
    assert "kept_between_turns" not in chosen(T4).facts()
    assert chosen(LAPTOP).facts()["kept_between_turns"] == "1024 MiB of keys and values"
    assert choose(Config(), LAPTOP, None).cache_mib == 512


def test_four_bit_on_a_cpu_works_where_bitsandbytes_is_installed() -> None:
    taken = chosen(Machine(bitsandbytes=True), load_in_4bit=True)
    assert (taken.four_bit, taken.dtype) == (True, "float32")


@pytest.mark.parametrize(
    ("machine", "given", "said"),
    [
        (LAPTOP, {"load_in_4bit": True}, "bitsandbytes is not installed"),
        (LAPTOP, {"backend": "unsloth"}, "which is not installed"),
        (LAPTOP, {"dtype": "float16"}, "--dtype float32"),
        (T4, {"dtype": "bfloat16"}, "--dtype float16"),
        (T4, {"sampler": "own"}, "--sampler generate"),
        (T4, {"max_completion_length": 40_000}, "lower --max-completion-length"),
        (T4, {"max_seq_length": 100_000}, "give that or less"),
    ],
)
def test_what_cannot_be_had_is_refused_with_the_way_out(machine: Machine, given: dict[str, Any], said: str) -> None:
    with pytest.raises(SelfplayError, match=said):
        chosen(machine, **given)


def test_rows_are_what_fits_and_what_is_given_stays() -> None:
    assert chosen(T4).rows < chosen(BARE).rows
    assert chosen(T4, generation_rows=3).rows == 3
    assert chosen(T4, None).rows == 128


def test_the_longest_conversation_leaves_room_for_more_than_is_planned() -> None:
    config = Config(model="some/model")
    assert row_tokens(config) == 400 + 5 * (200 + 2 * 512)
    assert 1.5 * row_tokens(config) <= chosen(T4).context < 1.5 * row_tokens(config) + 1024
    assert row_tokens(Config(model="some/model", schedule="single_stage")) < row_tokens(config)


def test_a_thought_is_planned_for_on_top_of_what_is_said() -> None:
    config = Config(model="some/model", thinking_tokens=8000)
    plain, thinking = (choose(config, T4, SHAPE, thinks) for thinks in (False, True))
    assert plain.row_tokens == row_tokens(config)
    assert thinking.row_tokens == row_tokens(config) + 8000
    assert thinking.context >= 1.5 * (row_tokens(config) + 8000)
    assert thinking.rows < plain.rows


@pytest.mark.parametrize(("thinks", "lower"), [(False, "--max-completion-length,"), (True, "or --thinking-tokens")])
def test_a_context_shorter_than_the_planned_conversations_is_said(thinks: bool, lower: str) -> None:
    short = replace(SHAPE, context=1024)
    told = choose(Config(model="some/model"), LAPTOP, short, thinks).facts()["max_seq_length"]
    assert told.startswith("1024: conversations may come to")
    assert lower in told
    assert chosen(LAPTOP).facts()["max_seq_length"] == chosen(LAPTOP).context


def test_a_card_that_cannot_hold_what_stays_is_refused_with_the_plan() -> None:
    choice = choose(Config(model="some/model"), T4, LARGEST)
    with pytest.raises(SelfplayError, match="does not fit on this GPU") as refused:
        check_room("some/model", choice, LARGEST, T4)
    assert "-> it takes a GPU of" in str(refused.value)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA GPU")
def test_cuda_is_refused_where_there_is_none() -> None:
    with pytest.raises(SelfplayError, match="--device cpu"):
        this_machine("cuda")


@pytest.mark.parametrize("preset", CARDS)
def test_each_gpu_preset_fits_its_own_card_by_the_plan(preset: str) -> None:
    text, fits = memory_plan(Config(preset=preset))
    assert fits, text
    machine = card(preset)
    assert machine is not None
    assert chosen(machine, preset=preset).backend == "unsloth"


def test_a_seven_b_model_fits_a_t4_by_the_plan() -> None:
    assert memory_plan(Config(preset="t4", model="Qwen/Qwen2.5-Coder-7B-Instruct"))[1]


def test_there_is_nothing_to_plan_for_the_embedded_player() -> None:
    with pytest.raises(SelfplayError, match="--model"):
        memory_plan(Config())


@pytest.mark.parametrize(
    "described", [{"model_type": "gemma3_text"}, {"model_type": "x", "text_config": {"model_type": "qwen3_5"}}]
)
def test_a_family_that_overflows_in_float16_is_refused_with_the_ways_out(described: dict[str, Any]) -> None:
    half = Choice(backend="transformers", dtype="float16")
    with pytest.raises(PolicyError, match=r"overflows in float16: give --backend unsloth, .* --dtype float32"):
        check_half("some/model", described, half)
    for fine in (replace(half, dtype="float32"), replace(half, dtype="bfloat16"), replace(half, backend="unsloth")):
        check_half("some/model", described, fine)
    check_half("some/model", {"model_type": "qwen2"}, half)
