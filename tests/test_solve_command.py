"""`python -m selfplay.solve`: what it takes, what it prints, and how it ends."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from selfplay import solve

TWICE = {"id": "twice", "description": "Do this: multiply by 2.", "signature": "def f(n: int) -> int:"}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without runs, so that the embedded player plays."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def problems(folder: Path, count: int) -> str:
    lines = [json.dumps(TWICE | {"id": f"twice-{number}"}) for number in range(count)]
    (folder / "mine.jsonl").write_text("\n".join(lines))
    return str(folder / "mine.jsonl")


def test_a_problem_goes_through_five_stages_in_view(capsys: pytest.CaptureFixture[str]) -> None:
    assert solve.main(["--seed", "1"]) in (solve.SOLVED, solve.NOT_SOLVED)
    said = capsys.readouterr()
    for part in (
        "problem procedural-dev-",
        "-- stage 1, Informal",
        "-- stage 5, tests",
        "-- program",
        "tokens by stage",
    ):
        assert part in said.out
    assert "player: embedded, since no run under runs/ holds adapters" in said.err


def test_json_is_one_object_with_everything(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(TWICE)))
    assert solve.main(["-", "--num-samples", "4", "--json"]) == solve.SOLVED
    told = json.loads(capsys.readouterr().out)
    assert set(told) >= {"problem", "chain", "code", "tests", "execution", "seconds", "tokens"}
    assert set(told["chain"]) == {"1", "2", "3", "4"}
    assert told["execution"]["total"] == sum(test["verdict"] is not None for test in told["tests"]) > 0


def test_a_single_stage_has_no_chain_and_nothing_is_run_where_that_is_asked(
    capsys: pytest.CaptureFixture[str], elsewhere: Path
) -> None:
    arguments = ["--description", "Do this: multiply by 2.", "--signature", "def f(n: int) -> int:", "--out", "made"]
    solve.main([*arguments, "--single-stage", "--no-execute", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (told["chain"], told["execution"]) == ({}, None)
    assert set(told["tokens"]["stages"]) == {"5"}
    assert json.loads((elsewhere / "made" / "f.json").read_text()) == told
    assert (elsewhere / "made" / "f.py").exists() == (told["code"] is not None)


def test_many_problems_go_on_where_they_were_interrupted(capsys: pytest.CaptureFixture[str], elsewhere: Path) -> None:
    arguments = ["--problems", problems(elsewhere, 3), "--out", "made", "--single-stage"]
    assert solve.main(arguments) == solve.SOLVED
    file = elsewhere / "made" / "solutions.jsonl"
    whole = file.read_text().splitlines(keepends=True)
    assert [json.loads(line)["problem"]["id"] for line in whole] == ["twice-0", "twice-1", "twice-2"]
    assert len(capsys.readouterr().out.splitlines()) == 3
    file.write_text(whole[0] + whole[1][:50])
    assert solve.main(arguments) == solve.SOLVED
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == ["twice-1", "twice-2"]
    again = [json.loads(line) for line in file.read_text().splitlines()]
    assert [each["code"] for each in again] == [json.loads(line)["code"] for line in whole]
    assert solve.main([*arguments, "--num-samples", "2"]) == 2
    assert "was made with" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["two_sums"], "did you mean 'two_sum'"),
        (["nowhere.json"], "nowhere.json: does not exist"),
        (["two_sum", "--description", "x"], "both say what is asked"),
        (["--signature", "def f():"], "belongs to --description"),
        (["--description", "x", "--signature", "def f("], "does not define 'f'"),
        (["--player", "nobody"], "no player 'nobody'"),
        (["two_sum", "--num-samples", "0"], "sample at least 1 program"),
        (["--n-generator-steps", "3"], "unknown key --n-generator-steps; `python -m selfplay.solve --help` lists them"),
    ],
)
def test_bad_input_exits_2_with_a_sentence(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert solve.main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert "Traceback" not in captured.err
