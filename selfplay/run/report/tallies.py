"""What fails most and what kills most, counted over every match of a run, those that the viewer leaves out included.

A program fails a problem if a case that counts fails it, or if it does not load. A test kills as often as a wrong program of
its group fails it. Reasons are those of the glossary.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from selfplay.match.match import KILLS, Match
from selfplay.run.report.episodes import fails, shown

MOST = 12  # lines of a table
REASONS = {  # the glossary's, as sentences
    "unreadable": "pytest cannot collect it",
    "no_test": "the text holds no test",
    "size": "it is too long",
    "no_call": "it says nothing of what is under test",
    "skipped": "it skips itself or expects to fail",
    "unstable": "run again, it says something else",
    "budget": "it costs too much to read or to run",
    "too_many": "the text holds too many cases",
    "clerk_failed": "reading it failed, which is an error of ours",
    "no_jail": "it must run, and not all walls of the sandbox stand here",
    "cloud": "it cannot be judged in the cloud",
    "duplicate": "earlier cases on the same calls refuse all that it refuses",
    "domain": "the problem does not allow its arguments, or their spelling",
    "exception": "it expects an exception that the problem does not demand",
    "tolerance": "it lets numbers differ by too much",
    "weak": "it accepts too much of what is near the right outcome",
    "conflict": "another case expects something else, and there is no reference",
    "reference": "the reference fails it",
    "slow": "the reference needs more than half of the time for it",
    "margin": "the reference needs too much of the recursion, memory or bytes for it",
    "state": "the reference answers differently after other calls",
    "infra_error": "the sandbox failed on the reference",
}


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
            verdicts = match.verdicts_on(row, counting)
            self.played[problem] += 1
            self.failed[problem] += fails(verdicts)
        self.reasons.update(
            refusal.reason for suite in match.suites for turn in suite.turns for refusal in turn.refused
        )
        wrong, place = list(match.wrong_rows()), {case.identity: number for number, case in enumerate(match.cases)}
        for case in match.admitted:
            verdicts = [row[place[case.identity]] for row in wrong]
            test = (problem, case.source)
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
        """Why tests do not count, in words, most common first."""
        return [(REASONS.get(reason, shown(reason)), count) for reason, count in self.reasons.most_common(MOST)]
