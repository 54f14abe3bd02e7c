"""`adversarial`: ours. Valid cases only, kills over many wrong targets, sameness priced, nothing for duplicates.

The generator sits one exam with its whole group: the pooled valid cases, and the problem's own tests. The
discriminator is paid per turn, since a case belongs to the turn that wrote it. `novel_kills` is the same without
pay for kills that the problem's own tests make already. Left out: a difference reward, v(all suites) - v(all but
this one).
"""

from __future__ import annotations

from math import sqrt

from selfplay.game.rewards.outcomes import (
    CaseOutcome,
    ProgramOutcome,
    SuiteOutcome,
    TurnOutcome,
    known,
    lost,
    share_passed,
)

VALIDITY_WEIGHT = 0.6  # what a valid case earns beside its kills; 0.3 was measured too, validity rose more slowly


def generator(program: ProgramOutcome) -> float | None:
    """0.4 share of the exam passed + 0.4 [all of exam and baseline passed] + 0.2 share of the baseline passed.

    An empty exam counts as the baseline does, and the other way round; both empty: 0. A part that infrastructure took
    whole is not empty: then the reward is None.
    """
    if not program.has_code:
        return 0.0
    if lost(program.exam) or lost(program.baseline):
        return None
    if not program.collected or not (program.exam or program.baseline):
        return 0.0
    baseline = share_passed(program.baseline, otherwise=share_passed(program.exam, otherwise=0.0))
    exam = share_passed(program.exam, otherwise=baseline)
    everything = all(verdict == "passed" for verdict in known((*program.exam, *program.baseline)))
    return 0.4 * exam + 0.4 * everything + 0.2 * baseline


def discriminator(suite: SuiteOutcome, validity_weight: float = VALIDITY_WEIGHT) -> tuple[float | None, ...]:
    """For each turn the worth of its cases / the larger of those written and those asked for.

    A valid case not seen earlier in its suite is worth (validity_weight + share of the wrong targets that it kills) /
    sqrt(the group's suites that hold it), any other 0. No more cases are paid than were asked for, in the order
    written: the others only enlarge the denominator.
    """
    return tuple(_turn(turn, validity_weight, only_novel=False) for turn in suite.turns)


def novel_discriminator(suite: SuiteOutcome, validity_weight: float = VALIDITY_WEIGHT) -> tuple[float | None, ...]:
    """The same, where the kill of a target that the problem's own tests kill already counts nothing."""
    return tuple(_turn(turn, validity_weight, only_novel=True) for turn in suite.turns)


def _turn(turn: TurnOutcome, validity_weight: float, only_novel: bool) -> float:
    paid = (case for case in turn.cases[: turn.asked] if case.valid and case.fresh)
    worth = sum((validity_weight + _kills(case, only_novel)) / sqrt(case.shared) for case in paid)
    return worth / max(turn.written, turn.asked, 1)


def _kills(case: CaseOutcome, only_novel: bool) -> float:
    """Share of all wrong targets that the case kills, from 0 to 1; `only_novel`: and that the problem's own tests miss."""
    if not case.killed:
        return 0.0
    killed = case.killed
    if only_novel:
        killed = [kill and not old for kill, old in zip(killed, case.killed_by_baseline, strict=True)]
    return sum(killed) / len(killed)
