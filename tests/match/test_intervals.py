"""Estimates agree with what can be worked out by hand."""

from __future__ import annotations

import math

import pytest

from selfplay.match.intervals import distinct_share, mean, paired_difference, pass_at_k, ratio


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
