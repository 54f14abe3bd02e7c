"""What fails most and what kills most, counted over every match of a run, those that the viewer leaves out included.

A program fails a problem if a case that counts fails it, or if it does not load. A test kills as often as a wrong program of
its group fails it. Reasons are those of the glossary.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from selfplay.match.record import KILLS, Match
from selfplay.run.report.episodes import shown

MOST = 12  # lines of a table


@dataclass(slots=True)
class Tallies:
    """Counters by problem, by test and by reason."""

    played: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    faced: Counter[tuple[str, str]] = field(default_factory=Counter)
    kills: Counter[tuple[str, str]] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def take(self, match: Match) -> None:
        problem = match.problem.id
        counting = match.counting
        for row in match.programs:
            verdicts = match.on(row, counting)
            self.played[problem] += 1
            self.failed[problem] += not KILLS.isdisjoint(verdicts) or "not_collected" in verdicts
        self._kills(match)
        self.reasons.update(
            refusal.reason for suite in match.suites for turn in suite.turns for refusal in turn.refused
        )

    def _kills(self, match: Match) -> None:
        wrong, place = list(match.wrong()), {case.identity: number for number, case in enumerate(match.cases)}
        for case in match.exam:
            verdicts = [row[place[case.identity]] for row in wrong]
            test = (match.problem.id, case.source)
            self.faced[test] += sum(verdict is not None for verdict in verdicts)
            self.kills[test] += sum(verdict in KILLS for verdict in verdicts)

    def hardest(self) -> list[tuple[str, int, int]]:
        """Problems whose programs fail most: id, programs that failed, programs."""
        order = sorted(self.played, key=lambda name: (-self.failed[name] / self.played[name], -self.played[name], name))
        return [(shown(name), self.failed[name], self.played[name]) for name in order[:MOST] if self.failed[name]]

    def sharpest(self) -> list[tuple[str, str, int, int]]:
        """Tests that kill most: problem, test, wrong programs killed, wrong programs faced."""
        return [
            (shown(problem), shown(source), count, self.faced[problem, source])
            for (problem, source), count in self.kills.most_common(MOST)
            if count
        ]

    def refusals(self) -> list[tuple[str, int]]:
        """Why tests do not count, most common first."""
        return self.reasons.most_common(MOST)
