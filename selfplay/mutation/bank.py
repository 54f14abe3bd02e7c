"""Targets: wrong programs made from a reference, for tests to kill.

The mutants of a problem are made once: those that agree with the reference on every probe, or never end, are dropped.
The `paid` family of operators is used in rewards, the `kept` family only in evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence

from selfplay.box.task import Task
from selfplay.cases.read import problem_cases
from selfplay.game.problems import Problem
from selfplay.judging.judge import Judge
from selfplay.judging.probes import PROBES, probe_inputs
from selfplay.mutation.mutants import Family, mutants, useful_mutants


class MutantBank:
    """Remembers the useful mutants of each problem and family. What the box failed on is asked again the next time."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[str, ...]] = {}

    def mutants(self, problems: Sequence[Problem], judge: Judge, family: Family = "paid") -> list[tuple[str, ...]]:
        """Sources of useful mutants, one tuple per problem. Those not known are made in two calls of the box: contracts
        on inputs, then references and mutants on those allowed."""
        own = {p: problem_cases(p, "baseline").cases for p in problems if (p.id, family) not in self._known}
        probes = probe_inputs(own, PROBES, judge.run, judge.limits)
        made = {p: mutants(p.reference_solution or "", p.entry_point, family) for p in probes}
        tasks = [
            Task(source, p.entry_point, inputs, p.imports, judge.limits, secret=True)
            for p, inputs in probes.items()
            for source in (p.reference_solution or "", *(mutant.source for mutant in made[p]))
        ]
        ran = iter(judge.run(tasks))
        found: dict[str, tuple[str, ...]] = {}
        for problem, changed in made.items():
            reference, *others = (next(ran) for _ in range(len(changed) + 1))
            useful = useful_mutants(problem, changed, reference, others)
            found[problem.id] = tuple(mutant.source for mutant in useful)
            if not any(one.status == "infra_error" for row in (reference, *others) for one in row):
                self._known[problem.id, family] = found[problem.id]
        return [found.get(problem.id) or self._known.get((problem.id, family), ()) for problem in problems]
