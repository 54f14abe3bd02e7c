"""Evaluation: both roles on held-out problems, against an opponent that never changes.

Code is measured on hidden cases: correct at temperature 1, and greedily. Tests are measured on one suite per problem that
reads a **recorded** chain of the untrained player, so that kills do not fall merely because the opponent improves: what
counts of it, and which mutants (of the operators that training pays, and of those kept from it) and recorded wrong programs
it kills. Every evaluation uses the same random numbers.

`measure` is what a run evaluates. `appearance` adds what the same turns tell without being played again: each sampled chain
is read by a suite of the player's own, which says what best-of-n by own tests is worth; the last stage is sampled again on
one chain, which says how much the program hangs on the chain.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from selfplay.cases.case import Verdict
from selfplay.errors import BadInput
from selfplay.game.episode import Conversation
from selfplay.game.problems import Problem
from selfplay.game.rollout import Seat
from selfplay.judging.judge import Job, Judge
from selfplay.judging.references import subject_of
from selfplay.match.entrant import Entrant
from selfplay.match.examine import Submission, judge_submissions, mutant_targets
from selfplay.match.match import Chain, Match, Target
from selfplay.mutation.cache import MutantCache

EVALUATION = -1  # the step number that keys an evaluation's random numbers
OPPONENT = -2
RESAMPLES = 4  # programs of one chain that are compared, the first among them
_AGAIN = 1000  # numbers of the branches that sample a last stage again


@dataclass(frozen=True, slots=True)
class Opponent:
    """What the untrained player did on each problem: the chain that suites read, and its distinct wrong programs."""

    chains: Mapping[str, Chain]
    wrong: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Played:
    """What one player did on one problem.

    `match`: its chains, and its suite that reads the opponent's chain. `own`: the same sampled chains, each read by a suite of
    its own. `ending_agreement`: pairs of last stages on one chain whose programs do the same on every test, and all such pairs.
    """

    match: Match
    own: Match
    ending_agreement: tuple[int, int]

    @property
    def sampled(self) -> tuple[Chain, ...]:
        """The chains at temperature 1, with what the hidden tests say of them."""
        return tuple(chain for chain in self.match.chains if not chain.greedy)


@dataclass(frozen=True, slots=True)
class Appearance:
    """What one player did on each problem, and the seconds that it took."""

    name: str
    played: tuple[Played, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Evaluator:
    """Everything an evaluation needs besides the player: `samples` programs each, on every one of `problems`."""

    judge: Judge
    cache: MutantCache
    problems: Sequence[Problem]
    samples: int = 4

    def opponent(self, entrant: Entrant) -> Opponent:
        """Play the chains, and keep the wrong programs, that every later evaluation is held against."""
        played = self._chains(entrant, self.samples, OPPONENT, 1.0)
        chains = [
            tuple(Chain(each, self.judge.desk.code(problem, each.turns[-1].text)) for each in own)
            for problem, own in zip(self.problems, played, strict=True)
        ]
        marked = dict(zip((problem.id for problem in self.problems), self._marked(chains), strict=True))
        wrong = {
            problem: tuple(sorted({chain.code.source for chain in own if chain.code.source and not chain.correct}))
            for problem, own in marked.items()
        }
        return Opponent({problem: own[0] for problem, own in marked.items()}, wrong)

    def measure(self, entrant: Entrant, opponent: Opponent) -> list[Match]:
        """One match per problem: sampled chains and, last, a greedy one, and a suite that reads the opponent's chain.

        The suite's cases are held against all of these programs, the opponent's wrong ones, and all mutants. Whether a
        program passes the hidden cases too is its chain's `correct`; those cases are in no match.
        """
        sampled = self._chains(entrant, self.samples, EVALUATION, 1.0)
        greedy = self._chains(entrant, 1, EVALUATION, 0.0)
        seats = [
            Seat(EVALUATION, each, Conversation("discriminator"), 0, opponent.chains[each.id].conversation)
            for each in self.problems
        ]
        suites = entrant.converse(seats)
        mutants = mutant_targets(self.problems, self.judge, self.cache)
        submissions = [
            Submission(
                problem,
                (*sampled[number], *greedy[number]),
                (suites[number],),
                (-1,),
                (*(Target("recorded", source) for source in opponent.wrong[problem.id]), *mutants[number]),
                opponent.chains[problem.id],
            )
            for number, problem in enumerate(self.problems)
        ]
        matches = self._judged(entrant, submissions)
        return [
            replace(match, chains=(*own[:-1], replace(own[-1], greedy=True)))
            for match, own in zip(matches, self._marked([match.chains for match in matches]), strict=True)
        ]

    def appearance(self, entrant: Entrant, opponent: Opponent) -> Appearance:
        """Lets one player play everything."""
        started = time.perf_counter()
        matches = self.measure(entrant, opponent)
        own, agreement = self._own(entrant, matches), self._ending_agreement(entrant, matches)
        played = tuple(Played(*each) for each in zip(matches, own, agreement, strict=True))
        return Appearance(entrant.name, played, time.perf_counter() - started)

    def _chains(self, entrant: Entrant, count: int, step: int, temperature: float) -> list[list[Conversation]]:
        """`count` chains per problem."""
        seats = [Seat(step, problem, Conversation("generator"), i) for problem in self.problems for i in range(count)]
        played = entrant.converse(seats, temperature=temperature)
        return [played[i * count : (i + 1) * count] for i in range(len(self.problems))]

    def _marked(self, rows: Sequence[Sequence[Chain]]) -> list[tuple[Chain, ...]]:
        """The chains of each problem with whether their programs pass every baseline and hidden case."""
        sources = [[chain.code.source for chain in own] for own in rows]
        return [
            tuple(
                replace(chain, correct=bool(faced) and all(verdict == "passed" for verdict in faced))
                for chain, faced in zip(own, verdicts_of, strict=True)
            )
            for own, verdicts_of in zip(rows, verdicts(self.judge, self.problems, sources), strict=True)
        ]

    def _own(self, entrant: Entrant, matches: Sequence[Match]) -> list[Match]:
        """Each sampled chain with a suite that reads it."""
        rows = [[chain.conversation for chain in match.chains if not chain.greedy] for match in matches]
        seats = [
            Seat(EVALUATION, problem, Conversation("discriminator"), 1 + number, chain)
            for problem, own in zip(self.problems, rows, strict=True)
            for number, chain in enumerate(own)
        ]
        suites = iter(entrant.converse(seats))
        submissions = [
            Submission(problem, own, [next(suites) for _ in own], range(len(own)))
            for problem, own in zip(self.problems, rows, strict=True)
        ]
        return self._judged(entrant, submissions)

    def _judged(self, entrant: Entrant, submissions: Sequence[Submission]) -> list[Match]:
        return judge_submissions(submissions, entrant.step(EVALUATION, "evaluation"), self.judge, entrant.prompts.cases)

    def _ending_agreement(self, entrant: Entrant, matches: Sequence[Match]) -> list[tuple[int, int]]:
        """How many pairs of programs that end one chain do the same on the problem's tests, and of how many."""
        if len(entrant.stages) == 1:
            return [(0, 0)] * len(matches)
        chains = [match.chains[0].conversation for match in matches]
        seats = [
            Seat(EVALUATION, problem, Conversation("generator", chain.turns[:-1]), _AGAIN + number)
            for problem, chain in zip(self.problems, chains, strict=True)
            for number in range(1, RESAMPLES)
        ]
        again = iter(entrant.converse(seats, entrant.stages[-1:], temperature=1.0))
        ended = [[chain, *(next(again) for _ in range(1, RESAMPLES))] for chain in chains]
        rows = verdicts(self.judge, self.problems, program_sources(self.judge, self.problems, ended))
        pairs = [list(combinations(own, 2)) for own in rows]
        return [(sum(one == other for one, other in own), len(own)) for own in pairs]


def program_sources(
    judge: Judge, problems: Sequence[Problem], rows: Sequence[Sequence[Conversation]]
) -> list[list[str | None]]:
    """The programs that each problem's chains end with."""
    return [
        [judge.desk.code(problem, chain.turns[-1].text).source for chain in own]
        for problem, own in zip(problems, rows, strict=True)
    ]


def verdicts(
    judge: Judge, problems: Sequence[Problem], sources: Sequence[Sequence[str | None]]
) -> list[tuple[tuple[Verdict, ...], ...]]:
    """What each of a problem's programs does on its baseline and hidden tests."""
    jobs = [
        Job(
            problem.entry_point,
            tuple(source or "" for source in own),
            (*judge.own_cases(problem), *judge.own_cases(problem, "hidden")),
            problem.imports,
            subject=subject_of(problem, everything=True),
        )
        for problem, own in zip(problems, sources, strict=True)
    ]
    return [matrix.verdicts for matrix in judge.matrices(jobs)]


def check_samples(samples: int, ks: Sequence[int]) -> None:
    """Raises BadInput where pass@k cannot be told from so many samples."""
    if samples < 1:
        raise BadInput(f"num_samples is {samples}: sample at least 1 program")
    wrong = [k for k in ks if not 1 <= k <= samples]
    if wrong:
        raise BadInput(
            f"pass@{wrong[0]} needs {max(wrong[0], 1)} samples or more, num_samples is {samples}; give --num-samples"
        )
