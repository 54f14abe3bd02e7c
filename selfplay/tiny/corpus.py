"""What the embedded player grows up on: imperfect chains and mostly happy-path tests over the training split.

It errs as a real model does. A chain commits to a misconception more often than not (at stage 4, in words), and its code
mostly follows; now and then a constant slips. Tests are nearly all happy-path, so they hide the misconceptions, and many
are larger than the player can work out; what a test expects is mostly right, less so at the edges. The rates are the
constants below and the fields of `Mixture`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from selfplay.game.episode import ROLES, Role
from selfplay.game.problems import Problem
from selfplay.game.prompts import Prompts
from selfplay.tiny.family import NO_ANSWER, Pipeline, as_test, compiled, draw_input, happy_input
from selfplay.tiny.operations import CONSTANTS, Type

FOLLOWED = 0.85  # share of operations whose code follows the belief stated at stage 4; the rest is drawn afresh
EDGE_SHARE = {1: 0.03, 2: 0.13, 3: 0.08, 4: 0.10, 5: 0.12}  # edge inputs among the cases of a stage
HAPPY_RIGHT = 0.97  # share of right expectations for happy inputs
CASES_PER_TURN = 2

PROMPTS = Prompts("compact")


@dataclass(frozen=True, slots=True)
class Mixture:
    """What one phase of the training draws.

    `misconceived`: share of misconceivable operations that a chain gets wrong. `chains` and `suites`: how many of each
    are drawn for a problem. `slipped`: share of programs with a wrong constant. `edges_right`: share of right expectations
    for edge inputs. `any_size`: happy inputs of any size, not only small ones. `rarity`: a problem is drawn with weight
    n ** -rarity, n the problems that share its rarest operation; few are about strings, and what is seen seldom is left to
    chance.
    """

    misconceived: float
    chains: int
    suites: int
    slipped: float = 0.01
    edges_right: float = 0.90
    any_size: bool = True
    rarity: float = 0.5


@dataclass(frozen=True, slots=True)
class Message:
    said_by_player: bool
    text: str


def draw_chain(pipeline: Pipeline, mixture: Mixture, rng: random.Random) -> dict[int, str]:
    """What a generator says at the five stages."""
    believed = _misconceived(pipeline, mixture.misconceived, rng)
    steps = pipeline.fill("step")
    edges = [text for text in pipeline.fill("edge", believed) if text]
    written = {
        i
        for i in pipeline.misconceivable
        if i in (believed if rng.random() < FOLLOWED else _misconceived(pipeline, mixture.misconceived, rng))
    }
    return {
        1: f"{' then '.join(operation.step.replace(' {k}', '') for operation in pipeline.operations)}",
        2: "\n".join(f"{i}. {step}" for i, step in enumerate(steps, 1)),
        3: "\n".join(f"{o.gives} = {step}" for o, step in zip(pipeline.operations, steps, strict=True)),
        4: "; ".join(edges) if edges else "any input",
        5: (_slipped(pipeline, rng) if rng.random() < mixture.slipped else pipeline).code(written),
    }


def _misconceived(pipeline: Pipeline, share: float, rng: random.Random) -> set[int]:
    return {i for i in pipeline.misconceivable if rng.random() < share}


def _slipped(pipeline: Pipeline, rng: random.Random) -> Pipeline:
    constants = tuple(rng.choice(CONSTANTS) if k else 0 for k in pipeline.constants)
    return Pipeline(pipeline.operations, constants)


def draw_suite(pipeline: Pipeline, mixture: Mixture, rng: random.Random) -> dict[int, str]:
    """What a discriminator writes at the five stages, no input twice."""
    used: list[object] = []
    return {
        stage: "\n".join(_case(pipeline, stage, mixture, used, rng) for _ in range(CASES_PER_TURN))
        for stage in EDGE_SHARE
    }


def careless_input(takes: Type, rng: random.Random) -> object:
    """A happy path of any size: up to five values, up to three digits, where a short one would show as much."""
    if takes == "xs":
        return rng.sample(range(1, 10), rng.randint(1, 5))
    if takes == "n":
        return rng.randrange(1, 10 ** rng.randint(1, 3))
    return happy_input(takes, rng)


def _case(pipeline: Pipeline, stage: int, mixture: Mixture, used: list[object], rng: random.Random) -> str:
    happy = rng.random() >= EDGE_SHARE[stage]
    draw_happy = careless_input if mixture.any_size else happy_input
    argument = draw_input(pipeline, happy, rng, draw_happy)
    for attempt in range(40):
        if argument not in used:
            break
        happy |= attempt > 10  # some pipelines have a single edge
        argument = draw_input(pipeline, happy, rng, draw_happy)
    used.append(argument)
    wrong = () if rng.random() < (HAPPY_RIGHT if happy else mixture.edges_right) else pipeline.misconceivable[:1]
    expected = compiled(pipeline.code(wrong))(argument)
    return as_test(argument, compiled(pipeline.code())(argument) if expected is NO_ANSWER else expected)


def draw_conversation(
    problem: Problem, pipeline: Pipeline, role: Role, mixture: Mixture, rng: random.Random
) -> list[Message]:
    """One conversation of `role`, asked with the very prompts of the game."""
    chain = draw_chain(pipeline, mixture, rng)
    said = chain if role == "generator" else draw_suite(pipeline, mixture, rng)
    messages: list[Message] = []
    for stage in chain:
        material = chain[stage] if role == "discriminator" else None
        messages.append(Message(False, PROMPTS.ask(problem, role, stage, material, first=stage == 1)))
        messages.append(Message(True, said[stage]))
    return messages


def draw_corpus(
    problems: list[tuple[Problem, Pipeline]], mixture: Mixture, rng: random.Random
) -> Iterator[list[Message]]:
    """Conversations without end: problem by problem the mixture's chains and suites, each suite reading a chain of its own."""
    roles = (ROLES[0],) * mixture.chains + (ROLES[1],) * mixture.suites
    uses = Counter(operation for _, pipeline in problems for operation in pipeline.operations)
    rarest = [min(uses[operation] for operation in pipeline.operations) for _, pipeline in problems]
    weights = [n**-mixture.rarity for n in rarest]
    while True:
        problem, pipeline = rng.choices(problems, weights)[0] if mixture.rarity else rng.choice(problems)
        for role in roles:
            yield draw_conversation(problem, pipeline, role, mixture, rng)
