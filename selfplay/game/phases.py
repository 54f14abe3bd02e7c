"""When each role is trained at which stage: schedules by name, as one flat tuple of steps.

`full` is the progressive schedule: for each stage N discriminator steps, N generator steps, then K steps in total that
alternate, beginning with the generator. Every step plays both roles anyway, so under `shared` the other one learns too. The
others exist to be compared: with N = 3, K = 2 and five stages `full`, `shared` and `alternating` make 40 steps; of `full` 20
are the generator's, which `generator_only` makes alone, and `joint` makes 20 of both. Left out: schedules that react to results
(a curriculum); a schedule is known before the run starts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import Literal

from selfplay.errors import SelfplayError, UnknownName
from selfplay.game.episode import ROLES, Role

Trained = Literal["generator", "discriminator", "both"]
STAGE_IDS = (1, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a run: at `stage`, who learns.

    Stages of `played` before `stage` are the frozen prefix. `phase` labels logs ("stage 2 discriminator");
    `ends_stage` marks the last step of a stage, after which the run evaluates. `layout`: for whom groups are laid out, where it
    is not for all who learn.
    """

    index: int
    stage: int
    role: Trained
    phase: str
    ends_stage: bool = False
    played: tuple[int, ...] = STAGE_IDS
    layout: Trained | None = None

    def trains(self, role: str) -> bool:
        """Whether the step updates a role's adapter."""
        return self.role in (role, "both")


_Block = list[tuple[Trained, str]]  # (for whom groups are laid out, label) of each step of one stage
_GENERATOR: _Block = [("generator", "generator")]
_DISCRIMINATOR: _Block = [("discriminator", "discriminator")]
_ALTERNATING: _Block = [("generator", "alternating"), ("discriminator", "alternating")]


def _full(d: int, g: int, k: int) -> _Block:
    """Of the K alternating steps the generator has the odd one."""
    return [*_DISCRIMINATOR * d, *_GENERATOR * g, *islice(cycle(_ALTERNATING), k)]


_BY_STAGE: dict[str, Callable[[int, int, int], _Block]] = {
    "shared": _full,
    "full": _full,
    "joint": lambda d, g, k: [("both", "joint")] * max(d + k // 2, g + (k + 1) // 2),
    "generator_only": lambda d, g, k: _GENERATOR * (g + (k + 1) // 2),
    "discriminator_only": lambda d, g, k: _DISCRIMINATOR * (d + k // 2),
}
SCHEDULES = (*_BY_STAGE, "alternating", "single_stage")


def schedule(
    name: str, stages: Sequence[int] = STAGE_IDS, n_discriminator_steps: int = 3, n_generator_steps: int = 3, k: int = 2
) -> tuple[Step, ...]:
    """The steps of a run, in order.

    `full` N + N + K per stage · `shared` the same, where both roles learn in each step · `joint` both learn, each as often as
    in `full`: 3 + 3 + 2 makes four a stage · `generator_only`, `discriminator_only` the steps of one role · `alternating`
    discriminator and generator by turns, always from the first of `stages` · `single_stage` the same where stage 5 alone is
    played: no reasoning chain.
    Raises UnknownName for a name that is none of SCHEDULES, SelfplayError for stages or counts out of range.
    """
    if name not in SCHEDULES:
        raise UnknownName("schedule", name, SCHEDULES)
    _check(stages, n_discriminator_steps, n_generator_steps, k)
    counts = (n_discriminator_steps, n_generator_steps, k)
    if name in _BY_STAGE:
        steps = _by_stage(_BY_STAGE[name](*counts), stages)
        return tuple(replace(step, role="both", layout=step.role) for step in steps) if name == "shared" else steps
    total = sum(counts) * len(stages)
    return _single(total, 5, (5,)) if name == "single_stage" else _single(total, stages[0], STAGE_IDS)


def _by_stage(block: _Block, stages: Sequence[int]) -> tuple[Step, ...]:
    flat = [(stage, place, *step) for stage in stages for place, step in enumerate(block, 1)]
    return tuple(
        Step(index, stage, role, f"stage {stage} {label}", ends_stage=place == len(block))
        for index, (stage, place, role, label) in enumerate(flat)
    )


def _single(total: int, stage: int, played: tuple[int, ...]) -> tuple[Step, ...]:
    roles: tuple[Trained, Trained] = ("discriminator", "generator")
    return tuple(
        Step(index, stage, roles[index % 2], f"stage {stage} alternating", index == total - 1, played)
        for index in range(total)
    )


def _check(stages: Sequence[int], n_discriminator_steps: int, n_generator_steps: int, k: int) -> None:
    if not stages or list(stages) != sorted(set(stages)) or not set(stages) <= set(STAGE_IDS):
        raise SelfplayError(f"stages {list(stages)}: give some of 1 2 3 4 5, each once, in order")
    counts = {"n_discriminator_steps": n_discriminator_steps, "n_generator_steps": n_generator_steps, "k": k}
    for knob, count in counts.items():
        if count < 0:
            raise SelfplayError(f"{knob} is {count}: a number of steps cannot be negative; give 0 to leave them out")


def trained_stages(step: Step, which: str = "from") -> tuple[int, ...]:
    """Stages whose tokens carry gradient in `step`: `from` its stage to the last one played, or its stage `only`."""
    if which not in ("from", "only"):
        raise UnknownName("choice of trained stages", which, ("from", "only"))
    return tuple(s for s in step.played if s == step.stage or (which == "from" and s > step.stage))


def trained_roles(step: Step, adversary: str = "trained") -> list[Role]:
    """Who learns in `step`; the discriminator only where it is a `trained` adversary."""
    return [role for role in ROLES if step.trains(role) and (role == "generator" or adversary == "trained")]
