"""The samplers over a live model, `own` and `generate`: the same turns as from the small decoder, whatever the batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM

from selfplay.game.episode import ROLES
from selfplay.game.players import Completion, Request, Sampling
from selfplay.learning.policy import Choice, Policy, PolicyError
from selfplay.learning.policy.relief import Relief
from selfplay.learning.policy.turns import chunks
from tests.learning.conftest import build_model, make_policy, request, stir, trainer
from tests.memory import Memory

LIVE = ("own", "generate")
PROMPTS = [tuple(5 + (i * 13 + j * 7) % 280 for j in range(4 + 3 * (i % 7))) for i in range(16)]
SIZES = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 320,
    "max_position_embeddings": 128,
    "initializer_range": 0.3,
}


def requests(branches: Sequence[int] = (0, 1)) -> list[Request]:
    """64 turns of both roles, some with the same prompt."""
    return [request(prompt, branch=b, role=role) for prompt in PROMPTS for b in branches for role in ROLES]


def policy_of(tokenizer: Any, sampler: str, model: Any = None, **settings: Any) -> Policy:
    chosen = Choice(rank=4, alpha=8, sampler=sampler, **settings)  # type: ignore[arg-type]
    return stir(make_policy(model or build_model(), tokenizer, chosen))


def ids(done: Sequence[Completion]) -> list[tuple[int, ...]]:
    return [each.ids for each in done]


def test_all_three_samplers_draw_the_same_tokens(tokenizer: Any) -> None:
    small, own, generate = (
        policy_of(tokenizer, name).complete(requests(), Sampling(0.7, 24)) for name in ("small", *LIVE)
    )
    assert ids(small) == ids(own) == ids(generate)
    for one, other, third in zip(small, own, generate, strict=True):
        assert one.truncated == other.truncated == third.truncated
        assert torch.allclose(torch.tensor(one.logprobs), torch.tensor(other.logprobs), atol=1e-5)
        assert torch.allclose(torch.tensor(one.logprobs), torch.tensor(third.logprobs), atol=1e-5)


@pytest.mark.parametrize("kind", [(Qwen3Config, Qwen3ForCausalLM), (LlamaConfig, LlamaForCausalLM)])
def test_own_and_generate_agree_on_other_architectures(tokenizer: Any, kind: tuple[Any, Any]) -> None:
    played = []
    for name in LIVE:
        torch.manual_seed(0)
        model = kind[1](kind[0](**SIZES)).float().eval()
        played.append(ids(policy_of(tokenizer, name, model).complete(requests(), Sampling(1.0, 24))))
    assert played[0] == played[1]


@pytest.mark.parametrize("name", LIVE)
def test_greedy_turns_are_those_of_the_small_decoder(tokenizer: Any, name: str) -> None:
    played = [policy_of(tokenizer, each).complete(requests((0,)), Sampling(0.0, 12)) for each in ("small", name)]
    assert ids(played[0]) == ids(played[1])


@pytest.mark.parametrize("name", LIVE)
@pytest.mark.parametrize("limits", [{"rows": 3}, {"prefill_tokens": 30}, {"prefill_tokens": 1}])
def test_batches_change_no_turn(tokenizer: Any, name: str, limits: dict[str, int]) -> None:
    whole, cut = (policy_of(tokenizer, name, **more).complete(requests(), Sampling(1.0, 20)) for more in ({}, limits))
    assert ids(whole) == ids(cut)


@pytest.mark.parametrize("name", ["small", *LIVE])
def test_no_conversation_reaches_beyond_the_longest_row(tokenizer: Any, name: str) -> None:
    policy = policy_of(tokenizer, name, context=30)
    done = policy.complete(requests(), Sampling(1.0, 60))
    for asked, each in zip(requests(), done, strict=True):
        assert len(asked.ids) + len(each.ids) <= 30
        assert not each.truncated or len(asked.ids) + len(each.ids) == 30
    assert policy.trainer.bounds.context == 30


@pytest.mark.parametrize("name", ["small", *LIVE])
def test_a_conversation_that_fills_the_context_gets_an_empty_truncated_turn(tokenizer: Any, name: str) -> None:
    policy = policy_of(tokenizer, name, context=8)
    full = request(tuple(range(5, 15)))
    (done,) = policy.complete([full], Sampling(1.0, 4))
    assert (done.ids, done.truncated) == ((), True)


def test_sampling_settings_that_a_model_brings_are_put_away(tokenizer: Any) -> None:
    model = build_model()
    model.generation_config = GenerationConfig(
        do_sample=True, top_k=2, top_p=0.5, temperature=0.1, repetition_penalty=1.5, no_repeat_ngram_size=1
    )
    brought = policy_of(tokenizer, "generate", model).complete(requests(), Sampling(1.0, 20))
    assert ids(brought) == ids(policy_of(tokenizer, "own").complete(requests(), Sampling(1.0, 20)))


def test_generate_puts_the_model_in_order_after_a_pass_with_checkpointing(tokenizer: Any) -> None:
    policy = policy_of(tokenizer, "generate", checkpointing=True, fast=False)
    before = policy.complete(requests((0,)), Sampling(1.0, 8))
    trainer(policy).model.train()
    assert ids(policy.complete(requests((0,)), Sampling(1.0, 8))) == ids(before)


def test_the_decoder_for_small_models_is_refused_where_it_does_not_apply(tokenizer: Any) -> None:
    for model, settings in ((build_model(hidden_size=520), {}), (build_model().bfloat16(), {})):
        with pytest.raises(PolicyError, match="--sampler own"):
            policy_of(tokenizer, "small", model, **settings)


def test_a_half_precision_model_is_not_taken_for_a_small_one(tokenizer: Any) -> None:
    policy = policy_of(tokenizer, "auto", build_model().bfloat16())
    assert not trainer(policy).small
    assert len(policy.complete(requests((0,)), Sampling(1.0, 4))) == 32


def test_prompts_are_cut_by_padded_tokens_and_a_long_one_goes_alone() -> None:
    prompts = [(1,) * n for n in (2, 2, 3, 9, 20)]
    assert [len(prompts[piece]) for piece in chunks(prompts, 9)] == [3, 1, 1]
    assert not list(chunks([], 9))


class Tight:
    """Wraps a forward that runs out of memory for more than `most` rows at once, after `calls` calls."""

    def __init__(self, forward: Any, most: int, calls: int) -> None:
        self.forward, self.most, self.calls, self.failed = forward, most, calls, 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls -= 1
        if kwargs["input_ids"].shape[0] > self.most and self.calls < 0:
            self.failed += 1
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\nmore")
        return self.forward(*args, **kwargs)


@pytest.mark.parametrize("name", LIVE)
@pytest.mark.parametrize("calls", [0, 5])
def test_out_of_memory_halves_the_rows_and_changes_no_turn(
    tokenizer: Any, name: str, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = policy_of(tokenizer, name)
    expected = ids(policy.complete(requests(), Sampling(1.0, 20)))
    base = trainer(policy).model.get_base_model()
    tight = Tight(base.forward, 5, calls)
    monkeypatch.setattr(base, "forward", tight)
    assert ids(policy.complete(requests(), Sampling(1.0, 20))) == expected
    first = tight.failed
    assert 1 <= first <= 3
    assert ids(policy.complete(requests(), Sampling(1.0, 20))) == expected
    assert tight.failed == first  # what did not fit once is not tried again


@pytest.mark.parametrize("name", LIVE)
def test_one_row_that_does_not_fit_ends_with_the_knob_to_turn(
    tokenizer: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = policy_of(tokenizer, name)
    base = trainer(policy).model.get_base_model()
    monkeypatch.setattr(base, "forward", Tight(base.forward, 0, 0))
    with pytest.raises(PolicyError, match="--max-completion-length"):
        policy.complete(requests(), Sampling(1.0, 8))


def test_relief_says_what_it_does_and_lets_other_errors_pass() -> None:
    told, sizes = Memory(), list[int]()

    def attempt(size: int) -> int:
        sizes.append(size)
        if size > 3:
            raise torch.OutOfMemoryError("no more")
        return size

    relief = Relief("sampling", 128, "give less", told)
    assert relief.run(attempt, most=20) == 2
    assert sizes == [20, 10, 5, 2]
    assert told.said == [f"memory ran out while sampling: going on with {n} at once" for n in (10, 5, 2)]
    with pytest.raises(ZeroDivisionError):
        relief.run(lambda size: 1 // 0)


def test_the_head_gets_last_states_of_their_own(tokenizer: Any) -> None:
    policy, strided = policy_of(tokenizer, "own"), list[bool]()
    head = trainer(policy).model.get_output_embeddings()
    hook = head.register_forward_pre_hook(lambda _, given: strided.append(not given[0].is_contiguous()))
    policy.complete(requests(), Sampling(1.0, 3))
    hook.remove()
    assert strided
    assert not any(strided)  # a view of all states: in 16 bit on a CPU the product with it copies the head for each row
