"""What leaving tests out of a suite costs: the share of unseen kills that a small suite keeps, by the rule that chooses it.

    python -m benchmarks.bank --problems 60
    python -m benchmarks.bank --player runs/a --problems 60 --seed 1

A player hunts each dev problem as `selfplay.bank build` does. A rule chooses among the tests that count by what they kill
of the paid mutants and of every second wrong program of the player; the other wrong programs and the mutants of the kept
operators are unseen. A rule that fits the programs it was shown keeps all of their kills and loses unseen ones.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from selfplay.config import Config
from selfplay.evaluation.intervals import Estimate, ratio
from selfplay.learning.heldout import held_out
from selfplay.learning.setup import open_judge
from selfplay.learning.sources import source_of
from selfplay.match.cover import cover
from selfplay.match.entrant import Entrant
from selfplay.match.match import Match
from selfplay.match.testbank import hunted, kills_of, small, wrong_of

Kills = Sequence[frozenset[int]]
Rule = Callable[[Kills, Sequence[str]], Sequence[int]]
RULES: dict[str, Rule] = {
    "the first half": lambda kills, results: range((len(kills) + 1) // 2),
    "set cover": lambda kills, results: cover(kills),
    "set cover, every kill three times": lambda kills, results: cover(kills, 3),
    "set cover, then new results up to half (the bank's)": small,
}


@dataclass(frozen=True, slots=True)
class Hunted:
    """One problem: what each test kills and expects, and which wrong programs a rule is shown; the others by kind."""

    kills: Kills
    results: Sequence[str]
    shown: frozenset[int]
    unseen: dict[str, frozenset[int]]

    def kept(self, rule: Rule, kind: str) -> tuple[int, int, int]:
        """Tests that the rule chooses, and of the kind's programs those that it kills and those that all tests kill."""
        chosen = rule([own & self.shown for own in self.kills], self.results)
        killed, every = (frozenset().union(*own) for own in ([self.kills[n] for n in chosen], self.kills))
        programs = self.shown if kind == "shown" else self.unseen[kind]
        return len(chosen), len(killed & programs), len(every & programs)


def told(match: Match) -> Hunted:
    """What the rules are tried on."""
    wrong, cases = [*wrong_of(match)], match.admitted
    programs = [number for number, one in enumerate(wrong) if one.origin == "program"]
    by_origin = {
        origin: frozenset(n for n, one in enumerate(wrong) if one.origin == origin) for origin in ("paid", "kept")
    }
    unseen = {"wrong programs": frozenset(programs[1::2]), "kept mutants": by_origin["kept"]}
    return Hunted(
        kills_of(match, cases, wrong),
        [case.expected for case in cases],
        by_origin["paid"] | frozenset(programs[::2]),
        unseen | {"both": unseen["wrong programs"] | unseen["kept mutants"]},
    )


def measured(problems: Sequence[Hunted], rule: Rule, kind: str) -> tuple[Estimate, Estimate]:
    """The shares of tests and of the kind's kills that a rule keeps, over all problems."""
    rows = [each.kept(rule, kind) for each in problems]
    tests = ratio([row[0] for row in rows], [len(each.kills) for each in problems])
    return tests, ratio([row[1] for row in rows], [row[2] for row in rows])


def table(problems: Sequence[Hunted]) -> Iterator[str]:
    """Markdown: a row per rule."""
    kinds = ("shown", "wrong programs", "kept mutants", "both")
    counts = [sum(each.kept(RULES["set cover"], kind)[2] for each in problems) for kind in kinds]
    tests = sum(len(each.kills) for each in problems)
    heads = [f"kills kept, {kind} ({count})" for kind, count in zip(kinds, counts, strict=True)]
    yield f"| rule | tests kept of {tests} | {' | '.join(heads)} |"
    yield "|---|---|---|---|---|---|"
    for name, rule in RULES.items():
        cells = [measured(problems, rule, kind) for kind in kinds]
        yield f"| {name} | {_cell(cells[0][0])} | {' | '.join(_cell(kills) for _, kills in cells)} |"


def _cell(estimate: Estimate) -> str:
    return f"{estimate.value:.3f} ({estimate.low:.3f} to {estimate.high:.3f})"


def hunt(entrant: Entrant, config: Config, count: int, samples: int) -> list[Hunted]:
    """A player's hunt for wrong programs of the first dev problems."""
    judge = open_judge(config)
    try:
        problems = held_out(config, judge, "dev", count, lambda text: None)
        return [told(match) for match in hunted(entrant, problems, judge, samples)]
    finally:
        judge.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bank", description=__doc__)
    parser.add_argument("--player", default="embedded")
    parser.add_argument("--problems", type=int, default=60)
    parser.add_argument("--samples", type=int, default=8, help="programs and suites for each problem")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    source = source_of(arguments.player)
    config = source.config({"seed": arguments.seed})
    print("\n".join(table(hunt(source.open(config), config, arguments.problems, arguments.samples))))


if __name__ == "__main__":
    main()
