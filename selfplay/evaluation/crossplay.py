"""Cross-play: the generator of every checkpoint against the discriminator of every checkpoint.

Progress shows along the rows and columns: later discriminators kill more of the same programs, later generators survive
more of the same suites. Forgetting: a later discriminator kills less of what an early generator wrote than an earlier one
did. Collusion: a pair of one moment does better together than either does with the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from selfplay.evaluation.evaluator import EVALUATION, program_sources, verdicts
from selfplay.evaluation.intervals import Estimate, mean, ratio
from selfplay.game.episode import Conversation
from selfplay.game.problems import Problem
from selfplay.game.rollout import Seat
from selfplay.judging.judge import Judge
from selfplay.match.entrant import Entrant
from selfplay.match.examine import Submission, judge_submissions
from selfplay.match.match import KILLS

Open = Callable[[], Entrant]  # loads a player when it is its turn, so that one at a time lies in memory


@dataclass(frozen=True, slots=True)
class CrossPlay:
    """Tables with a row per generator and a column per discriminator.

    `survives`: programs that fail none of the tests of the suite that read them and count. `kills`: wrong programs (that
    fail a baseline or hidden test) that such a test fails.
    """

    names: tuple[str, ...]
    survives: tuple[tuple[Estimate, ...], ...]
    kills: tuple[tuple[Estimate, ...], ...]


def cross_play(players: Sequence[tuple[str, Open]], problems: Sequence[Problem], judge: Judge) -> CrossPlay:
    """Each generator plays every problem once; each discriminator reads all of that."""
    chains: list[list[Conversation]] = []
    for _, open_it in players:
        entrant = open_it()
        seats = [Seat(EVALUATION, problem, Conversation("generator"), 0) for problem in problems]
        chains.append(entrant.converse(seats))
    sources = program_sources(judge, problems, list(zip(*chains, strict=True)))
    wrong = [[any(v != "passed" for v in row) for row in rows] for rows in verdicts(judge, problems, sources)]
    # by generator and discriminator: the share of programs that survive, and the share of wrong ones that are killed
    cells: list[list[tuple[Estimate, Estimate]]] = [[] for _ in players]
    for _, open_it in players:
        entrant = open_it()
        for row, own in enumerate(chains):
            seats = [
                Seat(EVALUATION, problem, Conversation("discriminator"), 0, chain)
                for problem, chain in zip(problems, own, strict=True)
            ]
            suites = entrant.converse(seats)
            submissions = [
                Submission(problem, (chain,), (suite,), (0,))
                for problem, chain, suite in zip(problems, own, suites, strict=True)
            ]
            matches = judge_submissions(
                submissions, entrant.step(EVALUATION, "cross-play"), judge, entrant.prompts.cases
            )
            killed = [
                float(any(v in (*KILLS, "not_collected") for v in match.verdicts_on(match.programs[0], match.admitted)))
                for match in matches
            ]
            bad = [float(rows[row]) for rows in wrong]
            hits = [dead * is_wrong for dead, is_wrong in zip(killed, bad, strict=True)]
            cells[row].append((mean([1.0 - dead for dead in killed]), ratio(hits, bad)))
    return CrossPlay(
        tuple(name for name, _ in players),
        tuple(tuple(cell[0] for cell in row) for row in cells),
        tuple(tuple(cell[1] for cell in row) for row in cells),
    )
