"""One base model, two LoRA adapters: made, switched, compared, saved and loaded.

`with adapters.role("generator"):` is the only way to switch. Inside, exactly that role's parameters ask for
gradients; outside, none does, so a stray `set_adapter` is noticed at the next switch. Parameters are captured by name
when the adapters are made: an optimizer built from `requires_grad` silently trains nothing on the other role's turn.
Gradients stay with their parameters, whichever role is on. Merging into the base was left out: merging and unmerging
drifts (the sampler merges into copies).
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from peft import (
    LoraConfig,
    PeftModel,
    get_peft_model,
    get_peft_model_state_dict,
    load_peft_weights,
    set_peft_model_state_dict,
)
from torch.nn import Parameter

from selfplay.game.episode import ROLES, Role
from selfplay.learning.policy.errors import PolicyError
from selfplay.learning.policy.protocol import Snapshot
from selfplay.learning.policy.settings import Choice
from selfplay.learning.policy.swap import put
from selfplay.run.adapters import UNKNOWN, Base, write_base


class Adapters:
    """The two adapters on a model that has them (`with_adapters`), whose base's name and digest are `base`. `parameters`: each
    role's, by name."""

    def __init__(self, model: PeftModel, base: Base = UNKNOWN) -> None:
        self.model, self._base = model, base
        for config in self.model.peft_config.values():
            config.base_model_name_or_path = base.name or None  # never the path of this machine
        self.parameters = {role: _named(self.model, role) for role in ROLES}
        self._all = dict(self.model.named_parameters())  # listed once: roles change at every micro-batch
        self.active: Role | None = None
        self._based = False
        self._ask_gradients(None)

    @contextmanager
    def role(self, role: Role) -> Iterator[None]:
        """Plays and trains as `role`. Nested use is allowed for the same role; end `backward()` inside."""
        if self.active == role and not self._based:
            self.check(role)
            yield
            return
        self._may_enter(role)
        if self.model.active_adapters != [role]:
            self.model.set_adapter(role)
        self._ask_gradients(role)
        self.active = role
        try:
            self.check(role)
            yield
        finally:
            self.active = None
            self._ask_gradients(None)

    @contextmanager
    def base(self) -> Iterator[None]:
        """The model without adapters. May be entered inside a role, to score under the base."""
        self._based = True
        try:
            with self.model.disable_adapter():
                yield
        finally:
            self._based = False
            self._ask_gradients(self.active)

    def check(self, role: Role) -> None:
        """Raises PolicyError unless exactly `role` is active and asks for gradients."""
        active = self.model.active_adapters
        asking = {name for name, parameter in self._all.items() if parameter.requires_grad}
        if self.active != role or self._based or active != [role] or asking != set(self.parameters[role]):
            raise PolicyError(
                f"the policy should be the {role}, but active is {active} and {len(asking)} parameters ask for "
                f"gradients where {len(self.parameters[role])} should; switch with `with adapters.role({role!r}):` only"
            )

    def snapshot(self, role: Role) -> Snapshot:
        """A copy of a role's weights as they are now."""
        return {name: parameter.detach().clone() for name, parameter in self.parameters[role].items()}

    @contextmanager
    def as_of(self, role: Role, weights: Snapshot | None) -> Iterator[None]:
        """The role with earlier weights, for scoring; afterwards it has its own again, bit for bit. None: as it is."""
        if weights is None:
            yield
            return
        now = self.snapshot(role)
        self.put({role: weights})
        try:
            yield
        finally:
            self.put({role: now})

    @torch.no_grad()
    def put(self, weights: Mapping[Role, Snapshot]) -> None:
        """Gives roles the weights of snapshots. Raises PolicyError, with nothing changed, where one does not fit."""
        for role, snapshot in weights.items():
            _check_fit(f"the {role}'s snapshot", snapshot, self.parameters[role])
        for role, snapshot in weights.items():
            for name, parameter in self.parameters[role].items():
                parameter.copy_(snapshot[name])

    def digest(self, role: Role | None) -> str:
        """SHA-256 over a role's parameters, bit for bit; None: over everything that is no adapter."""
        ours = {name for parameters in self.parameters.values() for name in parameters}
        chosen = self.parameters[role] if role else {n: p for n, p in self.model.named_parameters() if n not in ours}
        digest = hashlib.sha256()
        for name in sorted(chosen):
            digest.update(name.encode())
            digest.update(chosen[name].detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()

    def save(self, folder: Path) -> None:
        """Writes folder/generator and folder/discriminator; at any moment the folder holds a pair that loads."""
        partial = folder.with_name(folder.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        # Told that no embedding is trained, PEFT does not look for the base's configuration on the hub.
        self.model.save_pretrained(str(partial), selected_adapters=list(ROLES), save_embedding_layers=False)
        for role in ROLES:
            # safetensors writes for the owner alone; who may read the configuration may read the weights
            shutil.copymode(partial / role / "adapter_config.json", partial / role / "adapter_model.safetensors")
            write_base(partial / role, self._base)
        put(partial, folder)

    def load(self, folder: Path, roles: Sequence[Role] = ROLES) -> None:
        """Reads what `save` wrote, in place. Raises PolicyError, with nothing changed, where a file does not fit."""
        weights: dict[Role, Snapshot] = {}
        for role in roles:  # read and checked under the names that they are saved by
            if not (folder / role / "adapter_model.safetensors").is_file():
                raise PolicyError(
                    f"{folder / role} holds no adapter (adapter_model.safetensors is missing); name another folder"
                )
            weights[role] = load_peft_weights(str(folder / role), device="cpu")
            held = get_peft_model_state_dict(self.model, adapter_name=role, save_embedding_layers=False)
            _check_fit(str(folder / role), weights[role], held)
        for role in roles:
            with torch.no_grad():
                set_peft_model_state_dict(self.model, weights[role], adapter_name=role)
        self._ask_gradients(None)

    def _may_enter(self, role: Role) -> None:
        if self.active is not None or self._based:
            raise PolicyError(f"cannot become the {role} inside `{self.active or 'base'}`; leave that block first")
        asking = [name for name, parameter in self._all.items() if parameter.requires_grad]
        if asking:
            raise PolicyError(
                f"adapters were switched outside adapters.role(): {asking[0]} and {len(asking) - 1} more are on"
            )

    def _ask_gradients(self, role: Role | None) -> None:
        for other in ROLES:
            for parameter in self.parameters[other].values():
                parameter.requires_grad_(other == role)


def with_adapters(base: Any, choice: Choice, seed: int) -> PeftModel:
    """Both on a base, each seeded by its own number, so that every process makes the same two; the global state is put back."""
    # Any text but `all-linear` is a pattern to PEFT. Dropout stays 0: sampling and scoring must be the same function.
    targets = [choice.targets] if isinstance(choice.targets, str) else list(choice.targets)
    loras = [
        LoraConfig(
            r=choice.rank,
            lora_alpha=choice.alpha,
            lora_dropout=0.0,
            target_modules="all-linear" if targets == ["all-linear"] else targets,
            task_type="CAUSAL_LM",
        )
        for _ in ROLES
    ]
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed * 2)
        model = get_peft_model(base, loras[0], adapter_name=ROLES[0])
        torch.manual_seed(seed * 2 + 1)
        model.add_adapter(ROLES[1], loras[1])
    return model  # type: ignore[return-value]


def _named(model: PeftModel, role: Role) -> dict[str, Parameter]:
    named = {name: parameter for name, parameter in model.named_parameters() if f".{role}." in name and "lora_" in name}
    if not named:
        raise PolicyError(f"no layer of the model took the {role}'s adapter; check the LoRA targets")
    return named


def _check_fit(what: str, weights: Snapshot, policy: Mapping[str, torch.Tensor]) -> None:
    if weights.keys() != policy.keys():
        raise PolicyError(
            f"{what} holds {len(weights)} tensors where this policy has {len(policy)}, or others; use the same LoRA targets"
        )
    for name, tensor in policy.items():
        if weights[name].shape != tensor.shape:
            shapes = f"{name} is {list(weights[name].shape)} where this policy has {list(tensor.shape)}"
            raise PolicyError(f"{what} was made for another model or rank: {shapes}")
