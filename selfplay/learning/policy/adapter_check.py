"""Whether both adapters are heard by sampler and trainer alike, tried once when a policy is opened.

While B is zero an adapter changes nothing, so one that a backend ignores, or takes for the other's, would go unseen for
many updates. For a moment each role's B is filled with noise: the sampler's log-probabilities must then be the trainer's for
that role, and far from those of the base and of the other role. Afterwards both adapters are what they were, bit for bit.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import torch

from selfplay.game.episode import ROLES, Role, TurnKey
from selfplay.game.players import Request, Sampling
from selfplay.learning.policy.errors import PolicyError
from selfplay.learning.policy.player import Policy
from selfplay.learning.policy.protocol import DOUBT, Snapshot, Trainer
from selfplay.learning.policy.trainer import PeftTrainer
from selfplay.learning.samples import Sample, Span, micro_batches

NOISE = 0.1  # of B: an adapter then changes its layer by about as much as is there
TURNS, TOKENS = 4, 8
APART = 4  # how many times nearer to its own role than to any other a turn must be


def check_adapters(policy: Policy, trainer: PeftTrainer) -> None:
    """Raises PolicyError where an adapter is ignored or mistaken by sampler or trainer."""
    before: dict[Role, Snapshot] = {role: trainer.snapshot(role) for role in ROLES}
    try:
        trainer.adapters.put({role: _noisy(before[role], seed) for seed, role in enumerate(ROLES)})
        _all_changed(policy)
        for role in ROLES:
            _check(policy, role)
    finally:
        trainer.adapters.put(before)
        _all_changed(policy)


def _noisy(weights: Snapshot, seed: int) -> Snapshot:
    generator = torch.Generator().manual_seed(seed)
    return {
        name: (torch.randn(each.shape, generator=generator) * NOISE).to(each) if "lora_B" in name else each
        for name, each in weights.items()
    }


def _all_changed(policy: Policy) -> None:
    for role in ROLES:
        policy.sampler.weights_changed(role)
    policy.sampler.forget()


def _check(policy: Policy, role: Role) -> None:
    prompt = policy.chat.first("Write a function.")
    requests = [Request(TurnKey(0, "heard", role, branch, 1), prompt) for branch in range(TURNS)]
    turns = policy.complete(requests, Sampling(1.0, TOKENS))
    samples = [
        Sample(prompt + turn.ids, (Span(len(prompt), len(prompt) + len(turn.ids), 0.0, turn.logprobs),))
        for turn in turns
    ]
    if not any(turn.ids for turn in turns):
        return  # the model's context has no room for a turn; the game will say so
    gaps = {each: _gap(policy.trainer, each, samples) for each in (*ROLES, None)}
    to_itself = gaps.pop(role)
    least = min(gaps.values())
    if not (APART * to_itself < least and least > min(DOUBT, policy.trainer.bounds.logprob_gap)):
        far = ", ".join(f"{other or 'the base'} {gap:.1e}" for other, gap in gaps.items())
        raise PolicyError(
            f"with noise in both adapters the sampler's {role} differs by {to_itself:.1e} nats a token from the trainer's, and "
            f"from the other's by: {far}. It should be near the first and far from the rest: an adapter is ignored, or taken "
            "for another. Give --backend transformers, or another --sampler"
        )


def _gap(trainer: Trainer, role: Role | None, samples: Sequence[Sample]) -> float:
    """Mean difference in nats of what the sampler said of its tokens and what the trainer says of them as `role`."""
    [batch] = micro_batches(samples, sys.maxsize, trainer.device)
    return float((trainer.logprobs(role, batch, 1.0)[0] - batch.sampled_K).abs().mean())
