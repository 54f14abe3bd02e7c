"""Measure the embedded player before any training: `python -m selfplay.tiny.measure [--player FOLDER] [--split dev]`.

Prints the figures of an evaluation, and how many of the player's wrong programs the happy-path baseline cases catch:
few, or better tests could teach nothing. `--player` names another that `selfplay.tiny.make` saved.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from selfplay.config import Config, configure
from selfplay.config.layers import defaults
from selfplay.errors import SelfplayError
from selfplay.evaluation.evaluator import Evaluator
from selfplay.evaluation.figures import figures, measured_of
from selfplay.evaluation.intervals import Estimate, ratio
from selfplay.learning.setup import open_judge, open_problems
from selfplay.learning.sources import EMBEDDED, Source
from selfplay.match.match import Chain
from selfplay.mutation.cache import MutantCache


def measure(config: Config, split: str) -> dict[str, Estimate]:
    """The figures of an evaluation, and `caught_by_baseline`, a share of the wrong samples."""
    judge = open_judge(config)
    try:
        entrant = Source(EMBEDDED).open(config)
        evaluator = Evaluator(judge, MutantCache(), open_problems(config, judge)[split])
        matches = evaluator.measure(entrant, evaluator.opponent(entrant))
    finally:
        judge.close()
    wrong = [
        [
            match.verdicts_on(row, match.baseline)
            for chain, row in zip(match.chains, match.programs, strict=True)
            if _is_wrong(chain)
        ]
        for match in matches
    ]
    caught = [sum(any(verdict != "passed" for verdict in row) for row in own) for own in wrong]
    told = figures([measured_of(match) for match in matches]).estimates()
    return told | {"caught_by_baseline": ratio(caught, [len(own) for own in wrong])}


def _is_wrong(chain: Chain) -> bool:
    return not chain.correct and not chain.greedy


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m selfplay.tiny.measure", description=__doc__)
    parser.add_argument("--split", default="dev", choices=("train", "dev", "test"))
    parser.add_argument("--player", type=Path, help="folder of another player than the one in the package")
    arguments = parser.parse_args()
    other = defaults(embedded=True) | {"model": str(arguments.player), "problems": "procedural", "device": "cpu"}
    try:
        told = measure(configure(other if arguments.player else {}), arguments.split)
    except SelfplayError as error:
        parser.exit(2, f"selfplay.tiny.measure: {error}\n")
    for name, estimate in told.items():
        print(f"{name:<20} {estimate.value:.3f}  ({estimate.low:.3f} to {estimate.high:.3f})")


if __name__ == "__main__":
    main()
