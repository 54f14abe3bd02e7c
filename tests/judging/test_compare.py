"""Verdicts by comparison: Python's semantics, on trees."""

from __future__ import annotations

import itertools
import json
import math
import operator
import time
from collections.abc import Callable
from typing import Any

import pytest

from selfplay.judging.cases import Case, Execution
from selfplay.judging.compare import check, equal, same_output
from selfplay.judging.equality import Mismatch, member, order, truth
from selfplay.judging.values import encode, load
from selfplay.judging.views import view

VALUES: list[Any] = [
    *(None, True, False, 0, 1, 2, -1, 1.0, 0.0, -0.0, 0.5, 2**60, float(2**60), 10**400, math.inf, -math.inf, 1j),
    *("", "a", "b", "1", [1], (1,), [1.0], [], (), [1, 2], [2], ["a"], [[1, 2], [3]], [{1, 2}], [{2, 1.0}], (1, "a")),
    *(set(), frozenset(), {1}, {1.0}, frozenset([True]), {1, 2}, {2, 1, "a"}, {frozenset([1, frozenset([2])])}),
    *({}, {1: 2}, {True: 2.0}, {"a": [1]}, {"a": [1], "b": 1}, {"b": True, "a": [1.0]}, {(1, 2): 3}, b"a"),
    *(range(0), range(5, 5), range(1), range(0, 1, 5), range(3), range(0, 5, 2), range(0, 6, 2), range(3, 0, -1)),
    *({frozenset([1.0, frozenset([2])])}, b"ab", {None}, [None], 1 + 0j, bytearray(b"a")),
]  # fmt: skip


def tree(value: object) -> Any:
    return load(encode(value))


def python(function: Callable[[], bool]) -> object:
    try:
        return function()
    except (TypeError, ValueError):
        return "raises"


def ours(function: Callable[[], bool]) -> object:
    try:
        return function()
    except Mismatch:
        return "raises"


def test_equality_is_pythons_on_all_pairs() -> None:
    for a, b in itertools.product(VALUES, VALUES):
        assert equal(tree(a), tree(b)) == (a == b), (a, b)


@pytest.mark.parametrize("test", [operator.lt, operator.le, operator.gt, operator.ge])
def test_order_is_pythons_on_all_pairs(test: Callable[[Any, Any], bool]) -> None:
    for a, b in itertools.product(VALUES, VALUES):
        assert ours(lambda: order(tree(a), tree(b), test)) == python(lambda: test(a, b)), (a, b)  # noqa: B023


def test_membership_is_pythons_where_python_does_not_raise() -> None:
    for a, b in itertools.product(VALUES, VALUES):
        expected = python(lambda: a in b)  # noqa: B023
        found = ours(lambda: member(tree(a), tree(b)))  # noqa: B023
        assert found == expected or expected == "raises" or isinstance(a, complex), (a, b)


def test_truth_is_pythons() -> None:
    assert [truth(tree(value)) for value in VALUES] == [bool(value) for value in VALUES]


def test_nan_and_opaque_values_equal_nothing() -> None:
    for value in (math.nan, object()):
        for wrapped in (value, [value], {1: value}):
            assert not equal(tree(wrapped), tree(wrapped))
    assert not equal(load('["s",["f","nan"]]'), load('["s",["f","nan"]]'))


def test_keys_that_python_holds_equal_are_one_key() -> None:
    assert equal(load('["d",[1,"a"],[true,"b"]]'), load('["d",[["f","1.0"],"b"]]'))
    assert equal(load('["s",1,true,["f","1.0"]]'), load('["s",1]'))


def test_items_that_collide_as_hashes_cost_no_more_than_others() -> None:
    colliding = json.dumps(["s", *(["I", hex(i * (2**61 - 1))] for i in range(2**16, 2**16 + 60_000))])
    start = time.perf_counter()
    assert equal(load(colliding), load(colliding))
    assert time.perf_counter() - start < 10


@pytest.mark.parametrize(
    ("a", "b", "rel", "absolute", "expected"),
    [
        (1.0, 1.0 + 1e-9, 1e-6, 0.0, True),
        (1.0, 1.1, 1e-6, 0.0, False),
        (0.0, 1e-13, 0.0, 1e-12, True),
        ([1.0, (2.0,)], [1.0000001, (2.0,)], 1e-6, 0.0, True),
        ({"a": 1.0}, {"a": 1.0000001}, 1e-6, 0.0, True),
        (math.nan, math.nan, 1e-6, 1.0, False),
        (math.inf, math.inf, 1e-6, 0.0, True),
        (math.inf, 1e308, 1e-2, 1.0, False),
        (10**400, 10**400 + 1, 1e-6, 0.0, True),
        (10**400, 1.0, 1e-6, 0.0, False),
        (10**400, math.inf, 1e-6, 0.0, False),
        (1 + 1j, 1 + 1.0000001j, 1e-6, 0.0, True),
        ("a", "a", 1e-6, 0.0, True),
        (None, 0, 1e-6, 1.0, False),
    ],
)
def test_a_tolerance_reaches_into_sequences(a: object, b: object, rel: float, absolute: float, expected: bool) -> None:
    assert equal(tree(a), tree(b), rel, absolute) is expected


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("len",), {"a": 1}, 1),
        (("len",), range(10**18), 10**18),
        (("sorted",), {3, 1, 2}, [1, 2, 3]),
        (("sorted", "reversed"), [(1, "b"), (1, "a")], [(1, "b"), (1, "a")]),
        (("set",), [1, 1.0, 2], {1, 2}),
        (("list",), {"b": 1, "a": 2}, ["b", "a"]),
        (("list",), "ab", ["a", "b"]),
        (("tuple", "index", "-1"), [1, 2], 2),
        (("index", "0"), {0: "zero"}, "zero"),
        (("key", '"a"'), {"a": 1}, 1),
        (("slice", ",,-1"), "abc", "cba"),
        (("slice", "1,,"), [1, 2, 3], [2, 3]),
        (("slice", "1,,"), range(3), range(1, 3)),
        (("slice", "1,,", "list"), range(3), [1, 2]),
        (("sum",), [1, 2.5], 3.5),
        (("max",), [1, 3, 2], 3),
        (("round", "2"), 3.14159, 3.14),
        (("round", ""), 2.5, 2),
        (("str",), [1, ("a",)], "[1, ('a',)]"),
        (("int",), "12", 12),
        (("bool",), [], False),
        (("lower", "strip"), " A ", "a"),
        (("count", "1"), [1, True, 2], 2),
        (("has", "2"), [1, 2], True),
        (("isinstance", "int|str"), True, True),
        (("isinstance", "float"), 1, False),
        (("type_is", "int"), True, False),
        (("list",), {3: 1}, [3]),
        (("keys",), {"a": 1}, {"a"}),
        (("items", "list"), {"a": 1}, [("a", 1)]),
        (("any",), [0, 1], True),
    ],
)
def test_a_view_does_what_python_does(path: tuple[str, ...], value: object, expected: object) -> None:
    assert equal(view(path, tree(value)), tree(expected))


@pytest.mark.parametrize(
    ("path", "value"),
    [(("len",), 3), (("index", "5"), [1]), (("sorted",), [1, "a"]), (("int",), "x"), (("sum",), ["a"]), (("str",), {1}),
     (("list",), range(10**12)), (("key", "1"), {}), (("lower",), 1), (("int",), math.inf), (("float",), 10**400)],
)  # fmt: skip
def test_a_view_that_python_would_refuse_is_a_mismatch(path: tuple[str, ...], value: object) -> None:
    with pytest.raises(Mismatch):
        view(path, tree(value))


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
