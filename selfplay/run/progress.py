"""What a run says while it runs: what it is at, one line a step, one an evaluation, a sample now and then, the table.

Plain text in aligned columns, so it reads the same in a terminal, a log file and a notebook. Left out: progress bars and
colours, which `live` adds in a terminal.
"""

from __future__ import annotations

import math
import shutil
import sys
import textwrap
from collections.abc import Mapping
from typing import Any, TextIO

from selfplay.printing import printable
from selfplay.run.recorders import Recorder

REPEAT = 20  # lines between two headers
NAMES = {  # of an evaluation's figures: in a line, and in full
    "code_correct": ("code", "code correct, temperature 1"),
    "code_greedy": ("greedy", "code correct, greedy"),
    "pass_at_4": ("pass@4", "pass@4"),
    "test_validity": ("valid", "valid tests"),
    "mutation_score": ("mutants", "mutation score"),
    "mutation_score_kept": ("mutants, kept", "mutation score, operators kept from training"),
    "fixed_kills": ("kills", "kills of fixed wrong programs"),
    "distinct": ("distinct", "distinct tests per problem"),
    "distinct_all": ("distinct, all", "distinct tests over all problems"),
}
SHORT = {key: short for key, (short, _) in NAMES.items()}
FIGURES = {key: full for key, (_, full) in NAMES.items()}
COLUMNS = {  # of a step's line, 76 characters: width, metric and digits
    "step": (7, "", 0),
    "stage": (6, "", 0),
    "loss": (6, "loss", 3),
    "rew G": (6, "reward/generator", 3),
    "rew D": (6, "reward/discriminator", 3),
    "pass": (4, "pass_rate", 2),
    "base": (4, "pass_rate_baseline", 2),
    "valid": (5, "validity", 2),
    "kills": (5, "kills", 2),
    "dist": (4, "distinct", 2),
    "groups": (7, "", 0),
    "s": (5, "seconds", 1),
}
LEGEND = (
    "stage: its number, and whose step · G generator, D discriminator · pass: share of valid tests passed, base: of the "
    "problem's own · valid, dist: tests that are valid, distinct · kills: share of wrong programs caught · groups: "
    "informative of all"
)


class Progress(Recorder):
    """A recorder that prints. `width`: characters of a line; None: those of the terminal, and no limit elsewhere."""

    def __init__(self, out: TextIO | None = None, width: int | None = None) -> None:
        self.out = out or sys.stdout
        self.width = width or (shutil.get_terminal_size().columns if self.out.isatty() else sys.maxsize)
        self._lines = 0

    def say(self, text: str) -> None:
        self._fold(text)

    def about(self, **facts: Any) -> None:
        self._fold(" · ".join(f"{name.replace('_', ' ')}: {value}" for name, value in facts.items()))

    def step(self, metrics: Mapping[str, Any]) -> None:
        if not self._lines:
            self._fold(LEGEND)
        if self._lines % REPEAT == 0:
            self._print(header())
        self._lines += 1
        self._print(step_line(metrics))

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


def header() -> str:
    return _row({title: title for title in COLUMNS})


def step_line(metrics: Mapping[str, Any]) -> str:
    """One step's metrics under `header()`; a dash where nothing was measured."""
    cells = {title: number(metrics.get(name), digits) for title, (_, name, digits) in COLUMNS.items()}
    cells["step"] = f"{metrics.get('step', 0) + 1}/{metrics.get('steps', '?')}"
    cells["stage"] = f"{metrics.get('stage', '')} {str(metrics.get('role') or '')[:1].upper()}"
    cells["groups"] = f"{number(metrics.get('informative_groups'))}/{number(metrics.get('groups'))}"
    return _row(cells)


def _row(cells: Mapping[str, str]) -> str:
    return " ".join(cells[title].rjust(width) for title, (width, _, _) in COLUMNS.items())


def evaluation_line(record: Mapping[str, Any]) -> str:
    """One evaluation on one line, without intervals."""
    figures = "  ".join(f"{short} {number(_value(record[key]))}" for key, short in SHORT.items() if key in record)
    seconds = f"  ({number(record['seconds'], 0)} s)" if "seconds" in record else ""
    what = f"{record.get('split', '?')}, {record.get('problems', '?')} problems"
    return f"== evaluation {record.get('when', '?')} ({what}): {figures}{seconds}"


def evaluation_table(evaluations: Mapping[str, Mapping[str, Any]]) -> str:
    """Before and after and the change between them, with 95 % intervals; empty where either is missing."""
    before, after = evaluations.get("before"), evaluations.get("after")
    if not before or not after:
        return ""
    wide = max(map(len, SHORT.values()))
    lines = [f"{'':{wide}}  {'before':>18}  {'after':>18}  {'change':>21}"]
    for key, label in SHORT.items():
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
