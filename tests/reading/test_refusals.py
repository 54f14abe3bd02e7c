"""Refusals are sentences for who wrote the test, and the page in docs/ says what becomes of tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from selfplay.reading import Reading, read_cases
from selfplay.reading.refusals import ADVICE, SENTENCES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reading-tests.md"
EXAMPLES = re.findall(r"```python\n(.*?)```\n```\n(.*?)```\n", PAGE.read_text(), re.DOTALL)


def told(reading: Reading) -> list[str]:
    """A reading as the page shows it."""
    cases = [f"read: {case.source.splitlines()[0]}" for case in reading.cases]
    return cases + [f"refused as {refusal.reason}: {refusal.detail}" for refusal in reading.refused]


@pytest.mark.parametrize(("text", "result"), EXAMPLES)
def test_an_example_of_the_page_is_read_as_the_page_says(text: str, result: str) -> None:
    assert told(read_cases(text, "f")) == result.splitlines()


def test_the_page_has_examples_and_every_reason() -> None:
    assert len(EXAMPLES) >= 8
    listed = set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE))
    assert listed == {reason for reason, _ in SENTENCES.values()} | set(ADVICE)


def test_a_sentence_says_what_to_write_instead() -> None:
    assert [kind for kind, (_, sentence) in SENTENCES.items() if not re.search(r"[:(,;] ?\S", sentence)] == []


@pytest.mark.parametrize(
    "text",
    ["assert f(1 == 1", "assert f(open('x')) == 1", "assert f('a' * 10**9) == 1", "assert f(1) == {**3}",
     "class A:\n    pass\nassert f(A()) == 1", "assert f(lambda: 1) == 1", "assert f([1] < 'a') == 1"],
)  # fmt: skip
def test_a_refusal_that_evaluating_made_says_what_to_do_too(text: str) -> None:
    (refusal,) = read_cases(text, "f").refused
    assert refusal.reason in ADVICE
    assert ": " in refusal.detail


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        ("assert f(1) == (f(2), numpy.inf)", "import"),
        ("assert min(f(1), key=numpy.abs) == 1", "import"),
        ("assert f(1) == pytest.approx(1, lambda x: x)", "tolerance"),
    ],
)
def test_a_refusal_tells_who_wrote_the_test_nothing_about_the_reader(test: str, reason: str) -> None:
    (refusal,) = read_cases(f"import numpy\ndef test_f():\n    {test}", "f").refused
    assert refusal.reason == reason
    assert not re.search(r"object|attribute", refusal.detail)


# ---- leaving something out lets nothing be misread ----


def arguments(text: str) -> list[str]:
    return [case.arguments for case in read_cases(text, "f").cases]


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    return 1\ndef f(x):\n    return 2\nassert f(1) == 2",
        "@wrapped\ndef f(x):\n    return 1\nassert f(1) == 1",
        "import os\nif os.name:\n    def f(x):\n        return 1\nassert f(1) == 1",
        "def f(x):\n    return 1\nf = g\nassert f(1) == 1",
        "def test_a():\n    global f\n    f = len\ndef test_b():\n    assert f([]) == 0",
        "def test_a():\n    f = len\n    assert f([]) == 0",
        "def test_a():\n    def f(x):\n        return 0\n    assert f([]) == 0",
        "for f in [len]:\n    assert f([]) == 0",
        "from statistics import median as f\nassert f([1]) == 1",
        "import solution\nsolution.f = len\nassert f([]) == 0",
        "import solution\nsolution.__dict__.update(f=len)\nassert f([]) == 0",
        "import sys\nsys.modules['solution'].f = len\nassert f([]) == 0",
        "f.__globals__.update(f=len)\nassert f([]) == 0",
        "import pytest\n@pytest.fixture(autouse=True)\ndef p(monkeypatch):\n    monkeypatch.setattr('a.f', len)\n"
        "def test_a():\n    assert f([]) == 0",
        "def setup_module():\n    solution.f = len\ndef test_a():\n    assert f([]) == 0",
        "match 1:\n    case f:\n        pass\nassert f(1) == 1",
    ],
)
def test_a_test_that_replaces_the_function_under_test_states_nothing(text: str) -> None:
    assert arguments(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "import random\nxs = [1]\nrandom.shuffle(xs)\nassert f(xs) == 1",
        "import random\nxs = [1]\nys = xs\nrandom.shuffle(xs)\nassert f(ys) == 1",
        "import random\nxs = [1]\ndef mix():\n    random.shuffle(xs)\nmix()\nassert f(xs) == 1",
        "import numpy as np\nxs = [1]\nif np.a:\n    xs = [2]\nassert f(xs) == 1",
        "import numpy as np\ndef test_a():\n    n = 1\n    n += np.a\n    assert f(n) == 1",
        "import numpy as np\nclass TestA:\n    def test_a(self):\n        self.n = np.a\n        assert f(self.n) == 1",
        "def test_a():\n    r = f(0)\n    r.sort()\n    assert r == [1]",
        "def test_a():\n    r = f(0)\n    r[0].append(1)\n    assert r == [[1]]",
        "def test_a():\n    rs = [f(0)]\n    for r in rs:\n        r.sort()\n    assert rs[0] == [1]",
        "def test_a():\n    n = 0\n    for x in f(0):\n        n = x\n    assert f(n) == 1",
        "def test_a():\n    n = 0\n    for x in f(0):\n        assert x >= n\n        n = x",
        "def test_a():\n    xs = []\n    for x in f(0):\n        xs.append(x)\n        assert len(xs) < 2",
        "def test_a():\n    if f(0):\n        return\n    assert f(1) == 1",
        "def test_a():\n    for x in f(0):\n        break\n    assert f(1) == 1",
        "def test_a():\n    n = 1\n    if f(0) > 1:\n        n = 2\n    assert f(n) == 1",
        "import numpy as np\ndef test_a():\n    if np.a:\n        return\n    assert f(1) == 1",
    ],
)
def test_what_is_left_out_makes_unknown_what_it_may_have_changed(text: str) -> None:
    assert arguments(text) == []


@pytest.mark.parametrize(
    "condition", ["f(1) == 1 or True", "True or f(1)", "f(1) == f(1)", "not (f(1) != f(1))", "f(1) or 3"]
)
def test_a_condition_that_always_holds_is_no_case(condition: str) -> None:
    assert arguments(f"assert {condition}") == []


def test_of_more_cases_than_the_limit_the_rest_is_refused_with_one_count() -> None:
    text = "for i in range(50):\n    assert f(i) == i\ndef test_a():\n    assert f(1) == 1\n"
    reading = read_cases(text, "f", limit=10)
    assert len(reading.cases) == 10
    assert [refusal.reason for refusal in reading.refused] == ["too_many"]
    rows = read_cases("[" + ",".join(f"(({i},), {i})" for i in range(50)) + "]", "f", limit=10)
    assert (len(rows.cases), [refusal.reason for refusal in rows.refused]) == (10, ["too_many"])


def test_further_calls_count_towards_the_limit() -> None:
    text = "\n".join(f"assert f({i}) == f({i + 100})" for i in range(20))
    assert len(read_cases(text, "f", limit=10).cases) == 5


def test_the_problems_own_helpers_may_be_called_on_known_values_only() -> None:
    helpers = "import math\nSIZE = 2\ndef double(x):\n    return x * SIZE\ndef f(x):\n    return 0\n"
    text = "from solution import double\nassert f(double(3)) == double(1)\nassert double(f(1)) == 2\n"
    reading = read_cases(text, "f", helpers=helpers)
    assert [(case.arguments, case.expected) for case in reading.cases] == [('["l",6]', "2")]
    assert [refusal.reason for refusal in reading.refused] == ["property"]
