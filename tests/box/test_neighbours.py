"""No program has a way to an infrastructure error, nor to the verdict of the program behind it in the same zygote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import neighbours

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these walls are Linux's")

_NOBODY = 65534


@cache
def told(who: str) -> dict[str, Any]:
    """What became of every attack, run as this user or as an ordinary one."""
    script = Path(neighbours.__file__)
    if who == "this user":
        command, python = {}, sys.executable
    else:
        command = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}
        python = _readable_python()
    done = subprocess.run(
        [python, "-B", str(script)], capture_output=True, text=True, check=True, cwd=script.parents[2], **command
    )
    return json.loads(done.stdout)


def _readable_python() -> str:
    if os.geteuid() != 0:
        pytest.skip("this user is the ordinary one already")
    for python in (sys.executable, "/usr/bin/python3"):
        check = [
            python,
            "-B",
            "-c",
            f"import sys; sys.path.insert(0, {str(Path.cwd())!r}); import selfplay.box.local",
        ]
        try:
            subprocess.run(check, user=_NOBODY, group=_NOBODY, extra_groups=[], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return python
    pytest.skip("an ordinary user can start no Python here that reads this package")


@pytest.mark.parametrize("who", ["this user", "an ordinary user"])
@pytest.mark.parametrize("attack", neighbours.ATTACKS)
def test_no_program_passes_for_a_failure_of_the_box_or_harms_the_next(attack: str, who: str) -> None:
    seen = told(who)
    if seen["tier"] != "jailed":
        pytest.skip(f"this machine offers less: {seen['tier']}")
    outcome = seen["attacks"][attack]
    assert "infra_error" not in outcome["attack"]
    assert outcome["honest"] == ["2", "2", "2"]
    assert outcome["same zygote"]
