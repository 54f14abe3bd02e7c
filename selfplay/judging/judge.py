"""The judge: programs and cases in, a matrix of verdicts out.

Per job, every distinct program runs once over every distinct input; all jobs of a call go to the box together. Expected
values stay here: the box gets sources and arguments, and what comes back is compared as data (compare.py).

A box that fails is asked once more; what fails twice stays `infra_error`, which no reward counts. A small, fixed share
of the programs is run again to see whether verdicts can be trusted to repeat; a disagreement is logged.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from selfplay.game.problems import Problem
from selfplay.judging.admission import Admission, admit
from selfplay.judging.cases import Box, Case, Execution, Limits, Task, Verdict
from selfplay.judging.compare import check

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Job:
    """Programs and the cases they all face. `entry_point` "" is for programs that read standard input.

    `secret`: those of the programs that are references or made from one, which must not leave this machine.
    """

    entry_point: str
    programs: tuple[str, ...]
    cases: tuple[Case, ...]
    imports: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Matrix:
    """Verdicts, a row for each program and a column for each case."""

    verdicts: tuple[tuple[Verdict, ...], ...]


class Judge:
    """Judges on a box. `recheck` is the share of tasks that are run twice; `disagreements` counts what differed."""

    def __init__(self, box: Box, limits: Limits | None = None, recheck: float = 0.01) -> None:
        self.box = box
        self.limits = limits or Limits()
        self.recheck = recheck
        self.disagreements = 0

    def matrix(
        self, entry_point: str, programs: Sequence[str], cases: Sequence[Case], imports: Sequence[str] = ()
    ) -> Matrix:
        """What each program does on each case."""
        return self.matrices([Job(entry_point, tuple(programs), tuple(cases), tuple(imports))])[0]

    def matrices(self, jobs: Sequence[Job]) -> list[Matrix]:
        """One matrix per job, from one call of the box."""
        return [
            Matrix(tuple(_verdicts(job, row) for row in rows))
            for job, rows in zip(jobs, self.executions(jobs), strict=True)
        ]

    def admit(self, asked: Sequence[tuple[Problem, Sequence[Case]]], share: float = 0.5) -> list[Admission]:
        """The cases that count, per problem: each reference runs once over its cases, all in one call of the box.

        `share` of the CPU limit is what the reference may take for a case. Cases are screened before (admission.py).
        """
        jobs = [Job(p.entry_point, _reference(p), tuple(cases), p.imports, _reference(p)) for p, cases in asked]
        executions = self.executions(jobs)
        return [
            admit(problem, cases, _by_call(cases, rows), self.limits, share)
            for (problem, cases), rows in zip(asked, executions, strict=True)
        ]

    def executions(self, jobs: Sequence[Job]) -> list[list[tuple[Execution, ...]]]:
        """What each program of each job did on each case, unjudged."""
        asked = {task: None for job in jobs for task in _tasks(job, self.limits)}
        done = dict(zip(asked, self.run(tuple(asked)), strict=True))
        return [[_by_case(job, task, done[task]) for task in _tasks(job, self.limits)] for job in jobs]

    def run(self, tasks: Sequence[Task]) -> list[tuple[Execution, ...]]:
        """The executions of all tasks; those that the box failed are tried once more."""
        results = self.box.run(tasks)
        failed = [index for index, row in enumerate(results) if any(one.status == "infra_error" for one in row)]
        if failed:
            _log.warning("the sandbox failed %d of %d programs; trying them once more", len(failed), len(tasks))
            for index, row in zip(failed, self.box.run([tasks[index] for index in failed]), strict=True):
                results[index] = row
        self._check_again(tasks, results)
        return results

    def _check_again(self, tasks: Sequence[Task], results: Sequence[tuple[Execution, ...]]) -> None:
        """Runs a sample of the tasks again: the same program must do the same thing."""
        sample = [index for index, task in enumerate(tasks) if _is_sampled(task, self.recheck)]
        if not sample:
            return
        for index, again in zip(sample, self.box.run([tasks[index] for index in sample]), strict=True):
            differing = [case for case, (a, b) in enumerate(zip(results[index], again, strict=True)) if _differ(a, b)]
            if differing:
                self.disagreements += 1
                self._warn(tasks[index], differing[0], results[index], again)

    def _warn(self, task: Task, case: int, first: Sequence[Execution], again: Sequence[Execution]) -> None:
        _log.warning(
            "a program did two things with one input (%s, then %s); input %.200s; program:\n%.2000s",
            first[case].status,
            again[case].status,
            task.inputs[case],
            task.source,
        )


def _by_call(cases: Sequence[Case], rows: Sequence[Sequence[Execution]]) -> dict[str, Execution] | None:
    """What the reference did, by the arguments of a call; None without a reference."""
    return {case.arguments: one for case, one in zip(cases, rows[0], strict=True)} if rows else None


def _tasks(job: Job, limits: Limits) -> Iterable[Task]:
    inputs = tuple(dict.fromkeys(case.arguments for case in job.cases))
    secret = frozenset(job.secret)
    return [Task(source, job.entry_point, inputs, job.imports, limits, source in secret) for source in job.programs]


def _by_case(job: Job, task: Task, executions: Sequence[Execution]) -> tuple[Execution, ...]:
    by_input = dict(zip(task.inputs, executions, strict=True))
    return tuple(by_input[case.arguments] for case in job.cases)


def _verdicts(job: Job, executions: Sequence[Execution]) -> tuple[Verdict, ...]:
    return tuple(check(case, execution) for case, execution in zip(job.cases, executions, strict=True))


def _reference(problem: Problem) -> tuple[str, ...]:
    return () if problem.reference_solution is None else (problem.reference_solution,)


def _is_sampled(task: Task, share: float) -> bool:
    """The same for the same task, in any process and any run."""
    digest = hashlib.blake2b(f"{task.entry_point}\0{task.source}".encode("utf-8", "surrogatepass"), digest_size=8)
    return bool(task.inputs) and int.from_bytes(digest.digest(), "big") < share * 2**64


def _differ(a: Execution, b: Execution) -> bool:
    """Whether two runs tell different stories; time and infrastructure may vary, so limits are no evidence."""
    unsure = ("timeout", "infra_error")
    if a.status in unsure or b.status in unsure:
        return False
    return (a.status, a.value, a.exception) != (b.status, b.value, b.exception)
