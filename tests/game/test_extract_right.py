"""Right programs come out of a turn able to run, and equal in meaning."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from contextlib import redirect_stdout

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfplay.game.extract import extract_code
from selfplay.game.problems import Problem

F = Problem("f", "", "f", "def f(n):", ())
SUM = Problem("sum", "Add the numbers.", "", "", (), kind="stdio")


def fenced(*codes: str) -> str:
    return "\n\nThen:\n\n".join(f"```python\n{code}\n```" for code in codes)


def loaded(turn: str) -> Callable[..., object]:
    """The function of a turn's program, which gets no input and whose printing nobody sees."""
    source = extract_code(turn, F).source
    assert source is not None
    space: dict[str, object] = {"__name__": "solution"}
    with redirect_stdout(io.StringIO()):
        exec(compile(source, "<solution>", "exec", dont_inherit=True), space)
    function = space["f"]
    assert callable(function)
    return function


DOUBLE = "def f(n):\n    return 2 * n"
DOCUMENTED = '''def f(n):
    """Double it.

    ```python
    f(1)
    ```

    ~~~
    2
    ~~~
    """
    return 2 * n'''

# Each returns 6 for 3.
RIGHT = {
    "a dispatch table after the function": (
        "def f(n):\n    return OPS['g'](n)\ndef g(n):\n    return 2 * n\nOPS = {'f': f, 'g': g}"
    ),
    "a dispatch table of lambdas that call it": (
        "OPS = {0: lambda n: 0, 1: lambda n: 2 + f(n - 1)}\ndef f(n):\n    return OPS[min(n, 1)](n)"
    ),
    "a partial of it": (
        "from functools import partial\ndef f(n, base=None):\n    return 2 * n if base else doubled(n)\n"
        "doubled = partial(f, base=10)"
    ),
    "a lambda that names it": "def f(n):\n    return step(n) if n else 0\nstep = lambda n: 2 + f(n - 1)",
    "a flag from __name__": (
        "DEBUG = __name__ == '__main__'\ndef f(n):\n    if DEBUG:\n        print(n)\n    return 2 * n"
    ),
    "a fence in its docstring": DOCUMENTED,
    "a tagged fence in a module's docstring": f'"""\nUse:\n```python\nf(3)\n```\n"""\n{DOUBLE}',
    "a fence in a text": "FENCE = '''\n```\n'''\ndef f(n):\n    return len(FENCE) + n - 2",
    "a tab in a text": "def f(n):\n    return 2 * n * len('\t')",
    "a tab in an expression of tabs": "def f(n):\n\tif n:\n\t\treturn 2 * n * len('\t')",
    "thinking tags in a text": (
        "def f(n):\n    text = '<think>ab</think>cd'.split('</think>')[-1]\n    return len(text) * n"
    ),
    "thinking tags on lines of a text": "def f(n):\n    return n * len('''a\n<think>\n</think>\n'''.split('\\n')[:2])",
    "blank lines in a text": "def f(n):\n    return n * len('''\n  \n'''[1:3])",
    "a table that it fills itself": (
        "MEMO = {}\ndef f(n):\n    if n not in MEMO:\n        MEMO[n] = 2 * n\n    return MEMO[n]\nf(3)"
    ),
    "a table that is made with it": (
        "def f(n):\n    return TABLE[n] if TABLE else 2 * n\nTABLE = None\nTABLE = [f(n) for n in range(9)]"
    ),
    "a table that is filled with it": (
        "SEEN = {}\ndef f(n):\n    return SEEN.get(n, 2 * n)\nfor n in range(3):\n    SEEN[n] = f(n)\n    print(n)"
    ),
    "a table that a helper of its helper reads": (
        "def f(n):\n    return g(n)\ndef g(n):\n    return h(n)\ndef h(n):\n    return TABLE[n]\ndef double(n):\n"
        "    print(n)\n    return 2 * n\nTABLE = {n: double(n) for n in range(4)}\nprint(TABLE)"
    ),
    "a registry": (
        "OPS = {}\ndef op(g):\n    OPS[g.__name__] = g\n    return g\n@op\ndef double(n):\n    return 2 * n\n"
        "def f(n):\n    return OPS['double'](n)\nop(f)\nprint(f(1))"
    ),
    "wrapped in place": "from functools import lru_cache\ndef f(n):\n    return 2 * n\nf = lru_cache(None)(f)\nprint(f(2))",
    "an attribute of the function": "def f(n):\n    return f.factor * n\nf.factor = 2\nprint(f(1))",
    "a class and an instance": "class Solver:\n    def run(self, n):\n        return 2 * n\nf = Solver().run\nprint(f(1))",
    "singledispatch": (
        "from functools import singledispatch\n@singledispatch\ndef f(n):\n    return 0\n"
        "f.register(int, lambda n: 2 * n)\nprint(f(1))"
    ),
    "an import that may fail": (
        "try:\n    from nowhere import double\nexcept ImportError:\n    print('none')\n"
        "    def double(n):\n        return 2 * n\ndef f(n):\n    return double(n)"
    ),
    "a limit that is set": (
        "import sys\nif sys.getrecursionlimit() < 9000:\n    sys.setrecursionlimit(9000)\n    print('deeper')\n"
        "def f(n):\n    import sys\n    return 2 * n if sys.getrecursionlimit() >= 9000 else 0"
    ),
    "an alias": "def double(n):\n    return 2 * n\nf = double",
    "a name bound by a walrus": "def f(n):\n    return n * FACTOR\nassert (FACTOR := 2) == 2",
    "a constant from nowhere": (
        "import os\ndef f(n):\n    return n * FACTOR\nFACTOR = int(os.environ.get('FACTOR_OF_F', '2'))"
    ),
    "two statements in a line": "def f(n):\n    return n * FACTOR\nFACTOR = 2; print(f(1))",
    "names looked up by hand": "def f(n):\n    return globals()['g'](n)\ng = [print(f), lambda n: 2 * n][1]",
    "a carriage return between lines": "FACTOR = 1\rFACTOR = 2\rdef f(n):\r    return FACTOR * n\rprint(f(1))",
    "a form feed between functions": "def g(n):\n    return 2 * n\n\f\ndef f(n):\n    return g(n)",
}


@pytest.mark.parametrize("program", RIGHT.values(), ids=RIGHT)
@pytest.mark.parametrize("turn", ["{0}", "```python\n{0}\n```", "Here it is:\n\n```\n{0}\n```\nIt doubles n."])
def test_a_right_program_runs_as_it_was_meant(program: str, turn: str) -> None:
    sys.setrecursionlimit(1000)
    assert loaded(turn.format(program))(3) == 6


# What the program is followed by would stop it from loading, or is none of its business.
BESIDE = {
    "a prompt": "n = int(input('n? '))\nprint(f(n))",
    "standard input by its other name": "import sys\nn = int(sys.stdin.readline())\nprint(f(n))",
    "a name for standard input": "import sys\ninput = sys.stdin.readline\nn = int(input())\nresult = f(n)",
    "a main function": "def main():\n    n = int(input())\n    print(f(n))\nmain()",
    "a main guard": "if __name__ == '__main__':\n    print(f(int(input())))",
    "a main guard the other way round": "if '__main__' == __name__:\n    raise ValueError",
    "a wrong assert": "assert f(2) == 5",
    "a wrong assert with a message": "result = f(2)\nassert result == 5, f'{result}'",
    "a wrong test": "def test_f():\n    assert f(2) == 5\ntest_f()",
    "a table of wrong tests": "cases = [(1, 3)]\nfor n, expected in cases:\n    result = f(n)\n    assert result == expected",
    "a call that raises": "print(f(None) + f([]))",
    "a call that raises, tried": "try:\n    f(None) - 1\nexcept TypeError:\n    print('caught')\n    raise",
    "collected results": "results = []\nresults.append(f(1))\nprint(results[1])",
    "a local name of the function's": "total = f(None) + f([])\nprint(total)",
    "unittest": "import unittest\nclass T(unittest.TestCase):\n    def test(self):\n        f(0)\nunittest.main()",
    "an end": "import sys\nprint(f(1))\nsys.exit(0)",
    "another end": "raise SystemExit(f(1))",
    "words": "Done",
    "words with a colon": "Complexity: O(n)",
    "words with a comma": "Simple, right",
    "a loop over input": "while True:\n    line = input()\n    if not line:\n        break\n    print(f(int(line)))",
    "a prompt of the interpreter": ">>> f(1)\n2",
}
ADDED = "def f(n):\n    total = n\n    total += n\n    return total"


@pytest.mark.parametrize("beside", BESIDE.values(), ids=BESIDE)
@pytest.mark.parametrize("turn", ["{0}\n\n{1}", "```python\n{0}\n\n{1}\n```"])
def test_what_stands_beside_a_program_does_not_stop_it(beside: str, turn: str) -> None:
    assert loaded(turn.format(ADDED, beside))(3) == 6


@pytest.mark.parametrize(
    "turn",
    [
        fenced("def double(n):\n    return 2 * n", "def f(n):\n    return double(n)"),
        fenced("import operator", "def f(n):\n    return operator.mul(2, n)"),
        fenced(
            "FACTOR = 2", "def double(n):\n    return FACTOR * n\nprint(double(1))", "def f(n):\n    return double(n)"
        ),
        fenced("def f(n):\n    return double(n)", "def double(n):\n    return 2 * n"),
        fenced(DOUBLE, "from solution import f\n\nprint(f(3))"),
        fenced(DOUBLE, "from your_module import f\n\ndef test_f():\n    assert f(3) == 6"),
        fenced("class Node:\n    value = 2", "def f(n):\n    return Node.value * n", "f(1)"),
        fenced("def f(n):\n    return 0\ndef g(n):\n    return 2 * n", "def f(n):\n    return g(n)"),
    ],
)
def test_what_a_program_needs_comes_from_other_blocks(turn: str) -> None:
    assert loaded(turn)(3) == 6


def test_what_a_program_does_not_need_stays_in_its_block() -> None:
    turn = fenced("def other(n):\n    return n", DOUBLE, "other = f(1)")
    assert extract_code(turn, F).source == DOUBLE


def test_an_import_may_be_the_solution() -> None:
    assert extract_code("from math import gcd as f", F).source == "from math import gcd as f"


def test_a_program_gets_its_helpers_too() -> None:
    found = extract_code(fenced("def add(a, b):\n    return a + b", "print(add(*map(int, input().split())))"), SUM)
    assert found.source == "def add(a, b):\n    return a + b\n\nprint(add(*map(int, input().split())))"


LINES = [
    *(
        "TABLE = [f(1)]",
        "TABLE[0] = f(2)",
        "TABLE.append(f(3))",
        "TABLE += [f(1)]",
        "x = f(2)",
        "TABLE.append(x)",
        "print(x)",
    ),
    *(
        "put(x)",
        "print(put(2))",
        "y = put(f(1))",
        "fill(TABLE)",
        "late(f)",
        "@late\ndef double(n):\n    return n",
        "FACTOR = x",
    ),
    *(
        "print(TABLE.pop())",
        "for n in range(2):\n    TABLE[0:n] = [f(n)]",
        "if x:\n    print(f(1))\n    FACTOR = 2",
        "assert x",
    ),
    *(
        "def main():\n    global FACTOR\n    FACTOR = 9\n    print(f(1))",
        "main()",
        "assert (FACTOR := 5)",
        "K.items = [f(1)]",
    ),
    *(
        "k = K()",
        "k.put(f(1))",
        "D = {f: TABLE}",
        "D[f].append(f(1))",
        "exec('FACTOR = 3')",
        "print(exec('FACTOR = 4'))",
    ),
    *(
        "lam = lambda n: TABLE.append(n)",
        "lam(x)",
        "print(sorted([x], key=lam))",
        "f.tag = f(1)",
        "alias = TABLE\nprint(x)",
    ),
]
BEFORE = """FACTOR, TABLE, D, x = 1, [9], {}, 1
class K:
    items = [0]
    def put(self, n):
        self.items.append(n)
        print(n)
k = K()
def put(n):
    TABLE.append(n)
    print(n)
def main():
    pass
def fill(items):
    items.append(0)
def late(function):
    TABLE.append(function.__name__)
    return function
def double(n):
    return 2 * n
def lam(n):
    return n
def f(n):
    return {}
D = {f: TABLE}
"""
RESULTS = [
    "TABLE[:]",
    "FACTOR * n",
    "double(n), K.items[:]",
    "list(D.values()), n",
    "getattr(f, 'tag', n)",
    "k.items[-1]",
]


@settings(max_examples=300)
@given(st.sampled_from(RESULTS), st.lists(st.sampled_from(LINES), max_size=6))
def test_what_is_removed_changes_nothing(result: str, lines: list[str]) -> None:
    program = BEFORE.replace("{}\nD", f"{result}\nD") + "\n".join(lines)
    space: dict[str, object] = {"__name__": "solution"}
    with redirect_stdout(io.StringIO()):
        try:
            exec(compile(program, "<whole>", "exec", dont_inherit=True), space)
        except (TypeError, IndexError, AttributeError, KeyError, AssertionError):  # what does not run as a whole
            return
    whole = space["f"]
    assert callable(whole)
    assert repr(loaded(program)(3)).split(" at ")[0] == repr(whole(3)).split(" at ")[0]
