"""A cover kills all that can be killed, and holds nothing that it could do without."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from selfplay.match.cover import cover

kills = st.lists(st.frozensets(st.integers(0, 7), max_size=5), max_size=8)


def covered(sets: list[frozenset[int]], times: int) -> dict[int, int]:
    everything = sorted({target for own in sets for target in own})
    return {target: min(times, sum(target in own for own in sets)) for target in everything}


@given(kills, st.integers(1, 3))
def test_a_cover_holds_every_target_as_often_as_asked_for(sets: list[frozenset[int]], times: int) -> None:
    chosen = cover(sets, times)
    assert covered([sets[number] for number in chosen], times) == covered(sets, times)


@given(kills, st.integers(1, 3))
def test_nothing_in_a_cover_can_be_left_out(sets: list[frozenset[int]], times: int) -> None:
    chosen = cover(sets, times)
    for number in chosen:
        rest = [sets[other] for other in chosen if other != number]
        assert covered(rest, times) != covered(sets, times)


@given(st.lists(st.frozensets(st.integers(0, 5), max_size=4), max_size=6))
def test_a_cover_is_at_most_johnson_s_bound_above_the_smallest(sets: list[frozenset[int]]) -> None:
    wanted = covered(sets, 1)
    smallest = next(
        size for size in range(len(sets) + 1) for some in combinations(sets, size) if covered(list(some), 1) == wanted
    )
    largest = max(map(len, sets), default=0)
    assert len(cover(sets)) <= smallest * sum(1 / n for n in range(1, largest + 1)) + 1e-9
