"""Runs that are killed, stopped or short of disk, and go on: in children of this process, which has loaded what takes time."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.resume import Kill, left, watch
from selfplay.config import Config, configure
from selfplay.errors import SelfplayError
from selfplay.learning import loop
from selfplay.learning.state import TENSORS
from selfplay.run.checkpoints import find, latest, listed
from selfplay.run.folder import RunFolder
from selfplay.run.signals import Signals
from tests.learning.test_loop import SMALL

torch.set_num_threads(1)
FAILED = 3


def small(folder: Path) -> Config:
    return configure(SMALL | {"stages": "4,5", "advantages": "running", "output_dir": str(folder)})


def child(folder: Path, before: Callable[[], Any] = lambda: None, held: Callable[[], Any] = nullcontext) -> int:
    """Begins the run in a folder, or goes on with it, in a child; its exit code, or minus the signal that killed it."""
    sys.stdout.flush()
    process = os.fork()
    if not process:
        try:
            before()
            config = configure({"resume": str(folder)}) if (folder / "config.yaml").exists() else small(folder)
            result = loop.train(config, RunFolder(config), shield=held)
            os._exit(128 + result.stopped_by if result.interrupted else 0)
        except SelfplayError as error:
            (folder.parent / "error.txt").write_text(str(error))
            os._exit(FAILED)
        finally:
            os._exit(1)
    code = os.waitpid(process, 0)[1]
    return -os.WTERMSIG(code) if os.WIFSIGNALED(code) else os.waitstatus_to_exitcode(code)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that was left alone."""
    folder = tmp_path_factory.mktemp("resume") / "whole"
    assert child(folder) == 0
    return folder


@pytest.mark.parametrize(
    "kills",
    [
        [Kill("update", 1, 1.0), Kill("judge", 2, 0.0), Kill("play", 3, 0.5)],
        [Kill("checkpoint", 2, 0.5), Kill("update", 2, 1.0)],
        [Kill("evaluation", 2, 0.2), Kill("evaluation", 1, 1.0), Kill("checkpoint", 1, 1.0)],
    ],
    ids=["in steps", "in a checkpoint", "in evaluations"],
)
def test_a_killed_run_that_is_resumed_leaves_what_one_leaves_that_is_not(
    whole: Path, tmp_path: Path, kills: list[Kill]
) -> None:
    folder = tmp_path / "cut"
    for kill in kills:
        assert child(folder, lambda kill=kill: watch(kill)) == -signal.SIGKILL
    assert child(folder) == 0
    assert left(folder) == left(whole)


def test_an_earlier_checkpoint_brings_its_bank_back(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cut"
    shutil.copytree(whole, folder)
    config = configure({"resume": str(folder / "checkpoints" / "2")})
    RunFolder(config).rewind(2, find(folder, 2).about.records)
    assert (folder / "bank.jsonl").read_bytes() == (folder / "checkpoints" / "2" / "bank.jsonl").read_bytes()
    assert (folder / "bank.jsonl").read_bytes() != (whole / "bank.jsonl").read_bytes()
    RunFolder(config).rewind(0, {})
    assert not (folder / "bank.jsonl").exists()


def test_the_last_checkpoint_of_a_run_says_that_it_is_finished(whole: Path) -> None:
    made = latest(whole)
    assert made
    assert (made.step, made.about.finished) == (4, True)
    assert [each.step for each in listed(whole) if each.about.evaluated] == [2, 4]


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_stopped_run_finishes_its_step_and_goes_on_where_it_was(whole: Path, tmp_path: Path, number: int) -> None:
    folder, signals = tmp_path / "cut", Signals()

    def before() -> None:
        signals.__enter__()
        real = loop.play

        def play(*arguments: Any) -> Any:
            os.kill(os.getpid(), number)
            return real(*arguments)

        loop.play = play

    assert child(folder, before, signals.held) == 128 + number
    made = latest(folder)
    assert made
    assert made.step == 1
    assert (folder / "adapters" / "generator" / "adapter_model.safetensors").is_file()
    assert child(folder) == 0
    assert left(folder) == left(whole)


def test_a_full_disk_ends_a_run_in_words_and_what_was_written_can_be_resumed(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cut"

    def little_disk() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        size = (whole / "checkpoints" / "4" / TENSORS).stat().st_size // 4
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    assert child(folder, little_disk) == FAILED
    assert re.search(r"checkpoints/[12] could not be written", (tmp_path / "error.txt").read_text())
    assert [path.name for path in (folder / "checkpoints").iterdir()] == ["0"]  # without what optimizers remember
    assert child(folder) == 0
    assert left(folder) == left(whole)


def test_a_folder_that_is_removed_ends_a_run_in_words_and_the_weights_are_saved(tmp_path: Path) -> None:
    folder = tmp_path / "cut"

    def removing() -> None:
        real = loop.examine

        def examine(*arguments: Any) -> Any:
            if folder.exists():
                shutil.rmtree(folder)
            return real(*arguments)

        loop.examine = examine

    assert child(folder, removing) == FAILED
    assert "is gone: it was removed or moved while the run was on" in (tmp_path / "error.txt").read_text()
    assert [path.name for path in folder.iterdir()] == ["adapters"]


def test_an_error_between_steps_leaves_a_checkpoint(tmp_path: Path) -> None:
    folder = tmp_path / "cut"
    config = small(folder)

    class Failing(RunFolder):
        """A judge's failure in the second step, where a checkpoint is due after a hundred."""

        def step(self, metrics: Any) -> None:
            super().step(metrics)
            loop.examine = fail  # type: ignore[assignment]

    def fail(*arguments: Any) -> Any:
        raise SelfplayError("the sandbox is gone")

    real = loop.examine
    try:
        with pytest.raises(SelfplayError, match="the sandbox is gone"):
            loop.train(config, Failing(config))
    finally:
        loop.examine = real
    made = latest(folder)
    assert made
    assert made.step == 1


@pytest.mark.slow
def test_a_torn_checkpoint_is_named_and_the_run_goes_on_from_the_one_before(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cut"
    assert child(folder, lambda: watch(Kill("play", 4, 0.0))) == -signal.SIGKILL
    newest = listed(folder)[-1]
    (newest.path / TENSORS).write_bytes(b"torn")
    said: list[str] = []
    made = latest(folder, said.append, resumable=True)
    assert made
    assert made.step < newest.step
    assert "is torn: tensors.pt holds 4 bytes" in said[0]
    assert child(folder) == 0
    assert left(folder) == left(whole)
