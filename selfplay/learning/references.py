"""Whether the references of a user's problems do what their own tests ask, before a run is built on them.

A reference decides which tests are right, so one that is wrong, loops or cannot be loaded would train on without a
word. The package's own sets are proved by its tests and are not asked again. What the sandbox failed to run is no flaw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from selfplay.cases.case import Verdict
from selfplay.errors import Flaw, ProblemError
from selfplay.game.problems import SETS, Problem
from selfplay.judging.judge import Job, Judge, subject_of
from selfplay.learning.ranks import Ranks

_WHY: Mapping[Verdict, str] = {
    "failed": "does not give what `{test}` asks for",
    "error": "raises an error on `{test}`",
    "timeout": "is not done with `{test}` within {seconds:g} s of CPU time",
    "not_collected": "cannot be loaded: it fails before any function is called, or imports what is not installed",
}
_ACTION: Mapping[Verdict, str] = {
    "failed": "correct the reference or the test",
    "error": "correct the reference or the test",
    "timeout": "correct the reference, or raise --timeout",
    "not_collected": "run it by itself to see why; packages that it needs must be installed where programs run",
}


def check_references(source: str, problems: Sequence[Problem], judge: Judge, ranks: Ranks | None = None) -> None:
    """Runs each reference on its baseline and hidden tests, in one call of the box; ranks share the work.

    `source`: the file that the problems are from, or the name of a set. Raises ProblemError on every rank with one flaw
    per problem: the first of its tests that its reference does not pass.
    """
    if source in SETS:
        return
    ranks = ranks or Ranks()
    mine = [p for p in problems if p.reference_solution is not None][ranks.rank :: ranks.size]
    cases = [(*judge.own_cases(p), *judge.own_cases(p, "hidden")) for p in mine]
    jobs = [
        Job(
            p.entry_point,
            (p.reference_solution or "",),
            own,
            p.imports,
            secret=(p.reference_solution or "",),
            subject=subject_of(p, everything=True),
        )
        for p, own in zip(mine, cases, strict=True)
    ]
    flaws = []
    for problem, own, matrix in zip(mine, cases, judge.matrices(jobs), strict=True):
        for case, verdict in zip(own, matrix.verdicts[0], strict=True):
            if verdict in _WHY:
                test = " ".join(case.source.split())
                why = _WHY[verdict].format(
                    test=test if len(test) <= 80 else f"{test[:77]}...", seconds=judge.limits.cpu_seconds
                )
                flaws.append(Flaw(0, "", f"problem {problem.id!r}: the reference_solution {why}", _ACTION[verdict]))
                break
    everyone = [flaw for own in ranks.gather(flaws) for flaw in own]
    if everyone:
        raise ProblemError(source, everyone)
