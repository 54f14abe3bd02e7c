"""`python -m selfplay.rescore` on real runs of both roles and on folders that are no whole run; the ledger's page works."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from selfplay.config import configure
from selfplay.match.ledger import to_json
from selfplay.rescore import main
from selfplay.run.folder import RunFolder
from tests.match.groups import group, trained

ROOT = Path(__file__).resolve().parent.parent
ENV = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
PAGE = (ROOT / "docs" / "ledger.md").read_text(encoding="utf-8")
SMOKE = ["--preset", "smoke", "--problems-per-step", "2", "--eval-problems", "1"]
FEW = ["--num-generations", "2", "--num-suites", "1", "--num-targets", "1"]


def python(*arguments: str, folder: Path) -> str:
    ran = subprocess.run([sys.executable, *arguments], cwd=folder, env=ENV, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def smoke(folder: Path, *flags: str) -> Path:
    """A run under a rule that also counts refused tests, and advantages that remember."""
    rule = ["--rewards", "progressive", "--advantages", "running"]
    python("-m", "selfplay.train", *SMOKE, *rule, *flags, "--output-dir", "run", folder=folder)
    return folder / "run"


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One stage alone: four steps, two of each role."""
    return smoke(tmp_path_factory.mktemp("short"), "--stages", "5", "--k", "2", "--processes", "2", *FEW)


def told(capsys: pytest.CaptureFixture[str], *flags: object) -> dict[str, Any]:
    assert main([*map(str, flags), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_run_of_two_processes_is_scored_again_exactly(short: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = told(capsys, short)
    assert (result["steps"], result["groups"], result["differing"], result["torn"]) == (4, 8, 0, False)
    assert result["compared"] > 100
    assert [(row["role"], row["stage"]) for row in result["rows"]] == [("generator", 5), ("discriminator", 5)]


def test_another_rule_stands_beside_the_runs_own(short: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = told(capsys, short, "--rewards", "shifted", "--advantages", "group", "--shown", "2")
    assert result["recorded"] == {"rewards": "progressive", "advantages": "running"}
    assert result["again"] == {"rewards": "shifted", "advantages": "group"}
    assert result["differing"] == 0
    assert len(result["disagreements"]) <= 2
    assert all(row["recorded"]["mean"] != row["again"]["mean"] for row in result["rows"])


@pytest.mark.slow
@pytest.mark.parametrize("kept", ["full", "texts"])
def test_a_whole_smoke_run_is_scored_again_exactly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kept: str
) -> None:
    result = told(capsys, smoke(tmp_path, "--ledger", kept, *FEW))
    assert (result["steps"], result["groups"], result["differing"]) == (15, 30, 0)


def test_neither_a_model_nor_torch_is_needed(short: Path) -> None:
    code = (
        "import sys; from selfplay.rescore import main; main([sys.argv[1]])\n"
        "print(sorted({'torch', 'transformers', 'peft'} & set(sys.modules)))"
    )
    assert python("-c", code, str(short), folder=ROOT).splitlines()[-1] == "[]"


# ---- runs written by hand ----


def written(folder: Path, count: int = 3, problem: str = "p", code: str = "a", **knobs: Any) -> Path:
    """A run of so many steps with a group each, as RunFolder writes it."""
    made = configure({"output_dir": str(folder / "made"), **knobs})
    record = RunFolder(made)
    match = group(
        {
            code: ("passed", "passed", "failed"),
            "b": ("passed", "failed", "passed"),
            "c": ("failed", "passed", "passed"),
        },
        [{1: ["x", "y"]}],
        refused=["y"],
    )
    match = replace(match, problem=replace(match.problem, id=problem))
    steps = [replace(match, step=replace(match.step, index=index)) for index in range(count)]
    for _, each in trained(steps, **knobs):
        record.step({"kind": "step", "step": each.step.index, "groups/generator": 1, "groups/discriminator": 1})
        record.episodes([to_json(each)])
    return folder / "made"


def said(capsys: pytest.CaptureFixture[str], code: int, *flags: object) -> str:
    assert main(list(map(str, flags))) == code
    streams = capsys.readouterr()
    return streams.err if code == 2 else streams.out


def test_the_table_shows_both_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = said(capsys, 0, written(tmp_path), "--rewards", "shifted")
    assert "3 steps, 3 groups" in out
    assert "recorded  novel_kills, group_std" in out
    assert "again     shifted, group_std" in out
    assert "the run's own rule gives again, exactly, what was recorded" in out
    assert re.search(r"^generator +1 +3 +9 ", out, re.MULTILINE)
    assert re.search(r"^discriminator +1 +3 +15 ", out, re.MULTILINE)


def test_what_a_model_wrote_cannot_move_the_cursor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = said(capsys, 0, written(tmp_path, problem="p\x1b[2J", code="a\x1b[2J\x9b\u202e\r"), "--rewards", "shifted")
    assert "\\x1b[2J" in out
    assert out.replace("\n", "").isprintable()


def test_a_run_that_was_killed_while_it_wrote_is_scored_as_far_as_it_is_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = written(tmp_path)
    whole = (run / "episodes.jsonl").read_bytes()
    (run / "episodes.jsonl").write_bytes(whole[:-100])
    out = said(capsys, 0, run, "--rewards", "shifted")
    assert "2 steps, 2 groups" in out
    assert "the last line has no end" in out


def test_a_last_step_that_lacks_a_group_is_left_out_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = written(tmp_path)
    with open(run / "metrics.jsonl", "a") as file:
        file.write(json.dumps({"kind": "step", "step": 2, "groups/generator": 32}) + "\n")
    assert "step 2 is not complete and left out" in said(capsys, 0, run)


def test_a_record_that_the_rule_does_not_give_is_told_by_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = written(tmp_path)
    lines = [json.loads(line) for line in (run / "episodes.jsonl").read_text().splitlines()]
    lines[1]["chains"][0]["reward"] = 0.5
    (run / "episodes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "WARNING: the run's own rule gives something else" in said(capsys, 1, run, "--rewards", "shifted")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda run: (run / "config.yaml").unlink(), "holds no run: config.yaml is missing"),
        (lambda run: (run / "episodes.jsonl").unlink(), "holds no episodes.jsonl"),
        (lambda run: (run / "episodes.jsonl").write_text("so\n"), "line 1: it is not JSON"),
        (lambda run: (run / "episodes.jsonl").write_text('{"schema": 4}\n'), "line 1: a record of schema 4"),
        (lambda run: (run / "episodes.jsonl").write_text('{"schema": 3}\n'), "line 1: not the record of a match"),
        (lambda run: (run / "metrics.jsonl").write_text("{\n{}\n"), "metrics.jsonl, line 1: it is not JSON"),
    ],
)
def test_a_folder_that_is_no_whole_run_is_an_error_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], spoil: Any, message: str
) -> None:
    run = written(tmp_path)
    spoil(run)
    err = said(capsys, 2, run)
    assert err.startswith("selfplay.rescore: ")
    assert message in err


def test_a_run_without_a_ledger_cannot_be_scored_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = written(tmp_path, ledger="off")
    assert "was made with --ledger off: it cannot be scored again" in said(capsys, 2, run)


def test_a_rule_that_does_not_exist_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "unknown reward rule 'shifty', did you mean" in said(capsys, 2, written(tmp_path), "--rewards", "shifty")


# ---- the page ----


@pytest.mark.parametrize(
    ("mark", "package", "shown"),
    [
        ("ledger in pandas", "pandas", "count"),
        ("ledger in datasets", "datasets", "1\n"),
        ("ledger in selfplay", "selfplay", "p ["),
    ],
)
def test_the_pages_examples_read_a_ledger(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    mark: str,
    package: str,
    shown: str,
) -> None:
    pytest.importorskip(package)
    written(tmp_path)
    found = re.search(rf"<!-- {mark} -->\n```python\n(.*?)\n```", PAGE, re.DOTALL)
    assert found
    monkeypatch.chdir(tmp_path)
    if package == "datasets":
        monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))
    exec(found[1].replace("runs/selfplay", "made"), {})
    assert shown in capsys.readouterr().out
