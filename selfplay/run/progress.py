"""What a run says while it runs: one line a step, one an evaluation, a sample now and then, the table at the end.

Plain text in aligned columns, so it reads the same in a terminal, a log file and a notebook. Left out: progress bars
and colours.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from selfplay.game.episode import ROLES
from selfplay.run.folder import Saves

REPEAT = 20  # lines between two headers
_FIGURES = {
    "code_correct": "code correct, temperature 1",
    "code_greedy": "code correct, greedy",
    "pass_at_4": "pass@4",
    "test_validity": "valid tests",
    "mutation_score": "mutation score",
    "mutation_score_kept": "mutation score, operators kept from training",
    "fixed_kills": "kills of fixed wrong programs",
    "distinct": "distinct tests per problem",
    "distinct_all": "distinct tests over all problems",
}
_SHORT = {
    "code_correct": "code",
    "code_greedy": "greedy",
    "pass_at_4": "pass@4",
    "test_validity": "valid",
    "mutation_score": "mutants",
    "fixed_kills": "kills",
    "distinct": "distinct",
}


@dataclass(frozen=True, slots=True)
class Column:
    title: str
    width: int
    left: bool = False

    def cell(self, text: str) -> str:
        return text.ljust(self.width) if self.left else text.rjust(self.width)


COLUMNS = (
    Column("step", 7),
    Column("phase", 21, left=True),
    Column("loss G", 7),
    Column("loss D", 7),
    Column("reward G", 8),
    Column("reward D", 8),
    Column("pass", 5),
    Column("base", 5),
    Column("valid", 5),
    Column("kills", 5),
    Column("dist", 5),
    Column("groups", 7),
    Column("s", 5),
)
LEGEND = (
    "G generator, D discriminator · pass: share of valid tests passed, base: of the problem's own · valid, dist: tests "
    "that are valid, distinct · kills: share of wrong programs caught · groups: informative of all"
)


class Progress:
    """A recorder that prints."""

    def __init__(self, out: TextIO | None = None) -> None:
        self.out = out or sys.stdout
        self._lines = 0

    def about(self, **facts: Any) -> None:
        self._print(" · ".join(f"{name.replace('_', ' ')}: {value}" for name, value in facts.items()))

    def step(self, metrics: Mapping[str, Any]) -> None:
        if not self._lines:
            self._print(LEGEND)
        if self._lines % REPEAT == 0:
            self._print(header())
        self._lines += 1
        self._print(step_line(metrics))

    def evaluation(self, record: Mapping[str, Any]) -> None:
        self._print(evaluation_line(record))

    def episodes(self, records: Sequence[Mapping[str, Any]]) -> None: ...

    def sample(self, text: str) -> None:
        self._print("\n".join(["", "  sample episode", *(f"  | {line}" for line in text.splitlines()), ""]))

    def save(self, policy: Saves) -> None: ...

    def _print(self, text: str) -> None:
        print(text, file=self.out, flush=True)


def header() -> str:
    return "  ".join(column.cell(column.title) for column in COLUMNS)


def step_line(metrics: Mapping[str, Any]) -> str:
    """One step's metrics under `header()`; a dash where nothing was measured."""
    trained = metrics.get("role")
    losses = [metrics.get(f"loss/{role}", metrics.get("loss") if trained == role else None) for role in ROLES]
    cells = [
        f"{metrics.get('step', 0) + 1}/{metrics.get('steps', '?')}",
        str(metrics.get("phase", "")),
        *(number(loss, 3) for loss in losses),
        number(metrics.get("reward/generator"), 3),
        number(metrics.get("reward/discriminator"), 3),
        *(number(metrics.get(key)) for key in ("pass_rate", "pass_rate_baseline", "validity", "kills", "distinct")),
        f"{number(metrics.get('informative_groups'))}/{number(metrics.get('groups'))}",
        number(metrics.get("seconds"), 1),
    ]
    return "  ".join(column.cell(cell) for column, cell in zip(COLUMNS, cells, strict=True))


def evaluation_line(record: Mapping[str, Any]) -> str:
    """One evaluation on one line, without intervals."""
    figures = "  ".join(f"{short} {number(_value(record.get(key)))}" for key, short in _SHORT.items())
    seconds = f"  ({number(record['seconds'], 0)} s)" if "seconds" in record else ""
    what = f"{record.get('split', '?')}, {record.get('problems', '?')} problems"
    return f"== evaluation {record.get('when', '?')} ({what}): {figures}{seconds}"


def evaluation_table(evaluations: Mapping[str, Mapping[str, Any]]) -> str:
    """Before and after with 95 % intervals, and the change; empty where either is missing."""
    before, after = evaluations.get("before"), evaluations.get("after")
    if not before or not after:
        return ""
    wide = max(map(len, _FIGURES.values()))
    lines = [f"{'':{wide}}  {'before':>18}  {'after':>18}  {'change':>7}"]
    for key, label in _FIGURES.items():
        if key in before and key in after:
            one, other = before[key], after[key]
            lines.append(f"{label:{wide}}  {interval(one):>18}  {interval(other):>18}  {_change(one, other):>7}")
    split = f"{after.get('split', '?')} split, {after.get('problems', '?')} problems"
    return "\n".join([f"Held-out problems ({split}; 95 % intervals over problems)", *lines])


def interval(figure: Mapping[str, float | None] | None) -> str:
    """ "0.52 [0.45, 0.58]"."""
    if _value(figure) is None or figure is None:
        return "-"
    return f"{number(figure['value'])} [{number(figure.get('low'))}, {number(figure.get('high'))}]"


def number(value: Any, digits: int = 2) -> str:
    """A count as it is, a fraction with its digits, a dash for nothing."""
    if value is None or isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.{digits}f}"


def _value(figure: Mapping[str, float | None] | None) -> float | None:
    return figure.get("value") if figure else None


def _change(before: Mapping[str, float | None], after: Mapping[str, float | None]) -> str:
    one, other = _value(before), _value(after)
    return "-" if one is None or other is None else f"{other - one:+.2f}"
