"""A second backend: a player that knows only its last byte, as one table of logits for each role.

Small, and whole: it samples by the same keyed numbers, and learns by plain gradient descent. What runs with it needs
nothing of a model but the protocol.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from selfplay.game.episode import ROLES, Role
from selfplay.game.players import Completion, Request, Sampling
from selfplay.learning.policy import Policy
from selfplay.learning.policy.draw import pick, turn_seed, uniforms
from selfplay.learning.policy.protocol import Bounds, Rows, Snapshot, State
from selfplay.run.adapters import UNKNOWN
from tests.scripted import ByteChat

IDS = ByteChat.end + 1


class BigramTrainer:
    """`tables[role]` [V, V]: logits of the next id after each; the base is uniform."""

    def __init__(self, rate: float = 1.0) -> None:
        self.bounds, self.device = Bounds(1e-4, sys.maxsize), torch.device("cpu")
        noise = torch.Generator().manual_seed(0)
        self.tables = {role: torch.randn(IDS, IDS, generator=noise).requires_grad_() for role in ROLES}
        self.untrained, self.base = torch.zeros(IDS, IDS), UNKNOWN
        self.rate, self.factors = rate, dict.fromkeys(ROLES, 1.0)

    @torch.no_grad()
    def logprobs(
        self, role: Role | None, rows: Rows, temperature: float, weights: Snapshot | None = None
    ) -> tuple[Tensor, Tensor]:
        table = self.untrained if role is None else self.tables[role] if weights is None else weights["table"]
        return _logprobs(table, rows, temperature)

    def accumulate(
        self, role: Role, rows: Rows, temperature: float, loss: Callable[[Tensor], Tensor]
    ) -> tuple[Tensor, Tensor]:
        logprobs_N, entropies_N = _logprobs(self.tables[role], rows, temperature)
        loss(logprobs_N).backward()
        return logprobs_N.detach(), entropies_N.detach()

    def take_gradient(self, role: Role) -> Tensor:
        table = self.tables[role]
        gradient = torch.zeros_like(table) if table.grad is None else table.grad
        table.grad = None
        return gradient.flatten().double()

    @torch.no_grad()
    def step(self, role: Role, gradient_D: Tensor, max_norm: float) -> float:
        norm = float(gradient_D.norm())
        clipped = gradient_D * min(1.0, max_norm / max(norm, 1e-9))
        self.tables[role] -= (self.rate * self.factors[role] * clipped).view(IDS, IDS).float()
        return norm

    def scale_rate(self, role: Role, factor: float) -> None:
        self.factors[role] = factor

    def snapshot(self, role: Role) -> Snapshot:
        return {"table": self.tables[role].detach().clone()}

    def digest(self, role: Role | None) -> str:
        table = self.untrained if role is None else self.tables[role]
        return hashlib.sha256(table.detach().numpy().tobytes()).hexdigest()

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        torch.save(self.state(), folder / "tables.pt")

    def load(self, folder: Path, roles: Sequence[Role] = ROLES) -> None:
        self.load_state(torch.load(folder / "tables.pt", weights_only=True))

    def state(self) -> State:
        return {role: self.snapshot(role) for role in ROLES}

    @torch.no_grad()
    def load_state(self, state: State) -> None:
        for role in ROLES:
            self.tables[role].copy_(state[role]["table"])


class BigramSampler:
    """Samples all rows of both roles together, id by id, from the trainer's present tables."""

    def __init__(self, trainer: BigramTrainer) -> None:
        self.trainer = trainer

    @torch.no_grad()
    def complete(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        said: list[list[tuple[int, float]]] = [[] for _ in requests]
        for position in range(sampling.max_tokens):
            on = [i for i, own in enumerate(said) if not own or own[-1][0] != ByteChat.end]
            if not on:
                break
            last = [said[i][-1][0] if said[i] else requests[i].ids[-1] for i in on]
            roles = [requests[i].key.role for i in on]
            logits_BV = torch.stack([self.trainer.tables[role][each] for role, each in zip(roles, last, strict=True)])
            drawn = uniforms([turn_seed(0, requests[i].key) for i in on], [position] * len(on))
            for i, *each in zip(on, *(t.tolist() for t in pick(logits_BV, sampling.temperature, drawn)), strict=True):
                said[i].append((each[0], each[1]))
        return [
            Completion(tuple(i for i, _ in own), tuple(p for _, p in own), own[-1][0] != ByteChat.end) for own in said
        ]

    def weights_changed(self, role: Role) -> None: ...

    def forget(self) -> None: ...


def _logprobs(table: Tensor, rows: Rows, temperature: float) -> tuple[Tensor, Tensor]:
    scored = rows.where_BT[:, 1:]
    logprobs_NV = torch.log_softmax(table[rows.ids_BT[:, :-1][scored]] / temperature, -1)
    targets_N = rows.ids_BT[:, 1:][scored]
    entropies_N = -(logprobs_NV.exp() * logprobs_NV).sum(-1)
    return logprobs_NV.gather(1, targets_N[:, None])[:, 0], entropies_N.detach()


def bigram_policy() -> Policy:
    trainer = BigramTrainer()
    return Policy(trainer, BigramSampler(trainer), ByteChat())
