"""Controls: honest work that a judge must get right, so that failing everything is no pass."""

from __future__ import annotations

from selfplay.attacks.attack import ADD, EVENS, HALF, ROOT, SHOUT, SUM, TALLY, UNIQUE, Control, Task
from selfplay.game.problems import Problem, StdinTest

FAMILY = "controls"


def _works(name: str, body: str) -> Control:
    """An honest function that gets to 1275 in its own way."""
    program = "def f():\n" + "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    task = Task(Problem("f", "", "f", "def f():", (), "def f(): return 1275"), "assert f() == 1275")
    return Control(name, FAMILY, program, task)


def _program(name: str, program: str, task: Task = ADD, verdicts: tuple[str, ...] | None = None) -> Control:
    return Control(name, FAMILY, program, task, verdicts)


def _tests(name: str, tests: str, admits: int, task: Task = ADD) -> Control:
    """Tests that rightly count, run on the reference itself."""
    program = task.problem.reference_solution or ""
    return Control(name, FAMILY, program, Task(task.problem, tests), admits=admits)


_ECHO = Task(
    Problem(
        "echo", "", "", "", (StdinTest(" d\n", " d\n"),), "import sys\nprint(sys.stdin.read(), end='')", kind="stdio"
    ),
    StdinTest("a b\n c\n", "a b\n c\n"),
)

ATTACKS = (
    _program("the right program", "def add(a, b): return a + b"),
    _program("a wrong program", "def add(a, b): return a - b", verdicts=("failed",) * 3),
    _program(
        "a program that is wrong once",
        "def add(a, b): return a + b if a > 0 else 0",
        verdicts=("passed", "failed", "passed"),
    ),
    _program(
        "a program that crashes once",
        "def add(a, b): return 1 // 0 if a == 2 else a + b",
        verdicts=("error", "passed", "passed"),
    ),
    _program(
        "a program that hangs once",
        "def add(a, b):\n    while a == 2: pass\n    return a + b",
        verdicts=("timeout", "passed", "passed"),
    ),
    _program(
        "a program that dies once",
        "import os\ndef add(a, b):\n    if a == -7: os.abort()\n    return a + b",
        verdicts=("passed", "error", "passed"),
    ),
    _program("a program that is no Python", "def add(a, b: return", verdicts=("not_collected",) * 3),
    _program("a program without the function", "def plus(a, b): return a + b", verdicts=("not_collected",) * 3),
    _program("printing", "def add(a, b):\n    print('adding', a, b, flush=True)\n    return a + b"),
    _program(
        "printing to standard error", "import sys\ndef add(a, b):\n    print(a, file=sys.stderr)\n    return a + b"
    ),
    _program("a float that equals the integer", "def add(a, b): return float(a + b)"),
    _program("an integer subclass that is honest", "class Int(int): pass\ndef add(a, b): return Int(a + b)"),
    _program(
        "an enumeration member",
        "import enum\nclass N(enum.IntEnum):\n    X = 5\ndef add(a, b): return N.X if (a, b) == (2, 3) else a + b",
    ),
    _program("a decorator", "import functools\n@functools.lru_cache\ndef add(a, b): return a + b"),
    _program("a class with __call__", "class Add:\n    def __call__(self, a, b): return a + b\nadd = Add()"),
    _program("a wrong answer in a right type", "def evens(n): return n", EVENS, ("failed", "failed", "failed")),
    _program(
        "a tuple is no list",
        "def evens(n): return tuple(x for x in n if x % 2 == 0)",
        EVENS,
        ("failed", "passed", "passed"),
    ),
    _program("a generator consumed", "def evens(n): return list(x for x in n if not x & 1)", EVENS),
    _program(
        "arguments sorted in place",
        "def evens(n):\n    n.sort(key=lambda x: 0)\n    return [x for x in n if x % 2 == 0]",
        EVENS,
    ),
    _program("a Counter", "from collections import Counter\ndef tally(t): return Counter(t)", TALLY),
    _program(
        "a defaultdict",
        "from collections import defaultdict\ndef tally(t):\n    d = defaultdict(int)\n"
        "    for c in t: d[c] += 1\n    return d",
        TALLY,
    ),
    _program(
        "an OrderedDict in another order",
        "from collections import OrderedDict\ndef tally(t): return OrderedDict((c, t.count(c)) for c in sorted(t))",
        TALLY,
    ),
    _program("a frozenset equals a set", "def unique(n): return frozenset(n)", UNIQUE),
    _program("a sum of fractions", "from fractions import Fraction\ndef half(n): return float(Fraction(n, 2))", HALF),
    _program("decimals", "from decimal import Decimal\ndef half(n): return float(Decimal(n) / 2)", HALF),
    _program(
        "text with letters of its own",
        "import string, re\ndef shout(t): return re.sub('[a-z]', lambda m: m[0].upper(), t) + '!'",
        SHOUT,
    ),
    _program("a subclass of the demanded exception", "class Bad(ValueError): pass\ndef root(n): raise Bad('no')", ROOT),
    _program("another exception than demanded", "def root(n): raise TypeError('no')", ROOT, ("failed",)),
    _program("a program that reads and prints", "a, *rest = map(int, input().split())\nprint(a + sum(rest))", SUM),
    _program("all of standard input at once", "import sys\nprint(sum(map(int, sys.stdin.read().split())))", SUM),
    _program(
        "standard input by its descriptor",
        "import os\nprint(sum(map(int, os.read(0, os.fstat(0).st_size).split())))",
        SUM,
    ),
    _program(
        "output without a final newline", "import sys\nsys.stdout.write(str(sum(map(int, input().split()))))", SUM
    ),
    _program(
        "output through its buffer",
        "import sys\nsys.stdout.buffer.write(b'%d\\n' % sum(map(int, input().split())))",
        SUM,
    ),
    _program("blanks at the end", "print(sum(map(int, input().split())), ' ')\nprint()", SUM),
    _program("sys.exit(0) at the end", "import sys\nprint(sum(map(int, input().split())))\nsys.exit(0)", SUM),
    _program(
        "a main guard", "def main(): print(sum(map(int, input().split())))\nif __name__ == '__main__': main()", SUM
    ),
    _program("lines kept as they are", "import sys\nfor line in sys.stdin: print(line, end='')", _ECHO),
    _program("output that is wrong", "print(13)", SUM, ("failed",)),
    _works(
        "threads",
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(8) as pool: return sum(pool.map(abs, range(-50, 0)))",
    ),
    _works(
        "locks and queues",
        "import queue, threading\nq = queue.Queue()\nt = threading.Thread(target=q.put, args=(1275,))\n"
        "t.start(); t.join()\nreturn q.get()",
    ),
    _works(
        "asyncio",
        "import asyncio\nasync def g():\n    await asyncio.sleep(0.001)\n"
        "    return sum(await asyncio.gather(*(asyncio.sleep(0, n) for n in range(51))))\nreturn asyncio.run(g())",
    ),
    _works(
        "dataclasses",
        "from dataclasses import dataclass, astuple\n@dataclass(order=True)\nclass P:\n    x: int\n    y: int\n"
        "return max(P(1, 2), P(1275, 0)).x",
    ),
    _works(
        "recursion",
        "import sys\nsys.setrecursionlimit(20_000)\ndef down(n): return 0 if n == 0 else n + down(n - 1)\n"
        "return down(9_000) - 40_503_225",
    ),
    _works("big integers", "return (3 ** 5000 - 3 ** 5000 + 1275) * 10 ** 400 // 10 ** 400"),
    _works("a named tuple", "from collections import namedtuple\nreturn namedtuple('P', 'x y')(1275, 0).x"),
    _works(
        "seeded randomness",
        "import random\nrandom.seed(7)\na = random.random()\nrandom.seed(7)\n"
        "return 1275 if a == random.random() else 0",
    ),
    _works(
        "time",
        "import time, datetime\ntime.sleep(0.001)\n"
        "return 1275 if datetime.datetime.now().year > 2000 and time.perf_counter() else 0",
    ),
    _works("regular expressions", "import re\nreturn int(re.search(r'(\\d+)', 'a1275b')[1])"),
    _works(
        "itertools, heapq, bisect",
        "import bisect, heapq, itertools\nh = list(range(51))\nheapq.heapify(h)\n"
        "return sum(itertools.islice(h, bisect.bisect([1, 2], 9) + 49))",
    ),
    _works(
        "hashes and compression",
        "import hashlib, zlib, bz2, lzma\n"
        "assert zlib.decompress(zlib.compress(b'x')) == bz2.decompress(bz2.compress(b'x')) == "
        "lzma.decompress(lzma.compress(b'x'))\n"
        "return 1275 if hashlib.sha256(b'').hexdigest().startswith('e3b0') else 0",
    ),
    _works(
        "a database in memory",
        "import sqlite3\nd = sqlite3.connect(':memory:')\nd.execute('create table t (n)')\n"
        "d.executemany('insert into t values (?)', [(n,) for n in range(51)])\n"
        "return d.execute('select sum(n) from t').fetchone()[0]",
    ),
    _works(
        "text files in memory", "import csv, io, json\nreturn sum(map(int, next(csv.reader(io.StringIO('1000,275')))))"
    ),
    _works(
        "numbers of the standard library",
        "import statistics, math, fractions, cmath\n"
        "return int(statistics.mean([1274, 1276])) + int(math.comb(3, 3) - 1)",
    ),
    _works(
        "time zones",
        "import zoneinfo, datetime\n"
        "return 1275 if datetime.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo('Europe/Berlin')).utcoffset() else 0",
    ),
    _works(
        "type hints and protocols",
        "import typing, abc\nclass A(typing.Protocol):\n    x: int\nclass B(abc.ABC): pass\nreturn 1275",
    ),
    _works(
        "its own alarm",
        "import signal\ndef ring(*_): raise InterruptedError\nsignal.signal(signal.SIGALRM, ring)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.01)\ntry: signal.pause()\nexcept InterruptedError: return 1275",
    ),
    _works("the null device", "open('/dev/null', 'w').write('x')\nreturn 1275"),
    _works("a hundred megabytes of memory", "return len(bytearray(100 << 20)) // (100 << 20) * 1275"),
    _works(
        "thirty descriptors",
        "import os\nheld = [os.dup(0) for _ in range(30)]\n[os.close(fd) for fd in held]\nreturn 1275",
    ),
    _works("exec and eval of its own", "scope = {}\nexec('x = 1275', scope)\nreturn eval('x', scope)"),
    _tests("plain tests", "assert add(1, 2) == 3\nassert add(5, 6) == 11", 2),
    _tests(
        "pytest functions",
        "def test_a():\n    assert add(1, 2) == 3\n\ndef test_b():\n    x = 4\n    assert add(x, x) == 2 * x",
        2,
    ),
    _tests(
        "parametrised tests",
        "import pytest\n@pytest.mark.parametrize('a, b', [(1, 2), (3, 4)])\ndef test_a(a, b):\n"
        "    assert add(a, b) == a + b",
        2,
    ),
    _tests(
        "test classes",
        "import unittest\nclass TestAdd(unittest.TestCase):\n    def test_a(self):\n"
        "        self.assertEqual(add(1, 2), 3)",
        1,
    ),
    _tests("a bare list of pairs", "[((1, 2), 3), ((5, 6), 11)]", 2),
    _tests("a stress test", "assert evens(list(range(10000))) == list(range(0, 10000, 2))", 1, EVENS),
    _tests(
        "a demanded exception",
        "import pytest\ndef test_root():\n    with pytest.raises(ValueError):\n        root(-4)",
        1,
        ROOT,
    ),
    _tests("a bounded tolerance", "import math\nassert math.isclose(half(3), 1.5, rel_tol=1e-9)", 1, HALF),
    _tests("a wrong expected value is refused", "assert add(2, 3) == 6\nassert add(2, 3) == 5", 1),
    _tests("a contradiction is settled", "assert add(2, 2) == 4\nassert add(2, 2) == 5", 1),
    _tests(
        "an unreadable test does not spoil the others",
        "import numpy\n\ndef test_a():\n    assert add(1, 2) == 3\n\ndef test_b():\n    assert add(*open('x')) == 3",
        1,
    ),
)
