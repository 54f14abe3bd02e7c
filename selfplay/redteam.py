"""Attack the sandbox: `python -m selfplay.redteam --sandbox local` (or e2b; unjailed shows what happens without walls).

Five kinds: wrong programs, escapes, worthless tests, attacks on neighbours or the host, and honest controls. One line per
attack: what became of it here, and whether it beats the weak runner that it names (attacks/weak.py). Exit 0: no deviation;
1: something was credited, escaped or misjudged; 2: bad input; 3: the sandbox cannot be started.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from selfplay.run.command import command, parser, say

if TYPE_CHECKING:
    from selfplay.attacks.attack import Attack
    from selfplay.attacks.battery import Outcome
    from selfplay.box.task import Box

CLEAN, DEVIATION, _, INFRASTRUCTURE = range(4)
SANDBOXES = ("local", "e2b", "unjailed")
_LINE = "{name:<52.52} {family:<17} {ours:<26.26} {weak:<11} {beats:<9} {verdict}"


@command("selfplay.redteam")
def main(arguments: Sequence[str]) -> int:
    flags = parser("selfplay.redteam", __doc__)
    add = flags.add_argument
    add("--sandbox", choices=SANDBOXES, default="local", help="what to attack (default: local)")
    add("--only", action="append", metavar="FAMILY", help="this family of attacks; may be given several times")
    add("--no-weak", action="store_true", help="leave out the weak runners: several times faster, proves less")
    add("--list", action="store_true", help="print the attacks and stop")
    add("--json", action="store_true", help="print one JSON object")
    options = flags.parse_args(arguments)
    from selfplay.attacks.library import attacks
    from selfplay.attacks.measured import open_box
    from selfplay.box.local import BoxUnavailable

    chosen = attacks(options.only)
    if options.list:
        print("\n".join(f"{attack.family}: {attack.name}" for attack in chosen))
        return CLEAN
    try:
        box = open_box(options.sandbox)
    except BoxUnavailable as error:
        say(f"selfplay.redteam: {error}")
        return INFRASTRUCTURE
    with box:
        return _attack(chosen, box, options)


def _attack(chosen: Sequence[Attack], box: Box, options: argparse.Namespace) -> int:
    from selfplay.attacks.battery import run

    if not options.json:
        heading = _LINE.format(
            name="attack", family="family", ours="ours", weak="weak runner", beats="beats it?", verdict=""
        )
        print(f"sandbox: {options.sandbox}, {getattr(box, 'confinement', box.tier)}\n\n{heading.rstrip()}")
    outcomes: list[Outcome] = []
    for outcome in run(chosen, box, not options.no_weak):
        outcomes.append(outcome)
        if not options.json:
            verdict = f"DEVIATION: {outcome.deviation}" if outcome.deviation else outcome.why and f"({outcome.why})"
            print(_LINE.format(**asdict(outcome), verdict=verdict).rstrip(), flush=True)
    deviations = sum(bool(outcome.deviation) for outcome in outcomes)
    record = {"tier": box.tier, "deviations": deviations, "attacks": [asdict(outcome) for outcome in outcomes]}
    print(json.dumps(record) if options.json else f"\n{summary(outcomes)}")
    return DEVIATION if deviations else CLEAN


def summary(outcomes: Sequence[Outcome]) -> str:
    """How many attacks, how many beat their weak runner, how many deviations."""
    controls = sum(outcome.control for outcome in outcomes)
    beats = Counter(outcome.beats for outcome in outcomes if not outcome.control)
    wrong = [outcome for outcome in outcomes if outcome.deviation]
    text = (
        f"{len(outcomes) - controls} attacks ({beats['yes']} beat their weak runner here, {beats['-']} not shown) and "
        f"{controls} controls: {len(wrong) or 'no'} deviation{'s' * (len(wrong) != 1)}"
    )
    return "\n".join([text, *(f"  {outcome.family}: {outcome.name}: {outcome.deviation}" for outcome in wrong)])


if __name__ == "__main__":
    sys.exit(main())
