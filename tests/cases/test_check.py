"""A literal case's verdict on what a call did (test_literal_verdicts.py compares it with Python's)."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from selfplay.box.task import Execution
from selfplay.cases.case import Case
from selfplay.cases.check import check, is_same_text, same_output
from selfplay.cases.steps import Steps
from selfplay.cases.values import encode


def case(operator: str, expected: Any, tolerance: tuple[float, float] = (0.0, 0.0)) -> Case:
    return Case(
        "test", "", '["l"]', operator, expected if operator in ("raises", "stdout") else encode(expected), tolerance
    )


def returned(value: Any) -> Execution:
    return Execution("returned", value if isinstance(value, str) and value.startswith("[") else encode(value))


def verdict(operator: str, expected: Any, value: Any, tolerance: tuple[float, float] = (0.0, 0.0)) -> str:
    return check(case(operator, expected, tolerance), returned(value))


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("timeout", "timeout"),
        ("crashed", "error"),
        ("raised", "error"),
        ("not_collected", "not_collected"),
        ("infra_error", "infra_error"),
    ],
)
@pytest.mark.parametrize("operator", ["==", "!=", "stdout"])
def test_a_call_that_does_not_return_is_never_passed(
    status: Literal["timeout", "crashed", "raised", "not_collected", "infra_error"], expected: str, operator: str
) -> None:
    assert check(case(operator, "1"), Execution(status)) == expected


@pytest.mark.parametrize(
    ("execution", "expected"),
    [
        (Execution("raised", exception=("KeyError", "LookupError", "Exception")), "passed"),
        (Execution("raised", exception=("ValueError", "Exception")), "failed"),
        (Execution("returned", "1"), "failed"),
        (Execution("timeout"), "timeout"),
    ],
)
def test_an_expected_exception_is_one_of_its_classes(execution: Execution, expected: str) -> None:
    assert check(case("raises", '["LookupError", "TypeError"]'), execution) == expected


def test_text_that_is_no_value_is_an_error() -> None:
    assert check(case("==", 1), Execution("returned", "{}")) == "error"


def test_the_same_text_is_passed_without_a_look_but_for_what_equals_nothing() -> None:
    assert is_same_text(case("==", [1, 2]), returned([1, 2]))
    assert not is_same_text(case("==", [1, float("nan")]), returned([1, float("nan")]))
    assert not is_same_text(case("!=", 1), returned(1))
    assert check(case("==", [1, 2]), returned([1, 2]), Steps(0)) == "passed"


@pytest.mark.parametrize("operator", ["==", "!=", "<", "in", "not_in", "approx", "is_not"])
def test_a_comparison_without_steps_fails(operator: str) -> None:
    assert check(case(operator, [1, 2]), returned([3]), Steps(0)) == "failed"


def test_comparisons_share_the_steps_that_they_are_given() -> None:
    """Each had 500,000 of its own, and sixty with one large result no total."""
    steps, value = Steps(3_000), returned([*range(10_000)])
    assert [check(case("!=", [1]), value, steps) for _ in range(3)] == ["passed", "passed", "failed"]


@pytest.mark.parametrize(
    ("expected", "value", "passes"),
    [
        (1.0, 1.0000001, True),
        (1.0, 1.1, False),
        (1.0, "1.0", False),
        ([1.0, 2], (1.0, 2.0000001), True),
        ([1.0], [1.0, 2.0], False),
        ([1.0], {1.0}, True),
        ([1.0, 2.0], {1.0, 2.0}, False),
        ([1, 2, 3], range(1, 4), True),
        ([1.0], [[1.0]], False),
        ({"a": 1.0}, {"a": 1.0000001}, True),
        ({"a": 1.0}, {"b": 1.0}, False),
        ({"a": 1.0}, [1.0], False),
        (float("inf"), float("inf"), True),
        (float("inf"), 1e308, False),
        (1.0, 10**400, False),
    ],
)
def test_approximately_is_pytests(expected: Any, value: Any, passes: bool) -> None:
    assert verdict("approx", expected, value, (1e-6, 1e-12)) == ("passed" if passes else "failed")


@pytest.mark.parametrize(
    "value", ['["s",1,2]', '["o","object"]', '["h","Stack",0]', '["g",1]', '["f","nan"]', '["y","lambda: 1"]']
)
@pytest.mark.parametrize("operator", ["==", "<", "in", "is", "approx", "truthy"])
def test_values_of_every_kind_get_a_verdict(operator: str, value: str) -> None:
    assert verdict(operator, [1.0], value) in ("passed", "failed")


@pytest.mark.parametrize(
    ("printed", "expected", "tolerance", "same"),
    [
        ("1 2 \n3\n\n", "1 2\n3", 0.0, True),
        ("1\n2", "1 2", 0.0, False),
        ("1  2", "1 2", 0.0, False),
        ("a 1.0000001", "a 1", 1e-6, True),
        ("a 1.1", "a 1", 1e-6, False),
        ("b 1", "a 1", 1e-6, False),
    ],
)
def test_printed_text_is_compared_line_by_line(printed: str, expected: str, tolerance: float, same: bool) -> None:
    assert same_output(printed, expected, (tolerance, tolerance)) == same
