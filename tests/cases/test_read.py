"""What of a text is literal, and what is left to be run."""

from __future__ import annotations

import ast
import json
import time

import pytest

from selfplay.cases.read import read_cases, read_stdin_cases
from selfplay.game.problems import StdinTest

IMPORTS = "import pytest\n"


def stated(text: str, signature: str = "") -> list[tuple[str, str, str, str]]:
    return [(one.name, one.arguments, one.operator, one.expected) for one in read_cases(text, "f", signature).cases]


@pytest.mark.parametrize(
    ("test", "arguments", "operator", "expected"),
    [
        ("f(1, [2]) == (3,)", '["l",1,["l",2]]', "==", '["t",3]'), ("3 == f(x=1)", '["d",["",["l"]],["x",1]]', "==", "3"),
        ("f(1) is None", '["l",1]', "is", "null"), ("3 < f(1)", '["l",1]', ">", "3"),
        ("f(1) not in {1: 2}", '["l",1]', "not_in", '["d",[1,2]]'),
        ("f(1)", '["l",1]', "truthy", "true"), ("not f(1)", '["l",1]', "falsy", "true"), ("not f(1) == 2", '["l",1]', "!=",
        "2"),
        ("f(list(range(3))) == -2 ** 2", '["l",["l",0,1,2]]', "==", "-4"),
        ("f('a' * 3) == [0] * 2", '["l","aaa"]', "==", '["l",0,0]'),
        ("f({2, 1}) == float('inf')", '["l",["s",1,2]]', "==", '["f","inf"]'),
        ("f(1) == [1, 'a'], 'a message'", '["l",1]', "==", '["l",1,"a"]'),
    ],
)  # fmt: skip
def test_a_literal_assertion_is_data(test: str, arguments: str, operator: str, expected: str) -> None:
    assert stated(f"assert {test}") == [("assert", arguments, operator, expected)]
    assert read_cases(f"assert {test}", "f").rest == ""


def test_tolerances_and_exceptions_are_data() -> None:
    text = IMPORTS + (
        "def test_a():\n    assert f(1) == pytest.approx(2.5)\n    assert f(1) == pytest.approx(2.5, abs=0.1)\n"
        "    assert abs(f(1) - 2.5) <= 0.25\n    with pytest.raises((ValueError, KeyError)):\n        f(0)\n"
    )
    cases = read_cases(text, "f").cases
    assert [case.tolerance for case in cases] == [(1e-6, 1e-12), (0.0, 0.1), (0.0, 0.25), (0.0, 0.0)]
    assert (cases[3].name, json.loads(cases[3].expected)) == ("test_a[3]", ["KeyError", "ValueError"])


@pytest.mark.parametrize(
    "text",
    [
        "assert f(f(1)) == 1", "assert f(1) == g(1)", "assert len(f(1)) == 1", "assert f(1)[0] == 1",
        "assert f(1) == f(2)", "x = f(1)\nassert x == 1",
        "for n in (1, 2):\n    assert f(n) == n", "assert f(1) is 'a'", "assert 0 < f(1) < 2", "assert f(*[1]) == 1",
        "assert f(10 ** 10 ** 10) == 1",
        "def test_a(x):\n    assert f(1) == 1", "@some\ndef test_a():\n    assert f(1) == 1",
        "def test_a():\n    return\n    assert f(1) == 1",
        "class TestA:\n    def test_a(self):\n        assert f(1) == 1", "if True:\n    assert f(1) == 1",
        "assert f({[]: 1}) == 1",
        "f = len\nassert f([1]) == 1", "from math import floor as f\nassert f(1) == 1",
        "globals()['f'] = len\nassert f(1) == 1", "list = 1\nassert f(list()) == 1",
        "import sys\nsys.stdout = None\nassert f(1) == 1", "from unittest import mock\nassert f(1) == 1",
        "assert f(1) == 1 if x else True",
        "def test_a():\n    pytest.skip()\n    assert f(1) == 1", "assert abs(f(1) - 1) < 0",
        "assert f(1) == pytest.approx([[1]])",
    ],
)  # fmt: skip
def test_whatever_else_asserts_is_left_to_be_run(text: str) -> None:
    reading = read_cases(text, "f")
    assert reading.cases == ()
    assert ast.dump(ast.parse(reading.rest)) == ast.dump(ast.parse(text))


def test_what_is_read_is_taken_out_of_what_runs() -> None:
    reading = read_cases(
        "y = 1\ndef test_a():\n    assert f(1) == 1\n    r = f(2)\n    assert r == 2\nassert f(3) == 3\n", "f"
    )
    assert [case.name for case in reading.cases] == ["test_a[0]", "assert"]
    assert reading.rest == "y = 1\n\ndef test_a():\n    r = f(2)\n    assert r == 2"


@pytest.mark.parametrize(
    "text",
    [
        "tests = [((1, 2), 3), ((2, 3), 5)]", "((1, 2), 3)\n((2, 3), 5)", "[((1, 2), 3), ((2, 3), 5)]",
        "[[[1, 2], 3], [[2, 3], 5]]",
        "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert True\n    assert candidate(2, 3) == 5\ncheck(f)",
        "def f(a, b):\n    return 0\nassert f(1, 2) == 3\nassert f(2, 3) == 5\nif __name__ == '__main__':\n    pytest.main()",
        "assert f(1, 2) == 3\nassert f(2, 3) == 5\nassert f(3,",
    ],
)  # fmt: skip
def test_tables_checks_and_scripts_are_literal(text: str) -> None:
    assert [fields[1:] for fields in stated(text, "def f(a, b):")] == [
        ('["l",1,2]', "==", "3"),
        ('["l",2,3]', "==", "5"),
    ]
    assert read_cases(text, "f", "def f(a, b):").rest == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("assert f(", "unreadable"),
        ("x" * (1 << 20) + "y", "size"),
        ("y = 1", "no_test"),
        ("assert f" + "(" * 10_000, "unreadable"),
    ],
)
def test_what_holds_no_test_is_refused_with_a_reason(text: str, reason: str) -> None:
    assert [refusal.reason for refusal in read_cases(text, "f").refused] == [reason]


def test_nothing_that_a_text_may_say_costs_much() -> None:
    start = time.process_time()
    for text in ("assert f([0] * 10**9) == 1", "assert f(9 ** 9 ** 9) == 1",
    "assert f(range(10**9)) == 1", f"assert f({'-' * 5000}1) == 1",
                 f"assert f({{{', '.join(str(n * (2**61 - 1)) for n in range(2_000))}}}) == 1",
                 "assert f(list(range(10**8))) == 1"):  # fmt: skip
        read_cases(text, "f")
    assert time.process_time() - start < 5


def test_inputs_and_outputs_are_cases() -> None:
    reading = read_stdin_cases([StdinTest("1  2\n", "3\n"), StdinTest("a" * (5 << 20), "")], 0.01)
    assert [(case.operator, case.arguments, case.expected, case.tolerance, case.calls) for case in reading.cases] == [
        ("stdout", "1  2\n", "3\n", (0.01, 0.01), ("1 2",))
    ]
    assert [refusal.reason for refusal in reading.refused] == ["budget"]
