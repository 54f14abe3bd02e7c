"""Credit: rewards to advantages on tokens.

A generator's episode has one outcome, so one advantage lies on all its trained turns. A discriminator's case belongs to
the tokens that wrote it: a token earns what is still to come in its turn, the cases that end after it, and nothing for
those before (the reward-to-go of Williams 1992, which halves the noise of a turn of two cases). Its baseline is what
the group's turns of the same stage had still to earn after as many cases. Groups without spread are dropped and counted.
Baselines look at the groups of all ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar

from selfplay.game.advantages import RunningMeans, Values, advantages, turn_advantages
from selfplay.game.episode import Conversation, Role, Turn
from selfplay.game.rewards import Earned
from selfplay.learning.positions import Decode, case_ends
from selfplay.learning.ranks import Ranks
from selfplay.learning.samples import Piece, Sample, conversation_samples
from selfplay.learning.scoring import Scored

T = TypeVar("T")


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


@dataclass(frozen=True, slots=True)
class Returns:
    """What one turn has still to earn: `values[m]` once m cases are written, that is up to id `ends[m]`."""

    ends: tuple[int, ...]
    values: Values


Pieces = Mapping[int, Sequence[Piece]]  # of one conversation, by stage


def credit(
    scored: Sequence[Scored],
    role: Role,
    stages: Sequence[int],
    settings: CreditSettings,
    running: RunningMeans,
    ranks: Ranks,
    text: Decode,
) -> Credit:
    """Samples for the trained turns, those at `stages`, of `role` in a step's groups. `text` of ids says where cases end."""
    if role == "generator":
        pieces, informative, after = _of_chains(scored, stages, settings.advantages, running, ranks)
    else:
        pieces, informative, after = _of_suites(scored, stages, settings.advantages, running, ranks, text)
    samples = [
        sample
        for group, episodes, teaches in zip(scored, pieces, informative, strict=True)
        if teaches
        for conversation, own in zip(_conversations(group, role), episodes, strict=True)
        for sample in conversation_samples(conversation, _of_turn(own, settings.mask_truncated))
    ]
    return Credit(tuple(samples), len(scored), sum(informative), after)


def _conversations(group: Scored, role: Role) -> tuple[Conversation, ...]:
    played = group.examined.group
    return played.chains if role == "generator" else played.suites


def _of_turn(pieces: Pieces, mask_truncated: bool) -> Callable[[Turn], Sequence[Piece]]:
    return lambda turn: () if mask_truncated and turn.truncated else pieces.get(turn.stage, ())


Pieced = tuple[Sequence[Sequence[Pieces]], Sequence[bool], RunningMeans]  # by group and episode; which teach; averages


def _of_chains(
    scored: Sequence[Scored], stages: Sequence[int], name: str, running: RunningMeans, ranks: Ranks
) -> Pieced:
    """One advantage on all trained turns of a chain."""
    rewards, mine = _gathered(ranks, [group.generator for group in scored])
    made = advantages(name, rewards, "generator", stages[0], running)
    pieces = [
        [
            {turn.stage: [(len(turn.ids), value)] for turn in chain.turns if value is not None and turn.stage in stages}
            for chain, value in zip(group.examined.group.chains, values, strict=True)
        ]
        for group, values in zip(scored, made.values[mine], strict=True)
    ]
    return pieces, made.informative[mine], made.running


def _of_suites(
    scored: Sequence[Scored], stages: Sequence[int], name: str, running: RunningMeans, ranks: Ranks, text: Decode
) -> Pieced:
    """An advantage on each piece of a suite's trained turns."""
    returns = [_returns(group, stages, text) for group in scored]
    values, mine = _gathered(ranks, [[[turn.values for turn in suite] for suite in group] for group in returns])
    made = turn_advantages(name, values, "discriminator", stages, running)
    pieces = [
        [
            {stage: _pieces(turn, values) for stage, turn, values in zip(stages, suite, own, strict=True)}
            for suite, own in zip(group, advantages, strict=True)
        ]
        for group, advantages in zip(returns, made.values[mine], strict=True)
    ]
    return pieces, made.informative[mine], made.running


def _gathered(ranks: Ranks, own: list[T]) -> tuple[list[T], slice]:
    """The groups of all ranks, and which of them are this one's."""
    everyone = ranks.gather(own)
    offset = sum(len(each) for each in everyone[: ranks.rank])
    return [group for each in everyone for group in each], slice(offset, offset + len(own))


def _returns(group: Scored, stages: Sequence[int], text: Decode) -> list[list[Returns]]:
    """Of each suite's trained turns."""
    return [
        [
            _of_cases(turn, [case.source for case in written.cases], earned, text) if earned else _whole(turn, reward)
            for turn, written, reward, earned in zip(suite.turns, read, rewards, paid, strict=True)
            if turn.stage in stages
        ]
        for suite, read, rewards, paid in zip(
            group.examined.group.suites, group.examined.suites, group.discriminator, group.earned, strict=True
        )
    ]


def _of_cases(turn: Turn, sources: Sequence[str], earned: Earned, text: Decode) -> Returns:
    by_end = sorted(zip(case_ends(turn, sources, text), earned, strict=True), key=lambda pair: pair[0])
    to_come = [*accumulate((worth for _, worth in reversed(by_end)), initial=0.0)]
    return Returns((*(end for end, _ in by_end), len(turn.ids)), tuple(reversed(to_come)))


def _whole(turn: Turn, reward: float | None) -> Returns:
    """A turn without cases of its own to be paid for."""
    return Returns((len(turn.ids),), (reward,))


def _pieces(turn: Returns, advantages: Values) -> list[Piece]:
    return [(end, value) for end, value in zip(turn.ends, advantages, strict=True) if value is not None]
