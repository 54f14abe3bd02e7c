"""Two adapters on one base: switching, isolation, digests, files."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from dataclasses import replace
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest
import torch

from selfplay import plugins
from selfplay.game.episode import ROLES, Role
from selfplay.game.players import Sampling
from selfplay.learning.policy import Choice, Policy, hf, open_policy, swap
from selfplay.learning.policy.errors import PolicyError
from selfplay.learning.policy.opening import open_sampler, open_trainer
from selfplay.learning.policy.protocol import Rows
from selfplay.learning.policy.settings import EMBEDDED
from selfplay.run.adapters import Base, base_of
from tests.learning.bigram import BigramTrainer
from tests.learning.conftest import build_model, make_policy, request, rows, stir, trainer

IDS = torch.tensor([[5, 9, 17, 30, 11]])
ROWS = rows((5, 9, 17, 30, 11))


def scored(policy: Policy, role: Role | None) -> torch.Tensor:
    return policy.trainer.logprobs(role, ROWS, 1.0)[0]


def reference(policy: Policy, role: Role) -> torch.Tensor:
    """The transformers forward, adapters live."""
    with trainer(policy).adapters.role(role), torch.no_grad():
        logits = trainer(policy).model(input_ids=IDS).logits[:, :-1]
    return torch.log_softmax(logits, -1).gather(2, IDS[:, 1:, None])[0, :, 0]


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("role", ROLES)
def test_scores_equal_the_transformers_forward(tokenizer: Any, role: Role, fast: bool) -> None:
    policy = stir(make_policy(build_model(), tokenizer, Choice(rank=4, fast=fast)))
    assert torch.allclose(scored(policy, role), reference(policy, role), atol=1e-5)


@pytest.mark.parametrize("fast", [True, False])
def test_gradients_of_a_score_equal_those_of_the_transformers_forward(tokenizer: Any, fast: bool) -> None:
    policy = stir(make_policy(build_model(), tokenizer, Choice(rank=4, fast=fast)))
    weights = torch.tensor([1.0, -2.0, 0.5, 3.0])
    parameters = list(trainer(policy).adapters.parameters["generator"].values())
    policy.trainer.accumulate("generator", ROWS, 1.0, lambda new_N: (new_N * weights).sum())
    ours = policy.trainer.take_gradient("generator").split([parameter.numel() for parameter in parameters])
    with trainer(policy).adapters.role("generator"):
        logits = trainer(policy).model(input_ids=IDS).logits[:, :-1]
        theirs = torch.log_softmax(logits, -1).gather(2, IDS[:, 1:, None])[0, :, 0]
        expected = torch.autograd.grad((theirs * weights).sum(), parameters)
    for own, want in zip(ours, expected, strict=True):
        assert torch.allclose(own.float(), want.flatten(), rtol=1e-3, atol=1e-5)


def test_the_two_roles_play_differently_and_not_like_the_base(policy: Policy) -> None:
    scores = [scored(policy, role) for role in (*ROLES, None)]
    assert not any(torch.allclose(a, b, atol=1e-3) for a, b in zip(scores, scores[1:] + scores[:1], strict=True))


def test_fresh_adapters_leave_the_base_as_it_is(tokenizer: Any) -> None:
    policy = make_policy(build_model(), tokenizer)
    assert torch.equal(scored(policy, "generator"), scored(policy, None))


def test_the_base_inside_a_role_returns_to_the_role(policy: Policy) -> None:
    with trainer(policy).adapters.role("generator"):
        with trainer(policy).adapters.base():
            pass
        trainer(policy).adapters.check("generator")


def test_changing_role_inside_another_is_refused(policy: Policy) -> None:
    with (
        trainer(policy).adapters.role("generator"),
        pytest.raises(PolicyError, match="leave that block"),
        trainer(policy).adapters.role("discriminator"),
    ):
        pass


def test_an_adapter_switched_behind_our_back_is_noticed(policy: Policy) -> None:
    trainer(policy).model.set_adapter("discriminator")
    with pytest.raises(PolicyError, match=r"outside adapters\.role"), trainer(policy).adapters.role("generator"):
        pass


def test_only_the_active_role_asks_for_gradients(policy: Policy) -> None:
    with trainer(policy).adapters.role("discriminator"):
        asking = {name for name, parameter in trainer(policy).model.named_parameters() if parameter.requires_grad}
    assert asking == set(trainer(policy).adapters.parameters["discriminator"])
    assert not any(parameter.requires_grad for parameter in trainer(policy).model.parameters())


def test_the_same_seed_makes_the_same_adapters_and_another_does_not(tokenizer: Any) -> None:
    first, same, other = (make_policy(build_model(), tokenizer, seed=seed) for seed in (3, 3, 4))
    assert first.trainer.digest("generator") == same.trainer.digest("generator") != other.trainer.digest("generator")
    assert first.trainer.digest("generator") != first.trainer.digest("discriminator")


def test_adapters_survive_a_round_trip_to_disk(policy: Policy, tokenizer: Any, tmp_path: Path) -> None:
    policy.save(tmp_path)
    policy.save(tmp_path)  # over itself
    other = make_policy(build_model(), tokenizer, Choice(rank=4, alpha=8), seed=9)
    other.load(tmp_path)
    assert [other.trainer.digest(role) for role in ROLES] == [policy.trainer.digest(role) for role in ROLES]
    assert sorted(path.name for path in (tmp_path / "adapters").iterdir() if path.is_dir()) == sorted(ROLES)
    assert not (tmp_path / "adapters.old").exists()


def test_the_weights_may_be_read_by_whom_other_files_may_be(policy: Policy, tmp_path: Path) -> None:
    policy.save(tmp_path)
    modes = {path.stat().st_mode for path in (tmp_path / "adapters").rglob("*") if path.is_file()}
    (tmp_path / "other").write_text("")
    assert modes == {(tmp_path / "other").stat().st_mode}


@pytest.mark.parametrize("offered", [True, False])
def test_a_save_that_is_killed_anywhere_leaves_a_folder_that_loads(
    policy: Policy, tokenizer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offered: bool
) -> None:
    class Killed(BaseException):
        pass

    policy.save(tmp_path)
    if not offered:
        monkeypatch.setattr(swap, "exchange", lambda one, other: False)
    left = [0]
    for survived in range(9):
        left = [survived]

        def dying(self: Path, target: Path, call: Any, left: list[int] = left) -> Path:
            if not left[0]:
                raise Killed
            left[0] -= 1
            return call(self, target)

        with monkeypatch.context() as patch:
            for name in ("rename", "replace"):
                patch.setattr(Path, name, partialmethod(dying, call=getattr(Path, name)))
            with suppress(Killed):
                policy.save(tmp_path)
        make_policy(build_model(), tokenizer, Choice(rank=4, alpha=8)).load(tmp_path)
    assert left[0] > 0  # the last save came through


def test_loaded_adapters_are_what_is_sampled(policy: Policy, tokenizer: Any, tmp_path: Path) -> None:
    policy.save(tmp_path)
    other = make_policy(build_model(), tokenizer, Choice(rank=4, alpha=8), seed=0)
    asked = [request((5, 9, 17))]
    other.complete(asked, Sampling(0.0, 8))
    other.load(tmp_path)
    played = [p.complete(asked, Sampling(0.0, 8)) for p in (policy, other)]
    assert played[0] == played[1]


def one_step(policy: Policy) -> None:
    policy.trainer.accumulate("generator", ROWS, 1.0, torch.sum)
    policy.step("generator", policy.trainer.take_gradient("generator"), 1.0)


def test_a_state_goes_through_a_file_and_training_goes_on_bit_for_bit(
    policy: Policy, tokenizer: Any, tmp_path: Path
) -> None:
    one_step(policy)
    torch.save(policy.trainer.state(), tmp_path / "state.pt")
    one_step(policy)
    other = make_policy(build_model(), tokenizer, Choice(rank=4, alpha=8), seed=9)
    other.load_state(torch.load(tmp_path / "state.pt", weights_only=True))
    one_step(other)
    assert other.trainer.digest("generator") == policy.trainer.digest("generator")


def test_a_saved_adapter_names_its_base_without_a_path(model_folder: Path, tmp_path: Path) -> None:
    open_policy(model_folder, device="cpu").save(tmp_path)
    saved = tmp_path / "adapters" / "generator"
    config, base = (json.loads((saved / name).read_text()) for name in ("adapter_config.json", "base.json"))
    assert config["base_model_name_or_path"] == base["name"] == model_folder.name
    assert base["digest"] == base_of("any", model_folder).digest


def test_the_embedded_player_is_the_same_base_wherever_it_lies(tmp_path: Path) -> None:
    shutil.copytree(EMBEDDED, tmp_path / "copy")
    assert hf.base(EMBEDDED).name == "embedded"
    assert hf.base(tmp_path / "copy") == Base("copy", hf.base(EMBEDDED).digest)


def test_one_role_alone_can_be_read(policy: Policy, tokenizer: Any, tmp_path: Path) -> None:
    policy.save(tmp_path)
    shutil.rmtree(tmp_path / "adapters" / "discriminator")
    other = make_policy(build_model(), tokenizer, Choice(rank=4, alpha=8), seed=9)
    before = other.trainer.digest("discriminator")
    other.load_adapters(tmp_path / "adapters", ("generator",))
    assert other.trainer.digest("generator") == policy.trainer.digest("generator")
    assert other.trainer.digest("discriminator") == before


def test_every_move_of_the_weights_is_counted(policy: Policy) -> None:
    one_step(policy)
    assert policy.moves == {"generator": 1, "discriminator": 0}


def test_a_folder_without_a_tokenizer_is_named(tmp_path: Path) -> None:
    build_model().save_pretrained(tmp_path)
    with pytest.raises(PolicyError, match="holds no tokenizer"):
        open_policy(tmp_path, device="cpu")


def test_a_folder_without_adapters_is_named(policy: Policy, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="holds no adapter"):
        policy.load(tmp_path)


def test_adapters_of_another_rank_change_nothing(policy: Policy, tokenizer: Any, tmp_path: Path) -> None:
    make_policy(build_model(), tokenizer, Choice(rank=2)).save(tmp_path)
    before = [policy.trainer.digest(role) for role in ROLES]
    with pytest.raises(PolicyError, match="another model or rank"):
        policy.load(tmp_path)
    assert [policy.trainer.digest(role) for role in ROLES] == before


def test_one_adapter_that_does_not_fit_keeps_the_other_out(policy: Policy, tokenizer: Any, tmp_path: Path) -> None:
    make_policy(build_model(), tokenizer, Choice(rank=2)).save(tmp_path / "other")
    with torch.no_grad():
        next(iter(trainer(policy).adapters.parameters["generator"].values())).add_(1.0)
    policy.save(tmp_path / "mixed")
    with torch.no_grad():
        next(iter(trainer(policy).adapters.parameters["generator"].values())).sub_(0.5)
    mixed = tmp_path / "mixed" / "adapters" / "discriminator"
    shutil.rmtree(mixed)
    (tmp_path / "other" / "adapters" / "discriminator").rename(mixed)
    before = [policy.trainer.digest(role) for role in ROLES]
    with pytest.raises(PolicyError, match=r"lora_\w+\.weight is \[2, \d+\] where this policy has"):
        policy.load(tmp_path / "mixed")
    assert [policy.trainer.digest(role) for role in ROLES] == before


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA GPU")
def test_a_cuda_policy_learns_one_role_and_leaves_the_other(tokenizer: Any) -> None:
    model = build_model()
    model.to("cuda")  # type: ignore[arg-type]
    policy = make_policy(model, tokenizer, Choice(rank=4))
    before = {role: policy.trainer.digest(role) for role in ROLES}
    on_gpu = Rows(ROWS.ids_BT.cuda(), ROWS.mask_BT.cuda(), ROWS.where_BT.cuda())
    policy.trainer.accumulate("generator", on_gpu, 1.0, torch.sum)
    policy.step("generator", policy.trainer.take_gradient("generator"), 1.0)
    assert policy.trainer.digest("generator") != before["generator"]
    assert policy.trainer.digest("discriminator") == before["discriminator"]
    assert len(policy.complete([request((5, 9, 17))], Sampling(1.0, 4))[0].ids) <= 4


# ---- of one's own, by reference ----


def own_sampler(trainer: Any, ends: frozenset[int], seed: int) -> Any:
    return open_sampler(trainer, ends, seed)


def own_trainer(source: Any, settings: Choice, seed: int, device: str) -> Any:
    return open_trainer(source, replace(settings, backend="transformers"), seed, device)


def no_sampler(*arguments: Any) -> Any:
    return object()


def foreign_trainer(*arguments: Any) -> Any:
    return BigramTrainer()


def test_a_sampler_and_a_trainer_of_ones_own_play_and_learn_as_ours_do(model_folder: Path) -> None:
    own = Choice(sampler=plugins.reference(own_sampler), backend=plugins.reference(own_trainer))
    asked = [request((5, 9, 17), branch=branch) for branch in range(3)]
    mine, ours = (open_policy(model_folder, settings, 3) for settings in (own, Choice()))
    assert mine.complete(asked, Sampling(1.0, 8)) == ours.complete(asked, Sampling(1.0, 8))
    assert mine.trainer.digest("generator") == ours.trainer.digest("generator")


def test_a_sampler_that_is_none_is_refused_with_what_it_lacks(model_folder: Path) -> None:
    settings = Choice(sampler=plugins.reference(no_sampler))
    with pytest.raises(PolicyError, match="no_sampler made object, which lacks complete, weights_changed, forget"):
        open_policy(model_folder, settings)


def test_a_trainer_that_is_not_ours_needs_a_sampler_of_its_own(model_folder: Path) -> None:
    settings = Choice(backend=plugins.reference(foreign_trainer))
    with pytest.raises(PolicyError, match="made BigramTrainer: give a --sampler of your own too"):
        open_policy(model_folder, settings)
