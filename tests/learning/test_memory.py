"""The memory plan: worked examples, and what turning a knob does to it. `benchmarks/memory.py` holds it against processes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from selfplay.learning.memory import GIB, Plan, fitted, plan, table, way_out, weights
from selfplay.learning.policy import Choice
from selfplay.learning.shapes import USUAL, shape_of

SMALL, LARGE, LARGEST = (shape_of(USUAL[f"qwen2.5-{size}"]) for size in ("1.5b", "7b", "32b"))
CHOICE = Choice(
    four_bit=True, dtype="float16", row_tokens=6000, rows=32, micro_batch_tokens=2048, checkpointing=True, cache_mib=0
)
HALF: dict[str, object] = {"four_bit": False}
FULL: dict[str, object] = {"four_bit": False, "dtype": "float32"}


def one(**changes: object) -> Plan:
    return plan(SMALL, replace(CHOICE, **changes))  # type: ignore[arg-type]


def update(made: Plan) -> float:
    return sum(made.update.values()) / GIB


def test_weights_in_four_bit_take_little_more_than_half_a_byte() -> None:
    assert weights(SMALL, "4 bit") - 2 * SMALL.other_weights == pytest.approx(0.5159 * SMALL.linear_weights, rel=1e-3)
    assert weights(SMALL, "16 bit") == pytest.approx(2 * 1.54e9, rel=0.01)
    assert weights(SMALL, "32 bit") == 2 * weights(SMALL, "16 bit")


def test_keys_and_values_by_hand() -> None:
    # 28 layers x (keys + values) x 2 heads of 128 x 2 bytes = 28,672 bytes a token
    assert one().sampling["keys and values"] == 28_672 * 32 * 6000


def test_feeding_prompts_by_hand() -> None:
    # of an MLP's inner states two at the base's width and two in fp32; four states, and in 16 bit one more of them in fp32
    alone = {"rows": 1, "row_tokens": 8192}
    assert one(**HALF, **alone).sampling["one pass"] == 8192 * (12 * 8960 + 12 * 1536)
    on_cpu = one(cpu=True, **HALF, **alone)
    assert on_cpu.sampling["one pass"] == 8192 * (
        16 * 8960 + 12 * 1536
    )  # an addition that copies an inner state to fp32
    assert one(**FULL, **alone).sampling["one pass"] == 8192 * (16 * 8960 + 16 * 1536)
    assert one(**alone).sampling["one pass"] == 8192 * (12 * 8960 + 12 * 1536) + 2 * 8960 * 1536  # a matrix unpacked


def test_what_attention_adds_for_each_token_of_a_batch_by_hand() -> None:
    # grouped: keys and values as wide as the 12 heads of 128; not grouped: five tensors of a layer while chunks are joined
    assert one(rows=128).sampling["one pass"] == 128 * 6000 * 2 * 12 * 128 * 2
    whole = plan(replace(SMALL, kv_heads=12), replace(CHOICE, rows=128))
    assert whole.sampling["one pass"] == 128 * 6000 * 5 * 12 * 128 * 2


def test_adapters_and_optimizers_by_hand() -> None:
    # a layer's inputs and outputs: (1536 + 1536) q, o; (1536 + 256) k, v; (1536 + 8960) gate, up, down; rank 16, 28 layers
    numbers = 28 * 16 * (2 * 3072 + 2 * 1792 + 3 * 10_496)
    assert one().stays["adapters"] == 2 * 4 * numbers
    assert one().stays["optimizers"] == 2 * 2 * 4 * numbers


def test_an_update_takes_what_was_measured_on_a_model_without_data() -> None:
    # Live tensors of an update of a 1.5B model in 16 bit with fp32 adapters, counted on PyTorch's meta device.
    measured = {(2048, False): 8.2, (4096, False): 16.3, (4096, True): 1.1}
    for (tokens, checkpointing), gib in measured.items():
        made = one(row_tokens=tokens, micro_batch_tokens=1, checkpointing=checkpointing, **HALF)
        assert update(made) == pytest.approx(gib, rel=0.15)


@pytest.mark.parametrize(
    "less",
    [
        {"rows": 16},
        {"row_tokens": 3000},
        {"rank": 8},
        {"targets": ("q_proj", "v_proj")},
        {"four_bit": True},
    ],
)
def test_turning_a_knob_down_never_takes_more(less: dict[str, object]) -> None:
    assert one(**HALF | less).peak <= one(**HALF).peak
    assert one(**less).peak <= one().peak


def test_the_longest_row_counts_where_it_is_longer_than_a_micro_batch() -> None:
    assert update(one(micro_batch_tokens=512)) == update(one(micro_batch_tokens=2048))
    assert update(one(micro_batch_tokens=20_000)) > update(one(micro_batch_tokens=2048))


def test_as_many_rows_are_taken_as_fit() -> None:
    choice = fitted(LARGE, replace(CHOICE, rows=128), 14.7)
    assert plan(LARGE, choice).fits(14.7)
    assert not plan(LARGE, replace(choice, rows=2 * choice.rows)).fits(14.7)


def test_where_nothing_fits_one_row_is_left() -> None:
    assert fitted(LARGEST, CHOICE, 14.7).rows == 1


def test_the_way_out_fits() -> None:
    whole = plan(LARGE, replace(CHOICE, four_bit=False, checkpointing=False, rows=64))
    assert not whole.fits(14.7)
    way = way_out(whole, 14.7)
    assert way.startswith("it fits with --gradient-checkpointing true")
    assert "--load-in-4bit true" in way


def test_a_model_that_fits_in_no_way_is_said_to_need_a_larger_gpu() -> None:
    way = way_out(plan(LARGEST, CHOICE), 14.7)
    assert "takes a GPU of" in way
    assert "smaller --model" in way


def test_the_table_says_what_fits_and_what_to_turn() -> None:
    fitting = table(one(), 14.7, "a T4")
    assert "fits in the 14.7 GiB of a T4" in fitting
    assert "->" not in fitting
    assert "does not fit" in table(one(), 4.0)
    assert "->" in table(one(), 4.0)
    assert "fit" not in table(one(), None)
