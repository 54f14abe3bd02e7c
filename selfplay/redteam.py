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

from selfplay.run.command import command, say

if TYPE_CHECKING:
    from selfplay.attacks.attack import Attack
    from selfplay.attacks.battery import Outcome
    from selfplay.box.task import Box

CLEAN, DEVIATION, _, INFRASTRUCTURE = range(4)
SANDBOXES = ("local", "e2b", "unjailed")
_LINE = "{name:<52.52} {family:<17} {ours:<26.26} {weak:<11} {beats:<9} {verdict}"


@command("selfplay.redteam")
def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    from selfplay.attacks.library import attacks
    from selfplay.attacks.measured import open_box
    from selfplay.box.local import BoxUnavailable

    chosen = attacks(options.only)
    if options.list:
        print("\n".join(f"{attack.family}: {attack.name}" for attack in chosen))
        return CLEAN
    try:
        with_box = open_box(options.sandbox)
    except BoxUnavailable as error:
        say(f"selfplay.redteam: {error}")
        return INFRASTRUCTURE
    try:
        return _attack(chosen, with_box, options)
    finally:
        with_box.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m selfplay.redteam",
        description=(__doc__ or ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--sandbox", choices=SANDBOXES, default="local", help="what to attack (default: local)")
    add("--only", action="append", metavar="FAMILY", help="this family of attacks; may be given several times")
    add("--no-weak", action="store_true", help="leave out the weak runners: several times faster, proves less")
    add("--list", action="store_true", help="print the attacks and stop")
    add("--json", action="store_true", help="print one JSON object")
    return parser


def _attack(chosen: Sequence[Attack], box: Box, options: argparse.Namespace) -> int:
    from selfplay.attacks.battery import run

    if not options.json:
        print(f"sandbox: {options.sandbox}, {getattr(box, 'confinement', box.tier)}\n\n{_heading()}")
    outcomes: list[Outcome] = []
    for outcome in run(chosen, box, not options.no_weak):
        outcomes.append(outcome)
        if not options.json:
            print(_line(outcome), flush=True)
    print(_as_json(outcomes, box.tier) if options.json else f"\n{summary(outcomes)}")
    return DEVIATION if any(outcome.deviation for outcome in outcomes) else CLEAN


def _heading() -> str:
    names = ("name", "family", "ours", "weak", "beats", "verdict")
    return _LINE.format(
        **dict(zip(names, ("attack", "family", "ours", "weak runner", "beats it?", ""), strict=True))
    ).rstrip()


def _line(outcome: Outcome) -> str:
    verdict = f"DEVIATION: {outcome.deviation}" if outcome.deviation else outcome.why and f"({outcome.why})"
    return _LINE.format(**asdict(outcome), verdict=verdict).rstrip()


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


def _as_json(outcomes: Sequence[Outcome], tier: str) -> str:
    deviations = sum(bool(outcome.deviation) for outcome in outcomes)
    return json.dumps({"tier": tier, "deviations": deviations, "attacks": [asdict(outcome) for outcome in outcomes]})


if __name__ == "__main__":
    sys.exit(main())
