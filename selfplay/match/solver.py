"""Solving: a player goes through its stages, writes tests against itself, and the best of its programs is handed in.

    solution = Solver(entrant, num_samples=8).solve(problem)

Every sample is played as in training: a chain and a suite that reads it, judged together in one match. The tests of all
suites face all programs. Which program is the best, agreement.py says: tests that are known to be right first, then
agreement between programs and tests. Without a reference nobody knows which of the player's tests are right.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Self

from selfplay.box.local import LocalBox
from selfplay.cases.read import problem_cases
from selfplay.errors import SelfplayError
from selfplay.game.episode import Group
from selfplay.game.extract import Code
from selfplay.game.players import Completion, Request
from selfplay.game.problems import Problem, find_problem
from selfplay.game.rollout import play
from selfplay.judging.clerk import shared_desk
from selfplay.judging.judge import Judge
from selfplay.judging.turns import WrittenTurn
from selfplay.match.agreement import Agreement, agreements
from selfplay.match.entrant import Account, Clocked, Entrant, Spent
from selfplay.match.examine import examine
from selfplay.match.match import Match, once
from selfplay.match.solution import Execution, Solution, SolutionTest

SOLVING = -3  # the step number that keys the random numbers
TurnListener = Callable[[Request, str, Completion], None]  # the request, its answer as text and as tokens
_Choice = tuple[int, Code, tuple[SolutionTest, ...], Execution | None]  # the sample handed in, and what is known of it


class Solver:
    """Solves problems with one player, `num_samples` chains each; `execute` False runs nothing and takes the first.

    `judge` None: one of its own in the local sandbox, which ends with `close` or the `with` block. `hear` is told every
    turn as it comes.
    """

    def __init__(
        self,
        entrant: Entrant,
        num_samples: int = 1,
        execute: bool = True,
        judge: Judge | None = None,
        hear: TurnListener | None = None,
    ) -> None:
        if num_samples < 1:
            raise SelfplayError(f"num_samples is {num_samples}: sample at least 1 program")
        self.entrant, self.num_samples, self.execute, self.hear = entrant, num_samples, execute, hear
        self._own = Judge(LocalBox()) if judge is None and execute else None
        self._judge = judge or self._own

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the sandbox, where it is the solver's own."""
        if self._own is not None:
            self._own.close()

    def solve(self, problem: Problem | str) -> Solution:
        """One problem, given as it is or by its id in one of the package's sets."""
        [solution] = self.solve_all([find_problem(problem, "handwritten") if isinstance(problem, str) else problem])
        return solution

    def solve_all(self, problems: Sequence[Problem]) -> list[Solution]:
        """All problems, in one batch per stage and role. Their ids must differ."""
        entrant, samples = self.entrant, self.num_samples
        player = Clocked(entrant.player, self._listen if self.hear else None)
        step = entrant.step(SOLVING, "solve")
        played = play(player, entrant.prompts, problems, step, entrant.table(samples))
        started = time.perf_counter()
        if self._judge is None:
            choices = [_read(group) for group in played]
        else:
            matches = examine(played, step, self._judge, entrant.prompts.cases)
            choices = [_judged(match, self._judge.box.tier) for match in matches]
        judging = (time.perf_counter() - started) / max(len(problems), 1)
        return [
            self._solution(group, choice, player.accounts[group.problem.id], judging)
            for group, choice in zip(played, choices, strict=True)
        ]

    def _listen(self, requests: Sequence[Request], done: Sequence[Completion], seconds: float) -> None:
        if self.hear is not None:
            for request, one in zip(requests, done, strict=True):
                self.hear(request, self.entrant.player.chat.text(one.ids), one)

    def _solution(self, group: Group, choice: _Choice, account: Account, judging: float) -> Solution:
        sample, code, tests, execution = choice
        spent = {stage: Spent() for stage in self.entrant.stages}
        for (_, stage), cost in account.items():
            spent[stage] += cost
        return Solution(
            problem=group.problem,
            player=self.entrant.name,
            chain={turn.stage: turn.text for turn in group.chains[sample].turns[:-1]},
            code=code.source,
            how=code.how,
            tests=tests,
            execution=execution,
            sample=sample,
            samples=self.num_samples,
            spent=spent,
            judging=judging,
        )


def best_of(match: Match, blind: bool = False) -> Agreement:
    """The programs of a match that are handed in, its first for all: the problem's own tests decide, with a reference all
    tests that count, then agreement. A test that infrastructure took from any program decides nothing.

    `blind` looks away from the reference: every test that could be read has its say, right or wrong.
    """
    written = match.well_formed if blind else match.admitted
    cases = once((*match.baseline, *written))
    rows = [match.row_on(row, cases) for row in match.programs]
    whole = [number for number in range(len(cases)) if all(row[number] != "infra_error" for row in rows)]
    known = whole if match.has_reference and not blind else [number for number in whole if number < match.num_baseline]
    others = [number for number in whole if number not in known]
    passed = [
        [chain.code.source is not None, *(row[number] == "passed" for number in (*known, *others))]
        for chain, row in zip(match.chains, rows, strict=True)
    ]
    return agreements(passed, known=1 + len(known))[0]


def _judged(match: Match, tier: str) -> _Choice:
    """The best program of a match, with every test and what the program did on it."""
    best = best_of(match)
    number, stages = best.programs[0], match.first_stages
    tests = [
        SolutionTest(None if place < match.num_baseline else stages[case.identity], case.source, verdict)
        for place, (case, verdict) in enumerate(
            zip(match.counting, match.row_on(match.programs[number], match.counting), strict=True)
        )
    ]
    passed = sum(test.verdict == "passed" for test in tests)
    written = [*tests[match.num_baseline :], *_refused(turn for suite in match.suites for turn in suite.turns)]
    ran = Execution(tier, passed, len(tests), len(best.programs))
    return number, match.chains[number].code, (*tests[: match.num_baseline], *_by_stage(written)), ran


def _refused(turns: Iterable[WrittenTurn]) -> list[SolutionTest]:
    """Tests that do not count, each once; what merely repeats another test of its suite is left out."""
    tests = {
        (turn.stage, refusal.source): SolutionTest(turn.stage, refusal.source, refused=refusal.detail or refusal.reason)
        for turn in turns
        for refusal in turn.refused
        if refusal.reason != "duplicate"
    }
    return list(tests.values())


def _by_stage(tests: Iterable[SolutionTest]) -> list[SolutionTest]:
    return sorted(tests, key=lambda test: test.stage or 0)


def _read(group: Group) -> _Choice:
    """The first sample's program and tests, nothing run: by the clerk, since a model wrote them."""
    problem, desk = group.problem, shared_desk()
    known = problem_cases(problem)
    own = [SolutionTest(None, source) for source in (*(case.source for case in known.cases), known.rest) if source]
    turns = [
        turn for suite in group.suites[:1] for turn in desk.suite(problem, [(t.stage, t.text) for t in suite.turns])
    ]
    written = [
        SolutionTest(turn.stage, source)
        for turn in turns
        for source in (*(case.source for case in turn.admitted), turn.text)
        if source
    ]
    return 0, desk.code(problem, group.chains[0].turns[-1].text), (*own, *_by_stage([*written, *_refused(turns)])), None
