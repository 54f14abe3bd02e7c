"""The golden exam: tests made from the reference itself, over all of the problem's domain. The ceiling of what tests can teach.

An adversary of flesh has to find inputs on which programs go wrong, and to know the right result; this one is given both.
Inputs are those on which mutants are told from references (probes.py: empty, single, repeated, negative, around every
number that is named), the problem's own left out. It stands where a discriminator's suite stands, so everything after
play is as in any other arm. No held-out problem computes what a training problem computes, so none of their hidden cases can be
among these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from selfplay.box.task import Execution, Task
from selfplay.cases.calls import call_of
from selfplay.cases.literal import literal
from selfplay.cases.read import problem_cases
from selfplay.cases.values import encode, load
from selfplay.game.episode import Conversation, Group, Turn
from selfplay.game.problems import Problem
from selfplay.judging.judge import Judge
from selfplay.judging.probes import probe_inputs

CASES = 20
_TRIED = 3 * CASES  # inputs; on some the reference raises


class GoldenExams:
    """Makes each problem's exam once. For problems of functions with a reference; others keep their own tests alone."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def dealt(self, groups: Sequence[Group], judge: Judge) -> list[Group]:
        """The groups with one suite each, the golden one, as if it had read the first chain."""
        texts = self.texts([group.problem for group in groups], judge)
        return [
            replace(group, suites=(_conversation(group, text),), reads=(0,)) if text else group
            for group, text in zip(groups, texts, strict=True)
        ]

    def texts(self, problems: Sequence[Problem], judge: Judge) -> list[str]:
        """The exams as tests, a line each; empty where there is none. Two calls of the box: contracts, then references."""
        missing = [p for p in problems if p.id not in self._known and p.reference_solution and p.kind == "function"]
        tasks = {
            p: Task(p.reference_solution or "", p.entry_point, inputs, p.imports, judge.limits, secret=True)
            for p, inputs in _inputs(missing, judge).items()
        }
        for (problem, task), ran in zip(tasks.items(), judge.run([*tasks.values()]), strict=True):
            lines = [_line(problem, call, one) for call, one in zip(task.inputs, ran, strict=True)]
            if not any(one.status == "infra_error" for one in ran):
                self._known[problem.id] = "\n".join([line for line in lines if line][:CASES])
        return [self._known.get(problem.id, "") for problem in problems]


def _inputs(problems: Sequence[Problem], judge: Judge) -> dict[Problem, tuple[str, ...]]:
    """What each reference is asked; without problems on whose contract the box failed."""
    own = {problem: problem_cases(problem, "baseline").cases for problem in problems}
    known = {problem: {case.arguments for case in cases} for problem, cases in own.items()}
    limit = _TRIED + max(map(len, known.values()), default=0)
    return {
        problem: tuple(call for call in probes if call not in known[problem])[:_TRIED]
        for problem, probes in probe_inputs(own, limit, judge.run, judge.limits).items()
    }


def _line(problem: Problem, call: str, ran: Execution) -> str:
    """The test that says what the reference returned; empty where it did not return."""
    if ran.status != "returned":
        return ""
    arguments, _ = call_of(call)
    said = ", ".join(literal(load(encode(argument))) for argument in arguments)
    return f"assert {problem.entry_point}({said}) == {literal(load(ran.value))}"


def _conversation(group: Group, text: str) -> Conversation:
    """What the golden suite 'says' at the last stage played: a turn without tokens, so that nothing of it can be trained."""
    key = replace(group.chains[0].turns[-1].key, role="discriminator", branch=0)
    return Conversation("discriminator", (Turn(key, (), (), (), text, False, True),))
