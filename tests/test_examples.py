"""The examples: on public names alone, and they run; what they bring from outside trains in two processes and resumes."""

from __future__ import annotations

import ast
import csv
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import selfplay

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
TINY = ["--preset", "smoke", "--problems-per-step", "2", "--eval-problems", "2", "--stages", "1", "--processes", "2"]


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports an example by its name."""
    monkeypatch.syspath_prepend(ROOT / "examples")
    return importlib.import_module


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_uses_public_names_alone(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    modules += [name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
    assert [name for name in modules if name.startswith("selfplay.")] == []
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "selfplay"
    }
    assert used
    assert used <= set(selfplay.__all__)


def test_the_file_to_read_first_is_short() -> None:
    assert len((ROOT / "examples" / "minimal_loop.py").read_text(encoding="utf-8").splitlines()) <= 150


def test_the_rule_pays_everything_or_nothing(example: Any) -> None:
    rule = example("my_reward").STRICT
    program = selfplay.ProgramOutcome(collected=True, has_code=True, baseline=("passed",), exam=("passed", "failed"))
    assert rule.generator(program) == 0.0
    assert rule.generator(selfplay.ProgramOutcome(True, True, ("passed",), ("passed",))) == 1.0
    assert rule.generator(selfplay.ProgramOutcome(True, True, ("infra_error",))) is None
    cases = (selfplay.CaseOutcome(True, killed=(True,)), selfplay.CaseOutcome(False, killed=(True,)))
    assert rule.discriminator(selfplay.SuiteOutcome((selfplay.TurnOutcome(5, cases, 0, 2),))) == (0.5,)


def test_the_problems_are_the_same_as_objects_and_as_rows(example: Any) -> None:
    held = example("my_problems")
    assert selfplay.load_problems("my_problems:PROBLEMS") == tuple(held.PROBLEMS)
    assert selfplay.load_problems("my_problems:from_table") == tuple(held.PROBLEMS)


def test_the_callback_writes_a_row_for_each_step(example: Any, tmp_path: Path) -> None:
    table = example("callback").Table(str(tmp_path / "steps.csv"))
    table.step({"step": 0, "role": "generator"})
    table.step({"step": 1, "role": "generator"})
    with open(tmp_path / "steps.csv", encoding="utf-8") as file:
        assert [row["step"] for row in csv.DictReader(file)] == ["0", "1"]


def test_the_minimal_loop_moves_both_adapters(example: Any, capsys: pytest.CaptureFixture[str]) -> None:
    example("minimal_loop").main(steps=1, problems_per_step=2)
    assert capsys.readouterr().out.startswith("step 0: generator ")


def start(folder: Path, *flags: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-u", "-m", "selfplay", "train", *flags]
    env = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_what_lies_outside_trains_in_two_processes_is_killed_and_resumes(tmp_path: Path) -> None:
    for name in ("my_reward.py", "my_problems.py", "callback.py"):
        shutil.copy(ROOT / "examples" / name, tmp_path)
    outside = ["--rewards", "my_reward:STRICT", "--problems", "my_problems:PROBLEMS", "--callbacks", "callback:Table"]
    process = start(tmp_path, *TINY, *outside, "--output-dir", "run")
    assert process.stdout
    for line in process.stdout:
        if " 1 B " in line:
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    config = (tmp_path / "run" / "config.yaml").read_text()
    assert "rewards: my_reward:STRICT" in config
    assert "problems: my_problems:PROBLEMS" in config
    again = start(tmp_path, "--resume", "run")
    out, err = again.communicate(timeout=600)
    assert again.returncode == 0, err
    assert "going on after step" in out
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if line["kind"] == "step"] == [0, 1, 2]
    with open(tmp_path / "steps.csv", encoding="utf-8") as file:
        assert {row["step"] for row in csv.DictReader(file)} == {"0", "1", "2"}


@pytest.mark.slow
def test_a_callback_that_raises_ends_the_run_which_can_be_resumed(tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(
        "import selfplay\n\n\nclass Loud(selfplay.Callback):\n"
        "    def step(self, metrics):\n        raise KeyError('no such metric')\n"
    )
    process = start(tmp_path, *TINY, "--callbacks", "loud:Loud", "--output-dir", "run")
    _, err = process.communicate(timeout=600)
    assert process.returncode == 2
    assert "the callback loud:Loud raised in step: KeyError: 'no such metric'" in err
    assert "go on with --resume run" in err
    again = start(tmp_path, "--resume", "run", "--callbacks", "none")
    _, err = again.communicate(timeout=600)
    assert again.returncode == 0, err


OBJECTS = """
import sys, selfplay
from selfplay.errors import SelfplayError

rule = selfplay.RewardRule("even", lambda program: float(program.has_code), lambda suite: (float(suite.valid),), False, "")
problems = [problem for problem in selfplay.load_problems("procedural/train")[:30]]

class Once(selfplay.Callback):
    def step(self, metrics):
        raise KeyError("enough")

small = dict(preset="smoke", stages=5, problems_per_step=2, num_generations=2, num_suites=1, eval_problems=2)
given = {
    "first": dict(rewards=rule, problems=problems, callbacks=[Once()], output_dir="run", **small),
    "alone": dict(resume="run", callbacks=None),
    "others": dict(resume="run", callbacks=None, rewards=rule, problems=problems[1:]),
    "again": dict(resume="run", callbacks=None, rewards=rule, problems=problems),
}[sys.argv[1]]
try:
    result = selfplay.train(**given)
    print("played", len(list(result.matches())), "with", result.player.name)
except SelfplayError as error:
    print("refused:", error)
"""


@pytest.mark.slow
def test_objects_train_in_one_process_and_a_resume_asks_for_them_again(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(OBJECTS)
    env = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}

    def said(what: str) -> str:
        command = [sys.executable, "script.py", what]
        ran = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=600)
        return ran.stdout.splitlines()[-1] if ran.returncode == 0 else ran.stderr

    assert "refused: the callback here:Once raised in step: KeyError: 'enough'" in said("first")
    assert "processes: 1\n" in (tmp_path / "run" / "config.yaml").read_text()
    assert "is an object of the process that began the run; give it again" in said("alone")
    assert "refused: problems is here:29-list-" in said("others")
    assert said("again") == "played 6 with run"
