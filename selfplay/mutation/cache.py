"""Targets: wrong programs made from a reference, for tests to kill.

The mutants of a problem are made once: those that agree with the reference on every probe, or never end, are dropped.
The `paid` family of operators is used in rewards, the `kept` family only in evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from selfplay.box.task import Execution, Limits, Task
from selfplay.cases.read import problem_cases
from selfplay.game.problems import Problem
from selfplay.judging.judge import Judge
from selfplay.judging.probes import PROBES, probe_inputs
from selfplay.mutation.mutants import Family, mutants, useful_mutants

SLOWER = 10  # times the reference's slowest call that a mutant's call may take
LEAST_SECONDS = 0.3  # CPU seconds that it may take in any case


class MutantCache:
    """Remembers the useful mutants of each problem and family. What the box failed on is asked again the next time."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[str, ...]] = {}

    def mutants(self, problems: Sequence[Problem], judge: Judge, family: Family = "paid") -> list[tuple[str, ...]]:
        """Sources of useful mutants, one tuple per problem. Those not known are made in three calls of the box: contracts
        on inputs, references on those allowed, then mutants, which are given up where they take much longer."""
        own = {p: problem_cases(p, "baseline").cases for p in problems if (p.id, family) not in self._known}
        probes = probe_inputs(own, PROBES, judge.run, judge.limits)
        made = {p: mutants(p.reference_solution or "", p.entry_point, family) for p in probes}
        references = judge.run(
            [_task(p.reference_solution or "", p, inputs, judge.limits) for p, inputs in probes.items()]
        )
        tasks = [
            _task(mutant.source, p, probes[p], _patience(judge.limits, reference))
            for (p, changed), reference in zip(made.items(), references, strict=True)
            for mutant in changed
        ]
        ran = iter(judge.run(tasks))
        found: dict[str, tuple[str, ...]] = {}
        for (problem, changed), reference in zip(made.items(), references, strict=True):
            others = [next(ran) for _ in changed]
            useful = useful_mutants(problem, changed, reference, others)
            found[problem.id] = tuple(mutant.source for mutant in useful)
            if not any(one.status == "infra_error" for row in (reference, *others) for one in row):
                self._known[problem.id, family] = found[problem.id]
        return [found.get(problem.id) or self._known.get((problem.id, family), ()) for problem in problems]


def _task(source: str, problem: Problem, inputs: tuple[str, ...], limits: Limits) -> Task:
    return Task(source, problem.entry_point, inputs, problem.imports, limits, secret=True)


def _patience(limits: Limits, reference: Sequence[Execution]) -> Limits:
    """What a mutant may use: one timeout tells that it never ends, and that soon."""
    slowest = max((one.seconds for one in reference if one.status in ("returned", "raised")), default=0.0)
    return replace(limits, cpu_seconds=min(limits.cpu_seconds, max(LEAST_SECONDS, SLOWER * slowest)), timeouts=1)
