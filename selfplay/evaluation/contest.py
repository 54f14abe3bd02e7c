"""A contest: what several players do on the same problems, against the same opponent, with the same random numbers.

The core is the evaluation that a run makes of itself (evaluator.py). Around it stands what the same turns tell without being
played again: each sampled chain is read by a suite of the player's own, which says what best-of-n by own tests is worth;
the last stage is sampled again on one chain, which says how much the program hangs on the chain.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from selfplay.cases.case import Verdict
from selfplay.errors import BadInput
from selfplay.evaluation.evaluator import EVALUATION, Evaluator, Opponent
from selfplay.game.episode import Conversation
from selfplay.game.problems import Problem
from selfplay.game.rollout import Seat, converse
from selfplay.judging.judge import Job, Judge
from selfplay.judging.references import subject_of
from selfplay.match.entrant import Clocked, Entrant
from selfplay.match.examine import Submission, judged
from selfplay.match.record import Chain, Match
from selfplay.mutation.bank import MutantBank

RESAMPLES = 4  # programs of one chain that are compared, the first among them
_AGAIN = 1000  # numbers of the branches that sample a last stage again


@dataclass(frozen=True, slots=True)
class Played:
    """What one player did on one problem.

    `match`: its chains, and its suite that reads the opponent's chain. `own`: the same sampled chains, each read by a suite of
    its own. `agreeing`: pairs of last stages on one chain whose programs do the same on every test, and all such pairs.
    """

    match: Match
    own: Match
    agreeing: tuple[int, int]

    @property
    def sampled(self) -> tuple[Chain, ...]:
        """The chains at temperature 1, with what the hidden tests say of them."""
        return tuple(chain for chain in self.match.chains if not chain.greedy)


@dataclass(frozen=True, slots=True)
class Appearance:
    """One player in a contest: what it did on each problem, and the seconds that its turns took."""

    name: str
    played: tuple[Played, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Contest:
    """Everything but the players. `samples` programs each, on every one of `problems`."""

    judge: Judge
    bank: MutantBank
    problems: Sequence[Problem]
    samples: int

    def opponent(self, entrant: Entrant) -> Opponent:
        """The chains that all suites read, and the wrong programs that they may kill."""
        return self._evaluator(entrant).record_opponent(entrant.player, self.problems)

    def appearance(self, entrant: Entrant, opponent: Opponent) -> Appearance:
        """Lets one player play everything."""
        clocked = Clocked(entrant.player)
        entrant = replace(entrant, player=clocked)
        started = time.perf_counter()
        matches = self._evaluator(entrant).measure(clocked, self.problems, opponent)
        own = self._own(entrant, matches)
        agreeing = self._agreeing(entrant, matches)
        played = tuple(Played(*each) for each in zip(matches, own, agreeing, strict=True))
        return Appearance(entrant.name, played, time.perf_counter() - started)

    def _evaluator(self, entrant: Entrant) -> Evaluator:
        return Evaluator(self.judge, entrant.prompts, self.bank, entrant.table, entrant.stages, self.samples)

    def _own(self, entrant: Entrant, matches: Sequence[Match]) -> list[Match]:
        """Each sampled chain with a suite that reads it."""
        rows = [[chain.conversation for chain in match.chains if not chain.greedy] for match in matches]
        seats = [
            Seat(EVALUATION, problem, Conversation("discriminator"), 1 + number, chain)
            for problem, own in zip(self.problems, rows, strict=True)
            for number, chain in enumerate(own)
        ]
        suites = iter(converse(entrant.player, entrant.prompts, seats, entrant.stages, entrant.sampling))
        submissions = [
            Submission(problem, own, [next(suites) for _ in own], range(len(own)))
            for problem, own in zip(self.problems, rows, strict=True)
        ]
        return judged(submissions, entrant.step(EVALUATION, "evaluation"), self.judge, entrant.prompts.cases)

    def _agreeing(self, entrant: Entrant, matches: Sequence[Match]) -> list[tuple[int, int]]:
        """How many pairs of programs that end one chain do the same on the problem's tests, and of how many."""
        if len(entrant.stages) == 1:
            return [(0, 0)] * len(matches)
        chains = [match.chains[0].conversation for match in matches]
        seats = [
            Seat(EVALUATION, problem, Conversation("generator", chain.turns[:-1]), _AGAIN + number)
            for problem, chain in zip(self.problems, chains, strict=True)
            for number in range(1, RESAMPLES)
        ]
        sampling = replace(entrant.sampling, temperature=1.0)
        again = iter(converse(entrant.player, entrant.prompts, seats, entrant.stages[-1:], sampling))
        ended = [[chain, *(next(again) for _ in range(1, RESAMPLES))] for chain in chains]
        rows = verdicts(self.judge, self.problems, [[one.turns[-1].text for one in own] for own in ended])
        pairs = [list(combinations(own, 2)) for own in rows]
        return [(sum(one == other for one, other in own), len(own)) for own in pairs]


def verdicts(
    judge: Judge, problems: Sequence[Problem], texts: Sequence[Sequence[str]]
) -> list[tuple[tuple[Verdict, ...], ...]]:
    """What the program in each of a problem's texts does on its baseline and hidden tests."""
    jobs = [
        Job(
            problem.entry_point,
            tuple(judge.desk.code(problem, text).source or "" for text in own),
            (*judge.own_cases(problem), *judge.own_cases(problem, "hidden")),
            problem.imports,
            subject=subject_of(problem, everything=True),
        )
        for problem, own in zip(problems, texts, strict=True)
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
