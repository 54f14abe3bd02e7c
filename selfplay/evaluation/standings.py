"""A contest's figures side by side: as a table for a terminal, as one JSON object, as a picture.

Players stand in columns, in the order given; differences are to the first one, over the same problems. Left out: anything
that a model wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from selfplay.errors import BadInput, install
from selfplay.evaluation.crossplay import CrossPlay
from selfplay.evaluation.evaluator import Appearance
from selfplay.evaluation.intervals import Estimate
from selfplay.match.solver import best_of

Standings = Mapping[str, Mapping[str, Estimate]]  # by player, then by figure
SHOWN = ("code_greedy", "code_correct", "best_of_n", "oracle", "test_validity", "mutation_score_kept", "fixed_kills")


def text_table(table: Standings, title: str, signed: bool = False) -> str:
    """A line per figure and a column per player; values with their 95 % intervals."""
    figures = dict.fromkeys(figure for own in table.values() for figure in own)
    rows = [
        [title, *table],
        *([figure, *(_cell(own.get(figure), signed) for own in table.values())] for figure in figures),
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _cell(estimate: Estimate | None, signed: bool) -> str:
    if estimate is None or np.isnan(estimate.value):
        return "-"
    form = "{:+.3f} ({:+.3f} to {:+.3f})" if signed else "{:.3f} ({:.3f} to {:.3f})"
    if abs(estimate.value) >= 10:
        form = form.replace(".3f", ".1f")
    return form.format(estimate.value, estimate.low, estimate.high)


def as_json(table: Standings) -> dict[str, dict[str, dict[str, float | None]]]:
    return {name: {figure: one.as_json() for figure, one in own.items()} for name, own in table.items()}


def by_problem(appearance: Appearance) -> dict[str, dict[str, Any]]:
    """What became of each problem: right samples, the most likely program, the one that own tests choose."""
    return {
        played.match.problem.id: {
            "correct": sum(bool(chain.correct) for chain in played.sampled),
            "greedy": any(bool(chain.correct) for chain in played.match.chains if chain.greedy),
            "chosen": bool(played.sampled[best_of(played.own, blind=True).programs[0]].correct),
        }
        for played in appearance.played
    }


def cross_text(cross: CrossPlay) -> str:
    """Both tables, a row per generator and a column per discriminator."""
    parts = []
    for title, cells in _tables(cross):
        columns = zip(cross.names, zip(*cells, strict=True), strict=True)
        table = {name: dict(zip(cross.names, column, strict=True)) for name, column in columns}
        parts.append(text_table(table, f"{title}: generator of \\ discriminator of"))
    return "\n\n".join(parts)


def _tables(cross: CrossPlay) -> tuple[tuple[str, tuple[tuple[Estimate, ...], ...]], ...]:
    return ("programs that survive", cross.survives), ("wrong programs killed", cross.kills)


def cross_json(cross: CrossPlay) -> dict[str, Any]:
    return {
        "players": list(cross.names),
        "survives": [[cell.as_json() for cell in row] for row in cross.survives],
        "kills": [[cell.as_json() for cell in row] for row in cross.kills],
    }


# ---- pictures ----


def chart(table: Standings, path: Path) -> None:
    """The main figures as points with their intervals. Raises BadInput."""
    plot = _pyplot(path)
    figures = [figure for figure in SHOWN if any(figure in own for own in table.values())]
    drawn, axes = plot.subplots(figsize=(8, 0.5 * len(figures) + 1.5), layout="constrained")
    for place, (name, own) in enumerate(table.items()):
        shift = (place - (len(table) - 1) / 2) * 0.6 / max(len(table), 1)
        points = [own[figure] for figure in figures]
        errors = [[p.value - p.low for p in points], [p.high - p.value for p in points]]
        places = [row + shift for row in range(len(figures))]
        axes.errorbar([p.value for p in points], places, xerr=errors, fmt="o", capsize=3, label=name)
    axes.set_yticks(range(len(figures)), figures)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("share, with 95 % interval over problems")
    axes.legend(loc="best", fontsize="small")
    _save(plot, drawn, path)


def cross_chart(cross: CrossPlay, path: Path) -> None:
    """Both tables as shades, the value in each cell. Raises BadInput."""
    plot = _pyplot(path)
    size = 1.5 + 0.8 * len(cross.names)
    drawn, both = plot.subplots(1, 2, figsize=(2 * size, size), layout="constrained")
    for axes, (title, cells) in zip(both, _tables(cross), strict=True):
        values = np.array([[cell.value for cell in row] for row in cells])
        axes.imshow(values, vmin=0, vmax=1, cmap="viridis")
        for (row, column), value in np.ndenumerate(values):
            shown, colour = ("-" if np.isnan(value) else f"{value:.2f}"), "black" if value > 0.6 else "white"
            axes.text(column, row, shown, ha="center", va="center", color=colour, fontsize="small")
        axes.set_title(title)
        axes.set_xticks(range(len(cross.names)), cross.names, rotation=45, ha="right")
        axes.set_yticks(range(len(cross.names)), cross.names)
        axes.set_xlabel("discriminator of")
        axes.set_ylabel("generator of")
    _save(plot, drawn, path)


def check_chart(path: Path) -> None:
    """Raises BadInput where no picture can be drawn there: asked before anything is played."""
    if path.suffix not in (".png", ".svg"):
        raise BadInput(f"--chart {path}: a picture is a .png or a .svg")
    _pyplot(path)


def _pyplot(path: Path) -> Any:
    try:
        library = import_module("matplotlib")
    except ImportError:
        raise BadInput(f"--chart {path} needs matplotlib: {install('report')}") from None
    library.use("Agg")  # no window
    library.rcParams["svg.hashsalt"] = "selfplay"  # the same picture every time
    return import_module("matplotlib.pyplot")


def _save(plot: Any, drawn: Any, path: Path) -> None:
    try:
        drawn.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    except OSError as error:
        raise BadInput(f"--chart {path} cannot be written ({error.strerror})") from None
    finally:
        plot.close(drawn)
