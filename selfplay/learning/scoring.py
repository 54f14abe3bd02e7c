"""Score: from verdicts to the outcomes that rewards are computed from, and to the rewards of both roles.

A generator's program is paid for the exam pooled from every suite of its group. A discriminator is paid for what its cases
do to **targets**: the group's wrong programs, each once, and the reference's mutants.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from selfplay.game.rewards import CaseOutcome, ProgramOutcome, RewardRule, SuiteOutcome, TurnOutcome
from selfplay.judging.cases import Case, Verdict
from selfplay.judging.exam import Examined, Suite, Target, WrittenTurn

KILLS: frozenset[Verdict] = frozenset(("failed", "error", "timeout"))


@dataclass(frozen=True, slots=True)
class Scored:
    """One group with its rewards: one per chain, one per turn of each suite. None: lost to infrastructure."""

    examined: Examined
    programs: tuple[ProgramOutcome, ...]
    suites: tuple[SuiteOutcome, ...]
    generator: tuple[float | None, ...]
    discriminator: tuple[tuple[float | None, ...], ...]


def score(examined: Sequence[Examined], rule: RewardRule, asked: int) -> list[Scored]:
    """The rewards of a step's groups under `rule`; `asked` is how many cases a turn was asked for."""
    return [_score(group, rule, asked) for group in examined]


def _score(examined: Examined, rule: RewardRule, asked: int) -> Scored:
    programs = tuple(_program_outcome(examined, i) for i in range(len(examined.programs)))
    targets = wrong_targets(examined)
    holders = Counter(key for suite in examined.suites for key in {case.key for turn in suite for case in turn.cases})
    suites = tuple(
        _suite_outcome(examined, suite, read, targets, holders, asked)
        for suite, read in zip(examined.suites, examined.group.reads, strict=True)
    )
    return Scored(
        examined,
        programs,
        suites,
        tuple(rule.generator(outcome) for outcome in programs),
        tuple(_turn_rewards(rule, suite) for suite in suites),
    )


def _turn_rewards(rule: RewardRule, suite: SuiteOutcome) -> tuple[float | None, ...]:
    """One reward per turn; a rule for whole suites gives every turn the suite's."""
    rewards = rule.discriminator(suite)
    return rewards if rule.per_turn else rewards * len(suite.turns)


def _program_outcome(examined: Examined, index: int) -> ProgramOutcome:
    well_formed = {case.key: case for suite in examined.suites for turn in suite for case in turn.cases}
    everything = tuple(examined.verdicts[index].values())
    return ProgramOutcome(
        has_code=examined.programs[index].source is not None,
        collected=any(v != "not_collected" for v in everything) or not everything,
        baseline=examined.on(index, examined.baseline),
        exam=examined.on(index, examined.admitted),
        well_formed=examined.on(index, tuple(well_formed.values())),
    )


def wrong_targets(examined: Examined) -> list[Target]:
    """The group's wrong programs, equal ones once, and the mutants. A program that does not load is no target."""
    wrong: dict[str, Target] = {}
    valid = (*examined.baseline, *examined.admitted)
    for i, (program, verdicts) in enumerate(zip(examined.programs, examined.verdicts, strict=True)):
        outcomes = examined.on(i, valid)
        if program.source and "not_collected" not in outcomes and not KILLS.isdisjoint(outcomes):
            wrong[program.source] = verdicts
    return [*wrong.values(), *examined.mutants]


def kills(target: Target, case: Case) -> bool:
    return target.get(case.key) in KILLS


def _suite_outcome(
    examined: Examined,
    suite: Suite,
    read: int,
    targets: Sequence[Target],
    holders: Counter[tuple[object, ...]],
    asked: int,
) -> SuiteOutcome:
    by_baseline = tuple(any(kills(target, case) for case in examined.baseline) for target in targets)
    seen: set[tuple[object, ...]] = set()
    turns: list[TurnOutcome] = []
    for turn in suite:
        cases: list[CaseOutcome] = []
        for case, valid in zip(turn.cases, turn.valid, strict=True):
            cases.append(
                CaseOutcome(
                    valid=valid,
                    fresh=case.key not in seen,
                    killed=tuple(kills(target, case) for target in targets),
                    killed_by_baseline=by_baseline,
                    shared=holders[case.key],
                    program_failed=_failed(examined, read, case),
                )
            )
            seen.add(case.key)
        turns.append(TurnOutcome(turn.stage, tuple(cases), _unreadable(turn), asked))
    every = [case for turn in suite for case in turn.cases]
    return SuiteOutcome(tuple(turns), examined.on(read, every))


def _failed(examined: Examined, program: int, case: Case) -> bool | None:
    """Whether a program fails a case; None where it did not run it."""
    verdict = examined.verdicts[program].get(case.key)
    return None if verdict is None else verdict in KILLS


def _unreadable(turn: WrittenTurn) -> int:
    return turn.written - len(turn.cases)
