from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from selfplay.config import Config, configure
from selfplay.run import folder as run_folder
from selfplay.run.checkpoints import About, listed
from selfplay.run.folder import RunFolder, RunFolderError, append_lines


class Adapters:
    """Saves as a policy does: to a partial folder, then renamed."""

    def __init__(self, error: OSError | None = None) -> None:
        self.error = error

    def save(self, folder: Path) -> None:
        partial = folder / "adapters.partial"
        for role in ("generator", "discriminator"):
            (partial / role).mkdir(parents=True)
        if self.error:
            raise self.error
        partial.rename(folder / "adapters")


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return configure({"output_dir": str(tmp_path / "run")})


def lines(config: Config, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (Path(config.output_dir) / name).read_text().splitlines()]


def test_nothing_is_written_before_there_is_something_to_record(config: Config) -> None:
    RunFolder(config).about(tier="jailed")
    assert not Path(config.output_dir).exists()


def test_a_run_leaves_configuration_metrics_episodes_and_adapters(config: Config) -> None:
    folder = RunFolder(config)
    folder.step({"step": 0})
    folder.episodes([{"problem": "a"}, {"problem": "b"}])
    folder.save(Adapters())
    assert sorted(path.name for path in Path(config.output_dir).iterdir()) == [
        "adapters",
        "config.yaml",
        "episodes.jsonl",
        "metrics.jsonl",
    ]
    assert [episode["problem"] for episode in lines(config, "episodes.jsonl")] == ["a", "b"]


def test_the_configuration_says_what_the_run_was_made_with(config: Config) -> None:
    folder = RunFolder(config)
    folder.about(tier="jailed")
    folder.step({})
    made_with = yaml.safe_load((Path(config.output_dir) / "config.yaml").read_text())["made_with"]
    assert made_with["tier"] == "jailed"
    assert {"selfplay", "python", "torch", "transformers", "peft"} <= set(made_with)


def test_the_written_configuration_reads_back_as_the_same(config: Config) -> None:
    RunFolder(config).step({})
    assert configure(file=Path(config.output_dir) / "config.yaml") == config


def test_a_folder_that_holds_another_run_is_refused(config: Config) -> None:
    RunFolder(config).step({})
    with pytest.raises(
        RunFolderError, match=r"holds another run \(config\.yaml\); give another folder with --output-dir"
    ):
        RunFolder(config)


def test_a_run_that_began_meanwhile_is_not_overwritten(config: Config) -> None:
    late = RunFolder(config)
    RunFolder(config).step({"step": 1})
    with pytest.raises(RunFolderError, match="holds another run"):
        late.step({"step": 2})
    assert [line["step"] for line in lines(config, "metrics.jsonl")] == [1]


def test_a_folder_with_other_things_in_it_may_be_used(config: Config) -> None:
    Path(config.output_dir).mkdir()
    (Path(config.output_dir) / "notes.txt").write_text("mine")
    RunFolder(config).step({})
    assert (Path(config.output_dir) / "notes.txt").read_text() == "mine"


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match="file is a file; give another --output-dir"):
        RunFolder(configure({"output_dir": str(tmp_path / "file" / "run")}))


def test_numbers_that_json_has_not_become_null(config: Config) -> None:
    RunFolder(config).step({"loss": float("nan"), "nested": [float("inf"), 1.5]})
    assert lines(config, "metrics.jsonl")[0]["nested"] == [None, 1.5]


def test_a_line_that_the_disk_cut_off_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "metrics.jsonl"
    append_lines(path, [{"step": 1}])
    real, left = os.write, [5]

    def write(descriptor: int, data: bytes) -> int:
        if not left[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = real(descriptor, bytes(data)[: left[0]])
        left[0] -= taken
        return taken

    monkeypatch.setattr("selfplay.run.folder.os.write", write)
    with pytest.raises(RunFolderError, match=r"the disk is full: .*metrics\.jsonl"):
        append_lines(path, [{"step": 2}])
    assert path.read_text() == '{"step": 1}\n'


def test_a_write_that_is_really_cut_off_leaves_whole_lines(tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys; from pathlib import Path; from selfplay.run.folder import *\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n    while True: append_lines(Path(sys.argv[1]), [{'text': 'x' * 90}])\n"
        "except RunFolderError as error: print(error)\n"
    )
    path = tmp_path / "lines.jsonl"
    ran = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert "could not be written" in ran.stdout
    assert [json.loads(line)["text"] for line in path.read_text().splitlines()] == ["x" * 90] * 9


def test_a_full_disk_leaves_no_folder_behind(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(RunFolderError, match="the disk is full"):
        RunFolder(config).step({})
    assert not Path(config.output_dir).exists()


def test_adapters_that_could_not_be_saved_leave_nothing_half_written(config: Config) -> None:
    folder = RunFolder(config)
    with pytest.raises(RunFolderError, match=r"the disk is full: .*adapters"):
        folder.save(Adapters(OSError(errno.ENOSPC, "No space left on device")))
    assert not (Path(config.output_dir) / "adapters.partial").exists()


def test_an_evaluation_before_the_first_step_is_kept_at_once(config: Config) -> None:
    RunFolder(config).evaluation({"when": "before"})
    assert [*map(list, lines(config, "metrics.jsonl"))] == [["when"]]


@pytest.mark.parametrize("name", ["x" * 300, "a/" * 3000])
def test_a_path_that_cannot_be_looked_at_is_a_sentence(tmp_path: Path, name: str) -> None:
    with pytest.raises(RunFolderError, match=r"it cannot be looked at .File name too long.; give another --output-dir"):
        RunFolder(configure({"output_dir": str(tmp_path / name)}))


def test_a_folder_that_one_may_not_enter_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(self: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "stat", denied)
    with pytest.raises(RunFolderError, match="Permission denied"):
        RunFolder(configure({"output_dir": str(tmp_path / "locked" / "run")}))


class State:
    """A state of so many steps."""

    def __init__(self, step: int, evaluated: bool = False) -> None:
        self.step, self.evaluated = step, evaluated

    def about(self, records: Mapping[str, int]) -> About:
        return About(self.step, 40, 1, self.evaluated, records=records)

    def save(self, folder: Path) -> None:
        (folder / "state.json").write_text("{}")


def begun(config: Config, steps: int = 1) -> RunFolder:
    folder = RunFolder(config)
    for step in range(steps):
        folder.step({"step": step})
    return folder


def kept(config: Config) -> list[int]:
    return [made.step for made in listed(Path(config.output_dir))]


def test_a_checkpoint_knows_how_much_of_the_records_belongs_to_it(config: Config) -> None:
    folder = begun(config)
    folder.checkpoint(State(1), must=True)
    [made] = listed(Path(config.output_dir))
    size = (Path(config.output_dir) / "metrics.jsonl").stat().st_size
    assert made.about.records == {"metrics.jsonl": size, "episodes.jsonl": 0}


def test_an_evaluation_that_waits_is_in_the_records_of_a_checkpoint(config: Config) -> None:
    folder = RunFolder(config)
    folder.evaluation({"when": "before"})
    folder.checkpoint(State(0), must=True)
    folder.step({"step": 0})
    assert [*map(list, lines(config, "metrics.jsonl"))] == [["when"], ["step"]]
    [made] = listed(Path(config.output_dir))
    assert made.about.records["metrics.jsonl"] > 0


def test_what_was_recorded_after_a_checkpoint_is_taken_back(config: Config) -> None:
    folder = begun(config, 2)
    folder.episodes([{"problem": "a"}])
    folder.checkpoint(State(2), must=True)
    [made] = listed(Path(config.output_dir))
    folder.step({"step": 2})
    folder.episodes([{"problem": "b"}])
    folder.checkpoint(State(3), must=True)
    again = RunFolder(configure({"resume": config.output_dir}))
    again.rewind(2, made.about.records)
    assert kept(config) == [2]
    assert [line["step"] for line in lines(config, "metrics.jsonl")] == [0, 1]
    again.step({"step": 2})
    assert [line["step"] for line in lines(config, "metrics.jsonl")] == [0, 1, 2]
    assert [line["problem"] for line in lines(config, "episodes.jsonl")] == ["a"]


def test_the_same_state_is_not_kept_twice(config: Config) -> None:
    folder = begun(config)
    folder.checkpoint(State(1), must=True)
    before = os.stat(Path(config.output_dir) / "checkpoints" / "1").st_ino
    folder.checkpoint(State(1), must=True)
    assert os.stat(Path(config.output_dir) / "checkpoints" / "1").st_ino == before


def test_the_next_checkpoint_waits_a_hundred_times_as_long_as_the_last_one_took(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 1.0, 10.0, 10.5, 60.0, 60.6, 70.0, 70.5])  # made; due, begun and done; due; due, begun and done
    monkeypatch.setattr(run_folder.time, "perf_counter", lambda: next(clock))
    folder = begun(config)
    for step in (1, 2, 3):
        folder.checkpoint(State(step))
    assert kept(config) == [1, 3]


def test_a_folder_that_was_removed_is_named_and_not_made_again(config: Config) -> None:
    folder = begun(config)
    shutil.rmtree(config.output_dir)
    for write in (lambda: folder.step({}), lambda: folder.checkpoint(State(1), must=True)):
        with pytest.raises(RunFolderError, match="is gone: it was removed or moved while the run was on"):
            write()
    assert not Path(config.output_dir).exists()


def test_a_full_disk_leaves_the_checkpoint_before(config: Config) -> None:
    class Large(State):
        def save(self, folder: Path) -> None:
            super().save(folder)
            raise OSError(errno.ENOSPC, "No space left on device")

    folder = begun(config)
    folder.checkpoint(State(1), must=True)
    with pytest.raises(RunFolderError, match=r"the disk is full: .*checkpoints/2"):
        folder.checkpoint(Large(2), must=True)
    assert kept(config) == [1]
    assert [path.name for path in (Path(config.output_dir) / "checkpoints").iterdir()] == ["1"]


def test_a_run_in_a_folder_that_cannot_be_written_is_not_resumed(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(config)
    monkeypatch.setattr("selfplay.run.folder.os.access", lambda path, mode: False)
    with pytest.raises(RunFolderError, match="cannot be resumed: no permission to write in"):
        RunFolder(configure({"resume": config.output_dir}))
