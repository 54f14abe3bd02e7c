"""Advantages by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.errors import UnknownName
from selfplay.game.advantages import ADVANTAGES, RunningMeans, Values, advantages, on_turns

REWARDS = st.lists(st.lists(st.none() | st.floats(-1, 1), min_size=1, max_size=6), min_size=1, max_size=4)
NONE_YET = RunningMeans()
EIGHTHS = st.lists(
    st.lists(st.none() | st.integers(-8, 8).map(lambda n: n / 8), min_size=1, max_size=6), min_size=1, max_size=4
)


def known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def chains(name: str, groups: Sequence[Sequence[float | None]], running: RunningMeans = NONE_YET):
    """Of chains that are trained at stage 1, each given by its reward: advantages, informative groups, averages."""
    made = advantages(name, [[(reward,) for reward in group] for group in groups], "generator", (1,), running)
    return tuple(tuple(value for (value,) in group) for group in made.values), made.informative, made.running


def of_chains(name: str, groups: Sequence[Sequence[float | None]]) -> tuple[Values, ...]:
    return chains(name, groups)[0]


def test_group_subtracts_the_groups_mean():
    assert of_chains("group", [(1.0, 0.0), (0.5, 0.0, 1.0)]) == ((0.5, -0.5), (0.0, -0.5, 0.5))


def test_group_std_divides_by_the_groups_own_deviation():
    assert of_chains("group_std", [(1.0, 0.0), (0.6, 0.4)]) == (pytest.approx((1, -1)), pytest.approx((1, -1)))


def test_raw_is_the_reward_itself():
    assert of_chains("raw", [(0.25, 1.0)]) == ((0.25, 1.0),)


def test_a_lost_episode_stays_none_and_leaves_the_baseline():
    assert of_chains("group", [(1.0, None, 0.0)]) == ((0.5, None, -0.5),)


@pytest.mark.parametrize("name", ["group", "group_std"])
def test_a_group_without_spread_is_marked_to_be_dropped(name: str):
    values, informative, _ = chains(name, [(0.1,) * 3, (0.0, 1.0), (None, 0.3)])
    assert informative == (False, True, False)
    assert values[0] == (0, 0, 0)


def test_running_compares_with_the_average_so_far():
    before = RunningMeans({("generator", 1): 0.5})
    assert chains("running", [(1.0, 0.0)], before)[0] == ((0.5, -0.5),)


def test_running_keeps_an_average_per_role_and_stage():
    before = RunningMeans({("generator", 1): 0.0, ("generator", 2): 0.7, ("discriminator", 1): 0.2}, decay=0.9)
    _, _, after = chains("running", [(1.0,)], before)
    assert after.means == {("generator", 1): pytest.approx(0.1), ("generator", 2): 0.7, ("discriminator", 1): 0.2}


def test_running_ignores_the_groups_own_mean():
    before = RunningMeans({("generator", 1): 0.25, ("generator", 2): 9.0})
    assert chains("running", [(1.0, 0.5)], before)[0] == ((0.75, 0.25),)


def test_an_average_moves_by_its_decay():
    after = RunningMeans({("generator", 1): 0.25}, decay=0.75).updated(("generator", 1), (1.0, 0.0))
    assert after.means == {("generator", 1): 0.75 * 0.25 + 0.25 * 0.5}


def test_an_average_keeps_its_decay():
    assert RunningMeans(decay=0.5).updated(("generator", 1), (1.0,)).decay == 0.5


def test_no_rewards_leave_the_averages_as_they_are():
    before = RunningMeans({("generator", 1): 0.25})
    assert chains("running", [(None, None)], before)[2] is before


def test_running_begins_with_the_first_batch():
    values, _, after = chains("running", [(1.0,), (0.5,)])
    assert values == ((0.25,), (-0.25,))
    assert after.means == {("generator", 1): 0.75}


def test_the_averages_given_are_left_as_they_are():
    before = RunningMeans({("generator", 1): 0.5})
    chains("running", [(1.0,)], before)
    assert before.means == {("generator", 1): 0.5}


def test_a_turn_is_compared_with_the_groups_turns_of_its_stage():
    made = advantages("group", [[(1.0, 0.2), (0.0, 0.4)]], "discriminator", (1, 2))
    assert [pytest.approx(each) for each in made.values[0]] == [(0.5, -0.1), (-0.5, 0.1)]


def test_turns_share_one_deviation_over_stages_and_groups():
    groups = [[(1.0, 0.2), (0.0, 0.4)], [(0.5, 0.0), (0.5, 1.0)]]
    made = advantages("group_std", groups, "discriminator", (1, 2))
    scale = sqrt((0.25 * 2 + 0.01 * 2 + 0.25 * 2) / 6)  # the second group's stage 1 has no spread and sets no scale
    assert made.values[0][0] == pytest.approx((0.5 / scale, -0.1 / scale))
    assert made.values[1] == (pytest.approx((0, -0.5 / scale)), pytest.approx((0, 0.5 / scale)))


def test_a_group_counts_as_informative_where_any_turn_differs():
    groups = [[(0.5, 0.5), (0.5, 0.5)], [(0.5, 0.5), (0.5, 0.6)]]
    assert advantages("group_std", groups, "discriminator", (1, 2)).informative == (False, True)


def test_a_lost_turn_stays_none():
    made = advantages("group_std", [[(None, 1.0), (0.5, 0.0)]], "discriminator", (1, 2))
    assert made.values[0][0][0] is None
    assert made.values[0][1][0] == 0


def test_running_averages_turns_by_their_stage():
    made = advantages("running", [[(1.0, 0.0), (0.0, 0.5)]], "discriminator", (4, 5))
    assert made.running.means == {("discriminator", 4): 0.5, ("discriminator", 5): 0.25}


def test_running_compares_each_turn_with_the_average_of_its_stage():
    before = RunningMeans({("discriminator", 4): 0.25})
    made = advantages("running", [[(1.0, 0.0), (0.0, 0.5)]], "discriminator", (4, 5), before)
    assert made.values == (((0.75, -0.25), (-0.25, 0.25)),)


@given(EIGHTHS, st.integers(-16, 16))
def test_what_everybody_gets_on_top_changes_no_advantage(groups: list[list[float | None]], more: int):
    raised = [[None if reward is None else reward + more / 8 for reward in group] for group in groups]
    one, other = (of_chains("group", each) for each in (groups, raised))
    assert [known(group) for group in one] == [pytest.approx(known(group), abs=1e-9) for group in other]


@given(EIGHTHS, st.sampled_from(["group", "running", "raw"]))
def test_one_stage_of_turns_is_credited_as_episodes_are(groups: list[list[float | None]], name: str):
    rewards = [[(reward,) for reward in group] for group in groups]
    suites, own = (advantages(name, rewards, role, (3,)) for role in ("discriminator", "generator"))
    assert (suites.values, suites.informative) == (own.values, own.informative)
    assert suites.running.means.get(("discriminator", 3)) == own.running.means.get(("generator", 3))


@given(EIGHTHS, st.sampled_from(ADVANTAGES))
def test_a_chains_advantage_stands_on_each_of_its_trained_turns(groups: list[list[float | None]], name: str):
    wide = advantages(name, [[(reward,) * 3 for reward in group] for group in groups], "generator", (3, 4, 5))
    one = advantages(name, [[(reward,) for reward in group] for group in groups], "generator", (3,))
    assert wide.values == tuple(tuple(values * 3 for values in group) for group in one.values)
    assert (wide.informative, wide.running) == (one.informative, one.running)


def test_advantages_lie_on_the_trained_turns_alone():
    assert on_turns((3, 4, 5), (4, 5), (0.5, -0.5)) == (None, 0.5, -0.5)


@given(EIGHTHS, st.sampled_from(ADVANTAGES))
def test_who_comes_first_in_a_group_changes_no_advantage(groups: list[list[float | None]], name: str):
    straight = of_chains(name, groups)
    turned = of_chains(name, [group[::-1] for group in groups])
    assert [known(group[::-1]) for group in turned] == [pytest.approx(known(group)) for group in straight]


@given(EIGHTHS, st.sampled_from(ADVANTAGES))
def test_the_better_reward_has_the_better_advantage(groups: list[list[float | None]], name: str):
    for group, own in zip(groups, of_chains(name, groups), strict=True):
        pairs = sorted(zip(known(group), known(own), strict=True))
        assert [value for _, value in pairs] == sorted(known(own))


@given(REWARDS, st.sampled_from(ADVANTAGES))
def test_advantages_keep_the_shape_of_the_rewards(groups: list[list[float | None]], name: str):
    values = of_chains(name, groups)
    assert [[value is None for value in group] for group in values] == [[r is None for r in g] for g in groups]


@given(REWARDS)
def test_advantages_of_a_group_add_up_to_nothing(groups: list[list[float | None]]):
    for group in of_chains("group", groups):
        assert sum(value for value in group if value is not None) == pytest.approx(0, abs=1e-6)


@given(REWARDS)
def test_group_std_gives_an_informative_group_unit_variance(groups: list[list[float | None]]):
    values, marks, _ = chains("group_std", groups)
    for group, informative in zip(values, marks, strict=True):
        known = [value for value in group if value is not None]
        assert sum(value**2 for value in known) == pytest.approx(len(known) * informative)


def test_an_unknown_advantage_names_the_nearest():
    with pytest.raises(UnknownName, match="advantage 'group_sdt', did you mean 'group_std'"):
        chains("group_sdt", [(1.0,)])
