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
from selfplay.game.players import Player
from selfplay.game.problems import Problem
from selfplay.game.prompts import Prompts
from selfplay.game.rollout import Seat, Table, converse
from selfplay.judging.cases import Case, Verdict
from selfplay.judging.exam import Suite, admitted_of, read_suites
from selfplay.judging.judge import Job, Judge
from selfplay.judging.reading import problem_cases
from selfplay.judging.targets import MutantBank
from selfplay.learning.intervals import Estimate, distinct_share, mean, pass_at_k, ratio

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
        programs = self.programs(problems, chains)
        passed = self.passed(problems, programs)
        wrong = {
            problem.id: tuple(
                sorted({source for source, right in zip(own, marks, strict=True) if source and not right})
            )
            for problem, own, marks in zip(problems, programs, passed, strict=True)
        }
        return Opponent({problem.id: own[0] for problem, own in zip(problems, chains, strict=True)}, wrong)

    def measure(self, player: Player, problems: Sequence[Problem], opponent: Opponent) -> list[Measured]:
        sampled = self.chains(player, problems, self.samples, EVALUATION, 1.0)
        greedy = self.chains(player, problems, 1, EVALUATION, 0.0)
        correct, best = (self.passed(problems, self.programs(problems, chains)) for chains in (sampled, greedy))
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

    def programs(self, problems: Sequence[Problem], chains: Sequence[Sequence[Conversation]]) -> list[tuple[str, ...]]:
        """Each chain's program, "" where it holds none."""
        return [
            tuple(self.judge.desk.code(problem, chain.turns[-1].text).source or "" for chain in own)
            for problem, own in zip(problems, chains, strict=True)
        ]

    def passed(self, problems: Sequence[Problem], programs: Sequence[tuple[str, ...]]) -> list[list[bool]]:
        """Whether each program passes every baseline and hidden case."""
        jobs = []
        for problem, own in zip(problems, programs, strict=True):
            cases = (*problem_cases(problem, "baseline").cases, *problem_cases(problem, "hidden").cases)
            jobs.append(Job(problem.entry_point, own, cases, problem.imports))
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

    def kills(kind: str) -> Estimate:
        pairs = [m.kills[kind] for m in measured if m.kills]
        return ratio([killed for killed, _ in pairs], [count for _, count in pairs])

    written = [m.written for m in measured]
    return {
        "code_correct": mean([sum(m.correct) / max(len(m.correct), 1) for m in measured]),
        "code_greedy": mean([float(m.greedy) for m in measured]),
        "pass_at_4": mean([pass_at_k(sum(m.correct), len(m.correct), 4) for m in measured]),
        "test_validity": ratio([m.valid for m in measured], written),
        "mutation_score": kills("paid"),
        "mutation_score_kept": kills("kept"),
        "fixed_kills": kills("fixed"),
        "distinct": ratio([len(set(m.cases)) for m in measured], written),
        "distinct_all": distinct_share([m.cases for m in measured]),
    }
