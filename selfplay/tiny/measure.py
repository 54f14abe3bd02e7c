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
from selfplay.judging.judge import Job
from selfplay.learning import setup
from selfplay.match.evaluate import Evaluator, figures, measured_of
from selfplay.match.intervals import Estimate, ratio
from selfplay.mutation.bank import MutantBank
from selfplay.reading import problem_cases


def measure(config: Config, split: str) -> dict[str, Estimate]:
    """The figures of an evaluation, and `caught_by_baseline`, a share of the wrong samples."""
    judge = setup.open_judge(config)
    try:
        player = setup.open_player(config)
        problems = setup.open_problems(config, judge)[split]
        table, prompts = setup.table(config), setup.open_prompts(config)
        evaluator = Evaluator(judge, prompts, MutantBank(), table, (1, 2, 3, 4, 5), config.eval_samples)
        matches = evaluator.measure(player, problems, evaluator.record_opponent(player, problems))
        told = figures([measured_of(match) for match in matches])
        wrong = [
            [chain.code.source or "" for chain in match.chains if not chain.correct and not chain.greedy]
            for match in matches
        ]
        jobs = [Job(p.entry_point, tuple(own), problem_cases(p).cases) for p, own in zip(problems, wrong, strict=True)]
        # A matrix has one row per program given, equal ones included.
        caught = [sum(any(v != "passed" for v in row) for row in m.verdicts) for m in judge.matrices(jobs)]
    finally:
        judge.close()
    return told | {"caught_by_baseline": ratio(caught, [len(own) for own in wrong])}


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
