"""Checkpoints of a run: what it needs to go on, as plain files, whole or not there at all.

    RUN/checkpoints/8/manifest.json     after 8 steps: what it is, and size and SHA-256 of every other file
    RUN/checkpoints/8/...               what the run's state wrote

    latest("runs/a"), best("runs/a"), find("runs/a", 8), listed("runs/a")

One is written to `8.partial`, brought to the disk and renamed. Where it takes the place of another of the same step, that
one is `8.old` for the moment between two renames. So a kill leaves the last good one whenever it comes. No symbolic links:
a mounted Drive has none. Left out: what a state writes, which is learning/state.py's, and torch, so that a listing costs
milliseconds.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path

from selfplay.config.layers import CHECKPOINTS, run_folder
from selfplay.errors import SelfplayError

SCHEMA = 1
FOLDER, MANIFEST = CHECKPOINTS, "manifest.json"
_PARTIAL, _OLD = ".partial", ".old"
_NAME = re.compile(r"(\d+)(\.old)?")
GREEDY, PROTOTYPE = "code_greedy", "prototype"  # ways of choosing the best

Say = Callable[[str], None]


class CheckpointError(SelfplayError):
    """A checkpoint that is not there, or cannot be trusted."""


@dataclass(frozen=True, slots=True)
class About:
    """What a checkpoint is of: the weights after `step` of `steps` steps, the last of them at `stage`.

    `evaluated`: whether the evaluation of these weights is in it, which makes it the last of its stage. `finished`: whether
    the run was done. `scores`: by way of choosing the best (`GREEDY`, `PROTOTYPE`), None where these weights have none.
    `metrics`: the mean rewards and the validity of its last step. `records`: sizes of the run's files that it belongs to.
    """

    step: int
    steps: int
    stage: int
    evaluated: bool = False
    finished: bool = False
    scores: Mapping[str, float | None] = field(default_factory=dict)
    records: Mapping[str, int] = field(default_factory=dict)
    metrics: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One that is there. `time`: when it was written (ISO, UTC); `size`: bytes; `files`: size and SHA-256 by name."""

    path: Path
    about: About
    time: str
    files: Mapping[str, tuple[int, str]]

    @property
    def step(self) -> int:
        return self.about.step

    @property
    def size(self) -> int:
        return sum(size for size, _ in self.files.values())

    def score(self, by: str = GREEDY) -> float | None:
        return self.about.scores.get(by)

    def check(self) -> None:
        """Reads every file. Raises CheckpointError that names the first which is missing, cut off or changed."""
        for name, (size, digest) in self.files.items():
            file = self.path / name
            try:
                there = file.stat().st_size
                if there != size:
                    raise CheckpointError(f"checkpoint {self.path} is torn: {name} holds {there} bytes of {size}")
                if _sha256(file) != digest:
                    raise CheckpointError(f"checkpoint {self.path} is corrupt: {name} is not what was written")
            except OSError as error:
                raise CheckpointError(f"checkpoint {self.path}: {name} cannot be read ({error.strerror})") from error


def write(run: Path, about: About, save: Callable[[Path], None]) -> Checkpoint:
    """Makes the checkpoint of `about.step`: `save` fills the folder that it is given. Raises OSError, with nothing left."""
    place = run / FOLDER / str(about.step)
    partial, old = place.with_name(f"{about.step}{_PARTIAL}"), place.with_name(f"{about.step}{_OLD}")
    place.parent.mkdir(exist_ok=True)  # not its parents: a run folder that was removed stays removed
    for torn in place.parent.glob(f"*{_PARTIAL}"):  # what a kill left half written or half removed
        shutil.rmtree(torn, ignore_errors=True)
    try:
        partial.mkdir()
        save(partial)
        paths = sorted(path for path in partial.rglob("*") if path.is_file())
        files = {str(path.relative_to(partial)): (path.stat().st_size, _sha256(path, sync=True)) for path in paths}
        checkpoint = Checkpoint(place, about, datetime.now(UTC).isoformat(timespec="seconds"), files)
        with open(partial / MANIFEST, "w", encoding="utf-8") as file:
            json.dump({"schema": SCHEMA, "time": checkpoint.time, **asdict(about), "files": files}, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        for folder in {partial, *(path.parent for path in paths)}:
            _sync(folder)
        if place.exists():
            _remove(old)
            place.rename(old)
        partial.rename(place)
        _sync(place.parent)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    _remove(old)
    return checkpoint


def read(path: Path) -> Checkpoint:
    """The checkpoint in a folder, by its manifest alone. Raises CheckpointError."""
    try:
        held = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        about = About(**{each.name: held[each.name] for each in fields(About) if each.name in held})
        return Checkpoint(path, about, held["time"], {name: (size, sha) for name, (size, sha) in held["files"].items()})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"checkpoint {path} is torn: its {MANIFEST} cannot be read ({error})") from error


def listed(run: str | Path, say: Say = lambda text: None) -> list[Checkpoint]:
    """Those of a run with a readable manifest, by step. `say` is told of the others."""
    by_step: dict[int, Checkpoint] = {}
    for path in _folders(Path(run)):
        try:
            checkpoint = read(path)
        except CheckpointError as error:
            say(str(error))
            continue
        by_step[checkpoint.step] = checkpoint  # a step's own folder comes after its .old
    return [by_step[step] for step in sorted(by_step)]


def latest(run: str | Path, say: Say = lambda text: None, resumable: bool = False) -> Checkpoint | None:
    """The newest that is whole. `say` is told of each newer one that is not; None where there is none at all.

    `resumable`: and whose records are all there. Raises CheckpointError where there are some, and none of them will do.
    """
    return _whole(Path(run), list(reversed(listed(run, say))), say, "the one before is taken", resumable)


def best(run: str | Path, by: str = GREEDY, say: Say = lambda text: None) -> Checkpoint | None:
    """The one of the highest score that is whole, the later of equal ones; the newest where none has a score.

    `by`: `GREEDY` or `PROTOTYPE`. Raises as `latest` does.
    """
    order = sorted(listed(run, say), key=lambda each: _rank(each, by), reverse=True)
    return _whole(Path(run), order, say, "the next best is taken")


def find(run: str | Path, step: int) -> Checkpoint:
    """The checkpoint after `step` steps, whole. Raises CheckpointError."""
    by_step = {each.step: each for each in listed(run)}
    if step not in by_step:
        held = ", ".join(map(str, by_step)) or "none"
        raise CheckpointError(f"{run} has no checkpoint of step {step}; it has {held}")
    by_step[step].check()
    return by_step[step]


def to_resume(path: str | Path, say: Say = lambda text: None) -> Checkpoint | None:
    """What to go on from: the checkpoint that `path` names, or the newest of the run; None where the run has none yet.

    Raises CheckpointError where it, or every one, is torn or corrupt, or has lost records.
    """
    run = run_folder(str(path))
    if run == Path(path):
        return latest(run, say, resumable=True)
    checkpoint = read(Path(path))
    checkpoint.check()
    check_records(run, checkpoint)
    return checkpoint


def keep(run: Path) -> None:
    """Removes all but the last of each stage, the newest two, and the best in either way."""
    checkpoints = listed(run)
    stays = {each.step for each in checkpoints if each.about.evaluated} | {each.step for each in checkpoints[-2:]}
    stays |= {max(checkpoints, key=lambda each: _rank(each, by)).step for by in (GREEDY, PROTOTYPE) if checkpoints}
    for each in checkpoints:
        if each.step not in stays:
            _remove(each.path)


def drop_after(run: Path, step: int) -> None:
    """Removes the checkpoints after `step`, the newest first."""
    for path in reversed(_folders(run)):
        if _step(path) > step:
            _remove(path)


def _rank(checkpoint: Checkpoint, by: str) -> tuple[bool, float, int]:
    score = checkpoint.score(by)
    return score is not None, score or 0.0, checkpoint.step


def check_records(run: Path, checkpoint: Checkpoint) -> None:
    """Raises CheckpointError where a file of records is shorter than it was: what is missing could not be made again."""
    for name, size in checkpoint.about.records.items():
        there = (run / name).stat().st_size if (run / name).is_file() else 0
        if there < size:
            raise CheckpointError(
                f"checkpoint {checkpoint.path} cannot be resumed: {run / name} holds {there} bytes of {size}"
            )


def _whole(
    run: Path, checkpoints: list[Checkpoint], say: Say, instead: str, resumable: bool = False
) -> Checkpoint | None:
    for checkpoint in checkpoints:
        try:
            checkpoint.check()
            if resumable:
                check_records(run, checkpoint)
        except CheckpointError as error:
            say(f"{error}; {instead}")
            continue
        return checkpoint
    if _folders(run):
        raise CheckpointError(
            f"none of the checkpoints in {run / FOLDER} can be used; bring back a copy, or begin again in another --output-dir"
        )
    return None


def _folders(run: Path) -> list[Path]:
    """By step; what a step's folder replaces comes before it."""
    try:
        paths = [path for path in (run / FOLDER).iterdir() if _NAME.fullmatch(path.name)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise CheckpointError(f"{run / FOLDER} cannot be read ({error.strerror})") from error
    return sorted(paths, key=lambda path: (_step(path), path.suffix != _OLD))


def _step(path: Path) -> int:
    return int(path.name.removesuffix(_OLD))


def _remove(path: Path) -> None:
    """Under a name that counts for nothing first, so that a kill in between leaves no torn checkpoint."""
    with suppress(FileNotFoundError):
        gone = path.with_name(f"{path.name}{_PARTIAL}")
        shutil.rmtree(gone, ignore_errors=True)
        path.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)


def _sha256(path: Path, sync: bool = False) -> str:
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        if sync:
            os.fsync(file.fileno())
    return digest.hexdigest()


def _sync(folder: Path) -> None:
    """Brings the names in a folder to the disk, where its file system knows how."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
