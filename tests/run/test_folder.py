from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from selfplay.config import Config, configure
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


def test_every_line_of_the_metrics_has_its_kind_and_schema(config: Config) -> None:
    folder = RunFolder(config)
    folder.step({"step": 0})
    folder.evaluation({"when": "before"})
    assert [(line["kind"], line["schema"]) for line in lines(config, "metrics.jsonl")] == [
        ("step", 1),
        ("evaluation", 1),
    ]


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


def test_an_evaluation_before_the_first_step_waits_for_it(config: Config) -> None:
    folder = RunFolder(config)
    folder.evaluation({"when": "before"})
    assert not Path(config.output_dir).exists()
    folder.step({"step": 0})
    assert [line["kind"] for line in lines(config, "metrics.jsonl")] == ["evaluation", "step"]


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
