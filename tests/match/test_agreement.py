"""Programs are chosen by what is known to be right first, and by agreement after that."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from selfplay.match.agreement import Agreement, agreements

matrices = st.integers(0, 6).flatmap(
    lambda width: st.lists(st.lists(st.booleans(), min_size=width, max_size=width), min_size=1, max_size=8)
)


def test_the_score_is_programs_times_tests_as_in_the_paper() -> None:
    # Three programs agree on two tests, one passes three alone: 3 x 2 beats 1 x 3.
    matrix = [[True, True, False, False], *[[False, True, True, False]] * 2, [True, True, True, False]]
    best = agreements([matrix[1], matrix[2], matrix[1], matrix[3]])[0]
    assert best == Agreement((0, 1, 2), 0, 2)
    assert best.score == 6


def test_a_test_that_is_known_to_be_right_outweighs_every_agreement() -> None:
    agreed = [False, True, True, True]
    right = [True, False, False, False]
    assert agreements([agreed, agreed, right], known=1)[0].programs == (2,)


def test_without_tests_all_programs_are_one_group_and_the_first_stands_for_it() -> None:
    assert agreements([[], [], []]) == (Agreement((0, 1, 2), 0, 0),)


@given(matrices, st.integers(0, 6))
def test_every_program_is_in_one_group_and_no_group_is_better_than_the_first(
    matrix: list[list[bool]], known: int
) -> None:
    found = agreements(matrix, min(known, len(matrix[0])))
    assert sorted(number for group in found for number in group.programs) == list(range(len(matrix)))
    assert all(found[0].known >= group.known for group in found)
    assert all(found[0].score >= group.score for group in found if group.known == found[0].known)
