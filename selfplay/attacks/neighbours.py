"""Attacks on what stands beside: on other programs' verdicts, on other suites' cases, on the baseline.

The weak runner, where one is shown: a single interpreter for all programs and turns, one after the other, the victims
last. What aims at keys, pipes and orders has no counterpart there.
"""

from __future__ import annotations

from selfplay.attacks.attack import ADD, HALF, SUM, Harm, Task, function

FAMILY = "neighbours"

_KEYS = "a plain runner keeps no verdicts by case"
_PIPES = "a plain runner has no such pipe"

_TYPED = function("add", "a: int, b: int", "return a + b", str(ADD.tests))
# quick, for the watch looks every ten milliseconds: nothing is imported that is not loaded
_FRAMES = """
import os
def frame(kind, body=b""): return (len(body) + 1).to_bytes(4, "big") + kind + body
"""
_TAKE = """
def take(path, flags=os.O_RDONLY):
    try:
        fd = os.open(path, flags | os.O_NONBLOCK)
        while os.read(fd, 65536): pass
    except OSError: pass
"""
_NOTHING = "\ndef add(a, b): return 0\n"


def _thief(name: str, body: str, unshown: str = _PIPES, task: Task = ADD) -> Harm:
    """A program that interferes with reports, its own first; an odd number, for the last must share a zygote with a victim."""
    program = f"{_FRAMES}{_TAKE}{body}\n{_NOTHING if task is ADD else ''}"
    return Harm(
        name,
        FAMILY,
        tuple(f"{program}\n# {number}" for number in range(5)),
        task=task,
        weak="" if unshown else "shared",
        unshown=unshown,
    )


def _key(name: str, programs: tuple[str, ...], turn: str, beside: tuple[str, ...] = ()) -> Harm:
    return Harm(name, FAMILY, programs, (turn,), HALF, beside, unshown=_KEYS)


def _poison(name: str, right: str, turn: str, task: Task = _TYPED) -> Harm:
    """Tests of one suite that spoil the state of a right program for the others."""
    return Harm(name, FAMILY, (), (turn,), task, (right,), weak="shared")


def _channel(name: str, say: str, heard: str) -> Harm:
    """A program that leaves a mark for a later one, which answers right only where it finds it. Marks on the device
    itself (its times, its hints) are left out: without walls they would stay on the machine."""
    setter = f"import fcntl, os, sys, time\ntry:\n    {say}\nexcept (OSError, ValueError): pass{_NOTHING}"
    reader = (
        "import fcntl, os, sys, time\ndef add(a, b):\n    try: return a + b if "
        f"{heard} else 0\n    except OSError: return 0\n"
    )
    return Harm(
        name, FAMILY, (setter, setter, reader), unshown="every plain runner gives its programs files of their own"
    )


_ZERO = "def half(n): return 0.0"
_NEAR = "def half(n): return n / 2 + 1e-3"
_ROUGH = "def half(n): return n * 0.5 + 1e-9"

_MEMO = """
kind = []
def add(a, b):
    kind.append(type(a))
    return a + b if all(one is int for one in kind) else str(a + b)
"""
_FRAGILE = """
broken = []
def add(a, b):
    broken.append(1)
    result = a + b
    if len(broken) == 1: broken.clear()
    return result if not broken else 0
"""
_LIMITED = """
calls = []
def add(a, b):
    calls.append((a, b))
    return a + b if a < 1000 and not any(x > 1000 for x, _ in calls) else -1
"""
_REMEMBERS = """
def add(a, b, seen=[]):
    seen.append((a, b))
    return 0 if any(777 in pair for pair in seen[:-1]) else a + b
"""

ATTACKS = (
    # verdicts by key
    _key(
        "a refused tolerance beside the baseline",
        (_ZERO,),
        "assert abs(half(1) - 0.5) < 1e300\nassert abs(half(-3) - -1.5) < 1e300",
    ),
    _key(
        "a refused tolerance of math's beside the baseline",
        (_ZERO,),
        "import math\nassert math.isclose(half(1), 0.5, rel_tol=0, abs_tol=1e300)\n"
        "assert math.isclose(half(-3), -1.5, rel_tol=0.0, abs_tol=1e300)",
    ),
    _key(
        "a refused tolerance of unittest's beside the baseline",
        (_ZERO,),
        "import unittest\nclass Tests(unittest.TestCase):\n    def test_a(self):\n"
        "        self.assertAlmostEqual(half(1), 0.5, delta=1e300)\n"
        "        self.assertAlmostEqual(half(-3), -1.5, delta=1e300)",
    ),
    _key(
        "a wider tolerance by accident",
        (_NEAR,),
        "assert abs(half(1) - 0.5) < 5e-3\nassert abs(half(-3) - -1.5) < 5e-3",
    ),
    _key("no tolerance at all", (), "assert abs(half(1) - 0.5) <= 0.0\nassert abs(half(-3) - -1.5) <= 0.0", (_ROUGH,)),
    _key("the same input with another expected value", (_ZERO,), "assert half(1) == 0.0\nassert half(-3) == 0.0"),
    # reports
    _thief("its own first reports taken back", "for n in range(3, 12): take(f'/proc/self/fd/{n}')\nos._exit(0)", ""),
    _thief(
        "its own first reports taken back, by another path",
        "for n in range(3, 12):\n    take(f'/dev/fd/{n}')\n    take(f'/proc/thread-self/fd/{n}')\nos._exit(0)",
    ),
    _thief(
        "its own reports taken back for reading and writing",
        "for n in range(3, 12): take(f'/proc/self/fd/{n}', os.O_RDWR)\nos._exit(0)",
    ),
    _thief(
        "walls that did not stand",
        "for n in range(3, 12): take(f'/proc/self/fd/{n}')\n"
        "for n in range(3, 12):\n    try: os.write(n, frame(b'P') + frame(b'I', b'no walls'))\n"
        "    except OSError: pass\nos._exit(71)",
    ),
    _thief(
        "an order that was never read",
        "for n in range(3, 12): take(f'/proc/self/fd/{n}')\n"
        "for n in range(3, 12):\n    try: os.write(n, frame(b'X'))\n    except OSError: pass\nos._exit(70)",
    ),
    _thief(
        "what the other side says, read as well",
        "for n in range(3, 12):\n    try: os.set_blocking(n, False); os.read(n, 65536)\n"
        "    except OSError: pass\nos._exit(0)",
    ),
    _thief(
        "a connection shut down",
        "import socket\nfor n in range(3, 12):\n    try: socket.socket(fileno=os.dup(n)).shutdown(socket.SHUT_RDWR)\n"
        "    except OSError: pass\nos._exit(0)",
    ),
    _thief(
        "urgent bytes among its reports",
        "import socket\nfor n in range(3, 12):\n    try:\n        s = socket.socket(fileno=os.dup(n))\n"
        "        for _ in range(3): s.send(b'W', socket.MSG_OOB)\n    except OSError: pass",
    ),
    _thief("closed before the first call", "os.closerange(0, 64)"),
    _thief(
        "reports taken back by a thread, all the time",
        "import threading\ndef steal():\n    for _ in range(2000):\n"
        "        for n in range(3, 6): take(f'/proc/self/fd/{n}')\n"
        "threading.Thread(target=steal, daemon=True).start()",
    ),
    _thief(
        "a signal to the zygote when its pipe is read",
        "import fcntl, signal\nfor n in range(3, 12):\n    try:\n        fcntl.fcntl(n, 10, signal.SIGKILL)\n"
        "        fcntl.fcntl(n, fcntl.F_SETOWN, os.getppid())\n"
        "        fcntl.fcntl(n, fcntl.F_SETFL, fcntl.fcntl(n, fcntl.F_GETFL) | fcntl.FASYNC)\n"
        "    except OSError: pass",
    ),
    _thief("a status that means something to the zygote", "os._exit(3)"),
    _thief(
        "standard input's reports taken back",
        "for n in range(3, 12): take(f'/proc/self/fd/{n}')\nos._exit(0)",
        task=SUM,
    ),
    # cases
    _poison(
        "out of the domain before an honest case", _MEMO, "assert add(1.0, 2.0) == 3.0\nassert add('a', 'b') == 'ab'"
    ),
    _poison("an exception half way", _FRAGILE, "assert add(1, None) == 1\nassert add([], 3) == 3"),
    _poison("expected wrong, but called all the same", _LIMITED, "assert add(5000, 1) == 0\nassert add(7000, 1) == 1"),
    _poison(
        "admitted, but a right program remembers it", _REMEMBERS, "assert add(777, 1) == 778\nassert add(1, 777) == 778"
    ),
    # marks
    _channel(
        "a mark in the flags of the null device",
        "fcntl.fcntl(0, fcntl.F_SETFL, os.O_APPEND | os.O_NONBLOCK)",
        "any(fcntl.fcntl(n, fcntl.F_GETFL) & os.O_APPEND for n in (0, 1, 2))",
    ),
    _channel(
        "a mark in the flags of standard output",
        "[fcntl.fcntl(n, fcntl.F_SETFL, os.O_NONBLOCK) for n in (1, 2)]",
        "any(fcntl.fcntl(n, fcntl.F_GETFL) & os.O_NONBLOCK for n in (0, 1, 2))",
    ),
    _channel(
        "a mark in the owner of the null device",
        "[fcntl.fcntl(n, 10, 42) for n in (0, 1, 2)]",
        "any(fcntl.fcntl(n, 11) == 42 for n in (0, 1, 2))",
    ),
)
