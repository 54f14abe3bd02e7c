"""Evaluation: both roles on held-out problems, against an opponent that never changes.

Code is measured on hidden cases: correct at temperature 1, greedily, and in at least one of four samples. Tests are measured
on one suite per problem that reads a **recorded** chain of the untrained player, so that kills do not fall merely because
the opponent improves: validity, mutation score (on the operators that training pays, and on those kept from it), kills
among the recorded wrong programs, distinctness. Every evaluation of a run uses the same random numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain as flatten

from selfplay.game.episode import Conversation
from selfplay.game.extract import extract_code
from selfplay.game.players import Player
from selfplay.game.problems import Problem
from selfplay.game.prompts import Prompts
from selfplay.game.rollout import Seat, Table, converse
from selfplay.judging.cases import Case, Verdict
from selfplay.judging.exam import Suite, admitted_of, read_suites
from selfplay.judging.judge import Job, Judge
from selfplay.judging.reading import problem_cases
from selfplay.judging.targets import MutantBank
from selfplay.learning.intervals import (
    Columns,
    Estimate,
    distinct_change,
    distinct_share,
    pass_at_k,
    ratio,
    ratio_change,
)

EVALUATION = -1  # the step number that keys an evaluation's random numbers
OPPONENT = -2
KEPT = ("paid", "kept")


@dataclass(frozen=True, slots=True)
class Opponent:
    """What the untrained player did on each problem: the chain that suites read, and its distinct wrong programs."""

    chains: Mapping[str, Conversation]
    wrong: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Measured:
    """One problem's results. `kills` maps `fixed`, `paid` and `kept` to (killed, targets)."""

    problem: str
    correct: tuple[bool, ...] = ()
    greedy: bool = False
    written: int = 0
    valid: int = 0
    cases: tuple[tuple[object, ...], ...] = ()
    kills: Mapping[str, tuple[int, int]] | None = None


@dataclass(frozen=True, slots=True)
class Evaluator:
    """Everything an evaluation needs besides the player. `stages` are those that an episode plays."""

    judge: Judge
    prompts: Prompts
    bank: MutantBank
    table: Table
    stages: tuple[int, ...]
    samples: int = 4

    def record_opponent(self, player: Player, problems: Sequence[Problem]) -> Opponent:
        """Play the chains, and keep the wrong programs, that every later evaluation is held against."""
        chains = self.chains(player, problems, self.samples, OPPONENT, 1.0)
        passed = self.passed(problems, chains)
        wrong = {
            problem.id: tuple(
                sorted({program for program, right in _programs(problem, own, marks) if program and not right})
            )
            for problem, own, marks in zip(problems, chains, passed, strict=True)
        }
        return Opponent({problem.id: own[0] for problem, own in zip(problems, chains, strict=True)}, wrong)

    def measure(self, player: Player, problems: Sequence[Problem], opponent: Opponent) -> list[Measured]:
        sampled = self.chains(player, problems, self.samples, EVALUATION, 1.0)
        greedy = self.chains(player, problems, 1, EVALUATION, 0.0)
        correct, best = self.passed(problems, sampled), self.passed(problems, greedy)
        tests = self._tests(player, problems, opponent)
        return [
            replace(test, correct=tuple(right), greedy=first[0])
            for test, right, first in zip(tests, correct, best, strict=True)
        ]

    def chains(
        self, player: Player, problems: Sequence[Problem], count: int, step: int, temperature: float
    ) -> list[list[Conversation]]:
        seats = [Seat(step, problem, Conversation("generator"), i) for problem in problems for i in range(count)]
        sampling = replace(self.table.generator, temperature=temperature)
        played = converse(player, self.prompts, seats, self.stages, sampling)
        return [played[i * count : (i + 1) * count] for i in range(len(problems))]

    def passed(self, problems: Sequence[Problem], chains: Sequence[Sequence[Conversation]]) -> list[list[bool]]:
        """Whether each chain's program passes every baseline and hidden case."""
        jobs = []
        for problem, own in zip(problems, chains, strict=True):
            cases = (*problem_cases(problem, "baseline").cases, *problem_cases(problem, "hidden").cases)
            programs = tuple(extract_code(c.turns[-1].text, problem).source or "" for c in own)
            jobs.append(Job(problem.entry_point, programs, cases, problem.imports))
        return [
            [bool(verdicts) and all(v == "passed" for v in verdicts) for verdicts in matrix.verdicts]
            for matrix in self.judge.matrices(jobs)
        ]

    def _tests(self, player: Player, problems: Sequence[Problem], opponent: Opponent) -> list[Measured]:
        seats = [
            Seat(EVALUATION, problem, Conversation("discriminator"), 0, opponent.chains[problem.id])
            for problem in problems
        ]
        suites = converse(player, self.prompts, seats, self.stages, self.table.discriminator)
        read = [
            own[0] for own in read_suites([(p, [suite]) for p, suite in zip(problems, suites, strict=True)], self.judge)
        ]
        mutants = {family: self.bank.mutants(problems, self.judge, family) for family in KEPT}
        targets = [
            {"fixed": opponent.wrong[problem.id]} | {family: mutants[family][i] for family in KEPT}
            for i, problem in enumerate(problems)
        ]
        valid = [tuple(admitted_of(suite)) for suite in read]
        jobs = [
            Job(problem.entry_point, tuple(flatten.from_iterable(kinds.values())), cases, problem.imports, _made(kinds))
            for problem, kinds, cases in zip(problems, targets, valid, strict=True)
        ]
        return [
            _measured(problem, suite, cases, kinds, matrix.verdicts)
            for problem, suite, cases, kinds, matrix in zip(
                problems, read, valid, targets, self.judge.matrices(jobs), strict=True
            )
        ]


def _made(kinds: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The mutants among the targets: they are made from the reference."""
    return tuple(flatten.from_iterable(kinds[family] for family in KEPT))


def _programs(problem: Problem, chains: Sequence[Conversation], marks: Sequence[bool]) -> list[tuple[str | None, bool]]:
    return [(extract_code(c.turns[-1].text, problem).source, right) for c, right in zip(chains, marks, strict=True)]


def _measured(
    problem: Problem,
    suite: Suite,
    cases: Sequence[Case],
    kinds: Mapping[str, tuple[str, ...]],
    verdicts: Sequence[Sequence[Verdict]],
) -> Measured:
    rows = iter(verdicts)
    killed = {
        kind: [any(v not in ("passed", "infra_error") for v in next(rows)) for _ in own] for kind, own in kinds.items()
    }
    return Measured(
        problem=problem.id,
        written=sum(turn.written for turn in suite),
        valid=sum(sum(turn.valid) for turn in suite),
        cases=tuple(case.key for turn in suite for case in turn.cases),
        kills={kind: (sum(own), len(own)) for kind, own in killed.items()},
    )


def figures(measured: Sequence[Measured]) -> dict[str, Estimate]:
    """The figures of an evaluation over problems, each with its 95 % interval."""
    shares = {name: ratio(*columns) for name, columns in _columns(measured).items()}
    return shares | {"distinct_all": distinct_share([m.cases for m in measured])}


def changes(before: Sequence[Measured], after: Sequence[Measured]) -> dict[str, Estimate]:
    """What became of each figure, with 95 % intervals of the paired differences; both of the same problems in order."""
    then, now = _columns(before), _columns(after)
    shares = {name: ratio_change(then[name], now[name]) for name in now}
    return shares | {"distinct_all": distinct_change([m.cases for m in before], [m.cases for m in after])}


def _columns(measured: Sequence[Measured]) -> dict[str, Columns]:
    """Per figure what is a share of what, one pair per problem; a mean over problems is a share of ones."""
    once, written = [1.0] * len(measured), [m.written for m in measured]
    columns: dict[str, Columns] = {
        "code_correct": ([sum(m.correct) / max(len(m.correct), 1) for m in measured], once),
        "code_greedy": ([float(m.greedy) for m in measured], once),
        "pass_at_4": ([pass_at_k(sum(m.correct), len(m.correct), 4) for m in measured], once),
        "test_validity": ([m.valid for m in measured], written),
    }
    for name, kind in (("mutation_score", "paid"), ("mutation_score_kept", "kept"), ("fixed_kills", "fixed")):
        killed = [m.kills[kind] if m.kills else (0, 0) for m in measured]
        columns[name] = ([kills for kills, _ in killed], [targets for _, targets in killed])
    return columns | {"distinct": ([len(set(m.cases)) for m in measured], written)}
