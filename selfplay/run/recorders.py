"""Where a run's records go: what a recorder is, and several of them as one.

RunFolder (folder.py) writes the files; live.py prints, alarms.py watches, trackers.py and callbacks.py pass records on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from selfplay.run.checkpoints import About


class Savable(Protocol):
    """A policy, or the state of a run, as far as recorders are concerned."""

    def save(self, folder: Path) -> None:
        """Writes all of it into a folder; of a policy folder/adapters, whole or not at all."""
        ...


class Resumable(Savable, Protocol):
    """The state of a run, as far as recorders are concerned."""

    def about(self, records: Mapping[str, int]) -> About:
        """What a checkpoint of it is of; `records` are the sizes of the files that it belongs to."""
        ...


class Recorder:
    """A recorder that records nothing; others override what they care for. Only rank 0 gives it steps and episodes."""

    def say(self, text: str) -> None:
        """What the run is at, for whoever watches."""

    def about(self, **facts: Any) -> None:
        """What is known of the run once the judge and the model are open (tier, parameters ...)."""

    def step(self, metrics: Mapping[str, Any]) -> None:
        """A step is done: its line of metrics.jsonl."""

    def evaluation(self, record: Mapping[str, Any]) -> None:
        """An evaluation is done: its line of metrics.jsonl."""

    def episodes(self, records: Sequence[Mapping[str, Any]]) -> None:
        """The matches of the step: lines of episodes.jsonl."""

    def sample(self, text: str) -> None:
        """An episode of the step, to be looked at."""

    def save(self, policy: Savable) -> None:
        """The run ends: its adapters."""

    def checkpoint(self, state: Resumable, must: bool = False) -> None:
        """A checkpoint can be made; there `must` be one at the end and where an evaluation was made."""

    def rewind(self, step: int, records: Mapping[str, int]) -> None:
        """What was recorded after `step` steps, when the files of `records` had these sizes, counts no more."""

    def close(self) -> None:
        """Nothing more will be recorded."""


class Recorders(Recorder):
    """Several recorders as one: each gets every record, in their order."""

    def __init__(self, *each: Recorder) -> None:
        self.each = each


def _to_each(name: str) -> Callable[..., None]:
    def record(self: Recorders, *arguments: Any, **facts: Any) -> None:
        for recorder in self.each:
            getattr(recorder, name)(*arguments, **facts)

    return record


for _name in [name for name in vars(Recorder) if not name.startswith("_")]:
    setattr(Recorders, _name, _to_each(_name))
