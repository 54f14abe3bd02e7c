"""The procedural family: splits share no function, baselines hide misconceptions, and the files are what the command writes."""

from __future__ import annotations

import json
import random

import pytest

from selfplay.resources import resource
from selfplay.tiny.family import (
    HELD_OUT,
    NO_ANSWER,
    Pipeline,
    as_problem,
    compiled,
    draw_family,
    draw_input,
    edge_input,
    function_class,
    happy_input,
)
from selfplay.tiny.operations import OPERATIONS


@pytest.fixture(scope="module")
def family() -> dict[str, list[Pipeline]]:
    return draw_family()


def test_there_are_hundreds_of_distinct_function_classes(family: dict[str, list[Pipeline]]) -> None:
    classes = [function_class(p) for pipelines in family.values() for p in pipelines]
    assert len(classes) == len(set(classes)) >= 700


def test_held_out_splits_have_their_sizes(family: dict[str, list[Pipeline]]) -> None:
    assert {split: len(family[split]) for split in HELD_OUT} == HELD_OUT


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_the_files_are_what_the_command_writes(family: dict[str, list[Pipeline]], split: str) -> None:
    lines = (resource("datasets") / "procedural" / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(family[split])
    for i in (0, 7, len(lines) - 1):
        made = as_problem(family[split][i], f"procedural-{split}-{i:04d}", hidden=split != "train")
        assert json.loads(lines[i]) == made


@pytest.mark.parametrize("operation", [o for o in OPERATIONS if o.wrong], ids=lambda o: o.step)
def test_a_misconception_hides_from_happy_paths_and_shows_at_an_edge(operation) -> None:
    pipeline = Pipeline((operation,), (3 if operation.has_constant else 0,))
    right, wrong = pipeline.variants()
    rng = random.Random(0)
    happy = [draw_input(pipeline, True, rng) for _ in range(30)]
    edges = [draw_input(pipeline, False, rng) for _ in range(30)]
    assert all(right(value) == wrong(value) for value in happy)
    assert any(right(value) != wrong(value) for value in edges)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: f"{o.takes}-{o.step}")
def test_the_right_way_never_raises(operation) -> None:
    pipeline = Pipeline((operation,), (2 if operation.has_constant else 0,))
    answer, rng = compiled(pipeline.code()), random.Random(1)
    values = [draw(operation.takes, rng) for draw in (happy_input, edge_input) for _ in range(50)]
    assert all(answer(value) is not NO_ANSWER for value in values)
