"""What a configuration plans: the steps of its schedule, who learns in each, and what is left of the learning rate.

Known before anything is loaded, so that a run without a step is refused at once; nothing here needs torch.
"""

from __future__ import annotations

from dataclasses import replace

from selfplay.config import Config
from selfplay.errors import SelfplayError
from selfplay.game import phases
from selfplay.game.episode import Role
from selfplay.game.phases import Step, schedule


def planned_steps(config: Config) -> list[Step]:
    """The schedule's steps; without a trained adversary only those that train the generator.

    Raises SelfplayError where none is left, UnknownName for a schedule that does not exist.
    """
    kept = [step for step in whole_schedule(config) if learning_roles(config, step)]
    if not kept:
        raise SelfplayError(
            f"nothing to train: schedule {config.schedule}, adversary {config.adversary}, n_discriminator_steps "
            f"{config.n_discriminator_steps}, n_generator_steps {config.n_generator_steps} and k {config.k} leave no step; "
            + (
                "raise one of the three"
                if config.adversary == "trained"
                else "give --adversary trained, or a schedule and counts with steps of the generator"
            )
        )
    last = {step.stage: step.index for step in kept}
    return [replace(step, ends_stage=step.index == last[step.stage]) for step in kept]


def whole_schedule(config: Config) -> tuple[Step, ...]:
    """Every step, also those that this adversary leaves out."""
    return schedule(config.schedule, config.stages, config.n_discriminator_steps, config.n_generator_steps, config.k)


def learning_roles(config: Config, step: Step) -> list[Role]:
    """Who learns in `step` under this adversary."""
    return phases.trained_roles(step, config.adversary)


def rate_factor(config: Config, step: Step) -> float:
    """What is left of the learning rate; counted over the whole schedule, so that arms that skip steps agree."""
    if config.lr_scheduler_type == "constant":
        return 1.0
    return 1.0 - step.index / len(whole_schedule(config))
