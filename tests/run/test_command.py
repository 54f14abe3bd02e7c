"""How a command ends, and with which exit code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from selfplay.errors import BadInput, SelfplayError, UnknownName
from selfplay.run.command import BAD_INPUT, INTERRUPTED, PIPE_CLOSED, PLAYING, run_command


def ending(error: BaseException) -> int:
    def body() -> int:
        raise error

    return run_command("selfplay.x", body)


@pytest.mark.parametrize("code", [0, 1, 7])
def test_a_command_that_returns_ends_with_what_it_returned(code: int) -> None:
    assert run_command("selfplay.x", lambda: code) == code


@pytest.mark.parametrize("error", [SelfplayError("give more"), BadInput("give more"), UnknownName("rule", "x", ["y"])])
def test_what_the_user_can_mend_is_one_line_without_a_traceback(
    error: SelfplayError, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ending(error) == BAD_INPUT
    told = capsys.readouterr()
    assert told.err == f"selfplay.x: {error}\n"
    assert told.out == ""


def test_notes_on_an_error_follow_it(capsys: pytest.CaptureFixture[str]) -> None:
    error = SelfplayError("the disk is full")
    error.add_note("adapters are saved in runs/a")
    assert ending(error) == BAD_INPUT
    assert capsys.readouterr().err.splitlines() == ["selfplay.x: the disk is full", "adapters are saved in runs/a"]


def test_an_error_that_quotes_a_model_moves_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    error = SelfplayError("the problem \x1b[2Jx\ud800")
    error.add_note("\x9b1m")
    ending(error)
    assert capsys.readouterr().err == "selfplay.x: the problem \\x1b[2Jx\\ud800\n\\x9b1m\n"


def test_ctrl_c_says_what_the_command_wants_said(capsys: pytest.CaptureFixture[str]) -> None:
    def body() -> int:
        raise KeyboardInterrupt

    assert run_command("selfplay.x", body, "stopped; adapters are saved") == INTERRUPTED
    assert "selfplay.x: stopped; adapters are saved" in capsys.readouterr().err


@pytest.mark.parametrize("error", [ValueError("a fault of ours"), AssertionError(), SystemExit(3)])
def test_a_programming_error_keeps_its_traceback(error: BaseException) -> None:
    with pytest.raises(type(error)):
        ending(error)


def test_every_command_that_plays_takes_what_decides_how_turns_are_drawn() -> None:
    assert {"temperature", "max_completion_length", "thinking", "thinking_tokens"} <= set(PLAYING)


def test_a_reader_that_has_enough_ends_the_command_without_a_word() -> None:
    script = (
        "import sys; from selfplay.run.command import run_command\n"
        "def body():\n    for n in range(100_000): print(n)\n    return 0\n"
        "sys.exit(run_command('selfplay.x', body))"
    )
    root = Path(__file__).parents[2]
    ran = subprocess.Popen([sys.executable, "-c", script], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert ran.stdout is not None
    assert ran.stderr is not None
    assert ran.stdout.readline() == b"0\n"
    ran.stdout.close()
    assert ran.stderr.read() == b""
    assert ran.wait() == PIPE_CLOSED
