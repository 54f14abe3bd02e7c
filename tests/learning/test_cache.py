"""What the sampler `own` keeps between turns: it changes no token, is used, is bounded, and never outlives its weights."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
import torch
from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from selfplay.game.players import Sampling
from selfplay.learning.policy import Choice, Policy
from selfplay.learning.policy.cache import NO_PREFIX, Prefix
from selfplay.learning.policy.generate import GenerateSampler
from selfplay.learning.policy.stepwise import StepwiseSampler, stems
from selfplay.learning.policy.turns import LiveSampler
from tests.learning.conftest import build_model, make_policy, request, rows, stir, trainer
from tests.learning.test_live_samplers import SIZES

KINDS = [(Qwen2Config, Qwen2ForCausalLM), (Qwen3Config, Qwen3ForCausalLM), (LlamaConfig, LlamaForCausalLM)]
SLIDING = [(MistralConfig, MistralForCausalLM), (Gemma3TextConfig, Gemma3ForCausalLM)]
ENDS = frozenset(range(0, 320, 20))  # turns are of different lengths


def model(kind: tuple[Any, Any] = KINDS[0], **more: Any) -> Any:
    torch.manual_seed(0)
    return kind[1](kind[0](**(SIZES | {"max_position_embeddings": 1024} | more))).float().eval()


def policy_of(tokenizer: Any, made: Any = None) -> Policy:
    return stir(make_policy(made or model(), tokenizer, Choice(rank=4, alpha=8, fast=False)))


def sampler(policy: Policy, cache_mib: int = 64, rows: int = 128, prefill_tokens: int = 8192) -> StepwiseSampler:
    own = trainer(policy)
    return StepwiseSampler(
        own.adapters,
        ENDS,
        0,
        Choice(rows=rows, prefill_tokens=prefill_tokens, context=1024, cache_mib=cache_mib),
        own.ready_to_play,
    )


def conversations(sampler: LiveSampler, stages: int = 4) -> tuple[list[tuple[int, ...]], list[tuple[float, ...]]]:
    """Turns of three conversations that go on, each of which branches into three at the third stage."""
    random = Random(0)
    seats = [(p, 0, tuple(random.randrange(20, 300) for _ in range(9 + 8 * p))) for p in range(3)]
    ids, logprobs = [], []
    for stage in range(1, stages + 1):
        if stage == 3:
            seats = [(p, branch, row) for p, _, row in seats for branch in range(3)]
        asked = [request(row, str(p), branch, stage) for p, branch, row in seats]
        done = sampler.complete(asked, Sampling(1.0, 16))
        ids += [each.ids for each in done]
        logprobs += [each.logprobs for each in done]
        said = (7,) * 5
        seats = [(p, branch, row + each.ids + said) for (p, branch, row), each in zip(seats, done, strict=True)]
    return ids, logprobs


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_kept_changes_no_token_and_saves_most_of_the_prompts(tokenizer: Any, kind: tuple[Any, Any]) -> None:
    policy = policy_of(tokenizer, model(kind))
    keeping, plain = sampler(policy), sampler(policy, cache_mib=0)
    (one, said), (other, expected) = conversations(keeping), conversations(plain)
    assert one == other
    for left, right in zip(said, expected, strict=True):
        assert torch.allclose(torch.tensor(left), torch.tensor(right), atol=1e-4)
    assert keeping.prefilled < 0.5 * plain.prefilled


@pytest.mark.parametrize("limits", [{"rows": 2}, {"prefill_tokens": 20}, {"cache_mib": 1, "rows": 4}])
def test_batches_and_a_tight_limit_change_no_token(tokenizer: Any, limits: dict[str, int]) -> None:
    policy = policy_of(tokenizer)
    assert conversations(sampler(policy, **limits))[0] == conversations(sampler(policy, cache_mib=0))[0]


def test_a_prompt_that_several_batches_share_is_found_by_each(tokenizer: Any) -> None:
    policy = policy_of(tokenizer)
    one, many = sampler(policy), sampler(policy, rows=1)
    conversations(one)
    conversations(many)
    # At the branching stage each batch of one row feeds the prompt's five new ids and the turn's last; nothing more.
    assert many.prefilled - one.prefilled <= 3 * 2 * 6


@pytest.mark.parametrize("kind", SLIDING)
def test_models_that_forget_are_fed_whole_conversations(tokenizer: Any, kind: tuple[Any, Any]) -> None:
    policy = policy_of(tokenizer, model(kind, sliding_window=8))
    keeping, plain = sampler(policy), sampler(policy, cache_mib=0)
    assert conversations(keeping)[0] == conversations(plain)[0]
    assert keeping.prefilled == plain.prefilled


def test_a_model_that_tells_positions_by_place_is_fed_whole_conversations(
    tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = policy_of(tokenizer)
    body: Any = trainer(policy).model.get_base_model().model
    forward = body.forward

    def by_place(*args: Any, **given: Any) -> Any:
        known = given["past_key_values"].get_seq_length()
        given["position_ids"] = torch.arange(known, known + given["input_ids"].shape[1])[None]
        return forward(*args, **given)

    monkeypatch.setattr(body, "forward", by_place)
    keeping, plain = sampler(policy), sampler(policy, cache_mib=0)
    assert conversations(keeping)[0] == conversations(plain)[0]
    assert keeping.prefilled == plain.prefilled


def test_nothing_kept_outlives_an_update(tokenizer: Any) -> None:
    policy = policy_of(tokenizer)
    keeping = sampler(policy)
    policy = Policy(policy.trainer, keeping, policy.chat)
    conversations(keeping, stages=2)
    trainer(policy).accumulate("generator", rows(tuple(range(9, 30))), 1.0, lambda new_N: -new_N.sum())
    policy.step("generator", 1e3 * trainer(policy).take_gradient("generator"), 1.0)
    assert conversations(keeping)[0] == conversations(sampler(policy, cache_mib=0))[0]


def test_nothing_kept_is_of_another_role(tokenizer: Any) -> None:
    keeping = sampler(policy_of(tokenizer))
    prompt = tuple(range(9, 40))
    (one,) = keeping.complete([request(prompt)], Sampling(1.0, 8))
    fed = keeping.prefilled
    keeping.complete([request(prompt + one.ids + (7,), role="discriminator")], Sampling(1.0, 8))
    assert keeping.prefilled == fed + len(prompt) + len(one.ids) + 1


def test_a_call_drops_what_it_does_not_continue_and_forgetting_drops_all(tokenizer: Any) -> None:
    keeping = sampler(policy_of(tokenizer))
    long, short = request(tuple(range(9, 200))), request((5, 6, 7))
    keeping.complete([long], Sampling(1.0, 4))
    held = keeping.cached_bytes
    keeping.complete([short], Sampling(1.0, 4))
    assert 0 < keeping.cached_bytes < held
    keeping.forget()
    assert keeping.cached_bytes == 0


def test_no_more_is_kept_than_the_limit(tokenizer: Any) -> None:
    keeping = sampler(policy_of(tokenizer), cache_mib=1)
    for count in (2, 64):
        keeping.complete([request(tuple(range(i, i + 120)), str(i)) for i in range(count)], Sampling(1.0, 4))
        assert keeping.cached_bytes <= 1 << 20
    assert keeping.cached_bytes == 0  # the second batch is too large to be kept


def test_what_several_prompts_begin_with_is_fed_once(tokenizer: Any) -> None:
    policy = policy_of(tokenizer)
    keeping, plain = sampler(policy), sampler(policy, cache_mib=0)
    asked = [
        request((*range(100 * p + 5, 100 * p + 65), branch, 7, 9), str(p), branch)
        for p in range(2)
        for branch in range(3)
    ]
    one, other = (each.complete(asked, Sampling(1.0, 12)) for each in (keeping, plain))
    assert [each.ids for each in one] == [each.ids for each in other]
    assert (keeping.prefilled, plain.prefilled) == (2 * 60 + 6 * 3, 6 * 63)


def test_stems_go_beyond_what_is_known_and_leave_an_id_to_feed() -> None:
    long = tuple(range(60))
    assert stems({(*long, 1): NO_PREFIX, (*long, 2): NO_PREFIX}) == {long: [(*long, 1), (*long, 2)]}
    assert stems({long: NO_PREFIX, (*long, 2): NO_PREFIX}) == {long[:59]: [long, (*long, 2)]}
    assert not stems({(*long, 1): Prefix(40), (*long, 2): Prefix(40)})
    assert not stems({long: NO_PREFIX, long[::-1]: NO_PREFIX, long[:20]: NO_PREFIX})
    assert not stems({})


def test_out_of_memory_drops_what_is_kept_before_a_single_row_is_given_up(
    tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = policy_of(tokenizer)
    keeping, plain = sampler(policy, rows=1), sampler(policy, cache_mib=0)
    conversations(keeping, stages=2)
    base = trainer(policy).model.get_base_model()
    expected = conversations(plain)[0]
    forward, failed = base.forward, []

    def tight(*args: Any, **given: Any) -> Any:
        if keeping.cached_bytes:
            failed.append(1)
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return forward(*args, **given)

    monkeypatch.setattr(base, "forward", tight)
    assert conversations(keeping)[0] == expected
    assert len(failed) == 1


def test_own_still_draws_what_generate_draws_over_a_branching_conversation(tokenizer: Any) -> None:
    policy = policy_of(tokenizer, build_model(max_position_embeddings=1024))
    own = trainer(policy)
    theirs = GenerateSampler(own.adapters, ENDS, 0, Choice(context=1024), own.ready_to_play)
    assert conversations(sampler(policy))[0] == conversations(theirs)[0]
