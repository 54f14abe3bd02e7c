"""Calls the command line on an attack's files, and holds what it says against what it should say."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from selfplay.attacks.attack import Command
from selfplay.attacks.interpreter import package_environment, python

WALL = 600.0  # seconds that a call may take, however loaded the machine is


def answer(command: Command, folder: Path, tier: str) -> tuple[str, str]:
    """Its exit status, and the deviation if there is one. The files are written to `folder`."""
    for name, text in command.files:
        (folder / name).write_text(text, "utf-8")
    options = [*shlex.split(command.options), *(["--json"] if command.verdicts else [])]
    options += ["--sandbox", "e2b" if tier == "e2b" else "local"]
    ran = python(["-m", "selfplay.judge", *options], package_environment(), WALL, folder)
    if ran.status is None:
        return "endless", f"no answer within {WALL:.0f} s"
    printed, said = ran.output + ran.errors, f"exit {ran.status}"
    if "Traceback" in printed:
        return said, f"a traceback: {printed.strip().splitlines()[-1]}"
    if ran.status != command.exits:
        return said, f"exit {command.exits} is right: {printed.strip()[:200]}"
    missing = [text for text in command.says if text not in printed]
    if missing:
        return said, f"{missing[0]!r} is not said"
    if command.verdicts:
        judged = tuple(tuple(program["verdicts"]) for program in json.loads(ran.output)["programs"])
        return said, "" if judged == command.verdicts else f"judged {judged}"
    return said, ""
