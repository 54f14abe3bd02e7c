"""From rewards to advantages on turns: what a step's matches teach, as plain numbers.

A generator's episode has one outcome, so one advantage lies on all its trained turns. A case belongs to the turn that
wrote it, so a discriminator's advantage is per turn: its group's turns of the same stage are the baseline. Training and
scoring again both go through here, so what is recorded can be computed again. Left out: tokens, and the groups of
other processes (learning/credit.py adds both).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from selfplay.game.advantages import RunningMeans, Values, advantages, turn_advantages
from selfplay.game.episode import Conversation, Role
from selfplay.match.record import Match


@dataclass(frozen=True, slots=True)
class CreditSettings:
    """`mask_truncated` leaves out turns that the token limit ended."""

    advantages: str = "group_std"
    mask_truncated: bool = False


def trained_rewards(match: Match, role: Role, stages: Sequence[int]) -> list[Values]:
    """Rewards of the turns at `stages`, per episode of `role`; a chain's one reward stands on each of its turns."""
    if role == "generator":
        return [(chain.reward,) * len(stages) for chain in match.chains]
    return [
        tuple(reward for turn, reward in zip(suite.turns, suite.rewards, strict=True) if turn.stage in stages)
        for suite in match.suites
    ]


def credited(
    pooled: Sequence[Sequence[Values]],
    role: Role,
    stages: Sequence[int],
    settings: CreditSettings,
    running: RunningMeans,
) -> tuple[Sequence[Sequence[Values]], Sequence[bool], RunningMeans]:
    """Advantages in the shape of the rewards `pooled[group][episode][turn]` of all groups of a step; which groups teach
    something; the moving averages afterwards."""
    if role == "generator":
        whole = advantages(
            settings.advantages, [[turns[0] for turns in group] for group in pooled], role, stages[0], running
        )
        values = [[(value,) * len(stages) for value in group] for group in whole.values]
        return values, whole.informative, whole.running
    split = turn_advantages(settings.advantages, pooled, role, stages, running)
    return split.values, split.informative, split.running


def with_advantages(
    match: Match, role: Role, stages: Sequence[int], episodes: Sequence[Values], mask_truncated: bool
) -> Match:
    """The match with an advantage on each trained turn of `role`, None on every other; `episodes` as `credited` returns."""

    def of(conversation: Conversation, values: Values) -> Values:
        marks = ((turn.stage, turn.truncated) for turn in conversation.turns)
        return on_turns(marks, stages, values, mask_truncated)

    if role == "generator":
        pairs = zip(match.chains, episodes, strict=True)
        return replace(match, chains=tuple(replace(c, advantages=of(c.conversation, own)) for c, own in pairs))
    pairs = zip(match.suites, episodes, strict=True)
    return replace(match, suites=tuple(replace(s, advantages=of(s.conversation, own)) for s, own in pairs))


def on_turns(turns: Iterable[tuple[int, bool]], stages: Sequence[int], values: Values, mask_truncated: bool) -> Values:
    """The advantages of the trained `stages` laid on a conversation's turns, each given as (stage, truncated)."""
    by_stage = dict(zip(stages, values, strict=True))
    return tuple(None if mask_truncated and truncated else by_stage.get(stage) for stage, truncated in turns)
