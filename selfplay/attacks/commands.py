"""The command line, attacked through its files: programs that change how tests are read, text that cannot be printed.

Also what a person may rely on there, as controls of the same kind: exit statuses, and what is said about programs that
cannot be loaded and tests that are refused.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

from selfplay.attacks.attack import Command
from selfplay.attacks.measured import environment

FAMILY = "command line"
WALL = 60.0  # seconds that a call may take on a loaded machine

_SUB = "def sub(a, b):\n    return a - b\n"
_NAMED = "assert sub(a=5, b=3) == 2\nassert sub(b=3, a=4) == 1\nassert sub(2, 2) == 0\n"
_BOTH = "--code first.py second.py --tests tests.py --entry sub"


def _first(name: str, first: str, verdicts: tuple[str, ...], tests: str = _NAMED, second: str = _SUB) -> Command:
    """A first program that stands beside a right second one."""
    files = (("first.py", first), ("second.py", second), ("tests.py", tests))
    right = ("passed",) * len(verdicts)
    return Command(name, FAMILY, files, _BOTH, int(verdicts != right), (verdicts, right))


def _stdin(name: str, program: str, case: str, says: tuple[str, ...] = ("0 of 1 passed",), exits: int = 1) -> Command:
    files = (("program.py", program), ("cases.jsonl", case))
    return Command(name, FAMILY, files, "--code program.py --stdin-cases cases.jsonl", exits, says=says)


def _says(name: str, program: str, tests: str, options: str, exits: int, *says: str) -> Command:
    files = (("program.py", program), ("tests.py", tests))
    return Command(name, FAMILY, files, f"--code program.py --tests tests.py {options}".strip(), exits, says=says)


_ADD = "def add(a, b):\n    return a + b\n"
_ADDS = "def test_sum():\n    assert add(2, 3) == 5\n\ndef test_more():\n    assert add(4, 4) == 8\n"
_LENGTH = "def length(items):\n    return len(items)\n"

ATTACKS = (
    _first(
        "a first program that takes anything", "def sub(*args, **kw):\n    return 0\n", ("failed", "failed", "passed")
    ),
    _first("a first program with its parameters swapped", "def sub(b, a):\n    return a - b\n", ("passed",) * 3),
    _first("a first program with other names", "def sub(x, y):\n    return x - y\n", ("error", "error", "passed")),
    _first(
        "a first program with positional parameters only",
        "def sub(a, b, /):\n    return a - b\n",
        ("error", "error", "passed"),
    ),
    _first(
        "a first program with keywords only", "def sub(*, a, b):\n    return a - b\n", ("passed", "passed", "error")
    ),
    _first("a first program with a default", "def sub(a=9, b=9, c=9):\n    return a - b\n", ("passed",) * 3),
    _first("a first program that is no Python", "def sub(a, b:\n", ("not_collected",) * 3),
    _first(
        "a first program of one parameter before a table",
        "def sub(pair):\n    return pair[0] - pair[1]\n",
        ("error", "error"),
        "[((5, 3), 2), ((4, 3), 1)]\n",
    ),
    _stdin("half a surrogate in a case", "print(1)\n", '{"input": "\\ud800", "output": "2"}\n'),
    _stdin("half a surrogate expected", "print(1)\n", '{"input": "1", "output": "\\udcff"}\n'),
    _stdin("half a surrogate among letters", "raise ValueError\n", '{"input": "a\\udfffb", "output": "\\ud800"}\n'),
    Command(
        "half a surrogate in a test",
        FAMILY,
        (("program.py", "def shout(t):\n    return t\n"), ("tests.py", "assert shout('\\ud800') == '\\ud801!'\n")),
        "--code program.py --tests tests.py --entry shout",
        1,
        says=("0 of 1 passed",),
    ),
    Command(
        "control characters in a test's name and text",
        FAMILY,
        (("program.py", "def shout(t):\n    return t\n"), ("tests.py", "assert shout('\x1b[2J\x07\u202e') == '!'\n")),
        "--code program.py --tests tests.py --entry shout",
        1,
        says=("0 of 1 passed",),
    ),
    Command(
        "an argument whose variations are too large, with a reference",
        FAMILY,
        (("program.py", _LENGTH), ("tests.py", "assert length(list(range(150_000))) == 150_000\n")),
        "--code program.py --reference program.py --tests tests.py --entry length",
        0,
        says=("1 of 1 passed",),
    ),
    _says("the entry point is found", _ADD, _ADDS, "", 0, "2 of 2 passed"),
    _says(
        "the entry point is found among helpers", f"def help(n):\n    return n\n{_ADD}", _ADDS, "", 0, "2 of 2 passed"
    ),
    _says("strict, nothing refused", _ADD, _ADDS, "--entry add --strict", 0, "2 of 2 passed"),
    _says(
        "strict, one test refused",
        _ADD,
        f"{_ADDS}\ndef test_io():\n    assert open('x').read() == add(1, 2)\n",
        "--entry add --strict",
        1,
    ),
    _says(
        "a test that opens a file fails",
        _ADD,
        f"{_ADDS}\ndef test_io():\n    assert open('x').read() == add(1, 2)\n",
        "--entry add",
        1,
        "2 of 3 passed",
    ),
    _says(
        "an import that cannot be had spoils its own test",
        _ADD,
        f"import numpy as np\n{_ADDS}\ndef test_np():\n    assert np.sum([add(1, 2)]) == 3\n",
        "--entry add",
        0,
        "2 of 2 passed",
    ),
    _says(
        "a skipped test",
        _ADD,
        f"import pytest\n{_ADDS}\n@pytest.mark.skip(reason='later')\ndef test_later():\n    assert add(1, 1) == 3\n",
        "--entry add",
        0,
        "2 of 2 passed",
    ),
    _says(
        "a syntax error is told with its line",
        "x = 1\ndef add(a, b:\n",
        _ADDS,
        "--entry add",
        1,
        "SyntaxError",
        "line 2",
    ),
    _says(
        "a failed import is told",
        "import nonesuch_module\n" + _ADD,
        _ADDS,
        "--entry add",
        1,
        "ModuleNotFoundError",
    ),
)


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
