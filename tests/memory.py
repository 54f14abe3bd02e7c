"""A recorder that keeps everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from selfplay.run.recorders import Recorder, Resumable, Savable


class Memory(Recorder):
    """What was recorded, in order."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.facts: dict[str, Any] = {}
        self.steps: list[Mapping[str, Any]] = []
        self.evaluations: list[Mapping[str, Any]] = []
        self.episode_records: list[Mapping[str, Any]] = []
        self.samples: list[str] = []
        self.saved = 0
        self.checkpoints: list[int] = []  # the steps after which there must be one

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

    def save(self, policy: Savable) -> None:
        self.saved += 1

    def checkpoint(self, state: Resumable, must: bool = False) -> None:
        if must:
            self.checkpoints.append(state.about({}).step)
