"""The live display: what it says, that it fits, and that only a terminal gets it."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from selfplay.config import Config
from selfplay.run.live import Live, Standing, display, duration, panel, seconds_left, spark
from selfplay.run.progress import Progress

STEP: dict[str, Any] = {
    "step": 4,
    "steps": 40,
    "stage": 1,
    "role": "generator",
    "phase": "stage 1 generator",
    "loss": -0.012,
    "reward/generator": 0.9,
    "reward/discriminator": 0.25,
    "pass_rate": 0.75,
    "pass_rate_baseline": 0.5,
    "validity": 0.33,
    "kills": None,
    "seconds": 10.0,
    "seconds/play": 7.0,
}


class Terminal(io.StringIO):
    encoding = "utf-8"  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True


def terminal(width: int = 80) -> Console:
    return Console(file=Terminal(), width=width, force_terminal=True, color_system=None, legacy_windows=False)


def drawn(standing: Standing, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(panel(standing, width, now=75.0))
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


STANDING = Standing(
    (1, 2), 0.0, "training", (STEP,) * 5, (("before", 60.0), ("stage-1", 20.0)), "ALARM at step 5: x. y."
)


def test_the_display_says_where_the_run_stands() -> None:
    text = drawn(STANDING, 120)
    for said in ("stage 1 generator", "step 5/40", "1:15 gone", "about 6:50 left", "reward 0.900"):
        assert said in text
    for said in ("loss -0.012", "last step 10.0 s: play 7.0", "ALARM at step 5"):
        assert said in text


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_display_fits_its_terminal(width: int) -> None:
    lines = drawn(STANDING, width).splitlines()
    assert max(map(len, lines)) <= width
    assert len(lines) <= 8


def test_a_run_before_its_first_step_has_a_display() -> None:
    assert "before the first step" in drawn(Standing((1,), 0.0, "loading PyTorch"), 80)


def test_a_spark_line_goes_from_the_lowest_to_the_highest_value() -> None:
    assert spark([0.0, 0.5, None, 1.0], 8) == "▁▅ █"
    assert spark([9.0, 0.0, 1.0], 2) == "▁█"
    assert spark([2.0, 2.0], 2) == "▄▄"
    assert spark([], 5) == ""


def test_time_left_counts_the_steps_and_the_evaluations_to_come() -> None:
    steps = tuple(STEP | {"step": number, "seconds": 10.0} for number in range(2))
    standing = Standing((1, 2, 3), 0.0, "", steps, (("before", 100.0), ("stage-1", 30.0)))
    assert seconds_left(standing) == 38 * 10 + 30 + 100
    assert seconds_left(Standing((1,), 0.0)) is None


def test_durations_are_read_as_clocks() -> None:
    assert [duration(each) for each in (7, 750, 11045)] == ["0:07", "12:30", "3:04:05"]


def test_lines_are_printed_as_elsewhere_and_what_models_wrote_cannot_move_the_cursor() -> None:
    console = terminal()
    live = Live(Config(), console)
    live.say("loading")
    live.step(STEP)
    live.sample("one \x1b[2J two [bold]")
    live.close()
    assert isinstance(console.file, Terminal)
    text = console.file.getvalue()
    assert "\\x1b[2J two [bold]" in text
    assert "\x1b[2J" not in text
    assert "  | one" in text


def test_what_an_alarm_quotes_cannot_move_the_cursor() -> None:
    live = Live(Config(), terminal())
    live.say('ALARM at step 1: turns are empty, for instance for "\x1b[2J"')
    assert live.standing.alarm.isprintable()
    live.close()


def test_a_file_gets_plain_lines() -> None:
    assert type(display(Config(), io.StringIO())) is Progress


def test_a_terminal_gets_the_display_unless_it_is_dumb_or_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    assert type(display(Config(), Terminal())) is Live
    monkeypatch.setenv("COLUMNS", "50")
    assert type(display(Config(), Terminal())) is Progress
    monkeypatch.setenv("TERM", "dumb")
    assert type(display(Config(), Terminal())) is Progress
