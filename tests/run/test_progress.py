from __future__ import annotations

import io
from typing import Any

from selfplay.run.progress import (
    REPEAT,
    Progress,
    evaluation_line,
    evaluation_table,
    header,
    interval,
    number,
    step_line,
)

STEP: dict[str, Any] = {
    "step": 4,
    "steps": 40,
    "stage": 1,
    "role": "generator",
    "phase": "stage 1 generator",
    "loss": -0.01234,
    "reward/generator": 0.5,
    "reward/discriminator": 1.25,
    "pass_rate": 0.4,
    "pass_rate_baseline": 0.6,
    "validity": 0.33,
    "kills": 0.2,
    "distinct": None,
    "informative_groups": 17,
    "groups": 20,
    "seconds": 12.34,
}


def figure(value: float) -> dict[str, float]:
    return {"value": value, "low": value - 0.05, "high": value + 0.05}


def cells(metrics: dict[str, Any]) -> list[str]:
    return step_line(metrics).split()


def test_a_line_tells_the_step_the_phase_and_every_figure() -> None:
    assert cells(STEP) == [
        *("5/40", "1", "G", "-0.012", "0.500", "1.250", "0.40", "0.60", "0.33", "0.20", "-", "17/20", "12.3")
    ]


def test_a_line_stands_under_its_header() -> None:
    assert len(step_line(STEP)) == len(header())
    assert step_line(STEP).index("0.500") + len("0.500") == header().index("rew G") + len("rew G")


def test_a_step_with_nothing_measured_still_prints() -> None:
    assert step_line({"step": 0, "steps": 1, "role": "generator"}).split()[:3] == ["1/1", "G", "-"]


def test_the_header_comes_back_now_and_then() -> None:
    out = io.StringIO()
    progress = Progress(out)
    for _ in range(REPEAT + 1):
        progress.step(STEP)
    assert out.getvalue().splitlines().count(header()) == 2


def test_an_evaluation_is_one_line() -> None:
    record = {"when": "stage-1", "split": "dev", "problems": 60, "code_correct": figure(0.5), "test_validity": None}
    line = evaluation_line(record)
    assert line.startswith("== evaluation stage-1 (dev, 60 problems): code 0.50")
    assert "valid -" in line


def test_the_table_holds_before_and_after_with_intervals_and_the_change() -> None:
    before = {"split": "dev", "problems": 200, "code_greedy": figure(0.25), "distinct": figure(1.0)}
    after = before | {"code_greedy": figure(0.65), "distinct": figure(0.9)}
    rows = evaluation_table({"before": before, "stage-1": before, "after": after}).splitlines()
    assert rows[0] == "Held-out problems (dev split, 200 problems; 95 % intervals over problems)"
    assert " ".join(rows[2].split()) == "greedy 0.25 [0.20, 0.30] 0.65 [0.60, 0.70] +0.40"
    assert len({len(row) for row in rows[1:]}) == 1


def test_a_run_without_both_evaluations_has_no_table() -> None:
    assert evaluation_table({"before": {"code_greedy": figure(0.5)}}) == ""


def test_a_figure_that_was_not_measured_is_a_dash() -> None:
    assert interval({"value": None, "low": None, "high": None}) == "-"
    assert number(float("nan")) == "-"


def test_a_count_is_shown_as_it_is() -> None:
    assert (number(17), number(0.5), number(3.14159, 3)) == ("17", "0.50", "3.142")


def test_a_sample_is_set_apart() -> None:
    out = io.StringIO()
    Progress(out).sample("one\ntwo")
    assert out.getvalue().splitlines() == ["", "  sample episode", "  | one", "  | two", ""]


def test_a_wide_line_of_a_sample_is_broken_between_words() -> None:
    out = io.StringIO()
    Progress(out, width=40).sample(f"  1  {'assert f(1) == 2':<30}  not admitted: failed")
    assert out.getvalue().splitlines()[2:4] == ["  |   1  assert f(1) == 2", "  |        not admitted: failed"]


def test_every_line_of_a_run_fits_a_terminal_of_80_columns() -> None:
    out = io.StringIO()
    progress = Progress(out, width=80)
    progress.say("evaluating before: 200 problems " * 4)
    wide = STEP | {"step": 998, "steps": 1000, "stage": 5, "role": "discriminator", "loss": -12.345, "seconds": 123.4}
    progress.step(wide | {"reward/generator": -1.25, "informative_groups": 128, "groups": 128, "distinct": 1.0})
    record = {"when": "stage-1", "split": "dev", "problems": 60, "seconds": 12.0}
    progress.evaluation(record | dict.fromkeys(("code_correct", "code_greedy", "pass_at_4", "distinct"), figure(0.5)))
    assert max(map(len, out.getvalue().splitlines())) <= 80


def test_a_file_has_lines_of_any_length() -> None:
    out = io.StringIO()
    Progress(out).evaluation({"when": "stage-1", "split": "dev", "problems": 60})
    assert len(out.getvalue().splitlines()) == 1


def test_the_change_has_its_interval_and_the_table_fits_a_narrow_terminal() -> None:
    before = {"split": "dev", "problems": 200, "code_greedy": figure(0.25), "distinct_all": figure(1.0)}
    after = before | {"code_greedy": figure(0.65), "change": {"code_greedy": {"value": 0.4, "low": 0.31, "high": 0.48}}}
    assert "+0.40 [+0.31, +0.48]" in evaluation_table({"before": before, "after": after})
    narrow = evaluation_table({"before": before, "after": after}).splitlines()
    assert max(map(len, narrow)) <= 80
