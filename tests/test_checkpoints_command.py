from __future__ import annotations

import json
from pathlib import Path

import pytest

from selfplay.checkpoints import main
from selfplay.run.checkpoints import About, write


@pytest.fixture
def run(tmp_path: Path) -> Path:
    for step, score in ((8, 0.4), (16, 0.6), (24, 0.5)):
        scores = {"code_greedy": score, "prototype": None}
        write(tmp_path, About(step, 40, step // 8, True, scores=scores), lambda folder: None)
    return tmp_path


def test_a_listing_has_a_line_each_and_marks_the_best(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(run)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines[1:4]] == [
        ["8/40", "1", "0.400"],
        ["16/40", "2", "0.600"],
        ["24/40", "3", "0.500"],
    ]
    assert [line.split()[5:] for line in lines[1:4]] == [[], ["best"], ["latest"]]


def test_a_listing_for_machines_is_one_object(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(run), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["checkpoints"]
    assert [(each["step"], each["score"], each["best"]) for each in told] == [
        (8, 0.4, False),
        (16, 0.6, True),
        (24, 0.5, False),
    ]
    assert {"stage", "time", "size", "path", "latest"} <= set(told[0])


def test_a_torn_one_is_named(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "checkpoints" / "16" / "manifest.json").write_text("{")
    assert main([str(run)]) == 0
    said = capsys.readouterr()
    assert "16 is torn" in said.err
    assert "best" in said.out.splitlines()[2]


def test_without_checkpoints_the_exit_code_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 1
    assert "has no checkpoints" in capsys.readouterr().out


def test_a_folder_that_is_none_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none")]) == 2
    assert "is no folder; name the --output-dir of a run" in capsys.readouterr().err
