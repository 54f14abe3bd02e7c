"""Players by name, the same in every command.

    embedded        the player that comes with the package
    base            the model that --model names, without adapters
    RUN             a run's folder: the best of its checkpoints, or the adapters that it ended with
    RUN@STEP        the checkpoint after so many steps; the same as RUN/checkpoints/STEP
    FOLDER          a folder of adapters: generator/ and discriminator/, or one that holds `adapters`
    USER/NAME       those that were pushed to the hub; USER/NAME@REVISION

What a player is (model, adapters, prompts, limits) comes from the run's config.yaml and the adapters' own files; where and
how it plays (device, seed, sandbox) from whoever opens it, whose other settings win as well.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from selfplay.config import Config, configure
from selfplay.config.knobs import PLAYER
from selfplay.config.layers import from_yaml
from selfplay.errors import BadInput, suggestion
from selfplay.match.entrant import Entrant
from selfplay.run import checkpoints
from selfplay.run.adapters import TrainedAdapters, find_adapters
from selfplay.run.folder import ADAPTERS, CONFIG
from selfplay.run.hub.pull import here_or_fetched

EMBEDDED, BASE = "embedded", "base"
RUNS = Path("runs")
_OF_PLAYER = {each.name for each in fields(Config) if each.metadata["group"] == PLAYER} | {
    *("problems", "cases_per_turn", "temperature", "max_completion_length")
}

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Source:
    """What a name stands for: its adapters, None for none, and the settings that it was made with."""

    name: str
    adapters: TrainedAdapters | None = None
    settings: Mapping[str, object] = field(default_factory=dict)

    def config(self, given: Mapping[str, object] | None = None) -> Config:
        """The player's configuration, in which `given` settings win. Raises BadInput where they are of another base."""
        given = given or {}
        if self.name == BASE and not given.get("model"):
            raise BadInput("the player 'base' is a model without adapters: say which with --model")
        if self.name == EMBEDDED and given.get("model"):
            raise BadInput(f"'embedded' is a model of its own; to play {given['model']} without adapters name 'base'")
        base, model = self.settings.get("model"), given.get("model")
        if self.adapters and "model" in given and os.path.normpath(str(base)) != os.path.normpath(str(model)):
            what = base or "the embedded player"
            raise BadInput(f"the adapters of {self.name} were made for {what}, not for {model}; leave out --model")
        return configure({**self.settings, **given})

    def open(self, config: Config) -> Entrant:
        """The player, loaded, as `config` says. A role without an adapter plays as the base does.

        Raises AdapterError where the adapters belong to another base, PolicyError.
        """
        from selfplay.learning import setup  # torch, once the names are known to be right

        policy = setup.policy_of(config)
        if self.adapters is not None:
            setup.begin_on(policy, str(self.adapters.place), lambda text: None)
        return Entrant(self.name, policy, setup.open_prompts(config), setup.table(config).generator)


def open_player(name: str | None = None, **given: Any) -> Entrant:
    """The player of this name, for Python; without one as `default_player` chooses. Keywords are the configuration's keys.

    Raises BadInput for a name that stands for nothing and for adapters of another base, CheckpointError, PolicyError.
    """
    source = source_of(name or default_player())
    return source.open(source.config(given))


def source_of(name: str, say: Say = lambda text: None) -> Source:
    """What a name stands for, before anything is loaded. `say` is told of checkpoints that are not whole.

    Raises BadInput, AdapterError, CheckpointError.
    """
    if name in (EMBEDDED, BASE):
        return Source(name)
    run, at, _ = name.rpartition("@")
    if not Path(name).exists() and not (at and Path(run).is_dir()) and not here_or_fetched(name).is_dir():
        known = [EMBEDDED, BASE, *(str(each) for each in RUNS.glob("*") if each.is_dir())]
        what = "name embedded, base, the folder of a run, RUN@STEP, a folder of adapters, or user/name on the hub"
        raise BadInput(f"no player {name!r}{suggestion(name, known)}; {what}")
    adapters = find_adapters(name, say)
    lora = {"lora_rank": adapters.rank, "lora_alpha": adapters.alpha, "lora_target_modules": adapters.targets}
    return Source(name, adapters, _settings(adapters) | lora)


def default_player() -> str:
    """The newest run under runs/ that holds adapters; the embedded player where there is none."""
    made = (path for path in RUNS.glob("*") if (path / CONFIG).is_file())
    held = [path for path in made if checkpoints.listed(path) or (path / ADAPTERS).is_dir()]
    return str(max(held, key=lambda path: (path / CONFIG).stat().st_mtime)) if held else EMBEDDED


def moments(run: Path) -> list[tuple[str, Source]]:
    """The player before a run, and each of its checkpoints that ends a stage, with names for a table. Raises BadInput."""
    held = [checkpoint for checkpoint in checkpoints.listed(run) if checkpoint.about.evaluated]
    if not held:
        raise BadInput(f"{run} holds no checkpoint that ends a stage; cross-play needs a run with checkpoints")
    sources = [(f"stage {each.about.stage}", source_of(f"{run}@{each.step}")) for each in held]
    return [("start", Source(f"{run}, untrained", None, sources[0][1].settings)), *sources]


def _settings(adapters: TrainedAdapters) -> dict[str, object]:
    """Of the run that the adapters lie in; elsewhere the base that they say they belong to."""
    run = next((each for each in adapters.place.absolute().parents[:3] if (each / CONFIG).is_file()), None)
    if run is not None:
        return {key: value for key, value in from_yaml(run / CONFIG).items() if key in _OF_PLAYER}
    base = next((base.name for base in adapters.bases.values() if base is not None), EMBEDDED)
    return {"model": None if base == EMBEDDED else base}
