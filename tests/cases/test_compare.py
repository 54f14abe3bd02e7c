"""Verdicts by comparison."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.box.task import Execution
from selfplay.cases.case import Case
from selfplay.cases.compare import check, holds, is_same_text, same_output
from selfplay.cases.steps import Steps
from selfplay.cases.values import encode, load
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
        ("is", 1, 1, False),
        ("is", "a", "a", False),
        ("is_not", 1, 1, True),
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
        (Execution("raised", "1", exception=("ValueError", "Exception")), "error"),
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
        ("1 \n2\t\n", "1\n2", 0.0, True),
        ("MAX\n", "MA\n", 0.0, False),
        ("1\n2", "1 2", 1e-4, False),
        ("1 2", "1 2 3", 1e-4, False),
        ("0.3 x", "0.3 x", 1e-4, True),
    ],
)
def test_output_is_compared_line_by_line(printed: str, expected: str, tolerance: float, same: bool) -> None:
    assert same_output(printed, expected, (tolerance, tolerance)) is same


@pytest.mark.parametrize(
    ("execution", "tolerance", "expected"),
    [
        (Execution("returned", "2 \n"), (0.0, 0.0), "passed"),
        (Execution("returned", "2.01"), (0.0, 0.0), "failed"),
        (Execution("returned", "2.01"), (0.0, 0.1), "passed"),
        (Execution("returned", "2.01"), (0.01, 0.0), "passed"),
        (Execution("returned", ""), (0.0, 0.0), "failed"),
        (Execution("raised", "2", exception=("ValueError",)), (0.0, 0.0), "error"),
        (Execution("timeout", "2"), (0.0, 0.0), "timeout"),
    ],
)
def test_what_a_program_printed_is_compared_as_text(
    execution: Execution, tolerance: tuple[float, float], expected: str
) -> None:
    assert check(Case("s", "", "1", "stdout", "2\n", tolerance=tolerance), execution) == expected


RAN = {
    "returned": Execution("returned", "1"),
    "unreadable": Execution("returned", "garbage"),
    "raised": Execution("raised", exception=("ValueError",)),
    "crashed": Execution("crashed"),
    "timeout": Execution("timeout"),
    "not_collected": Execution("not_collected"),
    "infra_error": Execution("infra_error"),
}


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("returned", "returned", "passed"),
        ("returned", "unreadable", "error"),
        ("returned", "raised", "error"),
        ("crashed", "raised", "error"),
        ("crashed", "timeout", "timeout"),
        ("timeout", "not_collected", "not_collected"),
        ("not_collected", "infra_error", "infra_error"),
        ("unreadable", "timeout", "timeout"),
    ],
)
def test_of_several_calls_the_one_that_says_least_of_the_program_decides(one: str, other: str, expected: str) -> None:
    [case] = read_cases("assert f(1) == f(2)", "f").cases
    assert case.operator == "satisfies"
    assert check(case, RAN[one], RAN[other]) == expected
    assert check(case, RAN[other], RAN[one]) == expected


PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, 1.0, float("inf")])
    | st.text("ab", max_size=2)
)
KEYS = PLAIN | st.tuples(PLAIN, PLAIN)
ANY = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.sets(KEYS, max_size=3)
        | st.dictionaries(KEYS, inner, max_size=3)
    ),
    max_leaves=6,
)


def verdict(returned: object, operator: str, expected: object) -> str:
    return check(Case("t", "", "[]", operator, encode(expected)), Execution("returned", encode(returned)))


@given(ANY, ANY)
def test_a_comparison_and_its_negation_never_both_pass(returned: object, expected: object) -> None:
    for operator, negated in (("==", "!="), ("is", "is_not"), ("in", "not_in"), ("truthy", "falsy")):
        found = {verdict(returned, operator, expected), verdict(returned, negated, expected)}
        assert found in ({"passed", "failed"}, {"failed"})  # both fail where Python would raise


@given(ANY, ANY)
def test_equality_is_pythons_and_has_no_direction(returned: object, expected: object) -> None:
    assert (verdict(returned, "==", expected) == "passed") == (returned == expected)
    assert verdict(expected, "==", returned) == verdict(returned, "==", expected)


@given(ANY)
def test_what_is_expected_passes(value: object) -> None:
    assert verdict(value, "==", value) == "passed"
    assert verdict(value, "in", [value]) == "passed"


@given(ANY, ANY)
def test_an_equal_text_passes(returned: object, expected: object) -> None:
    case = Case("t", "", "[]", "==", encode(expected))
    if is_same_text(case, Execution("returned", encode(returned))):
        assert check(case, Execution("returned", encode(returned))) == "passed"


@given(ANY, ANY)
def test_exactly_one_of_smaller_equal_and_greater_passes_for_what_is_ordered_in_full(a: object, b: object) -> None:
    found = [operator for operator in ("<", "==", ">") if verdict(a, operator, b) == "passed"]
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        assert len(found) == 1
    assert len(found) <= 1


@given(
    st.text(max_size=30)
    | st.lists(st.sampled_from(["[", "]", '"l"', '"d"', '"s"', ",", "1", '"f"']), max_size=12).map("".join)
)
def test_no_text_that_came_back_makes_the_comparison_raise(value: str) -> None:
    for operator in ("==", "in", "<", "approx", "truthy"):
        found = check(Case("t", "", "[]", operator, '["l",1]'), Execution("returned", value))
        assert found in ("passed", "failed", "error")


@given(st.lists(st.text("ab 1.\n\t", max_size=8), max_size=4).map("\n".join))
def test_blanks_that_nobody_sees_change_no_output(text: str) -> None:
    assert same_output(text, text)
    assert same_output("\n".join(f"{line} \t" for line in text.split("\n")) + "\n\n", text)
    assert not same_output(f"{text}\nx", text)
    assert same_output(text, text, (1e-6, 0.0))


@pytest.mark.parametrize("test", ["sorted(f(1)) == [1, 2, 3]", "f(1) < [4]", "f(1)[0] + f(1)[1] == 5"])
def test_a_comparison_is_paid_for_by_the_steps_that_it_is_given(test: str) -> None:
    [case] = read_cases(f"assert {test}", "f").cases
    tree, enough, short = load(encode([3, 2, 1])), Steps(1_000), Steps(1)
    assert holds(case, tree, steps=enough)
    assert enough.left < 1_000
    assert not holds(case, tree, steps=short)


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
