"""Where records go besides a folder and a screen: to several places at once, watched for what is wrong, or to memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from selfplay.run.alarms import Alarm, Watch
from selfplay.run.folder import Keeps, Saves


class Silent:
    """A recorder that keeps nothing; one that cares for a few records overrides these."""

    def say(self, text: str) -> None: ...

    def about(self, **facts: Any) -> None: ...

    def step(self, metrics: Mapping[str, Any]) -> None: ...

    def evaluation(self, record: Mapping[str, Any]) -> None: ...

    def episodes(self, records: Sequence[Mapping[str, Any]]) -> None: ...

    def sample(self, text: str) -> None: ...

    def save(self, policy: Saves) -> None: ...

    def keep(self, state: Keeps, must: bool = False) -> None: ...

    def rewind(self, step: int, records: Mapping[str, int]) -> None: ...

    def close(self) -> None: ...


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

    def close(self) -> None:
        for recorder in self.each:
            recorder.close()


class Watched(Recorders):
    """Several recorders as one, to which alarms are said as they begin. `facts`: what is known of the run before it says so."""

    def __init__(self, *each: Any, **facts: Any) -> None:
        super().__init__(*each)
        self.watch = Watch(facts)

    def about(self, **facts: Any) -> None:
        self.watch.facts |= facts
        super().about(**facts)

    def step(self, metrics: Mapping[str, Any]) -> None:
        super().step(metrics)
        self._sound(self.watch.step(metrics))

    def episodes(self, records: Sequence[Mapping[str, Any]]) -> None:
        super().episodes(records)
        self._sound(self.watch.episodes(records))

    def _sound(self, alarms: Sequence[Alarm]) -> None:
        for alarm in alarms:
            self.say(str(alarm))


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

    def close(self) -> None: ...
