"""Both decoders: right log-probabilities, keyed randomness, a cache that changes nothing."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from selfplay.game.episode import ROLES
from selfplay.game.players import Completion, Request, Sampling
from selfplay.learning.policy import Choice, Policy, qwen2
from selfplay.learning.policy.decoder import Decoder, PrefixCache
from selfplay.learning.policy.draw import pick, turn_seed, uniforms
from selfplay.learning.policy.errors import PolicyError
from selfplay.learning.policy.opening import open_sampler
from tests.learning.conftest import build_model, make_policy, request, stir, trainer

PROMPTS = [tuple(5 + (i * 13 + j * 7) % 280 for j in range(4 + 3 * i)) for i in range(5)]


def requests() -> list[Request]:
    return [request(prompt, branch=branch) for branch, prompt in enumerate(PROMPTS + PROMPTS[:2])]


def decoder(policy: Policy, limits: Choice | None = None, ends: frozenset[int] = frozenset({1})) -> Decoder:
    with torch.no_grad():
        return Decoder(qwen2.merged(trainer(policy).model, "generator"), ends, 0, limits)


def reference(policy: Policy, asked: Request, done: Completion, temperature: float) -> torch.Tensor:
    ids = torch.tensor([asked.ids + done.ids])
    with trainer(policy).adapters.role("generator"), torch.no_grad():
        logits = trainer(policy).model(input_ids=ids).logits[0, len(asked.ids) - 1 : -1]
    return torch.log_softmax(logits / temperature, -1).gather(1, torch.tensor(done.ids)[:, None])[:, 0]


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("shape", [{}, {"num_key_value_heads": 4, "tie_word_embeddings": False}])
def test_logprobs_equal_the_transformers_forward(tokenizer: Any, fast: bool, shape: dict[str, Any]) -> None:
    policy = stir(make_policy(build_model(**shape), tokenizer, Choice(rank=4, fast=fast)))
    for asked, done in zip(requests(), policy.complete(requests(), Sampling(0.7, 20)), strict=True):
        assert torch.allclose(torch.tensor(done.logprobs), reference(policy, asked, done, 0.7), atol=1e-5)


def test_both_decoders_sample_the_same_tokens(tokenizer: Any) -> None:
    played = []
    for fast in (True, False):
        policy = stir(make_policy(build_model(), tokenizer, Choice(rank=4, fast=fast)))
        played.append([done.ids for done in policy.complete(requests(), Sampling(1.0, 20))])
    assert played[0] == played[1]


@pytest.mark.parametrize("fast", [True, False])
def test_a_turn_does_not_depend_on_its_companions(tokenizer: Any, fast: bool) -> None:
    policy = stir(make_policy(build_model(), tokenizer, Choice(rank=4, fast=fast)))
    together = policy.complete(requests(), Sampling(1.0, 20))
    policy.sampler.forget()
    alone = [policy.complete([asked], Sampling(1.0, 20))[0] for asked in reversed(requests())]
    assert [done.ids for done in together] == [done.ids for done in reversed(alone)]


@pytest.mark.parametrize("fast", [True, False])
def test_a_call_may_hold_requests_of_both_roles_in_any_order(tokenizer: Any, fast: bool) -> None:
    policy = stir(make_policy(build_model(), tokenizer, Choice(rank=4, fast=fast)))
    own = {role: [request(prompt, role=role) for prompt in PROMPTS] for role in ROLES}
    mixed = [asked for pair in zip(*own.values(), strict=True) for asked in pair]
    apart = {role: [done.ids for done in policy.complete(own[role], Sampling(1.0, 12))] for role in ROLES}
    together = [done.ids for done in policy.complete(mixed, Sampling(1.0, 12))]
    assert {role: together[i::2] for i, role in enumerate(ROLES)} == apart
    assert apart["generator"] != apart["discriminator"]


def test_every_part_of_a_key_changes_the_turn() -> None:
    keys = [request((1,)).key, request((1,), problem="q").key, request((1,), branch=1).key, request((1,), stage=2).key]
    keys.append(request((1,), role="discriminator").key)
    assert len({turn_seed(seed, key) for key in keys for seed in (0, 1)}) == 10


def test_uniforms_are_uniform_and_reproducible() -> None:
    drawn = uniforms([2**64 - 1] * 20_000, range(20_000))
    assert torch.equal(drawn, uniforms([2**64 - 1] * 20_000, range(20_000)))
    assert float(drawn.min()) >= 0
    assert float(drawn.max()) < 1
    assert abs(float(drawn.mean()) - 0.5) < 0.01
    assert abs(float(drawn.var()) - 1 / 12) < 0.002


def test_drawn_tokens_follow_the_distribution_at_the_temperature() -> None:
    logits = torch.tensor([0.0, 1.0, 2.0, -math.inf]).expand(20_000, 4)
    ids, logprobs = pick(logits, 0.5, uniforms([7] * 20_000, range(20_000)))
    expected = torch.softmax(logits[0] / 0.5, -1)
    assert torch.allclose(torch.bincount(ids, minlength=4) / 20_000, expected, atol=0.01)
    assert torch.allclose(logprobs.exp(), expected[ids], atol=1e-6)


def test_a_token_of_probability_zero_is_never_drawn() -> None:
    logits = torch.tensor([[-math.inf, 0.0, -math.inf]])
    for uniform in (0.0, 0.5, 1 - 2**-53):
        assert pick(logits, 1.0, torch.tensor([uniform], dtype=torch.float64))[0].tolist() == [1]


def test_temperature_zero_is_greedy(policy: Policy) -> None:
    done = policy.complete([request(PROMPTS[0])], Sampling(0.0, 6))[0]
    ids = torch.tensor([PROMPTS[0] + done.ids])
    with trainer(policy).adapters.role("generator"), torch.no_grad():
        assert trainer(policy).model(input_ids=ids).logits[0, len(PROMPTS[0]) - 1 : -1].argmax(-1).tolist() == list(
            done.ids
        )


def test_the_end_of_turn_is_kept_and_a_full_turn_is_truncated(policy: Policy) -> None:
    ends = frozenset(range(0, 320, 5))
    for done in decoder(policy, ends=ends).complete(requests(), Sampling(1.0, 6)):
        assert done.truncated == (done.ids[-1] not in ends)
        assert len(done.ids) == len(done.logprobs) <= 6
        assert not any(i in ends for i in done.ids[:-1])


def turn_by_turn(decoder: Decoder) -> list[tuple[int, ...]]:
    """Three turns of every conversation; the last branches each into two."""
    ids = [asked.ids for asked in requests()]
    for stage in (1, 2, 3):
        branches = ids * 2 if stage == 3 else ids
        asked = [request(row, branch=i, stage=stage) for i, row in enumerate(branches)]
        done = decoder.complete(asked, Sampling(1.0, 12))
        ids = [row + turn.ids + (2, 9, 9) for row, turn in zip(branches, done, strict=True)]
    return ids


def test_the_prefix_cache_changes_no_token_and_saves_most_of_the_prompts(policy: Policy) -> None:
    ends = frozenset(range(0, 320, 9))
    cached, plain = decoder(policy, ends=ends), decoder(policy, Choice(cache_mib=0), ends)
    assert turn_by_turn(cached) == turn_by_turn(plain)
    assert cached.prefilled < 0.4 * plain.prefilled


def test_small_batches_change_no_token(policy: Policy) -> None:
    ends = frozenset(range(0, 320, 9))
    assert turn_by_turn(decoder(policy, Choice(rows=3, prefill_tokens=20), ends)) == turn_by_turn(
        decoder(policy, None, ends)
    )


def test_equal_prompts_are_fed_once(policy: Policy) -> None:
    player = decoder(policy)
    player.complete([request(PROMPTS[3], branch=branch) for branch in range(6)], Sampling(1.0, 3))
    assert player.prefilled == len(PROMPTS[3])


def test_an_updated_role_is_sampled_with_its_new_weights(policy: Policy) -> None:
    asked = requests()
    before = policy.complete(asked, Sampling(0.0, 8))
    stir(policy, seed=5)
    after = policy.complete(asked, Sampling(0.0, 8))
    assert [done.ids for done in before] != [done.ids for done in after]


def test_a_conversation_stops_at_the_models_last_position(policy: Policy) -> None:
    longest = trainer(policy).model.config.max_position_embeddings
    asked = [request((5,) * (longest - 3)), request((6,) * longest, branch=1), request((7, 8), branch=2)]
    near, full, short = decoder(policy, ends=frozenset()).complete(asked, Sampling(1.0, 10))
    assert (len(near.ids), near.truncated, len(short.ids)) == (3, True, 10)
    assert (full.ids, full.truncated) == ((), True)


def test_the_decoder_for_every_model_stops_there_too(tokenizer: Any) -> None:
    whole = stir(make_policy(build_model(), tokenizer, Choice(rank=4, fast=False)))
    slow = open_sampler(trainer(whole), ends=frozenset())
    longest = trainer(whole).model.config.max_position_embeddings
    asked = [request((5,) * (longest - 3)), request((6,) * longest, branch=1), request((7, 8), branch=2)]
    near, full, short = slow.complete(asked, Sampling(1.0, 10))
    assert (len(near.ids), near.truncated, len(short.ids)) == (3, True, 10)
    assert (full.ids, full.truncated) == ((), True)


@pytest.mark.parametrize("fast", [True, False])
def test_a_model_that_overflows_is_refused_at_its_first_token(tokenizer: Any, fast: bool) -> None:
    policy = make_policy(build_model(), tokenizer, Choice(rank=4, fast=fast))
    trainer(policy).model.get_output_embeddings().weight.data[7] = float("inf")
    with pytest.raises(PolicyError, match="log-probability of a token is nan"):
        policy.complete([request((5, 6))], Sampling(1.0, 3))


def test_the_cache_finds_the_longest_common_prefix_and_forgets_the_oldest() -> None:
    one_row = 2 * 4 * 4  # keys and values, 4 positions, float32
    cache = PrefixCache(2 * one_row)
    for value, ids in ((1.0, (1, 2, 3, 4)), (2.0, (1, 2, 9, 9)), (3.0, (8, 8, 8, 8))):
        cache.keep([ids], torch.full((1, 2, 1, 1, 4, 1), value))
    length, shared = cache.find((1, 2, 3, 4))  # the first row is forgotten, the second shares two ids
    assert shared is not None
    assert (length, shared[0, 0, 0, :, 0].tolist()) == (2, [2.0, 2.0])
    assert cache.find((8, 8, 8, 8))[0] == 3  # one id is left to feed
    assert cache.find((5, 5)) == (0, None)
