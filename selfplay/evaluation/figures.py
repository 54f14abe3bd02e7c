"""The figures of a player: from what it did on each problem to shares with intervals, and to differences.

Every figure is a sum over problems of one count, divided by the sum of another (a mean over problems divides by ones), so
all have the same bootstrap over problems, and two players the same resamples. The glossary has each formula.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from selfplay.cases.case import Case
from selfplay.evaluation.evaluator import Appearance, Played
from selfplay.evaluation.intervals import (
    Columns,
    Estimate,
    distinct_change,
    distinct_share,
    pass_at_k,
    ratio,
    ratio_change,
)
from selfplay.match.examine import FAMILIES
from selfplay.match.match import KILLS, Match, Origin, Row
from selfplay.match.solver import best_of

Counted = tuple[float, float]  # of one problem: what is counted, and of how much
_LOST = (*KILLS, "not_collected")


@dataclass(frozen=True, slots=True)
class Measured:
    """One problem's results, small enough to cross ranks. `kills` maps origins of targets to (killed, targets).

    `distinct`: different cases of the suite. `cases`: what tells each from those of other problems, which are not the same for
    having the same inputs: its identity and, of a literal one, the value that it expects.
    """

    problem: str
    correct: tuple[bool, ...] = ()
    greedy: bool = False
    written: int = 0
    valid: int = 0
    distinct: int = 0
    cases: tuple[tuple[object, ...], ...] = ()
    kills: Mapping[Origin, tuple[int, int]] | None = None


@dataclass(frozen=True, slots=True)
class Figures:
    """A player's figures as columns, one pair of numbers per problem, and each problem's cases."""

    columns: dict[str, Columns]
    cases: list[tuple[tuple[object, ...], ...]]

    def estimates(self) -> dict[str, Estimate]:
        """Each figure with its 95 % interval."""
        return {name: ratio(*own) for name, own in self.columns.items()} | {"distinct_all": distinct_share(self.cases)}

    def changes(self, before: Figures) -> dict[str, Estimate]:
        """Minus the other's over the same problems in order, with 95 % intervals of the paired differences."""
        common = [name for name in self.columns if name in before.columns]
        changed = {name: ratio_change(before.columns[name], self.columns[name]) for name in common}
        return changed | {"distinct_all": distinct_change(before.cases, self.cases)}


def measured_of(match: Match) -> Measured:
    """What an evaluation's match comes to."""
    [suite] = match.suites
    dead: dict[Origin, list[bool]] = {origin: [] for origin in ("recorded", *FAMILIES)}
    for target in match.targets:
        dead[target.origin].append(_killed(match, target.verdicts, suite.admitted))
    return Measured(
        problem=match.problem.id,
        correct=tuple(bool(chain.correct) for chain in match.chains if not chain.greedy),
        greedy=any(chain.correct for chain in match.chains if chain.greedy),
        written=suite.written,
        valid=sum(sum(turn.valid) for turn in suite.turns),
        distinct=len({case.identity for case in suite.cases}),
        cases=tuple((case.identity, case.expected if case.literal else "") for case in suite.cases),
        kills={origin: (sum(own), len(own)) for origin, own in dead.items()},
    )


def figures(measured: Sequence[Measured], ks: Sequence[int] = (4,)) -> Figures:
    """What a run's evaluation tells; pass@k for each of `ks`."""
    names = dict(_counted(Measured(""), ks))  # of no problem too
    return Figures(columns_of((_counted(each, ks) for each in measured), names), [each.cases for each in measured])


def appearance_figures(appearance: Appearance, ks: Sequence[int]) -> Figures:
    """The same of a player that was compared with others, and what else its turns tell."""
    shared = figures([measured_of(played.match) for played in appearance.played], ks)
    return Figures(shared.columns | columns_of(map(_compared, appearance.played)), shared.cases)


def columns_of(rows: Iterable[Iterable[tuple[str, Counted]]], names: Iterable[str] = ()) -> dict[str, Columns]:
    """By figure its numerators and denominators; a row per problem."""
    tables = [dict(row) for row in rows]
    names = dict.fromkeys((*names, *(name for table in tables for name in table)))
    return {name: ([table[name][0] for table in tables], [table[name][1] for table in tables]) for name in names}


def _counted(measured: Measured, ks: Sequence[int]) -> Iterator[tuple[str, Counted]]:
    right, killed = measured.correct, measured.kills or {}
    yield "code_correct", (sum(right) / max(len(right), 1), 1)
    yield "code_greedy", (measured.greedy, 1)
    for k in ks:
        yield f"pass_at_{k}", (pass_at_k(sum(right), len(right), k), 1)
    yield "test_validity", (measured.valid, measured.written)
    yield "mutation_score", killed.get("paid", (0, 0))
    yield "mutation_score_kept", killed.get("kept", (0, 0))
    yield "fixed_kills", killed.get("recorded", (0, 0))
    yield "distinct", (measured.distinct, measured.written)


def _compared(played: Played) -> Iterator[tuple[str, Counted]]:
    right, own = [bool(chain.correct) for chain in played.sampled], played.own
    # The program that own tests and agreement choose, without a look at the reference, between chance and the oracle.
    chosen, chance, oracle = right[best_of(own, blind=True).programs[0]], fmean(right), any(right)
    yield "best_of_n", (chosen, 1)
    yield "oracle", (oracle, 1)
    yield "gap_closed", (chosen - chance, oracle - chance)
    yield from _prototype(own)
    yield "ending_agreement", played.ending_agreement
    yield from _by_stage(played.match)
    yield "tokens/generator", (sum(len(t.ids) for c in played.sampled for t in c.conversation.turns), len(right))
    yield "tokens/discriminator", (sum(len(t.ids) for s in own.suites for t in s.conversation.turns), len(own.suites))


def _prototype(own: Match) -> Iterator[tuple[str, Counted]]:
    """The prototype's figures: the player's programs on its own tests."""
    known = [[v for v in own.verdicts_on(row, own.counting) if v != "infra_error"] for row in own.programs]
    shares = [row.count("passed") / len(row) for row in known if row]
    yield "average_test_pass_rate", (sum(shares), len(shares))
    faced = [own.verdicts_on(own.programs[suite.reads], suite.admitted) for suite in own.suites]
    yield "failure_rate", (sum(v in _LOST for row in faced for v in row), sum(map(len, faced)))
    cases = [case.identity for suite in own.suites for case in suite.cases]
    yield "test_diversity", (len(set(cases)), len(cases))


def _by_stage(match: Match) -> Iterator[tuple[str, Counted]]:
    """The suite that reads the opponent's chain, by stage; a target is dead from the first stage on that kills it."""
    [suite] = match.suites
    # Valid tests that the program which was read fails; none where it is right, and so no recorded wrong one.
    source = match.outside.code.source if match.outside else None
    rows = [target.verdicts for target in match.targets if target.origin == "recorded" and target.source == source]
    caught = sum(verdict in _LOST for row in rows[:1] for verdict in match.row_on(row, suite.admitted))
    yield "bug_catch_rate", (caught, suite.written)
    dead: set[int] = set()
    for turn in suite.turns:
        yield f"test_validity/stage-{turn.stage}", (sum(turn.valid), turn.written)
        own = {n for n, target in enumerate(match.targets) if _killed(match, target.verdicts, turn.admitted)}
        yield f"new_kills/stage-{turn.stage}", (len(own - dead), len(match.targets))
        dead |= own


def _killed(match: Match, row: Row, cases: Sequence[Case]) -> bool:
    return any(verdict in _LOST for verdict in match.row_on(row, cases))
