"""The live display of a run in a terminal: the lines of `Progress` above, and below them where the run stands.

    where in the schedule, what it is at, time gone and time left · each role's rewards with their course, its loss ·
    seconds by part · the last alarm

`Standing` is what is known, a pure value that records change; `panel` draws it. Left out: a display in files, pipes,
notebooks and terminals that cannot move their cursor or have no Unicode, where `display` gives the plain lines; and keys:
nothing can be pressed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live as Region
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from selfplay.config import Config
from selfplay.game.episode import ROLES
from selfplay.printing import printable
from selfplay.run.figures import Metrics, is_number, of_role
from selfplay.run.progress import Progress, number

REFRESH = 1  # times a second
LEAST = 60  # columns; a narrower terminal gets plain lines
BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of a run. `evaluations` maps each to its seconds; `began` is a reading of the monotonic clock."""

    stages: tuple[int, ...]
    began: float
    at: str = ""
    steps: tuple[Metrics, ...] = ()
    evaluations: tuple[tuple[str, float], ...] = ()
    alarm: str = ""

    @property
    def last(self) -> Metrics:
        return self.steps[-1] if self.steps else {}

    @property
    def done(self) -> int:
        return int(self.last.get("step", -1)) + 1

    @property
    def total(self) -> int:
        return int(self.last.get("steps") or 0)


def seconds_left(standing: Standing) -> float | None:
    """Of the steps and evaluations to come, by the mean of those that were; None before the first step.

    The last stage's evaluation reads as many problems as the one before training.
    """
    seconds = [float(step["seconds"]) for step in standing.steps if is_number(step.get("seconds"))]
    if not seconds:
        return None
    left = (standing.total - standing.done) * sum(seconds) / len(seconds)
    taken = dict(standing.evaluations)
    between = [each for when, each in standing.evaluations if when.startswith("stage-")]
    now = int(standing.last.get("stage") or 0)  # earlier ones were evaluated, perhaps before the run was resumed
    missing = [stage for stage in standing.stages if stage >= now and f"stage-{stage}" not in taken]
    if missing:
        mean = sum(between) / len(between) if between else taken.get("before", 0.0) / 2
        left += taken.get("before", mean) + mean * (len(missing) - 1)
    return left


def spark(values: Sequence[float | None], width: int) -> str:
    """The last `width` values as a line of bars, from the lowest to the highest of them; a blank for None."""
    shown = values[-width:]
    known = [value for value in shown if value is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    top = len(BARS) - 1
    return "".join(
        " " if value is None else BARS[round((value - low) / (high - low) * top) if high > low else top // 2]
        for value in shown
    )


def panel(standing: Standing, width: int, now: float) -> RenderableType:
    """The display, at most `width` columns wide."""
    parts = [_schedule(standing, width, now), Text(standing.at, no_wrap=True, overflow="ellipsis", style="dim")]
    if standing.steps:
        parts += [_roles(standing, max(8, width - 46)), Text(_seconds(standing), no_wrap=True, style="dim")]
    if standing.alarm:
        parts.append(Text(standing.alarm, style="yellow"))
    return Group(Text("─" * width, style="dim"), *parts)


def _schedule(standing: Standing, width: int, now: float) -> RenderableType:
    line = Table.grid(padding=(0, 1))
    left = seconds_left(standing)
    texts = [
        str(standing.last.get("phase") or "before the first step"),
        f"step {standing.done}/{standing.total or '?'}",
    ]
    clock = f"{duration(now - standing.began)} gone, {'about ' + duration(left) if left is not None else '?'} left"
    room = width - sum(map(len, texts)) - len(clock) - 3
    bar = ProgressBar(total=max(standing.total, 1), completed=standing.done, width=max(4, room))
    line.add_row(
        Text(texts[0], style="bold", no_wrap=True), Text(texts[1], no_wrap=True), bar, Text(clock, no_wrap=True)
    )
    return line


def _roles(standing: Standing, width: int) -> Table:
    table = Table.grid(padding=(0, 1))
    for role in ROLES:
        rewards = [_known(step.get(f"reward/{role}")) for step in standing.steps]
        losses = [loss for step in standing.steps if (loss := of_role(step, "loss", role)) is not None]
        table.add_row(
            Text(role, style="bold"),
            Text(f"reward {number(rewards[-1], 3)}", no_wrap=True),
            Text(spark(rewards, width), style="cyan", no_wrap=True),
            Text(f"loss {number(losses[-1] if losses else None, 3)}", no_wrap=True, overflow="ellipsis"),
        )
    return table


def _seconds(standing: Standing) -> str:
    parts = {name: _known(standing.last.get(f"seconds/{name}")) for name in ("play", "judge", "update")}
    said = " · ".join(f"{name} {number(seconds, 1)}" for name, seconds in parts.items())
    return f"last step {number(_known(standing.last.get('seconds')), 1)} s: {said}"


def duration(seconds: float) -> str:
    """0:07, 12:30, 3:04:05."""
    whole = int(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _known(value: Any) -> float | None:
    return float(value) if is_number(value) else None


class Live(Progress):
    """The recorder that shows it. The region is drawn from the first line on, until `close`."""

    def __init__(self, config: Config, console: Console) -> None:
        super().__init__(width=console.width)
        self.standing = Standing(config.stages, time.monotonic())
        self.console = console
        self._region = Region(console=console, refresh_per_second=REFRESH, transient=True, get_renderable=self._drawn)

    def say(self, text: str) -> None:
        said = "alarm" if text.startswith("ALARM") else "at"
        self.standing = replace(self.standing, **{said: printable(text)})
        super().say(text)

    def step(self, metrics: Mapping[str, Any]) -> None:
        self.standing = replace(self.standing, steps=(*self.standing.steps, metrics), at="training")
        super().step(metrics)

    def evaluation(self, record: Mapping[str, Any]) -> None:
        took = (str(record.get("when")), float(record.get("seconds") or 0.0))
        self.standing = replace(self.standing, evaluations=(*self.standing.evaluations, took), at="training")
        super().evaluation(record)

    def close(self) -> None:
        self._region.stop()

    def _print(self, text: str) -> None:
        if not self._region.is_started:
            self._region.start()
        self.console.print(printable(text), markup=False, highlight=False, soft_wrap=True)

    def _drawn(self) -> RenderableType:
        return panel(self.standing, self.console.width, time.monotonic())


def display(config: Config, out: TextIO | None = None) -> Progress:
    """The live display where `out` is a terminal that can show it, plain lines elsewhere."""
    console = Console(file=out or sys.stdout, highlight=False)
    moves = console.is_terminal and not console.is_dumb_terminal and not console.is_jupyter
    able = moves and console.width >= LEAST and "utf" in console.encoding.lower()
    return Live(config, console) if able else Progress(out)
