"""Verdicts by comparison."""

from __future__ import annotations

import pytest

from selfplay.box.task import Execution
from selfplay.cases.case import Case
from selfplay.cases.compare import check, is_same_text, same_output
from selfplay.cases.values import encode
from selfplay.reading import read_cases


@pytest.mark.parametrize(
    ("operator", "returned", "expected", "passes"),
    [
        ("==", 1, True, True),
        ("==", [1], (1,), False),
        ("!=", 1, 2, True),
        ("<", 1, "a", False),
        (">=", 2.0, 2, True),
        ("is", True, True, True),
        ("is", 1, True, False),
        ("is", None, None, True),
        ("is_not", 0, None, True),
        ("in", 1, [2, 1], True),
        ("not_in", "a", "xyz", True),
        ("in", 1, 5, False),
        ("truthy", [0], True, True),
        ("falsy", [], False, True),
        ("truthy", object(), True, False),
        ("approx", (1.0,), [1.0], True),
    ],
)
def test_an_operator_decides(operator: str, returned: object, expected: object, passes: bool) -> None:
    tolerant = Case("t", "", "[]", operator, encode(expected), (), (1e-6, 0.0))
    assert check(tolerant, Execution("returned", encode(returned))) == ("passed" if passes else "failed")


@pytest.mark.parametrize(
    ("execution", "expected"),
    [
        (Execution("timeout"), "timeout"),
        (Execution("crashed"), "error"),
        (Execution("not_collected"), "not_collected"),
        (Execution("infra_error"), "infra_error"),
        (Execution("raised", exception=("ValueError", "Exception")), "error"),
        (Execution("returned", "garbage"), "error"),
        (Execution("returned", ""), "error"),
        (Execution("returned", '["l",' * 90 + "1" + "]" * 90), "failed"),
    ],
)
def test_what_did_not_return_has_its_own_verdict(execution: Execution, expected: str) -> None:
    assert check(Case("t", "", "[]", "==", "1"), execution) == expected


@pytest.mark.parametrize(
    ("execution", "expected"),
    [
        (Execution("raised", exception=("KeyError", "LookupError", "Exception")), "passed"),
        (Execution("raised", exception=("TypeError", "Exception")), "failed"),
        (Execution("returned", "null"), "failed"),
        (Execution("timeout"), "timeout"),
    ],
)
def test_an_expected_exception_is_met_by_its_subclasses(execution: Execution, expected: str) -> None:
    assert check(Case("t", "", "[]", "raises", '["LookupError"]'), execution) == expected


@pytest.mark.parametrize(
    ("printed", "expected", "tolerance", "same"),
    [
        ("1 2\n", "1 2", 0.0, True),
        ("1 2  \n\n\n", "1 2\n", 0.0, True),
        ("1  2\n", "1 2\n", 0.0, False),
        ("\n1\n", "1\n", 0.0, False),
        ("0.333333\n", "0.333334\n", 0.0, False),
        ("0.333333\n", "0.333334\n", 1e-4, True),
        ("x 0.3\n", "y 0.3\n", 1e-4, False),
        ("nan\n", "nan\n", 1e-4, True),
        ("", "\n", 0.0, True),
        ("1", "1\n2", 1e-4, False),
    ],
)
def test_output_is_compared_line_by_line(printed: str, expected: str, tolerance: float, same: bool) -> None:
    assert same_output(printed, expected, (tolerance, tolerance)) is same


def test_a_range_of_huge_bounds_inside_a_set_is_compared() -> None:
    huge = '["I","0x' + "f" * 9000 + '"]'
    case = Case("test", "", '["t"]', "==", '["s",1]')
    assert check(case, Execution("returned", f'["s",["r",0,{huge},1]]')) == "failed"


def same_text(test: str, value: object) -> bool:
    [case] = read_cases(f"assert {test}", "f").cases
    return is_same_text(case, Execution("returned", encode(value)))


def test_a_text_that_is_the_expected_one_letter_by_letter_passes() -> None:
    assert same_text("f(1) == [1, {'a': {2, 3}}]", [1, {"a": {2, 3}}])
    assert not same_text("f(1) == [1, 2]", [1, 3])
    assert is_same_text(Case("s", "", "1", "stdout", "2\n"), Execution("returned", "2\n"))


def test_equal_texts_of_what_equals_nothing_settle_nothing() -> None:
    [case] = read_cases("assert f(1) == [float('nan')]", "f").cases
    assert not is_same_text(case, Execution("returned", case.expected))
    assert not is_same_text(Case("o", "", '["l",1]', "==", '["o","x"]'), Execution("returned", '["o","x"]'))
    assert not same_text("f(1) != 2", 2)
    assert not same_text("len(f(1)) == 2", 2)
    [case] = read_cases("assert f(1) == 2", "f").cases
    assert not is_same_text(case, Execution("raised", case.expected))


@pytest.mark.parametrize(
    ("test", "value", "passes"),
    [
        ("not all(len(x) == 2 for x in f(1))", {"1", 2**80}, False),
        ("any(len(x) == 1 for x in f(1))", {"1", 7}, False),
        ("not all(len(x) == 2 for x in f(1))", {"1", "ab"}, True),
        ("f(1) not in b'a'", 2**80, False),
        ("f(1) not in b'a'", 98, True),
    ],
)
def test_what_python_raises_in_some_order_or_for_some_number_fails(test: str, value: object, passes: bool) -> None:
    [case] = read_cases(f"assert {test}", "f").cases
    assert (check(case, Execution("returned", encode(value))) == "passed") is passes
