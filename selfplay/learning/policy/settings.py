"""The knobs of a policy: its adapters, their optimizers, how much is sampled at once. Made before any library is loaded."""

from __future__ import annotations

from dataclasses import dataclass

from selfplay.game.episode import Role


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """Knobs of the adapters, their optimizers and the sampler.

    `targets`: names of linear layers or `all-linear`. `discriminator_learning_rate` None: the same as `learning_rate`.
    `rows`: conversations sampled at once (fewer when memory runs out). `gradient_checkpointing`: less memory, slower.
    `fast`: None takes the small-model functions where they apply, False the model's own forward.
    """

    rank: int = 16
    alpha: int = 32
    targets: str | tuple[str, ...] = "all-linear"
    learning_rate: float = 1e-3
    discriminator_learning_rate: float | None = None
    weight_decay: float = 0.0
    rows: int = 128
    cache_mib: int = 64
    gradient_checkpointing: bool = False
    fast: bool | None = None

    def rate(self, role: Role) -> float:
        own = self.discriminator_learning_rate if role == "discriminator" else None
        return self.learning_rate if own is None else own
