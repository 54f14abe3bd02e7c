"""Tests that want the judge busy: a few characters that are billions of steps or items to whoever runs them."""

from selfplay.attacks.attack import ADD, EVENS, SHOUT, UNIQUE, Cheat, Task
from selfplay.judging.turns import MAX_CASES

FAMILY = "floods"


def _flood(name: str, tests: str, task: Task = ADD, unshown: str = "", admits: int = 0) -> Cheat:
    return Cheat(name, FAMILY, tests, task, hangs=True, unshown=unshown, admits=admits)


_QUICK = "a plain interpreter refuses it too"

ATTACKS = (
    _flood("an endless loop", "while True:\n    pass\nassert add(2, 3) == 5", admits=1),  # the loop is left out
    _flood(
        "nested loops",
        "for a in range(100000):\n    for b in range(100000):\n        assert add(a, b) == a + b",
        admits=MAX_CASES,
    ),
    _flood("a nested comprehension", "assert add(sum(1 for a in range(10**6) for b in range(10**6)), 3) == 5"),
    _flood("a huge range as a list", "assert evens(list(range(10**10))) == []", EVENS, _QUICK),
    _flood("a huge sum", "assert add(sum(range(10**12)), 0) == 0"),
    _flood("a huge text", "assert shout('a' * 10**11) == ''", SHOUT, _QUICK),
    _flood("a huge power", "assert add(7 ** 7 ** 9, 0) == 0"),
    _flood("a huge shift", "assert add(1 << (1 << 40), 0) == 0", unshown=_QUICK),
    _flood("a power modulo a huge number", "assert add(pow(3, 10**400000, 10**4000 + 7), 0) == 0"),
    _flood("a huge factorial", "import math\nassert add(math.factorial(10**7), 0) == 0"),
    _flood("a huge format", "assert shout(f'{1:>10000000000}') == ''", SHOUT, _QUICK),
    _flood(
        "a text replaced by itself",
        "x = 'ab' * 50000\nassert shout(x.replace('a', x).replace('b', x)) == ''",
        SHOUT,
        _QUICK,
    ),
    _flood("doubling", "x = [1]\nfor _ in range(60):\n    x = x + x\nassert evens(x) == []", EVENS, _QUICK),
    _flood(
        "lists that share their parts",
        "x, y = [0], [0]\nfor _ in range(30):\n    x, y = [x, x], [y, y]\nassert add([x], []) == [y]",
    ),
    _flood("a set of equal hashes", "assert unique([1]) == {n * (2**61 - 1) for n in range(60000)}", UNIQUE),
    _flood("a dictionary of equal hashes", "assert unique([1]) == {n * (2**61 - 1): n for n in range(60000)}", UNIQUE),
    _flood(
        "a set of equal hashes grown in a loop",
        "x = set()\nfor n in range(60000):\n    x.add(n * (2**61 - 1))\nassert unique([1]) == x",
        UNIQUE,
    ),
    _flood("tuples of equal hashes", "assert unique([1]) == {(n * (2**61 - 1), 0) for n in range(60000)}", UNIQUE),
    _flood(
        "a regular expression that backtracks",
        "import re\nassert add(2, 3) == len(re.findall('(a+)+$', 'a' * 40 + 'b'))",
    ),
    _flood("all permutations", "import itertools\nassert add(len(list(itertools.permutations(range(11)))), 0) == 0"),
    _flood(
        "a recursive helper",
        "def grow(n):\n    return 1 if n < 2 else grow(n - 1) + grow(n - 2)\nassert add(grow(60), 0) == 0",
    ),
    _flood("a quadratic sum of lists", "assert evens(sum([[2]] * 90000, [])) == []", EVENS),
    _flood("a sort of long texts", "assert shout(''.join(sorted('ab' * 10**8))) == ''", SHOUT),
    _flood("an integer of many digits", "assert add(int('9' * 4000) ** 40000, 0) == 0"),
    _flood("a division of huge integers", "assert add(3 ** 9000000 // 7 ** 3000000, 0) == 0"),
    _flood("brackets a thousand deep", "assert add(" + "[" * 3000 + "]" * 3000 + ", 0) == 0", unshown=_QUICK),
    _flood("a sum of ten thousand terms", "assert add(" + "+".join(["1"] * 20000) + ", 0) == 20000", unshown=_QUICK),
    _flood(
        "text of a megabyte",
        "x = '" + "a" * (1 << 20) + "'\nassert shout(x) == ''",
        SHOUT,
        "a plain interpreter takes it",
    ),
    _flood(
        "ten thousand assertions", "assert add(2, 3) == 5\n" * 10_000, unshown="a plain interpreter takes it", admits=1
    ),
    _flood(
        "ten thousand functions",
        "\n".join(f"def test_{n}():\n    assert add({n}, 1) == {n + 1}" for n in range(10_000)),
        unshown="a plain interpreter takes it",
        admits=10_000,
    ),
)
