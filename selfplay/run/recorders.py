"""Where records go besides a folder and a screen: to several places at once, or to memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from selfplay.run.folder import Keeps, Saves


class Recorders:
    """Several recorders as one."""

    def __init__(self, *each: Any) -> None:
        self.each = each

    def say(self, text: str) -> None:
        for recorder in self.each:
            recorder.say(text)

    def about(self, **facts: Any) -> None:
        for recorder in self.each:
            recorder.about(**facts)

    def step(self, metrics: Mapping[str, Any]) -> None:
        for recorder in self.each:
            recorder.step(metrics)

    def evaluation(self, record: Mapping[str, Any]) -> None:
        for recorder in self.each:
            recorder.evaluation(record)

    def episodes(self, records: Sequence[Mapping[str, Any]]) -> None:
        for recorder in self.each:
            recorder.episodes(records)

    def sample(self, text: str) -> None:
        for recorder in self.each:
            recorder.sample(text)

    def save(self, policy: Saves) -> None:
        for recorder in self.each:
            recorder.save(policy)

    def keep(self, state: Keeps, must: bool = False) -> None:
        for recorder in self.each:
            recorder.keep(state, must)

    def rewind(self, step: int, records: Mapping[str, int]) -> None:
        for recorder in self.each:
            recorder.rewind(step, records)


class Memory:
    """A recorder that keeps everything, for tests and for other ranks than the first."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.facts: dict[str, Any] = {}
        self.steps: list[Mapping[str, Any]] = []
        self.evaluations: list[Mapping[str, Any]] = []
        self.episode_records: list[Mapping[str, Any]] = []
        self.samples: list[str] = []
        self.saved = 0
        self.kept: list[int] = []

    def say(self, text: str) -> None:
        self.said.append(text)

    def about(self, **facts: Any) -> None:
        self.facts |= facts

    def step(self, metrics: Mapping[str, Any]) -> None:
        self.steps.append(metrics)

    def evaluation(self, record: Mapping[str, Any]) -> None:
        self.evaluations.append(record)

    def episodes(self, records: Sequence[Mapping[str, Any]]) -> None:
        self.episode_records += records

    def sample(self, text: str) -> None:
        self.samples.append(text)

    def save(self, policy: Saves) -> None:
        self.saved += 1

    def keep(self, state: Keeps, must: bool = False) -> None:
        """The steps after which there must be a checkpoint."""
        if must:
            self.kept.append(state.about({}).step)

    def rewind(self, step: int, records: Mapping[str, int]) -> None:
        """Another process, or an earlier one, has recorded what came before."""
