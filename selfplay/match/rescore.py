"""A run scored again under another reward rule, from its ledger alone: what would each rule have taught?

    told = rescore(ledger, config, scoring("shifted", "group", config))
    told.rows            per role and stage of training: mean, spread, informative groups under both; rank correlations
    told.disagreements   the episodes that stand best under one rule and worst under the other

The left side is what was recorded, with advantages as they were computed; the right side scores the same verdicts under
the other rule, its running means replayed step by step from the first. Beside that the run's own rule is computed
again, and `differing` counts where it does not give what was recorded: 0, unless rules or records were changed since.
One step's matches are in memory at a time, and two numbers for each reward of the run. Left out: what the run would have
become under the other rule; it was played and trained under its own.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import isfinite, isnan, nan
from typing import NamedTuple

import numpy as np

from selfplay.config import Config
from selfplay.errors import UnknownName
from selfplay.game.advantages import ADVANTAGES, RunningMeans, Values, advantages, on_turns
from selfplay.game.episode import Role
from selfplay.game.phases import Step, trained_roles, trained_stages
from selfplay.game.rewards import RewardRule, get_rule
from selfplay.match.excerpt import excerpt
from selfplay.match.ledger import LedgerError
from selfplay.match.match import Match
from selfplay.match.score import score

EPISODES = 5  # that the two rules disagree on most, shown unless told otherwise


@dataclass(frozen=True, slots=True)
class Scoring:
    """A reward rule, and what becomes of its rewards."""

    rule: RewardRule
    advantages: str


@dataclass(frozen=True, slots=True)
class Side:
    """What one scoring makes of a role's rewards at one stage. None where there is no reward. `spread`: their standard
    deviation; `informative`: groups that would teach something / groups."""

    mean: float | None
    spread: float | None
    informative: float


@dataclass(frozen=True, slots=True)
class StageScores:
    """Both scorings of the turns that `role` was trained on in the steps of `stage`.

    `rewards` counts them, a chain's once. `reward_order` and `advantage_order`: Spearman's rank correlation between the two
    scorings, over all of them; None where one side is all alike.
    """

    role: Role
    stage: int
    groups: int
    rewards: int
    recorded: Side
    again: Side
    reward_order: float | None
    advantage_order: float | None


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An episode that the two rules see differently, by how many deviations of its group (`distance`).

    `line` of the ledger; `number` of the chain or suite in it. `rewards` (a suite's: the mean of its trained turns) and
    `standings`, the same less the group's mean and by its deviation, recorded first. `text`: what was written.
    """

    distance: float
    line: int
    step: int
    stage: int
    role: Role
    problem: str
    number: int
    rewards: tuple[float | None, float | None]
    standings: tuple[float, float]
    text: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RescoreResult:
    """`compared`: recorded rewards and advantages that were computed again under the run's own rule, of which `differing`
    came out as something else. `incomplete`: the index of a last step that is not whole, and therefore left out."""

    steps: int
    groups: int
    rows: tuple[StageScores, ...]
    disagreements: tuple[Disagreement, ...]
    compared: int
    differing: int
    incomplete: int | None = None


def scoring(rule: str | None, advantages: str | None, config: Config) -> Scoring:
    """A rule and advantages by name, the run's own where they are None. Raises UnknownName."""
    name = advantages or config.advantages
    if name not in ADVANTAGES:
        raise UnknownName("advantage", name, ADVANTAGES)
    weighed = get_rule(rule or config.rewards).with_validity_weight(config.validity_weight)
    return Scoring(weighed, name)


def rescore(
    ledger: Iterable[tuple[int, Match]],
    config: Config,
    other: Scoring,
    groups: Mapping[int, int] | None = None,
    shown: int = EPISODES,
) -> RescoreResult:
    """The matches of a run, each with the number of its line, scored again.

    `groups` says how many a step has, where that is known. A last step that has fewer is left out, since advantages
    need all of them; an earlier one, or steps out of order, raise LedgerError.
    """
    tally = _Tally(config, other, shown)
    incomplete, last = None, None
    for step, numbered in groupby(ledger, key=lambda numbered: numbered[1].step):
        if last is not None and step.index <= last:
            raise LedgerError(f"step {step.index} comes after step {last}: a ledger has the steps of one run in order")
        if incomplete is not None:
            raise LedgerError(
                f"step {incomplete} has other groups than metrics.jsonl says, and is not the last: restore both"
            )
        last = step.index
        matches = [tally.scored(line, match) for line, match in numbered]
        if groups and len(matches) != groups.get(step.index, len(matches)):
            incomplete = step.index
        else:
            tally.add(step, matches)
    return tally.tables(incomplete)


class _Scored(NamedTuple):
    """A match as it was recorded, and as the other rule scores it."""

    line: int
    recorded: Match
    again: Match


@dataclass(slots=True)
class _Cell:
    """All rewards and advantages of one role at one stage, recorded and again, NaN where there is none."""

    groups: int = 0
    informative: list[int] = field(default_factory=lambda: [0, 0])
    rewards: tuple[array[float], array[float]] = field(default_factory=lambda: (array("d"), array("d")))
    advantages: tuple[array[float], array[float]] = field(default_factory=lambda: (array("d"), array("d")))


class _Tally:
    """What the steps so far add up to, and the running means of both scorings."""

    def __init__(self, config: Config, other: Scoring, shown: int) -> None:
        self.config, self.shown = config, shown
        self.scorings = scoring(None, None, config), other
        self.running = [RunningMeans(), RunningMeans()]
        self.cells: dict[tuple[Role, int], _Cell] = {}
        self.disagreements: list[Disagreement] = []
        self.steps = self.groups = self.compared = self.differing = 0

    def scored(self, line: int, match: Match) -> _Scored:
        """Scores one match under the other rule. Raises LedgerError where it has no rewards, as an evaluation's."""
        if any(len(suite.rewards) != len(suite.turns) for suite in match.suites):
            raise LedgerError(f"line {line}: its suites have no rewards; this is no match that a run trained on")
        return _Scored(line, match, score([match], self.scorings[1].rule)[0])

    def add(self, step: Step, matches: Sequence[_Scored]) -> None:
        """Takes in a whole step: advantages look at all of its groups."""
        stages = trained_stages(step, self.config.trained_stages)
        for role in trained_roles(step, self.config.adversary):
            cell = self.cells.setdefault((role, step.stage), _Cell())
            cell.groups += len(matches)
            for side, each in enumerate(self.scorings):
                rewards = [(match.again if side else match.recorded).rewards(role, stages) for match in matches]
                values = advantages(each.advantages, rewards, role, stages, self.running[side])
                self.running[side] = values.running
                cell.informative[side] += sum(values.informative)
                cell.rewards[side].extend(_flat(rewards, role))
                cell.advantages[side].extend(_flat(values.values, role))
                if not side:
                    self._compare_advantages(role, stages, matches, values.values)
        for line, recorded, again in matches:
            self._compare_rewards(recorded)
            roles = trained_roles(step, self.config.adversary)
            new = [each for role in roles for each in self._disagreements(line, recorded, again, role, stages)]
            most = [*self.disagreements, *new]
            self.disagreements = heapq.nlargest(self.shown, most, key=lambda each: each.distance)
        self.steps, self.groups = self.steps + 1, self.groups + len(matches)

    def _compare_rewards(self, match: Match) -> None:
        """Counts the recorded rewards that the run's own rule does not give."""
        [same] = score([match], self.scorings[0].rule)
        pairs = list(zip(_rewards(match), _rewards(same), strict=True))
        self.compared += len(pairs)
        self.differing += sum(one != two for one, two in pairs)

    def _compare_advantages(
        self, role: Role, stages: Sequence[int], matches: Sequence[_Scored], values: Sequence[Sequence[Values]]
    ) -> None:
        """Counts the recorded advantages that are not those computed again."""
        for match, group in zip(matches, values, strict=True):
            for episode, computed in zip(match.recorded.episodes(role), group, strict=True):
                again, recorded = on_turns(episode.conversation.stages, stages, computed), episode.advantages
                self.compared += len(again)
                self.differing += sum(a != b for a, b in zip(again, recorded, strict=True)) if recorded else len(again)

    def _disagreements(
        self, line: int, match: Match, again: Match, role: Role, stages: Sequence[int]
    ) -> Iterator[Disagreement]:
        """The episodes of a group that may come to be shown, those that the two rules rank alike left out."""
        if not self.shown:
            return
        rewards = [[_mean(turns) for turns in each.rewards(role, stages)] for each in (match, again)]
        enough = self.disagreements[-1].distance if len(self.disagreements) == self.shown else 0.0
        for number, (one, two) in enumerate(zip(*map(_standings, rewards), strict=True)):
            distance = abs(one - two)
            if distance > enough:
                step, pair = match.step, (_number(rewards[0][number]), _number(rewards[1][number]))
                about = (line, step.index, step.stage, role, match.problem.id, number)
                yield Disagreement(distance, *about, pair, (one, two), tuple(excerpt(match, role, number, stages)))

    def tables(self, incomplete: int | None) -> RescoreResult:
        order = sorted(self.cells, key=lambda key: (key[0] != "generator", key[1]))
        with np.errstate(all="ignore"):  # a made-up ledger may hold numbers whose squares no float takes
            rows = tuple(_row(role, stage, self.cells[role, stage]) for role, stage in order)
        shown = tuple(self.disagreements)
        return RescoreResult(self.steps, self.groups, rows, shown, self.compared, self.differing, incomplete)


def _rewards(match: Match) -> Iterator[float | None]:
    """Every reward of a match, of trained turns and of others."""
    yield from (chain.reward for chain in match.chains)
    for suite in match.suites:
        yield from suite.rewards


def _flat(table: Sequence[Sequence[Values]], role: Role) -> Iterator[float]:
    """Every value of `table[group][episode][turn]`; a chain's turns share one. NaN for None."""
    for group in table:
        for turns in group:
            yield from (nan if each is None else each for each in (turns[:1] if role == "generator" else turns))


def _mean(turns: Values) -> float:
    """NaN where infrastructure took a reward."""
    known = [nan if each is None else each for each in turns]
    return sum(known) / len(known) if known else nan


def _number(value: float) -> float | None:
    """None for what is none: JSON has no NaN."""
    return float(value) if isfinite(value) else None


def _standings(rewards: Sequence[float]) -> list[float]:
    """Each reward less the group's mean, by its deviation; 0 where nothing is known or all are alike."""
    known = [each for each in rewards if not isnan(each)]
    mean = sum(known) / len(known) if known else 0.0
    deviation = (sum((each - mean) * (each - mean) for each in known) / max(len(known), 1)) ** 0.5
    if not deviation > 1e-9:
        return [0.0] * len(rewards)
    return [0.0 if isnan(each) else (each - mean) / deviation for each in rewards]


def _row(role: Role, stage: int, cell: _Cell) -> StageScores:
    rewards, advantages = ([np.array(side) for side in sides] for sides in (cell.rewards, cell.advantages))
    groups = max(cell.groups, 1)
    recorded, again = (_side(values, count / groups) for values, count in zip(rewards, cell.informative, strict=True))
    orders = _order(*rewards), _order(*advantages)
    return StageScores(role, stage, cell.groups, len(rewards[0]), recorded, again, *orders)


def _side(rewards: np.ndarray, informative: float) -> Side:
    known = rewards[~np.isnan(rewards)]
    if not len(known):
        return Side(None, None, informative)
    return Side(_number(known.mean()), _number(known.std()), informative)


def _order(one: np.ndarray, two: np.ndarray) -> float | None:
    """Spearman's rank correlation over what is known on both sides, equal values sharing their mean rank."""
    both = ~(np.isnan(one) | np.isnan(two))
    a, b = _ranks(one[both]), _ranks(two[both])
    if len(a) < 2 or not a.std() or not b.std():
        return None
    return _number(np.corrcoef(a, b)[0, 1])


def _ranks(values: np.ndarray) -> np.ndarray:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]
