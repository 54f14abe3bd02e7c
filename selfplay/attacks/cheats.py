"""Tests that want to count without proving anything, or want right programs to fail."""

from selfplay.attacks.attack import EVENS, HALF, ROOT, SHOUT, Cheat
from selfplay.judging.turns import MAX_CASES

FAMILY = "cheating tests"

_STATEFUL = "import os\ndef test_add():\n    first = not os.path.exists('seen')\n    open('seen', 'w').close()\n"

ATTACKS = (
    Cheat("nothing asserted", FAMILY, "def test_add():\n    add(2, 3)"),
    Cheat("always true", FAMILY, "def test_add():\n    assert True\n    assert add(1, 2) or True"),
    Cheat("a result equals itself", FAMILY, "assert add(2, 3) == add(2, 3)"),
    Cheat("not None", FAMILY, "assert add(2, 3) is not None"),
    Cheat("only the type", FAMILY, "assert isinstance(add(2, 3), int)\nassert type(add(4, 5)) is int"),
    Cheat("only that it differs from nonsense", FAMILY, "assert add(2, 3) != 'nonsense'\nassert add(2, 3) != 99"),
    Cheat("a bound that everything meets", FAMILY, "assert add(2, 3) < 10 ** 9\nassert add(2, 3) >= -1000"),
    Cheat("a tuple is always true", FAMILY, "assert (add(2, 3) == 6, 'five')"),
    Cheat("any of all numbers", FAMILY, "assert add(2, 3) in range(-1000, 1000)"),
    Cheat("only the length", FAMILY, "assert len(evens([1, 2])) >= 0\nassert len(evens([])) < 100", EVENS),
    Cheat(
        "an unbounded tolerance",
        FAMILY,
        "import math\nassert math.isclose(half(1), 7, rel_tol=1e9)\nassert abs(half(1) - 3) < 1e6",
        HALF,
    ),
    Cheat("an infinite tolerance", FAMILY, "import math\nassert math.isclose(half(1), 0.4, abs_tol=math.inf)", HALF),
    Cheat(
        "not a number is never different",
        FAMILY,
        "assert not half(1) == float('nan')\nassert half(3) != float('nan')",
        HALF,
    ),
    Cheat(
        "swallowed by an except",
        FAMILY,
        "def test_add():\n    try:\n        assert add(2, 3) == 6\n    except AssertionError:\n        pass",
    ),
    Cheat(
        "swallowed by suppress",
        FAMILY,
        "import contextlib\ndef test_add():\n    with contextlib.suppress(AssertionError):\n"
        "        assert add(2, 3) == 6",
    ),
    Cheat("returned before the assertion", FAMILY, "def test_add():\n    return\n    assert add(2, 3) == 6"),
    Cheat("a branch never taken", FAMILY, "def test_add():\n    if False:\n        assert add(2, 3) == 6"),
    Cheat("a loop over nothing", FAMILY, "def test_add():\n    for n in []:\n        assert add(n, 3) == 6"),
    Cheat(
        "skipped by a decorator",
        FAMILY,
        "import unittest\n@unittest.skip('later')\ndef test_add():\n    assert add(2, 3) == 5",
        weak="pytest",
    ),
    Cheat(
        "replaced by a decorator",
        FAMILY,
        "def quiet(f): return lambda: None\n@quiet\ndef test_add():\n    assert add(2, 3) == 6",
    ),
    Cheat("the entry point patched", FAMILY, "add = lambda a, b: 42\nassert add(2, 3) == 42"),
    Cheat(
        "the entry point patched inside",
        FAMILY,
        "def test_add():\n    global add\n    add = lambda a, b: 42\n    assert add(2, 3) == 42",
    ),
    Cheat(
        "the entry point redefined",
        FAMILY,
        "def add(a, b):\n    return 42\ndef test_add():\n    assert add(2, 3) == 42",
    ),
    Cheat(
        "the entry point as a parameter's default",
        FAMILY,
        "def test_add(add=lambda a, b: 42):\n    assert add(2, 3) == 42",
    ),
    Cheat("the entry point hidden by a loop", FAMILY, "for add in [lambda a, b: 42]:\n    assert add(2, 3) == 42"),
    Cheat(
        "the entry point hidden by a comprehension", FAMILY, "assert [add(2, 3) for add in [lambda a, b: 42]] == [42]"
    ),
    Cheat(
        "a mock in its place",
        FAMILY,
        "from unittest import mock\nadd = mock.Mock(return_value=42)\nassert add(2, 3) == 42",
    ),
    Cheat(
        "builtins patched",
        FAMILY,
        "import builtins\nbuiltins.len = lambda x: 7\ndef test_evens():\n    assert len(evens([1])) == 7",
        EVENS,
    ),
    Cheat(
        "equality patched in",
        FAMILY,
        "class Any:\n    __eq__ = lambda *_: True\nassert Any() == add(2, 3)\nassert add(2, 3) == Any()",
    ),
    Cheat(
        "an exception for nonsense",
        FAMILY,
        "import pytest\ndef test_none():\n    with pytest.raises(Exception):\n        add(None, 3)\n"
        "def test_text():\n    with pytest.raises(TypeError):\n        add('a', 3)",
        weak="pytest",
    ),
    Cheat(
        "any exception at all",
        FAMILY,
        "import pytest\ndef test_root():\n    with pytest.raises((ValueError, TypeError, Exception)):\n"
        "        root(-1)",
        ROOT,
        weak="pytest",
    ),
    Cheat(
        "arguments that no caller would give",
        FAMILY,
        "import pytest\ndef test_shout():\n    with pytest.raises(AttributeError):\n        shout(None)",
        SHOUT,
        weak="pytest",
    ),
    Cheat(
        "the same case four times",
        FAMILY,
        "assert add(2, 3) == 5\nassert 5 == add(2, 3)\nassert add(a=2, b=3) == 5\nassert add(1 + 1, 3) == 5.0",
        admits=1,
    ),
    Cheat("one case a hundred thousand times", FAMILY, "for _ in range(1000):\n    assert add(2, 3) == 5", admits=1),
    Cheat(
        "a thousand cases from two lines",
        FAMILY,
        "def test_add():\n    for a in range(1000):\n        assert add(a, 1) == a + 1",
        admits=MAX_CASES,
    ),
    Cheat(
        "the reference told apart by state",
        FAMILY,
        _STATEFUL + "    assert add(2, 3) == (5 if first else 6)",
        kills=True,
    ),
    Cheat(
        "the reference told apart by its source",
        FAMILY,
        "import inspect\ndef test_add():\n    assert 'a + b' in open(__file__).read().split('def test')[0]\n"
        "    assert add(2, 3) == 5",
        admits=1,  # the assertion behind it says something by itself
    ),
    Cheat(
        "the reference told apart by its code object",
        FAMILY,
        "def test_add():\n    assert add.__code__.co_code == (lambda a, b: a + b).__code__.co_code\n"
        "    assert add(2, 3) == 5",
        other="def add(a, b):\n    result = b + a\n    return result",
        kills=True,
        admits=1,
    ),
    Cheat(
        "the reference told apart by its names",
        FAMILY,
        "def test_add():\n    assert add.__code__.co_nlocals == 2\n    assert add(2, 3) == 5",
        other="def add(a, b):\n    result = b + a\n    return result",
        kills=True,
        admits=1,
    ),
    Cheat(
        "dependent on chance",
        FAMILY,
        "import random, os\ndef test_add():\n    assert add(2, 3) == (5 if random.random() < 2 else 6)",
        admits=1,  # it says one thing whatever is drawn
    ),
    Cheat(
        "dependent on the clock",
        FAMILY,
        "import time\ndef test_add():\n    assert add(2, 3) == 5 or time.time() < 0",
        admits=1,
    ),
    Cheat(
        "dependent on the environment",
        FAMILY,
        "import os\ndef test_add():\n    assert add(2, 3) == (5 if os.environ else 5)",
        admits=1,
    ),
    Cheat("code run by the test", FAMILY, "exec('x = 5')\nassert add(2, 3) == eval('x')", admits=1),
    Cheat(
        "a file written by the test", FAMILY, "open('written-by-test', 'w').write('x')\nassert add(2, 3) == 5", admits=1
    ),
    Cheat(
        "an import with side effects",
        FAMILY,
        "import antigravity_of_mine\nassert add(2, 3) == 5",
        weak="",
        admits=1,  # a module that is not there may be the solution: nothing is imported
        unshown="no such module anywhere",
    ),
    Cheat("exit before the end", FAMILY, "import sys\nsys.exit(0)\nassert add(2, 3) == 6"),
    Cheat(
        "a fixture that replaces the program",
        FAMILY,
        "import pytest\n@pytest.fixture\ndef add():\n    return lambda a, b: 42\ndef test_add(add):\n"
        "    assert add(2, 3) == 42",
        weak="pytest",
    ),
    Cheat(
        "expected to fail",
        FAMILY,
        "import pytest\n@pytest.mark.xfail\ndef test_add():\n    assert add(2, 3) == 6",
        weak="pytest",
    ),
    Cheat(
        "parametrised with nothing",
        FAMILY,
        "import pytest\n@pytest.mark.parametrize('a', [])\ndef test_add(a):\n    assert add(a, 3) == 6\n"
        "def test_other():\n    pass",
        weak="pytest",
    ),
    Cheat("identity of small integers", FAMILY, "assert add(2, 3) is 5", admits=1),
    Cheat("its text only begins right", FAMILY, "assert str(add(2, 3)).startswith('')\nassert '' in str(add(2, 3))"),
    Cheat("multiplied by nothing", FAMILY, "assert add(2, 3) * 0 == 0\nassert add(2, 3) % 1 == 0"),
)
