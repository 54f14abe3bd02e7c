"""Trained adapters that a run can begin on: found by the name of a run, of a checkpoint or of a folder, and what they are.

    find_adapters("runs/a")                    its best checkpoint's; without checkpoints runs/a/adapters
    find_adapters("runs/a@8")                  those of the checkpoint after 8 steps, which is runs/a/checkpoints/8
    find_adapters("mine")                      mine/generator and mine/discriminator, or one of them
    find_adapters("mine/generator")            one role alone
    find_adapters("user/name")                 those that were pushed to the hub

Beside what PEFT reads, each role's folder says which base it belongs to: by name, and by a digest of the files, since a name
can be given to anything. Left out: adapters of other kinds than plain LoRA, which would need another trainer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from selfplay.config import Config
from selfplay.config.layers import defaults
from selfplay.errors import SelfplayError
from selfplay.game.episode import ROLES, Role
from selfplay.run import checkpoints
from selfplay.run.folder import ADAPTER, ADAPTERS, BASE, CONFIG
from selfplay.run.hub.pull import here_or_fetched

_PLAIN = {"peft_type": "LORA", "use_rslora": False, "use_dora": False, "bias": "none"}
_STRETCH, _STRETCHES = 1 << 20, 16  # of a weights file, read for the digest


class AdapterError(SelfplayError):
    """Adapters that are not there, or that cannot be begun on."""


@dataclass(frozen=True, slots=True)
class Base:
    """The model below adapters. `name`: `embedded`, a hub id, or the last part of a folder's path."""

    name: str
    digest: str


UNKNOWN = Base("", "")  # of a model that was made in memory


@dataclass(frozen=True, slots=True)
class TrainedAdapters:
    """Adapters by role in a folder `place`, what they were made with, and the base that they say they belong to: `model` by
    the name or folder that PEFT was given, `bases` by what is in it (None: they do not say)."""

    place: Path
    folders: Mapping[Role, Path]
    rank: int
    alpha: int
    targets: str | tuple[str, ...]
    model: str
    bases: Mapping[Role, Base | None]


def find_adapters(name: str | Path, say: Callable[[str], None] = lambda text: None) -> TrainedAdapters:
    """Raises AdapterError, CheckpointError, BadInput where it is a name on the hub that cannot be fetched."""
    folder = _folder(here_or_fetched(str(name)), say)
    folders: dict[Role, Path] = {role: folder / role for role in ROLES if (folder / role / ADAPTER).is_file()}
    if not folders and (folder / ADAPTER).is_file():
        folders = {role: folder for role in ROLES if role == folder.absolute().name}
        if not folders:
            raise AdapterError(
                f"{folder} holds one adapter; call its folder generator or discriminator, so that its role is known"
            )
    if not folders:
        raise AdapterError(
            f"no adapters in {name}: give a run, one of its checkpoints, or a folder with generator/ or discriminator/ in it"
        )
    (rank, alpha, targets, model), *others = [_settings(path / ADAPTER) for path in folders.values()]
    if any(other[:3] != (rank, alpha, targets) for other in others):
        raise AdapterError(f"the adapters in {folder} differ in rank, alpha or layers; begin on one of them")
    bases: dict[Role, Base | None] = {
        role: Base(**_json(path / BASE)) if (path / BASE).is_file() else None for role, path in folders.items()
    }
    return TrainedAdapters(folder, folders, rank, alpha, targets, model, bases)


def begun_on(config: Config) -> Config:
    """The configuration with what its adapters decide: which they are, by path, and their rank, scale and layers.

    Raises AdapterError, also where the configuration asks for others.
    """
    adapters = find_adapters(config.init_from or "")
    made = {"lora_rank": adapters.rank, "lora_alpha": adapters.alpha, "lora_target_modules": adapters.targets}
    plain = defaults(config.embedded)
    for name, value in made.items():
        asked = getattr(config, name)
        if asked not in (value, plain[name]):
            raise AdapterError(f"{name} is {asked}, but {config.init_from} was made with {value}; leave it out")
    return replace(config, init_from=str(adapters.place), **made)


def check_base(adapters: TrainedAdapters, base: Base) -> None:
    """Raises AdapterError where adapters belong to another base; those that do not say are taken at their shapes."""
    for role, theirs in adapters.bases.items():
        if theirs is not None and theirs.digest != base.digest:
            raise AdapterError(
                f"{adapters.folders[role]} was trained on {theirs.name} ({theirs.digest[:12]}), this run plays {base.name} "
                f"({base.digest[:12]}); give --model {theirs.name}, or other adapters"
            )


def base_of(name: str, folder: Path) -> Base:
    """The base whose files lie in `folder`; of large files only stretches are read."""
    digest = hashlib.sha256()
    for path in sorted([folder / "config.json", *folder.glob("*.safetensors"), *folder.glob("*.bin")]):
        if not path.is_file():
            continue
        size = path.stat().st_size
        digest.update(f"{path.name} {size} ".encode())
        with open(path, "rb") as file:
            for number in range(_STRETCHES):
                file.seek(max(size - _STRETCH, 0) * number // (_STRETCHES - 1))
                digest.update(file.read(_STRETCH))
    return Base(name, digest.hexdigest())


def write_base(folder: Path, base: Base) -> None:
    """Says in a role's folder which base its adapter belongs to, where that is known."""
    if base != UNKNOWN:
        (folder / BASE).write_text(json.dumps(asdict(base)) + "\n", encoding="utf-8")


def _folder(path: Path, say: Callable[[str], None]) -> Path:
    """The folder that holds the adapters of a run, a checkpoint, or itself."""
    run, at, step = str(path).rpartition("@")
    if at and not path.exists():
        if not step.isdecimal():
            raise AdapterError(
                f"{path}: after @ stands the number of a step, not {step!r}; `selfplay.checkpoints` lists them"
            )
        return checkpoints.find(Path(run), int(step)).path / ADAPTERS
    if (path / checkpoints.MANIFEST).is_file():
        checkpoints.read(path).check()
        return path / ADAPTERS
    if (path / CONFIG).is_file() and (best := checkpoints.best(path, say=say)):
        return best.path / ADAPTERS
    return path / ADAPTERS if (path / ADAPTERS).is_dir() else path


def _settings(path: Path) -> tuple[int, int, str | tuple[str, ...], str]:
    """Rank, alpha, layers, and the name of the base."""
    settings = _json(path)
    odd = [f"{name} {settings[name]}" for name, plain in _PLAIN.items() if settings.get(name, plain) != plain]
    if odd:
        raise AdapterError(f"{path}: {', '.join(odd)} is not what a run trains; begin on plain LoRA adapters")
    try:
        layers = settings["target_modules"]
        layers = layers if isinstance(layers, str) else tuple(sorted(layers))
        layers = layers[0] if len(layers) == 1 else layers  # as a flag spells it
        base = str(settings.get("base_model_name_or_path") or "")
        return int(settings["r"]), int(settings["lora_alpha"]), layers, base
    except (KeyError, TypeError, ValueError) as error:
        raise AdapterError(
            f"{path} does not say r, lora_alpha and target_modules ({error}); it is no LoRA adapter's"
        ) from error


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AdapterError(f"{path} cannot be read ({error}); give other adapters") from error
