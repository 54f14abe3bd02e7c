"""The judge: programs and cases in, a matrix of verdicts out.

Per job, every distinct program runs once over every distinct input of the literal cases; all jobs of a call go to the box
together. Expected values stay here: the box gets sources and arguments. What comes back is compared as data, by the clerk
unless it is the very text that is expected, program by program as they end. Each answer is dropped once it is
compared. Cases that are sites of a text are judged by running it (texts.py), text by text.

A box that fails is asked once more; what fails twice stays `infra_error`, which no reward counts. A program that may keep
something between its calls is called in reversed order as well; where that changes a verdict, each owner's cases run in a
process of their own, in both orders, a case passes only where it passes in both, and the program counts in
`order_dependent`. A small, fixed share of the programs is run again to see whether verdicts can be trusted to
repeat; a disagreement is logged.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from selfplay.box.task import Box, Execution, Limits, Task
from selfplay.cases.case import Case, Verdict
from selfplay.cases.check import is_same_text
from selfplay.cases.literal import did, wanted
from selfplay.cases.read import problem_cases
from selfplay.game.problems import Problem
from selfplay.judging.actors import Subject
from selfplay.judging.admission import ALL
from selfplay.judging.clerk import Desk, shared_desk
from selfplay.judging.references import Asked, References, sites
from selfplay.judging.script import Shown
from selfplay.judging.state import is_plain, story, turned
from selfplay.judging.texts import Texts
from selfplay.judging.turns import MAX_CASES, Suite
from selfplay.printing import printable

_log = logging.getLogger(__name__)

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
    `after`: cases that do not count, run in a process of their own, so that they cannot touch the others.
    `owners`: for each of `cases` who asks for it, a suite's number say, each with totals of its own (accounts.py). Empty:
    one owner asks for all. `subject`: what is under test, for cases that are sites of a text.
    """

    entry_point: str
    programs: tuple[str, ...]
    cases: tuple[Case, ...]
    imports: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()
    after: tuple[Case, ...] = ()
    owners: tuple[tuple[int, ...], ...] = ()
    subject: Subject | None = None

    @property
    def literal(self) -> Job:
        """The job with its literal cases alone."""
        places = [place for place, case in enumerate(self.cases) if case.literal]
        owners = tuple(self.owners[place] for place in places) if self.owners else ()
        after = tuple(case for case in self.after if case.literal)
        return replace(self, cases=tuple(self.cases[place] for place in places), owners=owners, after=after)

    def parts(self) -> list[tuple[list[int], Job]]:
        """For each owner the places of its cases, and the job of these alone."""
        places: dict[int, list[int]] = {}
        for place in range(len(self.cases)):
            for owner in self.owners[place] if self.owners else (0,):
                places.setdefault(owner, []).append(place)
        return [
            (own, replace(self, cases=tuple(self.cases[place] for place in own), owners=())) for own in places.values()
        ]


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

    `order_dependent` counts programs whose verdicts depended on the order of their cases. `seed` draws near outcomes.
    """

    def __init__(
        self, box: Box, limits: Limits | None = None, recheck: float = 0.01, desk: Desk | None = None, seed: int = 0
    ) -> None:
        self.box = box
        self.limits = limits or Limits()
        self.recheck = recheck
        self.desk = desk or shared_desk()
        self.disagreements = 0
        self.order_dependent = 0
        self.seed = seed
        self.texts = Texts(box, self.desk, self.limits, seed)
        self._own: dict[tuple[Problem, str], tuple[Case, ...]] = {}
        self.references = References(self.run, self.desk, self.texts, self.limits, seed)

    def close(self) -> None:
        """Ends the box's processes and the clerk's; a later call starts new ones."""
        self.texts.close()
        self.box.close()
        self.desk.close()

    def matrix(
        self, entry_point: str, programs: Sequence[str], cases: Sequence[Case], imports: Sequence[str] = ()
    ) -> Matrix:
        """What each program does on each case."""
        return self.matrices([Job(entry_point, tuple(programs), tuple(cases), tuple(imports))])[0]

    def matrices(self, jobs: Sequence[Job]) -> list[Matrix]:
        """One matrix per job, from one call of the box, and further ones for what has to be run again."""
        literal = self._literal([job.literal for job in jobs])
        return [self._with_texts(job, own) for job, own in zip(jobs, literal, strict=True)]

    def _with_texts(self, job: Job, literal: Matrix) -> Matrix:
        """The matrix of all cases, the sites of texts among them."""
        cases = (*job.cases, *job.after)
        if all(case.literal for case in cases):
            return literal
        subject = job.subject or Subject(job.entry_point, None, job.imports)
        texts = list(dict.fromkeys(case.text for case in cases if not case.literal))
        rows, why = [], list(literal.why)
        for number, source in enumerate(job.programs):
            secret = source in job.secret
            told = {text: self.texts.verdicts(subject, text, source, why[number], secret) for text in texts}
            why[number] = why[number] or next((own.why for own in told.values() if own.why), "")
            own = iter(literal.verdicts[number])
            rows.append(tuple(next(own) if case.literal else told[case.text].of(case.expected) for case in cases))
        return Matrix(tuple(rows), tuple(why))

    def _literal(self, jobs: Sequence[Job]) -> list[Matrix]:
        counting = [replace(job, after=()) for job in jobs]
        rest = [replace(job, cases=job.after, owners=(), programs=job.programs if job.after else ()) for job in jobs]
        parts = [*counting, *rest]
        rows = [self._tasks(job) for job in parts]
        sittings = list(dict.fromkeys((number, task) for number, tasks in enumerate(rows) for task in tasks))
        found = self._judged(parts, sittings)
        self._look_at_order(counting, [sitting for sitting in sittings if sitting[0] < len(jobs)], found)
        self._look_again(sittings)
        seen = [[found[number, task] for task in tasks] for number, tasks in enumerate(rows)]
        return [_matrix(own, after) for own, after in zip(seen[: len(jobs)], seen[len(jobs) :], strict=True)]

    def _tasks(self, job: Job) -> list[Task]:
        asked: dict[str, dict[int, None]] = {}
        for place, case in enumerate(job.cases):
            asked.setdefault(case.arguments, {}).update(dict.fromkeys(job.owners[place] if job.owners else ()))
        owners = tuple(map(tuple, asked.values())) if job.owners else ()
        secret = frozenset(job.secret)
        return [
            Task(source, job.entry_point, tuple(asked), job.imports, self.limits, source in secret, owners)
            for source in job.programs
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
                rows = self.desk.verdicts(jobs[number].cases, [(task.source, ran) for task, ran in own])
                for (task, ran), (row, keeps) in zip(own, rows, strict=True):
                    found[number, task] = Seen(row, _why(ran.values()), keeps)
            waiting.clear()

        for index, executions in self.stream(tasks):
            task, ran = tasks[index], dict(zip(tasks[index].inputs, executions, strict=True))
            for number in faced[task]:
                cases = jobs[number].cases
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
        self,
        entry_point: str,
        program: str,
        cases: Sequence[Case],
        imports: Sequence[str] = (),
        subject: Subject | None = None,
    ) -> list[Shown]:
        """What one program did on each case, and what the case expects, as text for people. The program runs for this."""
        job = Job(entry_point, (program,), tuple(cases), tuple(imports))
        [task] = self._tasks(job.literal)
        ran = dict(zip(task.inputs, self.run([task])[0], strict=True))
        by_text = {case.text: [one for one in cases if one.text == case.text] for case in cases if not case.literal}
        run = {
            case: shown
            for text, own in by_text.items()
            for case, shown in zip(
                own, self.texts.shown(subject or Subject(entry_point), text, own, program), strict=True
            )
        }
        return [
            Shown(did(ran[case.arguments], not entry_point), wanted(case)) if case.literal else run[case]
            for case in cases
        ]

    # ---- can verdicts be trusted to repeat? ----

    def _look_at_order(self, jobs: Sequence[Job], sittings: Sequence[Sitting], found: dict[Sitting, Seen]) -> None:
        """Calls programs that may keep state in reversed order; one that then differs runs each owner's cases alone, in
        both orders; a case passes only if it passed in each of these runs."""
        suspects = [own for own in sittings if found[own].keeps_state and own[1].entry_point and len(own[1].inputs) > 1]
        back = self._judged(jobs, [(number, turned(task)) for number, task in suspects])
        differing = [own for own in suspects if _differ(found[own], back[own[0], turned(own[1])])]
        parts = [(own, places, part) for own in differing for places, part in jobs[own[0]].parts()]
        alone = [replace(part, programs=(own[1].source,)) for own, _, part in parts]
        tasks = [task for job in alone for task in self._tasks(job)]
        there = self._judged(alone, list(enumerate(tasks)))
        back = self._judged(alone, list(enumerate(map(turned, tasks))))
        rows: dict[Sitting, list[Verdict]] = {own: ["passed"] * len(found[own].verdicts) for own in differing}
        for number, (own, places, _) in enumerate(parts):
            runs = there[number, tasks[number]].verdicts, back[number, turned(tasks[number])].verdicts
            for row in runs:
                for place, verdict in zip(places, row, strict=True):
                    rows[own][place] = verdict if rows[own][place] == "passed" else rows[own][place]
        found.update((own, found[own]._replace(verdicts=tuple(row))) for own, row in rows.items())
        self.order_dependent += len(differing)

    def _look_again(self, sittings: Sequence[Sitting]) -> None:
        """Runs a sample of the tasks twice more: the same program must do the same thing."""
        sample = [task for task in dict.fromkeys(task for _, task in sittings) if _is_sampled(task, self.recheck)]
        if not sample:
            return
        first = [tuple(map(story, row)) for row in self.run(sample)]
        for task, before, row in zip(sample, first, self.run(sample), strict=True):
            after = tuple(map(story, row))
            differing = [case for case, (a, b) in enumerate(zip(before, after, strict=True)) if a and b and a != b]
            if differing:
                self.disagreements += 1
                _warn(task, differing[0], before, after)

    # ---- admission ----

    def own_cases(self, problem: Problem, which: Literal["baseline", "hidden"] = "baseline") -> tuple[Case, ...]:
        """The problem's own tests as cases; those that are no literals take a run of its reference."""
        key = problem, which
        if key not in self._own:
            reading = problem_cases(problem, which)
            sure = problem.reference_solution is not None
            literal = [replace(case, mark=ALL) if sure and is_exact(case) else case for case in reading.cases]
            run = sites(self.texts, problem, reading.rest, (), trust=True) if reading.rest else []
            kept = (case for case, refusal in run if refusal is None or refusal.reason == "reference")
            self._own[key] = (*literal, *kept)  # one that the reference fails shows it to who checks references
        return self._own[key]

    def settle(self, asked: Sequence[Asked], trust: bool = False, limit: int = MAX_CASES) -> list[list[Suite]]:
        """Suites that were read and screened, with the reference's word on each case (references.py)."""
        return self.references.settle(asked, trust, limit)


def is_exact(case: Case) -> bool:
    """Whether nothing but one result passes a case."""
    return case.operator in ("==", "stdout") and not any(case.tolerance)


def _matrix(own: Sequence[Seen], after: Sequence[Seen]) -> Matrix:
    """The rows of a job's cases, and behind them those of the cases that do not count."""
    rest = after or [Seen((), "", False)] * len(own)
    rows = [(one.verdicts + other.verdicts, one.why or other.why) for one, other in zip(own, rest, strict=True)]
    return Matrix(tuple(verdicts for verdicts, _ in rows), tuple(why for _, why in rows))


def _why(executions: Iterable[Execution]) -> str:
    """Why a program does not load: the exception's class and what it said."""
    for one in executions:
        if one.status == "not_collected":
            name = one.exception[0] if one.exception else "it ended while it was loaded"
            return f"{name}: {one.detail}" if one.detail else name
    return ""


def _differ(a: Seen, b: Seen) -> bool:
    """Whether two runs tell different stories of the cases; what infrastructure took tells none."""
    return any(x != y for x, y in zip(a.verdicts, b.verdicts, strict=True) if "infra_error" not in (x, y))


def _is_sampled(task: Task, share: float) -> bool:
    """The same for the same task, in any process and any run."""
    digest = hashlib.blake2b(f"{task.entry_point}\0{task.source}".encode("utf-8", "surrogatepass"), digest_size=8)
    return bool(task.inputs) and int.from_bytes(digest.digest(), "big") < share * 2**64


def _warn(task: Task, case: int, first: Sequence[tuple[str, ...]], again: Sequence[tuple[str, ...]]) -> None:
    _log.warning(
        "a program did two things with one input (%s, then %s); input %s; program:\n%s",
        first[case][0],
        again[case][0],
        printable(task.inputs[case][:200]),
        printable(task.source[:2000]),
    )
