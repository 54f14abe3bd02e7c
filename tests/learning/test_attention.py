"""Shared prefixes in the update: the same log-probabilities and gradients as rows of their own, and only where that holds."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import CohereConfig, CohereForCausalLM

from selfplay.learning.policy import Choice
from selfplay.learning.policy.attention import NAME, adopt, flat
from selfplay.learning.policy.protocol import Rows
from selfplay.learning.policy.trainer import PeftTrainer
from selfplay.learning.samples import Sample, Span, micro_batches
from tests.learning.test_cache import KINDS, SLIDING, model

CPU = torch.device("cpu")


def samples(groups: int = 2, seed: int = 0) -> list[Sample]:
    """Groups of three rows with a common beginning each, and two scored spans with context between them."""
    random, made = Random(seed), []
    for group in range(groups):
        prefix = tuple(random.randrange(320) for _ in range(20 + 9 * group))
        for row in range(3):
            ids = prefix + tuple(random.randrange(320) for _ in range(12 + row))
            start = len(prefix) + 1
            made.append(Sample(ids, (Span(start, start + 4, 1.0), Span(start + 6, start + 9 + row, -0.5))))
    return made


class Unshared(PeftTrainer):
    def _shares(self, model: Any) -> bool:
        return False


def opened(kind: type[PeftTrainer], made: Any, checkpointing: bool = False) -> PeftTrainer:
    trainer = kind(made, Choice(rank=4, alpha=8, fast=False, checkpointing=checkpointing))
    generator = torch.Generator().manual_seed(1)
    for name, parameter in trainer.model.named_parameters():
        if "lora_B" in name:
            parameter.data.copy_(torch.randn(parameter.shape, generator=generator) * 0.1)
    return trainer


def scored(trainer: PeftTrainer) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probabilities of all samples in order, and the gradient of a loss that weighs each token differently."""
    told = []
    for batch in micro_batches(samples(), 400, CPU, share=True):
        weights_N = torch.linspace(-1, 1, len(batch.advantage_N))
        told += [trainer.accumulate("generator", batch, 0.7, lambda new_N, w=weights_N: (w * new_N).sum())[0]]
    return torch.cat(told), trainer.take_gradient("generator")


@pytest.mark.parametrize("checkpointing", [False, True])
@pytest.mark.parametrize("kind", [*KINDS, (CohereConfig, CohereForCausalLM)])
def test_shared_prefixes_give_the_same_log_probabilities_and_gradients(
    kind: tuple[Any, Any], checkpointing: bool
) -> None:
    more = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    shared, plain = (opened(each, model(kind, **more), checkpointing) for each in (PeftTrainer, Unshared))
    assert shared.bounds.shares_prefixes
    assert not plain.bounds.shares_prefixes
    (one, gradient), (other, expected) = scored(shared), scored(plain)
    assert torch.allclose(one, other, atol=1e-4)
    assert float((gradient - expected).norm()) <= 1e-4 * float(expected.norm())
    assert float(expected.norm()) > 0


def test_what_is_shared_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = opened(PeftTrainer, model())
    fed = list[int]()
    body: Any = shared.model.get_base_model().model
    forward = body.forward

    def counting(*args: Any, **given: Any) -> Any:
        fed.append(given["input_ids"].numel())
        return forward(*args, **given)

    monkeypatch.setattr(body, "forward", counting)
    scored(shared)
    assert sum(fed) == sum(len(own) for own in {each.prefix for each in samples()}) + sum(
        each.needed - 1 - len(each.prefix) for each in samples()
    )


@pytest.mark.parametrize("kind", SLIDING)
def test_models_with_sliding_windows_share_nothing_and_attend_as_they_did(kind: tuple[Any, Any]) -> None:
    made = model(kind, sliding_window=8)
    assert not opened(PeftTrainer, made).bounds.shares_prefixes
    assert made.config._attn_implementation == "sdpa"


def test_a_model_that_does_not_pass_on_where_rows_branch_shares_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made = model()
    forward = made.model.forward
    monkeypatch.setattr(made.model, "forward", lambda *args, groups=None, **given: forward(*args, **given))
    assert not adopt(made)


def test_a_model_that_attends_in_its_own_way_is_left_alone() -> None:
    made = model()
    made.set_attn_implementation("eager")
    assert not adopt(made)
    assert made.config._attn_implementation == "eager"


def test_a_padded_batch_comes_out_as_transformers_attends() -> None:
    made = model()
    ids = torch.arange(24).view(2, 12)
    mask = torch.ones_like(ids)
    mask[0, :5] = 0
    expected = made(input_ids=ids, attention_mask=mask).logits[mask > 0]
    assert adopt(made)
    assert made.config._attn_implementation == NAME
    assert torch.allclose(made(input_ids=ids, attention_mask=mask).logits[mask > 0], expected, atol=1e-4)


@given(st.integers(0, 1000), st.integers(1, 3))
def test_each_scored_id_follows_the_state_at_its_place(seed: int, groups: int) -> None:
    [batch] = micro_batches(samples(groups, seed), 10_000, CPU, share=True)
    laid = flat(batch)
    assert laid is not None
    row_N, column_N = batch.where_BT.nonzero(as_tuple=True)
    assert torch.equal(laid.positions_1T[0, laid.leads_N], column_N - 1)
    assert torch.equal(laid.ids_1T[0, laid.leads_N], batch.ids_BT[row_N, column_N - 1])
    assert sum(prefix + sum(branches) for prefix, branches in laid.groups) == laid.ids_1T.numel()


def test_rows_that_share_too_little_are_fed_as_they_are() -> None:
    ids = torch.arange(60).view(2, 30)
    assert flat(Rows(ids, torch.ones_like(ids), torch.arange(30)[None].expand(2, -1) > 0)) is None
