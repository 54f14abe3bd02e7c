"""The update: a clipped policy-gradient step on one role's adapter, over conversations with scored spans.

    loss = - sum over scored tokens of min(r A, clip(r, 1 - eps_low, 1 + eps_high) A) / number of scored tokens
    r = pi(token) / pi_old(token), A the advantage of the token's span

Source: PPO's surrogate (Schulman et al. 2017) with the token mean and the two bounds of DAPO (Yu et al. 2025); optional
KL to the base by the k3 estimator (Schulman 2020). Where a sampler in 16 or 4 bit says something else of a token than the
trainer, its surrogate is weighted by min(pi_old / pi_sampler, cap): truncated importance weights (Yao et al. 2025). Every
conversation is one row: its turns of one role, each span with an advantage of its own. The mean runs over the whole batch and
all ranks. Old log-probabilities come from the same code as the new ones, so the ratio of the first inner step is exactly 1. A
gradient that is not finite moves nothing. TRL's trainer was left out (one scalar per completion of one policy), and so was a
value function.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from typing import Any

import torch
from torch import Tensor

from selfplay.config import Config
from selfplay.game.episode import ROLES, Role
from selfplay.learning.policy import SILENT, Policy, PolicyError, Relief
from selfplay.learning.policy.protocol import DOUBT, Bounds, Snapshot, Trainer
from selfplay.learning.ranks import Ranks
from selfplay.learning.samples import Batch, Sample, micro_batches
from selfplay.run.recorders import Recorder

MAX_GRAD_NORM = 1.0  # gradients are scaled down to it
NEARER = 0.8  # of the difference to its own role: less than that to another is no accident of rounding
IMPORTANCE_CAP = 2.0  # of a token's weight in 16 and 4 bit


@dataclass(frozen=True, slots=True)
class UpdateStats:
    """Of one update, over all ranks. `loss`, `kl`, `entropy` and `logprob_gap` are means over scored tokens.

    Loss, entropy and gap are the first inner step's, kl and `grad_norm` (before clipping) the last's; `clip_share` and
    `ratio_max` cover all inner steps. `skipped`: whether a gradient was not finite, which ends the update where it is.
    `importance_clip_share`: tokens whose importance weight was cut, of those that the sampler scored.
    `moved`: distance between the adapter's weights before and after.
    """

    loss: float = 0.0
    clip_share: float = 0.0
    ratio_max: float = 1.0
    kl: float = 0.0
    grad_norm: float = 0.0
    tokens: int = 0
    entropy: float = 0.0
    logprob_gap: float = 0.0
    logprob_gap_max: float = 0.0
    importance_clip_share: float = 0.0
    skipped: int = 0
    moved: float = 0.0


@dataclass(frozen=True, slots=True)
class _Tally:
    """Sums over the scored tokens of a micro-batch, an inner step, or all ranks' inner step."""

    tokens: float = 0.0
    loss: float = 0.0
    clipped: float = 0.0
    kl: float = 0.0
    entropy: float = 0.0
    gap: float = 0.0
    gap_tokens: float = 0.0
    cut_weights: float = 0.0

    def __add__(self, other: _Tally) -> _Tally:
        return _Tally(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))

    def over(self, ranks: Ranks) -> _Tally:
        return _Tally(*ranks.reduce(torch.tensor(astuple(self), dtype=torch.float64)).tolist())


@dataclass(frozen=True, slots=True)
class _Anchor:
    """What a micro-batch is held against in every inner step: the policy before the first, and the base (for the KL)."""

    old_N: Tensor
    base_N: Tensor | None


@dataclass(frozen=True, slots=True)
class _Pass:
    """What one micro-batch came to in one inner step."""

    tally: _Tally
    anchor: _Anchor
    ratio_max: float
    gap_max: float


def clipped_update(
    policy: Policy,
    role: Role,
    samples: Sequence[Sample],
    config: Config,
    ranks: Ranks | None = None,
    relief: Relief | None = None,
) -> UpdateStats:
    """Moves the adapter of `role` by `num_iterations` steps over `samples`, this rank's share of the batch.

    All ranks call it together, also those without samples. Where no rank has a scored token, no optimizer moves.
    `relief`: the padded tokens of a forward and backward, which it halves when memory runs out. Raises PolicyError where
    sampler and trainer disagree beyond the bound, before anything has moved, and where memory runs out with a single row.
    """
    ranks, trainer = ranks or Ranks(), policy.trainer
    relief = relief or update_relief(config.micro_batch_tokens)
    before = trainer.snapshot(role)
    passes: list[list[_Pass]] = []  # of each inner step
    steps, norm, skipped = [], 0.0, False
    for iteration in range(config.num_iterations):
        # Each inner step runs over the whole batch again and is held against the weights before the first.
        anchor = _whole([each.anchor for each in passes[0]]) if passes else None
        passes.append(_inner_step(trainer, role, samples, anchor, config, relief))
        total = sum((each.tally for each in passes[-1]), _Tally()).over(ranks)
        # What is asked from here on is asked of sums over all ranks: they all go on, or none does.
        if not total.tokens:
            break
        gradient_D = ranks.reduce(trainer.take_gradient(role)).div_(total.tokens)
        skipped = not (all(map(math.isfinite, astuple(total))) and bool(gradient_D.isfinite().all()))
        if skipped:
            break
        if iteration == 0:
            _check_gap(total, gap_limit(config, trainer.bounds))
            if total.gap > DOUBT * total.gap_tokens:
                _check_roles(trainer, role, samples, config, relief, ranks)
        norm = policy.step(role, gradient_D, MAX_GRAD_NORM)
        steps.append(total)
    done = [each for micro_batches in passes for each in micro_batches]
    peaks = max([1.0, *(each.ratio_max for each in done)]), max([0.0, *(each.gap_max for each in done)])
    ratio_max, gap_max = map(max, zip(*ranks.gather(peaks), strict=True))
    stats = _stats(steps, ratio_max, gap_max, norm)
    return replace(stats, skipped=int(skipped), moved=_distance(before, trainer.snapshot(role)))


def clip_bounds(config: Config) -> tuple[float, float]:
    """What the ratio is clipped to."""
    return 1 - config.epsilon[0], 1 + config.epsilon[-1]


def gap_limit(config: Config, bounds: Bounds) -> float:
    """Nats, mean difference of sampler and trainer, that stop the run: the trainer's own limit unless one was set."""
    return bounds.logprob_gap if config.logprob_gap_limit is None else config.logprob_gap_limit


def importance_cap(config: Config, bounds: Bounds) -> float | None:
    """What importance weights are cut at: as it was set, else IMPORTANCE_CAP where sampler and trainer differ by design. None:
    there are none."""
    return config.importance_cap or (IMPORTANCE_CAP if bounds.logprob_gap > DOUBT else None)


def update_relief(tokens: int, recorder: Recorder = SILENT) -> Relief:
    """The tokens of a micro-batch, to be shared by everything that scores rows."""
    way_out = "give --gradient-checkpointing true, lower --max-completion-length or --max-seq-length, or take a smaller --model"
    return Relief("scoring rows", tokens, way_out, recorder)


def _inner_step(
    trainer: Trainer,
    role: Role,
    samples: Sequence[Sample],
    anchor: _Anchor | None,
    config: Config,
    relief: Relief,
) -> list[_Pass]:
    """Collects the gradient over all samples, in micro-batches that fit."""
    tries = 0

    def attempt(tokens: int) -> list[_Pass]:
        nonlocal tries
        tries += 1
        if tries > 1:
            trainer.take_gradient(role)  # what a pass had collected when memory ran out
        batches = list(micro_batches(samples, tokens, trainer.device, trainer.bounds.shares_prefixes))
        anchors = [None] * len(batches) if anchor is None else _cut(anchor, [len(each.advantage_N) for each in batches])
        return [_accumulate(trainer, role, batch, each, config) for batch, each in zip(batches, anchors, strict=True)]

    # Tokens beyond which a micro-batch would hold no more: all rows as long as the longest.
    most = len(samples) * max((sample.needed for sample in samples), default=1)
    return relief.run(attempt, max(1, most))


def _whole(anchors: Sequence[_Anchor]) -> _Anchor | None:
    """Those of all micro-batches as one: however rows are cut into micro-batches, their order is the same."""
    if not anchors:
        return None
    bases = [each.base_N for each in anchors if each.base_N is not None]
    return _Anchor(torch.cat([each.old_N for each in anchors]), torch.cat(bases) if bases else None)


def _cut(anchor: _Anchor, sizes: list[int]) -> list[_Anchor]:
    bases = [None] * len(sizes) if anchor.base_N is None else anchor.base_N.split(sizes)
    return [_Anchor(old_N, base_N) for old_N, base_N in zip(anchor.old_N.split(sizes), bases, strict=True)]


def _accumulate(trainer: Trainer, role: Role, batch: Batch, anchor: _Anchor | None, config: Config) -> _Pass:
    """Adds a micro-batch's gradient of the summed loss to the trainer's. `anchor` None: the first inner step, which is
    held against itself."""
    cap, base_N = importance_cap(config, trainer.bounds), anchor.base_N if anchor else None
    if config.beta and anchor is None:  # under the base, which never moves; it costs a forward pass
        base_N = trainer.logprobs(None, batch, config.temperature)[0]

    def terms(new_N: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Of each scored token the loss, the ratio, whether the clip decided, and the KL to the base (zeros where unasked)."""
        # Detached, the new log-probabilities are the old ones: the ratio is 1 and its gradient that of the logarithm.
        old_N = anchor.old_N if anchor else new_N.detach()
        ratio_N = (new_N - old_N).exp()
        loss_N, clipped_N = surrogate(ratio_N, batch.advantage_N, clip_bounds(config))
        if cap is not None:
            loss_N = loss_N * importance_weights(old_N, batch, cap)
        if base_N is None:
            return loss_N, ratio_N, clipped_N, torch.zeros_like(new_N)
        kl_N = k3(new_N, base_N)
        return loss_N + config.beta * kl_N, ratio_N, clipped_N, kl_N

    new_N, entropies_N = trainer.accumulate(role, batch, config.temperature, lambda new_N: terms(new_N)[0].sum())
    # Once more without a graph: a few operations a token, and the loss stays a pure function.
    loss_N, ratio_N, clipped_N, kl_N = terms(new_N)
    # Only the first inner step scores with the weights that sampled.
    gap_K = (new_N[batch.known_N] - batch.sampled_K).abs() if anchor is None else new_N[:0]
    tally = _Tally(
        tokens=len(new_N),
        loss=float(loss_N.sum()),
        clipped=float(clipped_N.sum()),
        kl=float(kl_N.sum()),
        entropy=float(entropies_N.sum()),
        gap=float(gap_K.sum()),
        gap_tokens=len(gap_K),
        cut_weights=0.0
        if cap is None or anchor
        else float(((new_N[batch.known_N] - batch.sampled_K).exp() > cap).sum()),
    )
    gap_max = float(gap_K.max()) if len(gap_K) else 0.0
    return _Pass(tally, anchor or _Anchor(new_N, base_N), float(ratio_N.max()), gap_max)


def surrogate(ratio_N: Tensor, advantage_N: Tensor, bounds: tuple[float, float]) -> tuple[Tensor, Tensor]:
    """-min(r A, clip(r) A) per token, and where the clip decided."""
    free, held = ratio_N * advantage_N, ratio_N.clamp(*bounds) * advantage_N
    return -torch.minimum(free, held), held < free


def importance_weights(old_N: Tensor, batch: Batch, cap: float) -> Tensor:
    """min(pi_old / pi_sampler, cap) per token, 1 where the sampler said nothing."""
    weights_N = torch.ones_like(old_N)
    weights_N[batch.known_N] = (old_N[batch.known_N] - batch.sampled_K).exp().clamp(max=cap)
    return weights_N


def k3(new_N: Tensor, base_N: Tensor) -> Tensor:
    """Unbiased, never negative estimate of KL(new || base) per token: q/p - 1 - log(q/p)."""
    difference = base_N - new_N
    return difference.exp() - 1 - difference


def _distance(before: Snapshot, after: Snapshot) -> float:
    """Between the weights as they were and as they are, all of them as one vector."""
    parts = [(weights - before[name]).double().square().sum() for name, weights in after.items()]
    return math.sqrt(float(torch.stack(parts).sum())) if parts else 0.0


def _check_gap(total: _Tally, bound: float) -> None:
    gap = total.gap / max(total.gap_tokens, 1.0)
    if not gap <= bound:
        raise PolicyError(
            f"sampler and trainer differ by {gap:.2e} nats a token where {bound:.0e} is allowed: "
            "the sampler may ignore the adapter or use another temperature; where they differ by design, as kernels in "
            "16 or 4 bit do, raise --logprob-gap-limit"
        )


def _check_roles(
    trainer: Trainer, role: Role, samples: Sequence[Sample], config: Config, relief: Relief, ranks: Ranks
) -> None:
    """Raises PolicyError where the sampler's turns are nearer to the other role or to the base than to the trainer's `role`."""
    names: tuple[Role | None, ...] = (role, *(other for other in ROLES if other != role), None)

    def differences(tokens: int) -> Tensor:
        sums = torch.zeros(len(names), dtype=torch.float64)
        for batch in micro_batches(samples, tokens, trainer.device, trainer.bounds.shares_prefixes):
            for number, name in enumerate(names):
                told_N, _ = trainer.logprobs(name, batch, config.temperature)
                sums[number] += (told_N[batch.known_N] - batch.sampled_K).abs().sum().double().cpu()
        return sums

    own, *others = ranks.reduce(relief.run(differences)).tolist()
    for name, other in zip(names[1:], others, strict=True):
        if other < NEARER * own:
            raise PolicyError(
                f"what the sampler drew as the {role} is nearer to {f'the {name}' if name else 'the base'} than to the "
                f"trainer's {role} ({other / own:.2f} of the distance): an adapter is ignored, or taken for another. Give "
                "--backend transformers, or another --sampler"
            )


def _stats(steps: list[_Tally], ratio_max: float, gap_max: float, norm: float) -> UpdateStats:
    if not steps:
        return UpdateStats()
    first, last = steps[0], steps[-1]
    return UpdateStats(
        loss=first.loss / first.tokens,
        clip_share=sum(step.clipped for step in steps) / sum(step.tokens for step in steps),
        ratio_max=ratio_max,
        kl=last.kl / last.tokens,
        grad_norm=norm,
        tokens=int(first.tokens),
        entropy=first.entropy / first.tokens,
        logprob_gap=first.gap / max(first.gap_tokens, 1.0),
        logprob_gap_max=gap_max,
        importance_clip_share=first.cut_weights / max(first.gap_tokens, 1.0),
    )


def update_metrics(stats: Mapping[Role, UpdateStats]) -> dict[str, Any]:
    """The metrics of a step's updates: the last one's by name and, where both roles were trained, each role's."""
    figures = {role: asdict(each) for role, each in stats.items()}
    metrics = dict(*list(figures.values())[-1:])
    if len(figures) > 1:
        metrics |= {f"{name}/{role}": value for role, each in figures.items() for name, value in each.items()}
    return metrics
