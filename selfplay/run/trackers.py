"""Experiment trackers as recorders: `--report-to trackio`, `tensorboard`, `wandb`, or several of them, by their own libraries.

    --report-to tensorboard,trackio     curves in RUN/tensorboard, and in trackio's dashboard

Figures are named by role (`generator/loss`, `discriminator/validity`, `time/judge`, `eval/code_greedy`). Whatever a tracker
raises is said once, and the run goes on without it: metrics.jsonl holds everything. Nothing is opened before the first step is
done. Left out: texts, which stay in episodes.jsonl, and logging in, which each tracker's own command does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from selfplay.config import Config
from selfplay.errors import BadInput, UnknownName, install
from selfplay.printing import printable
from selfplay.run.figures import by_role, of_evaluation
from selfplay.run.recorders import Recorder

PROJECT = "selfplay"
LOGIN_SECONDS = 30  # that a tracker may wait for a key


class Tracker(Protocol):
    """One tracker, open. Any method may raise anything."""

    def log(self, values: Mapping[str, float], step: int) -> None: ...
    def end(self) -> None: ...


class TensorBoard:
    """Event files in RUN/tensorboard, by the writer that torch brings."""

    def __init__(self, config: Config) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(Path(config.output_dir) / "tensorboard"))

    def log(self, values: Mapping[str, float], step: int) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def end(self) -> None:
        self._writer.close()


class Online:
    """Trackio, whose database lies where it keeps it, or Weights & Biases, whose files lie in the run's folder."""

    def __init__(self, library: str, config: Config) -> None:
        self._library = import_module(library)
        place = {"project": PROJECT, "name": run_name(config), "config": asdict(config)}
        if library == "wandb":
            settings = self._library.Settings(login_timeout=LOGIN_SECONDS, silent=True)
            place |= {"dir": config.output_dir, "settings": settings}
        self._library.init(**place)

    def log(self, values: Mapping[str, float], step: int) -> None:
        self._library.log(dict(values), step=step)

    def end(self) -> None:
        self._library.finish()


TRACKERS: Mapping[str, Callable[[Config], Tracker]] = {
    "trackio": partial(Online, "trackio"),
    "tensorboard": TensorBoard,
    "wandb": partial(Online, "wandb"),
}


def names(config: Config) -> tuple[str, ...]:
    """The trackers that a run reports to. Raises UnknownName, and BadInput where one is not installed."""
    given = config.report_to or ()
    chosen = tuple(dict.fromkeys((given,) if isinstance(given, str) else given))
    for name in chosen:
        if name not in TRACKERS:
            raise UnknownName("tracker", name, TRACKERS)
        if find_spec(name) is None:
            raise BadInput(f"{name} is not installed: {install(name)}, or leave it out of --report-to")
    return chosen


def run_name(config: Config) -> str:
    return Path(config.output_dir).resolve().name


class Tracking(Recorder):
    """A recorder that reports to one tracker, until that fails. `say`: where to say so."""

    def __init__(
        self, name: str, config: Config, say: Callable[[str], None], make: Callable[[Config], Tracker] | None = None
    ) -> None:
        self.name, self.config = name, config
        self._say, self._make = say, make or TRACKERS[name]
        self._tracker: Tracker | None = None
        self._waiting: list[tuple[dict[str, float], int]] = []  # evaluations before the first step
        self._done, self._failed = 0, False

    def step(self, metrics: Mapping[str, Any]) -> None:
        self._done = int(metrics.get("step") or 0) + 1
        self._waiting.append((by_role(metrics), self._done))
        self._safely(self._send)

    def evaluation(self, record: Mapping[str, Any]) -> None:
        self._waiting.append((of_evaluation(record), self._done))
        if self._tracker is not None:
            self._safely(self._send)

    def rewind(self, step: int, records: Mapping[str, int]) -> None:
        self._done = step

    def close(self) -> None:
        if self._tracker is not None:
            self._safely(self._tracker.end)

    def _send(self) -> None:
        if self._tracker is None:
            self._tracker = self._make(self.config)
        while self._waiting:
            self._tracker.log(*self._waiting.pop(0))

    def _safely(self, call: Callable[[], None]) -> None:
        if self._failed:
            return
        try:
            call()
        except Exception as error:  # noqa: BLE001 -- a stranger's library, disk and network: no run ends for them
            self._failed = True
            self._waiting.clear()
            why = " ".join(printable(str(error)).split())[:200]
            what = f"{self.name} failed ({type(error).__name__}: {why})"
            self._say(f"{what}; the run goes on without it, metrics.jsonl holds everything")
