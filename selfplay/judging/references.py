"""The reference's word on suites: what of a text's sites and of literal cases counts beside it.

All references run in one call of the box, before literal cases only; texts run by themselves (texts.py). What each did is
weighed by the clerk (admission.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from selfplay.box.task import Execution, Limits, Task
from selfplay.cases.calls import bare_call, is_call
from selfplay.game.problems import Problem
from selfplay.judging.actors import Subject
from selfplay.judging.admission import Beside, demanded
from selfplay.judging.clerk import Desk
from selfplay.judging.domain import domain_task
from selfplay.judging.state import UNSTEADY, story, turned
from selfplay.judging.texts import Found, Texts
from selfplay.judging.turns import Suite

Asked = tuple[
    Problem, Sequence[Suite], Sequence[str]
]  # a problem, its suites, programs that show sites without a reference
Run = Callable[[Sequence[Task]], list[tuple[Execution, ...]]]


class References:
    """Settles suites. `run`: the box, for tasks of our own."""

    def __init__(self, run: Run, desk: Desk, texts: Texts, limits: Limits, seed: int) -> None:
        self.run, self.desk, self.texts, self.limits, self.seed = run, desk, texts, limits, str(seed)

    def settle(self, asked: Sequence[Asked], trust: bool, limit: int) -> list[list[Suite]]:
        """Suites that were read and screened, with the reference's word on each case: all references run in one call.

        The reference has half of what a program may use, so that what it passes leaves a right program a margin, and each
        suite has totals of its own. A reference that may keep something between its calls runs each suite in a process of
        its own, in both orders. `trust`: see admission.screen. At most `limit` cases a turn.
        """
        full = [
            (problem, [_with_sites(self.texts, problem, suite, programs, trust, limit) for suite in suites])
            for problem, suites, programs in asked
        ]
        found = [list(suites) for _, suites in full]
        known = [number for number, (problem, _) in enumerate(full) if problem.reference_solution is not None]
        domain = {} if trust else self._domains([full[number] for number in known])
        ran = self._references([full[number] for number in known])
        for number in known:
            problem, suites = full[number]
            for place, suite in enumerate(suites):
                beside = Beside(ran[problem][place], domain.get(problem, {}), self.limits, self.seed, trust)
                found[number][place] = self._admitted(problem, suite, beside)
        return found

    def _domains(self, asked: Sequence[tuple[Problem, Sequence[Suite]]]) -> dict[Problem, dict[str, Execution]]:
        """By problem with a contract, what this says of each call."""
        tasks: dict[Problem, Task] = {}
        for problem, suites in asked:
            owners: dict[str, list[int]] = {}
            for owner, suite in enumerate(suites):
                for call in dict.fromkeys(_asked(suite)):
                    owners.setdefault(call, []).append(owner)
            task = domain_task(problem, owners, self.limits)
            if task:
                tasks[problem] = replace(task, owners=tuple(map(tuple, owners.values())))
        rows = self.run(list(tasks.values()))
        return {
            problem: dict(zip(task.inputs, row, strict=True))
            for (problem, task), row in zip(tasks.items(), rows, strict=True)
        }

    def _references(
        self, asked: Sequence[tuple[Problem, Sequence[Suite]]]
    ) -> dict[Problem, list[dict[str, Execution]]]:
        """By problem, for each suite what the reference did with each input of its literal cases."""
        tasks: dict[tuple[Problem, int], Task] = {}  # a process each: all suites of a problem, or one of them
        backwards: dict[tuple[Problem, int], Task] = {}
        for problem, suites in asked:
            if problem.entry_point and self.desk.keeps_state(problem.reference_solution or ""):
                for place, suite in enumerate(suites):
                    tasks[problem, place] = _reference(problem, [suite], self.limits)
                    backwards[problem, place] = turned(tasks[problem, place])
            else:
                tasks[problem, -1] = _reference(problem, suites, self.limits)
        done = dict(zip(tasks, self.run(list(tasks.values())), strict=True))
        back = dict(zip(backwards, self.run(list(backwards.values())), strict=True))
        found: dict[Problem, list[dict[str, Execution]]] = {problem: [] for problem, _ in asked}
        for problem, suites in asked:
            for place in range(len(suites)):
                key = (problem, place) if (problem, place) in tasks else (problem, -1)
                ran = dict(zip(tasks[key].inputs, done[key], strict=True))
                other = dict(zip(backwards[key].inputs, back[key], strict=True)) if key in backwards else {}
                found[problem].append({call: _steady(one, other.get(call)) for call, one in ran.items()})
        return found

    def _admitted(self, problem: Problem, suite: Suite, beside: Beside) -> Suite:
        cases = [case for turn in suite for case in turn.cases]
        refusals = [refusal for turn in suite for refusal in turn.refusals]
        own = {case.arguments for case in cases}
        beside = replace(beside, ran={call: one for call, one in beside.ran.items() if call in own})
        settled = iter(zip(*self.desk.admission(problem, cases, refusals, beside), strict=True))
        turns = []
        for turn in suite:
            pairs = [next(settled) for _ in turn.cases]
            turns.append(
                replace(
                    turn,
                    cases=tuple(case for case, _ in pairs),
                    refusals=tuple(refusal for _, refusal in pairs),
                )
            )
        return tuple(turns)


def _with_sites(
    texts: Texts, problem: Problem, suite: Suite, programs: Sequence[str], trust: bool, limit: int
) -> Suite:
    """The suite with a case for each site of what has to be run."""
    return tuple(
        turn.joined(sites(texts, problem, turn.text, programs, trust), limit) if turn.text else turn for turn in suite
    )


def sites(texts: Texts, problem: Problem, text: str, programs: Sequence[str], trust: bool) -> list[Found]:
    """The cases that a text of a problem's tests holds, with why each does not count. The problem's helpers stand in it."""
    whole = f"{problem.helpers}\n\n{text}" if problem.helpers else text
    asks = None if trust else (lambda names: demanded(problem, names))
    return texts.cases(subject_of(problem, everything=trust), problem.signature, whole, programs, asks)


def subject_of(problem: Problem, everything: bool = False) -> Subject:
    """What a problem's tests may use: the public names that its text promises, or `everything` that the reference has."""
    told = [problem.description, problem.signature, *map(str, problem.baseline_tests), problem.entry_point]
    names = tuple(sorted(set(re.findall(r"[A-Za-z]\w*", " ".join(told)))))
    public = None if everything else names
    return Subject(problem.entry_point, problem.reference_solution, problem.imports, public, problem.signature)


def _asked(suite: Suite) -> Iterator[str]:
    """The calls whose arguments a problem has to allow."""
    for turn in suite:
        for case, refusal in zip(turn.cases, turn.refusals, strict=True):
            if refusal is None and case.operator != "stdout":
                yield from (
                    (case.arguments,) if case.literal else map(bare_call, filter(is_call, (*case.calls, *case.besides)))
                )


def _reference(problem: Problem, suites: Sequence[Suite], limits: Limits) -> Task:
    """A reference before suites, each with totals of its own and half of what a program may use."""
    asked: dict[str, list[int]] = {}
    for owner, suite in enumerate(suites):
        calls = (
            case.arguments
            for turn in suite
            for case, refusal in zip(turn.cases, turn.refusals, strict=True)
            if refusal is None and case.literal
        )
        for call in dict.fromkeys(calls):
            asked.setdefault(call, []).append(owner)
    owners, source = tuple(map(tuple, asked.values())), problem.reference_solution or ""
    return Task(source, problem.entry_point, tuple(asked), problem.imports, limits.halved(), True, owners)


def _steady(one: Execution, other: Execution | None) -> Execution:
    """What a reference did, where it did the same in another order of its calls."""
    if other is None:
        return one
    if story(one) and story(other) and story(one) != story(other):
        return UNSTEADY
    return replace(one, seconds=max(one.seconds, other.seconds))
