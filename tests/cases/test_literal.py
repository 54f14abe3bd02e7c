"""A value's text is the Python that spells it, and its length is bounded where people read it."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.box.task import Execution
from selfplay.cases.case import Case
from selfplay.cases.literal import SHOWN, did, literal, wanted
from selfplay.cases.values import encode, load

plain = (
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False)
        | st.text()
        | st.binary()
        | st.complex_numbers(),
        lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text() | st.integers(), inner),
        max_leaves=12,
    )
    | st.frozensets(st.integers())
    | st.sets(st.text())
)


@given(plain)
def test_the_text_of_a_value_spells_it(value: Any) -> None:
    again = eval(literal(load(encode(value))))
    assert encode(again) == encode(value)


def test_what_has_no_spelling_of_its_own_has_one_that_works() -> None:
    assert math.isnan(eval(literal(load(encode(float("nan"))))))
    assert literal(load(encode([set(), frozenset(), (1,), range(3), 2**400]))).startswith(
        "[set(), frozenset(), (1,), range(0, 3), 0x1"
    )
    assert literal(load(encode(object()))) == "<object>"


Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Point(1, ["a"]), "Point(x=1, y=['a'])"),
        (deque([1, 2]), "deque([1, 2])"),
        (deque([1], 3), "deque([1], maxlen=3)"),
        (Counter("aab"), "Counter({'a': 2, 'b': 1})"),
        (OrderedDict(a=1), "OrderedDict({'a': 1})"),
        (defaultdict(list, a=[1]), "defaultdict(None, {'a': [1]})"),
        (Decimal("1.50"), "Decimal('1.50')"),
        (Fraction(-1, 3), "Fraction(-1, 3)"),
        (dt.date(2024, 1, 31), "datetime.date(2024, 1, 31)"),
        (dt.datetime(2024, 1, 31, 5), "datetime.datetime(2024, 1, 31, 5, 0)"),
        (dt.time(1, 2), "datetime.time(1, 2)"),
        (dt.timedelta(1, 2), "datetime.timedelta(days=1, seconds=2)"),
    ],
)
def test_the_standard_library_s_values_are_spelled_by_their_classes(value: Any, text: str) -> None:
    assert literal(load(encode(value))) == text
    assert encode(eval(text, {**globals(), "datetime": dt})) == encode(value)


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ('["g",1,2]', "iter([1, 2])"),
        ('["g",1,["e","E","m"]]', "iter([1, <raises E>])"),
        ('["h","Stack",3]', "<Stack 3>"),
        ('["u","operator.add"]', "operator.add"),
        ('["y","lambda x: x + 1"]', "(lambda x: x + 1)"),
    ],
)
def test_what_only_the_box_has_is_spelled_as_far_as_it_can_be(text: str, spelled: str) -> None:
    assert literal(load(text)) == spelled


@given(plain, st.integers(1, 50))
def test_a_limit_holds_whatever_the_value(value: Any, limit: int) -> None:
    assert len(literal(load(encode(value)), limit)) <= limit + len(" ...")


@pytest.mark.parametrize(
    ("execution", "said"),
    [
        (Execution("returned", encode([1, "a"])), "returned [1, 'a']"),
        (Execution("raised", exception=("KeyError", "LookupError")), "raised KeyError"),
        (Execution("not_collected"), "not collected"),
        (Execution("returned", "nonsense"), "returned what cannot be read"),
    ],
)
def test_what_a_call_did_is_said_in_words(execution: Execution, said: str) -> None:
    assert did(execution) == said


def test_a_case_s_wish_is_said_in_the_same_words() -> None:
    assert wanted(Case("t", "", "", "==", encode(3))) == "returned 3"
    assert wanted(Case("t", "", "", "raises", '["ValueError"]')) == "raised ValueError"
    assert wanted(Case("t", "", "", "<", encode(3))) == "the result < 3"
    assert len(wanted(Case("t", "", "", "stdout", "x" * 10_000))) < 2 * SHOWN
