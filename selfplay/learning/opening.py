"""Players by name, the same in every command.

    embedded        the player that comes with the package
    base            the model that --model names, without adapters
    RUN             a run's folder: the best of its checkpoints, or the adapters that it ended with
    RUN@STEP        the checkpoint after so many steps; the same as RUN/checkpoints/STEP
    FOLDER          a folder of adapters: generator/ and discriminator/, or one that holds `adapters`

What a player is (model, adapters, prompts, limits) comes from the run's config.yaml and the adapters' own files; where and
how it plays (device, seed, sandbox) from whoever opens it, whose other settings win as well. Left out: hub ids.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from selfplay.config import Config, configure
from selfplay.config.knobs import PLAYER
from selfplay.config.layers import from_yaml
from selfplay.errors import BadInput, suggestion
from selfplay.game.episode import ROLES
from selfplay.match.entrant import Entrant
from selfplay.run import checkpoints
from selfplay.run.folder import ADAPTERS, CONFIG

EMBEDDED, BASE = "embedded", "base"
RUNS = Path("runs")
_KEPT = {each.name for each in fields(Config) if each.metadata["group"] == PLAYER} | {
    *("problems", "cases_per_turn", "temperature", "max_completion_length", "lora_target_modules")
}
_MODEL = "adapter_model.safetensors"


@dataclass(frozen=True, slots=True)
class Source:
    """What a name stands for: the folder of its adapters, None for none, and the settings that it was made with."""

    name: str
    adapters: Path | None = None
    settings: Mapping[str, object] = field(default_factory=dict)

    def config(self, given: Mapping[str, object] | None = None) -> Config:
        """The player's configuration, in which `given` settings win. Raises BadInput where they are of another base."""
        given = given or {}
        if self.name == BASE and not given.get("model"):
            raise BadInput("the player 'base' is a model without adapters: say which with --model")
        if self.name == EMBEDDED and given.get("model"):
            raise BadInput(f"'embedded' is a model of its own; to play {given['model']} without adapters name 'base'")
        made_for, asked = self.settings.get("model"), given.get("model")
        if self.adapters and "model" in given and os.path.normpath(str(made_for)) != os.path.normpath(str(asked)):
            what = made_for or "the embedded player"
            raise BadInput(f"the adapters of {self.name} were made for {what}, not for {asked}; leave out --model")
        return configure({**self.settings, **given})

    def open(self, config: Config) -> Entrant:
        """The player, loaded, as `config` says. Raises PolicyError."""
        from selfplay.learning import setup  # torch, once the names are known to be right

        policy = setup.open_player(config)
        if self.adapters is not None:
            policy.trainer.load(self.adapters)
            for role in ROLES:
                policy.sampler.changed(role)
        return Entrant(self.name, policy, setup.open_prompts(config), setup.table(config).generator)


def open_player(name: str | None = None, **given: Any) -> Entrant:
    """The player of this name, for Python; without one as `default_player` chooses. Keywords are the configuration's keys.

    Raises BadInput for a name that stands for nothing and for adapters of another base, CheckpointError, PolicyError.
    """
    source = source_of(name or default_player())
    return source.open(source.config(given))


def source_of(name: str, say: Callable[[str], None] = lambda text: None) -> Source:
    """What a name stands for, before anything is loaded. Raises BadInput, CheckpointError."""
    if name in (EMBEDDED, BASE):
        return Source(name)
    run, at, step = name.rpartition("@")
    if at and not Path(name).exists():
        if not step.isdigit():
            raise BadInput(
                f"{name}: after @ stands the number of a step, not {step!r}; `selfplay.checkpoints` lists them"
            )
        return _made(name, checkpoints.find(_run_folder(run, name), int(step)).path)
    folder = _run_folder(name, name)
    if (folder / CONFIG).is_file():
        best = checkpoints.best(folder, say=say)
        return _made(name, best.path if best else folder)
    return _made(name, folder)


def default_player() -> str:
    """The newest run under runs/ that holds adapters; the embedded player where there is none."""
    held = [path for path in RUNS.glob("*") if (path / CONFIG).is_file() and _holds_adapters(path)]
    return str(max(held, key=lambda path: (path / CONFIG).stat().st_mtime)) if held else EMBEDDED


def _run_folder(path: str, name: str) -> Path:
    folder = Path(path)
    if folder.is_dir():
        return folder
    known = [EMBEDDED, BASE, *(str(each) for each in RUNS.glob("*") if each.is_dir())]
    what = "name embedded, base, the folder of a run, RUN@STEP, or a folder of adapters"
    raise BadInput(f"no player {name!r}{suggestion(name, known)}; {what}")


def _holds_adapters(run: Path) -> bool:
    return bool(checkpoints.listed(run)) or (run / ADAPTERS).is_dir()


def _made(name: str, folder: Path) -> Source:
    """The adapters in `folder` or in its `adapters`, with the settings of the run that it lies in."""
    adapters = folder if any((folder / role).is_dir() for role in ROLES) else folder / ADAPTERS
    missing = [role for role in ROLES if not (adapters / role / _MODEL).is_file()]
    if missing:
        raise BadInput(
            f"{folder} holds no adapter of the {' and none of the '.join(missing)} ({_MODEL}); name another player"
        )
    run = next((each for each in (folder, *folder.absolute().parents[:2]) if (each / CONFIG).is_file()), None)
    settings = {key: value for key, value in from_yaml(run / CONFIG).items() if key in _KEPT} if run else {}
    return Source(name, adapters, settings | _lora(adapters / ROLES[0], settings))


def _lora(adapter: Path, settings: Mapping[str, object]) -> dict[str, object]:
    """Rank, alpha, layers and base as an adapter's own file has them."""
    try:
        own = json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))
        found: dict[str, object] = {"lora_rank": own["r"], "lora_alpha": own["lora_alpha"]}
        targets = own["target_modules"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{adapter} holds no adapter_config.json that can be read ({error})") from None
    layers = targets if isinstance(targets, str) else tuple(sorted(targets))
    return found | {"lora_target_modules": layers} | ({} if "model" in settings else {"model": _base(own)})


def _base(adapter: Mapping[str, Any]) -> str | None:
    """The model that an adapter was made for; None for the embedded player, wherever that was installed."""
    base = adapter.get("base_model_name_or_path")
    return None if not base or Path(base).parts[-2:] == ("tiny", "player") else str(base)
