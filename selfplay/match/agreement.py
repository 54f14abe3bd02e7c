"""Which of several programs to hand in when nobody knows the right answers: tests of one's own, and agreement.

CodeT (Chen et al. 2022, arXiv 2207.10397): programs that pass the same tests are one group, and a group scores the number of
its programs times the number of tests that they pass. Wrong programs are wrong in many ways, and a wrong test is passed by
few; so what many programs and many tests say is likely right. Tests that are known to be right come first: the
problem's own, and where there is a reference all that count. Between groups that pass equally many of those the score
decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Agreement:
    """Programs that pass the same tests. `known` counts the right tests that they pass, `tests` the others."""

    programs: tuple[int, ...]
    known: int
    tests: int

    @property
    def score(self) -> int:
        """CodeT's score: programs x tests."""
        return len(self.programs) * self.tests

    @property
    def rank(self) -> tuple[int, int, int, int]:
        """What groups are sorted by, the best first; of equal ones the larger, then the one that was sampled first."""
        return (-self.known, -self.score, -len(self.programs), self.programs[0])


def agreements(passed: Sequence[Sequence[bool]], known: int = 0) -> tuple[Agreement, ...]:
    """The groups, the best first. `passed` has a row per program; its first `known` columns are tests known to be right."""
    members: dict[tuple[bool, ...], list[int]] = {}
    for number, row in enumerate(passed):
        members.setdefault(tuple(row), []).append(number)
    groups = [Agreement(tuple(own), sum(row[:known]), sum(row[known:])) for row, own in members.items()]
    return tuple(sorted(groups, key=lambda group: group.rank))
