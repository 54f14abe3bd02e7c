"""The update's invariants: who moves, what the gradient is, what is counted."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import cycle
from typing import Any

import pytest
import torch

from selfplay.config import Config
from selfplay.game.episode import ROLES, Role
from selfplay.game.players import Sampling
from selfplay.learning.policy import Choice, Policy
from selfplay.learning.policy.errors import PolicyError
from selfplay.learning.policy.protocol import Rows
from selfplay.learning.ranks import Ranks
from selfplay.learning.samples import Sample, Span, micro_batches
from selfplay.learning.update import clipped_update, k3, surrogate, update_relief
from tests.learning.conftest import build_model, make_policy, request, rows, stir, trainer
from tests.memory import Memory

SETTINGS = Config()


def sample(seed: int, spans: Sequence[tuple[int, int, float]], length: int = 20) -> Sample:
    ids = tuple(torch.randint(5, 290, (length,), generator=torch.Generator().manual_seed(seed)).tolist())
    return Sample(ids, tuple(Span(*span) for span in spans))


SAMPLES = [
    sample(0, [(3, 8, 1.0), (12, 18, -0.5)]),
    sample(1, [(4, 9, -1.0)], length=12),
    sample(2, [(10, 20, 0.7)]),
    sample(3, [(1, 4, 2.0)], length=6),
]


class Watched(Ranks):
    """One process that keeps what was reduced: of each inner step the tally, then the summed gradient."""

    def reduce(self, tensor: torch.Tensor) -> torch.Tensor:
        self.messages = [*getattr(self, "messages", ()), tensor.clone()]
        return tensor


def gradient(policy: Policy, samples: Sequence[Sample], settings: Config = SETTINGS) -> torch.Tensor:
    """The token mean's gradient of the generator at the first inner step, flat."""
    watched = Watched()
    stats = clipped_update(policy, "generator", samples, settings, watched)
    return (watched.messages[1] / stats.tokens).float()


def reinforce(policy: Policy, samples: Sequence[Sample], temperature: float = 1.0) -> torch.Tensor:
    """Hand-written: row by row through transformers, -sum A log p / tokens."""
    loss, tokens = torch.zeros(()), 0
    parameters = list(trainer(policy).adapters.parameters["generator"].values())
    with trainer(policy).adapters.role("generator"):
        for row in samples:
            logits = trainer(policy).model(input_ids=torch.tensor([row.ids])).logits[0] / temperature
            for span in row.spans:
                for position in range(span.start, span.end):
                    loss = loss - span.advantage * torch.log_softmax(logits[position - 1], -1)[row.ids[position]]
                    tokens += 1
        grads = torch.autograd.grad(loss / tokens, parameters)
    return torch.cat([grad.flatten() for grad in grads])


def test_an_update_moves_its_role_and_nothing_else(policy: Policy) -> None:
    before = {role: policy.trainer.digest(role) for role in (*ROLES, None)}
    base = policy.trainer.logprobs(None, rows(SAMPLES[0].ids), 1.0)[0]
    for role, idle in (ROLES, ROLES[::-1]):
        held = policy.trainer.digest(idle)
        clipped_update(policy, role, SAMPLES, SETTINGS)
        assert policy.trainer.digest(role) != before[role]
        assert policy.trainer.digest(idle) == held
    assert policy.trainer.digest(None) == before[None]
    assert torch.equal(policy.trainer.logprobs(None, rows(SAMPLES[0].ids), 1.0)[0], base)


def test_how_far_the_adapter_went_is_measured_on_its_weights(policy: Policy) -> None:
    before = policy.trainer.snapshot("generator")
    stats = clipped_update(policy, "generator", SAMPLES, SETTINGS)
    after = policy.trainer.snapshot("generator")
    flat = torch.cat([(after[name] - before[name]).flatten() for name in before])
    assert stats.moved == pytest.approx(float(flat.norm()), rel=1e-5)
    assert stats.moved > 0


def test_at_a_learning_rate_of_zero_there_is_a_gradient_and_nothing_moves(policy: Policy) -> None:
    policy.trainer.scale_rate("generator", 0.0)
    stats = clipped_update(policy, "generator", SAMPLES, SETTINGS)
    assert stats.grad_norm > 0
    assert stats.moved == 0


def test_the_gradient_is_that_of_reinforce(policy: Policy) -> None:
    expected = reinforce(policy, SAMPLES)
    assert torch.allclose(gradient(policy, SAMPLES), expected, rtol=1e-3, atol=1e-6)


def test_temperature_is_applied_in_scoring(policy: Policy) -> None:
    expected = reinforce(policy, SAMPLES, temperature=0.7)
    settings = replace(SETTINGS, temperature=0.7)
    assert torch.allclose(gradient(policy, SAMPLES, settings), expected, rtol=1e-3, atol=1e-6)


def test_micro_batches_add_up_to_the_batch(policy: Policy) -> None:
    before = policy.trainer.state()
    whole = gradient(policy, SAMPLES)
    policy.load_state(before)
    split = gradient(policy, SAMPLES, replace(SETTINGS, micro_batch_tokens=20))
    assert torch.allclose(whole, split, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("tokens", [4096, 60])
def test_branches_of_one_prefix_update_as_separate_rows_do(policy: Policy, tokens: int) -> None:
    stems = [sample(seed, [], length=length).ids for seed, length in ((7, 30), (8, 24))]
    branches = [
        Sample(
            stem + tail.ids,
            tuple(replace(span, start=span.start + len(stem), end=span.end + len(stem)) for span in spans),
        )
        for stem in stems
        for seed in range(4)
        for tail in [sample(seed, [], length=8 + seed)]
        for spans in [(Span(0, 3, 1.0 - seed), Span(5, 8, 0.3))]
    ]
    expected = reinforce(policy, branches)
    assert torch.allclose(
        gradient(policy, branches, replace(SETTINGS, micro_batch_tokens=tokens)), expected, rtol=1e-3, atol=1e-6
    )


def test_the_ratio_is_exactly_one_at_the_first_inner_step(policy: Policy) -> None:
    stats = clipped_update(policy, "generator", SAMPLES, SETTINGS)
    assert stats.ratio_max == 1.0
    assert stats.clip_share == 0.0


def test_a_second_inner_step_clips(policy: Policy) -> None:
    policy.trainer.scale_rate("generator", 100.0)
    stats = clipped_update(policy, "generator", SAMPLES, replace(SETTINGS, num_iterations=2))
    assert stats.ratio_max > 1.2
    assert stats.clip_share > 0.05


def test_the_surrogate_is_the_lower_of_free_and_clipped() -> None:
    ratio = torch.tensor([1.0, 1.5, 0.5, 1.5, 0.5])
    advantage = torch.tensor([1.0, 1.0, 1.0, -1.0, -1.0])
    loss, clipped = surrogate(ratio, advantage, (0.8, 1.2))
    assert torch.allclose(loss, torch.tensor([-1.0, -1.2, -0.5, 1.5, 0.8]))
    assert clipped.tolist() == [False, True, False, False, True]


def test_the_kl_estimate_is_zero_for_the_base_and_positive_else() -> None:
    logprobs = torch.log(torch.tensor([0.2, 0.5]))
    assert torch.equal(k3(logprobs, logprobs), torch.zeros(2))
    assert torch.allclose(
        k3(torch.tensor([math.log(0.5)]), torch.tensor([math.log(0.25)])), torch.tensor([0.5 - 1 + math.log(2)])
    )


def test_a_penalty_on_kl_pulls_towards_the_base(policy: Policy) -> None:
    flat = [replace(row, spans=tuple(replace(span, advantage=0.0) for span in row.spans)) for row in SAMPLES]
    kls = [clipped_update(policy, "generator", flat, replace(SETTINGS, beta=1.0)).kl for _ in range(8)]
    assert 0 < kls[-1] < 0.8 * kls[0]


def test_tokens_entropy_and_loss_are_means_over_scored_tokens(policy: Policy) -> None:
    stats = clipped_update(policy, "generator", SAMPLES, SETTINGS)
    advantages = [(8 - 3) * 1.0 + (18 - 12) * -0.5, (9 - 4) * -1.0, 10 * 0.7, 3 * 2.0]
    assert stats.tokens == 29
    assert stats.loss == pytest.approx(-sum(advantages) / 29, rel=1e-5)
    assert 0 < stats.entropy < math.log(320)


def test_what_was_sampled_is_scored_alike(policy: Policy) -> None:
    asked = [request((5, 6, 7, 8), branch=branch) for branch in range(4)]
    done = policy.complete(asked, Sampling(0.7, 15))
    samples = [
        Sample(a.ids + d.ids, (Span(4, 4 + len(d.ids), 1.0, d.logprobs),)) for a, d in zip(asked, done, strict=True)
    ]
    stats = clipped_update(policy, "generator", samples, replace(SETTINGS, temperature=0.7))
    assert 0 < stats.logprob_gap < 1e-5
    assert stats.logprob_gap_max < 1e-4


def test_a_sampler_that_disagrees_stops_the_run_before_anything_moves(policy: Policy) -> None:
    asked = [request((5, 6, 7, 8), role="discriminator")]  # the wrong adapter
    done = policy.complete(asked, Sampling(1.0, 15))[0]
    before = policy.trainer.digest("generator")
    wrong = Sample(asked[0].ids + done.ids, (Span(4, 4 + len(done.ids), 1.0, done.logprobs),))
    with pytest.raises(PolicyError, match="sampler and trainer differ"):
        clipped_update(policy, "generator", [wrong], SETTINGS)
    assert policy.trainer.digest("generator") == before


def drawn(policy: Policy, role: Role, further: Sequence[float] = (0.0,)) -> list[Sample]:
    """Turns of a role; of each token the sampler says what the policy does, less one of `further` in turn."""
    asked = [request((5, 6, 7, 8), role=role, branch=branch) for branch in range(4)]
    return [
        Sample(
            asking.ids + done.ids,
            (
                Span(
                    4, 4 + len(done.ids), 1.0, tuple(p - f for p, f in zip(done.logprobs, cycle(further), strict=False))
                ),
            ),
        )
        for asking, done in zip(asked, policy.complete(asked, Sampling(1.0, 15)), strict=True)
    ]


@pytest.mark.parametrize(("ratio", "weight", "share"), [(1.5, 1.5, 0.0), (4.0, 2.0, 1.0), (0.25, 0.25, 0.0)])
def test_a_token_weighs_as_much_more_as_the_trainer_says_it_up_to_the_cap(
    policy: Policy, ratio: float, weight: float, share: float
) -> None:
    settings = replace(SETTINGS, logprob_gap_limit=5.0, importance_cap=2.0)
    samples = drawn(policy, "generator", (math.log(ratio),))
    stats = clipped_update(policy, "generator", samples, settings)
    assert stats.importance_clip_share == share
    assert stats.loss == pytest.approx(-weight, rel=1e-4)


def test_without_a_cap_nothing_is_weighed_in_fp32(policy: Policy) -> None:
    stats = clipped_update(
        policy, "generator", drawn(policy, "generator", (math.log(4),)), replace(SETTINGS, logprob_gap_limit=5.0)
    )
    assert (stats.importance_clip_share, stats.loss) == (0.0, pytest.approx(-1.0))


def test_turns_that_are_nearer_to_the_other_role_stop_the_run_within_the_limit_too(policy: Policy) -> None:
    settings, before = replace(SETTINGS, logprob_gap_limit=50.0), policy.trainer.digest("generator")
    with pytest.raises(PolicyError, match="nearer to the discriminator than to the trainer's generator"):
        clipped_update(policy, "generator", drawn(policy, "discriminator"), settings)
    assert policy.trainer.digest("generator") == before


def test_a_sampler_that_rounds_is_doubted_and_goes_on(policy: Policy) -> None:
    samples = drawn(policy, "generator", (0.08, -0.06))
    stats = clipped_update(policy, "generator", samples, replace(SETTINGS, logprob_gap_limit=0.5))
    assert 0.05 < stats.logprob_gap < 0.1
    assert stats.moved > 0


def test_the_way_out_of_a_disagreement_is_a_flag_that_exists(policy: Policy) -> None:
    with pytest.raises(PolicyError) as raised:
        clipped_update(policy, "generator", [replace(SAMPLES[3], spans=(Span(1, 4, 2.0, (-9.0,) * 3),))], SETTINGS)
    named = re.findall(r"--([\w-]+)", str(raised.value))
    assert named
    assert all(name.replace("-", "_") in {each.name for each in fields(Config)} for name in named)


def test_a_gradient_that_is_not_finite_moves_nothing_and_is_said(policy: Policy) -> None:
    parameter = next(iter(trainer(policy).adapters.parameters["generator"].values()))
    sound = parameter.detach().clone()
    with torch.no_grad():
        parameter.view(-1)[0] = math.inf
    before = policy.trainer.digest("generator")
    assert clipped_update(policy, "generator", SAMPLES, SETTINGS).skipped
    assert policy.trainer.digest("generator") == before
    with torch.no_grad():
        parameter.copy_(sound)
    stats = clipped_update(policy, "generator", SAMPLES, SETTINGS)
    assert not stats.skipped
    assert math.isfinite(stats.grad_norm)


def test_without_scored_tokens_no_optimizer_moves(policy: Policy) -> None:
    before = policy.trainer.digest("generator")
    stats = clipped_update(policy, "generator", [Sample((5, 6, 7), ())], SETTINGS)
    assert (stats.tokens, stats.grad_norm) == (0, 0.0)
    assert policy.trainer.digest("generator") == before


def test_tokens_after_the_last_span_change_nothing(policy: Policy) -> None:
    before = policy.trainer.state()
    longer = [Sample((*row.ids, 9, 9, 9), row.spans) for row in SAMPLES]
    expected = gradient(policy, SAMPLES)
    policy.load_state(before)
    assert torch.equal(gradient(policy, longer), expected)


def test_gradients_are_clipped_to_the_norm(policy: Policy) -> None:
    ones = torch.ones_like(policy.trainer.take_gradient("generator"))
    assert policy.step("generator", ones, 1.0) == pytest.approx(math.sqrt(len(ones)), rel=1e-5)


@pytest.mark.parametrize(
    ("span", "message"),
    [
        (Span(0, 3, 1.0), "outside 1:20"),
        (Span(5, 21, 1.0), "outside 1:20"),
        (Span(5, 8, 1.0, (0.1,)), "one per token"),
        (Span(5, 8, math.nan), "mask such turns"),
        (Span(5, 8, 1.0, (-1.0, -math.inf, -1.0)), "is -inf; leave out what the sampler did not give"),
        (Span(5, 8, 1.0, (-1.0, math.nan, -1.0)), "is nan; leave out"),
    ],
)
def test_a_span_that_cannot_be_scored_is_named(policy: Policy, span: Span, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        clipped_update(policy, "generator", [Sample(SAMPLES[0].ids, (span,))], SETTINGS)


class Tight:
    """A trainer that runs out of memory in micro-batches of more than `most` rows, in the middle of a pass."""

    def __init__(self, trainer: Any, most: int) -> None:
        self.trainer, self.most, self.failed = trainer, most, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.trainer, name)

    def accumulate(self, role: Role, rows: Rows, temperature: float, loss: Any) -> Any:
        told = self.trainer.accumulate(role, rows, temperature, loss)
        if len(rows.ids_BT) > self.most:
            self.failed += 1
            raise torch.OutOfMemoryError("CUDA out of memory")  # with the gradient of this micro-batch collected
        return told


@pytest.mark.parametrize("fast", [True, False])
def test_out_of_memory_halves_the_micro_batch_and_changes_no_figure(tokenizer: Any, fast: bool) -> None:
    settings, told = replace(SETTINGS, num_iterations=2, beta=0.1), Memory()
    figures = []
    for most in (len(SAMPLES), 1):
        policy = stir(make_policy(build_model(), tokenizer, Choice(rank=4, fast=fast)))
        tight = Tight(policy.trainer, most)
        relief = update_relief(4096, told)
        stats = clipped_update(replace(policy, trainer=tight), "generator", SAMPLES, settings, relief=relief)
        figures.append([stats.loss, stats.kl, stats.grad_norm, stats.entropy, stats.ratio_max, stats.logprob_gap])
    assert tight.failed
    assert told.said
    assert relief.size < 4096
    assert figures[0] == pytest.approx(figures[1], rel=1e-4, abs=1e-6)


def test_a_single_row_that_does_not_fit_ends_the_update_with_the_knob_to_turn(policy: Policy) -> None:
    before = policy.trainer.digest("generator")
    with pytest.raises(PolicyError, match="--gradient-checkpointing"):
        clipped_update(replace(policy, trainer=Tight(policy.trainer, 0)), "generator", SAMPLES, SETTINGS)
    assert policy.trainer.digest("generator") == before


def test_in_fp16_the_summed_loss_needs_no_scaling(tokenizer: Any) -> None:
    gradients = []
    for model in (build_model(hidden_size=64), build_model(hidden_size=64).half()):
        policy = stir(make_policy(model, tokenizer, Choice(rank=4, fast=False)))
        (batch,) = micro_batches(SAMPLES, 1 << 20, policy.trainer.device)
        policy.trainer.accumulate("generator", batch, 1.0, torch.sum)
        gradients.append(policy.trainer.take_gradient("generator"))
    assert gradients[1].isfinite().all()
    assert float(torch.cosine_similarity(gradients[0], gradients[1], dim=0)) > 0.999
    assert (gradients[1] == 0).sum() <= (gradients[0] == 0).sum() + len(gradients[0]) // 1000
