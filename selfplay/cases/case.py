"""A case, why a test is none, and what a program did with one.

Values cross process borders as canonical JSON text of tagged trees (see values.py), never as live objects.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from selfplay.game.rewards.outcomes import Verdict as Verdict

RUNS = "runs"  # the operator of a case whose text is run


@dataclass(frozen=True, slots=True)
class Case:
    """One statement about what is under test. A *literal* case is data: one call, compared with a known value. Any other
    runs: it is a site of a text of tests, an assertion that records whether it held.

    `source`: what people see, written from the syntax tree or from data.
    `arguments`: literal: text of the call's arguments as they were written, see calls.py (standard input: the text itself).
    `operator`: == != < <= > >= is is_not in not_in truthy falsy approx raises stdout, or "runs".
    `expected`: literal: canonical text of what the result is compared with (stdout: what is printed; raises: a JSON list of
    names); else the name of the site in `text`.
    `calls`: what it asks and looks at, spellings folded, so that two cases that ask the same have the same calls.
    `besides`: what it asks too, and does not look at: the problem must allow it, and no record keeps it.
    `mark`: which outcomes near the right one it refuses, "110111111"; empty until it is admitted.
    """

    name: str
    source: str
    arguments: str
    operator: str
    expected: str
    tolerance: tuple[float, float] = (0.0, 0.0)  # relative, absolute; for approx
    calls: tuple[str, ...] = ()
    text: str = ""
    mark: str = ""
    besides: tuple[str, ...] = field(default=(), compare=False)

    def __reduce__(self) -> tuple[type[Case], tuple[object, ...]]:
        # Cases cross to another process by the thousand, and a frozen class with slots is slow to pickle by itself.
        return Case, (
            *(self.name, self.source, self.arguments, self.operator, self.expected),
            *(self.tolerance, self.calls, self.text, self.mark, self.besides),
        )

    @property
    def literal(self) -> bool:
        """Whether it is decided by comparing data, with nothing of the test's run."""
        return self.operator != RUNS

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes two cases one for whoever pays: what they ask and what they refuse; before that is known,
        everything that decides a verdict."""
        if self.mark:
            return (self.calls, self.mark)
        return (self.arguments, self.text, self.operator, self.expected, self.tolerance)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A test that is not admitted, and why (`reason` is a short slug that is counted: unreadable, weak, duplicate ...)."""

    name: str
    source: str
    reason: str
    detail: str = ""

    @property
    def why(self) -> str:
        """Reason and detail in one line."""
        return f"{self.reason}: {self.detail}" if self.detail else self.reason
