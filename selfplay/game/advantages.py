"""Advantages by name: how much better than expected. Plain numbers in, plain numbers out.

A table holds one group of episodes per row and one reward per episode, or per turn of an episode. None is an episode
that infrastructure lost: it stays None and leaves the baseline too. A group in which every advantage is 0 teaches
nothing: it is marked, to be dropped and counted.

    under `group`   ((1.0, 0.0, None), (0.5, 0.5))   gives   ((0.5, -0.5, None), (0.0, 0.0)), informative (True, False)

`group` and `group_std` compare with the group's own mean (GRPO, Shao et al. 2024), `running` with a moving average per
role and stage, `raw` with nothing. Left out: a learnt value function.
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


@dataclass(frozen=True, slots=True)
class RunningMeans:
    """Moving averages of rewards by (role, stage); what `running` subtracts. A value: updating returns a new one."""

    means: Mapping[tuple[Role, int], float] = field(default_factory=lambda: MappingProxyType({}))
    decay: float = 0.9

    def updated(self, key: tuple[Role, int], rewards: Sequence[float]) -> RunningMeans:
        """With one more batch of rewards."""
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
    """The same for rewards per turn: `values[group][episode][turn]`."""

    values: tuple[tuple[Values, ...], ...]
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
    centred, after = _centred(name, [(stage, cells)], role, running)
    values = [_scaled(cell, _deviation([cell])) if name == "group_std" else cell for cell in centred[0]]
    return Advantages(tuple(values), tuple(_any(cell) for cell in values), after)


def turn_advantages(
    name: str,
    groups: Sequence[Sequence[Sequence[float | None]]],
    role: Role,
    stages: Sequence[int],
    running: RunningMeans = RunningMeans(),
) -> TurnAdvantages:
    """One advantage per turn, from rewards `groups[group][episode][turn]` whose turns were played at `stages`.

    A turn is compared with the group's turns of the same stage. `group_std` divides by one deviation, pooled over all
    stages and groups of the step where rewards differ at all: a stage's own few rewards say too little about its scale.
    Give the trained stages only: what is not trained must not set the scale.
    """
    _check(name)
    by_stage = [
        (stage, [tuple(episode[turn] for episode in group) for group in groups]) for turn, stage in enumerate(stages)
    ]
    columns, after = _centred(name, by_stage, role, running)
    if name == "group_std":
        scale = _deviation([cell for column in columns for cell in column if _any(cell)])
        columns = [[_scaled(cell, scale) for cell in column] for column in columns]
    values = tuple(
        tuple(tuple(column[group][episode] for column in columns) for episode in range(len(groups[group])))
        for group in range(len(groups))
    )
    return TurnAdvantages(values, tuple(any(_any(episode) for episode in group) for group in values), after)


def _check(name: str) -> None:
    if name not in ADVANTAGES:
        raise UnknownName("advantage", name, ADVANTAGES)


def _centred(
    name: str, by_stage: Sequence[tuple[int, list[Values]]], role: Role, running: RunningMeans
) -> tuple[list[list[Values]], RunningMeans]:
    """Rewards of each stage's cells minus their baseline, and the moving averages with these rewards in them."""
    columns = []
    for stage, cells in by_stage:
        rewards = [reward for cell in cells for reward in _known(cell)]
        before = running.means.get((role, stage), _mean(rewards))
        running = running.updated((role, stage), rewards)
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
