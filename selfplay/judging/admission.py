"""Which cases count. Reading says what a test states; admission says whether stating it proves anything.

`screen` needs no execution: duplicates, arguments outside the problem's domain, tolerances that allow anything,
exceptions that nobody demanded. `admit` has seen the reference run: a case counts if the reference passes it within a
share of the time limit and if it would refuse most outputs near the reference's. Contradicting cases need no rule of
their own where there is a reference: at most one of them can pass. Nothing is dropped silently, everything refused
carries its reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from selfplay.game.problems import Problem
from selfplay.judging.cases import Case, Execution, Limits, Refusal
from selfplay.judging.compare import check, holds
from selfplay.judging.domain import in_domain, returns
from selfplay.judging.equality import Mismatch, canonical
from selfplay.judging.perturb import rejected_share
from selfplay.judging.reading import Reading
from selfplay.judging.values import Tree, decode, load, number

MAX_RELATIVE = 1e-2
MAX_ABSOLUTE = 1e-2  # times the size of the expected number where that is above 1
WEAK = ("isinstance", "type_is", "bool", "has", "len", "any", "all")  # views that leave little of a result


@dataclass(frozen=True, slots=True)
class Admission:
    """The cases that count, and those that do not with their reasons."""

    admitted: tuple[Case, ...]
    refused: tuple[Refusal, ...]


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
        own = identity(case)
        reason, detail = ("duplicate", "") if own in seen else _flaw(problem, case, trust_reference)
        if not reason and (case.arguments, case.view) in contested:
            reason, detail = "conflict", "another case expects something else, and no reference settles it"
        seen.add(own)
        if reason:
            refused.append(Refusal(case.name, case.source, reason, detail))
        else:
            kept.append(case)
    return tuple(kept), tuple(refused)


def identity(case: Case) -> tuple[object, ...]:
    """What makes two cases one: their key, where expected values that are equal in Python count as the same."""
    return (case.calls, case.operator, _expected(case), case.view, case.tolerance)


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
        return "", ""
    if not trust_reference:
        if case.operator == "raises" and not _demanded(problem, json.loads(case.expected)):
            return "exception", f"the problem does not ask for {case.expected}"
        if not in_domain(problem, decode(case.arguments), annotated=case.operator != "raises"):
            return "domain", "the arguments are not ones that the problem allows"
    if case.operator == "approx" and not _bounded(case):
        return "tolerance", f"a tolerance of {case.tolerance} allows too much"
    if problem.reference_solution is None and not trust_reference and _looks_vacuous(problem, case):
        return "vacuous", "most outputs would pass"
    return "", ""


def _demanded(problem: Problem, names: Sequence[str]) -> bool:
    """Whether the contract or the description names every one of the exceptions."""
    contract = problem.contract.raises if problem.contract else ()
    return all(name in contract or re.search(rf"\b{re.escape(name)}\b", problem.description) for name in names)


def _bounded(case: Case) -> bool:
    relative, absolute = case.tolerance
    return relative <= MAX_RELATIVE and absolute <= MAX_ABSOLUTE * max(1.0, _size(load(case.expected)))


def _size(tree: Tree) -> float:
    """The largest number in a tree, by its distance from zero."""
    value = number(tree)
    if value is not None:
        return min(abs(value), 1e300)
    if type(tree) is not list:
        return 0.0
    parts = [part for pair in tree[1:] for part in pair[1:]] if tree[0] == "d" else tree[1:]
    return max((_size(part) for part in parts if not isinstance(part, str)), default=0.0)


def _looks_vacuous(problem: Problem, case: Case) -> bool:
    """Without a reference: judged around the expected value, or by the kind of the assertion."""
    if case.operator == "raises":
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


def is_vacuous(case: Case, right: Tree) -> bool:
    """Whether the case refuses no more than half of the outputs near a right one."""
    if case.operator == "==" and not case.view:
        return False
    return rejected_share(lambda other: holds(case, other), right) <= 0.5


def admit(
    problem: Problem,
    cases: Sequence[Case],
    reference_executions: Sequence[Execution] | None,
    share: float = 0.5,
    limits: Limits | None = None,
) -> Admission:
    """The cases that the reference passes within `share` of the CPU limit, and that are not vacuous at its result.

    `reference_executions` has one execution per case, in order; None where the problem has no reference: then every
    screened case is admitted.
    """
    if reference_executions is None:
        return Admission(tuple(cases), ())
    seconds = share * (limits or Limits()).cpu_seconds
    admitted: list[Case] = []
    refused: list[Refusal] = []
    for case, execution in zip(cases, reference_executions, strict=True):
        reason, detail = _verdict(case, execution, seconds)
        if reason:
            refused.append(Refusal(case.name, case.source, reason, detail))
        else:
            admitted.append(case)
    return Admission(tuple(admitted), tuple(refused))


def _verdict(case: Case, execution: Execution, seconds: float) -> tuple[str, str]:
    verdict = check(case, execution)
    if verdict == "infra_error":
        return "infra_error", "the box failed on the reference"
    if verdict != "passed":
        return "reference", f"the reference does not pass it: {verdict}"
    if execution.seconds > seconds:
        return "slow", f"the reference takes {execution.seconds:.2f} s, {seconds:.2f} s are allowed"
    if case.operator not in ("stdout", "raises") and is_vacuous(case, load(execution.value)):
        return "vacuous", "most outputs near the reference's would pass"
    return "", ""
