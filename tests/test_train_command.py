from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import selfplay
from benchmarks.resume import left
from selfplay.config import configure, from_flags
from selfplay.errors import SelfplayError
from selfplay.play import main as play
from selfplay.run.checkpoints import About, write
from selfplay.run.folder import RunFolder
from selfplay.train import main

ROOT = Path(__file__).resolve().parent.parent
ENV = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
SIZE = ["--preset", "smoke", "--problems-per-step", "2", "--eval-problems", "2", "--lr-scheduler-type", "constant"]
SMALL = [*SIZE, "--processes", "1"]
SMALL_OF_TWO = [*SIZE, "--processes", "2"]
ONE_STAGE = ["--stages", "1"]  # three of the fifteen steps
FIGURES = (
    *("code_correct", "code_greedy", "pass_at_4", "test_validity"),
    *("mutation_score", "fixed_kills", "distinct", "distinct_all"),
)


def start(*flags: str, folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-u", "-m", "selfplay.train", *flags]
    return subprocess.Popen(command, cwd=folder, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def refused(capsys: pytest.CaptureFixture[str], *flags: str, loading: bool = False) -> str:
    """What the command says on stderr when it exits 2; on stdout nothing, or what it was `loading` when it found out."""
    assert main(flags) == 2
    said = capsys.readouterr()
    assert loading == bool(said.out)
    return said.err


def test_help_takes_less_than_a_second_of_cpu(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = start("--help", folder=tmp_path)
    out, _ = process.communicate()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert process.returncode == 0
    assert "--n-discriminator-steps" in out
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1


def test_an_unknown_flag_is_refused_with_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--learning-rat, did you mean 'learning-rate'" in refused(capsys, "--learning-rat", "1")


def test_an_unknown_preset_is_refused_with_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert "unknown preset 'smoky', did you mean 'smoke'?; choose from smoke, t4" in refused(
        capsys, "--preset", "smoky"
    )


def test_two_models_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "--generator-model", "a", "--discriminator-model", "b")
    assert "one model plays both roles" in said


def test_a_folder_that_holds_a_run_is_refused_before_anything_is_loaded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "metrics.jsonl").write_text("{}\n")
    assert f"{tmp_path} holds another run (metrics.jsonl)" in refused(capsys, "--output-dir", str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.jsonl"]


def test_a_folder_that_holds_a_run_names_the_way_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "metrics.jsonl").write_text("{}\n")
    assert f"go on with this run by --resume {tmp_path}" in refused(capsys, "--output-dir", str(tmp_path))


def a_run(folder: Path, *flags: str) -> Path:
    """A run's folder with its configuration and a checkpoint after the last step of all, which is finished."""
    config = from_flags(["--output-dir", str(folder), "--processes", "1", *flags])
    recorder = RunFolder(config)
    recorder.step({"step": 0})
    (folder / "adapters").mkdir()

    def save(place: Path) -> None:
        (place / "state.json").write_text('{"evaluations": {}}')

    write(folder, About(40, 40, 5, evaluated=True, finished=True), save)
    return folder


def test_nothing_to_resume_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is nothing to resume in" in refused(capsys, "--resume", str(tmp_path))


def test_a_finished_run_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = a_run(tmp_path / "run")
    for name in (folder, folder / "checkpoints" / "40"):
        assert main(["--resume", str(name)]) == 0
        assert f"{folder} is finished: all 40 steps are done" in capsys.readouterr().out


def test_what_decides_the_steps_cannot_be_given_to_a_resumed_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, "--resume", str(a_run(tmp_path / "run")), "--learning-rate", "1e-3")
    assert "learning_rate is 0.001, but the run in" in said
    assert "init_from" in said


def test_a_checkpoint_that_is_torn_is_refused_where_it_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = a_run(tmp_path / "run") / "checkpoints" / "40"
    (place / "state.json").write_text("")
    assert "40 is torn: state.json holds 0 bytes" in refused(capsys, "--resume", str(place))


def test_adapters_that_are_not_there_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "--init-from", str(tmp_path), "--output-dir", str(tmp_path / "run"), "--processes", "1")
    assert "no adapters in" in said


def test_more_processes_than_gpus_are_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    said = refused(capsys, "--model", "some/model", "--processes", "2")
    assert "processes is 2, this machine has 1 GPU: each process takes a whole one; give --processes 1" in said


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--problems", "none.jsonl"], "none.jsonl"),
        (["--rewards", "adverserial"], "did you mean 'adversarial'"),
        (["--advantages", "grup"], "did you mean 'group'"),
        (["--schedule", "ful"], "did you mean 'full'"),
        (["--prompts", "instuct"], "did you mean 'instruct'"),
        (
            ["--schedule", "discriminator_only", "--adversary", "frozen"],
            "nothing to train: schedule discriminator_only",
        ),
        (
            ["--n-discriminator-steps", "0", "--n-generator-steps", "0", "--k", "0"],
            "leave no step; raise one of the three",
        ),
        (["--rewards", "no_such_module:rule"], "no_such_module:rule: there is no module 'no_such_module'"),
        (["--rewards", "selfplay.errors:SelfplayEror"], "has no 'SelfplayEror', did you mean 'SelfplayError'"),
        (["--rewards", "selfplay.errors:SelfplayError"], "is no reward rule but SelfplayError; write RewardRule("),
        (["--problems", "selfplay:__version__"], "selfplay:__version__ holds no problems but str"),
        (["--prompts", str(ROOT / "docs")], "generator/system.jinja cannot be used"),
        (["--sampler", "selfplay:__version__"], "is no function but str"),
        (["--callbacks", "selfplay.errors:SelfplayError"], "is no callback but SelfplayError"),
        (["--callbacks", "here:Log"], "here:Log is an object of the process that began the run; give it again"),
        (["--processes", "999"], "more than twice as many are refused"),
        (["--eval-problems", "300", "200"], "eval_problems is 300, 200: "),
    ],
)
def test_bad_input_is_named_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], message: str
) -> None:
    once = [] if "--processes" in flags else ["--processes", "1"]
    said = refused(capsys, "--output-dir", str(tmp_path / "run"), *once, *flags)
    assert message in said
    assert not (tmp_path / "run").exists()


def train_on(capsys: pytest.CaptureFixture[str], folder: Path, *flags: str) -> str:
    """What a run that finds out while it loads says; it leaves no folder."""
    said = refused(capsys, "--output-dir", str(folder / "run"), "--processes", "1", *flags, loading=True)
    assert not (folder / "run").exists()
    return said


def test_a_folder_without_a_model_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    assert "empty holds no config.json; give the folder of a model" in train_on(
        capsys, tmp_path, "--model", str(tmp_path / "empty")
    )


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("def double(x):\n    return x + x + 1", "does not give what `assert double(2) == 4` asks for"),
        ("def double(x):\n    while True:\n        pass", "is not done with `assert double(2) == 4` within 0.2 s"),
        ("import nowhere_to_be_found\ndef double(x):\n    return 2 * x", "cannot be loaded"),
        ("def double(x):\n    raise ValueError", "raises an error on `assert double(2) == 4`"),
    ],
)
def test_a_reference_that_fails_its_own_tests_is_refused_by_problem_and_test(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], reference: str, why: str
) -> None:
    file = tmp_path / "mine.jsonl"
    sound = problem("sound", "def double(x):\n    return 2 * x")
    file.write_text("\n".join(map(json.dumps, (sound, problem("wrong", reference)))))
    for said in (
        train_on(capsys, tmp_path, "--problems", str(file), "--timeout", "0.2"),
        played(capsys, "--problems", str(file), "--problem", "wrong", "--timeout", "0.2"),
    ):
        assert f"mine.jsonl: problem 'wrong': the reference_solution {why}" in said


def problem(id: str, reference: str) -> dict[str, Any]:
    return {
        "id": id,
        "description": "Twice x.",
        "signature": "def double(x):",
        "baseline_tests": ["assert double(2) == 4"],
        "reference_solution": reference,
    }


def played(capsys: pytest.CaptureFixture[str], *flags: str) -> str:
    assert play(flags) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("seconds", [0.05, 0.1, 0.15, 0.25, 0.6])
def test_ctrl_c_while_modules_load_leaves_no_traceback_and_no_folder(tmp_path: Path, seconds: float) -> None:
    process = start("--output-dir", "run", folder=tmp_path)
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert not (tmp_path / "run").exists()
    if "selfplay/train.py" in err or "Traceback" not in err:  # else Python itself was still starting
        assert err.strip() == "selfplay.train: interrupted before training began; no adapters were saved"
        assert process.returncode == 130


@pytest.mark.slow
def test_ctrl_c_before_the_first_step_leaves_no_folder(tmp_path: Path) -> None:
    process = start(*SMALL, "--output-dir", "run", folder=tmp_path)
    assert process.stdout
    for line in process.stdout:
        if line.startswith("evaluating before"):
            break
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.strip() == "selfplay.train: interrupted before training began; no adapters were saved"
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_reader_that_has_enough_ends_the_command_without_a_traceback(tmp_path: Path) -> None:
    process = start(*SMALL, "--output-dir", "run", folder=tmp_path)
    assert process.stdout
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=120) == 141
    assert process.stderr
    assert process.stderr.read() == ""


def test_a_configuration_and_keywords_at_once_are_refused() -> None:
    with pytest.raises(SelfplayError, match="not both: seed"):
        selfplay.train(configure(), seed=1)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a small run, and what it printed."""
    folder = tmp_path_factory.mktemp("train")
    process = start(*SMALL, "--output-dir", "run", folder=folder)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return folder / "run", out


@pytest.fixture(scope="module")
def again(run: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of one stage, from the configuration of the small run."""
    folder = tmp_path_factory.mktemp("again")
    process = start("--config", str(run[0] / "config.yaml"), "--output-dir", "run", *ONE_STAGE, folder=folder)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return folder / "run"


def metrics(folder: Path, kind: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [line for line in lines if line["kind"] == kind]


@pytest.mark.slow
def test_a_run_leaves_its_folder(run: tuple[Path, str]) -> None:
    folder, _ = run
    held = {path.name for path in folder.iterdir()}
    assert held == {"config.yaml", "metrics.jsonl", "episodes.jsonl", "bank.jsonl", "checkpoints", "adapters"}
    assert {path.name for path in (folder / "adapters").iterdir()} >= {"generator", "discriminator"}


@pytest.mark.slow
def test_a_smoke_run_has_one_step_per_phase(run: tuple[Path, str]) -> None:
    steps = metrics(run[0], "step")
    assert len(steps) == 15
    assert len({step["phase"] for step in steps}) == 15
    assert [step["step"] for step in steps] == list(range(15))


@pytest.mark.slow
def test_a_run_evaluates_before_after_each_stage_and_after(run: tuple[Path, str]) -> None:
    evaluations = metrics(run[0], "evaluation")
    assert [each["when"] for each in evaluations] == ["before", *(f"stage-{k}" for k in range(1, 6)), "after"]
    assert all(set(each[name]) == {"value", "low", "high"} for each in evaluations for name in FIGURES)
    assert {(each["split"], each["schema"]) for each in evaluations} == {("dev", 1)}


@pytest.mark.slow
def test_a_run_says_what_it_does(run: tuple[Path, str]) -> None:
    _, out = run
    assert out.count(" 3 B ") == 3
    assert "sample episode" in out
    assert "before" in out
    assert "adapters: run/adapters/generator" in out


def computed(folder: Path, count: int) -> list[dict[str, Any]]:
    """The first steps, without times and without the length of the schedule."""
    steps = metrics(folder, "step")[:count]
    return [{key: value for key, value in step.items() if not key.startswith(("seconds", "steps"))} for step in steps]


@pytest.mark.slow
def test_a_run_repeats_from_its_own_configuration(run: tuple[Path, str], again: Path) -> None:
    assert computed(again, 3) == computed(run[0], 3)


@pytest.mark.slow
def test_ctrl_c_saves_the_adapters_and_says_where(tmp_path: Path) -> None:
    process = start(*SMALL_OF_TWO, "--output-dir", "run", folder=tmp_path)
    assert process.stdout
    for line in process.stdout:
        if " 1 B " in line:
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "the adapters are saved in run/adapters/generator" in out
    assert (tmp_path / "run" / "adapters" / "discriminator" / "adapter_model.safetensors").is_file()


def stopped(process: subprocess.Popen[str], line: str, number: int) -> tuple[str, str]:
    """What a run says on both ways, when it gets a signal at a line that it prints."""
    assert process.stdout
    for said in process.stdout:
        if line in said:
            break
    process.send_signal(number)
    return process.communicate(timeout=120)


@pytest.mark.slow
def test_a_run_that_sigterm_ends_can_be_resumed(tmp_path: Path, again: Path) -> None:
    process = start(*SMALL, *ONE_STAGE, "--output-dir", "run", folder=tmp_path)
    _, err = stopped(process, " 1 B ", signal.SIGTERM)
    assert process.returncode == 143, err
    resumed = start("--resume", "run", folder=tmp_path)
    out, err = resumed.communicate(timeout=300)
    assert resumed.returncode == 0, err
    assert "going on after step" in out
    assert left(tmp_path / "run") == left(again)


@pytest.mark.slow
def test_a_run_whose_second_process_is_killed_says_so_and_can_be_resumed(tmp_path: Path) -> None:
    process = start(*SMALL_OF_TWO, *ONE_STAGE, "--output-dir", "run", folder=tmp_path)
    assert process.stdout
    for said in process.stdout:
        if " 1 B " in said:
            break
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    [other] = [pid for pid in children if "selfplay.train" in Path(f"/proc/{pid}/cmdline").read_text()]
    os.kill(int(other), signal.SIGKILL)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "process 1 of 2 was killed by SIGKILL" in err
    assert "go on with --resume run" in err
    assert "Traceback" not in err
    again = start("--resume", "run", "--processes", "1", folder=tmp_path)
    _, err = again.communicate(timeout=300)
    assert again.returncode == 0, err
    assert [step["step"] for step in metrics(tmp_path / "run", "step")] == [0, 1, 2]


@pytest.mark.slow
def test_a_run_begins_on_the_adapters_of_another(tmp_path: Path, run: tuple[Path, str]) -> None:
    flags = ("--init-from", str(run[0]), "--output-dir", "run", *ONE_STAGE, *SMALL)
    process = start(*flags, folder=tmp_path)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert "the generator begins on" in out


@pytest.mark.slow
def test_training_from_python_takes_three_lines(tmp_path: Path) -> None:
    code = (
        "import selfplay\n"
        "small = dict(problems_per_step=2, eval_problems=2, processes=1)\n"
        "result = selfplay.train(preset='smoke', stages=5, output_dir='a', **small)\n"
        "print(result.steps, result.interrupted, list(result.evaluations))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=ENV, capture_output=True, text=True)
    assert ran.stdout.splitlines()[-1:] == ["3 False ['before', 'stage-5', 'after']"], ran.stderr
