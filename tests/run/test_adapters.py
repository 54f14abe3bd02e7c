from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from selfplay.config import configure, from_flags, to_flags
from selfplay.game.episode import ROLES
from selfplay.run.adapters import UNKNOWN, AdapterError, Base, base_of, begun_on, check_base, find_adapters, write_base
from selfplay.run.checkpoints import About, write

PLAIN = {"peft_type": "LORA", "r": 4, "lora_alpha": 8, "target_modules": ["v_proj", "q_proj"]}


def saved(folder: Path, roles: Sequence[str] = ROLES, base: Base = UNKNOWN, **changes: Any) -> Path:
    """A folder of adapters, as far as their settings are concerned."""
    for role in roles:
        (folder / role).mkdir(parents=True)
        (folder / role / "adapter_config.json").write_text(json.dumps(PLAIN | changes))
        write_base(folder / role, base)
    return folder


def a_run(folder: Path, *greedy: float) -> Path:
    """A run with a checkpoint for each score."""

    def save(path: Path) -> None:
        saved(path / "adapters")

    save(folder)
    (folder / "config.yaml").write_text("")
    for step, score in enumerate(greedy, 1):
        write(folder, About(step, 9, 1, True, scores={"code_greedy": score}), save)
    return folder


def test_a_folder_has_an_adapter_for_each_role(tmp_path: Path) -> None:
    found = find_adapters(saved(tmp_path))
    assert found.folders == {role: tmp_path / role for role in ROLES}
    assert (found.rank, found.alpha, found.targets) == (4, 8, ("q_proj", "v_proj"))


def test_one_role_alone_is_enough(tmp_path: Path) -> None:
    saved(tmp_path, ["discriminator"])
    for name in (tmp_path, tmp_path / "discriminator"):
        assert find_adapters(name).folders == {"discriminator": tmp_path / "discriminator"}


def test_a_role_that_nobody_can_tell_is_asked_for(tmp_path: Path) -> None:
    saved(tmp_path, ["mine"])
    with pytest.raises(AdapterError, match="call its folder generator or discriminator"):
        find_adapters(tmp_path / "mine")


def test_a_run_means_its_best_checkpoint_or_without_one_what_it_saved(tmp_path: Path) -> None:
    assert (
        find_adapters(a_run(tmp_path / "a", 0.1, 0.5, 0.2)).place == tmp_path / "a" / "checkpoints" / "2" / "adapters"
    )
    assert find_adapters(a_run(tmp_path / "b")).place == tmp_path / "b" / "adapters"


def test_a_checkpoint_means_itself(tmp_path: Path) -> None:
    place = a_run(tmp_path, 0.1, 0.5) / "checkpoints" / "1"
    assert find_adapters(place).place == find_adapters(f"{tmp_path}@1").place == place / "adapters"


def test_a_folder_without_adapters_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AdapterError, match=r"no adapters in .*: give a run, one of its checkpoints, or a folder"):
        find_adapters(tmp_path)


@pytest.mark.parametrize("odd", [{"use_dora": True}, {"use_rslora": True}, {"peft_type": "IA3"}, {"bias": "all"}])
def test_adapters_of_another_kind_are_refused(tmp_path: Path, odd: dict[str, Any]) -> None:
    with pytest.raises(AdapterError, match="is not what a run trains"):
        find_adapters(saved(tmp_path, **odd))


def test_two_adapters_of_different_ranks_are_refused(tmp_path: Path) -> None:
    saved(tmp_path, ["generator"])
    saved(tmp_path, ["discriminator"], r=16)
    with pytest.raises(AdapterError, match="differ in rank, alpha or layers"):
        find_adapters(tmp_path)


def test_rank_scale_and_layers_come_from_the_adapters(tmp_path: Path) -> None:
    config = begun_on(configure({"init_from": str(saved(tmp_path))}))
    assert (config.lora_rank, config.lora_alpha, config.lora_target_modules) == (4, 8, ("q_proj", "v_proj"))
    assert config.init_from == str(tmp_path)


@pytest.mark.parametrize("layers", [["q_proj"], ["q_proj", "v_proj"], "all-linear"])
def test_other_processes_read_the_same_from_flags(tmp_path: Path, layers: Any) -> None:
    config = begun_on(configure({"init_from": str(saved(tmp_path, target_modules=layers))}))
    assert from_flags(to_flags(config)) == config


def test_a_rank_that_is_asked_for_and_not_theirs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AdapterError, match=r"lora_rank is 2, but .* was made with 4; leave it out"):
        begun_on(configure({"init_from": str(saved(tmp_path)), "lora_rank": 2}))


def test_another_base_is_refused_whatever_its_name(tmp_path: Path) -> None:
    found = find_adapters(saved(tmp_path, base=Base("some/model", "a" * 64)))
    check_base(found, Base("renamed", "a" * 64))
    with pytest.raises(
        AdapterError, match=r"was trained on some/model \(aaaaaaaaaaaa\), this run plays some/model \(bbbbbbbbbbbb\)"
    ):
        check_base(found, Base("some/model", "b" * 64))


def test_adapters_that_name_no_base_are_taken(tmp_path: Path) -> None:
    check_base(find_adapters(saved(tmp_path)), Base("some/model", "b" * 64))


def test_a_digest_depends_on_the_configuration_and_the_weights(tmp_path: Path) -> None:
    digests = set()
    for number, (config, weights) in enumerate([("{}", b"w"), ("{ }", b"w"), ("{}", b"x"), ("{}", b"w" * 20_000_000)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "config.json").write_text(config)
        (folder / "model.safetensors").write_bytes(weights)
        digests.add(base_of("any", folder).digest)
    assert len(digests) == 4
