"""The match: one problem's group, played and judged. Everything that is made of a group is made of this value.

Cases stand in one list: the problem's own first, then those that some suite got admitted, then the
well-formed rest. Every target (a program of the group, or a wrong program that cases are held
against) has one verdict for each of them, None where it did not run it: mutants run the first two kinds and nothing else.

    match.chains[0].code.source      the first program
    match.programs[0]                its verdicts, aligned with match.cases
    match.suites[0].turns[2].valid   which cases of a suite's third turn count

A match goes through three hands, each of which returns a new one: `examine` makes it, `score` adds rewards, `credit` the
advantages that were trained. Left out: hidden cases, which never enter a match; what they say of a chain is `correct`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from selfplay.cases.case import Case, Verdict
from selfplay.game.advantages import Values, on_turns
from selfplay.game.episode import Conversation, Role
from selfplay.game.extract import Code
from selfplay.game.phases import Step
from selfplay.game.problems import Problem
from selfplay.judging.turns import WrittenTurn

Origin = Literal["recorded", "paid", "kept"]
KILLS: frozenset[Verdict | None] = frozenset(("failed", "error", "timeout"))

Row = tuple[Verdict | None, ...]


def once(cases: Iterable[Case]) -> tuple[Case, ...]:
    """The cases without repetitions, in order of first appearance; of equal ones the last."""
    return tuple({case.identity: case for case in cases}.values())


@dataclass(frozen=True, slots=True)
class Chain:
    """One conversation of the generator, its program, and what it earned.

    `reward`: None before it is scored, and where infrastructure took the verdicts. `advantages`: one per turn as trained,
    None for a turn without gradient. `correct`: whether the program passes every test of the problem, the
    hidden ones included; None where nobody asked. `greedy`: played at temperature 0.
    """

    conversation: Conversation
    code: Code
    reward: float | None = None
    advantages: Values = ()
    correct: bool | None = None
    greedy: bool = False


@dataclass(frozen=True, slots=True)
class Suite:
    """One conversation of the discriminator, read: a written turn for each of its turns, and what each earned.

    `reads` numbers the chain that it read; -1 is the match's `outside` chain. `rewards` and `advantages` as a chain's, one
    per turn.
    """

    conversation: Conversation
    reads: int
    turns: tuple[WrittenTurn, ...]
    rewards: Values = ()
    advantages: Values = ()

    @property
    def written(self) -> int:
        """Every case of the suite, the unreadable ones included."""
        return sum(turn.written for turn in self.turns)

    @property
    def cases(self) -> tuple[Case, ...]:
        """Every well-formed case in order, repeated ones repeated."""
        return tuple(case for turn in self.turns for case in turn.cases)

    @property
    def admitted(self) -> tuple[Case, ...]:
        """The valid cases, each once, in order of appearance."""
        return once(case for turn in self.turns for case in turn.admitted)


@dataclass(frozen=True, slots=True)
class Target:
    """A wrong program that cases are held against: one `recorded` earlier, or a mutant of the `paid` or `kept` operators."""

    origin: Origin
    source: str
    verdicts: Row = ()


@dataclass(frozen=True, slots=True)
class Match:
    """One problem's group, played and judged.

    `problem` has no hidden tests. `asked`: cases that a turn was asked for. `num_baseline` counts the problem's own cases at
    the head of `cases`. `programs` has a row of verdicts per chain, read by a suite or not; `targets` are the wrong programs
    from elsewhere. `outside`: a chain of another player that suites read (`reads` -1), whose row is `outside_verdicts`.
    """

    problem: Problem
    step: Step
    asked: int
    chains: tuple[Chain, ...]
    suites: tuple[Suite, ...]
    cases: tuple[Case, ...]
    num_baseline: int
    programs: tuple[Row, ...] = ()
    targets: tuple[Target, ...] = ()
    outside: Chain | None = None
    outside_verdicts: Row = ()

    @property
    def baseline(self) -> tuple[Case, ...]:
        """The problem's own cases."""
        return self.cases[: self.num_baseline]

    @property
    def admitted(self) -> tuple[Case, ...]:
        """The exam, which every program of the group sits beside the problem's own cases: the union of the suites' valid cases,
        in order of appearance."""
        return once(case for suite in self.suites for case in suite.admitted)

    @property
    def has_reference(self) -> bool:
        """Whether a reference says which tests are right."""
        return self.problem.reference_solution is not None

    @property
    def counting(self) -> tuple[Case, ...]:
        """What counts for the group's programs, each case once: the problem's own cases, and the exam."""
        return once((*self.baseline, *self.admitted))

    @property
    def well_formed(self) -> tuple[Case, ...]:
        """The union of the suites' well-formed cases, valid or not, in order of appearance."""
        return once(case for suite in self.suites for case in suite.cases)

    @property
    def first_stages(self) -> dict[tuple[object, ...], int]:
        """For each case that counts, by identity, the first stage at which a suite wrote it."""
        stages: dict[tuple[object, ...], int] = {}
        for turn in (turn for suite in self.suites for turn in suite.turns):
            for case in turn.admitted:
                stages[case.identity] = min(turn.stage, stages.get(case.identity, turn.stage))
        return stages

    def row_read_by(self, suite: Suite) -> Row:
        """The row of the program that a suite read."""
        return self.programs[suite.reads] if suite.reads >= 0 else self.outside_verdicts

    def verdicts_on(self, row: Row, cases: Iterable[Case]) -> tuple[Verdict, ...]:
        """The verdicts of a row on those of the cases that it ran."""
        return tuple(verdict for verdict in self.row_on(row, cases) if verdict is not None)

    def row_on(self, row: Row, cases: Iterable[Case]) -> Row:
        """The verdicts of a row on the cases, None where one did not run."""
        place = {case.identity: number for number, case in enumerate(self.cases)}
        return tuple(row[place[case.identity]] if row else None for case in cases)

    def conversations(self, role: Role) -> tuple[Conversation, ...]:
        """The group's conversations of one role."""
        return tuple(episode.conversation for episode in self.episodes(role))

    def episodes(self, role: Role) -> tuple[Chain, ...] | tuple[Suite, ...]:
        """What one role played: the chains or the suites."""
        return self.chains if role == "generator" else self.suites

    def rewards(self, role: Role, stages: Sequence[int]) -> list[Values]:
        """What each episode of `role` earned on its turns at `stages`; a chain's one reward stands on each of its turns."""
        if role == "generator":
            return [(chain.reward,) * len(stages) for chain in self.chains]
        return [
            tuple(reward for turn, reward in zip(suite.turns, suite.rewards, strict=True) if turn.stage in stages)
            for suite in self.suites
        ]

    def with_advantages(self, role: Role, stages: Sequence[int], values: Sequence[Values]) -> Match:
        """With an advantage on each trained turn of `role`, None on every other; `values` by episode and trained turn."""
        trained = [
            replace(episode, advantages=on_turns(episode.conversation.stages, stages, own))
            for episode, own in zip(self.episodes(role), values, strict=True)
        ]
        return replace(self, **{"chains" if role == "generator" else "suites": tuple(trained)})

    def wrong_rows(self) -> Iterator[Row]:
        """Rows of every wrong program: the group's, equal ones once, then the targets. One that does not load is none."""
        counting = self.counting
        seen: set[str] = set()
        for chain, row in zip(self.chains, self.programs, strict=True):
            verdicts = self.verdicts_on(row, counting)
            source = chain.code.source
            if source and source not in seen and "not_collected" not in verdicts and not KILLS.isdisjoint(verdicts):
                seen.add(source)
                yield row
        yield from (target.verdicts for target in self.targets)
