"""Whether both adapters are heard by sampler and trainer alike, tried once when a policy is opened.

While B is zero an adapter changes nothing, so one that a backend ignores, or takes for the other's, would go unseen for
many updates. For a moment each role's B is filled with noise: the sampler's log-probabilities must then be the trainer's for
that role, and far from those of the base and of the other role. Afterwards both adapters are what they were, bit for bit.
"""

from __future__ import annotations

import torch
from torch import Tensor

from selfplay.game.episode import ROLES, Role, TurnKey
from selfplay.game.players import Completion, Request, Sampling
from selfplay.learning.policy.errors import PolicyError
from selfplay.learning.policy.player import Policy
from selfplay.learning.policy.protocol import Rows, Snapshot
from selfplay.learning.policy.trainer import PeftTrainer

NOISE = 0.1  # of B: an adapter then changes its layer by about as much as is there
TURNS, TOKENS = 4, 8
APART = 4  # how many times nearer to its own role than to any other a turn must be


def check_adapters(policy: Policy, trainer: PeftTrainer) -> None:
    """Raises PolicyError where an adapter is ignored or mistaken by sampler or trainer."""
    kept: dict[Role, Snapshot] = {role: trainer.snapshot(role) for role in ROLES}
    try:
        noisy: dict[Role, Snapshot] = {role: _noisy(kept[role], seed) for seed, role in enumerate(ROLES)}
        trainer.adapters.put(noisy)
        _all_changed(policy)
        for role in ROLES:
            _check(policy, role)
    finally:
        trainer.adapters.put(kept)
        _all_changed(policy)


def _noisy(weights: Snapshot, seed: int) -> Snapshot:
    generator = torch.Generator().manual_seed(seed)
    return {
        name: (torch.randn(own.shape, generator=generator) * NOISE).to(own) if "lora_B" in name else own
        for name, own in weights.items()
    }


def _all_changed(policy: Policy) -> None:
    for role in ROLES:
        policy.sampler.changed(role)
    policy.sampler.forget()


def _check(policy: Policy, role: Role) -> None:
    prompt = policy.chat.first("Write a function.")
    asked = [Request(TurnKey(0, "heard", role, branch, 1), prompt) for branch in range(TURNS)]
    done = policy.complete(asked, Sampling(1.0, TOKENS))
    said = torch.tensor([logprob for each in done for logprob in each.logprobs])
    if not len(said):
        return  # the model's context has no room for a turn; the game will say so
    gaps = {each: _gap(policy, each, prompt, done, said) for each in (*ROLES, None)}
    own = gaps.pop(role)
    least = min(gaps.values())
    if not (APART * own < least and least > policy.trainer.bounds.logprob_gap):
        far = ", ".join(f"{other or 'the base'} {gap:.1e}" for other, gap in gaps.items())
        raise PolicyError(
            f"with noise in both adapters the sampler's {role} differs by {own:.1e} nats a token from the trainer's, and from "
            f"the other's by: {far}. It should be near the first and far from the rest: an adapter is ignored, or taken for "
            "another. Give --backend transformers, or another --sampler"
        )


def _gap(policy: Policy, role: Role | None, prompt: tuple[int, ...], done: list[Completion], said: Tensor) -> float:
    """Mean difference in nats of what the sampler said of its tokens and what the trainer says of them as `role`."""
    width = len(prompt) + max(len(each.ids) for each in done)
    ids = torch.zeros(len(done), width, dtype=torch.long)
    mask, where = torch.zeros_like(ids), torch.zeros(len(done), width, dtype=torch.bool)
    for i, each in enumerate(done):
        row = prompt + each.ids
        ids[i, : len(row)] = torch.tensor(row)
        mask[i, : len(row)] = 1
        where[i, len(prompt) : len(row)] = True
    rows = Rows(*(each.to(policy.trainer.device) for each in (ids, mask, where)))
    return float((policy.trainer.logprobs(role, rows, 1.0)[0].cpu() - said).abs().mean())
