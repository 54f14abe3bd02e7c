"""Curves of a run as SVG text: a line for each figure over the steps, the schedule's stages marked, points with their values.

Drawn here and not by a script, so that a browser without scripts shows them too. Colours are classes of the page's style. Left
out: axes that a reader can move; the numbers themselves are in metrics.jsonl.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any

from selfplay.game.episode import ROLES
from selfplay.run.figures import Metrics, is_number, of_role
from selfplay.run.progress import FIGURES, number

WIDTH, HEIGHT = 560, 200
LEFT, RIGHT, TOP, BOTTOM = 44, 10, 16, 22
LABEL, LETTER, NUMBER = 54, 18, 26  # room that a stage's name, a phase's letter, a step's number take, on a phone too
SLACK = 1e-9  # parts of a step by which rounding may miss
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Line:
    """A named row of points (x, y); `bars` are the intervals (low, high) of the points, where they have some."""

    name: str
    points: tuple[Point, ...]
    bars: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure of the report: title, one sentence on what it shows, its lines; above them where stages begin, below them
    phases (from, to, letter) or evaluations."""

    title: str
    about: str
    lines: tuple[Line, ...]
    marks: tuple[tuple[float, str], ...] = ()
    phases: tuple[tuple[float, float, str], ...] = ()
    ticks: tuple[tuple[float, str], ...] = ()

    @property
    def svg(self) -> str:
        return _svg(self)


def charts(steps: Sequence[Metrics], evaluations: Mapping[str, Metrics]) -> list[Chart]:
    """Every chart that has something to show."""
    marks, phases = stage_marks(steps), phase_marks(steps)
    found = [held_out(evaluations)]
    for title, about, read in CHARTS:
        lines = tuple(line for name, value in read.items() if (line := _line(name, steps, value)).points)
        found.append(Chart(title, about, lines, marks, phases))
    return [chart for chart in found if chart.lines]


def held_out(evaluations: Mapping[str, Metrics]) -> Chart:
    """The evaluations in order, with their intervals; `after` repeats the last stage on more problems."""
    order = list(evaluations)
    lines = []
    for key in ("code_greedy", "code_correct", "test_validity", "mutation_score"):
        values = [(x, evaluations[when].get(key)) for x, when in enumerate(order)]
        known = [(x, each) for x, each in values if isinstance(each, Mapping) and is_number(each.get("value"))]
        shift = (len(lines) - 1.5) * 0.08  # intervals beside each other, not on top
        points = tuple((x + shift, float(each["value"])) for x, each in known)
        bars = tuple((_or(each.get("low"), each["value"]), _or(each.get("high"), each["value"])) for _, each in known)
        if points:
            lines.append(Line(FIGURES[key], points, bars))
    ticks = tuple((float(x), when) for x, when in enumerate(order))
    about = "Share of held-out problems, cases or mutants, with 95 % intervals."
    return Chart("Held-out problems", about, tuple(lines), ticks=ticks)


def stage_marks(steps: Sequence[Metrics]) -> tuple[tuple[float, str], ...]:
    """Where each stage of the schedule begins: (step, label)."""
    marks: list[tuple[float, str]] = []
    for step in steps:
        label = f"stage {step.get('stage')}"
        if not marks or marks[-1][1] != label:
            marks.append((float(step.get("step") or 0) + 1, label))
    return tuple(marks)


def phase_marks(steps: Sequence[Metrics]) -> tuple[tuple[float, float, str], ...]:
    """The phases of the schedule: first step, last step, and the letter of its name ("stage 2 generator": G)."""
    found = []
    for phase, own in groupby(steps, key=lambda step: str(step.get("phase") or "")):
        numbers = [float(step.get("step") or 0) + 1 for step in own]
        found.append((numbers[0], numbers[-1], phase.rpartition(" ")[2][:1].upper()))
    return tuple(found)


def _figure(name: str) -> Callable[[Metrics], Any]:
    return lambda step: step.get(name)


def _by_role(name: str) -> dict[str, Callable[[Metrics], Any]]:
    return {role: lambda step, role=role: of_role(step, name, role) for role in ROLES}


def _informative(role: Any) -> Callable[[Metrics], Any]:
    def share(step: Metrics) -> float | None:
        groups, informative = of_role(step, "groups", role), of_role(step, "informative_groups", role)
        return informative / groups if groups and informative is not None else None

    return share


CHARTS: tuple[tuple[str, str, dict[str, Callable[[Metrics], Any]]], ...] = (
    ("Rewards", "Mean reward of each role.", {role: _figure(f"reward/{role}") for role in ROLES}),
    (
        "Programs",
        "Share of verdicts that are passed, on all valid tests and on the problems' own.",
        {
            "pass rate": _figure("pass_rate"),
            "on own tests": _figure("pass_rate_baseline"),
            "no code": _figure("no_code"),
        },
    ),
    (
        "Tests",
        "Share of the tests written that are valid, and distinct; share of wrong programs that a suite kills.",
        {"valid": _figure("validity"), "distinct": _figure("distinct"), "kills": _figure("kills")},
    ),
    (
        "Informative groups",
        "Share of groups whose episodes earned different rewards. The others teach nothing.",
        {role: _informative(role) for role in ROLES},
    ),
    ("Entropy", "Nats per trained token. Near zero a role says the same every time.", _by_role("entropy")),
    ("Gradient", "Length of the gradient before it is scaled down.", _by_role("grad_norm")),
    (
        "Seconds by part",
        "Wall-clock time of a step on the first process.",
        {name: _figure(f"seconds/{name}") for name in ("play", "judge", "update")},
    ),
)


def _line(name: str, steps: Sequence[Metrics], value: Callable[[Metrics], Any]) -> Line:
    found = [(float(step.get("step") or 0) + 1, value(step)) for step in steps]
    return Line(name, tuple((x, float(y)) for x, y in found if is_number(y)))


# ---- drawing ----


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where a value lies on the picture."""

    low: Point
    high: Point
    step: float

    def x(self, value: float) -> float:
        return round(LEFT + (value - self.low[0]) / (self.high[0] - self.low[0]) * (WIDTH - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        return round(
            HEIGHT - BOTTOM - (value - self.low[1]) / (self.high[1] - self.low[1]) * (HEIGHT - TOP - BOTTOM), 1
        )


def _frame(chart: Chart) -> _Frame:
    xs = [x for line in chart.lines for x, _ in line.points] + [x for x, _ in (*chart.marks, *chart.ticks)]
    ys = [y for line in chart.lines for _, y in line.points] + [
        y for line in chart.lines for bar in line.bars for y in bar
    ]
    low, high = min(0.0, *ys), max(ys)
    step = _round_step((high if high > low else low + 1.0) - low)
    low, high = (
        step * math.floor(low / step + SLACK),
        step * math.ceil((high if high > low else low + 1.0) / step - SLACK),
    )
    pad = 0.3 if chart.ticks else 0.0
    left, right = min(xs) - pad, max(xs) + pad
    return _Frame((left, low), (right if right > left else left + 1.0, high), step)


def _round_step(span: float) -> float:
    """The least round number that cuts the span into four parts at most."""
    least = 10.0 ** math.floor(math.log10(span / 4))
    return next(least * part for part in (1, 2, 2.5, 5, 10) if least * part * (4 + SLACK) >= span)


def _svg(chart: Chart) -> str:
    frame = _frame(chart)
    label = f"{chart.title}. {chart.about}"
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">', *_grid(frame)]
    parts += _marks(chart, frame)
    for place, line in enumerate(chart.lines):
        parts += [f'<g class="line c{place}">', *_drawn(line, frame, chart), "</g>"]
    return "".join([*parts, "</svg>"])


def _grid(frame: _Frame) -> list[str]:
    low, high = frame.low[1], frame.high[1]
    values = [low + frame.step * part for part in range(round((high - low) / frame.step) + 1)]
    digits = next((digits for digits in range(6) if round(frame.step, digits) == round(frame.step, 9)), 6)
    return [
        f'<path class="grid" d="M{LEFT} {frame.y(value)}H{WIDTH - RIGHT}"/>'
        f'<text class="tick" x="{LEFT - 6}" y="{frame.y(value) + 3}" text-anchor="end">{number(value, digits)}</text>'
        for value in values
    ]


def _marks(chart: Chart, frame: _Frame) -> list[str]:
    """Stages as dashed lines with their names above, phases as letters and evaluations as names below."""
    drawn = [
        f'<path class="stage" d="M{frame.x(x)} {TOP}V{HEIGHT - BOTTOM}"/>'
        f'<text class="tick" x="{min(frame.x(x) + 3, WIDTH - LABEL)}" y="{TOP - 5}">{escape(label)}</text>'
        for x, label in chart.marks
    ]
    for first, last, letter in chart.phases:
        if frame.x(last + 1) - frame.x(first) >= LETTER:  # beside the step numbers at both ends
            x = min(max((frame.x(first) + frame.x(last)) / 2, LEFT + NUMBER), WIDTH - RIGHT - NUMBER)
            drawn.append(
                f'<text class="tick" x="{x:.1f}" y="{HEIGHT - 6}" text-anchor="middle">{escape(letter)}</text>'
            )
    below = list(chart.ticks)
    if not below:
        below = [(x, f"{x:.0f}") for x in dict.fromkeys((round(frame.low[0]), round(frame.high[0])))]
    anchors = ["middle" if chart.ticks else "start"] + ["middle" if chart.ticks else "end"] * len(below)
    drawn += [
        f'<text class="tick" x="{frame.x(x)}" y="{HEIGHT - 6}" text-anchor="{anchor}">{escape(label)}</text>'
        for (x, label), anchor in zip(below, anchors, strict=False)
    ]
    return drawn


def _drawn(line: Line, frame: _Frame, chart: Chart) -> list[str]:
    places = [(frame.x(x), frame.y(y)) for x, y in line.points]
    parts = ['<polyline points="' + " ".join(f"{x},{y}" for x, y in places) + '"/>']
    for (x, _), (low, high) in zip(places, line.bars, strict=False):
        parts.append(f'<path class="bar" d="M{x} {frame.y(low)}V{frame.y(high)}"/>')
    if len(places) <= 400:  # more points than that cannot be told apart
        where = dict(chart.ticks)
        for (x, y), (at, value) in zip(places, line.points, strict=True):
            said = where.get(round(at), f"step {at:.0f}") if chart.ticks else f"step {at:.0f}"
            title = f"{line.name}, {said}: {number(value, 3)}"
            parts.append(f'<circle cx="{x}" cy="{y}" r="2.4"><title>{escape(title)}</title></circle>')
    return parts


def _or(value: object, otherwise: Any) -> float:
    return float(value) if is_number(value) else float(otherwise)
