"""Credit: a step's matches to samples, each token with the advantage of its turn.

What an advantage is stands in game/advantages.py. Here the groups of all ranks are compared together, and groups that
teach nothing are dropped and counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from selfplay.config import Config
from selfplay.game.advantages import RunningMeans, advantages
from selfplay.game.episode import Role
from selfplay.learning.ranks import Ranks
from selfplay.learning.samples import Sample, conversation_samples
from selfplay.match.counts import Counts
from selfplay.match.match import Match


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
    matches: Sequence[Match], role: Role, stages: Sequence[int], config: Config, running: RunningMeans, ranks: Ranks
) -> Credit:
    """Advantages and samples for the trained turns, those at `stages`, of `role` in a step's matches."""
    everyone = ranks.gather([match.rewards(role, stages) for match in matches])
    first = sum(map(len, everyone[: ranks.rank]))
    made = advantages(config.advantages, [group for own in everyone for group in own], role, stages, running)
    mine = slice(first, first + len(matches))
    informative = made.informative[mine]
    trained = tuple(
        match.with_advantages(role, stages, own) for match, own in zip(matches, made.values[mine], strict=True)
    )
    samples = tuple(
        sample
        for match, teaches in zip(trained, informative, strict=True)
        if teaches
        for episode in match.episodes(role)
        for sample in conversation_samples(episode.conversation, episode.advantages)
    )
    return Credit(trained, samples, len(matches), sum(informative), made.running)


def group_counts(credits: Mapping[Role, Credit]) -> Counts:
    """How many of this rank's groups taught something, by role and together."""
    counts = Counts()
    for role, own in credits.items():
        for name, count in (("informative_groups", own.informative), ("groups", own.groups)):
            counts += Counts(plain={name: count, f"{name}/{role}": count})
    return counts
