"""What a run left, read back: its configuration, and its records line by line; for a report as far as they can be read.

A run may still be writing, or have been killed: what is there when `Lines` is made is read, and a last line without
an end is said. A folder may also be no run, or one that somebody changed: lines have a longest length, are read one at a
time, and what is wrong with one is said with its number. Left out: writing (folder.py).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from selfplay.config import Config, configure
from selfplay.config.layers import MADE_WITH
from selfplay.errors import BadInput
from selfplay.game.episode import ROLES
from selfplay.match.ledger import LedgerError, from_json
from selfplay.match.match import Match
from selfplay.run.folder import ADAPTERS, CONFIG, EPISODES, METRICS, RunFolderError

MAX_LINE = 64 << 20  # bytes; a group of eight chains that think 4096 tokens a turn takes about a sixth


class Lines:
    """The JSON objects of a file, as (number of the line, object), that stood there when this was made.

    A last line without its end is `torn` and left out. Any other line that cannot be read raises LedgerError, which names
    it and why; with `forgiving` it is counted in `damaged` like a torn one, and a file that is not there has no lines.
    Raises RunFolderError where the file cannot be read.
    """

    def __init__(self, path: Path, forgiving: bool = False) -> None:
        self.path, self.forgiving, self.torn, self.damaged, self._size = path, forgiving, False, 0, 0
        try:
            self._size = os.stat(path).st_size
        except OSError as error:
            if not (forgiving and isinstance(error, FileNotFoundError)):
                raise _unread(path, error) from error

    def __iter__(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        left = self._size
        if not left:
            return
        try:
            with open(self.path, "rb") as file:
                for number in count(1):
                    line = file.readline(min(MAX_LINE, left))
                    left -= len(line)
                    if not line:
                        return
                    whole = line.endswith(b"\n")
                    try:
                        if left and not whole:
                            raise ValueError(f"it is longer than {MAX_LINE >> 20} MiB")
                        record = _parsed(line)
                    except ValueError as error:
                        self.torn = not left and not whole
                        self.damaged += 1
                        if not self.torn and not self.forgiving:
                            where = f"{self.path}, line {number}"
                            raise LedgerError(
                                f"{where}: {error}; restore the file, no run writes such a line"
                            ) from None
                    else:
                        yield number, record
        except OSError as error:
            raise _unread(self.path, error) from error


def _unread(path: Path, error: OSError) -> RunFolderError:
    return RunFolderError(f"{path} cannot be read ({error.strerror or error}); give the folder of a run that kept it")


def _parsed(line: bytes) -> Mapping[str, Any]:
    """Raises ValueError with a reason that quotes nothing of the line."""
    try:
        record = json.loads(line.decode("utf-8"), parse_constant=_no_number)
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON ({error.msg} at column {error.colno})") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError:
        raise ValueError("it holds a number that cannot be read") from None
    if not isinstance(record, dict):
        raise ValueError("it is no JSON object")
    return record


def _no_number(name: str) -> None:
    raise ValueError(name)


@dataclass(slots=True)
class Ledger:
    """The matches of a run in order, as (number of the line, match), one line in memory at a time.

    A record that is no match of this version raises LedgerError; where the lines are `forgiving` it is counted in `strange`.
    """

    lines: Lines
    strange: int = 0

    def __iter__(self) -> Iterator[tuple[int, Match]]:
        return ((number, match) for number, _, match in self.with_records())

    def with_records(self) -> Iterator[tuple[int, Mapping[str, Any], Match]]:
        """Each match with the record that it was read from."""
        for number, record in self.lines:
            try:
                match = from_json(record)
            except LedgerError as error:
                if not self.lines.forgiving:
                    raise LedgerError(f"{self.lines.path}, line {number}: {error}") from None
                self.strange += 1
            else:
                yield number, record, match


def read_config(run: Path) -> Config:
    """The configuration of a run. Raises RunFolderError where the folder holds none, ConfigError."""
    file = run / CONFIG
    if not file.is_file():
        raise RunFolderError(f"{run} holds no run: {CONFIG} is missing; give the folder of a run, its --output-dir")
    return configure({}, file)


def open_ledger(run: Path, config: Config) -> Ledger:
    """The run's ledger. Raises RunFolderError where it kept none."""
    if config.ledger == "off":
        raise RunFolderError(f"{run} was made with --ledger off: it cannot be scored again")
    if not (run / EPISODES).is_file():
        raise RunFolderError(f"{run} holds no {EPISODES}: no step was done, or the file was taken away")
    return Ledger(Lines(run / EPISODES))


def groups_of_steps(run: Path) -> dict[int, int]:
    """How many groups each step had, by metrics.jsonl, which a run writes before the ledger; {} without that file."""
    if not (run / METRICS).is_file():
        return {}
    steps = (record for _, record in Lines(run / METRICS) if record.get("kind") == "step")
    counts = ((step.get("step"), [step.get(f"groups/{role}") for role in ROLES]) for step in steps)
    groups = ((index, max((n for n in each if isinstance(n, int)), default=0)) for index, each in counts)
    return {index: most for index, most in groups if isinstance(index, int) and most}


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
