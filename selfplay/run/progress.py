"""What a run says while it runs: what it is at, one line a step, one an evaluation, a sample now and then, the table.

Plain text in aligned columns, so it reads the same in a terminal, a log file and a notebook; in a terminal that is too
narrow for all columns the lines are shorter. Left out: progress bars and colours, which `live` adds in a terminal.
"""

from __future__ import annotations

import math
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from selfplay.game.episode import ROLES
from selfplay.printing import printable
from selfplay.run.recorders import Recorder

REPEAT = 20  # lines between two headers
FIGURES = {
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
_SHORT_TABLE = _SHORT | {"mutation_score_kept": "mutants, kept", "distinct_all": "distinct, all"}


@dataclass(frozen=True, slots=True)
class Column:
    """`figure` names what stands under the title, where that is not the title itself."""

    title: str
    width: int
    left: bool = False
    figure: str = ""

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
NARROW = (  # 76 characters with one blank between two
    Column("step", 7),
    Column("at", 6, left=True),
    Column("loss", 6),
    Column("rew G", 6, figure="reward G"),
    Column("rew D", 6, figure="reward D"),
    Column("pass", 4),
    Column("base", 4),
    Column("valid", 5),
    Column("kills", 5),
    Column("dist", 4),
    Column("groups", 7),
    Column("s", 5),
)
WIDE = 120  # characters that the full columns take
LEGEND = (
    "G generator, D discriminator · pass: share of valid tests passed, base: of the problem's own · valid, dist: tests "
    "that are valid, distinct · kills: share of wrong programs caught · groups: informative of all"
)


class Progress(Recorder):
    """A recorder that prints. `width`: characters of a line; None: those of the terminal, and no limit elsewhere."""

    def __init__(self, out: TextIO | None = None, width: int | None = None) -> None:
        self.out = out or sys.stdout
        self.width = width or terminal_width(self.out)
        self._columns = COLUMNS if self.width >= WIDE else NARROW
        self._lines = 0

    def say(self, text: str) -> None:
        self._fold(text)

    def about(self, **facts: Any) -> None:
        self._fold(" · ".join(f"{name.replace('_', ' ')}: {value}" for name, value in facts.items()))

    def step(self, metrics: Mapping[str, Any]) -> None:
        if not self._lines:
            self._fold(LEGEND)
        if self._lines % REPEAT == 0:
            self._print(header(self._columns))
        self._lines += 1
        self._print(step_line(metrics, self._columns))

    def evaluation(self, record: Mapping[str, Any]) -> None:
        self._fold(evaluation_line(record))

    def sample(self, text: str) -> None:
        lines = [self._folded(f"  | {line}", "  |        ") for line in text.splitlines()]
        self._print("\n".join(["", "  sample episode", *lines, ""]))

    def _fold(self, text: str) -> None:
        self._print(self._folded(text, "   "))

    def _folded(self, text: str, indent: str) -> str:
        """A line that is wider than the screen, broken between words."""
        return textwrap.fill(text, self.width, subsequent_indent=indent) if len(text) > self.width else text

    def _print(self, text: str) -> None:
        print(printable(text), file=self.out, flush=True)  # a sample is what models wrote


def terminal_width(out: TextIO) -> int:
    """Characters of a line of `out`; a file has no limit."""
    return shutil.get_terminal_size().columns if out.isatty() else sys.maxsize


def header(columns: Sequence[Column] = COLUMNS) -> str:
    return _row({column.figure or column.title: column.title for column in columns}, columns)


def step_line(metrics: Mapping[str, Any], columns: Sequence[Column] = COLUMNS) -> str:
    """One step's metrics under `header(columns)`; a dash where nothing was measured."""
    trained = metrics.get("role")
    losses = [metrics.get(f"loss/{role}", metrics.get("loss") if trained == role else None) for role in ROLES]
    cells = {
        "step": f"{metrics.get('step', 0) + 1}/{metrics.get('steps', '?')}",
        "phase": str(metrics.get("phase", "")),
        "at": f"{metrics.get('stage', '')} {str(trained or '')[:4]}",
        "loss": number(metrics.get("loss"), 3),
        "loss G": number(losses[0], 3),
        "loss D": number(losses[1], 3),
        "reward G": number(metrics.get("reward/generator"), 3),
        "reward D": number(metrics.get("reward/discriminator"), 3),
        "pass": number(metrics.get("pass_rate")),
        "base": number(metrics.get("pass_rate_baseline")),
        "valid": number(metrics.get("validity")),
        "kills": number(metrics.get("kills")),
        "dist": number(metrics.get("distinct")),
        "groups": f"{number(metrics.get('informative_groups'))}/{number(metrics.get('groups'))}",
        "s": number(metrics.get("seconds"), 1),
    }
    return _row(cells, columns)


def _row(cells: Mapping[str, str], columns: Sequence[Column]) -> str:
    gap = " " if columns is NARROW else "  "
    return gap.join(column.cell(cells[column.figure or column.title]) for column in columns)


def evaluation_line(record: Mapping[str, Any]) -> str:
    """One evaluation on one line, without intervals."""
    figures = "  ".join(f"{short} {number(_value(record.get(key)))}" for key, short in _SHORT.items())
    seconds = f"  ({number(record['seconds'], 0)} s)" if "seconds" in record else ""
    what = f"{record.get('split', '?')}, {record.get('problems', '?')} problems"
    return f"== evaluation {record.get('when', '?')} ({what}): {figures}{seconds}"


def evaluation_table(evaluations: Mapping[str, Mapping[str, Any]], width: int = WIDE) -> str:
    """Before and after and the change between them, with 95 % intervals; empty where either is missing."""
    before, after = evaluations.get("before"), evaluations.get("after")
    if not before or not after:
        return ""
    labels = FIGURES if width >= WIDE else {key: _SHORT_TABLE[key] for key in FIGURES}
    wide = max(map(len, labels.values()))
    lines = [f"{'':{wide}}  {'before':>18}  {'after':>18}  {'change':>21}"]
    for key, label in labels.items():
        if key in before and key in after:
            one, other = before[key], after[key]
            paired = change(one, other, after.get("change", {}).get(key))
            lines.append(f"{label:{wide}}  {interval(one):>18}  {interval(other):>18}  {paired:>21}")
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


def change(
    before: Mapping[str, float | None], after: Mapping[str, float | None], paired: Mapping[str, float | None] | None
) -> str:
    """ "+0.20 [+0.10, +0.30]"; without an interval where the records hold none."""
    one, other = _value(before), _value(after)
    if one is None or other is None:
        return "-"
    low, high = (paired.get("low"), paired.get("high")) if paired else (None, None)
    return f"{other - one:+.2f}" + (f" [{low:+.2f}, {high:+.2f}]" if low is not None and high is not None else "")
