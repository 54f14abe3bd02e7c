"""The judge: programs and cases in, a matrix of verdicts out.

Per job, every distinct program runs once over every distinct input; all jobs of a call go to the box together. Expected
values stay here: the box gets sources and arguments. What comes back is compared as data, by the clerk unless it is the
very text that is expected, program by program as they end, and forgotten: what a step's programs return never lies in
memory together.

A box that fails is asked once more; what fails twice stays `infra_error`, which no reward counts. A program that may keep
something between its calls is called in reversed order as well; where that changes a verdict, it runs a case per child, and
counts in `order_dependent`. A small, fixed share of the programs is run again to see whether verdicts can be trusted to
repeat; a disagreement is logged.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import NamedTuple

from selfplay.box.task import Box, Execution, Limits, Task
from selfplay.cases.case import Case, Verdict
from selfplay.cases.compare import is_same_text
from selfplay.cases.literal import did, wanted
from selfplay.game.problems import Problem
from selfplay.judging.admission import Admission
from selfplay.judging.clerk import Desk, shared_desk
from selfplay.judging.probes import within
from selfplay.judging.state import is_plain

_log = logging.getLogger(__name__)

PROBES = 12  # inputs on which a reference shows what else it returns
_AT_ONCE = 4 << 20  # bytes of answers that may wait to be compared

Row = tuple[Verdict, ...]


class Seen(NamedTuple):
    """What became of one program before one job's cases."""

    verdicts: Row
    why: str  # it does not load; empty where it does
    keeps_state: bool  # it may answer a call differently after another one


@dataclass(frozen=True, slots=True)
class Job:
    """Programs and the cases they all face. `entry_point` "" is for programs that read standard input.

    `secret`: those of the programs that are references or made from one, which must not leave this machine.
    `after`: cases that do not count, run when all others are done, so that they cannot touch them.
    """

    entry_point: str
    programs: tuple[str, ...]
    cases: tuple[Case, ...]
    imports: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()
    after: tuple[Case, ...] = ()


@dataclass(frozen=True, slots=True)
class Matrix:
    """Verdicts, a row for each program and a column for each case, those of `after` last.

    `why` says for each program why it does not load, empty where it does.
    """

    verdicts: tuple[Row, ...]
    why: tuple[str, ...] = ()


Sitting = tuple[int, Task]  # one program before the cases of the job with this number


class Judge:
    """Judges on a box. `recheck` is the share of programs that are run twice; `disagreements` counts what differed.

    `order_dependent` counts programs whose verdicts depended on the order of their cases.
    """

    def __init__(self, box: Box, limits: Limits | None = None, recheck: float = 0.01, desk: Desk | None = None) -> None:
        self.box = box
        self.limits = limits or Limits()
        self.recheck = recheck
        self.desk = desk or shared_desk()
        self.disagreements = 0
        self.order_dependent = 0
        self._shown: dict[Problem, tuple[Execution, ...]] = {}  # what references returned on probes: asked once each

    def close(self) -> None:
        """Ends the box's processes and the clerk's; a later call starts new ones."""
        self.box.close()
        self.desk.close()

    def matrix(
        self, entry_point: str, programs: Sequence[str], cases: Sequence[Case], imports: Sequence[str] = ()
    ) -> Matrix:
        """What each program does on each case."""
        return self.matrices([Job(entry_point, tuple(programs), tuple(cases), tuple(imports))])[0]

    def matrices(self, jobs: Sequence[Job]) -> list[Matrix]:
        """One matrix per job, from one call of the box, and further ones for what has to be run again."""
        rows = [self._tasks(job) for job in jobs]
        sittings = list(dict.fromkeys((number, task) for number, tasks in enumerate(rows) for task in tasks))
        found = self._judged(jobs, sittings)
        self._look_at_order(jobs, sittings, found)
        self._look_again(sittings)
        seen = [[found[number, task] for task in tasks] for number, tasks in enumerate(rows)]
        return [Matrix(tuple(one.verdicts for one in own), tuple(one.why for one in own)) for own in seen]

    def _tasks(self, job: Job) -> list[Task]:
        inputs = tuple(dict.fromkeys(call for case in (*job.cases, *job.after) for call in case.calls))
        secret = frozenset(job.secret)
        return [
            Task(source, job.entry_point, inputs, job.imports, self.limits, source in secret) for source in job.programs
        ]

    # ---- running and comparing ----

    def _judged(self, jobs: Sequence[Job], sittings: Sequence[Sitting]) -> dict[Sitting, Seen]:
        """The row of each sitting. Answers wait until their job is complete or they are many, and are compared together."""
        found: dict[Sitting, Seen] = {}
        faced: dict[Task, list[int]] = {}  # the jobs of each task: equal programs before equal inputs run once
        for number, task in sittings:
            faced.setdefault(task, []).append(number)
        tasks = list(faced)
        waiting: dict[int, list[tuple[Task, dict[str, Execution]]]] = {}
        size = 0

        def compare() -> None:
            for number, own in waiting.items():
                cases = (*jobs[number].cases, *jobs[number].after)
                rows = self.desk.verdicts(cases, [(task.source, ran) for task, ran in own])
                for (task, ran), (row, keeps) in zip(own, rows, strict=True):
                    found[number, task] = Seen(row, _why(ran.values()), keeps)
            waiting.clear()

        for index, executions in self.stream(tasks):
            task, ran = tasks[index], dict(zip(tasks[index].inputs, executions, strict=True))
            for number in faced[task]:
                cases = (*jobs[number].cases, *jobs[number].after)
                if is_plain(task.source) and all(is_same_text(case, ran[case.arguments]) for case in cases):
                    found[number, task] = Seen(("passed",) * len(cases), "", False)
                else:
                    waiting.setdefault(number, []).append((task, ran))
                    size += sum(len(one.value) for one in executions)
            if size > _AT_ONCE:
                compare()
                size = 0
        compare()
        return found

    def run(self, tasks: Sequence[Task]) -> list[tuple[Execution, ...]]:
        """The executions of all tasks, in order and unjudged; for programs of our own, since all answers are kept."""
        done = dict(self.stream(tasks))
        return [done[index] for index in range(len(tasks))]

    def stream(self, tasks: Sequence[Task]) -> Generator[tuple[int, tuple[Execution, ...]]]:
        """Index and executions of each task as it ends; those that the box failed are tried once more."""
        failed: list[int] = []
        if not tasks:
            return
        with closing(self.box.stream(tasks)) as told:
            for index, row in told:
                if any(one.status == "infra_error" for one in row):
                    failed.append(index)
                else:
                    yield index, row
        if failed:
            _log.warning("the sandbox failed %d of %d programs; trying them once more", len(failed), len(tasks))
            with closing(self.box.stream([tasks[index] for index in failed])) as told:
                for position, row in told:
                    yield failed[position], row

    def shown(
        self, entry_point: str, program: str, cases: Sequence[Case], imports: Sequence[str] = ()
    ) -> list[tuple[str, str]]:
        """What one program did on each case, and what the case expects, as text for people. The program runs for this."""
        job = Job(entry_point, (program,), tuple(cases), tuple(imports))
        [task] = self._tasks(job)
        ran = dict(zip(task.inputs, self.run([task])[0], strict=True))
        stdio = not entry_point
        return [("; ".join(did(ran[call], stdio) for call in case.calls), wanted(case)) for case in cases]

    # ---- can verdicts be trusted to repeat? ----

    def _look_at_order(self, jobs: Sequence[Job], sittings: Sequence[Sitting], found: dict[Sitting, Seen]) -> None:
        """Calls programs that may keep state in reversed order; those that then differ run a case per child."""
        suspects = [own for own in sittings if found[own].keeps_state and own[1].entry_point and len(own[1].inputs) > 1]
        counting = [replace(job, after=()) for job in jobs]
        turned = [(number, _turned(counting[number], task)) for number, task in suspects]
        other = self._judged(counting, turned)
        differing = [own for own, back in zip(suspects, turned, strict=True) if _differ(found[own], other[back])]
        apart = [(number, replace(task, apart=True)) for number, task in differing]
        alone = self._judged(jobs, apart)
        found.update((own, alone[by_case]) for own, by_case in zip(differing, apart, strict=True))
        self.order_dependent += len(differing)

    def _look_again(self, sittings: Sequence[Sitting]) -> None:
        """Runs a sample of the tasks twice more: the same program must do the same thing."""
        sample = [task for task in dict.fromkeys(task for _, task in sittings) if _is_sampled(task, self.recheck)]
        if not sample:
            return
        first = [tuple(map(_story, row)) for row in self.run(sample)]
        for task, before, row in zip(sample, first, self.run(sample), strict=True):
            after = tuple(map(_story, row))
            differing = [case for case, (a, b) in enumerate(zip(before, after, strict=True)) if a and b and a != b]
            if differing:
                self.disagreements += 1
                _warn(task, differing[0], before, after)

    # ---- admission ----

    def admit(
        self, asked: Sequence[tuple[Problem, Sequence[tuple[Case, ...]]]], share: float = 0.5
    ) -> list[list[Admission]]:
        """The cases that count, per problem and suite: each reference runs once over its suites, all in one call.

        `share` of the CPU limit is what the reference may take for a case. Cases are screened before (admission.py).
        """
        found: list[list[Admission]] = [
            self.desk.admission(problem, suites, None, self.limits, share) if problem.reference_solution is None else []
            for problem, suites in asked
        ]
        known = [number for number, (problem, _) in enumerate(asked) if problem.reference_solution is not None]
        tasks = [self._reference(*asked[number]) for number in known]
        for index, executions in self.stream(tasks):
            problem, suites = asked[known[index]]
            ran = dict(zip(tasks[index].inputs, executions, strict=True))
            asked_for = _calls(suites)
            others = tuple(execution for call, execution in ran.items() if call not in asked_for)
            shown = self._shown.setdefault(problem, others) if problem.baseline_tests else others
            found[known[index]] = self.desk.admission(problem, suites, ran, self.limits, share, shown)
        return found

    def _reference(self, problem: Problem, suites: Sequence[tuple[Case, ...]]) -> Task:
        """The reference before everything written and, the first time, before probes that show what else it returns."""
        source, calls = problem.reference_solution or "", _calls(suites)
        cases = [case for suite in suites for case in suite]
        near = self.desk.probes(problem, cases, PROBES) if calls and problem not in self._shown else ()
        probes = within({problem: near}, PROBES, self.run, self.limits).get(problem, ())
        inputs = tuple(dict.fromkeys((*calls, *probes)))
        apart = len(inputs) > 1 and bool(problem.entry_point) and self.desk.keeps_state(source)
        return Task(source, problem.entry_point, inputs, problem.imports, self.limits, secret=True, apart=apart)


def _calls(suites: Iterable[Iterable[Case]]) -> dict[str, None]:
    """The distinct calls of all cases, in order."""
    return dict.fromkeys(call for cases in suites for case in cases for call in case.calls)


def _turned(job: Job, task: Task) -> Task:
    """The task with the inputs of the job's cases alone, the last one first."""
    return replace(task, inputs=tuple(dict.fromkeys(call for case in job.cases for call in case.calls))[::-1])


def _why(executions: Iterable[Execution]) -> str:
    """Why a program does not load: the exception's class and what it said."""
    for one in executions:
        if one.status == "not_collected":
            name = one.exception[0] if one.exception else "it ended while it was loaded"
            return f"{name}: {one.detail}" if one.detail else name
    return ""


def _differ(a: Seen, b: Seen) -> bool:
    """Whether two runs tell different stories of the cases that both saw; what infrastructure took tells none."""
    return any(x != y for x, y in zip(a.verdicts, b.verdicts, strict=False) if "infra_error" not in (x, y))


def _is_sampled(task: Task, share: float) -> bool:
    """The same for the same task, in any process and any run."""
    digest = hashlib.blake2b(f"{task.entry_point}\0{task.source}".encode("utf-8", "surrogatepass"), digest_size=8)
    return bool(task.inputs) and int.from_bytes(digest.digest(), "big") < share * 2**64


def _story(execution: Execution) -> tuple[str, ...]:
    """What a run did, in a few bytes; nothing for limits and infrastructure, which may vary."""
    if execution.status in ("timeout", "infra_error"):
        return ()
    value = hashlib.blake2b(execution.value.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return (execution.status, value, *execution.exception)


def _warn(task: Task, case: int, first: Sequence[tuple[str, ...]], again: Sequence[tuple[str, ...]]) -> None:
    _log.warning(
        "a program did two things with one input (%s, then %s); input %.200s; program:\n%.2000s",
        first[case][0],
        again[case][0],
        task.inputs[case],
        task.source,
    )
