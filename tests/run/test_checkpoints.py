"""What is stored and found again, and what a kill, a torn disk and an impatient user leave behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from selfplay.run.checkpoints import (
    About,
    Checkpoint,
    CheckpointError,
    best,
    drop_after,
    find,
    keep,
    latest,
    listed,
    write,
)


def filled(text: str = "weights") -> Callable[[Path], None]:
    def save(folder: Path) -> None:
        (folder / "adapters").mkdir()
        (folder / "adapters" / "a.bin").write_text(text)
        (folder / "state.json").write_text("{}")

    return save


def made(
    run: Path, step: int, greedy: float | None = None, text: str = "weights", prototype: float = 0.0
) -> Checkpoint:
    scores = {"code_greedy": greedy, "prototype": prototype}
    return write(run, About(step, 40, 1, evaluated=greedy is not None, scores=scores), filled(text))


def names(run: Path) -> list[str]:
    return sorted(path.name for path in (run / "checkpoints").iterdir())


def test_a_checkpoint_is_found_as_it_was_written(tmp_path: Path) -> None:
    written = made(tmp_path, 8, 0.5)
    assert listed(tmp_path) == [written]
    assert latest(tmp_path) == best(str(tmp_path)) == find(str(tmp_path), 8) == written
    assert (written.step, written.score(), written.size) == (8, 0.5, len("weights") + len("{}"))


def test_a_run_without_checkpoints_has_none(tmp_path: Path) -> None:
    assert listed(tmp_path) == []
    assert latest(tmp_path) is None
    assert best(tmp_path) is None


def test_the_latest_is_the_one_of_most_steps(tmp_path: Path) -> None:
    for step in (9, 10, 2):
        made(tmp_path, step)
    assert [each.step for each in listed(tmp_path)] == [2, 9, 10]
    found = latest(tmp_path)
    assert found
    assert found.step == 10


@pytest.mark.parametrize(
    ("scores", "step"),
    [((0.1, 0.5, 0.3), 2), ((0.5, None, 0.5), 3), ((None, 0.0, None), 2), ((None, None, None), 3)],
    ids=["the highest score", "of equal ones the later", "any score before none", "without scores the newest"],
)
def test_the_best_has(tmp_path: Path, scores: tuple[float | None, ...], step: int) -> None:
    for number, score in enumerate(scores, 1):
        made(tmp_path, number, score)
    found = best(tmp_path)
    assert found
    assert found.step == step


def test_the_best_can_be_chosen_otherwise(tmp_path: Path) -> None:
    made(tmp_path, 1, 0.9, prototype=0.1)
    made(tmp_path, 2, 0.1, prototype=0.9)
    found = best(tmp_path, "prototype")
    assert found
    assert found.step == 2


def test_one_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    made(tmp_path, 4)
    made(tmp_path, 8)
    with pytest.raises(CheckpointError, match="no checkpoint of step 5; it has 4, 8"):
        find(tmp_path, 5)


def spoil_by_cutting(folder: Path) -> None:
    (folder / "adapters" / "a.bin").write_text("wei")


def spoil_by_changing(folder: Path) -> None:
    (folder / "adapters" / "a.bin").write_text("wrights")


def spoil_by_removing(folder: Path) -> None:
    (folder / "state.json").unlink()


def spoil_the_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_text('{"step": 8')


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (spoil_by_cutting, r"8 is torn: adapters/a.bin holds 3 bytes of 7"),
        (spoil_by_changing, r"8 is corrupt: adapters/a.bin is not what was written"),
        (spoil_by_removing, r"8: state.json cannot be read \(No such file"),
        (spoil_the_manifest, r"8 is torn: its manifest.json cannot be read"),
    ],
)
def test_one_that_cannot_be_trusted_is_named_and_the_one_before_is_taken(
    tmp_path: Path, spoil: Callable[[Path], None], named: str
) -> None:
    good = made(tmp_path, 4, 0.1)
    spoil(made(tmp_path, 8, 0.5).path)
    for way in (latest, best):
        said: list[str] = []
        assert way(tmp_path, say=said.append) == good
        with pytest.raises(AssertionError, match=named):
            raise AssertionError(*said)


def test_where_none_is_whole_nothing_is_taken(tmp_path: Path) -> None:
    spoil_by_cutting(made(tmp_path, 4).path)
    spoil_the_manifest(made(tmp_path, 8).path)
    for way in (latest, best):
        with pytest.raises(CheckpointError, match=r"none of the checkpoints in .* can be used"):
            way(tmp_path)


def test_one_of_the_same_step_takes_the_place(tmp_path: Path) -> None:
    made(tmp_path, 8, None, "before the evaluation")
    made(tmp_path, 8, 0.5, "after it")
    assert names(tmp_path) == ["8"]
    assert (tmp_path / "checkpoints/8/adapters/a.bin").read_text() == "after it"


def test_one_that_cannot_be_written_leaves_the_earlier_ones(tmp_path: Path) -> None:
    good = made(tmp_path, 8)

    def full(folder: Path) -> None:
        filled()(folder)
        raise OSError("No space left on device")

    with pytest.raises(OSError, match="No space"):
        write(tmp_path, About(8, 40, 1), full)
    assert names(tmp_path) == ["8"]
    assert latest(tmp_path) == good


def test_a_run_folder_that_is_gone_is_not_made_again(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        made(tmp_path / "gone", 8)
    assert not (tmp_path / "gone").exists()


def test_the_last_of_each_stage_the_newest_two_and_the_best_in_either_way_stay(tmp_path: Path) -> None:
    for step, score in enumerate((None, 0.2, None, 0.1, None, None, None), 1):
        made(tmp_path, step, score, prototype=step == 3)
    keep(tmp_path)
    assert names(tmp_path) == ["2", "3", "4", "6", "7"]


def test_what_came_after_a_step_can_be_dropped(tmp_path: Path) -> None:
    for step in (2, 4, 6):
        made(tmp_path, step)
    drop_after(tmp_path, 2)
    assert names(tmp_path) == ["2"]


def test_no_link_is_made(tmp_path: Path) -> None:
    made(tmp_path, 8)
    assert not any(path.is_symlink() for path in (tmp_path / "checkpoints").rglob("*"))


TOUCHES = ("open", "os.rename", "os.mkdir", "os.rmdir", "os.remove", "shutil.rmtree")


def killed_at(run: Path, call: int) -> bool:
    """Writes step 8 again in a process that is killed before its `call`-th touch of the run; whether it came that far."""
    child = os.fork()
    if not child:
        calls = 0

        def watch(event: str, arguments: object) -> None:
            nonlocal calls
            if event in TOUCHES and str(run) in str(arguments):
                calls += 1
                if calls == call:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(watch)
        made(run, 8, text="eight again")
        keep(run)
        os._exit(0)
    return os.waitpid(child, 0)[1] == signal.SIGKILL


def test_a_kill_at_any_moment_leaves_a_whole_one_of_the_newest_step(tmp_path: Path) -> None:
    """Killed before its first, second, ... touch of the disk, until one comes to its end."""
    killed, call, run = True, 0, tmp_path
    while killed:
        call += 1
        run = tmp_path / str(call)
        run.mkdir()
        made(run, 2)
        made(run, 4)
        made(run, 8, text="eight")
        killed = killed_at(run, call)
        found = latest(run)
        assert found
        assert found.step == 8
        assert (found.path / "adapters" / "a.bin").read_text() in ("eight", "eight again")
        made(run, 9)
        assert [each.step for each in listed(run)][-2:] == [8, 9]
    assert call > 20
    assert names(run) == ["4", "8", "9"]


def test_a_listing_needs_no_torch() -> None:
    code = "import sys, selfplay.checkpoints; print('torch' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"
