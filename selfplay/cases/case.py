"""A case, why a test is none, and what a program did with one.

Values cross process borders as canonical JSON text of tagged trees (see values.py), never as live objects.
"""

from __future__ import annotations

from dataclasses import dataclass

from selfplay.game.rewards.outcomes import Verdict as Verdict


@dataclass(frozen=True, slots=True)
class Case:
    """One test, read to data: call the entry point with `arguments`, view the result, compare with `expected`.

    `arguments`: text of the call's arguments, see calls.py (kind stdio: the stdin text itself).
    `operator`: == != < <= > >= is is_not in not_in truthy falsy approx raises stdout satisfies
    `expected`: canonical text of the encoded right-hand side (stdio: the expected stdout; raises: JSON list of names;
    satisfies: a condition on the results, see terms.py).
    `view`: pure steps applied to the result before comparing, e.g. ("sorted",), ("len",), ("index", "0"), ("round", "2").
    `further`: arguments of further calls, whose results a condition relates to the first one's (satisfies only).
    """

    name: str
    source: str
    arguments: str
    operator: str
    expected: str
    view: tuple[str, ...] = ()
    tolerance: tuple[float, float] = (0.0, 0.0)  # relative, absolute; for approx
    further: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[type[Case], tuple[object, ...]]:
        # Cases cross to another process by the thousand, and a frozen class with slots is slow to pickle by itself.
        return Case, (
            *(self.name, self.source, self.arguments, self.operator),
            *(self.expected, self.view, self.tolerance, self.further),
        )

    @property
    def calls(self) -> tuple[str, ...]:
        """The arguments of every call that the case needs, the first one's first."""
        return (self.arguments, *self.further)

    @property
    def key(self) -> tuple[object, ...]:
        """Everything that decides a verdict: two cases of one key have the same verdict on every program."""
        return (self.calls, self.operator, self.expected, self.view, self.tolerance)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A test that is not admitted, and why (`reason` is a short slug that is counted: unreadable, vacuous, duplicate ...)."""

    name: str
    source: str
    reason: str
    detail: str = ""

    @property
    def why(self) -> str:
        """Reason and detail in one line."""
        return f"{self.reason}: {self.detail}" if self.detail else self.reason
