"""Speaking for the judge: forged reports, patched libraries, swapped entry points."""

from selfplay.attacks.attack import ADD, EVENS, HALF, UNIQUE, Wrong

FAMILY = "forgery"

_FRAMES = """
import os, struct
def frame(kind, body): return struct.pack("!I", len(body) + 1) + kind + body
def forge(*frames):
    for fd in range(1, 40):
        try: os.write(fd, b"".join(frames))
        except OSError: pass
"""
_PASSED = "frame(b'V', struct.pack('!dd', 0, 0) + b'[true]')"

ATTACKS = (
    Wrong("verdicts printed, then gone", FAMILY, "import os\nos.write(1, b'[true, true, true]\\n')\nos._exit(0)"),
    Wrong(
        "verdicts printed at exit",
        FAMILY,
        "import atexit\natexit.register(print, '[true, true, true]')\ndef add(a, b): return 0",
    ),
    Wrong(
        "forged reports on every descriptor",
        FAMILY,
        f"{_FRAMES}\nforge(*[{_PASSED}] * 3, b'\\n[true, true, true]\\n')\nos._exit(0)",
    ),
    Wrong(
        "forged reports in the call",
        FAMILY,
        f"{_FRAMES}\ndef add(a, b):\n    forge(*[{_PASSED}] * 3, b'\\n[true, true, true]\\n')\n    os._exit(0)",
    ),
    Wrong(
        "forged failure of the sandbox itself",
        FAMILY,
        f"{_FRAMES}\nforge(frame(b'I', b'broken'), b'\\n[true, true, true]\\n')\nos._exit(71)",
    ),
    Wrong(
        "forged end of the order",
        FAMILY,
        f"{_FRAMES}\nforge(b'E' + struct.pack('!I', 25) + bytes(25), b'\\n[true, true, true]\\n')\nos._exit(3)",
    ),
    Wrong(
        "half a report, then silence",
        FAMILY,
        f"{_FRAMES}\nforge(struct.pack('!I', 9999) + b'V', b'\\n[true, true, true]\\n')\nos._exit(0)",
    ),
    Wrong(
        "a negative and an absurd length",
        FAMILY,
        f"{_FRAMES}\nforge(b'\\xff\\xff\\xff\\xff' + b'V' * 64, b'\\n[true, true, true]\\n')\nos._exit(0)",
    ),
    Wrong(
        "values that are no values",
        FAMILY,
        f"{_FRAMES}\nforge(*[frame(b'V', b'\\x7f' * 16 + b'[[[[' * 20000)] * 3, b'\\n[true, true, true]\\n')\nos._exit(0)",
    ),
    Wrong(
        "json patched",
        FAMILY,
        "import json\njson.dumps = lambda *_, **__: '[true, true, true]'\ndef add(a, b): return 0",
    ),
    Wrong(
        "builtins patched",
        FAMILY,
        "import builtins\nold = builtins.print\nbuiltins.print = lambda *_, **__: old('[true, true, true]')\n"
        "def add(a, b): return 0",
    ),
    Wrong(
        "names of the tests shadowed",
        FAMILY,
        "def sorted(x): return [6, 8]\ndef len(x): return 5\nclass Any(list):\n    __eq__ = lambda *_: True\n"
        "def evens(n): return Any()",
        EVENS,
    ),
    Wrong(
        "every module's comparison patched",
        FAMILY,
        "import gc, sys\nclass Any: __eq__ = lambda *_: True\nsame = lambda *_, **__: True\n"
        "for module in list(sys.modules.values()):\n    for name in ('equal', 'check', 'eq', 'holds'):\n"
        "        if hasattr(module, name): setattr(module, name, same)\ndef add(a, b): return Any()",
    ),
    Wrong(
        "the verdict list filled through the collector",
        FAMILY,
        "import gc\ndef add(a, b):\n    for thing in gc.get_objects():\n        if type(thing) is list and len(thing) < 4"
        " and all(type(x) is bool for x in thing):\n            thing[:] = [True] * 3\n    return 0\n"
        "import atexit, sys\nframe = sys._getframe(1)\nverdicts = frame.f_globals.get('verdicts')\n"
        "class Yes(list):\n    def append(self, value): super().append(True)\n"
        "if verdicts is not None: frame.f_globals['verdicts'] = Yes()",
    ),
    Wrong(
        "the assertion compiled away",
        FAMILY,
        "import builtins\nold = builtins.exec\nbuiltins.exec = lambda code, *rest: None\ndef add(a, b): return 0",
    ),
    Wrong(
        "the entry point swapped after loading",
        FAMILY,
        "def add(a, b):\n    global add\n    class Any: __eq__ = lambda *_: True\n    add = lambda *_: Any()\n"
        "    return add(a, b)",
    ),
    Wrong(
        "AssertionError defused",
        FAMILY,
        "import builtins\nclass Quiet(Exception):\n    def __new__(cls, *a): import os; os.write(1, b'[true]'); os._exit(0)\n"
        "builtins.AssertionError = Quiet\ndef add(a, b):\n    import os\n    os.write(1, b'[true, true, true]')\n"
        "    os._exit(0)",
    ),
    Wrong(
        "pytest patched",
        FAMILY,
        "import sys\nif '_pytest' in sys.modules or 'pytest' in sys.modules:\n    import _pytest.python\n"
        "    _pytest.python.Function.runtest = lambda self: None\ndef add(a, b): return 0",
        weak="pytest",
    ),
    Wrong(
        "unittest patched",
        FAMILY,
        "import unittest\nunittest.TestCase.assertEqual = lambda *_: None\ndef add(a, b): return 0",
        weak="exec",
        weak_tests="import unittest\nclass T(unittest.TestCase):\n    def runTest(self): self.assertEqual(add(2, 3), 5)\n"
        "assert unittest.TextTestRunner(stream=open('/dev/null', 'w')).run(T()).wasSuccessful()",
    ),
    Wrong(
        "state kept between cases",
        FAMILY,
        "class Count:\n    n = 0\n    def __eq__(self, other): Count.n += 1; return Count.n > 0\n"
        "memory = []\ndef add(a, b):\n    memory.append(Count())\n    return memory[0]",
    ),
    Wrong(
        "arguments changed under the tests",
        FAMILY,
        "def evens(numbers):\n    numbers.clear()\n    return numbers",
        EVENS,
        weak_tests="data = [1, 2, 3, 4]\nassert evens(data) == [x for x in data if x % 2 == 0]",
    ),
    Wrong(
        "a generator that never shows its items",
        FAMILY,
        "class Lazy:\n    def __iter__(self): yield from ()\n    def __len__(self): return 5\n"
        "    def __eq__(self, other): return True\ndef sorted(x): return x\ndef evens(n): return Lazy()",
        EVENS,
    ),
    Wrong(
        "an endless generator",
        FAMILY,
        "import itertools\nclass Endless:\n    __iter__ = lambda s: itertools.count()\n    __eq__ = lambda *_: True\n"
        "def add(a, b): return Endless()",
        ADD,
    ),
    Wrong(
        "a range beyond every text of a number",
        FAMILY,
        "def unique(n): return {range(10 ** 5000)}",
        UNIQUE,
        weak="",
        unshown="aims at the judge's own comparison",
    ),
    Wrong(
        "numbers beyond every float",
        FAMILY,
        "def half(n): return 10 ** 5000",
        HALF,
        weak="",
        unshown="aims at the judge's own comparison",
    ),
    Wrong(
        "thousands of sets to compare",
        FAMILY,
        "def unique(n): return {frozenset(range(i, i + 6)) for i in range(20_000)}",
        UNIQUE,
        weak="",
        unshown="aims at the judge's own comparison",
    ),
)
