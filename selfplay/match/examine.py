"""Examine: from groups of conversations to matches.

Programs and tests are read from text, the reference settles which cases are admitted, and one matrix per problem says what
every program does on every case. All problems of a step share two calls of the box: the reference on what was written, then
programs and targets on what counts. Cases that were refused run apart from all that count: one out of the domain may spoil
what a right program remembers. Nothing here pays anybody: rewards are computed from what this module returns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from selfplay.cases.case import Case
from selfplay.game.episode import Conversation, Group
from selfplay.game.extract import Code
from selfplay.game.phases import Step
from selfplay.game.problems import Problem
from selfplay.judging.judge import Job, Judge, Matrix
from selfplay.judging.references import subject_of
from selfplay.judging.turns import Suite as WrittenSuite
from selfplay.judging.turns import WrittenTurn
from selfplay.match.match import Chain, Match, Suite, Target
from selfplay.mutation.cache import MutantCache
from selfplay.mutation.operators import Family

FAMILIES: tuple[Family, ...] = ("paid", "kept")


@dataclass(frozen=True, slots=True)
class Submission:
    """What one problem brings to the exam: conversations, and the targets that its cases are held against.

    `reads` numbers each suite's chain, -1 for `outside`.
    """

    problem: Problem
    chains: Sequence[Conversation]
    suites: Sequence[Conversation]
    reads: Sequence[int]
    targets: tuple[Target, ...] = ()
    outside: Chain | None = None


def examine(
    groups: Sequence[Group],
    step: Step,
    judge: Judge,
    asked: int,
    cache: MutantCache | None = None,
) -> list[Match]:
    """Judge every group of a step; with a `cache`, the mutants of each reference are targets as well."""
    mutants = cache.mutants([group.problem for group in groups], judge) if cache else [()] * len(groups)
    submissions = [
        Submission(
            each.problem,
            each.chains,
            each.suites,
            each.reads,
            tuple(Target("paid", source) for source in wrong),
        )
        for each, wrong in zip(groups, mutants, strict=True)
    ]
    return judge_submissions(submissions, step, judge, asked)


def judge_submissions(submissions: Sequence[Submission], step: Step, judge: Judge, asked: int) -> list[Match]:
    """One match per submission, without rewards."""
    codes = [
        [judge.desk.code(submission.problem, chain.turns[-1].text) for chain in submission.chains]
        for submission in submissions
    ]
    # Where a problem has no reference, its programs say which assertions a test makes.
    written = judge.settle(
        [
            (submission.problem, _read(submission, judge), [code.source for code in own if code.source])
            for submission, own in zip(submissions, codes, strict=True)
        ]
    )
    matches = [
        _unjudged(submission, suites, own, step, judge, asked)
        for submission, suites, own in zip(submissions, written, codes, strict=True)
    ]
    programs = [
        _job(match, [chain.code.source or "" for chain in (*match.chains, match.outside) if chain], everything=True)
        for match in matches
    ]
    targets = [_job(match, [target.source for target in match.targets]) for match in matches]
    matrices = judge.matrices([*programs, *targets])
    return [
        _with_verdicts(match, own, wrong)
        for match, own, wrong in zip(matches, matrices[: len(matches)], matrices[len(matches) :], strict=True)
    ]


def _read(submission: Submission, judge: Judge) -> list[WrittenSuite]:
    return [
        judge.desk.suite(submission.problem, [(turn.stage, turn.text) for turn in suite.turns])
        for suite in submission.suites
    ]


def _unjudged(
    submission: Submission,
    written: Sequence[tuple[WrittenTurn, ...]],
    codes: Sequence[Code],
    step: Step,
    judge: Judge,
    asked: int,
) -> Match:
    """A match before any program has run."""
    problem = submission.problem
    suites = tuple(
        Suite(conversation, reads, turns, advantages=(None,) * len(turns))
        for conversation, reads, turns in zip(submission.suites, submission.reads, written, strict=True)
    )
    chains = tuple(
        Chain(chain, code, advantages=(None,) * len(chain.turns))
        for chain, code in zip(submission.chains, codes, strict=True)
    )
    baseline = judge.own_cases(problem)
    admitted = (case for suite in suites for case in suite.admitted)
    cases: dict[object, Case] = {}
    for case in (*baseline, *admitted, *(case for suite in suites for case in suite.cases)):
        cases.setdefault(case.identity, case)
    suites = tuple(replace(suite, turns=tuple(_named(turn, cases) for turn in suite.turns)) for suite in suites)
    return Match(
        replace(problem, hidden_tests=()),
        step,
        asked,
        chains,
        suites,
        tuple(cases.values()),
        len({case.identity for case in baseline}),
        targets=submission.targets,
        outside=submission.outside,
    )


def _named(turn: WrittenTurn, cases: Mapping[object, Case]) -> WrittenTurn:
    """The turn, of whose cases each is the one of the match that is the same, under its own name."""
    own = (replace(cases[case.identity], name=case.name, source=case.source) for case in turn.cases)
    return replace(turn, cases=tuple(own))


def _job(match: Match, sources: Sequence[str], everything: bool = False) -> Job:
    """What programs face: what counts; with `everything` the rest after it. The problem's own cases are owner 0, a suite's its
    number and one."""
    counting = match.counting
    after = match.cases[len(counting) :] if everything else ()
    owners: dict[object, list[int]] = {}
    for owner, cases in enumerate((match.baseline, *(suite.admitted for suite in match.suites))):
        for case in cases:
            owners.setdefault(case.identity, []).append(owner)
    asked = tuple(tuple(owners[case.identity]) for case in counting)
    secret = tuple(target.source for target in match.targets if target.origin in ("paid", "kept"))
    problem = match.problem
    subject = subject_of(problem)
    return Job(problem.entry_point, tuple(sources), counting, problem.imports, secret, after, asked, subject)


def _with_verdicts(match: Match, own: Matrix, wrong: Matrix) -> Match:
    rest = (None,) * (len(match.cases) - len(match.counting))
    targets = tuple(
        replace(target, verdicts=(*row, *rest)) for target, row in zip(match.targets, wrong.verdicts, strict=True)
    )
    rows, outside = own.verdicts[: len(match.chains)], own.verdicts[len(match.chains) :]
    return replace(match, programs=rows, targets=targets, outside_verdicts=outside[0] if outside else ())


def mutant_targets(problems: Sequence[Problem], judge: Judge, cache: MutantCache) -> list[tuple[Target, ...]]:
    """For each problem the mutants of its reference as targets, family by family."""
    mutants = [cache.mutants(problems, judge, family) for family in FAMILIES]
    return [
        tuple(Target(family, source) for family, sources in zip(FAMILIES, own, strict=True) for source in sources)
        for own in zip(*mutants, strict=True)
    ]
