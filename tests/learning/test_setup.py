"""What is refused before a run begins."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from selfplay.box import local
from selfplay.box.tiers import Tier, TierTooLow, require_tier
from selfplay.config import configure
from selfplay.game.episode import ROLES
from selfplay.learning import setup
from selfplay.learning.policy import Policy, PolicySettings
from selfplay.run.adapters import AdapterError, Base, write_base
from tests.learning.conftest import build_model, make_policy


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


def test_no_problem_to_measure_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    one = {
        "id": "one",
        "description": "Twice x.",
        "signature": "def f(x: int):",
        "baseline_tests": ["assert f(2) == 4"],
    }
    (tmp_path / "mine.jsonl").write_text(json.dumps(one | {"reference_solution": "def f(x):\n    return x + x"}))
    config = configure({"problems": str(tmp_path / "mine.jsonl")})
    judge, said = setup.open_judge(config), []
    try:
        setup.open_problems(config, judge, say=said.append)
    finally:
        judge.box.close()
    assert any(line.startswith("the dev split holds no problem, so nothing is measured") for line in said)


def test_a_policy_begins_on_what_another_learnt(policy: Policy, tokenizer: Any, tmp_path: Path) -> None:
    policy.save(tmp_path)
    other = make_policy(build_model(), tokenizer, PolicySettings(rank=4, alpha=8), seed=9)
    setup.begin_on(other, str(tmp_path), lambda text: None)
    for role in ROLES:
        assert other.trainer.digest(role) == policy.trainer.digest(role)


def test_a_role_without_an_adapter_begins_fresh_and_it_is_said(policy: Policy, tokenizer: Any, tmp_path: Path) -> None:
    policy.save(tmp_path)
    other = make_policy(build_model(), tokenizer, PolicySettings(rank=4, alpha=8), seed=9)
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
