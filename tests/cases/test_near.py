"""Outcomes near a right one: nine, different, and the same for the same seed."""

from __future__ import annotations

import builtins
import datetime as dt
import json
import math
import time
from collections import Counter, OrderedDict, deque, namedtuple
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox import codec
from selfplay.cases.equality import equal, tag_of
from selfplay.cases.near import EACH, NEAR, near
from selfplay.cases.outcome import Outcome, is_like, outcome_of, outcome_text
from selfplay.cases.values import encode, load

Point = namedtuple("Point", "x y")
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -7, 10**30, 0.5, 0.0, math.nan, math.inf, 1e308, 1j, "", "a", "hello world", "\ud800"),
    *([], [1], [1, 2, 3], [[1, 2], [3]], [None], [True], (), (1, "a"), ((),), set(), {1}, {(1, None)}, frozenset("ab")),
    *({}, {"a": 1}, {"a": {"b": [1]}}, {1: None}, b"", b"ab", bytearray(b"\xff"), range(0), range(3, 9, 2), Point(1, [2])),
    *(deque(), deque([1, 2], 2), Counter(), Counter("aab"), OrderedDict(a=1, b=2), Decimal("1.50"), Decimal("NaN")),
    *(Fraction(1, 3), dt.date(9999, 12, 31), dt.datetime(2024, 1, 1, 12), dt.time(12), dt.timedelta(1), ["x"] * 300),
]  # fmt: skip
TREES = [
    *map(load, map(encode, VALUES)),
    ["g"],
    ["g", 1, 2],
    ["h", "Stack", 1],
    ["u", "len"],
    ["y", "lambda: 1"],
    ["o", "x"],
]


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: json.dumps(tree)[:40])
def test_there_are_nine_others_none_of_them_right_by_any_measure(tree: Any) -> None:
    found = near(Outcome(tree), "seed")
    assert len(found) == NEAR
    for other in found:
        assert not is_like(other, Outcome(tree))
        assert not equal(other.value, tree)
        assert outcome_of(outcome_text(other)) == other
        codec.decode(json.dumps(other.value), _Nothing())  # no list stands in a set


class _Nothing:
    def read(self, tree: Any) -> None:
        return None


@settings(max_examples=300)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.tuples(inner, inner)
            | st.dictionaries(st.text(max_size=2), inner, max_size=3)
            | st.frozensets(st.integers() | st.text(max_size=2) | st.tuples(st.none()), max_size=3)
        ),
        max_leaves=12,
    ),
    st.text(max_size=4),
)
def test_any_value_has_nine_that_hang_on_the_seed_alone(value: Any, seed: str) -> None:
    right = Outcome(load(encode(value)))
    found = near(right, seed)
    assert found == near(right, seed)
    assert not any(is_like(other, right) for other in found)
    assert all(outcome_of(outcome_text(other)) == other for other in found)


def test_another_seed_draws_others() -> None:
    right = Outcome(["l", 1, 2, 3])
    assert near(right, "a")[EACH:] != near(right, "b")[EACH:]


def test_the_parts_of_the_battery_are_coarse_of_the_same_type_and_one_leaf_apart() -> None:
    right = ["l", 5, ["l", "a", "b"], 7]
    found: list[Any] = [one.value for one in near(Outcome(right), "seed")]
    assert None in found[:EACH]
    assert ["l"] in found[:EACH]
    assert [tag_of(one) for one in found[EACH:]] == ["l"] * 6
    for one in found[2 * EACH :]:
        assert sum(a != b for a, b in zip(one, right, strict=True)) == 1


def test_what_returns_nothing_but_changes_its_arguments_is_near_what_changes_them_otherwise() -> None:
    right = Outcome(changed=["l", ["l", 1, 2], 5, ["t", ["d", ["a", 1]], "x"], "text"])
    found = near(right, "seed")
    for other in found:
        changed: Any = other.changed
        assert tag_of(changed[1]) == "l"
        assert changed[1] != right.changed[1]  # type: ignore[index]
        assert (changed[2], changed[4], changed[3][2]) == (5, "text", "x")
        assert tag_of(changed[3][1]) == "d"
    assert [other.value for other in found[EACH:]] == [None] * 6
    assert None not in [other.value for other in found[:EACH]]


def test_keyword_arguments_are_changed_where_they_stand() -> None:
    right = Outcome(1, changed=["d", ["", ["l", ["l", 1, 2], 3]], ["key", ["s", 1]]])
    for other in near(right, "seed"):
        changed: Any = other.changed
        assert [pair[0] for pair in changed[1:]] == ["", "key"]
        assert changed[1][1][0] == "l"
        assert tag_of(changed[1][1][1]) == "l"
        assert changed[1][1][1] != ["l", 1, 2]
        assert changed[1][1][2] == 3
        assert tag_of(changed[2][1]) == "s"
        assert other.value != 1


def test_what_was_printed_is_printed_otherwise() -> None:
    for right in (Outcome(None, printed="hi\n"), Outcome(3, printed="hi\n")):
        printed = [other.printed for other in near(right, "seed")]
        assert "hi\n" not in printed
        assert "" in printed[:EACH]
    assert [other.value for other in near(Outcome(None, printed="hi\n"), "seed")][EACH:] == [None] * 6
    assert not any(other.printed for other in near(Outcome(3), "seed"))


@pytest.mark.parametrize(
    "raised",
    [
        ("KeyError", "LookupError", "Exception", "BaseException"),
        ("ValueError", "Exception", "BaseException"),
        ("StackEmpty", "Exception", "BaseException"),
        ("Bad", "ValueError", "Exception", "BaseException"),
        ("Exception", "BaseException"),
        ("SystemExit", "BaseException"),
        ("LookupError", "Exception", "BaseException"),
    ],
)
def test_what_raised_is_near_what_returns_and_what_raises_something_else(raised: tuple[str, ...]) -> None:
    found = near(Outcome(raised=raised, message="m"), "seed")
    assert [other.value for other in found[:EACH]] == [None, 0, ""]
    for other in found:
        assert not other.raised or issubclass(getattr(builtins, other.raised[0]), Exception)
        assert raised[0] not in other.raised
    accepted = [other for other in found if "Exception" in other.raised]
    assert len(accepted) == (0 if raised[0] == "Exception" else 6)


def test_of_something_large_only_the_top_level_is_changed() -> None:
    right = Outcome(["l", *(["l", "a" * 50, number] for number in range(20_000))])
    begin = time.process_time()
    found = near(right, "seed")
    assert time.process_time() - begin < 10
    assert not any(is_like(other, right) for other in found)
    kept = {id(item) for item in right.value[1:]}  # type: ignore[index]
    for other in found:
        assert type(other.value) is not list or sum(id(item) not in kept for item in other.value[1:]) <= 1
