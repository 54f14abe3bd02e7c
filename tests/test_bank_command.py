"""`python -m selfplay.bank`: from problems to a bank to tests, and sentences for what cannot be done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from selfplay import bank
from selfplay.cases.case import Case
from selfplay.cases.values import encode
from selfplay.game.problems import Problem
from selfplay.match.testbank import BankedSuite, BankedTest
from selfplay.run.bankfile import write_bank

PROBLEM = {
    "id": "less-one",
    "description": "Do this: take the first 2.",
    "signature": "def f(xs: list[int]) -> list[int]:",
    "baseline_tests": ["assert f([7, 3]) == [7, 3]"],
    "reference_solution": "def f(xs):\n    return xs[:2]",
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without runs, so that the embedded player plays."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, *problems: dict[str, object]) -> str:
    (folder / "mine.jsonl").write_text("\n".join(map(json.dumps, problems)))
    return "mine.jsonl"


def test_a_bank_is_built_and_exported(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unknown = {**PROBLEM, "id": "unknown", "reference_solution": None}
    file = write(elsewhere, PROBLEM, unknown)
    assert bank.main(["build", "--problems", file, "--out", "bank.jsonl", "--num-samples", "4"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("less-one: ")
    assert "unknown: left out, it has no reference" in said.err
    [suite] = [json.loads(line) for line in (elsewhere / "bank.jsonl").read_text().splitlines()]
    assert suite["tests"]
    assert all(set(test) == {"test", "stage", "step", "run", "kills", "case"} for test in suite["tests"])
    assert bank.main(["export", "bank.jsonl", "--out", "tests", "--module", "solution"]) == 0
    assert capsys.readouterr().out.split() == ["tests/test_solution.py"]
    assert bank.main(["export", "bank.jsonl", "--format", "jsonl", "--out", "suite.jsonl"]) == 0
    (elsewhere / "run").mkdir()
    (elsewhere / "bank.jsonl").rename(elsewhere / "run" / "bank.jsonl")
    assert bank.main(["export", "run", "--out", "again", "--module", "solution"]) == 0
    first, again = (elsewhere / folder / "test_solution.py" for folder in ("tests", "again"))
    assert first.read_bytes() == again.read_bytes()


def test_a_model_s_text_is_left_out_in_a_sentence(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [
        Case("t", "assert len(f([1])) == 1", "", "runs", "module:0.0", text="assert len(f([1])) == 1"),
        Case("u", "", encode([[]]), "==", "1"),
    ]
    tests = (BankedTest("", 1, (), "r", texts[0], 0, texts[0].source, "t"), BankedTest("", 1, (), "r", texts[1], 0))
    suite = BankedSuite(Problem("less-one", "", "f", "def f(xs):", ()), tests, (), 2, {})
    write_bank(elsewhere / "bank.jsonl", [suite])
    assert bank.main(["export", "bank.jsonl", "--out", "tests"]) == 0
    said = capsys.readouterr()
    assert said.out.split() == ["tests/test_less_one.py"]
    assert (
        said.err == "1 tests are left out, since only a model's own text says them; --with-model-text writes them too\n"
    )
    assert bank.main(["export", "bank.jsonl", "--out", "tests", "--with-model-text"]) == 0
    said = capsys.readouterr()
    assert said.out.split() == ["tests/test_less_one.py", "tests/test_less_one_by_a_model.py"]
    assert said.err == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "say what to do: build, collect or export; see --help"),
        (["make"], "build, collect or export, not 'make'"),
        (["build", "--out", "x"], "build needs --problems"),
        (["build", "--problems", "mine.jsonl"], "build needs --out"),
        (["build", "--problems", "mine.jsonl", "--out", "x"], "no problem of mine.jsonl has a reference"),
        (["collect", "--out", "x"], "collect needs the folder of a run"),
        (["collect", "nowhere", "--out", "x"], "give the folder of a run that kept it"),
        (["export", "nowhere", "--out", "x"], "nowhere cannot be read"),
    ],
)
def test_bad_input_exits_2_with_a_sentence(
    arguments: list[str], said: str, elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(elsewhere, {**PROBLEM, "reference_solution": None})
    assert bank.main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
