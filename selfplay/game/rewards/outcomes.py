"""What a rule sees: the outcomes of one program and of one suite, as data.

A verdict `infra_error` says nothing about anyone: it is left out of every count, and where nothing else is left the
reward is None, which takes the episode out of its group. A *well-formed* case could be read; a *valid* one is admitted,
the reference's pass among its conditions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

# The same words as the judge's. Said here as well, since the game stands below judging and imports nothing from it.
Verdict = Literal["passed", "failed", "error", "timeout", "not_collected", "infra_error"]


@dataclass(frozen=True, slots=True)
class ProgramOutcome:
    """One program of the generator.

    `collected`: it loads and defines its entry point. `has_code`: the turn held code at all. `baseline`: verdicts on
    the problem's own tests. `exam`: on the valid pooled cases of the discriminator. `well_formed`: on every well-formed
    case of the discriminator, valid or not.
    """

    collected: bool
    has_code: bool
    baseline: tuple[Verdict, ...] = ()
    exam: tuple[Verdict, ...] = ()
    well_formed: tuple[Verdict, ...] = ()


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """One well-formed case of a suite.

    `fresh`: not seen earlier in its suite. `killed`: for each wrong target (the group's wrong programs and the
    reference's mutants) whether the case fails it; `killed_by_baseline`, aligned, whether the problem's own tests do.
    `shared`: how many of the group's suites hold the same case. `program_failed`: whether the program that the suite
    read fails it, None where that is unknown.
    """

    valid: bool
    fresh: bool = True
    killed: tuple[bool, ...] = ()
    killed_by_baseline: tuple[bool, ...] = ()
    shared: int = 1
    program_failed: bool | None = None


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """One turn of the discriminator: its well-formed cases in order, how many tests were unreadable, how many asked."""

    stage: int
    cases: tuple[CaseOutcome, ...]
    unreadable: int
    asked: int

    @property
    def written(self) -> int:
        """All tests of the turn, readable or not."""
        return len(self.cases) + self.unreadable


@dataclass(frozen=True, slots=True)
class SuiteOutcome:
    """All turns of one discriminator conversation.

    `program`: verdicts of the program that it read, on all well-formed cases in order.
    """

    turns: tuple[TurnOutcome, ...]
    program: tuple[Verdict, ...] = ()

    @property
    def cases(self) -> tuple[CaseOutcome, ...]:
        """The readable tests of all turns, in order."""
        return tuple(case for turn in self.turns for case in turn.cases)

    @property
    def written(self) -> int:
        """All tests, readable or not."""
        return sum(turn.written for turn in self.turns)

    @property
    def valid(self) -> int:
        """Tests that count."""
        return sum(case.valid for case in self.cases)

    @property
    def caught(self) -> int:
        """Valid cases that the program fails."""
        return sum(case.valid and case.program_failed is True for case in self.cases)


def known(verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Verdicts about the program, those about the machinery left out."""
    return tuple(verdict for verdict in verdicts if verdict != "infra_error")


def lost(verdicts: tuple[Verdict, ...]) -> bool:
    """There were verdicts, and infrastructure took them all."""
    return bool(verdicts) and not known(verdicts)


def share_passed(verdicts: Iterable[Verdict], otherwise: float) -> float:
    """Passed / known verdicts; `otherwise` where there are none."""
    counted = known(verdicts)
    return counted.count("passed") / len(counted) if counted else otherwise


def caught_share(suite: SuiteOutcome) -> float | None:
    """Valid cases that the program fails / all cases written; None where infrastructure took all verdicts."""
    if lost(suite.program):
        return None
    return suite.caught / suite.written if suite.written else 0.0
