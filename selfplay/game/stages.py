"""The five stages as data: what the generator produces at each, and what the discriminator tests.

The wording that a model sees lives in `prompts/`; the texts here label logs, reports and docs.
"""

from __future__ import annotations

from dataclasses import dataclass

from selfplay.errors import SelfplayError
from selfplay.game.episode import Role
from selfplay.resources import resource


@dataclass(frozen=True, slots=True)
class Stage:
    """One of the five stages of an episode: what it is, and what each role is to look at."""

    id: int
    name: str
    description: str
    generator_focus: str
    discriminator_focus: str

    @property
    def generator_prompt(self) -> str:
        """Template text of what the generator is asked."""
        return self.prompt("generator")

    @property
    def discriminator_prompt(self) -> str:
        """Template text of what the discriminator is asked."""
        return self.prompt("discriminator")

    def prompt(self, role: Role, style: str = "instruct") -> str:
        """The Jinja template of this stage, unrendered (`Prompts.ask` renders it)."""
        return (resource("prompts") / style / role / f"{self.id}.jinja").read_text(encoding="utf-8")


STAGES = (
    Stage(
        1,
        "Informal Reasoning",
        "Say what is asked, and the idea, in plain words.",
        "conversational, intuitive understanding",
        "basic functionality: happy path, empty input, single element",
    ),
    Stage(
        2,
        "Structured Reasoning",
        "Break the problem down.",
        "numbered breakdown, approach, key observations",
        "edge cases and boundaries named in the reasoning",
    ),
    Stage(
        3,
        "Pseudocode",
        "Write the algorithm down before the code.",
        "the algorithm in plain language with clear control flow",
        "algorithmic corners: loop bounds, off by one, order, same element twice",
    ),
    Stage(
        4,
        "Constraints and Invariants",
        "Say what always holds, and what it costs.",
        "time and space, invariants, what is handled",
        "constraint violations, complexity stress",
    ),
    Stage(
        5,
        "Executable Code",
        "Write the program.",
        "the Python function (or program)",
        "adversarial: tricky inputs, unexpected combinations",
    ),
)


def get_stage(stage: int) -> Stage:
    """The stage with this id; SelfplayError for an id outside 1 to 5."""
    found = next((each for each in STAGES if each.id == stage), None)
    if found is None:
        names = ", ".join(f"{each.id} {each.name}" for each in STAGES)
        raise SelfplayError(f"no stage {stage!r}: an id is a whole number from 1 to 5 ({names})")
    return found


def get_all_stages() -> tuple[Stage, ...]:
    """The five stages, in order."""
    return STAGES
