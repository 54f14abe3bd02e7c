"""How many conversations are sampled at once is a matter of memory: an evaluation plays the same turns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from selfplay.box.local import LocalBox
from selfplay.evaluation.evaluator import Evaluator
from selfplay.game.problems import load_problems
from selfplay.judging.judge import Judge
from selfplay.learning.sources import open_player
from selfplay.mutation.cache import MutantCache
from tests.learning.conftest import build_model

PROBLEMS = load_problems("procedural/dev")[:2]
MODEL = {"max_completion_length": 8, "device": "cpu", "prompts": "compact", "problems": "procedural"}


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    box = LocalBox()
    yield Judge(box)
    box.close()


@pytest.fixture(scope="module")
def long_model(tmp_path_factory: pytest.TempPathFactory, tokenizer: Any) -> Path:
    """A random model whose context holds a game."""
    folder = tmp_path_factory.mktemp("model")
    build_model(max_position_embeddings=4096).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def played(judge: Judge, rows: int, player: str, **knobs: Any) -> dict[Any, tuple[int, ...]]:
    """Every turn of an evaluation, by its key."""
    entrant = open_player(player, generation_rows=rows, **knobs)
    evaluator = Evaluator(judge, MutantCache(), PROBLEMS, 2)
    appearance = evaluator.appearance(entrant, evaluator.opponent(entrant))
    talks = [
        conversation
        for each in appearance.played
        for match in (each.match, each.own)
        for role in ("generator", "discriminator")
        for conversation in match.conversations(role)
    ]
    return {(turn.key, place): turn.ids for place, talk in enumerate(talks) for turn in talk.turns}


@pytest.mark.parametrize("sampler", ["embedded", "small", "own", "generate"])
def test_another_batch_size_plays_the_same_turns(judge: Judge, long_model: Path, sampler: str) -> None:
    knobs = {} if sampler == "embedded" else MODEL | {"model": str(long_model), "sampler": sampler}
    name = "embedded" if sampler == "embedded" else "base"
    many, few = (played(judge, rows, name, **knobs) for rows in (128, 3))
    assert many.keys() == few.keys()
    assert len(many) == 80
    same = sum(many[key] == few[key] for key in many)
    assert same >= 0.99 * len(many)
