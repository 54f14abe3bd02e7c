"""Sizes of models: by configuration, by name, and refused where the plan would be wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from transformers import LlamaConfig, Qwen2Config, Qwen3Config
from transformers.models.auto.modeling_auto import AutoModelForCausalLM

from selfplay.learning.policy import PolicyError
from selfplay.learning.shapes import USUAL, ModelShape, ShapeUnknown, model_config, shape_of, usual

TINY = {
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 100,
}


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("kind", [Qwen2Config, Qwen3Config, LlamaConfig])
def test_the_weights_counted_are_those_of_the_model(kind: type, tied: bool) -> None:
    config = kind(**TINY, tie_word_embeddings=tied)
    shape = shape_of(config.to_dict())
    model = AutoModelForCausalLM.from_config(config)
    assert shape.linear_weights + shape.other_weights == sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("Qwen/Qwen2.5-Coder-1.5B-Instruct", "qwen2.5-1.5b"),
        ("unsloth/Qwen2.5-7B-Instruct-bnb-4bit", "qwen2.5-7b"),
        ("Qwen/Qwen3-4B-Instruct-2507", "qwen3-4b"),
    ],
)
def test_usual_models_are_known_by_name(name: str, known: str) -> None:
    assert model_config(name) == USUAL[known]


@pytest.mark.parametrize("name", ["Qwen/Qwen3.5-4B", "Qwen/Qwen2.5-VL-7B-Instruct", "Qwen/Qwen3-30B-A3B", "a/b", "x"])
def test_a_name_that_only_resembles_a_usual_one_is_not_taken_for_it(name: str) -> None:
    assert usual(name) is None


def test_the_published_sizes_come_to_the_published_number_of_parameters() -> None:
    published = {"qwen2.5-1.5b": 1.54, "qwen2.5-7b": 7.62, "qwen3-8b": 8.19}
    shapes = {name: shape_of(USUAL[name]) for name in published}
    counted = {name: (shape.linear_weights + shape.other_weights) / 1e9 for name, shape in shapes.items()}
    assert counted == pytest.approx(published, abs=0.01)


def test_a_folder_says_it_by_its_configuration(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(TINY | {"model_type": "llama"}))
    shape = shape_of(model_config(str(tmp_path)))
    assert (shape.hidden, shape.queries, shape.keys) == (48, 64, 32)


@pytest.mark.parametrize("text", ["", "[", '{"model_type": "llama"}', '{"model_type": "llama", "hidden_size": "big"}'])
def test_a_configuration_that_says_nothing_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises((PolicyError, ShapeUnknown)):
        shape_of(model_config(str(tmp_path)))


def test_a_folder_without_a_configuration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"holds no config\.json"):
        model_config(str(tmp_path))


@pytest.mark.parametrize("kind", ["qwen3_moe", "phi3"])
def test_what_follows_other_rules_is_refused(kind: str) -> None:
    with pytest.raises(ShapeUnknown, match="cannot tell"):
        shape_of(TINY | {"model_type": kind, "pad_token_id": 0})


def test_the_language_part_of_several_is_taken() -> None:
    assert isinstance(shape_of({"model_type": "both", "text_config": TINY | {"model_type": "llama"}}), ModelShape)
