"""Advantages land on the tokens of the turns that earned them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.config import Config
from selfplay.game.advantages import RunningMeans
from selfplay.game.episode import Conversation, Role, Turn, TurnKey
from selfplay.game.extract import Code
from selfplay.game.phases import Step
from selfplay.game.problems import Problem
from selfplay.judging.turns import WrittenTurn
from selfplay.learning.credit import Credit, credit, group_counts
from selfplay.learning.ranks import Ranks
from selfplay.match.match import Chain, Match, Suite

PROBLEM = Problem("p", "", "f", "def f(n: int) -> int:", ())
STAGES = (1, 2, 3, 4, 5)
GROUP = Config(advantages="group")


def conversation(role: Role, branch: int, truncated: bool = False) -> Conversation:
    """Each turn: a prompt of two ids and an answer of three; the ids tell the stage."""
    return Conversation(
        role,
        tuple(
            Turn(TurnKey(0, "p", role, branch, s), (10 * s, 10 * s + 1), (s, s, s), (-0.5,) * 3, "", truncated, s == 1)
            for s in STAGES
        ),
    )


def scored(
    generator: tuple[float | None, ...], suites: tuple[tuple[float | None, ...], ...], truncated: bool = False
) -> Match:
    turns = tuple(WrittenTurn(stage) for stage in STAGES)
    return Match(
        PROBLEM,
        Step(0, 1, "both", ""),
        2,
        tuple(
            Chain(conversation("generator", i, truncated), Code("", "bare"), reward)
            for i, reward in enumerate(generator)
        ),
        tuple(Suite(conversation("discriminator", i), 0, turns, rewards) for i, rewards in enumerate(suites)),
        (),
        0,
    )


def credited(group: Match, role: Role, stages: tuple[int, ...] = STAGES, config: Config = GROUP):
    return credit([group], role, stages, config, RunningMeans(), Ranks())


def test_a_chain_has_one_advantage_on_all_its_trained_turns() -> None:
    first, second = credited(scored((1.0, 0.0), ()), "generator").samples
    assert [span.advantage for span in first.spans] == [0.5] * 5
    assert [span.advantage for span in second.spans] == [-0.5] * 5


def test_spans_cover_what_was_sampled_and_nothing_else() -> None:
    sample = credited(scored((1.0, 0.0), ()), "generator").samples[0]
    for stage, span in zip(STAGES, sample.spans, strict=True):
        assert sample.ids[span.start : span.end] == (stage,) * 3
        assert span.logprobs == (-0.5,) * 3


def test_a_match_keeps_the_advantages_that_were_trained() -> None:
    group = scored((1.0, 0.0), ((1.0, 0.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0, 0.0)))
    [chains] = credited(group, "generator", (4, 5)).matches
    assert [chain.advantages for chain in chains.chains] == [
        (None, None, None, 0.5, 0.5),
        (None, None, None, -0.5, -0.5),
    ]
    assert [suite.advantages for suite in chains.suites] == [(), ()]
    [suites] = credited(group, "discriminator").matches
    assert [suite.advantages for suite in suites.suites] == [(0.5, -0.5, 0, 0, 0), (-0.5, 0.5, 0, 0, 0)]


def test_frozen_turns_are_context() -> None:
    sample = credited(scored((1.0, 0.0), ()), "generator", stages=(4, 5)).samples[0]
    assert [sample.ids[span.start] for span in sample.spans] == [4, 5]


def test_a_suite_is_credited_turn_by_turn() -> None:
    group = scored((1.0,), ((1.0, 0.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0, 0.0)))
    first, _ = credited(group, "discriminator").samples
    assert [span.advantage for span in first.spans] == [0.5, -0.5, 0.0, 0.0, 0.0]


def test_a_group_without_spread_is_dropped_and_counted() -> None:
    credit = credited(scored((1.0, 1.0), ()), "generator")
    assert (credit.samples, credit.groups, credit.informative) == ((), 1, 0)


def test_an_episode_lost_to_infrastructure_leaves_the_baseline_too() -> None:
    credit = credited(scored((1.0, 0.0, None), ()), "generator")
    assert [sample.spans[0].advantage for sample in credit.samples] == [0.5, -0.5]


def test_truncated_turns_are_scored() -> None:
    assert len(credited(scored((1.0, 0.0), (), truncated=True), "generator").samples) == 2


class TwoRanks(Ranks):
    """The second of two ranks; the first one's rewards are given."""

    rank, size = 1, 2

    def __init__(self, others: object) -> None:
        self.others = others

    def gather(self, value):
        return [self.others, value]


def test_the_pooled_deviation_looks_at_the_groups_of_all_ranks() -> None:
    group = scored((1.0,), ((1.0,) * 5, (0.0,) * 5))
    alone = credit([group], "discriminator", STAGES, Config(advantages="group_std"), RunningMeans(), Ranks())
    wider = [[(5.0,) * 5, (0.0,) * 5]]
    together = credit([group], "discriminator", STAGES, Config(advantages="group_std"), RunningMeans(), TwoRanks(wider))
    assert alone.samples[0].spans[0].advantage == pytest.approx(1.0)
    assert together.samples[0].spans[0].advantage < 0.5


RUNNING = Config(advantages="running")


def test_running_advantages_of_chains_use_the_average_of_the_first_trained_stage() -> None:
    before = RunningMeans({("generator", 4): 0.25, ("generator", 5): 9.0, ("discriminator", 4): 9.0})
    made = credit([scored((1.0, 0.0), ())], "generator", (4, 5), RUNNING, before, Ranks())
    assert [chain.advantages[3:] for chain in made.matches[0].chains] == [(0.75, 0.75), (-0.25, -0.25)]
    assert made.running.means[("generator", 4)] == pytest.approx(0.9 * 0.25 + 0.1 * 0.5)


def test_running_advantages_of_suites_use_the_averages_of_their_role_and_stages() -> None:
    before = RunningMeans({("discriminator", 5): 0.25, ("generator", 5): 9.0})
    group = scored((1.0,), ((0.0,) * 4 + (1.0,), (0.0,) * 5))
    made = credit([group], "discriminator", (5,), RUNNING, before, Ranks())
    assert [suite.advantages[4] for suite in made.matches[0].suites] == [0.75, -0.25]
    assert made.running.means[("discriminator", 5)] == pytest.approx(0.9 * 0.25 + 0.1 * 0.5)


def test_chains_are_credited_where_one_stage_alone_is_trained() -> None:
    [match] = credited(scored((1.0, 0.0), ()), "generator", (5,)).matches
    assert [chain.advantages for chain in match.chains] == [(None,) * 4 + (0.5,), (None,) * 4 + (-0.5,)]


def test_a_chain_is_compared_within_its_own_group_under_group_std() -> None:
    made = credit(
        [scored((1.0, 0.0), ()), scored((0.5, 0.25), ())],
        "generator",
        STAGES,
        Config(advantages="group_std"),
        RunningMeans(),
        Ranks(),
    )
    assert [chain.advantages[0] for match in made.matches for chain in match.chains] == [1, -1, 1, -1]


def test_rewards_that_are_not_one_per_turn_are_an_error() -> None:
    with pytest.raises(ValueError, match="zip"):
        credited(scored((1.0,), ((1.0, 0.0),)), "discriminator")


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_a_rank_gets_the_advantages_of_its_own_groups(rank: int) -> None:
    """Three ranks with two groups, one and two; each group has its own spread."""
    groups = [[scored((1.0, 0.0), ()), scored((0.75, 0.25), ())], [scored((0.5, 0.5), ())]]
    groups.append([scored((0.125, 0.0), ()), scored((0.5, 0.0), ())])
    expected = [[0.5, -0.5, 0.25, -0.25], [0, 0], [0.0625, -0.0625, 0.25, -0.25]]
    made = credit(groups[rank], "generator", STAGES, GROUP, RunningMeans(), Gathered(rank, groups))
    assert [chain.advantages[0] for match in made.matches for chain in match.chains] == expected[rank]
    assert (made.groups, made.informative) == ((2, 2), (1, 0), (2, 2))[rank]
    assert len(made.samples) == (4, 0, 4)[rank]


class Gathered(Ranks):
    """One of several ranks, where every rank's groups are known to the test."""

    def __init__(self, rank: int, groups: list[list[Match]]) -> None:
        self.rank, self.size = rank, len(groups)
        self.groups = groups

    def gather(self, value):
        everyone = [[[(chain.reward,) * 5 for chain in match.chains] for match in own] for own in self.groups]
        assert everyone[self.rank] == value
        return everyone


@given(st.lists(st.integers(0, 8).map(lambda n: n / 8) | st.none(), min_size=1, max_size=6))
def test_no_chain_below_the_mean_of_its_group_is_made_likelier(rewards: list[float | None]) -> None:
    made = credited(scored(tuple(rewards), ()), "generator")
    known = [reward for reward in rewards if reward is not None]
    for chain in made.matches[0].chains:
        for advantage in chain.advantages:
            assert (advantage is None) == (chain.reward is None)
            if advantage is not None and chain.reward is not None and chain.reward < sum(known) / len(known):
                assert advantage < 0
    assert len(made.samples) == (len(known) if made.informative else 0)


def test_groups_that_taught_are_counted_by_role_and_together() -> None:
    flat, spread = scored((1.0, 1.0), ()), scored((1.0, 0.0), ((1.0,) * 5, (0.0,) * 5))
    own: dict[Role, Credit] = {
        "generator": credit([flat, spread], "generator", STAGES, GROUP, RunningMeans(), Ranks()),
        "discriminator": credit([spread], "discriminator", STAGES, GROUP, RunningMeans(), Ranks()),
    }
    assert group_counts(own).plain == {
        "informative_groups": 2,
        "groups": 3,
        "informative_groups/generator": 1,
        "groups/generator": 2,
        "informative_groups/discriminator": 1,
        "groups/discriminator": 1,
    }
