"""A name stands for one player, whatever command asks; what cannot be played is refused before anything is loaded."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
import torch

from selfplay.config import configure
from selfplay.errors import SelfplayError
from selfplay.learning import setup
from selfplay.learning.policy import Policy
from selfplay.learning.sources import default_player, open_player, source_of
from selfplay.run import checkpoints
from selfplay.run.checkpoints import About
from selfplay.run.folder import RunFolder


def stirred(policy: Policy, seed: int) -> Policy:
    """The policy with adapters that say something."""
    state = policy.trainer.state()
    for weights in state["adapters"].values():
        for number, name in enumerate(sorted(weights)):
            weights[name].normal_(std=0.1, generator=torch.Generator().manual_seed(1000 * seed + number))
    policy.load_state(state)
    return policy


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of rank 4 with the adapters that it ended with, and checkpoints of other ones at steps 2 and 3."""
    folder = tmp_path_factory.mktemp("runs") / "a"
    config = configure({"lora_rank": 4, "output_dir": str(folder), "max_completion_length": 50, "seed": 7})
    policy = setup.policy_of(config)
    RunFolder(config).save(stirred(policy, 0))
    for step, score in ((2, 0.5), (3, 0.25)):
        about = About(step, 3, 1, evaluated=True, scores={"code_greedy": score})
        checkpoints.write(folder, about, stirred(policy, step).save)
    return folder


def weights(name: str) -> str:
    player = open_player(name).player
    assert isinstance(player, Policy)
    return player.trainer.digest("generator")


def test_a_run_is_its_best_checkpoint_and_one_step_is_one_checkpoint(run: Path) -> None:
    assert weights(str(run)) == weights(f"{run}@2") == weights(str(run / "checkpoints" / "2"))
    assert weights(f"{run}@3") != weights(f"{run}@2")


def test_a_run_without_checkpoints_is_the_adapters_that_it_ended_with(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "b", ignore=shutil.ignore_patterns("checkpoints"))
    assert weights(str(tmp_path / "b")) == weights(str(run / "adapters")) != weights(str(run))


def test_what_a_player_is_comes_from_its_run_and_how_it_plays_from_who_opens_it(run: Path) -> None:
    config = source_of(str(run)).config({"seed": 3})
    assert (config.lora_rank, config.max_completion_length) == (4, 50)
    assert (config.seed, config.output_dir) == (3, configure().output_dir)


def test_a_folder_of_adapters_brings_its_rank_without_a_run(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run / "adapters", tmp_path / "mine")
    assert source_of(str(tmp_path / "mine")).config().lora_rank == 4
    assert weights(str(tmp_path / "mine")) == weights(str(run / "adapters"))


def test_adapters_of_another_base_are_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(
        SelfplayError, match="were made for the embedded player, not for other/model; leave out --model"
    ):
        source_of(str(run)).config({"model": "other/model"})
    shutil.copytree(run / "adapters", tmp_path / "mine")
    for file in (tmp_path / "mine").glob("*/base.json"):
        file.write_text(json.dumps({"name": "some/model", "digest": "0"}))
    assert source_of(str(tmp_path / "mine")).config().model == "some/model"
    shutil.copytree(run, tmp_path / "b", ignore=shutil.ignore_patterns("checkpoints"))
    shutil.copytree(tmp_path / "mine", tmp_path / "b" / "adapters", dirs_exist_ok=True)
    with pytest.raises(SelfplayError, match="was trained on some/model"):
        open_player(str(tmp_path / "b"))


def test_one_role_s_adapter_is_enough(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run / "adapters" / "generator", tmp_path / "generator")
    assert weights(str(tmp_path / "generator")) == weights(str(run / "adapters"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("embeded", "no player 'embeded', did you mean 'embedded'"),
        ("{run}@4", "has no checkpoint of step 4; it has 2, 3"),
        ("{run}@best", "after @ stands the number of a step, not 'best'"),
        ("{run}/checkpoints", "no adapters in .*/checkpoints: give a run, one of its checkpoints"),
        ("nothing@3", "no player 'nothing@3'"),
    ],
)
def test_a_name_that_stands_for_nothing_is_refused_in_a_sentence(run: Path, name: str, said: str) -> None:
    with pytest.raises(SelfplayError, match=said):
        source_of(name.format(run=run))


def test_base_needs_a_model_and_embedded_takes_none() -> None:
    with pytest.raises(SelfplayError, match="say which with --model"):
        source_of("base").config()
    with pytest.raises(SelfplayError, match="to play some/model without adapters name 'base'"):
        source_of("embedded").config({"model": "some/model"})


def test_the_newest_run_plays_where_nobody_is_named(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert default_player() == "embedded"
    for age, name in enumerate(("new", "old", "unfinished")):
        shutil.copytree(run, Path("runs") / name)
        os.utime(Path("runs") / name / "config.yaml", (1e9 - age, 1e9 - age))
    for part in ("adapters", "checkpoints"):
        shutil.rmtree(Path("runs", "unfinished", part))
    os.utime(Path("runs/unfinished/config.yaml"))
    assert default_player() == "runs/new"
