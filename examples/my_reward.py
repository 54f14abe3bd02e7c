"""A reward rule of your own: a program is paid only where it passes everything, a suite for each right test that fails one.

    python -m selfplay.train --preset smoke --rewards my_reward:STRICT      # from this folder, or with it on PYTHONPATH
    python examples/my_reward.py

A rule is two pure functions. `None` says that the sandbox failed and nobody knows: the episode then leaves its group. A
discriminator with a parameter `validity_weight` is given the setting of that name.
"""

from __future__ import annotations

import selfplay


def generator(program: selfplay.ProgramOutcome) -> float | None:
    """1 for a program that passes the problem's own tests and the whole exam, else 0."""
    verdicts = (*program.baseline, *program.exam)
    if selfplay.lost(verdicts):
        return None
    return float(program.has_code and selfplay.share_passed(verdicts, otherwise=0.0) == 1.0)


def discriminator(suite: selfplay.SuiteOutcome) -> tuple[float | None, ...]:
    """For each turn: right tests that fail some wrong program / tests asked for."""
    return tuple(sum(case.valid and any(case.killed) for case in turn.cases) / turn.asked for turn in suite.turns)


STRICT = selfplay.RewardRule("strict", generator, discriminator, per_turn=True, description="everything or nothing")

if __name__ == "__main__":
    # What a script defines no other process can import, so this trains in one; `--rewards my_reward:STRICT` takes several.
    print(selfplay.train(preset="smoke", rewards=STRICT, output_dir="runs/strict"))
