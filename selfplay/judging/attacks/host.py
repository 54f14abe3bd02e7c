"""Attacks on the host: a few characters that its reading, extraction or comparison never ends with, or only with all
the memory there is; arguments and results that nobody capped.

The weak runner simply runs the turn and must be busy or dead after two seconds. What a plain interpreter refuses, or
does not do at all, is told.
"""

from __future__ import annotations

from selfplay.judging.attacks.attack import ADD, EVENS, SHOUT, UNIQUE, Harm, Task

FAMILY = "host"

_QUICK = "a plain interpreter refuses it too"
_OURS = "a plain runner has no such step"
_QUIET = 0.1  # CPU seconds a case where programs are slow on purpose


def _read(name: str, turn: str, task: Task = ADD, unshown: str = "") -> Harm:
    """A turn that wants its reader busy."""
    return Harm(name, FAMILY, (), (turn,), task, drains=True, weak="script", unshown=unshown)


def _extract(name: str, text: str) -> Harm:
    """A text that wants its parser busy, as a program and as tests."""
    return Harm(name, FAMILY, (text,), (text,), drains=True, unshown=_OURS)


def _answer(
    name: str, program: str, turn: str = "", task: Task = ADD, cpu_seconds: float = 1.0, times: int = 1
) -> Harm:
    """Programs, not quite the same, whose answers or slowness are the attack."""
    programs = tuple(f"{program}\n# {number}" for number in range(times))
    return Harm(
        name, FAMILY, programs, (turn,) if turn else (), task, drains=True, cpu_seconds=cpu_seconds, unshown=_OURS
    )


_SHARED = "t = ()\nfor _ in range(60):\n    t = (t, t)\n"
_MANY = "\n".join(
    f"def test_{n}():\n    for a in range(250):\n        assert add(a + {n * 250}, 1) == a + {n * 250} + 1"
    for n in range(100)
)
_LARGE = "\n".join(
    f"def test_{n}():\n    x = 'a' * 600_000\n    for a in range(80):\n        assert add(x, a + {n * 80}) == 0"
    for n in range(7)
)
_FRESH = "def test_more():\n    for a in range(250):\n        assert add(a + 10_000, 1) == a + 10_001"

ATTACKS = (
    # reading
    _read("round to a thousand million digits before the point", "assert add(round(5, -10**9), 0) == 0"),
    _read("round a result so", "assert round(add(2, 3), -10**9) == 0"),
    _read("tuples shared sixty deep in a set", f"{_SHARED}assert unique([1]) == {{t}}", UNIQUE),
    _read("tuples shared sixty deep as a key", f"{_SHARED}assert unique([1]) == {{t: 1}}", UNIQUE),
    _read(
        "tuples shared sixty deep, compared",
        f"{_SHARED}u = ()\nfor _ in range(60):\n    u = (u, u)\nassert add(t == u, 0) == 1",
    ),
    _read("tuples shared sixty deep, printed", f"{_SHARED}assert shout(str(t)) == ''", SHOUT),
    _read("equal lists counted", "L = [0] * 9000\nM = [0] * 9000\nassert add(([L] * 100000).count(M), 0) == 1"),
    _read(
        "equal lists looked for",
        "L = [0] * 9000 + [1]\nM = [0] * 9000 + [2]\nassert add(([L] * 100000 + [M]).index(M), 0) == 1",
    ),
    _read("equal lists, in", "L = [0] * 9000 + [1]\nM = [0] * 9000 + [2]\nassert add(M in [L] * 100000, 0) == 1"),
    _read(
        "a codec that is quadratic", "assert shout(str(('ab' * 40000 + 'ä' * 40000).encode('punycode'))) == ''", SHOUT
    ),
    _read(
        "another codec that is quadratic",
        "assert shout(str(('é' * 60000).encode('idna'))) == ''",
        SHOUT,
        "a plain interpreter refuses long labels",
    ),
    _read("pow with a modulus", "assert add(pow(3, 7 ** 30000, 11 ** 20000), 0) == 0"),
    _read("an inverse", "assert add(pow(3 ** 300000, -1, 7 ** 300000), 0) == 0"),
    _read(
        "a sum of empty lists onto a large one", "big = [0] * 100000\nassert evens(sum([[]] * 10**5, big)) == []", EVENS
    ),
    _read(
        "least common multiples",
        "import math\nx = 1\nfor n in range(1, 200000):\n    x = math.lcm(x, n)\nassert add(x, 0) == 0",
    ),
    _read("one least common multiple", "import math\nassert add(math.lcm(*range(1, 200000)), 0) == 0"),
    _read("binomial coefficients", "import math\nassert add(math.comb(10**7, 5 * 10**6), 0) == 0"),
    _read("permutations counted", "import math\nassert add(math.perm(10**6), 0) == 0"),
    _read(
        "slices in a loop", "x = 'a' * 10**6\nn = 0\nfor i in range(90000):\n    n += len(x[1:])\nassert add(n, 0) == 0"
    ),
    _read(
        "a text formatted many times over", "s = 'a' * 33000\nassert shout(('{a}' * 33000).format(a=s)) == ''", SHOUT
    ),
    _read(
        "a text formatted with percent signs",
        "s = 'a' * 33000\nassert shout(('%(a)s' * 33000) % {'a': s}) == ''",
        SHOUT,
    ),
    _read("a text joined by itself", "s = 'a' * 33000\nassert shout(s.join(s)) == ''", SHOUT),
    _read("a width of a thousand million", "assert shout('a'.ljust(10**10)) == ''", SHOUT, _QUICK),
    _read(
        "accumulated texts",
        "import itertools\nassert add(len(list(itertools.accumulate(['a' * 1000] * 90000))), 0) == 0",
    ),
    _read(
        "products with a repeat", "import itertools\nassert add(len(list(itertools.product('ab', repeat=40))), 0) == 0"
    ),
    _read(
        "products of wide ranges",
        "import itertools\nassert add(len(list(itertools.product(range(10**4), range(10**4)))), 0) == 0",
    ),
    _read("combinations", "import itertools\nassert add(len(list(itertools.combinations(range(60), 30))), 0) == 0"),
    _read("a square root of a huge integer", "import math\nassert add(math.isqrt(10 ** 4_000_000), 0) == 0"),
    _read(
        "a huge integer printed",
        "import sys\nsys.set_int_max_str_digits(0)\nassert shout(str(7 ** 3_000_000)) == ''",
        SHOUT,
    ),
    _read(
        "a text looked for in a text like it",
        "s = 'a' * 500000\nassert add((s + 'b' + s).count(s[:250000] + 'c' + s[:250000]), 0) == 0",
        unshown="linear in this interpreter",
    ),
    _read("a range counted through", "assert add(range(10**12).count(0.5), 0) == 1"),
    _read("a range looked for in vain", "assert add(0.5 in range(10**12), 0) == 1"),
    _read(
        "a fraction of many digits",
        "from fractions import Fraction\nx = Fraction(1, 3)\nfor _ in range(40):\n    x = x * x + 1\n"
        "assert add(x, 0) == 0",
    ),
    _read(
        "a decimal of many digits",
        "from decimal import Decimal, getcontext\ngetcontext().prec = 10**7\nassert add(Decimal(2).sqrt(), 0) == 0",
    ),
    _read("sorted by a key that grows", "assert add(len(sorted(range(20000), key=lambda n: 'a' * 20000)), 0) == 0"),
    # extraction
    _extract("a thousand decorators of nothing", "@a\n" * 1000),
    _extract("a thousand openings", "if x:\n" * 1000),
    _extract("a thousand half definitions", "def f(\n" * 1000),
    _extract("brackets that are never closed", "x = [\n" * 2000),
    _extract("a thousand fences", "```python\n@a\n" * 1000),
    _extract("a thousand fences, all closed", "```python\n@a\n```\n" * 1000),
    _extract("strings that are never closed", "x = '''\ny = \"\"\"\n" * 700),
    _extract("a thousand thoughts", "<think>" * 1000 + "</think>" * 20_000),
    _extract("brackets on one line", "x = " + "(" * 60_000),
    # comparison
    _answer(
        "deep lists sorted",
        "def evens(n):\n    d = []\n    for _ in range(96): d = [d]\n    return [d] * 1500",
        "",
        EVENS,
    ),
    _answer(
        "deep lists sorted, all different at the bottom",
        "def evens(n):\n    def deep(i):\n        d = [i]\n        for _ in range(90): d = [d]\n"
        "        return d\n    return [deep(i) for i in range(1500, 0, -1)]",
        "assert sorted(evens([1, 2])) == [2]\nassert max(evens([2, 2])) == 2\nassert min(evens([4, 2])) == 2",
        EVENS,
    ),
    _answer(
        "sets of sets",
        "def unique(n):\n    s = frozenset()\n    for _ in range(60): s = frozenset([s, n[0]])\n"
        "    return {frozenset([s, i]) for i in range(4000)}",
        "assert unique([1, 1]) == {1}\nassert sorted(unique([2, 2])) == [2]",
        UNIQUE,
    ),
    _answer(
        "a dictionary of deep keys",
        "def unique(n):\n    t = ()\n    for _ in range(90): t = (t,)\n    return {(t, i): i for i in range(3000)}",
        "assert unique([1, 1]) == {1}\nassert sorted(unique([2, 2])) == [2]",
        UNIQUE,
    ),
    _answer(
        "a range of a million million",
        "def evens(n):\n    return range(10**12)",
        "assert sorted(evens([1, 2])) == [2]\nassert sum(evens([2])) == 2",
        EVENS,
    ),
    _answer(
        "an integer of a million digits",
        "def add(a, b):\n    return 1 << 3_000_000",
        "assert str(add(1, 2)) == '3'\nassert round(add(1, 3), 2) == 4\nassert float(add(2, 2)) == 4.0",
    ),
    # numbers of cases, time and memory
    _answer(
        "slow in every case of twenty-five thousand",
        "import time\ndef add(a, b):\n    time.sleep(60)",
        _MANY,
        cpu_seconds=_QUIET,
    ),
    _answer(
        "spinning in every case of twenty-five thousand",
        "def add(a, b):\n    while True: pass",
        _MANY,
        cpu_seconds=_QUIET,
    ),
    _answer(
        "dying in every case of twenty-five thousand",
        "import os\ndef add(a, b):\n    os._exit(1)",
        _MANY,
        cpu_seconds=_QUIET,
    ),
    _answer("answers of a mebibyte", "def add(a, b):\n    return 'x' * 1_000_000", _FRESH, times=4),
    _answer("answers of a hundred kilobytes of objects", "def add(a, b):\n    return [0] * 300_000", _FRESH, times=4),
    _answer(
        "exceptions with long names",
        "E = type('E' * 1_000_000, (Exception,), {})\ndef add(a, b):\n    raise E('x' * 1_000_000)",
        _FRESH,
        times=4,
    ),
    Harm(
        "large arguments in cases that are refused",
        FAMILY,
        (),
        (_LARGE,),
        drains=True,
        unshown="a plain interpreter takes it",
    ),
    Harm(
        "large arguments where time is short",
        FAMILY,
        (),
        ("\n".join(_LARGE.splitlines()[:8]),),
        drains=True,
        cpu_seconds=0.5,
        unshown="a plain interpreter takes it",
    ),
)
