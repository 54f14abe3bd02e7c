"""The figures of a contest: from what a player did on each problem to shares with intervals, and to differences.

Every figure is a sum over problems of one count, divided by the sum of another (a mean over problems divides by ones), so
all have the same bootstrap over problems, and two players the same resamples. The glossary has each formula.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from selfplay.cases.case import Case, Verdict
from selfplay.evaluation.contest import Appearance, Played
from selfplay.evaluation.evaluator import FAMILIES
from selfplay.evaluation.intervals import (
    Columns,
    Estimate,
    distinct_change,
    distinct_share,
    pass_at_k,
    ratio,
    ratio_change,
)
from selfplay.match.record import KILLS, Match, Row
from selfplay.match.solver import best_of

Counted = tuple[float, float]  # of one problem: what is counted, and of how much
_LOST = (*KILLS, "not_collected")


@dataclass(frozen=True, slots=True)
class Figures:
    """One player's figures by name, and what they are computed from."""

    name: str
    columns: dict[str, Columns]
    cases: list[tuple[tuple[object, ...], ...]]

    def estimates(self) -> dict[str, Estimate]:
        return {name: ratio(*own) for name, own in self.columns.items()} | {"distinct_all": distinct_share(self.cases)}

    def changes(self, before: Figures) -> dict[str, Estimate]:
        """This player's figures minus the other's, over the same problems."""
        common = [name for name in self.columns if name in before.columns]
        found = {name: ratio_change(before.columns[name], self.columns[name]) for name in common}
        return found | {"distinct_all": distinct_change(before.cases, self.cases)}


def figures(appearance: Appearance, ks: Sequence[int]) -> Figures:
    """All figures of one player; pass@k for each of `ks`."""
    rows = [dict(_counted(played, ks)) for played in appearance.played]
    names = dict.fromkeys(name for row in rows for name in row)
    columns: dict[str, Columns] = {
        name: ([row[name][0] for row in rows], [row[name][1] for row in rows]) for name in names
    }
    cases = [tuple(case.identity for case in played.match.suites[0].cases) for played in appearance.played]
    return Figures(appearance.name, columns, cases)


def _counted(played: Played, ks: Sequence[int]) -> Iterator[tuple[str, Counted]]:
    right = [bool(chain.correct) for chain in played.sampled]
    yield "code_correct", (fmean(right), 1)
    yield "code_greedy", (any(chain.correct for chain in played.match.chains if chain.greedy), 1)
    for k in ks:
        yield f"pass_at_{k}", (pass_at_k(sum(right), len(right), k), 1)
    yield from _best_of(played, right)
    yield from _own(played.own)
    yield "reasoning_coherence", played.agreeing
    yield from _suite(played.match)
    yield "tokens/generator", (sum(len(t.ids) for c in played.sampled for t in c.conversation.turns), len(right))
    suites = played.own.suites
    yield "tokens/discriminator", (sum(len(t.ids) for s in suites for t in s.conversation.turns), len(suites))


def _best_of(played: Played, right: Sequence[bool]) -> Iterator[tuple[str, Counted]]:
    """The program that own tests and agreement choose, without a look at the reference, between chance and the oracle."""
    chosen, chance, oracle = right[best_of(played.own, blind=True).programs[0]], fmean(right), any(right)
    yield "best_of_n", (chosen, 1)
    yield "oracle", (oracle, 1)
    yield "gap_closed", (chosen - chance, oracle - chance)


def _own(match: Match) -> Iterator[tuple[str, Counted]]:
    """The prototype's figures: the player's programs on its own tests."""
    counting = match.counting
    shares = [share for row in match.programs for share in _shares(match.on(row, counting))]
    yield "average_test_pass_rate", (sum(shares), len(shares))
    faced = [match.on(match.programs[suite.reads], suite.admitted) for suite in match.suites]
    yield "failure_rate", (sum(v in _LOST for own in faced for v in own), sum(map(len, faced)))
    cases = [case.identity for suite in match.suites for case in suite.cases]
    yield "test_diversity", (len(set(cases)), len(cases))


def _shares(verdicts: Sequence[Verdict]) -> Iterator[float]:
    """The share of a program's verdicts that are passed; nothing where none is known."""
    known = [verdict for verdict in verdicts if verdict != "infra_error"]
    if known:
        yield known.count("passed") / len(known)


def _suite(match: Match) -> Iterator[tuple[str, Counted]]:
    """The suite that reads the opponent's chain, as a whole and by stage."""
    [suite] = match.suites
    yield "test_validity", (sum(sum(turn.valid) for turn in suite.turns), suite.written)
    yield "bug_catch_rate", (_caught(match), suite.written)
    killed = {id(target): _killed(match, target.verdicts, suite.admitted) for target in match.targets}
    for name, origin in zip(
        ("mutation_score", "mutation_score_kept", "fixed_kills"), (*FAMILIES, "recorded"), strict=True
    ):
        own = [killed[id(target)] for target in match.targets if target.origin == origin]
        yield name, (sum(own), len(own))
    yield "distinct", (len({case.identity for case in suite.cases}), suite.written)
    dead: set[int] = set()
    for turn in suite.turns:
        yield f"test_validity/stage-{turn.stage}", (sum(turn.valid), turn.written)
        own = {id(t) for t in match.targets if _killed(match, t.verdicts, turn.admitted)}
        yield f"new_kills/stage-{turn.stage}", (len(own - dead), len(match.targets))
        dead |= own


def _killed(match: Match, row: Row, cases: Sequence[Case]) -> bool:
    return any(verdict in _LOST for verdict in match.each(row, cases))


def _caught(match: Match) -> int:
    """Valid tests that the program which was read fails; none where it is right, and so no recorded wrong one."""
    source = match.outside.code.source if match.outside else None
    [suite] = match.suites
    rows = [target.verdicts for target in match.targets if target.origin == "recorded" and target.source == source]
    return sum(verdict in _LOST for row in rows[:1] for verdict in match.each(row, suite.admitted))
