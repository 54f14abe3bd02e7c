"""Whether the contracts of a user's problems allow their own tests, and whether the references do what these ask, before
a run is built on them.

A reference decides which tests are right, so one that is wrong, loops or cannot be loaded would train on without a
word; a contract decides which tests count, so under one that cannot be loaded none would. The package's own sets are
proved by its tests and are not asked again. What the sandbox failed to run is no flaw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from selfplay.cases.case import Case, Verdict
from selfplay.errors import Flaw, ProblemError
from selfplay.game.problems import SETS, Problem
from selfplay.judging.domain import conditions, contract_holds, domain_task
from selfplay.judging.judge import Job, Judge
from selfplay.judging.references import subject_of
from selfplay.learning.ranks import Ranks

_FLAWS: Mapping[Verdict, tuple[str, str]] = {  # what a reference does on a test, and what to do about it
    "failed": ("does not give what `{test}` asks for", "correct the reference or the test"),
    "error": ("raises an error on `{test}`", "correct the reference or the test"),
    "timeout": (
        "is not done with `{test}` within {seconds:g} s of CPU time",
        "correct the reference, or raise --timeout",
    ),
    "not_collected": (
        "cannot be loaded: it fails before any function is called, or imports what is not installed",
        "run it by itself to see why; packages that it needs must be installed where programs run",
    ),
}


def check_references(source: str, problems: Sequence[Problem], judge: Judge, ranks: Ranks | None = None) -> None:
    """Runs each contract on the arguments of its baseline tests, and each reference on its baseline and hidden tests, in
    a call of the box each; ranks share the work.

    `source`: the file that the problems are from, or the name of a set. Raises ProblemError on every rank with one flaw
    per problem: the first of its tests that its contract does not allow, or that its reference does not pass.
    """
    if source in SETS:
        return
    ranks = ranks or Ranks()
    asked = [p for p in problems if p.reference_solution is not None or conditions(p)][ranks.rank :: ranks.size]
    mine = {problem: judge.own_cases(problem) for problem in asked}
    wrong = _wrong_references(mine, judge) | _wrong_contracts(mine, judge)
    flaws = [wrong[problem] for problem in mine if problem in wrong]
    everyone = [flaw for own in ranks.gather(flaws) for flaw in own]
    if everyone:
        raise ProblemError(source, everyone)


def _wrong_contracts(baseline: Mapping[Problem, Sequence[Case]], judge: Judge) -> dict[Problem, Flaw]:
    """The first baseline test of each problem whose arguments its contract does not allow."""
    tasks = {
        problem: task
        for problem, cases in baseline.items()
        if (task := domain_task(problem, [case.arguments for case in cases if case.literal], judge.limits))
    }
    flaws: dict[Problem, Flaw] = {}
    for (problem, task), executions in zip(tasks.items(), judge.run([*tasks.values()]), strict=True):
        ran = dict(zip(task.inputs, executions, strict=True))
        asked = ((case, ran[case.arguments]) for case in baseline[problem] if case.literal)
        refused = next(((case, one) for case, one in asked if contract_holds(one) is False), None)
        if refused is not None:
            case, one = refused
            error = "" if one.status == "returned" else f" ({one.exception[0] if one.exception else one.status})"
            text = f"problem {problem.id!r}: the contract does not allow the arguments of `{_short(case)}`{error}"
            flaws[problem] = Flaw(0, "", text, "correct the contract or the test")
    return flaws


def _wrong_references(baseline: Mapping[Problem, Sequence[Case]], judge: Judge) -> dict[Problem, Flaw]:
    """The first test of each problem that its reference does not pass."""
    cases = {
        problem: (*own, *judge.own_cases(problem, "hidden"))
        for problem, own in baseline.items()
        if problem.reference_solution is not None
    }
    jobs = [
        Job(p.entry_point, (source,), own, p.imports, secret=(source,), subject=subject_of(p, everything=True))
        for p, own in cases.items()
        for source in (p.reference_solution or "",)
    ]
    flaws: dict[Problem, Flaw] = {}
    for (problem, own), matrix in zip(cases.items(), judge.matrices(jobs), strict=True):
        for case, verdict in zip(own, matrix.verdicts[0], strict=True):
            if verdict in _FLAWS:
                why, action = _FLAWS[verdict]
                why = why.format(test=_short(case), seconds=judge.limits.cpu_seconds)
                flaws[problem] = Flaw(0, "", f"problem {problem.id!r}: the reference_solution {why}", action)
                break
    return flaws


def _short(case: Case) -> str:
    test = " ".join(case.source.split())
    return test if len(test) <= 80 else f"{test[:77]}..."
