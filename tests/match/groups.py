"""A group written by hand: verdicts in, a match out, without a player and without a sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from selfplay.cases.case import Case, Refusal, Verdict
from selfplay.config import configure
from selfplay.game.advantages import RunningMeans, advantages
from selfplay.game.episode import Conversation, Role, Turn, TurnKey
from selfplay.game.extract import Code
from selfplay.game.phases import STAGE_IDS, Step, trained_roles, trained_stages
from selfplay.game.problems import Problem
from selfplay.judging.turns import WrittenTurn
from selfplay.match.match import Chain, Match, Suite, Target
from selfplay.match.rescore import scoring
from selfplay.match.score import score

STEP = Step(0, 1, "both", "stage 1 joint")
PROBLEM = Problem("p", "", "f", "def f(n: int) -> int:", (), "def f(n): return n")
# Its own tests are happy paths, on which `n > 3` does as well as the reference.
BIG = Problem(
    "big",
    "Is it at least 3?",
    "f",
    "def f(n: int) -> bool:",
    ("assert f(7) == True", "assert f(1) == False"),
    "def f(n):\n    return n >= 3",
    hidden_tests=("assert f(3) == True",),
)


def conversation(role: Role, branch: int = 0) -> Conversation:
    """A turn at every stage, without tokens."""
    turns = (Turn(TurnKey(0, "p", role, branch, stage), (), (), (), f"said at {stage}", False) for stage in STAGE_IDS)
    return Conversation(role, tuple(turns))


def case(name: str) -> Case:
    """A case that its name tells from others."""
    return Case(name, f"assert f({name!r})", name, "==", name)


def group(
    programs: Mapping[str, Sequence[Verdict]],
    suites: Sequence[Mapping[int, Sequence[str]]] = (),
    own: Sequence[str] = ("base",),
    refused: Sequence[str] = (),
    mutants: Sequence[Sequence[Verdict]] = (),
    step: Step = STEP,
) -> Match:
    """Programs by source, with verdicts on the `own` cases and then on what suites wrote, in order of appearance.

    A suite maps stages to the names of the cases written there; those `refused` do not count. Suite i reads chain i.
    """
    names = list(dict.fromkeys((*own, *(name for suite in suites for turn in suite.values() for name in turn))))
    return Match(
        PROBLEM,
        step,
        2,
        tuple(
            Chain(conversation("generator", i), Code(source, "bare"), advantages=(None,) * 5)
            for i, source in enumerate(programs)
        ),
        tuple(
            Suite(
                conversation("discriminator", i),
                i,
                tuple(_turn(stage, suite.get(stage, ()), refused) for stage in STAGE_IDS),
                advantages=(None,) * 5,
            )
            for i, suite in enumerate(suites)
        ),
        tuple(map(case, names)),
        len(own),
        tuple(map(tuple, programs.values())),
        tuple(Target("paid", str(i), tuple(row)) for i, row in enumerate(mutants)),
    )


def _turn(stage: int, names: Sequence[str], refused: Sequence[str]) -> WrittenTurn:
    refusals = (Refusal(name, name, "reference", "it fails") if name in refused else None for name in names)
    return WrittenTurn(stage, tuple(map(case, names)), tuple(refusals))


def trained(matches: Sequence[Match], **knobs: Any) -> list[tuple[int, Match]]:
    """The matches as a run records them, by line: scored and credited step by step."""
    config, running, line, lines = configure(knobs), RunningMeans(), 0, []
    own = scoring(None, None, config)
    for index in dict.fromkeys(match.step.index for match in matches):
        scored = score([match for match in matches if match.step.index == index], own.rule)
        step = scored[0].step
        stages = trained_stages(step, config.trained_stages)
        for role in trained_roles(step, config.adversary):
            rewards = [match.rewards(role, stages) for match in scored]
            made = advantages(config.advantages, rewards, role, stages, running)
            pairs, running = zip(scored, made.values, strict=True), made.running
            scored = [match.with_advantages(role, stages, values) for match, values in pairs]
        for match in scored:
            line += 1
            lines.append((line, match))
    return lines
