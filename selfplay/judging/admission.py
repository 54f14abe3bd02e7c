"""Which cases count. Reading says what a test states; admission says whether stating it proves anything.

`screen` needs no execution: duplicates, arguments outside the problem's domain, tolerances that allow anything,
exceptions that nobody demanded. `admit` has seen the reference run: a case counts if the reference passes it within a
share of the time limit, if it would refuse most outputs near the reference's and most of its outputs on other inputs,
and if it states more than the suite's earlier cases on the same input (strength.py). Contradicting cases need no rule of
their own where there is a reference: at most one of them can pass. Nothing is dropped silently, everything refused
carries its reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from selfplay.box.task import Execution, Limits
from selfplay.cases.calls import call_of, folded
from selfplay.cases.case import Case, Refusal
from selfplay.cases.compare import check
from selfplay.cases.equality import canonical
from selfplay.cases.steps import Mismatch, Steps
from selfplay.cases.values import Tree, load, number
from selfplay.cases.views import reduced
from selfplay.game.problems import Problem
from selfplay.judging.domain import allowed, named, returns, stdin_call, stdin_oddities
from selfplay.judging.strength import Earlier, is_exact, is_vacuous
from selfplay.reading import Reading
from selfplay.reading.interpret import holds
from selfplay.reading.refusals import NotReadable

MAX_RELATIVE = 1e-2
MAX_ABSOLUTE = 1e-2  # times the size of the expected number where that is above 1
WEAK = ("isinstance", "type_is", "bool", "has", "len", "any", "all")  # views that leave little of a result


MAX_WEIGHED = 100_000  # characters of a right output, or of those of a case's calls, that are tried with changes
CASE_STEPS = 500_000  # for trying one case on other outputs
SUITE_STEPS = 3_000_000
SAMPLES = 40
SAMPLE_BYTES = 2_000


@dataclass(frozen=True, slots=True)
class Admission:
    """What was decided on each case: None where it counts, else why it does not."""

    cases: tuple[Case, ...]
    refusals: tuple[Refusal | None, ...]

    @property
    def admitted(self) -> tuple[Case, ...]:
        """The cases that count."""
        return tuple(case for case, refusal in zip(self.cases, self.refusals, strict=True) if refusal is None)

    @property
    def refused(self) -> tuple[Refusal, ...]:
        """Why the others do not, in order."""
        return tuple(refusal for refusal in self.refusals if refusal is not None)


def screen(
    problem: Problem,
    reading: Reading,
    already: Iterable[object] = (),
    trust_reference: bool = False,
) -> tuple[tuple[Case, ...], tuple[Refusal, ...]]:
    """The cases of a reading that may count, and everything refused so far, the reading's own refusals included.

    `already` are identities of cases that were written before. `trust_reference` leaves domain, exceptions and
    contradictions to the reference, if there is one: for a command line that has no description.
    """
    seen = set(already)
    unsettled = problem.reference_solution is None and not trust_reference
    contested = _contested(reading.cases) if unsettled else frozenset()
    kept: list[Case] = []
    refused = list(reading.refused)
    for case in reading.cases:
        own = identity(case, problem.signature)
        reason, detail = ("duplicate", "") if own in seen else _flaw(problem, case, trust_reference)
        if not reason and (case.arguments, case.view) in contested:
            reason, detail = "conflict", "another case expects something else, and no reference settles it"
        if reason != "domain":  # another spelling of the same input may be inside
            seen.add(own)
        if reason:
            refused.append(Refusal(case.name, case.source, reason, detail))
        else:
            kept.append(case)
    return tuple(kept), tuple(refused)


def identity(case: Case, signature: str = "") -> tuple[object, ...]:
    """What makes two cases one: their key, where expected values that are equal in Python count as the same, keywords
    as the positional arguments that `signature` makes them, blanks of an input as one, and steps of a view that change
    nothing as not there."""
    fold = stdin_call if case.operator == "stdout" else lambda call: folded(call, signature)
    calls = tuple(map(fold, case.calls))
    return (calls, case.operator, _expected(case), reduced(case.view), case.tolerance)


def _expected(case: Case) -> str:
    if case.operator in ("stdout", "raises", "satisfies"):
        return case.expected
    try:
        return canonical(load(case.expected))
    except (Mismatch, ValueError):
        return case.expected


def _contested(cases: Sequence[Case]) -> frozenset[tuple[object, ...]]:
    """Arguments and views of which cases expect different values."""
    expected: dict[tuple[object, ...], set[object]] = {}
    for case in cases:
        if case.operator in ("==", "is", "stdout", "raises"):
            expected.setdefault((case.arguments, case.view), set()).add(_expected(case))
    return frozenset(key for key, values in expected.items() if len(values) > 1)


def _flaw(problem: Problem, case: Case, trust_reference: bool) -> tuple[str, str]:
    """Why a case cannot count, as (reason, detail); empty where nothing is wrong so far."""
    if case.operator == "stdout":
        odd = [] if trust_reference else stdin_oddities(problem, case.arguments)
        return ("domain", f"{odd[0]}: none of the problem's own inputs has that") if odd else ("", "")
    if not trust_reference:
        if case.operator == "raises" and not _demanded(problem, json.loads(case.expected)):
            return "exception", f"the problem does not ask for {case.expected}"
        annotated = case.operator != "raises"
        if not all(_in_domain(problem, call, annotated) for call in case.calls):
            return "domain", "the arguments are not ones that the problem allows"
    if len({folded(call, problem.signature) for call in case.calls}) < len(case.calls):
        return "vacuous", "a call is compared with itself"
    if case.operator == "approx" and not _bounded(case):
        return "tolerance", f"a tolerance of {case.tolerance} allows too much"
    if problem.reference_solution is None and not trust_reference and _looks_vacuous(problem, case):
        return "vacuous", "most outputs would pass"
    return "", ""


def _in_domain(problem: Problem, call: str, annotated: bool) -> bool:
    """Whether the annotations, where they are asked, and the contract allow a call."""
    word = allowed(problem, call, annotated=annotated)
    if word is not None:
        return word
    arguments = named(problem.signature, *call_of(call))
    try:
        return arguments is not None and problem.contract is not None and holds(problem.contract.requires, arguments)
    except NotReadable:
        return False


def _demanded(problem: Problem, names: Sequence[str]) -> bool:
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
    """Without a reference: judged around the expected value, or by the kind of the assertion."""
    if case.operator in ("raises", "satisfies"):
        return False
    if case.operator in ("truthy", "falsy"):
        if case.view:
            return any(name in WEAK for name in case.view)
        return returns(problem.signature) != "bool" and case.operator == "truthy"
    if case.view:
        return case.operator not in ("==", "approx", "is") or case.view[-1] == "bool"
    if case.operator in ("<", "<=", ">", ">="):  # how near the bound is to a right result, nobody knows
        return True
    return is_vacuous(case, load(case.expected))


def admit(
    problem: Problem,
    cases: Sequence[Case],
    ran: Mapping[str, Execution] | None,
    limits: Limits | None = None,
    share: float = 0.5,
    samples: Sequence[Tree] = (),
) -> Admission:
    """The cases of one suite, in their order, that the reference passes within `share` of the CPU limit, that are not
    vacuous at its result, and that state something that those before them do not.

    `ran` maps the arguments of every call to what the reference did; None where the problem has no reference: then
    every screened case is admitted. `samples` are other outputs, see samples_of().
    """
    if ran is None:
        return Admission(tuple(cases), (None,) * len(cases))
    trial = _Trial(ran, share * (limits or Limits()).cpu_seconds, samples, Earlier(cases, problem.signature))
    return Admission(tuple(cases), tuple(trial.refusal(case) for case in cases))


class _Trial:
    """The cases of one suite before the reference and the cases that were admitted."""

    def __init__(self, ran: Mapping[str, Execution], seconds: float, samples: Sequence[Tree], earlier: Earlier) -> None:
        self.ran, self.seconds, self.samples, self.earlier = ran, seconds, samples, earlier
        self.left = SUITE_STEPS

    def refusal(self, case: Case) -> Refusal | None:
        """Why a case does not count; None where it does."""
        executions = [self.ran[call] for call in case.calls]
        steps = Steps(min(CASE_STEPS, self.left))
        given = steps.left
        try:
            reason, detail = self._flaw(case, executions) or self._weakness(case, executions, steps) or ("", "")
        except Mismatch:
            reason, detail = "vacuous", "what it refuses takes too long to find out"
        self.left -= given - max(0, steps.left)
        return Refusal(case.name, case.source, reason, detail) if reason else None

    def _flaw(self, case: Case, executions: Sequence[Execution]) -> tuple[str, str] | None:
        verdict = check(case, *executions)
        slowest = max(execution.seconds for execution in executions)
        if verdict == "infra_error":
            return "infra_error", "the box failed on the reference"
        if verdict != "passed":
            return "reference", f"the reference does not pass it: {verdict}"
        if slowest > self.seconds:
            return "slow", f"the reference takes {slowest:.2f} s, {self.seconds:.2f} s are allowed"
        return None

    def _weakness(self, case: Case, executions: Sequence[Execution], steps: Steps) -> tuple[str, str] | None:
        if case.operator not in ("stdout", "raises") and not is_exact(case):
            size = sum(len(execution.value) for execution in executions)
            if size > MAX_WEIGHED:
                return "vacuous", f"an output of {size} characters counts only where all of it is expected (==)"
            if is_vacuous(case, *(load(one.value) for one in executions), samples=self.samples, steps=steps):
                return "vacuous", "most outputs near the reference's, or on other inputs, would pass"
        if not self.earlier.adds(case, executions, self.samples, steps):
            return "duplicate", "earlier cases on the same input refuse all that it refuses"
        return None


def samples_of(executions: Iterable[Execution], limit: int = SAMPLES) -> tuple[Tree, ...]:
    """Up to `limit` small outputs, each once: what the reference returned on other inputs (the suite's other cases',
    probes.py's), what wrong programs returned. With them a case is asked whether it refuses what perturbing one right
    output does not think of."""
    found: dict[str, Tree] = {}
    for execution in executions:
        if len(found) >= limit:
            break
        if execution.status == "returned" and len(execution.value) <= SAMPLE_BYTES:
            try:
                found.setdefault(execution.value, load(execution.value))
            except ValueError:  # what a stdin program printed, or what nobody can read
                continue
    return tuple(found.values())
