"""The folder of a run, read: of a finished one, of one that is still running, and of one that was cut off.

A line that cannot be read is left out and counted: a report shows what there is. Left out: adapters, which a report only
names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selfplay.config.layers import MADE_WITH
from selfplay.errors import BadInput
from selfplay.run.folder import ADAPTERS, CONFIG, EPISODES, METRICS
from selfplay.run.reading import Ledger, Lines


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What a folder holds besides episodes. `made_with`: versions and facts of config.yaml; `damaged`: lines left out."""

    path: Path
    config: Mapping[str, Any]
    made_with: Mapping[str, Any]
    steps: tuple[Mapping[str, Any], ...]
    evaluations: Mapping[str, Mapping[str, Any]]
    damaged: int = 0
    adapters: bool = False

    @property
    def planned(self) -> int:
        """Steps of the whole schedule; 0 before the first."""
        return int(self.steps[-1].get("steps") or 0) if self.steps else 0

    @property
    def state(self) -> str:
        """How far the run came, as a sentence."""
        if not self.steps:
            return "No step is done yet."
        last, count = self.steps[-1]["step"] + 1, len(self.steps)
        far = (
            f"{count} of {self.planned} steps"
            if last == count
            else f"{count} steps, the last of them {last} of {self.planned}"
        )
        if "after" in self.evaluations:
            return f"Finished: {far}."
        return f"Not finished: {far} are recorded. It is still running, or it was interrupted."


def read_run(path: Path) -> RunRecord:
    """The run in `path`. Raises BadInput where there is none."""
    if not path.is_dir():
        raise BadInput(f"{path} is not a folder; give the --output-dir of a run")
    if not any((path / name).is_file() for name in (CONFIG, METRICS, EPISODES)):
        raise BadInput(f"{path} holds no run ({CONFIG}, {METRICS} or {EPISODES}); give the --output-dir of one")
    lines = Lines(path / METRICS, forgiving=True)
    records = [record for _, record in lines]
    steps = [each for each in records if each.get("kind") == "step"]
    whole = [each for each in steps if _is_count(each.get("step")) and _is_count(each.get("steps", 0))]
    config = _settings(path / CONFIG)
    return RunRecord(
        path,
        {name: value for name, value in config.items() if name != MADE_WITH},
        made_with if isinstance(made_with := config.get(MADE_WITH), dict) else {},
        tuple(whole),
        {str(each.get("when")): each for each in records if each.get("kind") == "evaluation"},
        lines.damaged + len(steps) - len(whole),
        (path / ADAPTERS).is_dir(),
    )


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**53


def ledger_of(path: Path) -> Ledger:
    """The matches of the run in `path`, as far as they can be read."""
    return Ledger(Lines(path / EPISODES, forgiving=True))


def _settings(path: Path) -> dict[str, Any]:
    """config.yaml, or nothing where it is missing or half written."""
    import yaml

    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return {}
    return found if isinstance(found, dict) else {}
