"""`python -m selfplay.evaluate`: figures that repeat, side by side, and sentences for what cannot be measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from selfplay.config import configure
from selfplay.evaluate import main
from selfplay.learning import setup
from selfplay.run import checkpoints
from selfplay.run.checkpoints import About
from selfplay.run.folder import RunFolder

FEW = ("--num-problems", "3", "--num-samples", "2", "--k", "1", "2")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without runs, so that the embedded player plays."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def measured(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*FEW, *arguments, "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)
    told.pop("seconds", None)
    return told


def test_one_seed_gives_the_same_figures_and_another_others(capsys: pytest.CaptureFixture[str]) -> None:
    first = measured(capsys, "--players", "embedded")
    assert measured(capsys, "--players", "embedded") == first
    assert measured(capsys, "--players", "embedded", "--seed", "5") != first


def test_players_stand_side_by_side_with_paired_differences(
    capsys: pytest.CaptureFixture[str], elsewhere: Path
) -> None:
    assert main([*FEW, "--players", "embedded", "--single-stage", "--json", "told.json"]) == 0
    said = capsys.readouterr().out
    assert said.splitlines()[0].split("  ")[-2:] != said
    assert "embedded, single stage minus embedded" in said
    told = json.loads((elsewhere / "told.json").read_text())
    assert set(told["players"]) == {"embedded", "embedded, single stage"}
    assert {"pass_at_2", "best_of_n", "new_kills/stage-5", "average_test_pass_rate"} <= set(told["players"]["embedded"])
    assert len(told["by_problem"]) == 3


def test_one_s_own_problems_are_measured_whole(capsys: pytest.CaptureFixture[str], elsewhere: Path) -> None:
    line = {"id": "a", "description": "Do this: add 1.", "signature": "def f(n: int) -> int:"}
    tests = {"baseline_tests": ["assert f(1) == 2"], "reference_solution": "def f(n):\n    return n + 1"}
    (elsewhere / "mine.jsonl").write_text(json.dumps(line | tests))
    told = measured(capsys, "--players", "embedded", "--problems", "mine.jsonl", "--split", "all")
    assert list(told["by_problem"]) == ["a"]
    assert main([*FEW, "--players", "embedded", "--problems", "mine.jsonl"]) == 2
    assert "the dev split of mine.jsonl holds no problem; give more of them, or --split all" in capsys.readouterr().err


def test_the_moments_of_a_run_play_against_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    config = configure({"output_dir": "run"})
    policy = setup.policy_of(config)
    RunFolder(config).save(policy)
    for stage in (1, 2):
        checkpoints.write(Path("run"), About(8 * stage, 16, stage, evaluated=True), policy.save)
    checkpoints.write(Path("run"), About(12, 16, 2), policy.save)  # in the middle of a stage
    told = measured(capsys, "--cross-play", "run")
    assert told["players"] == ["start", "stage 1", "stage 2"]
    # These checkpoints are all of untrained adapters, so every pair plays alike.
    assert all(row == told["survives"][0] and row == row[:1] * 3 for row in told["survives"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--num-samples", "4", "--k", "8"], "pass@8 needs 8 samples or more, num_samples is 4"),
        (["--players", "embeded"], "no player 'embeded', did you mean 'embedded'"),
        (["--players", "embedded", "--num-problems", "0"], "measure on at least 1"),
        (["--players", "embedded", "--chart", "figure.pdf"], "a picture is a .png or a .svg"),
        (["--players", "embedded", "--bugs", "nowhere.jsonl"], "nowhere.jsonl: cannot be read"),
        (["--cross-play", "nowhere"], "nowhere holds no checkpoint that ends a stage"),
        (["--cross-play", "a", "--players", "embedded"], "leave out --players"),
        (["--split", "both"], "invalid choice: 'both'"),
    ],
)
def test_bad_input_exits_2_with_a_sentence(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
