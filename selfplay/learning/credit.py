"""Credit: a step's matches to samples, each token with the advantage of its turn.

What an advantage is stands in match/credit.py. Here the groups of all ranks are compared together, and groups that teach
nothing are dropped and counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from selfplay.game.advantages import RunningMeans, Values
from selfplay.game.episode import Conversation, Role
from selfplay.learning.ranks import Ranks
from selfplay.learning.samples import Sample, conversation_samples
from selfplay.match.counts import Counts
from selfplay.match.credit import CreditSettings, credited, trained_rewards, with_advantages
from selfplay.match.record import Match

__all__ = ["Credit", "CreditSettings", "credit", "taught"]


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


def credit(
    matches: Sequence[Match],
    role: Role,
    stages: Sequence[int],
    settings: CreditSettings,
    running: RunningMeans,
    ranks: Ranks,
) -> Credit:
    """Advantages and samples for the trained turns, those at `stages`, of `role` in a step's matches."""
    everyone = ranks.gather([trained_rewards(match, role, stages) for match in matches])
    offset = sum(len(own) for own in everyone[: ranks.rank])
    values, informative, after = credited([group for own in everyone for group in own], role, stages, settings, running)
    mine = slice(offset, offset + len(matches))
    trained = [
        with_advantages(match, role, stages, episodes, settings.mask_truncated)
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
