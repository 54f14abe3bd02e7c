"""Curves: grids of round numbers, and the schedule's stages and phases where they are."""

from __future__ import annotations

import re
from typing import Any

import pytest

from selfplay.run.report.curves import Chart, Line, charts, phase_marks, stage_marks


def labels(svg: str) -> list[str]:
    return re.findall(r">([^<>]+)</text>", svg)


def grid(*values: float) -> list[str]:
    chart = Chart("t", "a", (Line("l", tuple((float(x), y) for x, y in enumerate(values))),))
    return [
        text for x, text in re.findall(r'x="([\d.]+)" y="[\d.]+" text-anchor="end">([^<]+)<', chart.svg) if x == "38"
    ]


@pytest.mark.parametrize(
    ("values", "due"),
    [
        ((0.1, 0.9), ["0.00", "0.25", "0.50", "0.75", "1.00"]),
        ((0.0, 1.0), ["0.00", "0.25", "0.50", "0.75", "1.00"]),
        ((2.94, 0.7), ["0", "1", "2", "3"]),
        ((0.117, 0.03), ["0.00", "0.05", "0.10", "0.15"]),
        ((-0.3, 0.6), ["-0.50", "-0.25", "0.00", "0.25", "0.50", "0.75"]),
        ((20000.0, 3.0), ["0", "5000", "10000", "15000", "20000"]),
        ((0.0, 0.0), ["0.00", "0.25", "0.50", "0.75", "1.00"]),
    ],
)
def test_the_grid_is_of_round_numbers_that_hold_every_value(values: tuple[float, ...], due: list[str]) -> None:
    assert grid(*values) == due


STEPS: list[dict[str, Any]] = [
    {"step": step, "stage": 1 + step // 8, "phase": f"stage {1 + step // 8} {name}", "reward/generator": 0.5}
    for step, name in enumerate([*["discriminator"] * 3, *["generator"] * 3, *["alternating"] * 2] * 2)
]


def test_stages_and_phases_of_the_schedule_are_marked() -> None:
    assert stage_marks(STEPS) == ((1.0, "stage 1"), (9.0, "stage 2"))
    assert phase_marks(STEPS)[:4] == ((1.0, 3.0, "D"), (4.0, 6.0, "G"), (7.0, 8.0, "A"), (9.0, 11.0, "D"))
    [chart] = charts(STEPS, {})
    assert [text for text in labels(chart.svg) if text in "DGA"] == ["D", "G", "A"] * 2


def test_phases_too_short_for_a_letter_have_none() -> None:
    many = [{"step": step, "stage": 1, "phase": f"{step} generator", "reward/generator": 0.5} for step in range(200)]
    [chart] = charts(many, {})
    assert "G" not in labels(chart.svg)


def test_the_name_of_a_stage_stays_within_the_picture() -> None:
    late = [{"step": step, "stage": 1 + step // 39, "reward/generator": 0.5} for step in range(40)]
    [chart] = charts(late, {})
    found = re.search(r'x="([\d.]+)" y="\d+">stage 2<', chart.svg)
    assert found is not None
    assert float(found[1]) <= 506
