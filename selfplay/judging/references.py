"""What references say of the cases of suites: which of them count.

A reference has half of what a program may use, so that what it passes leaves a right program a margin, and each suite has
totals of its own: what is slow or long in one refuses its own cases alone. A reference that may keep something between its
calls runs each suite in a process of its own, in both orders; where the order changes what it does, the case is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence

from selfplay.box.task import Execution, Limits, Task
from selfplay.cases.case import Case
from selfplay.game.problems import Problem
from selfplay.judging.admission import Admission
from selfplay.judging.clerk import Desk
from selfplay.judging.state import Story, is_plain, steady, story, turned

PROBES = 12  # inputs on which a reference shows what else it returns
_SHARE = 0.5  # of the CPU limit, that a reference may take for a case

Suites = Sequence[tuple[Case, ...]]


class References:
    """Runs references by `stream`, see Judge."""

    def __init__(
        self,
        stream: Callable[[Sequence[Task]], Generator[tuple[int, tuple[Execution, ...]]]],
        desk: Desk,
        limits: Limits,
    ) -> None:
        self.stream, self.desk, self.limits = stream, desk, limits
        self.shown: dict[Problem, tuple[Execution, ...]] = {}  # what each returned on probes: asked once

    def admit(self, asked: Sequence[tuple[Problem, Suites]]) -> list[list[Admission]]:
        """The cases that count, per problem and suite: each reference runs once over its suites, all in one call. Cases
        are screened before (admission.py)."""
        found: list[list[Admission]] = [[] for _ in asked]
        sessions: list[tuple[int, Problem, Suites]] = []  # what a process runs: suites of a numbered problem
        twice: list[int] = []
        for number, (problem, suites) in enumerate(asked):
            if problem.reference_solution is None:
                found[number] = self.desk.admission(problem, suites, None, self.limits, _SHARE)
            elif problem.entry_point and self._keeps_state(problem.reference_solution):
                twice += range(len(sessions), len(sessions) + len(suites))
                sessions += [(number, problem, [cases]) for cases in suites]
            else:
                sessions.append((number, problem, suites))
        back = self._backwards([sessions[index] for index in twice])
        again = {index: back[place] for place, index in enumerate(twice)}
        tasks = [self._task(problem, suites, self._probes(problem, suites)) for _, problem, suites in sessions]
        told: dict[int, list[Admission]] = {}
        for index, executions in self.stream(tasks):
            _, problem, suites = sessions[index]
            ran = dict(zip(tasks[index].inputs, executions, strict=True))
            own = {call for cases in suites for case in cases for call in case.calls}
            others = tuple(execution for call, execution in ran.items() if call not in own)
            shown = self.shown.setdefault(problem, others) if problem.baseline_tests else others
            ran |= {call: steady(ran[call], *other) for call, other in again.get(index, {}).items()}
            told[index] = self.desk.admission(problem, suites, ran, self.limits, _SHARE, shown)
        for index, (number, _, _) in enumerate(sessions):
            found[number] += told[index]
        return found

    def _backwards(self, sessions: Sequence[tuple[int, Problem, Suites]]) -> dict[int, dict[str, tuple[Story, float]]]:
        """What each reference did with each input, the last one first, in a few bytes, and the CPU seconds of it."""
        tasks = [turned(self._task(problem, suites)) for _, problem, suites in sessions]
        return {
            place: {call: (story(one), one.seconds) for call, one in zip(tasks[place].inputs, row, strict=True)}
            for place, row in self.stream(tasks)
        }

    def _task(self, problem: Problem, suites: Suites, probes: Iterable[str] = ()) -> Task:
        """A reference before suites and, as an owner of its own behind them, probes."""
        asked: dict[str, dict[int, None]] = {}
        for owner, calls in enumerate((*((call for case in own for call in case.calls) for own in suites), probes)):
            for call in calls:
                asked.setdefault(call, {})[owner] = None
        owners, source = tuple(map(tuple, asked.values())), problem.reference_solution or ""
        return Task(source, problem.entry_point, tuple(asked), problem.imports, self.limits.halved(), True, owners)

    def _probes(self, problem: Problem, suites: Suites) -> tuple[str, ...]:
        """The first time, inputs that show what else a reference returns."""
        cases = [case for suite in suites for case in suite]
        return self.desk.probes(problem, cases, PROBES) if cases and problem not in self.shown else ()

    def _keeps_state(self, source: str) -> bool:
        return not is_plain(source) and self.desk.keeps_state(source)
