"""Programs that read standard input and print: outputs and exit statuses that only a lenient runner credits.

The lenient runner: a fresh interpreter, right where the expected text occurs in the first 64 KiB of its output,
whatever its exit status."""

from selfplay.attacks.attack import SUM, Wrong

FAMILY = "standard output"


def _wrong(name: str, program: str) -> Wrong:
    return Wrong(name, FAMILY, program, SUM, "lenient")


ATTACKS = (
    _wrong("every answer printed", "print(*range(100), sep='\\n')"),
    _wrong("every answer on one line", "print(*range(100))"),
    _wrong("right, then a failing exit", "import sys\nprint(12, flush=True)\nsys.exit(3)"),
    _wrong("right, then an exception", "print(12, flush=True)\nraise ValueError"),
    _wrong(
        "right, then killed by a signal",
        "import os, signal\nprint(12, flush=True)\nos.kill(os.getpid(), signal.SIGSEGV)",
    ),
    _wrong("right, then more than fits", "print(12)\nfor _ in range(1 << 14): print('x' * 100)"),
    _wrong("blank lines before", "print()\nprint(12)"),
    _wrong("a blank before", "print(' 12')"),
    _wrong("other digits that mean the same", "print('0' + '12')\nprint('12'.translate({49: 0x661, 50: 0x662}))"),
    _wrong("erased by backspaces", "print('99\\b\\b12')"),
    _wrong("overwritten by a carriage return", "print('99\\r12')"),
    _wrong("a null byte after", "print('12\\0')"),
    _wrong("right on standard error as well as wrong", "import sys\nprint('the answer is not 12')"),
    _wrong(
        "a failing exit handler",
        "import atexit\nprint(12, flush=True)\natexit.register(lambda: 1 / 0)\nraise SystemExit(1)",
    ),
    _wrong("a failing exit status as text", "print(12, flush=True)\nraise SystemExit('bad')"),
    _wrong("verdict words", "print('12 PASSED [true] exit 0')"),
    _wrong("right, then hanging", "import time\nprint(12, flush=True)\nwhile True: time.sleep(1)"),
)
