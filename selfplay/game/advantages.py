"""Advantages by name: how much better than expected each turn was. Plain numbers in, plain numbers out.

A step's rewards are a table `rewards[group][episode][turn]` over the trained turns, one stage per place. None is what
infrastructure lost: it stays None and leaves the baseline too. A group in which every advantage is 0 teaches nothing: it
is marked, to be dropped and counted. Two suites on stages 4 and 5, then two chains on the same stages:

    rewards                      under `group`                under `group_std`         on the turns, 1 to 5
    (1.0, 0.2)  (0.0, 0.4)       (.5, -.1)   (-.5, .1)        (1.4, -.3)  (-1.4, .3)    (None, None, None, 1.4, -.3) ...
    (1.0, 1.0)  (0.4, 0.4)       (.3, .3)    (-.3, -.3)       (1, 1)      (-1, -1)      (None, None, None, 1, 1) ...
    (0.5, 0.5)  (0.5, 0.5)       (0, 0)      (0, 0)           (0, 0)      (0, 0)        not informative

A case belongs to the turn that wrote it, so a suite's turn is compared with its group's turns of the same stage. A chain
has one outcome: its one reward stands on each of its turns and is compared once, as one of the first trained stage.

`group` and `group_std` compare with the group's own mean (GRPO, Shao et al. 2024), `running` with a moving average per
role and stage, `raw` with nothing. `group_std` divides a chain by its group's deviation (over its members, not n - 1), a
suite's turn by one deviation pooled over all stages and groups of the step where rewards differ at all: a stage's own few
rewards say too little about its scale. Left out: a learnt value function.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
        """With one more batch of rewards; the first is its own average."""
        if not rewards:
            return self
        batch = _mean(rewards)
        mean = self.decay * self.means[key] + (1 - self.decay) * batch if key in self.means else batch
        return RunningMeans(MappingProxyType({**self.means, key: mean}), self.decay)


@dataclass(frozen=True, slots=True)
class Advantages:
    """`values[group][episode][turn]`, in the shape of the rewards; for each group whether any is not 0; the averages
    afterwards."""

    values: tuple[tuple[Values, ...], ...]
    informative: tuple[bool, ...]
    running: RunningMeans


def advantages(
    name: str,
    rewards: Sequence[Sequence[Values]],
    role: Role,
    stages: Sequence[int],
    running: RunningMeans = RunningMeans(),
) -> Advantages:
    """The advantages of `role` in a step that trains it at `stages`, from the rewards of all groups of the step.

    Give the rewards of trained stages only: what is not trained must not set the scale. Raises UnknownName.
    """
    if name not in ADVANTAGES:
        raise UnknownName("advantage", name, ADVANTAGES)
    compared = stages[:1] if role == "generator" else stages
    columns: list[list[Values]] = []  # [stage][group]: the values of the group's episodes
    for turn, stage in enumerate(compared):
        column = [tuple(episode[turn] for episode in group) for group in rewards]
        known = [reward for cell in column for reward in _known(cell)]
        baseline = {"raw": 0.0, "running": running.means.get((role, stage), _mean(known))}
        columns.append([_minus(cell, baseline.get(name, _mean(_known(cell)))) for cell in column])
        running = running.updated((role, stage), known)
    if name == "group_std":
        pooled = _deviation(cell for column in columns for cell in column if any(cell))
        columns = [
            [_over(cell, _deviation([cell]) if role == "generator" else pooled) for cell in column]
            for column in columns
        ]
    turns = len(stages) // len(compared)  # that a value stands on
    values = tuple(
        tuple(tuple(column[number][episode] for column in columns) * turns for episode in range(len(group)))
        for number, group in enumerate(rewards)
    )
    return Advantages(values, tuple(any(map(any, group)) for group in values), running)


def on_turns(turns: Iterable[int], stages: Sequence[int], values: Values) -> Values:
    """An episode's advantages at the trained `stages` laid on all its turns, each given by its stage; None for the others."""
    by_stage = dict(zip(stages, values, strict=True))
    return tuple(map(by_stage.get, turns))


def _known(cell: Values) -> list[float]:
    return [value for value in cell if value is not None]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _minus(cell: Values, baseline: float) -> Values:
    centred = (None if value is None else value - baseline for value in cell)
    return tuple(0.0 if value is not None and abs(value) < _NO_SPREAD else value for value in centred)


def _over(cell: Values, scale: float) -> Values:
    return tuple(None if value is None else value / scale if scale else 0.0 for value in cell)


def _deviation(cells: Iterable[Values]) -> float:
    """Root mean square of centred values."""
    return sqrt(_mean([value * value for cell in cells for value in _known(cell)]))
