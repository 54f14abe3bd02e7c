"""The exam: groups of conversations in, programs, cases and verdicts out.

Programs and tests are read from text, the reference settles which cases are admitted, and one matrix per problem says
what every program does on every case. All problems of a step share two calls of the box: the reference on what was
written, then programs and mutants on what can be called. Nothing here pays anybody: rewards are computed from what this
module returns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from selfplay.game.episode import Conversation, Group
from selfplay.game.extract import Code, Tests, extract_code, extract_tests
from selfplay.game.problems import Problem
from selfplay.judging.admission import Admission, identity, screen
from selfplay.judging.cases import Case, Refusal, Verdict
from selfplay.judging.judge import Job, Judge
from selfplay.judging.reading import Reading, problem_cases, read_cases, read_stdin_cases
from selfplay.judging.targets import MutantBank


@dataclass(frozen=True, slots=True)
class WrittenTurn:
    """One discriminator's turn, read. `cases` are the well-formed ones in order, `valid` the admitted among them.

    `written` counts every case of the turn, unreadable ones included; `refused` says why the others do not count.
    """

    stage: int
    cases: tuple[Case, ...]
    valid: tuple[bool, ...]
    refused: tuple[Refusal, ...]
    written: int
    critique: str = ""
    salvaged: int = 0


Target = Mapping[tuple[object, ...], Verdict]  # what a program does, by case key


@dataclass(frozen=True, slots=True)
class Examined:
    """One group, judged. Verdicts are looked up by case key; `targets` are wrong programs and mutants, as verdicts."""

    group: Group
    programs: tuple[Code, ...]
    suites: tuple[tuple[WrittenTurn, ...], ...]
    baseline: tuple[Case, ...]
    verdicts: tuple[Target, ...]  # by program, then by case key
    mutants: tuple[Target, ...]

    @property
    def admitted(self) -> tuple[Case, ...]:
        """The union of the group's admitted cases, in order of appearance."""
        valid = {case.key: case for suite in self.suites for case in admitted_of(suite)}
        return tuple(valid.values())

    def on(self, program: int, cases: Sequence[Case]) -> tuple[Verdict, ...]:
        """What one program does on some cases."""
        return tuple(self.verdicts[program][case.key] for case in cases)


def admitted_of(suite: Sequence[WrittenTurn]) -> list[Case]:
    """The valid cases of a suite, each once, in order of appearance."""
    valid = {case.key: case for turn in suite for case, ok in zip(turn.cases, turn.valid, strict=True) if ok}
    return list(valid.values())


Suite = tuple[WrittenTurn, ...]


def examine(groups: Sequence[Group], judge: Judge, bank: MutantBank | None = None) -> list[Examined]:
    """Judge every group of a step; with a `bank`, the mutants of each reference are targets as well."""
    suites = read_suites([(group.problem, group.suites) for group in groups], judge)
    programs = [tuple(extract_code(chain.turns[-1].text, group.problem) for chain in group.chains) for group in groups]
    baselines = [problem_cases(group.problem, "baseline").cases for group in groups]
    mutants = bank.mutants([group.problem for group in groups], judge) if bank else [()] * len(groups)
    jobs: list[Job] = []
    for group, own, written, baseline, wrong in zip(groups, programs, suites, baselines, mutants, strict=True):
        cases = {
            case.key: case for case in (*baseline, *(c for suite in written for turn in suite for c in turn.cases))
        }
        sources = (*(code.source or "" for code in own), *wrong)
        jobs.append(Job(group.problem.entry_point, sources, tuple(cases.values()), group.problem.imports, wrong))
    return [
        _examined(group, own, written, baseline, job, matrix.verdicts)
        for group, own, written, baseline, job, matrix in zip(
            groups, programs, suites, baselines, jobs, judge.matrices(jobs), strict=True
        )
    ]


def _examined(
    group: Group,
    programs: tuple[Code, ...],
    suites: tuple[Suite, ...],
    baseline: tuple[Case, ...],
    job: Job,
    verdicts: Sequence[Sequence[Verdict]],
) -> Examined:
    rows: tuple[Target, ...] = tuple({case.key: v for case, v in zip(job.cases, row, strict=True)} for row in verdicts)
    return Examined(group, programs, suites, baseline, rows[: len(programs)], rows[len(programs) :])


def read_suites(written: Sequence[tuple[Problem, Sequence[Conversation]]], judge: Judge) -> list[tuple[Suite, ...]]:
    """Read and admit the suites of many problems, the references run in one call of the box."""
    read = [[_read_suite(problem, suite) for suite in suites] for problem, suites in written]
    cases = [tuple({c.key: c for suite in suites for turn in suite for c in turn.screened}.values()) for suites in read]
    admissions = judge.admit([(problem, own) for (problem, _), own in zip(written, cases, strict=True)])
    return [
        tuple(tuple(_settled(turn, admission) for turn in suite) for suite in suites)
        for suites, admission in zip(read, admissions, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Read:
    """One turn before the reference has spoken: what could be read, what of it passed the screen, what was refused."""

    stage: int
    tests: Tests
    reading: Reading
    screened: tuple[Case, ...]
    refused: tuple[Refusal, ...]


def _read_suite(problem: Problem, suite: Conversation) -> list[_Read]:
    """A case that the suite held earlier is a duplicate."""
    turns: list[_Read] = []
    already: list[object] = []
    for turn in suite.turns:
        tests = extract_tests(turn.text, problem)
        if problem.kind == "stdio":
            reading = read_stdin_cases(tests.stdin, problem.tolerance)
        else:
            reading = read_cases(tests.source, problem.entry_point, problem.signature)
        screened, refused = screen(problem, reading, already)
        already += [identity(case) for case in screened]
        turns.append(_Read(turn.stage, tests, reading, screened, refused))
    return turns


def _settled(turn: _Read, admission: Admission) -> WrittenTurn:
    """The turn with the reference's word on each of its cases."""
    admitted = {case.key for case in admission.admitted}
    failing = {refusal.source: refusal for refusal in admission.refused}
    screened = {id(case) for case in turn.screened}
    late = tuple(failing[case.source] for case in turn.screened if case.key not in admitted and case.source in failing)
    return WrittenTurn(
        turn.stage,
        turn.reading.cases,
        tuple(id(case) in screened and case.key in admitted for case in turn.reading.cases),
        (*turn.refused, *late),
        turn.reading.written + turn.tests.dropped,
        turn.tests.critique,
        turn.tests.salvaged,
    )
