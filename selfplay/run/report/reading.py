"""The folder of a run, read: of a finished one, of one that is still running, and of one that was cut off.

A line that is not whole (the last one of a killed run, or one that is just being written) is left out and counted, where
`selfplay.run.reading` raises: a report shows what there is. Left out: adapters, which a report only names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from selfplay.config.layers import MADE_WITH
from selfplay.errors import BadInput
from selfplay.match.ledger import LedgerError, from_json
from selfplay.match.record import Match
from selfplay.run.folder import ADAPTERS, CONFIG, EPISODES, METRICS
from selfplay.run.reading import MAX_LINE


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
    lines = Lines(path / METRICS)
    records = list(lines)
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


@dataclass(slots=True)
class Lines:
    """The objects of a file of JSON lines, one at a time; `damaged` counts the lines that hold none."""

    path: Path
    damaged: int = field(default=0, init=False)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        if not self.path.is_file():
            return
        with open(self.path, "rb") as file:
            while line := file.readline(MAX_LINE):
                try:
                    record = json.loads(line)
                except (
                    ValueError,
                    RecursionError,
                ):  # what is longer than a line may be comes in pieces, which are none
                    record = None
                if isinstance(record, dict):
                    yield record
                else:
                    self.damaged += 1


@dataclass(slots=True)
class Matches:
    """A run's matches in order, one at a time, each with its record. `strange` counts whole records that are no match."""

    path: Path
    damaged: int = field(default=0, init=False)
    strange: int = field(default=0, init=False)

    def __iter__(self) -> Iterator[tuple[Mapping[str, Any], Match]]:
        lines = Lines(self.path / EPISODES)
        for record in lines:
            try:
                match = from_json(record)
            except LedgerError:
                self.strange += 1
            else:
                yield record, match
        self.damaged = lines.damaged


def _settings(path: Path) -> dict[str, Any]:
    """config.yaml, or nothing where it is missing or half written."""
    import yaml

    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return {}
    return found if isinstance(found, dict) else {}
