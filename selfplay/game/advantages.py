"""Advantages by name: how much better than expected. Plain numbers in, plain numbers out.

A table holds one group of episodes per row and one reward per episode; or, per turn of an episode, what it has still to
earn after 0, 1, 2 ... cases. None is an episode that infrastructure lost: it stays None and leaves the baseline too. A
group in which every advantage is 0 teaches nothing: it is marked, to be dropped and counted.

    under `group`   ((1.0, 0.0, None), (0.5, 0.5))   gives   ((0.5, -0.5, None), (0.0, 0.0)), informative (True, False)

`group` and `group_std` compare with the group's own mean (GRPO, Shao et al. 2024), `running` with a moving average per
role and place, `raw` with nothing. Left out: a learnt value function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from types import MappingProxyType

from selfplay.errors import UnknownName
from selfplay.game.episode import Role

ADVANTAGES = ("group_std", "group", "running", "raw")
_NO_SPREAD = 1e-9  # rounding of equal rewards' mean stays below this

Values = tuple[float | None, ...]
Place = tuple[int, int]  # stage, cases already written; a whole episode's reward stands at (its stage, 0)


@dataclass(frozen=True, slots=True)
class RunningMeans:
    """Moving averages of rewards by (role, place); what `running` subtracts. A value: updating returns a new one."""

    means: Mapping[tuple[Role, Place], float] = field(default_factory=lambda: MappingProxyType({}))
    decay: float = 0.9

    def updated(self, key: tuple[Role, Place], rewards: Sequence[float]) -> RunningMeans:
        if not rewards:
            return self
        batch = sum(rewards) / len(rewards)
        mean = self.decay * self.means[key] + (1 - self.decay) * batch if key in self.means else batch
        return RunningMeans(MappingProxyType({**self.means, key: mean}), self.decay)


@dataclass(frozen=True, slots=True)
class Advantages:
    """One advantage per reward, in the same shape; for each group whether any is not 0; the averages afterwards."""

    values: tuple[Values, ...]
    informative: tuple[bool, ...]
    running: RunningMeans


@dataclass(frozen=True, slots=True)
class TurnAdvantages:
    """The same for turns: `values[group][episode][turn][cases written]`."""

    values: tuple[tuple[tuple[Values, ...], ...], ...]
    informative: tuple[bool, ...]
    running: RunningMeans


def advantages(
    name: str, groups: Sequence[Sequence[float | None]], role: Role, stage: int, running: RunningMeans = RunningMeans()
) -> Advantages:
    """One advantage per episode. `group_std` divides by each group's own deviation (over its members, not n - 1).

    `role` and `stage` name the average that `running` uses; the first batch of a role and stage is its own average.
    """
    _check(name)
    cells = [tuple(group) for group in groups]
    centred, after = _centred(name, [((stage, 0), cells)], role, running)
    values = [_scaled(cell, _deviation([cell])) if name == "group_std" else cell for cell in centred[0]]
    return Advantages(tuple(values), tuple(_any(cell) for cell in values), after)


def turn_advantages(
    name: str,
    groups: Sequence[Sequence[Sequence[Values]]],
    role: Role,
    stages: Sequence[int],
    running: RunningMeans = RunningMeans(),
) -> TurnAdvantages:
    """Advantages in the shape of `groups[group][episode][turn][cases written]`, whose turns were played at `stages`.

    What a turn has still to earn is compared with the group's turns of the same stage after as many cases; one that
    wrote fewer earns 0 there. `group_std` divides by one deviation, pooled over all places and groups of the step where
    rewards differ at all: a place's own few rewards say too little about its scale. Give the trained stages only: what is
    not trained must not set the scale.
    """
    _check(name)
    depth = max((len(turn) for group in groups for episode in group for turn in episode), default=0)
    places = [(turn, written) for turn in range(len(stages)) for written in range(depth)]
    by_place = [
        ((stages[turn], written), [tuple(_at(episode[turn], written) for episode in group) for group in groups])
        for turn, written in places
    ]
    columns, after = _centred(name, by_place, role, running)
    if name == "group_std":
        scale = _deviation([cell for column in columns for cell in column if _any(cell)])
        columns = [[_scaled(cell, scale) for cell in column] for column in columns]
    column = dict(zip(places, columns, strict=True))
    values = tuple(
        tuple(
            tuple(tuple(column[i, n][g][e] for n in range(len(turn))) for i, turn in enumerate(episode))
            for e, episode in enumerate(group)
        )
        for g, group in enumerate(groups)
    )
    informative = tuple(any(_any(turn) for episode in group for turn in episode) for group in values)
    return TurnAdvantages(values, informative, after)


def _at(turn: Values, written: int) -> float | None:
    if written < len(turn):
        return turn[written]
    return None if None in turn else 0.0


def _check(name: str) -> None:
    if name not in ADVANTAGES:
        raise UnknownName("advantage", name, ADVANTAGES)


def _centred(
    name: str, by_place: Sequence[tuple[Place, list[Values]]], role: Role, running: RunningMeans
) -> tuple[list[list[Values]], RunningMeans]:
    """Rewards of each place's cells minus their baseline, and the moving averages with these rewards in them."""
    columns = []
    for place, cells in by_place:
        rewards = [reward for cell in cells for reward in _known(cell)]
        before = running.means.get((role, place), _mean(rewards))
        running = running.updated((role, place), rewards)
        baseline = {"raw": 0.0, "running": before}
        columns.append([_minus(cell, baseline.get(name, _mean(_known(cell)))) for cell in cells])
    return columns, running


def _known(cell: Values) -> list[float]:
    return [value for value in cell if value is not None]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _minus(cell: Values, baseline: float) -> Values:
    return tuple(None if value is None else _rounded(value - baseline) for value in cell)


def _rounded(value: float) -> float:
    return 0.0 if abs(value) < _NO_SPREAD else value


def _deviation(cells: Sequence[Values]) -> float:
    """Root mean square of centred values."""
    return sqrt(_mean([value * value for cell in cells for value in _known(cell)]))


def _scaled(cell: Values, scale: float) -> Values:
    return tuple(None if value is None else value / scale if scale else 0.0 for value in cell)


def _any(cell: Values) -> bool:
    return any(cell)  # neither None nor 0
