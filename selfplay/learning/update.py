"""The update: a clipped policy-gradient step on one role's adapter, over conversations with scored spans.

    loss = - sum over scored tokens of min(r A, clip(r, 1 - eps_low, 1 + eps_high) A) / number of scored tokens
    r = pi(token) / pi_old(token), A the advantage of the token's span

Source: PPO's surrogate (Schulman et al. 2017) with the token mean and the two bounds of DAPO (Yu et al. 2025); optional
KL to the base by the k3 estimator (Schulman 2020). Every conversation is one row: its turns of one role, each span with
an advantage of its own. The mean runs over the whole batch and all ranks. Old log-probabilities come from the same code
as the new ones, so the ratio of the first inner step is exactly 1. A gradient that is not finite moves nothing. TRL's
trainer was left out (one scalar per completion of one policy), and so was a value function.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from selfplay.game.episode import Role
from selfplay.learning.policy.errors import PolicyError
from selfplay.learning.policy.player import Policy
from selfplay.learning.ranks import Ranks
from selfplay.learning.samples import Batch, Sample, micro_batches


@dataclass(frozen=True, slots=True)
class UpdateSettings:
    """Knobs, by TRL's names where it has one.

    `temperature`: that of sampling. `micro_batch_tokens`: padded tokens per forward and backward; halve it when memory
    runs out. `logprob_gap_bound`: nats, mean difference of sampler and trainer that stops the run; None: 1e-4 in fp32,
    0.05 in half precision or 4 bit, where kernels round differently for prompts and single tokens. `importance_cap`:
    weight tokens by trainer over sampler, truncated there, where the two differ by design (vLLM); None: off.
    """

    epsilon: float = 0.2
    epsilon_high: float | None = None
    beta: float = 0.0
    num_iterations: int = 1
    temperature: float = 1.0
    max_grad_norm: float = 1.0
    micro_batch_tokens: int = 4096
    logprob_gap_bound: float | None = None
    importance_cap: float | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        high = self.epsilon if self.epsilon_high is None else self.epsilon_high
        return 1 - self.epsilon, 1 + high

    def gap_bound(self, precise: bool) -> float:
        default = 1e-4 if precise else 0.05
        return default if self.logprob_gap_bound is None else self.logprob_gap_bound


@dataclass(frozen=True, slots=True)
class UpdateStats:
    """Of one update, over all ranks. `loss`, `kl`, `entropy` and `logprob_gap` are means over scored tokens.

    Loss, entropy and gap are the first inner step's, kl and `grad_norm` (before clipping) the last's; `clip_share` and
    `ratio_max` cover all inner steps. `skipped`: whether a gradient was not finite, which ends the update where it is.
    """

    loss: float
    clip_share: float
    ratio_max: float
    kl: float
    grad_norm: float
    tokens: int
    entropy: float
    logprob_gap: float
    logprob_gap_max: float
    seconds: float
    skipped: bool = False


@dataclass(slots=True)
class _Tally:
    """Sums of one inner step on one rank, later over all."""

    tokens: float = 0.0
    loss: float = 0.0
    clipped: float = 0.0
    kl: float = 0.0
    entropy: float = 0.0
    gap: float = 0.0
    gap_tokens: float = 0.0

    def tensor(self) -> Tensor:
        sums = (self.tokens, self.loss, self.clipped, self.kl, self.entropy, self.gap, self.gap_tokens)
        return torch.tensor(sums, dtype=torch.float64)


def clipped_update(
    policy: Policy, role: Role, samples: Sequence[Sample], settings: UpdateSettings, ranks: Ranks | None = None
) -> UpdateStats:
    """Moves the adapter of `role` by `num_iterations` steps over `samples`, this rank's share of the batch.

    All ranks call it together, also those without samples. Where no rank has a scored token, no optimizer moves.
    Raises PolicyError where sampler and trainer disagree beyond the bound, before anything has moved.
    """
    started = time.perf_counter()
    ranks = ranks or Ranks()
    batches = list(micro_batches(samples, settings.micro_batch_tokens, policy.device, policy.fast))
    old: list[Tensor] = []
    steps, peaks, norm, skipped = [], [1.0, 0.0], 0.0, False
    with policy.role(role):
        for iteration in range(settings.num_iterations):
            tally = _accumulate(policy, batches, old, settings, peaks)
            total, finite = _reduce(policy, role, tally, ranks)
            if not finite or not total.tokens:
                skipped = not finite
                break
            if iteration == 0:
                _check_gap(total, settings.gap_bound(policy.precise))
            norm = policy.step(role, settings.max_grad_norm)
            steps.append(total)
    peaks = [max(column) for column in zip(*ranks.gather(peaks), strict=True)]
    return replace(_stats(steps, peaks, norm, time.perf_counter() - started), skipped=skipped)


def _accumulate(
    policy: Policy, batches: list[Batch], old: list[Tensor], settings: UpdateSettings, peaks: list[float]
) -> _Tally:
    """One pass: adds the gradients of the summed loss, fills `old` on the first, raises `peaks` (ratio, gap)."""
    tally, first = _Tally(), not old
    for i, batch in enumerate(batches):
        new, entropy = policy.score(batch.ids_BT, batch.mask_BT, batch.where_BT, settings.temperature)
        if first:
            old.append(new.detach())
        ratio = (new - old[i]).exp()
        loss_N, clipped_N = surrogate(ratio, batch.advantage_N, settings.bounds)
        if settings.importance_cap is not None:
            loss_N = loss_N * importance(old[i], batch.sampled_K, batch.known_N, settings.importance_cap)
        if settings.beta:
            kl_N = k3(new, _base_logprobs(policy, batch, settings.temperature))
            loss_N = loss_N + settings.beta * kl_N
            tally.kl += float(kl_N.detach().sum())
        loss = loss_N.sum()
        loss.backward()
        tally.tokens += len(new)
        tally.loss += float(loss.detach())
        tally.clipped += float(clipped_N.sum())
        tally.entropy += float(entropy.sum())
        peaks[0] = max(peaks[0], float(ratio.detach().max()))
        if first:
            _measure_gap(tally, new.detach()[batch.known_N], batch.sampled_K, peaks)
    return tally


def surrogate(ratio_N: Tensor, advantage_N: Tensor, bounds: tuple[float, float]) -> tuple[Tensor, Tensor]:
    """-min(r A, clip(r) A) per token, and where the clip decided."""
    free, held = ratio_N * advantage_N, ratio_N.clamp(*bounds) * advantage_N
    return -torch.minimum(free, held), held < free


def k3(new_N: Tensor, base_N: Tensor) -> Tensor:
    """Unbiased, never negative estimate of KL(new || base) per token: q/p - 1 - log(q/p)."""
    difference = base_N - new_N
    return difference.exp() - 1 - difference


def importance(trainer_N: Tensor, sampler_K: Tensor, known_N: Tensor, cap: float) -> Tensor:
    """Truncated importance weights min(trainer / sampler, cap); 1 where the sampler said nothing."""
    weights_N = torch.ones_like(trainer_N)
    weights_N[known_N] = (trainer_N[known_N] - sampler_K).exp().clamp(max=cap)
    return weights_N


@torch.no_grad()
def _base_logprobs(policy: Policy, batch: Batch, temperature: float) -> Tensor:
    with policy.base():
        return policy.score(batch.ids_BT, batch.mask_BT, batch.where_BT, temperature)[0]


def _measure_gap(tally: _Tally, trainer_K: Tensor, sampler_K: Tensor, peaks: list[float]) -> None:
    gap = (trainer_K - sampler_K).abs()
    tally.gap += float(gap.sum())
    tally.gap_tokens += len(gap)
    peaks[1] = max(peaks[1], float(gap.max()) if len(gap) else 0.0)


def _reduce(policy: Policy, role: Role, tally: _Tally, ranks: Ranks) -> tuple[_Tally, bool]:
    """Adds up gradients and tallies over all ranks in one flat message; leaves the token mean in the gradients.

    Also returns whether all of it is finite. That is asked of the sums, which are the same on every rank, so that all
    ranks step or none does.
    """
    parameters = list(policy.adapters.parameters[role].values())
    if ranks.size == 1 and not tally.tokens:
        return tally, True
    grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
    flat = torch.cat([*(grad.flatten().double() for grad in grads), tally.tensor().to(policy.device)])
    ranks.reduce(flat)
    total = _Tally(*flat[-len(tally.tensor()) :].tolist())
    offset = 0
    for parameter in parameters:
        mean = flat[offset : offset + parameter.numel()] / max(total.tokens, 1.0)
        parameter.grad = mean.view_as(parameter).to(parameter.dtype)
        offset += parameter.numel()
    return total, bool(flat.isfinite().all())


def _check_gap(total: _Tally, bound: float) -> None:
    gap = total.gap / max(total.gap_tokens, 1.0)
    if not gap <= bound:
        raise PolicyError(
            f"sampler and trainer differ by {gap:.2e} nats a token where {bound:.0e} is allowed: "
            "the sampler may ignore the adapter or use another temperature; where they differ by design, as kernels in "
            "16 or 4 bit do, raise --logprob-gap-limit"
        )


def _stats(steps: list[_Tally], peaks: list[float], norm: float, seconds: float) -> UpdateStats:
    if not steps:
        return UpdateStats(0.0, 0.0, 1.0, 0.0, 0.0, 0, 0.0, 0.0, 0.0, seconds)
    first, last = steps[0], steps[-1]
    return UpdateStats(
        loss=first.loss / first.tokens,
        clip_share=sum(step.clipped for step in steps) / sum(step.tokens for step in steps),
        ratio_max=peaks[0],
        kl=last.kl / last.tokens,
        grad_norm=norm,
        tokens=int(first.tokens),
        entropy=first.entropy / first.tokens,
        logprob_gap=first.gap / max(first.gap_tokens, 1.0),
        logprob_gap_max=peaks[1],
        seconds=seconds,
    )


def update_metrics(stats: Mapping[Role, UpdateStats]) -> dict[str, Any]:
    """The metrics of a step's updates: the last one's by name and, where both roles were trained, each role's."""
    names = (
        *("loss", "clip_share", "ratio_max", "kl", "grad_norm"),
        *("tokens", "entropy", "logprob_gap", "logprob_gap_max"),
    )
    by_role = {f"{name}/{role}": getattr(own, name) for role, own in stats.items() for name in names}
    last = list(stats.values())[-1:]
    return {name: getattr(own, name) for own in last for name in names} | (by_role if len(stats) > 1 else {})
