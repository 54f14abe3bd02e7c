"""What is refused before a run begins."""

from __future__ import annotations

import json
import shutil
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest

from selfplay.box import local
from selfplay.box.tiers import Tier, TierTooLow, require_tier
from selfplay.config import configure
from selfplay.errors import SelfplayError
from selfplay.game.episode import ROLES
from selfplay.learning import setup
from selfplay.learning.policy import Choice, Policy, PolicyError, open_policy
from selfplay.learning.policy.hf import load_model, pick_device
from selfplay.run.adapters import AdapterError, Base, write_base
from tests.learning.conftest import build_model, make_policy
from tests.memory import Memory


def weaker(hello: object, jail: bool = True) -> Tier:
    return Tier("confined", (("landlock", "this kernel does not offer it"),), ("a newer kernel",))


def test_a_sandbox_below_the_asked_tier_is_refused_with_the_missing_wall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "tier_of", weaker)
    with pytest.raises(TierTooLow, match=r"confined \(missing landlock: this kernel.*'jailed'.*a newer kernel"):
        setup.open_judge(configure({"sandbox_min_tier": "jailed"}))


def test_a_sandbox_that_reaches_the_tier_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "tier_of", weaker)
    judge = setup.open_judge(configure({"sandbox_min_tier": "confined"}))
    judge.box.close()
    assert judge.box.tier == "confined"


class Cloud:
    """Stands for the box of a run in the cloud, which keeps a local one for references."""

    def __init__(self, home: str) -> None:
        self.tier, self.home = "e2b", local_with(home)


def local_with(tier: str) -> object:
    return type("Home", (), {"tier": tier})()


@pytest.mark.parametrize(("fallback", "refused"), [(True, True), (False, False)])
def test_a_fallback_has_to_reach_the_tier_too(fallback: bool, refused: bool) -> None:
    cloud = Cloud("limited")
    with pytest.raises(TierTooLow, match="limited") if refused else nullcontext():
        require_tier(cloud, "jailed", fallback)  # type: ignore[arg-type]


def test_a_split_that_holds_too_little_is_said() -> None:
    said: list[str] = []
    splits = setup.open_problems(configure({"problems": "stdio"}), None, say=said.append)  # type: ignore[arg-type]
    assert said[0] == f"problems: {', '.join(f'{len(own)} {name}' for name, own in splits.items())}"
    assert said[1].startswith(f"the dev split holds {len(splits['dev'])}, too few for figures to rely on")
    assert said[2] == f"a step plays all {len(splits['train'])} training problems, problems_per_step is 32"


TWICE = {
    "id": "one",
    "description": "Twice x.",
    "signature": "def f(x: int):",
    "baseline_tests": ["assert f(2) == 4"],
}


def test_no_problem_to_measure_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "mine.jsonl").write_text(json.dumps(TWICE | {"reference_solution": "def f(x):\n    return x + x"}))
    config = configure({"problems": str(tmp_path / "mine.jsonl")})
    judge, said = setup.open_judge(config), []
    try:
        setup.open_problems(config, judge, say=said.append)
    finally:
        judge.box.close()
    assert any(line.startswith("the dev split holds no problem, so nothing is measured") for line in said)


def test_what_training_without_references_means_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "mine.jsonl").write_text(json.dumps(TWICE))
    said: list[str] = []
    with closing(setup.open_judge(configure())) as judge:
        setup.open_problems(configure({"problems": str(tmp_path / "mine.jsonl")}), judge, say=said.append)
    assert any("1 of the 1 training problems have no reference" in line for line in said)


OWN_CODE = {"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.OwnModel"}


def config_folder(folder: Path, **keys: object) -> str:
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    (folder / "config.json").write_text(json.dumps({"model_type": "llama", "vocab_size": 300, **sizes, **keys}))
    return str(folder)


@pytest.mark.parametrize(
    ("keys", "given", "said"),
    [
        ({"architectures": ["BertForMaskedLM"]}, {}, "no causal language model"),
        ({"quantization_config": {"quant_method": "gptq"}}, {}, "quantised by gptq"),
        ({"quantization_config": {"quant_method": "bitsandbytes", "load_in_8bit": True}}, {}, "to 8 bit"),
        ({"model_type": "strange", "auto_map": OWN_CODE}, {}, "brings code of its own .* choose a model that it knows"),
        ({"model_type": "strange"}, {}, "does not know; choose"),
        ({"model_type": "vit"}, {}, "makes no causal language model"),
        ({"max_position_embeddings": 64}, {"max_completion_length": 64}, "lower --max-completion-length"),
        ({}, {"load_in_4bit": True}, "bitsandbytes"),
        ({}, {"backend": "unsloth"}, "unsloth"),
        ({}, {"max_seq_length": 4096, "max_completion_length": 8}, "give that or less"),
    ],
)
def test_a_model_that_cannot_play_is_refused_before_it_is_loaded(
    tmp_path: Path, keys: dict[str, object], given: dict[str, object], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("selfplay.learning.choice.find_spec", lambda name: None)
    model = config_folder(tmp_path, **{"max_position_embeddings": 2048, **keys})
    with pytest.raises(SelfplayError, match=said):
        setup.policy_of(configure({"model": model, "device": "cpu", **given}))


def test_code_that_comes_with_a_model_is_never_run(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    model = config_folder(tmp_path, model_type="strange", auto_map=OWN_CODE)
    with pytest.raises(SelfplayError, match="which is not run"):
        setup.policy_of(configure({"model": model, "device": "cpu"}))
    with pytest.raises(PolicyError):
        load_model(model, pick_device("cpu"))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("weights", [None, b"", b"x" * 100])
def test_weights_that_are_not_whole_are_refused_in_a_sentence(
    weights: bytes | None, model_folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(model_folder, tmp_path / "model")
    file = tmp_path / "model" / "model.safetensors"
    file.unlink() if weights is None else file.write_bytes(weights)
    with pytest.raises(PolicyError, match="no model could be loaded from"):
        open_policy(tmp_path / "model", device="cpu")


@pytest.mark.parametrize("model", ["no such folder/at/all", "nobody/has-this"])
def test_a_model_that_is_not_there_is_refused_in_a_sentence(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(SelfplayError, match=r"hub"):
        setup.policy_of(configure({"model": model, "device": "cpu"}))


def test_what_was_chosen_for_a_model_is_told_with_its_reasons(model_folder: Path) -> None:
    told = Memory()
    policy = setup.policy_of(
        configure({"model": str(model_folder), "device": "cpu", "max_completion_length": 16}), told
    )
    assert told.facts["backend"] == "transformers: there is no CUDA GPU"
    assert told.facts["base"].startswith("float32")
    assert told.facts["sampler"].startswith("small")
    assert any("memory, planned" in text for text in told.said)
    assert policy.trainer.bounds.context == 256


def test_of_the_embedded_player_nothing_is_told() -> None:
    told = Memory()
    setup.policy_of(configure(), told)
    assert not told.facts
    assert not told.said


def test_a_policy_begins_on_what_another_learnt(policy: Policy, tokenizer: Any, tmp_path: Path) -> None:
    policy.save(tmp_path)
    other = make_policy(build_model(), tokenizer, Choice(rank=4, alpha=8), seed=9)
    setup.begin_on(other, str(tmp_path), lambda text: None)
    for role in ROLES:
        assert other.trainer.digest(role) == policy.trainer.digest(role)


def test_a_role_without_an_adapter_begins_fresh_and_it_is_said(policy: Policy, tokenizer: Any, tmp_path: Path) -> None:
    policy.save(tmp_path)
    other = make_policy(build_model(), tokenizer, Choice(rank=4, alpha=8), seed=9)
    before, said = other.trainer.digest("discriminator"), list[str]()
    setup.begin_on(other, str(tmp_path / "adapters" / "generator"), said.append)
    assert other.trainer.digest("discriminator") == before
    assert other.trainer.digest("generator") == policy.trainer.digest("generator")
    assert "the discriminator begins fresh" in said[-1]


def test_adapters_of_another_base_are_refused(policy: Policy, tmp_path: Path) -> None:
    policy.save(tmp_path)
    for role in ROLES:
        write_base(tmp_path / "adapters" / role, Base("another", "a" * 64))
    with pytest.raises(AdapterError, match="was trained on another"):
        setup.begin_on(policy, str(tmp_path), lambda text: None)
