"""The folder that is pushed: both adapters, the settings, curves, a card; for the embedded player its base too.

An adapter names its base in adapter_config.json, and a folder by its last part alone. The embedded player lies on this machine
only, so its files go to the root of the repository, and the adapters name that. Any other base must have a name on the hub.
Left out: records, whose texts are many and somebody's to look through first, and checkpoints' optimizers.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selfplay.errors import BadInput
from selfplay.game.episode import ROLES
from selfplay.printing import printable
from selfplay.run import checkpoints
from selfplay.run.adapters import BASE, SETTINGS
from selfplay.run.folder import ADAPTERS, CONFIG
from selfplay.run.hub.card import CURVES, Subject, card, curves
from selfplay.run.hub.licence import Licence
from selfplay.run.report.reading import RunRecord, read_run

WEIGHTS = "adapter_model.safetensors"
EMBEDDED = "embedded"  # what the player that comes with the package is called as a base
PLAYER = ("tiny", "player")  # the last parts of its folder, which PEFT alone would name


@dataclass(frozen=True, slots=True)
class Adapters:
    """Where both adapters lie, and what they were made for: None for the embedded player."""

    folder: Path
    base: str | None


def find_adapters(run: Path, base: str | None = None) -> Adapters:
    """The newest that are whole: those that the run ended with, or of a checkpoint.

    `base`: the hub's name of what they were made for, where that is a folder here. Raises BadInput where there are none, or
    nobody else could find their base.
    """
    held = [run, run / ADAPTERS, *(each.path / ADAPTERS for each in checkpoints.listed(run))]
    whole = [path for path in held if all((path / role / WEIGHTS).is_file() for role in ROLES)]
    if not whole:
        raise BadInput(f"{run} holds no adapters of both roles; a run saves them when it ends or is interrupted")
    folder = max(whole, key=lambda path: (path / ROLES[0] / WEIGHTS).stat().st_mtime)
    named = str(_settings(folder / ROLES[0]).get("base_model_name_or_path") or "")
    if named == EMBEDDED or Path(named).parts[-2:] == PLAYER:
        return Adapters(folder, None)
    if base is None and (named.count("/") != 1 or Path(named).is_dir()):
        raise BadInput(
            f"the adapters' base is {printable(named) or 'not named'}, which is no user/name on the hub: nobody else could "
            "find it; give --base with its name on the hub"
        )
    return Adapters(folder, base or named)


@dataclass(frozen=True, slots=True)
class Parcel:
    """A folder that is whole but for its card, whose licence only the hub can tell."""

    folder: Path
    record: RunRecord
    about: Subject

    def write_card(self, licence: Licence) -> None:
        (self.folder / "README.md").write_text(card(self.record, self.about, licence), encoding="utf-8")


def pack(run: Path, repo: str, into: Path, base: str | None = None, dataset: str | None = None) -> Parcel:
    """Fills the empty folder `into`; asks no network. `dataset`: the hub's name of the problems. Raises BadInput."""
    adapters = find_adapters(run, base)
    record = read_run(run)
    for role in ROLES:
        (into / role).mkdir()
        shutil.copy(adapters.folder / role / WEIGHTS, into / role)
        if (adapters.folder / role / BASE).is_file():
            shutil.copy(adapters.folder / role / BASE, into / role)
        own = {**_settings(adapters.folder / role), "base_model_name_or_path": adapters.base or repo}
        (into / role / SETTINGS).write_text(json.dumps(own, indent=2) + "\n", encoding="utf-8")
    if adapters.base is None:
        _copy_player(into)
    if (run / CONFIG).is_file():
        shutil.copy(run / CONFIG, into)
    drawn = curves(record)
    if drawn:
        (into / CURVES).write_text(drawn, encoding="utf-8")
    return Parcel(into, record, Subject(repo, adapters.base, bool(drawn), _rank(adapters.folder), dataset))


def _copy_player(into: Path) -> None:
    player = Path(__file__).parents[2].joinpath(*PLAYER)
    for path in player.iterdir():
        if path.suffix in (".json", ".jinja", ".safetensors"):
            shutil.copy(path, into)


def _rank(folder: Path) -> int:
    return max(int(_settings(folder / role).get("r") or 0) for role in ROLES)


def _settings(adapter: Path) -> Mapping[str, Any]:
    try:
        found = json.loads((adapter / SETTINGS).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{adapter / SETTINGS} cannot be read ({error}); save the run's adapters again") from None
    if not isinstance(found, dict):
        raise BadInput(f"{adapter / SETTINGS} is not the settings of an adapter; save the run's adapters again")
    return found
