"""Attacks on the host: a few characters that its reading, extraction or comparison never ends with, or only with all
the memory there is; arguments and results that nobody capped.

The weak runner simply runs the turn and must be busy or dead after two seconds. What a plain interpreter refuses, or
does not do at all, is told.
"""

from __future__ import annotations

from selfplay.attacks.attack import ADD, EVENS, SHOUT, UNIQUE, Harm, Task

FAMILY = "host"

_QUICK = "a plain interpreter refuses it too"
_OURS = "a plain runner has no such step"
_FIRST = "a plain interpreter ends with the first of them"
_TAKEN = "a plain interpreter takes it"
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
_EQUAL = "L = list(range(90000))\nM = list(range(90000))\n"
_MANY = "\n".join(
    f"def test_{n}():\n    for a in range(250):\n        assert add(a + {n * 250}, 1) == a + {n * 250} + 1"
    for n in range(100)
)
_LARGE = "\n".join(
    f"def test_{n}():\n    x = [2 ** 63 - 1] * 30_000\n    for a in range(80):\n        assert add(x, a + {n * 80}) == 0"
    for n in range(7)
)
_LESS = "\n".join(_LARGE.splitlines()[:8])
_FRESH = "def test_more():\n    for a in range(250):\n        assert add(a + 10_000, 1) == a + 10_001"

_APART = "\n".join(
    f"def test_{n}():\n    assert add(@, {n}) == 0" for n in range(60)
)  # one refused does not end the others

_MANY_EVENS = "assert all({})\n"

ATTACKS = (
    # reading: a few characters
    _read("round to a thousand million digits before the point", "assert add(round(5, -10**9), 0) == 0"),
    _read("round a result so", "assert round(add(2, 3), -10**9) == 0"),
    _read("tuples shared sixty deep in a set", f"{_SHARED}assert unique([1]) == set([t])", UNIQUE),
    _read("tuples shared sixty deep as a key", f"{_SHARED}assert unique([1]) == dict([(t, 1)])", UNIQUE),
    _read(
        "tuples shared sixty deep, counted",
        f"import collections\n{_SHARED}assert unique([1]) == collections.Counter([t])",
        UNIQUE,
    ),
    _read(
        "tuples shared sixty deep, compared",
        f"{_SHARED}u = ()\nfor _ in range(60):\n    u = (u, u)\nassert add(t == u, 0) == 1",
    ),
    _read("equal lists counted", f"{_EQUAL}assert add(([L] * 100000).count(M), 0) == 1"),
    _read("equal lists looked for", f"{_EQUAL}assert add(([M[1:]] * 100000).index(M[1:-1] + [0]), 0) == 1"),
    _read(
        "a codec that is quadratic",
        "s = ''.join(chr(n) for n in range(200, 50000))\nassert shout(str(s.encode('punycode'))) == ''",
        SHOUT,
    ),
    _read(
        "pow with a modulus",
        "x = 0\nfor n in range(9000):\n    x = pow(3 ** 6000, 7 ** 3500, 11 ** 2800 + n)\nassert add(x, 0) == 0",
    ),
    _read(
        "a sum of empty lists onto a large one", "big = [0] * 100000\nassert evens(sum([[]] * 10**5, big)) == []", EVENS
    ),
    _read(
        "sums of lists that share their parts",
        "L = [[0] * 300] * 300\nfor _ in range(3000):\n    x = sum(L, [])\nassert evens(x) == []",
        EVENS,
    ),
    _read("least common multiples", "import math\n" + _APART.replace("@", "math.lcm(*range(1, 90000))")),
    _read(
        "binomial coefficients",
        "import math\nassert add(sum(math.comb(5000, 2500 - n % 9) for n in range(60000)), 0) == 0",
    ),
    _read("slices in a loop", "x = [0] * 99999\nfor i in range(60000):\n    y = x[1:]\nassert evens(y) == []", EVENS),
    _read("repetitions in a loop", "for i in range(60000):\n    y = [0] * 99999\nassert evens(y) == []", EVENS),
    _read(
        "a text formatted many times over", "s = 'a' * 33000\nassert shout(('{a}' * 33000).format(a=s)) == ''", SHOUT
    ),
    _read(
        "a text formatted with percent signs",
        "s = 'a' * 33000\nassert shout(('%(a)s' * 19000) % {'a': s}) == ''",
        SHOUT,
    ),
    _read("a text joined by itself", "s = 'a' * 33000\nassert shout(s.join(s)) == ''", SHOUT),
    _read("tabs of a thousand million", "assert shout('\\t'.expandtabs(10**9)) == ''", SHOUT),
    _read("an integer as a thousand million bytes", "assert shout(str((5).to_bytes(10**9, 'big'))) == ''", SHOUT),
    _read("a huge width", "assert shout('a'.ljust(10**10)) == ''", SHOUT, _QUICK),
    _read(
        "accumulated texts",
        "import itertools\nassert add(len(list(itertools.accumulate(['a' * 1000] * 90000))), 0) == 0",
    ),
    _read(
        "products with a repeat",
        "import itertools\nassert add(len(list(itertools.product([0, 1], repeat=10**7))), 0) == 0",
    ),
    _read(
        "combinations", "import itertools\nassert add(len(list(itertools.combinations(range(90000), 45000))), 0) == 0"
    ),
    _read(
        "permutations of many", "import itertools\nassert add(len(list(itertools.permutations([0] * 90000))), 0) == 0"
    ),
    _read("a range looked for in vain", "assert add(0.5 in range(10**12), 0) == 1"),
    # variations of arguments, made for admission
    _read(
        "an argument whose variations are too large",
        "assert evens([n for n in range(10**5)])[-1] == 99998\nassert evens(list(range(199_990)))[-1] == 199_988",
        EVENS,
        unshown=_TAKEN,
    ),
    _read(
        "large arguments by the dozen, varied",
        "def test_a():\n    for n in range(40):\n        assert shout('a' * 100_000 + str(n))[-2] == str(n)[-1]",
        SHOUT,
        unshown=_TAKEN,
    ),
    # conditions: what is done to a result
    _read(
        "arithmetic on a result",
        "\n".join(
            f"assert {term} == 1"
            for term in (
                "add(2, 3) ** 10**9",
                "add(2, 3) << 10**11",
                "pow(add(2, 3), 10**9)",
                "7 ** (7 ** add(2, 3) ** 4)",
                "sum(range(add(10**12, 0)))",
                "len(str(2 ** add(10**8, 0)))",
                "round(add(2, 3) ** 2, -10**9)",
            )
        ),
    ),
    _read(
        "sequences made from a result",
        "\n".join(
            f"assert {term} == 1"
            for term in (
                "[0] * add(10**10, 0)",
                "list(range(add(10**12, 0)))",
                "'ab' * add(10**11, 0)",
                "bytes(add(10**11, 0))",
                "sorted([3, 1] * add(10**9, 0))",
                "f'{add(2, 3):>10000000000}'",
                "str(add(2, 3)).ljust(10**11)",
                "str(add(2, 3)).zfill(10**11)",
                "str(add(2, 3)).replace('', 'a' * 10**6)",
                "'a'.join('a' * add(10**10, 0))",
            )
        ),
        unshown=_FIRST,
    ),
    _read(
        "loops over results",
        _MANY_EVENS.format("x or y or z for x in @ for y in @ for z in @").replace("@", "evens(list(range(3000)))")
        + _MANY_EVENS.format("all(y != x + 1 for y in @) for x in @").replace("@", "evens(list(range(4000)))")
        + _MANY_EVENS.format("@.count(x) for x in @").replace("@", "evens(list(range(9000)))"),
        EVENS,
        unshown=_FIRST,
    ),
    _read(
        "copies in a comprehension, again and again",
        "\n".join(
            f"def test_{n}():\n    assert evens([x[{cut}] for x in [[0] * 100000] * 1000]) == []"
            for n, cut in enumerate(("1:", "::2", ":", "::-1", "-99999:", ":-1"))
        ),
        EVENS,
        unshown=_FIRST,
    ),
    # extraction
    _extract("a thousand decorators of nothing", "@a\n" * 1000),
    _extract("decorators between blank lines", "@a(b)\n\n" * 1000),
    _extract("a thousand lines to be continued", "a + \\\n" * 1000),
    _extract("decorators of nothing, fenced", ("```python\n" + "@a\n" * 300 + "```\n") * 12),
    _extract("a thousand fences", "```python\n@a\n" * 1000),
    _extract("strings that are never closed", "x = '''\ny = \"\"\"\n" * 700),
    _extract("brackets on one line", "x = " + "(" * 60_000),
    # comparison
    _answer(
        "deep lists sorted",
        "def evens(n):\n    def deep(i):\n        d = [i]\n        for _ in range(90): d = [d]\n"
        "        return d\n    return [deep(i) for i in range(1500, 0, -1)]",
        "assert sorted(evens([1, 2])) == [2]\nassert max(evens([2, 2])) == 2\nassert min(evens([4, 2])) == 2",
        EVENS,
    ),
    _answer(
        "long lists alike but for the last item, sorted",
        "def evens(n):\n    return [[0] * 300 + [i] for i in range(500, 0, -1)]",
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
        "ranges and integers without end",
        "def evens(n):\n    return range(10**12) if n else 1 << 3_000_000",
        "assert sorted(evens([1, 2])) == [2]\nassert sum(evens([2])) == 2\nassert str(evens([])) == '[]'\n"
        "assert round(evens([]), 2) == 4",
        EVENS,
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
        unshown=_TAKEN,
    ),
    Harm(
        "large arguments where time is short",
        FAMILY,
        (),
        (_LESS,),
        drains=True,
        cpu_seconds=0.5,
        unshown=_TAKEN,
    ),
)
