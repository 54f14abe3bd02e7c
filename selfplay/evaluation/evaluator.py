"""Evaluation: both roles on held-out problems, against an opponent that never changes.

Code is measured on hidden cases: correct at temperature 1, greedily, and in at least one of four samples. Tests are measured
on one suite per problem that reads a **recorded** chain of the untrained player, so that kills do not fall merely because
the opponent improves: validity, mutation score (on the operators that training pays, and on those kept from it), kills
among the recorded wrong programs, distinctness. Every evaluation of a run uses the same random numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from selfplay.evaluation.intervals import (
    Columns,
    Estimate,
    distinct_change,
    distinct_share,
    pass_at_k,
    ratio,
    ratio_change,
)
from selfplay.game.episode import Conversation
from selfplay.game.phases import Step
from selfplay.game.players import Player
from selfplay.game.problems import Problem
from selfplay.game.prompts import Prompts
from selfplay.game.rollout import Seat, Table, converse
from selfplay.judging.judge import Job, Judge
from selfplay.judging.references import subject_of
from selfplay.match.examine import Submission, judged
from selfplay.match.record import KILLS, Chain, Match, Origin, Target
from selfplay.mutation.bank import MutantBank
from selfplay.mutation.operators import Family

EVALUATION = -1  # the step number that keys an evaluation's random numbers
OPPONENT = -2
FAMILIES: tuple[Family, ...] = ("paid", "kept")


@dataclass(frozen=True, slots=True)
class Opponent:
    """What the untrained player did on each problem: the chain that suites read, and its distinct wrong programs."""

    chains: Mapping[str, Chain]
    wrong: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Measured:
    """One problem's results, small enough to cross ranks. `kills` maps origins of targets to (killed, targets)."""

    problem: str
    correct: tuple[bool, ...] = ()
    greedy: bool = False
    written: int = 0
    valid: int = 0
    cases: tuple[tuple[object, ...], ...] = ()
    kills: Mapping[Origin, tuple[int, int]] | None = None


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
        played = self._chains(player, problems, self.samples, OPPONENT, 1.0)
        chains = [
            tuple(Chain(each, self.judge.desk.code(problem, each.turns[-1].text)) for each in own)
            for problem, own in zip(problems, played, strict=True)
        ]
        marked = self._marked(problems, chains)
        wrong = {
            problem.id: tuple(sorted({chain.code.source for chain in own if chain.code.source and not chain.correct}))
            for problem, own in zip(problems, marked, strict=True)
        }
        return Opponent({problem.id: own[0] for problem, own in zip(problems, marked, strict=True)}, wrong)

    def measure(self, player: Player, problems: Sequence[Problem], opponent: Opponent) -> list[Match]:
        """One match per problem: sampled chains and, last, a greedy one, and a suite that reads the opponent's chain.

        The suite's cases are held against all of these programs, the opponent's wrong ones, and all mutants. Whether a
        program passes the hidden cases too is its chain's `correct`; those cases are in no match.
        """
        sampled = self._chains(player, problems, self.samples, EVALUATION, 1.0)
        greedy = self._chains(player, problems, 1, EVALUATION, 0.0)
        seats = [
            Seat(EVALUATION, each, Conversation("discriminator"), 0, opponent.chains[each.id].conversation)
            for each in problems
        ]
        suites = converse(player, self.prompts, seats, self.stages, self.table.discriminator)
        mutants = {family: self.bank.mutants(problems, self.judge, family) for family in FAMILIES}
        submissions = [
            Submission(
                problem,
                (*sampled[number], *greedy[number]),
                (suites[number],),
                (-1,),
                (
                    *(Target("recorded", source) for source in opponent.wrong[problem.id]),
                    *(Target(family, source) for family in FAMILIES for source in mutants[family][number]),
                ),
                opponent.chains[problem.id],
            )
            for number, problem in enumerate(problems)
        ]
        step = Step(EVALUATION, self.stages[0], "both", "evaluation", played=self.stages)
        matches = judged(submissions, step, self.judge, self.prompts.cases)
        marked = self._marked(problems, [match.chains for match in matches])
        return [
            replace(match, chains=(*own[:-1], replace(own[-1], greedy=True)))
            for match, own in zip(matches, marked, strict=True)
        ]

    def _chains(
        self, player: Player, problems: Sequence[Problem], count: int, step: int, temperature: float
    ) -> list[list[Conversation]]:
        """`count` chains per problem."""
        seats = [Seat(step, problem, Conversation("generator"), i) for problem in problems for i in range(count)]
        sampling = replace(self.table.generator, temperature=temperature)
        played = list(converse(player, self.prompts, seats, self.stages, sampling))
        return [played[i * count : (i + 1) * count] for i in range(len(problems))]

    def _marked(self, problems: Sequence[Problem], rows: Sequence[Sequence[Chain]]) -> list[tuple[Chain, ...]]:
        """The chains of each problem with whether their programs pass every baseline and hidden case."""
        jobs = []
        for problem, own in zip(problems, rows, strict=True):
            cases = (*self.judge.own_cases(problem), *self.judge.own_cases(problem, "hidden"))
            sources = tuple(chain.code.source or "" for chain in own)
            subject = subject_of(problem, everything=True)
            jobs.append(Job(problem.entry_point, sources, cases, problem.imports, subject=subject))
        return [
            tuple(
                replace(chain, correct=bool(verdicts) and all(v == "passed" for v in verdicts))
                for chain, verdicts in zip(own, matrix.verdicts, strict=True)
            )
            for own, matrix in zip(rows, self.judge.matrices(jobs), strict=True)
        ]


def measured_of(match: Match) -> Measured:
    """What an evaluation's match comes to."""
    [suite] = match.suites
    killed: dict[Origin, list[bool]] = {origin: [] for origin in ("recorded", *FAMILIES)}
    for target in match.targets:
        verdicts = match.each(target.verdicts, suite.admitted)
        killed[target.origin].append(any(verdict in KILLS or verdict == "not_collected" for verdict in verdicts))
    return Measured(
        problem=match.problem.id,
        correct=tuple(bool(chain.correct) for chain in match.chains if not chain.greedy),
        greedy=any(chain.correct for chain in match.chains if chain.greedy),
        written=suite.written,
        valid=sum(sum(turn.valid) for turn in suite.turns),
        cases=tuple(case.identity for case in suite.cases),
        kills={origin: (sum(own), len(own)) for origin, own in killed.items()},
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
    origins: dict[str, Origin] = {"mutation_score": "paid", "mutation_score_kept": "kept", "fixed_kills": "recorded"}
    for name, origin in origins.items():
        killed = [m.kills[origin] if m.kills else (0, 0) for m in measured]
        columns[name] = ([kills for kills, _ in killed], [targets for _, targets in killed])
    return columns | {"distinct": ([len(set(m.cases)) for m in measured], written)}
