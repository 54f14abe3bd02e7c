"""The run folder: what a run leaves behind, written so that no interruption spoils what is there.

    config.yaml       the resolved configuration, and what the run was made with (passes back as --config)
    metrics.jsonl     one line a step (`kind: step`) and one an evaluation (`kind: evaluation`)
    episodes.jsonl    every group as it was played, judged and paid, a line each (not with --ledger off)
    bank.jsonl        tests that killed wrong programs, as the newest checkpoint holds them, once there are any
    checkpoints/      what the run needs to go on (checkpoints.py)
    adapters/         generator and discriminator, written when the run ends

A folder that holds another run is refused before anything is loaded; nothing is written before the first evaluation is made,
and then a checkpoint with it: with a real model that is minutes of work. A line is written whole or not at all: what a full
disk cut off is taken back. Records are brought to the disk with each checkpoint, not with each line.
"""

from __future__ import annotations

import errno
import json
import math
import os
import platform
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from selfplay import __version__
from selfplay.config import Config
from selfplay.config.layers import MADE_WITH, RUN_FILE
from selfplay.errors import SelfplayError
from selfplay.run import checkpoints
from selfplay.run.checkpoints import About
from selfplay.run.recorders import Recorder, Resumable, Savable

CONFIG, METRICS, EPISODES, ADAPTERS = RUN_FILE, "metrics.jsonl", "episodes.jsonl", "adapters"
BANK = "bank.jsonl"
WEIGHTS, ADAPTER, BASE = "adapter_model.safetensors", "adapter_config.json", "base.json"  # of an adapter's folder
RECORDS = (METRICS, EPISODES)
PACE = 100  # so many times as long as the last checkpoint took pass before the next: saving stays below 1 % of the time
_PACKAGES = ("torch", "transformers", "peft", "tokenizers", "unsloth", "bitsandbytes")


class RunFolderError(SelfplayError):
    """The folder of a run cannot be used, or cannot take more."""


class RunFolder(Recorder):
    """A recorder that writes to `config.output_dir`. Raises RunFolderError where that is taken or cannot be written.

    That of a resumed run holds it already: `rewind` opens it before anything is recorded.
    """

    def __init__(self, config: Config) -> None:
        self.path, self.config = Path(config.output_dir), config
        if not config.resume:
            check_free(self.path)
        elif trouble := cannot_write(self.path):
            raise RunFolderError(f"{self.path} cannot be resumed: {trouble}")
        self._facts: dict[str, Any] = {}
        self._open = False
        self._kept: About | None = None  # the last checkpoint, when it was made and how long that took
        self._kept_at, self._cost = time.perf_counter(), 0.0

    def about(self, **facts: Any) -> None:
        """Facts for config.yaml."""
        self._facts |= facts

    def step(self, metrics: Mapping[str, Any]) -> None:
        self._append(METRICS, [metrics])

    def evaluation(self, record: Mapping[str, Any]) -> None:
        self._append(METRICS, [record])

    def episodes(self, records: Sequence[Mapping[str, Any]]) -> None:
        if records:
            self._append(EPISODES, records)

    def save(self, policy: Savable) -> None:
        if not self._open:  # where an open folder was removed meanwhile, the weights are still worth a new one
            self._begin()
        try:
            policy.save(self.path)
        except disk_errors() as error:
            shutil.rmtree(self.path / f"{ADAPTERS}.partial", ignore_errors=True)
            raise _trouble(self.path / ADAPTERS, error) from error

    def checkpoint(self, state: Resumable, must: bool = False) -> None:
        """Writes a checkpoint where one is due, or `must` be, and removes what is in excess."""
        about = state.about({})
        is_due = time.perf_counter() - self._kept_at >= PACE * self._cost
        if about == self._kept or not (must or is_due):
            return
        self._begin()
        started = time.perf_counter()
        try:
            about = state.about({name: synced(self.path / name) for name in RECORDS})
            made = checkpoints.write(self.path, about, state.save)
            self._show_bank(made.path)
            checkpoints.keep(self.path)
        except disk_errors() as error:
            raise _trouble(self.path / checkpoints.FOLDER / str(about.step), error) from error
        self._kept, self._kept_at = state.about({}), time.perf_counter()
        self._cost = self._kept_at - started

    def rewind(self, step: int, records: Mapping[str, int]) -> None:
        """Opens the folder of a resumed run: what was recorded after `step` steps is taken back."""
        try:
            checkpoints.drop_after(self.path, step)
            for file in (self.path / name for name in RECORDS):
                if file.exists():
                    os.truncate(file, records.get(file.name, 0))
            self._show_bank(next((made.path for made in checkpoints.listed(self.path) if made.step == step), None))
        except OSError as error:
            raise _trouble(self.path, error) from error
        self._open = True

    def _show_bank(self, checkpoint: Path | None) -> None:
        """Lays the bank of a checkpoint beside the records, where people look for it."""
        place, partial = self.path / BANK, self.path / f"{BANK}.partial"
        if checkpoint is not None and (checkpoint / BANK).exists():
            shutil.copyfile(checkpoint / BANK, partial)
            partial.replace(place)
        else:
            place.unlink(missing_ok=True)

    def _append(self, name: str, records: Iterable[Mapping[str, Any]]) -> None:
        self._begin()
        append_lines(self.path / name, records)

    def _begin(self) -> None:
        """Writes config.yaml, the first file of the folder; that nobody else did meanwhile is part of the check."""
        if self._open:
            if not (self.path / CONFIG).exists():
                raise RunFolderError(
                    f"{self.path} is gone: it was removed or moved while the run was on. Where it was moved to, go on with "
                    "--resume; else begin again"
                )
            return
        check_free(self.path)
        target, partial = self.path / CONFIG, self.path / f"{CONFIG}.partial"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with open(partial, "w", encoding="utf-8") as file:
                file.write(self._described())
            partial.rename(target)  # whole or not at all: it is what a resume reads first
        except OSError as error:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
                self.path.rmdir()
            raise _trouble(target, error) from error
        self._open = True

    def _described(self) -> str:
        import yaml  # not needed before a run has something to record

        keys = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self.config).items()}
        return yaml.safe_dump(keys | {MADE_WITH: versions() | self._facts}, sort_keys=False, allow_unicode=True)


def check_free(path: Path) -> None:
    """Raises RunFolderError where `path` holds a run or cannot become a folder that we may write to."""
    trouble = cannot_write(path)
    if trouble:
        raise RunFolderError(f"output_dir {path}: {trouble}; give another --output-dir")
    held = next((name for name in (CONFIG, *RECORDS, checkpoints.FOLDER, ADAPTERS) if (path / name).exists()), None)
    if held:
        raise RunFolderError(
            f"{path} holds another run ({held}); give another folder with --output-dir, go on with this run by "
            f"--resume {path}, or remove it"
        )


def nearest_folder(path: Path) -> Path:
    """`path`, or the nearest thing above it that exists. Raises OSError where that cannot be told."""
    for each in (path, *path.absolute().parents):
        with suppress(FileNotFoundError, NotADirectoryError):
            each.stat()
            return each
    return Path("/")


def cannot_write(path: Path) -> str:
    """Why nothing can be written to the folder `path`, which need not exist yet; empty where it can."""
    try:
        nearest = nearest_folder(path)
    except (OSError, ValueError) as error:  # no permission to look, a name that is too long, a NUL in it
        return f"it cannot be looked at ({getattr(error, 'strerror', None) or error})"
    if not nearest.is_dir():
        return f"{nearest} is a file"
    return "" if os.access(nearest, os.W_OK | os.X_OK) else f"no permission to write in {nearest}"


def append_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Adds one line of JSON per record, all or none. Raises RunFolderError where the disk does not take them."""
    lines = (json.dumps(_finite(record), ensure_ascii=False, allow_nan=False) for record in records)
    data = b"".join(line.encode() + b"\n" for line in lines)
    try:
        with open(path, "ab", buffering=0) as file:
            start = file.seek(0, os.SEEK_END)
            view = memoryview(data)
            try:
                while view:  # a write may take less than it was given, on a nearly full disk for instance
                    view = view[os.write(file.fileno(), view) :]
            except BaseException:  # an interrupt too would leave half a record
                os.ftruncate(file.fileno(), start)
                raise
    except OSError as error:
        raise _trouble(path, error) from error


def synced(path: Path) -> int:
    """The size of a file, once all of it is on the disk; 0 where there is none. Raises OSError."""
    if not path.exists():
        return 0
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        return os.fstat(file.fileno()).st_size


def disk_errors() -> tuple[type[Exception], ...]:
    """What writing files can raise: the writer of tensors has a class of its own for a full disk."""
    from safetensors import SafetensorError

    return OSError, SafetensorError


def versions() -> dict[str, str]:
    """Python and the packages that decide what a run computes."""
    found = {"selfplay": __version__, "python": platform.python_version(), "platform": platform.platform()}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity: null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): _finite(each) for name, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list | tuple) else value


def _trouble(path: Path, error: Exception) -> RunFolderError:
    full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or "No space left" in str(error)
    if full:
        return RunFolderError(
            f"the disk is full: {path} could not be written; what was written before is whole. "
            "Free some space or give an --output-dir on another disk"
        )
    return RunFolderError(f"{path} could not be written ({error}); give another --output-dir")
