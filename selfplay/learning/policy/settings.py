"""What a policy is opened with, decided before any library is loaded."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from selfplay.game.episode import Role
from selfplay.learning.policy.template import Thinking

EMBEDDED = Path(__file__).resolve().parents[2] / "tiny" / "player"  # the model that comes with the package
Backend = str  # transformers, unsloth or a reference
SamplerName = str  # auto, small, own, generate or a reference
DType = Literal["float32", "bfloat16", "float16"]
Precision = Literal["4 bit", "16 bit", "32 bit"]


@dataclass(frozen=True, slots=True)
class Choice:
    """Adapters, optimizers and sampler of a policy, every key settled: learning/choice.py makes one of a configuration.

    `sampler` auto: the decoder for small models where it applies, else the backend's. `fast`: whether small models are
    computed by functions of our own (qwen2.py). `thinking`: whether the chat template is to let the model think (template.py).
    `targets`: names of linear layers or `all-linear`. `discriminator_learning_rate` None: the same as `learning_rate`.
    `checkpointing` of gradients: less memory, slower. `context`: tokens of the longest row, `row_tokens`: of the longest that
    is planned. `rows` are sampled at once (halved when memory runs out), `prefill_tokens` of their prompts are fed at once, or
    one row if that is longer; `micro_batch_tokens` likewise in the update. `cache_mib` of keys and values are kept between
    turns, by the samplers that keep any. `cpu`: it computes on one. `why` has the reason for each key that was `auto`.
    """

    backend: Backend = "transformers"
    sampler: SamplerName = "auto"
    fast: bool = True
    four_bit: bool = False
    dtype: DType = "float32"
    thinking: Thinking = "auto"
    rank: int = 16
    alpha: int = 32
    targets: str | tuple[str, ...] = "all-linear"
    learning_rate: float = 1e-3
    discriminator_learning_rate: float | None = None
    checkpointing: bool = False
    context: int = sys.maxsize
    row_tokens: int = 0
    rows: int = 128
    prefill_tokens: int = 8192
    micro_batch_tokens: int = 4096
    cache_mib: int = 64
    cpu: bool = False
    why: Mapping[str, str] = field(default_factory=dict)

    def rate(self, role: Role) -> float:
        other = self.discriminator_learning_rate if role == "discriminator" else None
        return self.learning_rate if other is None else other

    @property
    def precision(self) -> Precision:
        """Of the base's weights."""
        return "4 bit" if self.four_bit else "32 bit" if self.dtype == "float32" else "16 bit"

    def facts(self) -> dict[str, Any]:
        """What was chosen and why, as it is printed and stands in config.yaml."""
        cut = self.why.get("max_seq_length")
        return {
            "backend": f"{self.backend}: {self.why['backend']}",
            "base": f"{'4 bit, ' if self.four_bit else ''}{self.dtype}: {self.why['precision']}",
            "gradient_checkpointing": "on" if self.checkpointing else "off",
            "max_seq_length": f"{self.context}: {cut}" if cut else self.context,
            "generation_rows": f"{self.rows}: {self.why['generation_rows']}",
            "prefill_tokens": self.prefill_tokens,
            **({"kept_between_turns": f"{self.cache_mib} MiB of keys and values"} if self.cache_mib else {}),
        }
