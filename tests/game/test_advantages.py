"""Advantages by name."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.errors import UnknownName
from selfplay.game.advantages import ADVANTAGES, RunningMeans, advantages, turn_advantages

REWARDS = st.lists(st.lists(st.none() | st.floats(-1, 1), min_size=1, max_size=6), min_size=1, max_size=4)
EIGHTHS = st.lists(
    st.lists(st.none() | st.integers(-8, 8).map(lambda n: n / 8), min_size=1, max_size=6), min_size=1, max_size=4
)


def known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def test_group_subtracts_the_groups_mean():
    made = advantages("group", [(1.0, 0.0), (0.5, 0.0, 1.0)], "generator", 1)
    assert made.values == ((0.5, -0.5), (0.0, -0.5, 0.5))


def test_group_std_divides_by_the_groups_own_deviation():
    made = advantages("group_std", [(1.0, 0.0), (0.6, 0.4)], "generator", 1)
    assert made.values[0] == pytest.approx((1, -1))
    assert made.values[1] == pytest.approx((1, -1))


def test_raw_is_the_reward_itself():
    assert advantages("raw", [(0.25, 1.0)], "generator", 1).values == ((0.25, 1.0),)


def test_a_lost_episode_stays_none_and_leaves_the_baseline():
    assert advantages("group", [(1.0, None, 0.0)], "generator", 1).values == ((0.5, None, -0.5),)


@pytest.mark.parametrize("name", ["group", "group_std"])
def test_a_group_without_spread_is_marked_to_be_dropped(name: str):
    made = advantages(name, [(0.1,) * 3, (0.0, 1.0), (None, 0.3)], "generator", 1)
    assert made.informative == (False, True, False)
    assert made.values[0] == (0, 0, 0)


def test_running_compares_with_the_average_so_far():
    before = RunningMeans({("generator", 1): 0.5})
    made = advantages("running", [(1.0, 0.0)], "generator", 1, before)
    assert made.values == ((0.5, -0.5),)


def test_running_keeps_an_average_per_role_and_stage():
    before = RunningMeans({("generator", 1): 0.0, ("generator", 2): 0.7, ("discriminator", 1): 0.2}, decay=0.9)
    after = advantages("running", [(1.0,)], "generator", 1, before).running
    assert after.means == {("generator", 1): pytest.approx(0.1), ("generator", 2): 0.7, ("discriminator", 1): 0.2}


def test_running_ignores_the_groups_own_mean():
    before = RunningMeans({("generator", 1): 0.25, ("generator", 2): 9.0})
    assert advantages("running", [(1.0, 0.5)], "generator", 1, before).values == ((0.75, 0.25),)


def test_an_average_moves_by_its_decay():
    after = RunningMeans({("generator", 1): 0.25}, decay=0.75).updated(("generator", 1), (1.0, 0.0))
    assert after.means == {("generator", 1): 0.75 * 0.25 + 0.25 * 0.5}


def test_an_average_keeps_its_decay():
    assert RunningMeans(decay=0.5).updated(("generator", 1), (1.0,)).decay == 0.5


def test_no_rewards_leave_the_averages_as_they_are():
    before = RunningMeans({("generator", 1): 0.25})
    assert advantages("running", [(None, None)], "generator", 1, before).running is before


def test_running_begins_with_the_first_batch():
    made = advantages("running", [(1.0,), (0.5,)], "generator", 1)
    assert made.values == ((0.25,), (-0.25,))
    assert made.running.means == {("generator", 1): 0.75}


def test_the_averages_given_are_left_as_they_are():
    before = RunningMeans({("generator", 1): 0.5})
    advantages("running", [(1.0,)], "generator", 1, before)
    assert before.means == {("generator", 1): 0.5}


def test_a_turn_is_compared_with_the_groups_turns_of_its_stage():
    made = turn_advantages("group", [[(1.0, 0.2), (0.0, 0.4)]], "discriminator", (1, 2))
    assert [pytest.approx(each) for each in made.values[0]] == [(0.5, -0.1), (-0.5, 0.1)]


def test_turns_share_one_deviation_over_stages_and_groups():
    groups = [[(1.0, 0.2), (0.0, 0.4)], [(0.5, 0.0), (0.5, 1.0)]]
    made = turn_advantages("group_std", groups, "discriminator", (1, 2))
    scale = sqrt((0.25 * 2 + 0.01 * 2 + 0.25 * 2) / 6)  # the second group's stage 1 has no spread and sets no scale
    assert made.values[0][0] == pytest.approx((0.5 / scale, -0.1 / scale))
    assert made.values[1] == (pytest.approx((0, -0.5 / scale)), pytest.approx((0, 0.5 / scale)))


def test_a_group_counts_as_informative_where_any_turn_differs():
    groups = [[(0.5, 0.5), (0.5, 0.5)], [(0.5, 0.5), (0.5, 0.6)]]
    assert turn_advantages("group_std", groups, "discriminator", (1, 2)).informative == (False, True)


def test_a_lost_turn_stays_none():
    made = turn_advantages("group_std", [[(None, 1.0), (0.5, 0.0)]], "discriminator", (1, 2))
    assert made.values[0][0][0] is None
    assert made.values[0][1][0] == 0


def test_running_averages_turns_by_their_stage():
    made = turn_advantages("running", [[(1.0, 0.0), (0.0, 0.5)]], "discriminator", (4, 5))
    assert made.running.means == {("discriminator", 4): 0.5, ("discriminator", 5): 0.25}


def test_running_compares_each_turn_with_the_average_of_its_stage():
    before = RunningMeans({("discriminator", 4): 0.25})
    made = turn_advantages("running", [[(1.0, 0.0), (0.0, 0.5)]], "discriminator", (4, 5), before)
    assert made.values == (((0.75, -0.25), (-0.25, 0.25)),)


@given(EIGHTHS, st.integers(-16, 16))
def test_what_everybody_gets_on_top_changes_no_advantage(groups: list[list[float | None]], more: int):
    raised = [[None if reward is None else reward + more / 8 for reward in group] for group in groups]
    one, other = (advantages("group", each, "generator", 1).values for each in (groups, raised))
    assert [known(group) for group in one] == [pytest.approx(known(group), abs=1e-9) for group in other]


@given(EIGHTHS, st.sampled_from(["group", "running", "raw"]))
def test_one_stage_of_turns_is_credited_as_episodes_are(groups: list[list[float | None]], name: str):
    turns = turn_advantages(name, [[(reward,) for reward in group] for group in groups], "generator", (3,))
    whole = advantages(name, groups, "generator", 3)
    assert [tuple(value for (value,) in group) for group in turns.values] == list(whole.values)
    assert (turns.informative, turns.running) == (whole.informative, whole.running)


@given(EIGHTHS, st.sampled_from(ADVANTAGES))
def test_who_comes_first_in_a_group_changes_no_advantage(groups: list[list[float | None]], name: str):
    straight = advantages(name, groups, "generator", 1).values
    turned = advantages(name, [group[::-1] for group in groups], "generator", 1).values
    assert [known(group[::-1]) for group in turned] == [pytest.approx(known(group)) for group in straight]


@given(EIGHTHS, st.sampled_from(ADVANTAGES))
def test_the_better_reward_has_the_better_advantage(groups: list[list[float | None]], name: str):
    for group, own in zip(groups, advantages(name, groups, "generator", 1).values, strict=True):
        pairs = sorted(zip(known(group), known(own), strict=True))
        assert [value for _, value in pairs] == sorted(known(own))


@given(REWARDS, st.sampled_from(ADVANTAGES))
def test_advantages_keep_the_shape_of_the_rewards(groups: list[list[float | None]], name: str):
    made = advantages(name, groups, "generator", 1)
    assert [[value is None for value in group] for group in made.values] == [[r is None for r in g] for g in groups]


@given(REWARDS)
def test_advantages_of_a_group_add_up_to_nothing(groups: list[list[float | None]]):
    for group in advantages("group", groups, "generator", 1).values:
        assert sum(value for value in group if value is not None) == pytest.approx(0, abs=1e-6)


@given(REWARDS)
def test_group_std_gives_an_informative_group_unit_variance(groups: list[list[float | None]]):
    made = advantages("group_std", groups, "generator", 1)
    for group, informative in zip(made.values, made.informative, strict=True):
        known = [value for value in group if value is not None]
        assert sum(value**2 for value in known) == pytest.approx(len(known) * informative)


def test_an_unknown_advantage_names_the_nearest():
    with pytest.raises(UnknownName, match="advantage 'group_sdt', did you mean 'group_std'"):
        advantages("group_sdt", [(1.0,)], "generator", 1)
