"""Runs Python in a process of its own, which is ended with all that it started where it takes too long."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import selfplay

_MOST = 16 << 20  # bytes of its output that are read


@dataclass(frozen=True, slots=True)
class Ran:
    """The exit status of an interpreter, None where it was ended, and what it printed."""

    status: int | None
    output: str
    errors: str


def package_environment() -> dict[str, str]:
    """What a process needs that runs this very package, wherever it is started."""
    return {**os.environ, "PYTHONPATH": str(Path(selfplay.__file__).resolve().parent.parent)}


def python(
    arguments: Sequence[str], environment: Mapping[str, str], seconds: float, folder: Path | None = None, text: str = ""
) -> Ran:
    """Runs an interpreter in `folder` with `text` as its input, for at most so many seconds of wall-clock time."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        given.write(text.encode("utf-8", "surrogatepass"))
        given.seek(0)
        process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=given,
            stdout=output,
            stderr=errors,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
        try:
            status: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = None
        for file in (output, errors):
            file.seek(0)
        return Ran(status, *(file.read(_MOST).decode("utf-8", "replace") for file in (output, errors)))
