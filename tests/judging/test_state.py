"""Which programs may keep something from one call to the next."""

from __future__ import annotations

import pytest

from selfplay.judging.state import is_plain, keeps_state

STATELESS = [
    "def f(n): return n",
    '"""Docs."""\nimport math\nfrom typing import List\nLIMIT = 10 ** 9 + 7\ndef f(n: int = -1, *, key=None): return n % LIMIT',
    "class Node:\n    def __init__(self, n):\n        self.n = n\ndef f(n): return Node(n).n",
    "def f(n):\n    memo = {}\n    def g(k):\n        return memo.setdefault(k, k)\n    return g(n)",
]
KEEPING = [
    "seen = []\ndef f(n): seen.append(n)",
    "def f(n, seen=[]): seen.append(n)",
    "def f(n, *, seen={}): return seen",
    "import functools\n@functools.lru_cache\ndef f(n): return n",
    "x = 0\ndef f(n):\n    global x\n    x += 1",
    "def f(n):\n    f.calls = 1",
    "import math\ndef f(n):\n    math.tau = n",
    "class A:\n    seen = []\n    def g(self): self.seen.append(1)\ndef f(n): A().g()",
    "def make():\n    count = 0\n    def g():\n        nonlocal count\n        count += 1\n    return g\nf = make()",
    "if True:\n    seen = []\ndef f(n): return seen",
    "def f(",
]


HIDDEN = [
    "def f(n): return g.seen.append(n)\ng = f; g.seen = []",
    "def f(n,\n      seen=[]): return seen",
    "import math; math.seen = []\ndef f(n): return math.seen",
    "def f(n):\n    setattr(f, 'seen', n)",
    "def f(n): pass; seen = []",
    "def f(n):\n    f.seen += 1",
    "from sys import modules as seen\nseen['x'] = 1\ndef f(n): return n",
]


@pytest.mark.parametrize("source", HIDDEN)
def test_a_look_at_the_text_alone_settles_nothing_that_is_not_plain(source: str) -> None:
    assert not is_plain(source)


@pytest.mark.parametrize("source", STATELESS)
def test_definitions_and_constants_keep_nothing(source: str) -> None:
    assert not keeps_state(source)


@pytest.mark.parametrize("source", KEEPING)
def test_what_outlives_a_call_may_keep_state(source: str) -> None:
    assert keeps_state(source)
