"""`progressive`: the prototype's rule. Every well-formed case counts, valid or not.

Its hole: against a perfect program a suite with a share q of wrong cases earns q (1 - q), 0.25 at q = 0.5, for no bug
found. It is here to be compared with.
"""

from __future__ import annotations

from selfplay.game.rewards.outcomes import ProgramOutcome, SuiteOutcome, lost, share_passed


def generator(program: ProgramOutcome) -> float | None:
    """Passed / total: 8 of 10 gives 0.80. A program that does not load 0, a suite without cases 0.5."""
    if not program.has_code:
        return 0.0
    if lost(program.well_formed):
        return None
    return share_passed(program.well_formed, otherwise=0.5) if program.collected else 0.0


def discriminator(suite: SuiteOutcome) -> float | None:
    """(1 - pass rate) x validity, valid / well-formed: 8 of 10 passed, 6 of 10 valid give 0.12. No cases: 0."""
    if not suite.cases:
        return 0.0
    if lost(suite.program):
        return None
    return (1 - share_passed(suite.program, otherwise=1.0)) * suite.valid / len(suite.cases)
