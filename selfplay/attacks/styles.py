"""Honest tests as models and people write them: each style must be read, passed by a right program and failed by a
wrong one. A judge that reads little is safe, and useless."""

from __future__ import annotations

from selfplay.attacks.attack import ADD, EVEN, EVENS, HALF, SHOUT, UNIQUE, Control, Task, function
from selfplay.game.problems import Contract

FAMILY = "honest tests"

ROOT = function(
    "root",
    "number",
    "if number < 0:\n    raise ValueError('no root')\nreturn int(number ** 0.5)",
    "assert root(9) == 3",
    Contract(raises=("ValueError",)),
)
CODED = function(
    "decode",
    "text",
    "return text[::-1]",
    "assert decode('ba') == 'ab'",
)
OPENED = function("opened", "text", "return text.count('(')", "assert opened('()') == 1")
_WRONG = {
    "opened": "def opened(text): return len(text)",
    "add": "def add(a, b): return a - b",
    "evens": "def evens(numbers): return numbers[:1]",
    "shout": "def shout(text): return text",
    "half": "def half(number): return number",
    "is_even": "def is_even(number): return number == 4.5",
    "unique": "def unique(numbers): return {0}",
    "root": "def root(number): return 1",
    "decode": "def decode(text): return 'no'",
}


def _style(name: str, tests: str, task: Task = ADD, admits: int = 1, fails: str = "") -> Control:
    problem = task.problem
    wrong = fails or _WRONG[problem.entry_point]
    return Control(name, FAMILY, problem.reference_solution or "", Task(problem, tests), None, admits, wrong)


_SUMS = "def test_sum():\n    assert add(2, 3) == 5\n    assert add(4, 4) == 8\n"

ATTACKS = (
    # the entry point, brought or imported
    _style("its own copy of the entry point", f"def add(a, b):\n    return a + b\n\n{_SUMS}", admits=2),
    _style(
        "its own copy with a docstring and hints",
        f'def add(a: int, b: int) -> int:\n    """The sum."""\n    return a + b\n\n{_SUMS}',
        admits=2,
    ),
    _style("its own copy after the tests", f"{_SUMS}\ndef add(a, b):\n    return a + b\n", admits=2),
    _style(
        "its own copy with helpers and imports",
        f"import math\n\ndef _help(a):\n    return a\n\ndef add(a, b):\n    return _help(a) + b\n\n{_SUMS}",
        admits=2,
    ),
    _style("an import from the solution", f"from solution import add\n\n{_SUMS}", admits=2),
    _style("an import from a module that is yours", f"from your_module import add\n\n{_SUMS}", admits=2),
    _style(
        "an import by another name", "from solution import add as plus\n\ndef test_sum():\n    assert plus(2, 3) == 5\n"
    ),
    _style("a module imported", "import adding\n\ndef test_sum():\n    assert adding.add(2, 3) == 5\n"),
    _style(
        "a path set before the import",
        f"import os, sys\nsys.path.insert(0, os.path.dirname(__file__))\nfrom solution import add\n\n{_SUMS}",
        admits=2,
    ),
    # around the tests
    _style(
        "a main guard of pytest's",
        f"import pytest\n\n{_SUMS}\nif __name__ == '__main__':\n    pytest.main([__file__])\n",
        admits=2,
    ),
    _style(
        "a main guard that calls its tests",
        f"{_SUMS}\nif __name__ == '__main__':\n    test_sum()\n    print('all passed')\n",
        admits=2,
    ),
    _style(
        "a unittest class with a main guard",
        "import unittest\n\nclass TestAdd(unittest.TestCase):\n    def setUp(self):\n        self.two = 2\n\n"
        "    def test_sum(self):\n        self.assertEqual(add(self.two, 3), 5)\n\n"
        "if __name__ == '__main__':\n    unittest.main()\n",
    ),
    _style("tests called at the end", f"{_SUMS}\ntest_sum()\nprint('ok')\n", admits=2),
    _style(
        "an if in a test class",
        "class TestAdd:\n    if True:\n        def test_sum(self):\n            assert add(2, 3) == 5\n",
    ),
    _style("an import that cannot be had", f"import numpy as np\nfrom hypothesis import given\n\n{_SUMS}", admits=2),
    _style(
        "a skipped test beside others",
        f"import pytest\n\n@pytest.mark.skip(reason='slow')\ndef test_slow():\n    assert add(1, 1) == 3\n\n{_SUMS}",
        admits=2,
    ),
    # statements about what is known
    _style(
        "a docstring and an assertion about something known",
        "def test_sum():\n    '''Sums.'''\n    assert 1 + 1 == 2\n    assert add(2, 3) == 5\n",
    ),
    _style(
        "an argument that was not changed",
        "def test_evens():\n    given = [1, 2]\n    assert evens(given) == [2]\n    assert given == [1, 2]\n",
        EVENS,
    ),
    _style(
        "a length known beforehand",
        "def test_all():\n    cases = [((2, 3), 5), ((4, 4), 8)]\n    assert len(cases) == 2\n"
        "    for given, right in cases:\n        assert add(*given) == right\n",
        admits=2,
    ),
    _style(
        "a table of named cases",
        "CASES = {'small': (1, 2, 3), 'equal': (4, 4, 8)}\n\ndef test_all():\n"
        "    for name, (a, b, right) in CASES.items():\n"
        "        assert add(a, b) == right, f'{name}: {a} + {b}'\n",
        admits=2,
    ),
    _style(
        "printing on the way",
        "def test_sum():\n    result = add(2, 3)\n    print('got', result)\n    assert result == 5\n",
    ),
    _style(
        "sub-tests",
        "import unittest\n\nclass T(unittest.TestCase):\n    def test_sum(self):\n"
        "        for a, b, right in [(1, 2, 3), (4, 4, 8)]:\n            with self.subTest(a=a):\n"
        "                self.assertEqual(add(a, b), right)\n",
        admits=2,
    ),
    # properties of one result
    _style(
        "a property of all items",
        "def test_all():\n    assert all(n % 2 == 0 for n in evens([1, 2, 3, 4]))\n"
        "    assert evens([1, 2, 3, 4]) == [2, 4]\n",
        EVENS,
    ),
    _style(
        "how a text begins and ends",
        "def test_text():\n    assert shout('ab').startswith('AB') and shout('ab').endswith('!')\n"
        "    assert shout('ab') == 'AB!'\n",
        SHOUT,
    ),
    _style(
        "another object than the argument",
        "def test_copy():\n    given = [2, 4]\n    result = evens(given)\n    assert result == given\n"
        "    assert result is not given\n",
        EVENS,
    ),
    _style(
        "one of several",
        "def test_some():\n    assert half(3) == 1.5 or half(3) == 3 / 2\n    assert half(2) in (1, 1.0)\n",
        HALF,
    ),
    _style(
        "unpacked",
        "def test_two():\n    first, second = evens([1, 2, 4])\n    assert first == 2\n    assert second == 4\n",
        EVENS,
    ),
    _style(
        "sorted, counted and summed",
        "def test_views():\n    result = evens([3, 6, 2, 8])\n    assert len(result) == 3\n"
        "    assert sum(result) == 16\n    assert sorted(result, reverse=True) == [8, 6, 2]\n",
        EVENS,
    ),
    _style(
        "truth and falsity",
        "def test_truth():\n    assert is_even(4)\n    assert not is_even(7)\n    assert is_even(10) is True\n",
        EVEN,
        2,
    ),
    # two calls
    _style(
        "two calls that are equal", "def test_order():\n    assert add(2, 3) == add(3, 2)\n    assert add(2, 3) == 5\n"
    ),
    _style(
        "twice",
        "def test_twice():\n    assert decode(decode('abc')) == 'abc'\n    assert decode('abc') == 'cba'\n",
        CODED,
    ),
    _style(
        "a comparison of two results",
        "def test_grows():\n    assert half(3) < half(4)\n    assert half(3) == 1.5\n",
        HALF,
    ),
    # arguments
    _style(
        "keyword arguments", "def test_named():\n    assert add(a=2, b=3) == 5\n    assert add(4, b=4) == 8\n", admits=2
    ),
    _style(
        "arguments unpacked",
        "def test_unpacked():\n    given = {'a': 2, 'b': 3}\n    assert add(**given) == 5\n"
        "    assert add(*(4, 4)) == 8\n",
        admits=2,
    ),
    _style(
        "a large text as an argument",
        "def test_large():\n    assert opened('(' * 10**6 + '))') == 10**6\n    assert opened(')' * 10**6 + '(') == 1\n",
        OPENED,
        2,
    ),
    _style(
        "a large list as an argument",
        "def test_large():\n    assert len(evens([n for n in range(10**4)])) == 5000\n"
        "    assert evens(list(range(10**4)))[-1] == 9998\n",
        EVENS,
    ),
    _style(
        "a long literal",
        f"def test_large():\n    assert evens({list(range(4000))}) == {list(range(0, 4000, 2))}\n",
        EVENS,
    ),
    # exceptions
    _style(
        "a demanded exception and its type",
        "import pytest\n\ndef test_root():\n    with pytest.raises(ValueError) as e:\n        root(-1)\n"
        "    assert e.type is ValueError\n",
        ROOT,
    ),
    _style(
        "a demanded exception and its text",
        "import pytest\n\ndef test_root():\n    with pytest.raises(ValueError) as info:\n        root(-1)\n"
        "    assert type(info.value) is ValueError\n",
        ROOT,
    ),
    _style(
        "a demanded exception of unittest's",
        "import unittest\n\nclass T(unittest.TestCase):\n    def test_root(self):\n"
        "        with self.assertRaises(ValueError):\n            root(-1)\n"
        "        self.assertRaises(ValueError, root, -4)\n",
        ROOT,
    ),
    # other forms
    _style(
        "a check of a candidate",
        "def check(candidate):\n    assert candidate(2, 3) == 5\n    assert candidate(4, 4) == 8\n\ncheck(add)\n",
        admits=2,
    ),
    _style(
        "a fixture with data",
        "import pytest\n\n@pytest.fixture\ndef data():\n    return [1, 2, 4]\n\ndef test_evens(data):\n"
        "    assert evens(data) == [2, 4]\n",
        EVENS,
    ),
    _style(
        "parametrised with names",
        "import pytest\n\n"
        "@pytest.mark.parametrize('a,b,right', [pytest.param(1, 2, 3, id='small'), (4, 4, 8)], ids=str)\n"
        "def test_sum(a, b, right):\n    assert add(a, b) == right\n",
        admits=2,
    ),
    _style(
        "approximately",
        "import pytest\n\ndef test_half():\n    assert half(3) == pytest.approx(1.5)\n"
        "    assert half(1) == pytest.approx(0.5, rel=1e-6)\n",
        HALF,
        2,
    ),
    _style(
        "a set in any order",
        "def test_unique():\n    assert unique([2, 1, 2]) == {2, 1}\n    assert sorted(unique([5, 4])) == [4, 5]\n",
        UNIQUE,
        2,
    ),
)
