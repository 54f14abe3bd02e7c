"""Score: from a match's verdicts to the outcomes that rewards are computed from, and to the rewards of both roles.

A generator's program is paid for the exam: the cases pooled from every suite of its group.
A discriminator is paid for what its own cases do to **targets**: the group's wrong programs, each once, and the
mutants that are paid. A match holds all that any rule asks for, so a recorded one can be scored again under another.
Without a reference nothing tells a right test from a wrong one: then no suite is paid, and no program for its tests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from selfplay.game.rewards import CaseOutcome, ProgramOutcome, RewardRule, SuiteOutcome, TurnOutcome
from selfplay.match.match import KILLS, Match


def score(matches: Sequence[Match], rule: RewardRule) -> list[Match]:
    """The matches with the rewards of both roles under `rule`."""
    return [_scored(match, rule) for match in matches]


def _scored(match: Match, rule: RewardRule) -> Match:
    chains = tuple(
        replace(chain, reward=rule.program_reward(program_outcome(match, number)))
        for number, chain in enumerate(match.chains)
    )
    suites = tuple(
        replace(suite, rewards=rule.turn_rewards(outcome) if match.has_reference else (None,) * len(suite.turns))
        for suite, outcome in zip(match.suites, suite_outcomes(match), strict=True)
    )
    return replace(match, chains=chains, suites=suites)


def program_outcome(match: Match, number: int) -> ProgramOutcome:
    """What one of the group's programs did."""
    row = match.programs[number]
    ran = [verdict for verdict in row if verdict is not None]
    return ProgramOutcome(
        has_code=match.chains[number].code.source is not None,
        collected=any(verdict != "not_collected" for verdict in ran) or not ran,
        baseline=match.verdicts_on(row, match.baseline),
        exam=match.verdicts_on(row, match.admitted) if match.has_reference else (),
        well_formed=match.verdicts_on(row, match.well_formed) if match.has_reference else (),
    )


def suite_outcomes(match: Match) -> list[SuiteOutcome]:
    """What each suite's cases did to the match's wrong programs."""
    targets = list(match.wrong_rows())
    by_baseline = tuple(any(verdict in KILLS for verdict in target[: match.num_baseline]) for target in targets)
    place = {case.identity: number for number, case in enumerate(match.cases)}
    holders = Counter(key for suite in match.suites for key in {case.identity for case in suite.cases})
    outcomes: list[SuiteOutcome] = []
    for suite in match.suites:
        read = match.row_read_by(suite)
        turns: list[TurnOutcome] = []
        seen: set[object] = set()
        for turn in suite.turns:
            cases: list[CaseOutcome] = []
            for case, valid in zip(turn.cases, turn.valid, strict=True):
                number = place[case.identity]
                killed = tuple(target[number] in KILLS for target in targets)
                fresh, verdict = case.identity not in seen, read[number] if read else None
                failed = None if verdict is None else verdict in KILLS
                cases.append(CaseOutcome(valid, fresh, killed, by_baseline, holders[case.identity], failed))
                seen.add(case.identity)
            turns.append(TurnOutcome(turn.stage, tuple(cases), turn.written - len(turn.cases), match.asked))
        outcomes.append(SuiteOutcome(tuple(turns), match.verdicts_on(read, suite.cases)))
    return outcomes
