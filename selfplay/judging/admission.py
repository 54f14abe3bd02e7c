"""Which cases count: a case must be one that the problem allows, that the reference passes, and that proves something.

`screen` needs no execution: duplicates, arguments outside the annotations, exceptions that nobody demanded, tolerances that
allow anything. `admit` has seen the reference run: a case counts if the reference passes it with a margin, if it refuses
what is near the right outcome, and if it refuses something that the suite's earlier cases on the same calls accept.

What a case refuses is its *mark*: a digit for each near outcome (near.py), 1 where the case fails on it. Sites of texts bring
their mark from being run (replay.py); a literal case gets it here, as data. Then both are the same kind of thing:

    case                               calls       mark        fate
    assert f(3) == 5                   f(3)        111111111   counts
    x = f(3); assert x == 5.0          f(3)        111111111   duplicate: the same calls and the same mark
    assert f(3) in (5, 6)              f(3)        111111110   duplicate: all that it refuses is refused already
    assert f(4) > 0                    f(4)        100010000   weak: it accepts most of what is near
    assert f(3) < f(4)                 f(3), f(4)  110101011   counts: of f(4) nothing was said
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from selfplay.box.task import Execution, Limits
from selfplay.cases.calls import bare_call, is_call
from selfplay.cases.case import Case, Refusal
from selfplay.cases.check import check
from selfplay.cases.near import EACH, NEAR, near
from selfplay.cases.outcome import Outcome
from selfplay.cases.read import Reading
from selfplay.cases.steps import Steps
from selfplay.cases.values import Tree, dump, load, number
from selfplay.game.problems import Problem
from selfplay.judging.domain import allowed, returns, stdin_oddities
from selfplay.judging.state import UNSTEADY

MAX_RELATIVE = 1e-2
MAX_ABSOLUTE = 1e-2  # times the size of the expected number where that is above 1
MAX_WEIGHED = 100_000  # characters of a right output that is tried with changes
SUITE_STEPS = 3_000_000
AS_FLOAT = 10  # characters by which 0.0 is longer than 0 in an answer
SHARE = 0.5  # of what a program may use, that the reference may take
SPENT = ("RecursionError", "MemoryError", "TooLarge", "OutputTooLarge")
ALL, NOTHING = "1" * NEAR, "0" * NEAR
_LEAVES = 2 * EACH  # where the near outcomes with one leaf changed begin in a mark
_HALF = NEAR // 2 + 1


def is_weak(mark: str) -> bool:
    """Whether a case with this mark accepts what differs in one place from the right outcome, what is drawn at random, or
    most of what is near. A list of outcomes to refuse that its author thought of does not hold what is drawn."""
    drawn = mark[EACH:_LEAVES].count("1")
    return bool(mark) and ("1" not in mark[_LEAVES:] or drawn < EACH - 1 or mark.count("1") < _HALF)


# ---- before anything runs ----


def screen(
    problem: Problem, reading: Reading, already: Iterable[object] = (), trust: bool = False
) -> list[Refusal | None]:
    """For each literal case of a reading why it cannot count, None where nothing is wrong so far.

    `already` are identities of cases that were written before. `trust` leaves domain, exceptions and contradictions to the
    reference, if there is one, and counts what is weak or said twice, as pytest would: for a command line.
    """
    seen = set(already)
    unsettled = problem.reference_solution is None and not trust
    contested = _contested(reading.cases) if unsettled else frozenset()
    found: list[Refusal | None] = []
    for case in reading.cases:
        repeated = case.identity in seen and not trust
        reason, detail = ("duplicate", "") if repeated else _flaw(problem, case, trust)
        if not reason and case.calls in contested:
            reason, detail = "conflict", "another case expects something else, and no reference settles it"
        if reason != "domain":  # another spelling of the same input may be inside
            seen.add(case.identity)
        found.append(Refusal(case.name, case.source, reason, detail) if reason else None)
    return found


def _contested(cases: Sequence[Case]) -> frozenset[tuple[str, ...]]:
    """Calls of which cases expect different results."""
    expected: dict[tuple[str, ...], set[str]] = {}
    for case in cases:
        if case.operator in ("==", "is", "stdout", "raises"):
            expected.setdefault(case.calls, set()).add(case.expected)
    return frozenset(calls for calls, values in expected.items() if len(values) > 1)


def _flaw(problem: Problem, case: Case, trust: bool) -> tuple[str, str]:
    """Why a literal case cannot count, as (reason, detail); empty where nothing is wrong so far."""
    if case.operator == "stdout":
        odd = [] if trust else stdin_oddities(problem, case.arguments)
        return ("domain", f"{odd[0]}: none of the problem's own inputs has that") if odd else ("", "")
    if not trust:
        if case.operator == "raises" and not demanded(problem, json.loads(case.expected)):
            return "exception", f"the problem does not ask for {case.expected}"
        if allowed(problem, case.arguments, annotated=case.operator != "raises") is False:
            return "domain", "the arguments are not ones that the problem allows"
    if case.operator == "approx" and not _bounded(case):
        return "tolerance", f"a tolerance of {case.tolerance} allows too much"
    if problem.reference_solution is None and not trust and _looks_vacuous(problem, case):
        return "weak", "most outputs would pass"
    return "", ""


def demanded(problem: Problem, names: Sequence[str]) -> bool:
    """Whether the contract or the description names every one of the exceptions."""
    contract = problem.contract.raises if problem.contract else ()
    return all(name in contract or re.search(rf"\b{re.escape(name)}\b", problem.description) for name in names)


def _bounded(case: Case) -> bool:
    """Whether the tolerance is small beside every number that is expected, the smallest one too."""
    relative, absolute = case.tolerance
    return relative <= MAX_RELATIVE and all(absolute <= MAX_ABSOLUTE * size for size in _sizes(load(case.expected)))


def _sizes(tree: Tree) -> Iterator[float]:
    """The distance from zero of every number that a tolerance widens, at least 1. Infinities and NaN are near nothing."""
    value = number(tree)
    if value is not None:
        size = abs(value) if isinstance(value, complex) else min(abs(value), 1e300) if value == value else 1.0
        if not isinstance(value, (float, complex)) or isfinite(size):
            yield max(1.0, size)
    elif type(tree) is list and tree[0] in ("l", "t", "d"):
        for part in tree[1:]:
            yield from _sizes(part[1] if tree[0] == "d" else part)


def _looks_vacuous(problem: Problem, case: Case) -> bool:
    """Without a reference: by the kind of the assertion, or judged around the expected value."""
    if case.operator == "raises":
        return False
    if case.operator == "truthy":
        return returns(problem.signature) != "bool"
    if case.operator in ("<", "<=", ">", ">=", "!=", "not_in", "is_not"):  # how near the bound is, nobody knows
        return True
    if case.operator not in ("==", "approx", "is"):
        return False
    return is_weak(mark_of(case, Outcome(load(case.expected)), "", Steps()))


# ---- what a case refuses ----


def mark_of(case: Case, right: Outcome, seed: str, steps: Steps) -> str:
    """Which near outcomes of the right one a literal case refuses. Raises Mismatch beyond `steps`."""
    if case.operator in ("==", "stdout") and not any(case.tolerance):
        return ALL  # nothing else is equal to it
    outcomes = near(right, f"{seed}:{_operation(case)}")
    return "".join("0" if check(case, _execution(one), steps) == "passed" else "1" for one in outcomes)


def _operation(case: Case) -> str:
    """What seeds the near outcomes of a call, in every dress of it."""
    return case.calls[0] if case.calls else case.arguments


def _execution(outcome: Outcome) -> Execution:
    if outcome.raised:
        return Execution("raised", exception=outcome.raised)
    return Execution("returned", dump(outcome.value))


# ---- beside the reference ----


@dataclass(frozen=True, slots=True)
class Beside:
    """What is known when cases are admitted: what the reference did, by the text of a call; what the contract says of it
    (`domain`, by the same); the `limits` of a program; the run's `seed`. `trust`: see screen()."""

    ran: Mapping[str, Execution]
    domain: Mapping[str, Execution]
    limits: Limits
    seed: str = ""
    trust: bool = False


def admit(
    problem: Problem, cases: Sequence[Case], refusals: Sequence[Refusal | None], beside: Beside
) -> tuple[tuple[Case, ...], tuple[Refusal | None, ...]]:
    """One suite's cases with their marks, and why each does not count, None where it does; in their order."""
    trial = _Trial(problem, beside)
    marks: dict[object, str] = {}
    done: list[tuple[Case, Refusal | None]] = []
    for case, refusal in zip(cases, refusals, strict=True):
        if refusal is None:
            done.append(trial.judged(case))
            marks.setdefault(case.identity, done[-1][0].mark)
        else:  # what is said twice stays the same case
            done.append((replace(case, mark=marks.get(case.identity, case.mark)), refusal))
    return tuple(case for case, _ in done), tuple(refusal for _, refusal in done)


class _Trial:
    """The cases of one suite before the reference and the cases that were admitted."""

    def __init__(self, problem: Problem, beside: Beside) -> None:
        self.problem, self.beside, self.limits = problem, beside, beside.limits
        self.steps = Steps(SUITE_STEPS)
        self.seconds = SHARE * self.limits.cpu_seconds
        self.room, self.base = self.limits.answer_bytes, SHARE * self.limits.total_cpu_seconds(0)
        self.paid: set[str] = set()
        self.refused: dict[tuple[str, ...], set[int]] = {}  # by calls: near outcomes that admitted cases refuse

    def judged(self, case: Case) -> tuple[Case, Refusal | None]:
        """A case with its mark, and why it does not count."""
        if case.literal:
            execution = self.beside.ran.get(case.arguments, Execution("infra_error"))
            flaw = self._flaw(case, execution)
            if flaw:
                return case, Refusal(case.name, case.source, *flaw)
            case = replace(case, mark=self._mark(case, execution))
        elif not self.beside.trust:
            asked = filter(is_call, (*case.calls, *case.besides))
            for word in filter(None, [self._word(bare_call(call), annotated=False) for call in asked]):
                return case, Refusal(case.name, case.source, *word)
        reason, detail = self._weakness(case) or (self._total(case) if case.literal else None) or ("", "")
        return case, Refusal(case.name, case.source, reason, detail) if reason else None

    def _flaw(self, case: Case, execution: Execution) -> tuple[str, str] | None:
        word = None if self.beside.trust else self._domain(case)
        if word:
            return word
        verdict = check(case, execution, self.steps)
        if verdict == "infra_error":
            return "infra_error", "the box failed on the reference"
        if execution is UNSTEADY or execution == UNSTEADY:
            return "state", "the reference answers differently after other calls"
        if verdict == "timeout":
            return "slow", f"the reference is not done within {self.seconds:.2f} s, or its suite has used up its total"
        if verdict == "error" and execution.exception[:1] and execution.exception[0] in SPENT:
            return "margin", f"half of what a program may use is too little for the reference: {execution.exception[0]}"
        if verdict != "passed":
            return "reference", f"the reference does not pass it: {verdict}"
        if execution.seconds > self.seconds:
            return "slow", f"the reference takes {execution.seconds:.2f} s, {self.seconds:.2f} s are allowed"
        return None

    def _domain(self, case: Case) -> tuple[str, str] | None:
        return None if case.operator == "stdout" else self._word(case.arguments, case.operator != "raises")

    def _word(self, call: str, annotated: bool) -> tuple[str, str] | None:
        """What the problem says against a call; of the calls of texts the annotations were asked before (texts.py)."""
        word = allowed(self.problem, call, self.beside.domain.get(call), annotated)
        if word is None:
            return "infra_error", "the box failed on the contract"
        return None if word else ("domain", "the arguments are not ones that the problem allows")

    def _mark(self, case: Case, execution: Execution) -> str:
        if execution.status == "raised":
            return mark_of(case, Outcome(raised=execution.exception), self.beside.seed, self.steps)
        if case.operator == "stdout":
            return ALL
        if len(execution.value) > MAX_WEIGHED and case.operator != "==":
            return NOTHING  # what long outputs it refuses nobody can try
        return mark_of(case, Outcome(load(execution.value)), self.beside.seed, self.steps)

    def _weakness(self, case: Case) -> tuple[str, str] | None:
        if self.beside.trust:
            return None
        if is_weak(case.mark):
            return "weak", "it accepts what differs in one place from the right outcome, or most of what is near"
        own = {place for place, digit in enumerate(case.mark) if digit == "1"}
        calls = set(case.calls)
        several = len(calls) > 1  # what relates calls must ask a new one: n facts make n * n relations
        before = {
            key: places
            for key, places in self.refused.items()
            if calls.issuperset(key) or (several and not calls.isdisjoint(key))
        }
        said = {call for key in before for call in key}
        if said >= calls and own <= set().union(*before.values()):
            return "duplicate", "earlier cases on the same calls refuse all that it refuses"
        self.refused.setdefault(tuple(sorted(calls)), set()).update(own)
        return None

    def _total(self, case: Case) -> tuple[str, str] | None:
        """Whether a right program has room for the case beside those before it, whichever of them it is charged for.

        A case brings its share of the total and takes the reference's seconds; what is more comes off the base.
        """
        if case.arguments in self.paid:
            return None
        one = self.beside.ran[case.arguments]
        share = SHARE * (self.limits.total_cpu_seconds(1) - self.limits.total_cpu_seconds(0))
        base, size = self.base - max(0.0, one.seconds - share), _size(one.value)
        if base < 0:
            return "slow", "with it, the suite's cases take the reference more than half of their total"
        if size > min(self.room, self.limits.output_bytes):
            return "margin", "a right answer to it, or to it and the suite's other cases, may be too long"
        self.base, self.room = base, self.room - size
        self.paid.add(case.arguments)
        return None


def _size(value: str) -> int:
    """Characters that a right answer may have where the reference's is `value`: floats for integers, twice the length."""
    return max(2 * len(value), len(value) + AS_FLOAT * (value.count(",") + 1))
