"""The knobs of a policy: its adapters, their optimizers, how much is sampled at once. Made before any library is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from selfplay.game.episode import Role

EMBEDDED = Path(__file__).resolve().parents[2] / "tiny" / "player"  # the model that comes with the package


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """Knobs of the adapters, their optimizers and the sampler.

    `targets`: names of linear layers or `all-linear`. `discriminator_learning_rate` None: the same as `learning_rate`.
    `rows`: conversations sampled at once (halved when memory runs out); `prefill_tokens`: of their prompts, fed at once.
    `cache_mib`: of keys and values kept between turns, by the samplers that keep any.
    `gradient_checkpointing`: less memory, slower. `fast`: None takes the small-model functions where they apply, False the
    model's own forward. `sampler` auto: the decoder for small models with those functions, else the backend's.
    `context`: tokens of the longest row; None: what the model can attend to. `four_bit` and `dtype` None: what the
    device does best. `thinking`: whether the chat template is to let the model think, see
    template.py.
    """

    rank: int = 16
    alpha: int = 32
    targets: str | tuple[str, ...] = "all-linear"
    learning_rate: float = 1e-3
    discriminator_learning_rate: float | None = None
    weight_decay: float = 0.0
    backend: str = "transformers"
    sampler: str = "auto"
    four_bit: bool | None = None
    dtype: Literal["float32", "bfloat16", "float16"] | None = None
    context: int | None = None
    rows: int = 128
    prefill_tokens: int = 8192
    cache_mib: int = 64
    gradient_checkpointing: bool = False
    fast: bool | None = None
    thinking: Literal["auto", "on", "off"] = "auto"

    def rate(self, role: Role) -> float:
        own = self.discriminator_learning_rate if role == "discriminator" else None
        return self.learning_rate if own is None else own
