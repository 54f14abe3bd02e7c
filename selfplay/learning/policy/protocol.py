"""What the game asks of a language model, in two halves that are chosen separately: a sampler plays, a trainer learns.

The loop, the update and the drift use these interfaces and nothing else, so a backend is one class for each half. Both
look at the same two adapters on one base model; a role names its adapter, None the base. Who moves a role's weights
tells the sampler (`Policy.step` does both). Left out: sampling and training at the same time, and values or rewards
from a model.

Tensors end in their axes, here and wherever there are any:

    B  rows of a batch: conversations          N  scored tokens of a batch, row by row
    T  positions of a row                      K  those of N to which the sampler gave a log-probability
    S  positions fed in one go                 V  entries of the vocabulary
    P  distinct prefixes that rows share       H  width of the hidden states
    D  parameters of one adapter, flat         1  an axis of length one
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from selfplay.game.episode import ROLES, Role
from selfplay.game.players import Completion, Request, Sampling
from selfplay.run.adapters import Base

Snapshot = dict[str, Tensor]  # a copy of one adapter's parameters, by name
State = Mapping[str, Any]  # dicts, lists, numbers, strings and tensors on the CPU: what torch.save reads back safely

# Nats, mean difference of sampler and trainer, from which it is asked whether they hear the same adapter. A model of 0.5B
# parameters in bf16 came to .034 to .040.
DOUBT = 0.05


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a trainer promises. `context`: tokens that its model can attend to.

    `logprob_gap`: nats by which sampler and trainer may differ, in the mean over tokens, before a run ends.
    `shares_prefixes`: whether a prefix that rows of a batch share is computed once, so that such rows belong together.
    """

    logprob_gap: float
    context: int
    shares_prefixes: bool = False


@dataclass(frozen=True, slots=True)
class Rows:
    """Right-padded conversations on the trainer's device. `where_BT` marks the N ids that are scored.

    It must not mark a row's first id: nothing leads to it.
    """

    ids_BT: Tensor
    mask_BT: Tensor
    where_BT: Tensor


class Sampler(Protocol):
    """Completes conversations with the weights that roles have at that moment."""

    def complete(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        """One completion per request, in order; a call may hold both roles. A conversation that fills the model's context
        gets an empty, truncated turn."""
        ...

    def weights_changed(self, role: Role) -> None:
        """The role's weights have moved. Cheap: what it costs waits until the role is asked again."""
        ...

    def forget(self) -> None:
        """Drops what was kept of earlier calls, so that what follows does not depend on them, not even in rounding."""
        ...


class Trainer(Protocol):
    """Scores tokens, collects gradients and moves one adapter at a time. Every method leaves no role switched on."""

    @property
    def bounds(self) -> Bounds: ...

    @property
    def base(self) -> Base:
        """The model below the adapters, which is saved beside them."""
        ...

    @property
    def device(self) -> torch.device:
        """Where rows are expected and results lie."""
        ...

    def logprobs(
        self, role: Role | None, rows: Rows, temperature: float, weights: Snapshot | None = None
    ) -> tuple[Tensor, Tensor]:
        """Log-probabilities and entropies (nats) of the scored ids, both [N], without gradients.

        `role` None: under the base. `weights`: the role as it was when it was snapshotted.
        """
        ...

    def accumulate(
        self, role: Role, rows: Rows, temperature: float, loss: Callable[[Tensor], Tensor]
    ) -> tuple[Tensor, Tensor]:
        """Adds the gradient of `loss(logprobs_N)`, a scalar, to what the role has collected.

        Returns log-probabilities and entropies as `logprobs` does; `loss` is called once.
        """
        ...

    def take_gradient(self, role: Role) -> Tensor:
        """The gradient collected since it was last taken, float64 [D]; zeros where nothing was. Collecting starts anew."""
        ...

    def step(self, role: Role, gradient_D: Tensor, max_norm: float) -> float:
        """Moves the role against a gradient clipped to `max_norm`; returns its norm before clipping."""
        ...

    def scale_rate(self, role: Role, factor: float) -> None:
        """The learning rate of `role` from here on: its configured one times `factor`."""
        ...

    def snapshot(self, role: Role) -> Snapshot:
        """A copy of the role's weights as they are."""
        ...

    def digest(self, role: Role | None) -> str:
        """SHA-256 of the role's weights, bit for bit; None: of the base."""
        ...

    def save(self, folder: Path) -> None:
        """Writes folder/generator and folder/discriminator as PEFT reads them; a kill leaves the old pair or the new one."""
        ...

    def load(self, folder: Path, roles: Sequence[Role] = ROLES) -> None:
        """Reads what `save` wrote of some roles. Raises PolicyError, with nothing changed, where it does not fit."""
        ...

    def state(self) -> State:
        """Everything that moves: both adapters and their optimizers, as copies."""
        ...

    def load_state(self, state: State) -> None:
        """Puts `state` back: training goes on bit for bit. Raises PolicyError, with nothing changed, where it does not fit."""
        ...
