"""`shifted`: the prototype's second rule. Baseline tests count for the generator, invalid tests against the tester.

The shift by 0.5 matters only where no group baseline removes it (advantage `raw`).
"""

from __future__ import annotations

from selfplay.game.rewards.outcomes import ProgramOutcome, SuiteOutcome, caught_share, lost, share_passed


def generator(program: ProgramOutcome) -> float | None:
    """Pass rate - 0.5, over baseline tests and the discriminator's cases together: 2 of 4 and 1 of 2 give 0.

    Without any case the rate is 0.5, as under `progressive`; a program that does not load has rate 0.
    """
    if not program.has_code:
        return -0.5
    verdicts = (*program.baseline, *program.well_formed)
    if lost(verdicts):
        return None
    return (share_passed(verdicts, otherwise=0.5) if program.collected else 0.0) - 0.5


def discriminator(suite: SuiteOutcome) -> float | None:
    """0.4 valid - 0.6 invalid + 0.6 bug catch, all three as shares of what was written: between -0.6 and 1.

    Valid + invalid = 1, and unreadable tests are invalid; nothing well-formed counts as all invalid (-0.6), or silence
    would beat trying. Bug catch: valid cases that the program fails.
    """
    if not suite.cases:
        return -0.6
    caught = caught_share(suite)
    if caught is None:
        return None
    valid = suite.valid / suite.written
    return 0.4 * valid - 0.6 * (1 - valid) + 0.6 * caught
