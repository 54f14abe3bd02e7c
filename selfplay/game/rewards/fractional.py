"""`fractional`: passed / total over the tests that are right, and its mirror image for the discriminator."""

from __future__ import annotations

from selfplay.game.rewards.outcomes import ProgramOutcome, SuiteOutcome, caught_share, lost, share_passed


def generator(program: ProgramOutcome) -> float | None:
    """Passed / total over valid cases and baseline tests; 0 without any, since only a pass is evidence."""
    if not program.has_code:
        return 0.0
    verdicts = (*program.baseline, *program.exam)
    if lost(verdicts):
        return None
    return share_passed(verdicts, otherwise=0.0) if program.collected else 0.0


def discriminator(suite: SuiteOutcome) -> float | None:
    """Valid cases that the program fails / cases written, unreadable ones included; 0 without any."""
    return caught_share(suite)
