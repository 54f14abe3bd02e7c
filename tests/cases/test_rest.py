"""What of a text of tests is read and what is left to be run: the edges (test_read.py has the forms)."""

from __future__ import annotations

import gzip
import json
import os
import time
from pathlib import Path

import pytest

from selfplay.cases.calls import call_text
from selfplay.cases.read import MAX_TEXT, Reading, problem_cases, read_cases
from selfplay.cases.values import decode
from selfplay.game.problems import Problem

TWO = "def f(a, b=2):"


def stated(text: str, signature: str = "") -> list[tuple[object, ...]]:
    """(arguments, operator, expected) of every case."""
    found = read_cases(text, "f", signature).cases
    return [
        (decode(c.arguments), c.operator, (json.loads if c.operator == "raises" else decode)(c.expected)) for c in found
    ]


def names(text: str) -> list[str]:
    return [case.name for case in read_cases(text, "f").cases]


def in_test(body: str) -> str:
    lines = "\n    ".join(body.splitlines())
    return f"import pytest\ndef test_x():\n    {lines}\n"


# ---- assertions ----


@pytest.mark.parametrize(
    ("text", "tolerance"),
    [
        ("assert f(1) == pytest.approx(3.0)", (1e-6, 1e-12)),
        ("assert pytest.approx(3.0, abs=0.01) == f(1)", (0.0, 0.01)),
        ("assert f(1) == pytest.approx(3.0, 0.01)", (0.01, 1e-12)),
        ("assert abs(f(1) - 3.0) <= 1e-3", (0.0, 1e-3)),
        ("assert 1e-3 >= abs(3.0 - f(1))", (0.0, 1e-3)),
        ("assert abs(f(1) - 3.0) < 1e-3", (0.0, 0.0009999999999999998)),
    ],
)
def test_a_tolerance_is_kept(text: str, tolerance: tuple[float, float]) -> None:
    (case,) = read_cases(in_test(text), "f").cases
    assert (case.operator, decode(case.expected), case.tolerance) == ("approx", 3.0, tolerance)


@pytest.mark.parametrize(
    "assertion",
    [
        "f(1) == f(2)",
        "f(f(1)) == 1",
        "len(f(1)) == 1",
        "f(1)[0] == 1",
        "1 in f(1)",
        "0 < f(1) < 2",
        "f(1) == 1 and f(2) == 2",
        "f(x) == 1",
        "f(*[1]) == 1",
        "f(**{'a': 1}) == 1",
        "f(1) == [x for x in (1, 2)]",
        "f(1) is 5",
        "not f(1) < 2",
        "f(1) == list({1, 2})",
        "f(1) == {[]}",
        "f(1) == 1 / 0",
        "f(1) != pytest.approx(1.0)",
        "f(1) == pytest.approx([[1.0]])",
        "f(1) == pytest.approx({1.0})",
        "f(1) == pytest.approx(1.0, abs=-1)",
        "f(1) == pytest.approx(float('nan'), nan_ok=True)",
        "math.isclose(f(1), 1.0)",
        "abs(f(1) - 1) < 0",
        "f('a' * 10 ** 9) == 1",
        "f([[0] * 10 ** 5] * 10 ** 5) == 1",
        "f(list(range(10 ** 9))) == 1",
        "f(10 ** 10 ** 10) == 1",
        "f({((((1,) * 1000,) * 1000,) * 1000): 1}) == 1",
        "(lambda: f(1))() == 1",
        "f(open('x')) == 1",
    ],
)
def test_any_other_assertion_is_left_to_be_run(assertion: str) -> None:
    assert read_cases(f"assert {assertion}", "f") == Reading(rest=f"assert {assertion}")


@pytest.mark.parametrize(
    "body",
    [
        "with pytest.raises(ValueError, match='x'):\n    f(1)",
        "with pytest.raises(ValueError) as e:\n    f(1)",
        "with pytest.raises(ValueError):\n    f(1)\n    f(2)",
        "with pytest.raises(ValueError):\n    f(f(1))",
        "with pytest.raises(Missing):\n    f(1)",
        "with pytest.raises((ValueError, len)):\n    f(1)",
    ],
)
def test_an_exception_that_is_looked_at_closer_is_left_to_be_run(body: str) -> None:
    reading = read_cases(in_test(body), "f")
    assert not reading.cases
    assert reading.rest == in_test(body)


def test_a_source_is_written_from_the_tree_without_its_message() -> None:
    (case,) = read_cases("assert f(\n  'é', 1 # x\n) == 2, open('y')", "f").cases
    assert case.source == "assert f('é', 1) == 2"
    (case,) = read_cases(f"assert f({'a' * 5_000!r}) == 2", "f").cases
    assert len(case.source) == 2_000


def test_calls_are_folded_and_arguments_stay_as_they_were_written() -> None:
    spellings = "assert f(1) == 1\nassert f(1, 2) == 1\nassert f(b=2, a=1) == 1"
    cases = read_cases(spellings, "f", TWO).cases
    assert {case.calls for case in cases} == {(call_text([1, 2]),)}
    assert [case.arguments for case in cases] == [call_text([1]), call_text([1, 2]), call_text([], {"b": 2, "a": 1})]


# ---- where they stand ----


def test_names_carry_an_index_only_where_there_are_several() -> None:
    text = "assert f(1) == 1\ndef test_a():\n    assert f(2) == 2\n"
    text += "def test_b():\n    assert f(3)\n    assert f(f(3))\n    assert f(4)\n"
    assert names(text) == ["assert", "test_a", "test_b[0]", "test_b[2]"]


def test_what_is_read_leaves_and_the_rest_keeps_all_that_a_run_needs() -> None:
    text = "import math\nX = [1]\ndef helper(y):\n    return y\ndef test_a():\n    assert f(1) == 1\n"
    text += "def test_b():\n    x = f(X)\n    assert f(2) == 2\n    assert x == helper(3)\n"
    reading = read_cases(text, "f")
    assert [case.name for case in reading.cases] == ["test_a", "test_b[0]"]
    kept = (
        "import math\nX = [1]\n\ndef helper(y):\n    return y\n\ndef test_b():\n    x = f(X)\n    assert x == helper(3)"
    )
    assert reading.rest == kept


def test_a_function_in_which_nothing_is_left_to_fail_leaves() -> None:
    assert read_cases("def test_a():\n    'doc'\n    x = [1]\n    assert f(1) == 1\n    print('ok')", "f").rest == ""


@pytest.mark.parametrize(
    "end", ["return", "raise ValueError", "pytest.skip('x')", "if f(0):\n        return", "sys.exit()"]
)
def test_what_may_not_be_reached_is_not_read(end: str) -> None:
    text = in_test(f"assert f(1) == 1\n{end}\nassert f(2) == 2")
    reading = read_cases(text, "f")
    assert [decode(case.arguments) for case in reading.cases] == [[1]]
    assert "assert f(2) == 2" in reading.rest


@pytest.mark.parametrize(
    "text",
    [
        "def test_a(x):\n    assert f(1) == 1",
        "def test_a(*, x=1):\n    assert f(1) == 1",
        "@mark\ndef test_a():\n    assert f(1) == 1",
        "async def test_a():\n    assert f(1) == 1",
        "def test_a():\n    yield\n    assert f(1) == 1",
        "class TestA:\n    def test_a(self):\n        assert f(1) == 1",
        "def test_a():\n    assert f(1) == 1\ndef test_a():\n    assert f(2) == 2",
        "def test_a():\n    assert f(1) == 1\ntest_a.skip = True",
        "def test_a():\n    for i in range(2):\n        assert f(1) == 1",
        "def test_a():\n    if f(2):\n        assert f(1) == 1",
        "def helper():\n    assert f(1) == 1\nhelper()",
        "try:\n    assert f(1) == 1\nfinally:\n    pass",
    ],
)
def test_only_the_straight_line_of_a_plain_function_is_read(text: str) -> None:
    assert read_cases(text, "f") == Reading(rest=text)


@pytest.mark.parametrize(
    "line",
    [
        "f = g",
        "def g(f): pass",
        "from math import f",
        "from solution import g as f",
        "import f",
        "from os import *",
        "from solution import *\nfrom os import *",
        "for f in (): pass",
        "import solution; solution.f = 1",
        "globals()['f'] = 1",
        "from unittest.mock import patch",
        "import sys; sys.modules['x'] = 1",
        "pytestmark = []",
        "def setup_function(): pass",
        "import sys; sys.stdout = None",
        "match 1:\n    case f: pass",
        "try:\n    pass\nexcept Exception as f:\n    pass",
        "with x as f: pass",
        "if x:\n    def f(): pass",
    ],
)
def test_nothing_is_literal_where_the_function_under_test_may_be_another(line: str) -> None:
    text = f"{line}\nassert f(1) == 1\ndef test_a():\n    assert f(2) == 2\n"
    assert read_cases(text, "f") == Reading(rest=text)


@pytest.mark.parametrize(
    ("line", "assertion"),
    [
        ("range = g", "f(range(2)) == 1"),
        ("def g(abs): pass", "abs(f(1) - 1) < 0.1"),
        ("from x import list", "f(list()) == 1"),
        ("pytest = g", "f(1) == pytest.approx(1.0)"),
    ],
)
def test_a_name_of_pythons_or_pytests_that_is_bound_is_not_known(line: str, assertion: str) -> None:
    text = f"{line}\nassert {assertion}\nassert f(1) == 1"
    reading = read_cases(text, "f")
    assert len(reading.cases) == 1
    assert assertion in reading.rest


def test_imports_of_what_is_under_test_and_of_pytest_are_followed() -> None:
    text = "from solution import f\nfrom my.module import *\nfrom pytest import approx, raises\n"
    text += "assert f(1) == approx(2)\nwith raises(ValueError):\n    f(2)"
    assert [case[1] for case in stated(text)] == ["approx", "raises"]


@pytest.mark.parametrize("text", ["class f:\n    pass\nassert f(1) == 1", "assert f(1) == 1"])
def test_nothing_is_literal_where_the_entry_point_is_a_class(text: str) -> None:
    reading = read_cases(text, "f", "class f:")
    assert not reading.cases
    assert "assert f(1) == 1" in reading.rest


def test_copies_of_the_function_under_test_are_dropped_and_counted() -> None:
    copy = "def f(list):\n    range = 1\n    return list\n"
    reading = read_cases(f"{copy}f = lambda x: x\nassert f(range(1)) == 1", "f")
    assert (len(reading.cases), reading.rest, reading.salvaged) == (1, "", 2)


def test_what_starts_tests_is_no_test() -> None:
    text = "import unittest\ndef test_a():\n    assert f(1) == 1\ntest_a()\n"
    text += "unittest.main()\nif __name__ == '__main__':\n    globals()\n"
    reading = read_cases(text, "f")
    assert (len(reading.cases), reading.rest) == (1, "")


@pytest.mark.parametrize("call", ["", "\ncheck(f)"])
def test_humanevals_check_is_read_and_called_for_what_remains(call: str) -> None:
    text = "METADATA = {}\ndef check(candidate):\n    assert candidate(1) == 2\n    assert True, 'no more'\n"
    assert stated(text + call) == [([1], "==", 2)]
    assert read_cases(text + call, "f").rest == ""
    more = read_cases(f"{text}    assert candidate(g(3)) == 3\n{call}", "f")
    assert more.rest == "METADATA = {}\n\ndef check(candidate):\n    assert candidate(g(3)) == 3\ncheck(f)"


def test_a_check_of_something_else_is_left_to_be_run() -> None:
    for text in (
        "def check(candidate):\n    assert candidate(1) == 2\ncheck(g)",
        "def check(x):\n    assert x(1) == 2\ncheck(f)",
    ):
        assert read_cases(text, "f") == Reading(rest=text)


# ---- rows ----


def test_a_table_for_one_parameter_tells_a_list_from_arguments() -> None:
    found = stated("[([1, 2], 3), (5, 6), ((7,), 8)]", "def f(x):")
    assert [(case[0], case[2]) for case in found] == [([[1, 2]], 3), ([5], 6), ([7], 8)]


def test_a_table_that_a_test_goes_through_stays_a_table() -> None:
    text = "ROWS = [(1, 2)]\ndef test_a():\n    for a, b in ROWS:\n        assert f(a) == b"
    assert read_cases(text, "f") == Reading(rest=text)


def test_no_row_is_lost() -> None:
    reading = read_cases("((1,), 2)\n((g(1),), 2)\n(1,)\n(1, 2, 3)", "f", "def f(x):")
    assert len(reading.cases) == 1
    assert reading.rest == "assert f(g(1)) == 2"
    assert [(one.source, one.reason) for one in reading.refused] == [
        ("(1,)", "unreadable"),
        ("(1, 2, 3)", "unreadable"),
    ]


# ---- texts that are none ----


def test_of_a_list_that_breaks_off_nothing_is_lost() -> None:
    reading = read_cases("assert f(1) == 1\n((2,), 2)\nassert f(\n  3) == 3\nassert f(4) == [1,", "f")
    assert [decode(case.arguments) for case in reading.cases] == [[1], [2], [3]]
    assert [(one.source, one.reason) for one in reading.refused] == [("assert f(4) == [1,", "unreadable")]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def test_a():\n    assert f(1) == 1\nassert f(2) == [", "unreadable"),
        ("Here are tests.", "unreadable"),
        ("return 5", "unreadable"),
        ("assert f(a=1, a=2) == 1", "unreadable"),
        ("\0", "unreadable"),
        ("(" * 5_000, "unreadable"),
        ("assert f(" + "-" * 50_000 + "1) == 1", "unreadable"),
        ("a" * (MAX_TEXT + 1), "size"),
        ("def g():\n    return 1", "no_test"),
        ("import f\nX = 5", "no_test"),
        ("class Node:\n    def test_it(self): pass", "no_test"),
    ],
)
def test_a_text_without_a_test_is_refused_with_one_reason(text: str, reason: str) -> None:
    reading = read_cases(text, "f")
    assert [one.reason for one in reading.refused] == [reason]
    assert (reading.cases, reading.rest) == ((), "")


@pytest.mark.parametrize(
    "text",
    [
        "assert f(1) == " + " + ".join(["1"] * 900),
        "assert f(0x" + "f" * 20_000 + ") == 1",
        "x = f(0x" + "f" * 20_000 + ")\nassert f(1) == 1",
        "assert not " + "not " * 200 + "f(1)",
    ],
)
def test_what_cannot_be_written_as_source_is_run_as_it_is(text: str) -> None:
    reading = read_cases(text, "f")
    assert reading.rest == text or (not reading.rest and len(reading.cases) == 1)


TUPLES = ", ".join(repr(tuple(-1 - (number >> bit & 1) for bit in range(14))) for number in range(1 << 12))


@pytest.mark.parametrize(
    "text",
    [
        f"assert f({{{TUPLES}}}) == 1",
        f"assert f({{{', '.join(str(number * (2**61 - 1)) for number in range(9_000))}}}) == 1",
        f"assert f({' + '.join(['[0] * 9999'] * 400)}) == 1",
        "\n".join(["assert f('a' * 4_000_000) == 1"] * 1_000),
        "\n".join(f"def test_{number}():\n    assert f({number}) == 1" for number in range(3_000)),
        "\n".join(["(1,)"] * 5_000),
        "x = 1,\n" * 5_000 + "assert f(",
    ],
)
def test_hostile_text_is_done_quickly(text: str) -> None:
    start = time.process_time()
    reading = read_cases(text, "f")
    assert time.process_time() - start < 12
    assert sum(len(case.arguments) for case in reading.cases) < 40 << 20


def test_beyond_the_limit_there_is_one_refusal() -> None:
    reading = read_cases("\n".join(f"assert f({i}) == {i}" for i in range(50)), "f", limit=10)
    assert len(reading.cases) == 10
    assert [(one.reason, one.detail) for one in reading.refused] == [
        ("too_many", "10 cases of one text are read, it holds 40 more")
    ]


def test_a_problems_own_tests_are_read_one_by_one() -> None:
    tests = ("assert f(1, b=2) == 3", "f(1 +", "assert f(1, f(1, 2)) == 2\nassert f(1, 1)", "assert f(g()) == 1")
    problem = Problem("p", "", "f", "def f(a, b):", tests, hidden_tests=("assert f(1, 2)",))
    reading = problem_cases(problem)
    assert [case.name for case in reading.cases] == ["baseline[0]", "baseline[2][1]"]
    assert [(refusal.name, refusal.reason) for refusal in reading.refused] == [("baseline[1]", "unreadable")]
    assert reading.rest == "assert f(1, f(1, 2)) == 2\n\nassert f(g()) == 1"
    assert [case.name for case in problem_cases(problem, "hidden").cases] == ["assert"]


def test_nearly_all_assertions_of_humaneval_are_literal() -> None:
    folder = os.environ.get("SELFPLAY_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data"
    path = Path(folder) / "humaneval" / "HumanEval.jsonl.gz"
    if not path.exists():
        pytest.skip(f"no HumanEval at {path}; set SELFPLAY_DATA to the folder that holds it")
    tasks = [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
    readings = [read_cases(task["test"], task["entry_point"]) for task in tasks]
    assert not any(reading.refused for reading in readings)
    assert sum(len(reading.cases) for reading in readings) == 1_117
    assert sum(reading.rest != "" for reading in readings) == 8
