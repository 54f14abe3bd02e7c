"""Policy: one base model that plays both roles, and everything the training loop asks of it.

Plays (`complete`), scores for the update (`score`), steps one role's optimizer (`step`), saves and loads. Small Qwen2
models on a CPU run on the functions of qwen2.py and sampler.py, everything else on the model's own forward; both sample
with the same keyed numbers. Optimizers belong to roles and hold parameters captured by name.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from selfplay.game.episode import ROLES, Role
from selfplay.game.players import Completion, Request, Sampling, by_role
from selfplay.learning.policy import generate, hf, qwen2, score
from selfplay.learning.policy.adapters import Adapters, LoraSettings
from selfplay.learning.policy.chat import TemplateChat
from selfplay.learning.policy.errors import PolicyError
from selfplay.learning.policy.sampler import Decoder, Limits


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


def open_policy(
    source: str | Path,
    settings: PolicySettings | None = None,
    seed: int = 0,
    device: str = "auto",
    four_bit: bool | None = None,
) -> Policy:
    """A policy over the model in a folder or on the hub, its adapters fresh. Raises PolicyError."""
    model, tokenizer = hf.load(source, hf.pick_device(device), four_bit)
    return Policy(model, tokenizer, settings, seed, str(source))


class Policy:
    """A `selfplay.game.players.Player` that learns. `seed` makes the adapters and keys every sampled token."""

    def __init__(
        self, model: Any, tokenizer: Any, settings: PolicySettings | None = None, seed: int = 0, source: str = ""
    ) -> None:
        self.settings, self.seed = settings or PolicySettings(), seed
        self.tokenizer, self.device = tokenizer, model.device
        self.chat = TemplateChat(tokenizer, _end_ids(model))
        model.requires_grad_(False)
        self._plain_head = score.has_plain_head(model)
        self.fast = qwen2.supports(model.config, self.device) and self.settings.fast is not False
        if self.settings.gradient_checkpointing:
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        lora = LoraSettings(self.settings.rank, self.settings.alpha, self.settings.targets)
        self.adapters = Adapters(model, lora, seed, source)
        self.model = self.adapters.model
        self.optimizers = {role: self._optimizer(role) for role in ROLES}
        self._decoders: dict[Role, tuple[int, Decoder]] = {}
        self._base_weights: qwen2.Weights | None = None

    def role(self, role: Role) -> AbstractContextManager[None]:
        """The only way to switch: `with policy.role("generator"):`."""
        return self.adapters.role(role)

    def base(self) -> AbstractContextManager[None]:
        """The base model, both adapters off."""
        return self.adapters.base()

    def digest(self, role: Role | None) -> str:
        """Of a role's parameters, bit for bit; None: of the base."""
        return self.adapters.digest(role)

    def complete(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        done: dict[int, Completion] = {}
        for role, places in by_role(requests).items():
            done |= zip(places, self._complete(role, [requests[i] for i in places], sampling), strict=True)
        return [done[i] for i in range(len(requests))]

    def _complete(self, role: Role, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        if self.fast:
            return self._decoder(role).complete(requests, sampling)
        with self.role(role):
            self.model.eval()
            return generate.complete(
                self.model, requests, sampling, self.chat.end_ids, self.seed, self.settings.rows, self.context
            )

    def score(self, ids_BT: Tensor, mask_BT: Tensor, where_BT: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
        """Log-probabilities and entropies (nats) of the ids at `where_BT`, counted row by row, both [N].

        Only the first have gradients, to the active role. Rows are padded on the right. `where_BT` must not mark a
        row's first id: nothing leads to it.
        """
        active = self.adapters.scoring
        before = where_BT[:, 1:]
        targets = ids_BT[:, 1:][before]
        if not self.fast and not self._plain_head:
            logits = self.model(input_ids=ids_BT, attention_mask=mask_BT, use_cache=False).logits
            return score.from_logits(logits[:, :-1][before], targets, temperature)
        if self.fast:
            weights = self._weights(active)
            states, head = qwen2.hidden_at(weights, ids_BT, where_BT), weights.head
        else:
            states, head = self._states(ids_BT, mask_BT)[:, :-1][before], self.model.get_output_embeddings().weight
        return score.TokenLogprobs.apply(states, head, targets, temperature)  # type: ignore[return-value]

    @property
    def context(self) -> int:
        """Tokens that the model can attend to; no limit where its configuration names none."""
        base: Any = self.model.get_base_model()
        return getattr(base.config.get_text_config(), "max_position_embeddings", sys.maxsize)

    @property
    def precise(self) -> bool:
        """Whether the base computes in fp32, unquantised: sampler and trainer then agree to rounding."""
        base = self.model.get_base_model()
        return base.dtype == torch.float32 and not getattr(base, "is_quantized", False)

    def step(self, role: Role, max_grad_norm: float) -> float:
        """Clips the gradients of `role` to a norm and applies them; their norm before clipping."""
        self.adapters.check(role)
        norm = torch.nn.utils.clip_grad_norm_(list(self.adapters.parameters[role].values()), max_grad_norm)
        self.optimizers[role].step()
        self.optimizers[role].zero_grad(set_to_none=True)
        self.adapters.touch(role)
        self._decoders.pop(role, None)  # its keys and values are of the old weights
        return float(norm)

    def scale_rate(self, role: Role, factor: float) -> None:
        """The learning rate of `role` from here on: its configured one times `factor`."""
        for group in self.optimizers[role].param_groups:
            group["lr"] = self.settings.rate(role) * factor

    def save(self, folder: Path, optimizers: bool = False) -> None:
        """Writes folder/adapters/generator and .../discriminator, and for resuming folder/optimizers.pt."""
        folder.mkdir(parents=True, exist_ok=True)
        self.adapters.save(folder / "adapters")
        if optimizers:
            partial = folder / "optimizers.pt.partial"
            torch.save({role: optimizer.state_dict() for role, optimizer in self.optimizers.items()}, partial)
            partial.replace(folder / "optimizers.pt")

    def load(self, folder: Path, optimizers: bool = False) -> None:
        """Reads what `save` wrote. Raises PolicyError where something is missing or does not fit."""
        self.adapters.load(folder / "adapters")
        if not optimizers:
            return
        try:
            states = torch.load(folder / "optimizers.pt", map_location=self.device, weights_only=True)
        except FileNotFoundError as error:
            raise PolicyError(f"{folder} holds no optimizers.pt; it can be played from but not resumed") from error
        for role in ROLES:
            self.optimizers[role].load_state_dict(states[role])

    def _optimizer(self, role: Role) -> torch.optim.AdamW:
        parameters = list(self.adapters.parameters[role].values())
        return torch.optim.AdamW(
            parameters, lr=self.settings.rate(role), weight_decay=self.settings.weight_decay, fused=True
        )

    def _decoder(self, role: Role) -> Decoder:
        """The role's decoder over its present weights; its cache ends with them."""
        version = self.adapters.version[role]
        known = self._decoders.get(role)
        if known is None or known[0] != version:
            with torch.no_grad():
                weights = qwen2.merged(self.model, role)
            limits = Limits(rows=self.settings.rows, cache_mib=self.settings.cache_mib)
            self._decoders[role] = known = (version, Decoder(weights, self.chat.end_ids, self.seed, limits))
        return known[1]

    def _states(self, ids_BT: Tensor, mask_BT: Tensor) -> Tensor:
        """Hidden states [B, T, H] before the head, by the model's own forward."""
        self.model.train(self.settings.gradient_checkpointing)
        body = score.backbone(self.model.get_base_model())
        return body(input_ids=ids_BT, attention_mask=mask_BT, use_cache=False).last_hidden_state

    def _weights(self, active: Role | None) -> qwen2.Weights:
        if active is not None:
            return qwen2.merged(self.model, active)
        if self._base_weights is None:
            self._base_weights = qwen2.merged(self.model, None)
        return self._base_weights


def _end_ids(model: Any) -> tuple[int, ...]:
    ends = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    return () if ends is None else (ends,) if isinstance(ends, int) else tuple(ends)
