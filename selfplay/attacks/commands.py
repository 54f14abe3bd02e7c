"""Calls the command line on an attack's files, and holds what it says against what it should say."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

from selfplay.attacks.attack import Command
from selfplay.attacks.measured import environment

WALL = 600.0  # seconds that a call may take, however loaded the machine is


def answer(command: Command, folder: Path, tier: str) -> tuple[str, str]:
    """Its exit status, and the deviation if there is one. The files are written to `folder`."""
    for name, text in command.files:
        (folder / name).write_text(text, "utf-8")
    options = [*shlex.split(command.options), *(["--json"] if command.verdicts else [])]
    called = [sys.executable, "-m", "selfplay.judge", *options, "--sandbox", "e2b" if tier == "e2b" else "local"]
    try:
        done = subprocess.run(called, cwd=folder, env=environment(), capture_output=True, timeout=WALL, check=False)
    except subprocess.TimeoutExpired:
        return "endless", f"no answer within {WALL:.0f} s"
    printed, said = (done.stdout + done.stderr).decode("utf-8", "replace"), f"exit {done.returncode}"
    if "Traceback" in printed:
        return said, f"a traceback: {printed.strip().splitlines()[-1]}"
    if done.returncode != command.exits:
        return said, f"exit {command.exits} is right: {printed.strip()[:200]}"
    missing = [text for text in command.says if text not in printed]
    if missing:
        return said, f"{missing[0]!r} is not said"
    return said, _misjudged(command, done.stdout) if command.verdicts else ""


def _misjudged(command: Command, printed: bytes) -> str:
    judged = tuple(tuple(program["verdicts"]) for program in json.loads(printed)["programs"])
    return "" if judged == command.verdicts else f"judged {judged}"
