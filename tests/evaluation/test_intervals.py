"""Estimates agree with what can be worked out by hand."""

from __future__ import annotations

import math
from dataclasses import astuple
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.evaluation.intervals import (
    Estimate,
    distinct_change,
    distinct_share,
    mean,
    paired_difference,
    pass_at_k,
    ratio,
    ratio_change,
)


def test_a_mean_lies_inside_its_interval() -> None:
    estimate = mean([0.0, 1.0] * 50)
    assert estimate.value == 0.5
    assert 0.38 < estimate.low < 0.5 < estimate.high < 0.62


def test_equal_values_leave_no_doubt() -> None:
    estimate = mean([0.25] * 10)
    assert (estimate.low, estimate.value, estimate.high) == (0.25, 0.25, 0.25)


def test_a_ratio_weighs_problems_by_their_denominator() -> None:
    assert ratio([1, 9], [10, 10]).value == 0.5
    assert ratio([1, 0], [1, 3]).value == 0.25


def test_a_ratio_of_nothing_is_unknown_not_zero() -> None:
    estimate = ratio([0, 0], [0, 0])
    assert math.isnan(estimate.value)
    assert estimate.as_json() == {"value": None, "low": None, "high": None}


def test_distinct_share_counts_an_item_once_over_all_problems() -> None:
    assert distinct_share([["a", "b"], ["b", "c"]]).value == 0.75
    assert distinct_share([["a"], ["a"], ["a"]]).value == pytest.approx(1 / 3)


def test_distinct_items_leave_no_doubt() -> None:
    estimate = distinct_share([["a"], ["b"], ["c"]])
    assert (estimate.low, estimate.high) == (1.0, 1.0)


def test_the_jackknife_leaves_out_a_problem_with_its_own_repeats() -> None:
    # Without the first problem 2 of 2 are distinct, without either other one 2 of 3; shares .67 and .67 and 1.
    estimate = distinct_share([["a", "a"], ["b"], ["c"]])
    assert estimate.value == 0.75
    assert estimate.low < 0.75 < estimate.high


@pytest.mark.parametrize(
    ("correct", "samples", "k", "expected"), [(0, 4, 1, 0.0), (1, 4, 1, 0.25), (1, 4, 4, 1.0), (2, 4, 2, 5 / 6)]
)
def test_pass_at_k_is_unbiased(correct: int, samples: int, k: int, expected: float) -> None:
    assert pass_at_k(correct, samples, k) == pytest.approx(expected)


def test_a_paired_difference_sees_what_separate_means_hide() -> None:
    before = [0.0, 0.2, 0.4, 0.6, 0.8] * 10
    estimate = paired_difference(before, [value + 0.1 for value in before])
    assert estimate.low == pytest.approx(0.1)
    assert estimate.high == pytest.approx(0.1)


def test_the_change_of_a_mean_is_the_paired_difference() -> None:
    before, after = [0.0, 1.0, 0.0, 1.0, 0.5] * 8, [1.0, 1.0, 0.0, 0.5, 0.5] * 8
    ones = [1.0] * 40
    ours, theirs = ratio_change((before, ones), (after, ones)), paired_difference(before, after)
    assert astuple(ours) == pytest.approx(astuple(theirs))


def test_the_change_of_a_ratio_is_that_of_the_pooled_ratios_and_nothing_where_one_is() -> None:
    change = ratio_change(([1, 1], [2, 2]), ([3, 0], [3, 1]))
    assert change.value == pytest.approx(0.75 - 0.5)
    assert change.low <= change.value <= change.high
    assert math.isnan(ratio_change(([0], [0]), ([1], [1])).value)


def test_the_change_of_distinctness_is_the_difference_of_the_shares() -> None:
    before, after = [["a", "b"], ["c", "d"]], [["a", "a"], ["a", "d"]]
    assert distinct_change(before, before) == Estimate(0.0, 0.0, 0.0)
    assert distinct_change(before, after).value == distinct_share(after).value - distinct_share(before).value
    assert math.isnan(distinct_change([[]], after[:1]).value)


@given(
    st.integers(1, 8).flatmap(lambda n: st.tuples(st.lists(st.booleans(), min_size=n, max_size=n), st.integers(1, n)))
)
def test_pass_at_k_is_the_share_of_all_choices_of_k_that_hold_a_right_one(drawn: tuple[list[bool], int]) -> None:
    right, k = drawn
    choices = list(combinations(right, k))
    share = sum(map(any, choices)) / len(choices)
    assert pass_at_k(sum(right), len(right), k) == pytest.approx(share)
