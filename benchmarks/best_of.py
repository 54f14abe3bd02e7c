"""What the choice among several programs is worth, and what it lacks: best of n by own tests, one part at a time.

    python -m benchmarks.best_of --player runs/a --problems 100 --split test

The games are those of `selfplay.evaluate`: for each problem n sampled programs, each read by a suite of the player's own.
Every choice looks at the tests that came with the problem first. `gap closed` is how far it comes from a random choice (0)
to an oracle that knows the hidden tests (1).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean

from selfplay.cases.case import Case
from selfplay.evaluation.evaluator import Evaluator, Played
from selfplay.evaluation.intervals import Estimate, mean, ratio
from selfplay.learning.heldout import held_out
from selfplay.learning.setup import open_judge
from selfplay.learning.sources import source_of
from selfplay.match.agreement import agreements
from selfplay.match.match import Match, Row, once
from selfplay.match.solver import best_of
from selfplay.mutation.cache import MutantCache

Choice = Callable[[Match], int]


def given_alone(match: Match) -> int:
    """A program that passes the most of the tests that came with the problem."""
    return agreements(_passed(match, match.baseline), known=1 + match.num_baseline)[0].programs[0]


def agreement_alone(match: Match) -> int:
    """Of these, one of the largest group that does the same on every test, right or wrong: no test says what is right."""
    rows = _rows(match, once((*match.baseline, *match.well_formed)))
    given = [sum(own) for own in _passed(match, match.baseline)]
    return max(range(len(rows)), key=lambda number: (given[number], rows.count(rows[number]), -number))


CHOICES: dict[str, Choice] = {
    "given tests alone": given_alone,
    "given tests, then agreement between programs": agreement_alone,
    "given tests, then own tests and agreement (`best_of_n`)": lambda match: best_of(match, blind=True).programs[0],
    "the same, own tests that the reference fails left out": lambda match: best_of(match).programs[0],
}


def _rows(match: Match, cases: Sequence[Case]) -> list[Row]:
    return [match.row_on(row, cases) for row in match.programs]


def _passed(match: Match, cases: Sequence[Case]) -> list[list[bool]]:
    """For each program whether there is one, and whether it passes each case."""
    pairs = zip(match.chains, _rows(match, cases), strict=True)
    return [[chain.code.source is not None, *(verdict == "passed" for verdict in row)] for chain, row in pairs]


def closed(every: Sequence[Played], choice: Choice) -> tuple[Estimate, Estimate]:
    """The share of problems whose chosen program is right, and the share of the gap to the oracle that the choice closes."""
    right = [[bool(chain.correct) for chain in played.sampled] for played in every]
    chosen = [float(own[choice(played.own)]) for own, played in zip(right, every, strict=True)]
    gains = [one - fmean(own) for one, own in zip(chosen, right, strict=True)]
    return mean(chosen), ratio(gains, [any(own) - fmean(own) for own in right])


def table(every: Sequence[Played]) -> Iterator[str]:
    """Markdown: a row per choice, between chance and the oracle."""
    right = [[bool(chain.correct) for chain in played.sampled] for played in every]
    yield "| choice | right | gap closed |"
    yield "|---|---|---|"
    yield f"| a random one | {_cell(mean([fmean(own) for own in right]))} | 0 |"
    for name, choice in CHOICES.items():
        yield f"| {name} | {' | '.join(map(_cell, closed(every, choice)))} |"
    yield f"| an oracle | {_cell(mean([float(any(own)) for own in right]))} | 1 |"


def _cell(estimate: Estimate) -> str:
    return f"{estimate.value:.3f} ({estimate.low:.3f} to {estimate.high:.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.best_of", description=__doc__)
    parser.add_argument("--player", default="embedded")
    parser.add_argument("--problems", type=int, default=100)
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    source = source_of(arguments.player)
    config = source.config({"seed": arguments.seed})
    judge = open_judge(config)
    try:
        problems = held_out(config, judge, arguments.split, arguments.problems, lambda text: None)
        evaluator = Evaluator(judge, MutantCache(), problems, arguments.samples)
        entrant = source.open(config)
        every = evaluator.appearance(entrant, evaluator.opponent(entrant)).played
    finally:
        judge.close()
    print("\n".join(table(every)))


if __name__ == "__main__":
    main()
