"""Test files in the styles that models and people use: how many cases each holds, and what of it is refused."""

from __future__ import annotations

import pytest

from selfplay.judging.reading import read_cases

COPY = "def f(xs, k=1):\n    return sorted(xs)[:k]\n\n"

# name: (text, cases, reasons of refusals)
STYLES: dict[str, tuple[str, int, list[str]]] = {
    "bare asserts": ("assert f([1]) == [1]\nassert f([2, 1], 2) == [1, 2]\n", 2, []),
    "own copy": (COPY + "def test_a():\n    assert f([2, 1]) == [1]\n    assert f([], 3) == []\n", 2, []),
    "own copy, cached": ("import functools\n@functools.lru_cache(maxsize=None)\n" + COPY + "assert f((1,)) == [1]\n", 1, []),
    "own copy, a lambda": ("f = lambda xs, k=1: sorted(xs)[:k]\ndef test_a():\n    assert f([1]) == [1]\n", 1, []),
    "own copy, as a class": ("class f:\n    pass\ndef test_a():\n    assert f(1) == 2\n", 1, []),
    "own copy behind an import": (
        "try:\n    from solution import f\nexcept ImportError:\n    def f(xs, k=1):\n        return xs\n"
        "def test_a():\n    assert f([1]) == [1]\n", 1, []),
    "own copy and helpers": (
        COPY + "def smallest(xs):\n    return f(xs)[0]\ndef test_a():\n    assert smallest([3, 1]) == 1\n", 1, []),
    "from solution import": ("from solution import f\ndef test_a():\n    assert f([1]) == [1]\n", 1, []),
    "from your_module import": ("from your_module import f, other\ndef test_a():\n    assert f([1]) == [1]\n"
                                "def test_b():\n    assert other(2) == f([2])\n", 1, ["wrong_entry"]),
    "relative import": ("from .solution import f\nfrom . import solution\ndef test_a():\n    assert f([1]) == [1]\n"
                        "    assert solution.f([2]) == [2]\n", 2, []),
    "import of the module": ("import hangman\ndef test_a():\n    assert hangman.f([1]) == [1]\n", 1, []),
    "import as": ("import solution as s\ndef test_a():\n    assert s.f([1]) == [1]\n", 1, []),
    "import under another name": ("from solution import f as g\ndef test_a():\n    assert g([1]) == [1]\n", 1, []),
    "path of the project": (
        "import os, sys\nsys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))\nfrom solution import f\n"
        "sys.setrecursionlimit(10000)\ndef test_a():\n    assert f([1]) == [1]\n", 1, []),
    "pytest class": (
        "import pytest\nclass TestF:\n    '''Tests of f.'''\n    CASES = [([1], [1]), ([2, 1], [1])]\n"
        "    @pytest.mark.parametrize('xs, want', CASES, ids=['one', 'two'])\n    def test_a(self, xs, want):\n"
        "        '''doc'''\n        assert f(xs) == want\n", 2, []),
    "setup_method": ("class TestF:\n    def setup_method(self, method):\n        self.xs = [2, 1]\n"
                     "    def test_a(self):\n        assert f(self.xs) == [1]\n", 1, []),
    "parametrize with ids": (
        "import pytest\n@pytest.mark.parametrize(('xs', 'want'), [\n    pytest.param([1], [1], id='one'),\n"
        "    pytest.param([], [], id='none'),\n    pytest.param([9], [9], marks=pytest.mark.skip),\n])\n"
        "def test_a(xs, want):\n    assert f(xs) == want\n", 2, []),
    "parametrize twice": ("import pytest\n@pytest.mark.parametrize('a', [1, 2])\n@pytest.mark.parametrize('b', [3, 4])\n"
                          "def test_a(a, b):\n    assert f([a, b], 2) == [a, b]\n", 4, []),
    "fixtures": (
        "import pytest\n@pytest.fixture\ndef xs():\n    return [2, 1]\n@pytest.fixture\ndef more(xs):\n    yield xs + [0]\n"
        "def test_a(xs, more):\n    assert f(xs) == [1]\n    assert f(more) == [0]\n", 2, []),
    "fixture with parameters": (
        "import pytest\n@pytest.fixture(params=[1, 2], ids=str)\ndef n(request):\n    return request.param\n"
        "def test_a(n):\n    assert f([n]) == [n]\n", 2, []),
    "fixture that gives the function": ("import pytest\n@pytest.fixture\ndef solve():\n    return f\n"
                                        "def test_a(solve):\n    assert solve([1]) == [1]\n", 1, []),
    "autouse fixture": (
        "import pytest\nclass TestF:\n    @pytest.fixture(autouse=True)\n    def prepare(self):\n        self.xs = [1]\n"
        "    def test_a(self):\n        assert f(self.xs) == [1]\n", 1, []),
    "unittest": (
        "import unittest\nfrom solution import f\nclass FTest(unittest.TestCase):\n    maxDiff = None\n"
        "    @classmethod\n    def setUpClass(cls):\n        super().setUpClass()\n        cls.xs = [2, 1]\n"
        "    def setUp(self):\n        self.want = [1]\n    def test_a(self):\n        self.assertEqual(f(self.xs), self.want)\n"
        "        self.assertListEqual(f([]), [])\n        self.assertIsInstance(f([1]), list)\n"
        "        self.assertTrue(all(x in self.xs for x in f(self.xs)), 'message')\n"
        "if __name__ == '__main__':\n    unittest.main()\n", 4, []),
    "unittest with subTest": (
        "import unittest\nclass FTest(unittest.TestCase):\n    def test_a(self):\n"
        "        for xs, want in [([1], [1]), ([2, 1], [1])]:\n            with self.subTest(xs=xs):\n"
        "                self.assertEqual(f(xs), want, msg=f'{xs}')\n", 2, []),
    "unittest with a base class": (
        "import unittest\nclass Base(unittest.TestCase):\n    def check(self, xs, want):\n        self.assertEqual(f(xs), want)\n"
        "class TestMore(Base):\n    def test_a(self):\n        self.check([1], [1])\n        self.check([], [])\n", 2, []),
    "Exercism": (
        "import unittest\nfrom smallest import (\n    f,\n)\n\n# Tests adapted from problem-specifications\n"
        "class SmallestTest(unittest.TestCase):\n    def test_one(self):\n        self.assertEqual(f([1]), [1])\n"
        "    def test_error(self):\n        with self.assertRaises(ValueError) as err:\n            f(None)\n"
        "        self.assertEqual(type(err.exception), ValueError)\n"
        "        self.assertEqual(err.exception.args[0], 'no list')\n", 2, ["message"]),
    "main guard": ("def test_a():\n    assert f([1]) == [1]\nif __name__ == '__main__':\n    test_a()\n    print('ok')\n", 1, []),
    "a script below its guard": ("if __name__ == '__main__':\n    assert f([1]) == [1]\n    print('passed')\n", 1, []),
    "a function that runs the tests": ("def run_tests():\n    assert f([1]) == [1]\n    print('ok')\nrun_tests()\n", 1, []),
    "a table in a loop": (
        "CASES = [\n    ([1], 1, [1]),\n    ([2, 1], 2, [1, 2]),\n]\ndef test_a():\n    for i, (xs, k, want) in enumerate(CASES):\n"
        "        result = f(xs, k)\n        assert result == want, f'case {i}: {result}'\n", 2, []),
    "a table of dictionaries": (
        "CASES = [{'in': [1], 'out': [1]}, {'in': [], 'out': []}]\ndef test_a():\n    for case in CASES:\n"
        "        assert f(case['in']) == case['out']\n", 2, []),
    "failures are collected": (
        "def test_a():\n    failures = []\n    for xs, want in [([1], [1]), ([], [])]:\n        if f(xs) != want:\n"
        "            failures.append((xs, want))\n    assert not failures, failures\n", 2, []),
    "check(candidate)": ("METADATA = {'author': 'x'}\ndef check(candidate):\n    assert candidate([1]) == [1]\n", 1, []),
    "an unchanged argument": (
        "def test_a():\n    xs = [2, 1]\n    result = f(xs)\n    assert xs == [2, 1]\n    assert result == [1]\n"
        "    assert result is not xs\n", 1, []),
    "known statements": ("def test_a():\n    '''doc'''\n    assert callable(f)\n    assert isinstance([], list)\n    print('x')\n"
                         "    assert f.__name__ == 'f'\n    assert f([1]) == [1]\n", 1, []),
    "properties": ("def test_a():\n    r = f([3, 1, 2], 2)\n    assert len(r) == 2\n    assert r == sorted(r)\n"
                   "    for x in r:\n        assert x in [3, 1, 2]\n    a, b = r\n    assert a < b\n", 5, []),
    "two results": ("def test_a():\n    assert f([2, 1]) == f([1, 2])\n    a = f([1])\n    b = f([1, 1])\n    assert a == b\n", 2, []),
    "exceptions": (
        "import pytest\ndef test_a():\n    with pytest.raises(TypeError, match='list'):\n        f(None)\n"
        "    with pytest.raises((TypeError, ValueError)) as e:\n        f(1)\n    assert 'x' in str(e.value)\n"
        "    try:\n        f(2)\n    except TypeError as e:\n        assert str(e) == 'x'\n    else:\n        pytest.fail('no')\n",
        3, ["message", "message", "message"]),
    "tolerances": ("import math, pytest\ndef test_a():\n    assert f([1]) == pytest.approx(1.0)\n"
                   "    assert math.isclose(f([1]), 1.0)\n    assert abs(f([1]) - 1.0) < 1e-9\n", 3, []),
    "numpy in one test": ("import numpy as np\nX = np.array([1])\ndef test_a():\n    assert f([1]) == [1]\n"
                          "def test_b():\n    assert f(list(X)) == [1]\ndef test_c():\n    assert f(np.ones(2)) == [1]\n", 1, ["import"] * 2),
    "hypothesis in one test": (
        "from hypothesis import given, strategies as st\n@given(st.integers())\ndef test_p(n):\n    assert f([n]) == [n]\n"
        "def test_a():\n    assert f([1]) == [1]\n", 1, ["import"]),
    "random draws in one test": (
        "import random\nrandom.seed(1)\ndef test_r():\n    xs = [random.randint(0, 9) for _ in range(5)]\n"
        "    for _ in range(3):\n        assert f(xs) == sorted(xs)[:1]\ndef test_a():\n    assert f([1]) == [1]\n", 1, ["unsupported"]),
    "skipped tests": (
        "import pytest, unittest, sys\n@pytest.mark.skip(reason='x')\ndef test_a():\n    assert f([1]) == [1]\n"
        "@pytest.mark.skipif(True, reason='x')\ndef test_b():\n    assert f([1]) == [1]\n"
        "@pytest.mark.skipif(False, reason='x')\ndef test_c():\n    assert f([1]) == [1]\n"
        "@pytest.mark.xfail\ndef test_d():\n    assert f([1]) == [1]\n"
        "@unittest.skip('x')\ndef test_e():\n    assert f([1]) == [1]\n"
        "def test_g():\n    pytest.skip('x')\n    assert f([1]) == [1]\n", 1, ["skip"] * 5),
    "timing": ("import time\ndef test_a():\n    start = time.time()\n    assert f([1]) == [1]\n"
               "    assert time.time() - start < 1\n", 1, ["unsupported"]),
    "a mock in one test": (
        "from unittest.mock import patch\n@patch('solution.f')\ndef test_a(g):\n    assert f([1]) == [1]\n"
        "def test_b(monkeypatch):\n    assert f([1]) == [1]\ndef test_c():\n    assert f([1]) == [1]\n", 1, ["patched"] * 2),
    "tests of a class": (
        "from inventory import f\ndef test_a():\n    shop = f()\n    shop.put('a')\n    assert shop.total() == 1\n", 0, ["class"]),
    "a pair of functions": (
        "from cipher import f, decode\ndef test_a():\n    assert decode(f('a')) == 'a'\n    assert f('a') == 'b'\n", 1, ["wrong_entry"]),
    "a round trip": ("def test_a():\n    assert f(f([1])) == [1]\n    assert f([2]) == [2]\n", 1, ["property"]),
    "an async test": ("async def test_a():\n    assert f([1]) == [1]\ndef test_b():\n    assert f([1]) == [1]\n", 1, ["unsupported"]),
}  # fmt: skip


@pytest.mark.parametrize("style", STYLES)
def test_a_style_is_read(style: str) -> None:
    text, cases, reasons = STYLES[style]
    reading = read_cases(text, "f")
    assert len(reading.cases) == cases, reading.refused
    assert [refusal.reason for refusal in reading.refused] == reasons


@pytest.mark.parametrize("style", [style for style in STYLES if style.startswith("own copy")])
def test_an_own_copy_counts_as_salvaged(style: str) -> None:
    assert read_cases(STYLES[style][0], "f").salvaged == 1


@pytest.mark.parametrize("style", STYLES)
def test_reading_twice_gives_the_same(style: str) -> None:
    assert read_cases(STYLES[style][0], "f") == read_cases(STYLES[style][0], "f")
