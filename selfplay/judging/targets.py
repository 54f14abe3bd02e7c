"""Targets: wrong programs made from a reference, for tests to kill.

The mutants of a problem are made once: those that agree with the reference on every probe, or never end, are dropped.
The `paid` family of operators is used in rewards, the `kept` family only in evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence

from selfplay.game.problems import Problem
from selfplay.judging.cases import Task
from selfplay.judging.judge import Judge
from selfplay.judging.mutants import Family, mutants, probe_inputs, useful_mutants
from selfplay.judging.reading import problem_cases


class MutantBank:
    """Remembers the useful mutants of each problem and family."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[str, ...]] = {}

    def mutants(self, problems: Sequence[Problem], judge: Judge, family: Family = "paid") -> list[tuple[str, ...]]:
        """Sources of useful mutants, one tuple per problem; made in one call of the box for all that are not known."""
        missing = [p for p in problems if (p.id, family) not in self._known]
        made = [mutants(p.reference_solution or "", p.entry_point, family) for p in missing]
        probes = [probe_inputs(p, problem_cases(p, "baseline").cases) for p in missing]
        tasks = [
            [
                Task(source, p.entry_point, inputs, p.imports, judge.limits, secret=True)
                for source in (p.reference_solution or "", *(m.source for m in own))
            ]
            for p, own, inputs in zip(missing, made, probes, strict=True)
        ]
        ran = iter(judge.box.run([task for own in tasks for task in own]))
        for problem, own in zip(missing, made, strict=True):
            reference = next(ran)
            useful = useful_mutants(problem, own, reference, [next(ran) for _ in own])
            self._known[problem.id, family] = tuple(mutant.source for mutant in useful)
        return [self._known[problem.id, family] for problem in problems]
