"""`deepcoder`: all or nothing, as DeepCoder (2025) rewards code: a partial credit invites special-casing of tests."""

from __future__ import annotations

from selfplay.game.rewards.outcomes import ProgramOutcome, SuiteOutcome, caught_share, known, lost


def generator(program: ProgramOutcome) -> float | None:
    """1 if every valid case and every baseline test passes, else 0; 0 without code or without tests."""
    if not program.has_code:
        return 0.0
    verdicts = (*program.baseline, *program.exam)
    if lost(verdicts):
        return None
    counted = known(verdicts)
    return float(program.collected and bool(counted) and all(verdict == "passed" for verdict in counted))


def discriminator(suite: SuiteOutcome) -> float | None:
    """1 if some valid case fails the program, else 0. (The paper has no discriminator; this is the mirror image.)"""
    caught = caught_share(suite)
    return None if caught is None else float(caught > 0)
