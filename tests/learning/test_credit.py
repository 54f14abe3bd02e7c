"""Advantages land on the tokens of the turns that earned them."""

from __future__ import annotations

import pytest

from selfplay.game.advantages import RunningMeans
from selfplay.game.episode import Conversation, Role, Turn, TurnKey
from selfplay.game.extract import Code
from selfplay.game.phases import Step
from selfplay.game.problems import Problem
from selfplay.judging.turns import WrittenTurn
from selfplay.learning.credit import CreditSettings, credit
from selfplay.learning.ranks import Ranks
from selfplay.match.record import Chain, Match, Suite

PROBLEM = Problem("p", "", "f", "def f(n: int) -> int:", ())
STAGES = (1, 2, 3, 4, 5)
GROUP = CreditSettings("group")


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


def credited(group: Match, role: Role, stages: tuple[int, ...] = STAGES, settings: CreditSettings = GROUP):
    return credit([group], role, stages, settings, RunningMeans(), Ranks())


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


@pytest.mark.parametrize(("masked", "samples"), [(False, 2), (True, 0)])
def test_truncated_turns_are_scored_unless_masked(masked: bool, samples: int) -> None:
    settings = CreditSettings("group", mask_truncated=masked)
    assert len(credited(scored((1.0, 0.0), (), truncated=True), "generator", settings=settings).samples) == samples


class TwoRanks(Ranks):
    """The second of two ranks; the first one's rewards are given."""

    rank, size = 1, 2

    def __init__(self, others: object) -> None:
        self.others = others

    def gather(self, value):
        return [self.others, value]


def test_the_pooled_deviation_looks_at_the_groups_of_all_ranks() -> None:
    group = scored((1.0,), ((1.0,) * 5, (0.0,) * 5))
    alone = credit([group], "discriminator", STAGES, CreditSettings("group_std"), RunningMeans(), Ranks())
    wider = [[(5.0,) * 5, (0.0,) * 5]]
    together = credit([group], "discriminator", STAGES, CreditSettings("group_std"), RunningMeans(), TwoRanks(wider))
    assert alone.samples[0].spans[0].advantage == pytest.approx(1.0)
    assert together.samples[0].spans[0].advantage < 0.5
