"""Credit: rewards to advantages on tokens.

A generator's episode has one outcome, so one advantage lies on all its trained turns. A case belongs to the turn that
wrote it, so a discriminator's advantage is per turn: its group's turns of the same stage are the baseline. Groups
without spread are dropped and counted. Baselines look at the groups of all ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from selfplay.game.advantages import RunningMeans, Values, advantages, turn_advantages
from selfplay.game.episode import Conversation, Role, Turn
from selfplay.learning.ranks import Ranks
from selfplay.learning.samples import Sample, conversation_samples
from selfplay.learning.scoring import Scored


@dataclass(frozen=True, slots=True)
class Credit:
    """This rank's samples for the update; its groups, and how many of them teach something; the new moving averages."""

    samples: tuple[Sample, ...]
    groups: int
    informative: int
    running: RunningMeans


@dataclass(frozen=True, slots=True)
class CreditSettings:
    """`mask_truncated` leaves out turns that the token limit ended."""

    advantages: str = "group_std"
    mask_truncated: bool = False


def credit(
    scored: Sequence[Scored],
    role: Role,
    stages: Sequence[int],
    settings: CreditSettings,
    running: RunningMeans,
    ranks: Ranks,
) -> Credit:
    """Samples for the trained turns, those at `stages`, of `role` in a step's groups."""
    rewards = [_rewards(group, role, stages) for group in scored]
    everyone = ranks.gather(rewards)
    offset = sum(len(own) for own in everyone[: ranks.rank])
    pooled = [group for own in everyone for group in own]
    if role == "generator":
        whole = advantages(
            settings.advantages, [[turns[0] for turns in group] for group in pooled], role, stages[0], running
        )
        values = [[(value,) * len(stages) for value in group] for group in whole.values]
        informative, after = whole.informative, whole.running
    else:
        split = turn_advantages(settings.advantages, pooled, role, stages, running)
        values, informative, after = split.values, split.informative, split.running
    mine = slice(offset, offset + len(scored))
    samples = [
        sample
        for group, episodes, teaches in zip(scored, values[mine], informative[mine], strict=True)
        if teaches
        for conversation, own in zip(_conversations(group, role), episodes, strict=True)
        for sample in _samples(conversation, dict(zip(stages, own, strict=True)), settings.mask_truncated)
    ]
    return Credit(tuple(samples), len(scored), sum(informative[mine]), after)


def _conversations(group: Scored, role: Role) -> tuple[Conversation, ...]:
    played = group.examined.group
    return played.chains if role == "generator" else played.suites


def _rewards(group: Scored, role: Role, stages: Sequence[int]) -> list[Values]:
    """Rewards of the trained turns, per episode; a chain's one reward stands on each of its turns."""
    if role == "generator":
        return [(reward,) * len(stages) for reward in group.generator]
    return [
        tuple(reward for turn, reward in zip(suite.turns, rewards, strict=True) if turn.stage in stages)
        for suite, rewards in zip(group.suites, group.discriminator, strict=True)
    ]


def _samples(conversation: Conversation, advantage: dict[int, float | None], mask_truncated: bool) -> list[Sample]:
    def of_turn(turn: Turn) -> float | None:
        return None if mask_truncated and turn.truncated else advantage.get(turn.stage)

    return conversation_samples(conversation, of_turn)
