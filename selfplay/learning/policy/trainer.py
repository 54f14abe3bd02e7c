"""The trainer over transformers and PEFT: log-probabilities, gradients and steps of two LoRA adapters on one model.

Small Qwen2 models on a CPU are computed by the functions of qwen2.py, everything else by the model's own forward.
Optimizers belong to roles and hold parameters captured by name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from selfplay.game.episode import ROLES, Role
from selfplay.learning.policy import attention, logprobs, qwen2
from selfplay.learning.policy.adapters import Adapters, with_adapters
from selfplay.learning.policy.chat import listed
from selfplay.learning.policy.errors import PolicyError
from selfplay.learning.policy.protocol import Bounds, Rows, Snapshot, State
from selfplay.learning.policy.settings import Choice
from selfplay.run.adapters import UNKNOWN, Base

PRECISE_GAP, COARSE_GAP = 1e-4, 0.5  # nats; in 16 and 4 bit kernels round differently for prompts and single tokens


class PeftTrainer:
    """A `Trainer` over a loaded model, which it owns from then on. `small`: whether qwen2.py computes it."""

    def __init__(self, model: Any, choice: Choice | None = None, seed: int = 0, base: Base = UNKNOWN) -> None:
        choice = choice or Choice()
        whole = getattr(model.config.get_text_config(), "max_position_embeddings", sys.maxsize)
        self.choice = replace(choice, context=min(whole, choice.context))  # no row is longer than what it can attend to
        self.device, self.base = model.device, base
        model.requires_grad_(False)
        # In fp32, unquantised, sampler and trainer agree to rounding.
        precise = model.dtype == torch.float32 and not getattr(model, "is_quantized", False)
        fits = precise and qwen2.supports(model.config, self.device)
        self.small = fits and self.choice.fast
        # The ids that end a text by the model's own generation settings.
        self.end_ids = listed(getattr(getattr(model, "generation_config", None), "eos_token_id", None))
        self._plain_head = logprobs.has_plain_head(model)
        self._flat = not self.small and self._shares(model)  # small models have functions of their own
        shares = self.small or self._flat
        self.bounds = Bounds(PRECISE_GAP if precise else COARSE_GAP, self.choice.context, shares)
        self.adapters = self._adapted(model, seed)
        self.model = self.adapters.model
        self._optimizers = {role: self._optimizer(role) for role in ROLES}
        self._base_weights: qwen2.Weights | None = None

    @property
    def sampler(self) -> Literal["own", "generate"]:
        """Which sampler suits its models, where the small one does not apply."""
        return "own"

    def ready_to_play(self) -> Any:
        """The model, in order for sampling."""
        return self.model.eval()

    def _ready_to_train(self) -> Any:
        """The model, in order for scoring. Checkpointing acts in training mode only."""
        return self.model.train(self.choice.checkpointing)

    def _shares(self, model: Any) -> bool:
        """Whether the model's own forward computes a prefix once that rows share."""
        return attention.adopt(model)

    def _adapted(self, model: Any, seed: int) -> Adapters:
        if self.choice.checkpointing:
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        return Adapters(with_adapters(model, self.choice, seed), self.base)

    @torch.no_grad()
    def logprobs(
        self, role: Role | None, rows: Rows, temperature: float, weights: Snapshot | None = None
    ) -> tuple[Tensor, Tensor]:
        if role is None:
            with self.adapters.base():
                return self._logprobs(None, rows, temperature)
        with self.adapters.role(role), self.adapters.as_of(role, weights):
            return self._logprobs(role, rows, temperature)

    def accumulate(
        self, role: Role, rows: Rows, temperature: float, loss: Callable[[Tensor], Tensor]
    ) -> tuple[Tensor, Tensor]:
        with self.adapters.role(role):
            logprobs_N, entropies_N = self._logprobs(role, rows, temperature)
            # Inside the block: a checkpointed model runs forward again here, and must do so as the same role.
            loss(logprobs_N).backward()
        return logprobs_N.detach(), entropies_N

    def take_gradient(self, role: Role) -> Tensor:
        parts = []
        for parameter in self.adapters.parameters[role].values():
            parts.append(torch.zeros_like(parameter) if parameter.grad is None else parameter.grad)
            parameter.grad = None
        # In float64, so that the order in which ranks are added does not show in the weights.
        return torch.cat([part.flatten().double() for part in parts])

    def step(self, role: Role, gradient_D: Tensor, max_norm: float) -> float:
        parameters = list(self.adapters.parameters[role].values())
        parts = gradient_D.split([parameter.numel() for parameter in parameters])
        for parameter, part in zip(parameters, parts, strict=True):
            parameter.grad = part.view_as(parameter).to(parameter.dtype)
        norm = torch.nn.utils.clip_grad_norm_(parameters, max_norm)
        self._optimizers[role].step()
        self._optimizers[role].zero_grad(set_to_none=True)
        return float(norm)

    def scale_rate(self, role: Role, factor: float) -> None:
        for group in self._optimizers[role].param_groups:
            group["lr"] = self.choice.rate(role) * factor

    def snapshot(self, role: Role) -> Snapshot:
        return self.adapters.snapshot(role)

    def digest(self, role: Role | None) -> str:
        return self.adapters.digest(role)

    def save(self, folder: Path) -> None:
        self.adapters.save(folder)

    def load(self, folder: Path, roles: Sequence[Role] = ROLES) -> None:
        self.adapters.load(folder, roles)

    def state(self) -> State:
        return {
            "adapters": {role: _plain(self.adapters.snapshot(role)) for role in ROLES},
            "optimizers": {role: _plain(self._optimizers[role].state_dict()) for role in ROLES},
        }

    def load_state(self, state: State) -> None:
        # Into new optimizers, so that what does not fit leaves the present ones as they are.
        optimizers = {role: self._optimizer(role) for role in ROLES}
        try:
            for role in ROLES:
                optimizers[role].load_state_dict(state["optimizers"][role])
            self.adapters.put({role: state["adapters"][role] for role in ROLES})
        except (KeyError, TypeError, ValueError) as error:
            raise PolicyError(
                f"this state is of another trainer, or none ({error}); resume with its settings"
            ) from error
        self._optimizers = optimizers

    def merged(self, role: Role | None) -> qwen2.Weights:
        """A small model's weights as `role` has them, graph included."""
        return qwen2.merged(self.model, role)

    def _logprobs(self, role: Role | None, rows: Rows, temperature: float) -> tuple[Tensor, Tensor]:
        """As `logprobs`, by whatever is active; the first have gradients. Three ways to the same numbers."""
        targets_N = rows.ids_BT[rows.where_BT]
        if self.small:
            weights = self._weights(role)
            states_NH, head_VH = qwen2.hidden_at(weights, rows.ids_BT, rows.where_BT), weights.head
        elif self._plain_head:
            body = logprobs.backbone(self._ready_to_train().get_base_model())
            fed, leads_N = self._fed(rows)
            states_NH = body(**fed).last_hidden_state.flatten(0, 1)[leads_N]
            head_VH = self.model.get_output_embeddings().weight
        else:
            fed, leads_N = self._fed(rows)
            logits_NV = self._ready_to_train()(**fed).logits.flatten(0, 1)[leads_N]
            return logprobs.from_logits(logits_NV, targets_N, temperature)
        return logprobs.TokenLogprobs.apply(states_NH, head_VH, targets_N, temperature)  # type: ignore[return-value]

    def _fed(self, rows: Rows) -> tuple[dict[str, Any], Tensor]:
        """What the model's forward gets, and where in its states, row by row, those are that lead to the N scored ids."""
        laid = attention.flat(rows) if self._flat else None
        if laid is None:
            leads_N = rows.where_BT.flatten().nonzero()[:, 0] - 1  # the state before an id is what predicts it
            return {"input_ids": rows.ids_BT, "attention_mask": rows.mask_BT, "use_cache": False}, leads_N
        fed = {"input_ids": laid.ids_1T, "position_ids": laid.positions_1T, "groups": laid.groups, "use_cache": False}
        return fed, laid.leads_N

    def _weights(self, role: Role | None) -> qwen2.Weights:
        if role is not None:
            return self.merged(role)
        if self._base_weights is None:  # they never move
            self._base_weights = self.merged(None)
        return self._base_weights

    def _optimizer(self, role: Role) -> torch.optim.AdamW:
        parameters = list(self.adapters.parameters[role].values())
        return torch.optim.AdamW(parameters, lr=self.choice.rate(role), weight_decay=0.0, fused=True)


def _plain(value: Any) -> Any:
    """A copy of nested data with its tensors on the CPU."""
    if isinstance(value, Tensor):
        return value.detach().to("cpu", copy=True)
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value
