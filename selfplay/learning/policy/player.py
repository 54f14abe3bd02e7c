"""Policy: the language model that plays both roles and learns, as one sampler, one trainer and one chat.

The three are opened separately (opening.py) and know nothing of each other; what concerns two of them is here: whoever
moves weights tells the sampler.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from torch import Tensor

from selfplay.game.episode import ROLES, Role
from selfplay.game.players import Chat, Completion, Request, Sampling
from selfplay.learning.policy.protocol import Sampler, State, Trainer

ADAPTERS = "adapters"


@dataclass(frozen=True, slots=True)
class Policy:
    """A `selfplay.game.players.Player` that learns. `moves`: how often the weights of each role were moved."""

    trainer: Trainer
    sampler: Sampler
    chat: Chat
    moves: dict[Role, int] = field(default_factory=lambda: dict.fromkeys(ROLES, 0))

    def complete(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        return self.sampler.complete(requests, sampling)

    def step(self, role: Role, gradient_D: Tensor, max_norm: float) -> float:
        """Moves the role against a gradient clipped to `max_norm`; returns its norm before clipping."""
        self.moves[role] += 1  # before it is done, since a step that is cut off may have moved some
        norm = self.trainer.step(role, gradient_D, max_norm)
        self.sampler.weights_changed(role)
        return norm

    def save(self, folder: Path) -> None:
        """Writes folder/adapters/generator and folder/adapters/discriminator."""
        folder.mkdir(parents=True, exist_ok=True)
        self.trainer.save(folder / ADAPTERS)

    def load(self, folder: Path) -> None:
        """Reads what `save` wrote. Raises PolicyError where something is missing or does not fit."""
        self.load_adapters(folder / ADAPTERS)

    def load_adapters(self, folder: Path, roles: Sequence[Role] = ROLES) -> None:
        """Reads the adapters of some roles from folder/generator and folder/discriminator. Raises PolicyError."""
        self.trainer.load(folder, roles)
        self._all_changed()

    def load_state(self, state: State) -> None:
        """Puts back what `trainer.state()` gave. Raises PolicyError where it does not fit."""
        self.trainer.load_state(state)
        self._all_changed()

    def _all_changed(self) -> None:
        for role in ROLES:
            self.sampler.weights_changed(role)
