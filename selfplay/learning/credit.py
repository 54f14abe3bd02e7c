"""Credit: rewards to advantages on tokens.

A generator's episode has one outcome, so one advantage lies on all its trained turns. A case belongs to the turn that
wrote it, so a discriminator's advantage is per turn: its group's turns of the same stage are the baseline. Groups
without spread are dropped and counted. Baselines look at the groups of all ranks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from selfplay.game.advantages import RunningMeans, Values, advantages, turn_advantages
from selfplay.game.episode import Conversation, Role
from selfplay.learning.ranks import Ranks
from selfplay.learning.samples import Sample, conversation_samples
from selfplay.match.counts import Counts
from selfplay.match.record import Match


@dataclass(frozen=True, slots=True)
class Credit:
    """This rank's matches with their advantages, and the samples that the update trains on.

    `groups` counts its groups, `informative` those that teach something; `running` are the new moving averages.
    """

    matches: tuple[Match, ...]
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
    matches: Sequence[Match],
    role: Role,
    stages: Sequence[int],
    settings: CreditSettings,
    running: RunningMeans,
    ranks: Ranks,
) -> Credit:
    """Advantages and samples for the trained turns, those at `stages`, of `role` in a step's matches."""
    everyone = ranks.gather([_rewards(match, role, stages) for match in matches])
    offset = sum(len(own) for own in everyone[: ranks.rank])
    values, informative, after = credited([group for own in everyone for group in own], role, stages, settings, running)
    mine = slice(offset, offset + len(matches))
    trained = [
        _with_advantages(match, role, stages, episodes, settings.mask_truncated)
        for match, episodes in zip(matches, values[mine], strict=True)
    ]
    samples = [
        sample
        for match, teaches in zip(trained, informative[mine], strict=True)
        if teaches
        for conversation, own in zip(match.conversations(role), _advantages(match, role), strict=True)
        for sample in _samples(conversation, own)
    ]
    return Credit(tuple(trained), tuple(samples), len(matches), sum(informative[mine]), after)


def credited(
    pooled: Sequence[Sequence[Values]],
    role: Role,
    stages: Sequence[int],
    settings: CreditSettings,
    running: RunningMeans,
) -> tuple[Sequence[Sequence[Values]], Sequence[bool], RunningMeans]:
    """Advantages in the shape of the rewards `pooled[group][episode][turn]` of all ranks' groups; which groups teach
    something; the moving averages afterwards."""
    if role == "generator":
        whole = advantages(
            settings.advantages, [[turns[0] for turns in group] for group in pooled], role, stages[0], running
        )
        values = [[(value,) * len(stages) for value in group] for group in whole.values]
        return values, whole.informative, whole.running
    split = turn_advantages(settings.advantages, pooled, role, stages, running)
    return split.values, split.informative, split.running


def _rewards(match: Match, role: Role, stages: Sequence[int]) -> list[Values]:
    """Rewards of the trained turns, per episode; a chain's one reward stands on each of its turns."""
    if role == "generator":
        return [(chain.reward,) * len(stages) for chain in match.chains]
    return [
        tuple(reward for turn, reward in zip(suite.turns, suite.rewards, strict=True) if turn.stage in stages)
        for suite in match.suites
    ]


def _with_advantages(
    match: Match, role: Role, stages: Sequence[int], episodes: Sequence[Values], mask_truncated: bool
) -> Match:
    """The match with an advantage on each trained turn of `role`, None on every other."""

    def of(conversation: Conversation, values: Values) -> Values:
        by_stage = dict(zip(stages, values, strict=True))
        return tuple(
            None if mask_truncated and turn.truncated else by_stage.get(turn.stage) for turn in conversation.turns
        )

    if role == "generator":
        pairs = zip(match.chains, episodes, strict=True)
        return replace(match, chains=tuple(replace(c, advantages=of(c.conversation, own)) for c, own in pairs))
    pairs = zip(match.suites, episodes, strict=True)
    return replace(match, suites=tuple(replace(s, advantages=of(s.conversation, own)) for s, own in pairs))


def _samples(conversation: Conversation, advantages: Values) -> list[Sample]:
    by_stage = {turn.stage: value for turn, value in zip(conversation.turns, advantages, strict=True)}
    return conversation_samples(conversation, lambda turn: by_stage[turn.stage])


def _advantages(match: Match, role: Role) -> list[Values]:
    return [each.advantages for each in (match.chains if role == "generator" else match.suites)]


def taught(credits: Mapping[Role, Credit]) -> Counts:
    """How many of this rank's groups taught something, by role and together."""
    plain: dict[str, int] = {}
    for role, own in credits.items():
        for name, count in (("informative_groups", own.informative), ("groups", own.groups)):
            plain[name] = plain.get(name, 0) + count
            plain[f"{name}/{role}"] = count
    return Counts(plain=plain)
