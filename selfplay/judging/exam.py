"""The exam: groups of conversations in, programs, cases and verdicts out.

Programs and tests are read from text, the reference settles which cases are admitted, and one matrix per problem says
what every program does on every case. All problems of a step share two calls of the box: the reference on what was
written, then programs and mutants on what counts. Cases that were refused come after all that count: one out of the domain may
spoil what a right program remembers. Nothing here pays anybody: rewards are computed from what this module returns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from selfplay.game.episode import Conversation, Group
from selfplay.game.extract import Code
from selfplay.game.problems import Problem
from selfplay.judging.cases import Case, Verdict
from selfplay.judging.judge import Job, Judge, Matrix
from selfplay.judging.reading import problem_cases
from selfplay.judging.targets import MutantBank
from selfplay.judging.turns import Suite, WrittenTurn, screened_of, settled

__all__ = ["Examined", "Suite", "Target", "WrittenTurn", "admitted_of", "examine", "read_suites"]

Target = Mapping[tuple[object, ...], Verdict]  # what a program does, by case key; only cases that it ran


@dataclass(frozen=True, slots=True)
class Examined:
    """One group, judged. Verdicts are looked up by case key; `mutants` are wrong programs of the reference, as verdicts."""

    group: Group
    programs: tuple[Code, ...]
    suites: tuple[Suite, ...]
    baseline: tuple[Case, ...]
    verdicts: tuple[Target, ...]  # by program, then by case key
    mutants: tuple[Target, ...]

    @property
    def admitted(self) -> tuple[Case, ...]:
        """The union of the group's admitted cases, in order of appearance."""
        valid = {case.key: case for suite in self.suites for case in admitted_of(suite)}
        return tuple(valid.values())

    @property
    def refused(self) -> tuple[Case, ...]:
        """Well-formed cases that are neither the problem's own nor admitted in any suite, in order of appearance."""
        counting = {case.key for case in (*self.baseline, *self.admitted)}
        written = {case.key: case for suite in self.suites for turn in suite for case in turn.cases}
        return tuple(case for key, case in written.items() if key not in counting)

    def on(self, program: int, cases: Sequence[Case]) -> tuple[Verdict, ...]:
        """What one program does on those of the cases that it ran."""
        row = self.verdicts[program]
        return tuple(row[case.key] for case in cases if case.key in row)


def admitted_of(suite: Suite) -> list[Case]:
    """The valid cases of a suite, each once, in order of appearance."""
    return list({case.key: case for turn in suite for case in turn.admitted}.values())


def examine(groups: Sequence[Group], judge: Judge, bank: MutantBank | None = None) -> list[Examined]:
    """Judge every group of a step; with a `bank`, the mutants of each reference are targets as well."""
    suites = read_suites([(group.problem, group.suites) for group in groups], judge)
    mutants = bank.mutants([group.problem for group in groups], judge) if bank else [()] * len(groups)
    read = [_read(group, own, judge) for group, own in zip(groups, suites, strict=True)]
    programs = [_job(each, tuple(code.source or "" for code in each.programs), each.refused) for each in read]
    targets = [replace(_job(each, wrong), secret=wrong) for each, wrong in zip(read, mutants, strict=True)]
    matrices = judge.matrices([*programs, *targets])
    return [
        replace(each, verdicts=_by_key(job, own), mutants=_by_key(wrong, killed))
        for each, job, own, wrong, killed in zip(
            read, programs, matrices[: len(read)], targets, matrices[len(read) :], strict=True
        )
    ]


def _read(group: Group, suites: tuple[Suite, ...], judge: Judge) -> Examined:
    """A group before any of its programs has run."""
    programs = tuple(judge.desk.code(group.problem, chain.turns[-1].text) for chain in group.chains)
    return Examined(group, programs, suites, problem_cases(group.problem, "baseline").cases, (), ())


def _job(examined: Examined, sources: tuple[str, ...], after: tuple[Case, ...] = ()) -> Job:
    problem = examined.group.problem
    cases = {case.key: case for case in (*examined.baseline, *examined.admitted)}
    return Job(problem.entry_point, sources, tuple(cases.values()), problem.imports, after=after)


def _by_key(job: Job, matrix: Matrix) -> tuple[Target, ...]:
    keys = [case.key for case in (*job.cases, *job.after)]
    return tuple(dict(zip(keys, row, strict=True)) for row in matrix.verdicts)


def read_suites(written: Sequence[tuple[Problem, Sequence[Conversation]]], judge: Judge) -> list[tuple[Suite, ...]]:
    """Read and admit the suites of many problems, the references run in one call of the box."""
    read = [
        [judge.desk.suite(problem, [(turn.stage, turn.text) for turn in suite.turns]) for suite in suites]
        for problem, suites in written
    ]
    asked = [
        (problem, [screened_of(suite) for suite in suites]) for (problem, _), suites in zip(written, read, strict=True)
    ]
    return [
        tuple(settled(suite, admission.refusals) for suite, admission in zip(suites, own, strict=True))
        for suites, own in zip(read, judge.admit(asked), strict=True)
    ]
