"""The bug-catch benchmark: programs with bugs that no player of ours made, and whether a player's tests find them.

A line of the file is a problem, the program with the bug, and a right one. The discriminator reads the buggy program as if
a generator had ended with it (stage 5 alone: there is no chain), and its tests count as they always do. A bug is caught
where a test that counts fails the program.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from selfplay.errors import Flaw, ProblemError
from selfplay.evaluation.evaluator import EVALUATION
from selfplay.evaluation.figures import Counted, columns_of
from selfplay.evaluation.intervals import Columns
from selfplay.game.episode import Conversation, Turn, TurnKey
from selfplay.game.extract import Code
from selfplay.game.problems import Problem, read_problems
from selfplay.game.rollout import Seat
from selfplay.judging.judge import Judge
from selfplay.match.entrant import Entrant
from selfplay.match.examine import Submission, judge_submissions
from selfplay.match.match import KILLS, Chain, Match, Target
from selfplay.resources import resource

STAGE = 5


@dataclass(frozen=True, slots=True)
class Bug:
    """A problem whose reference is right, and a program that is nearly so."""

    problem: Problem
    buggy: str


def load_bugs(path: str | Path | None = None) -> tuple[Bug, ...]:
    """The bugs of a file, the package's own without one. Raises ProblemError."""
    file = Path(path) if path is not None else resource("datasets") / "bugs.jsonl"
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ProblemError(str(file), [Flaw(0, "", f"cannot be read ({error})", "give a file of bugs")]) from None
    found = [_bug(line, f"{file}, line {number}") for number, line in enumerate(lines, 1) if line.strip()]
    if not found:
        raise ProblemError(str(file), [Flaw(0, "", "holds no bug", _FORM)])
    return tuple(found)


_FORM = 'write one {"problem": {...}, "buggy": "...", "reference": "..."} per line'


def _bug(line: str, where: str) -> Bug:
    try:
        held = json.loads(line)
        given, buggy, reference = held["problem"], held["buggy"], held["reference"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ProblemError(where, [Flaw(0, "", f"is no bug ({error!r})", _FORM)]) from None
    if not all(isinstance(text, str) for text in (buggy, reference)) or not isinstance(given, dict):
        raise ProblemError(where, [Flaw(0, "", "a problem is an object, programs are texts", _FORM)])
    [problem] = read_problems(json.dumps(given | {"reference_solution": reference}), where, tested=False)
    return Bug(problem, buggy)


def hunt(entrant: Entrant, bugs: Sequence[Bug], judge: Judge, samples: int) -> list[Match]:
    """One match per bug, with `samples` suites that read the buggy program.

    In compact prompts every function is called f: the embedded player knows no other name.
    """
    bugs = [_called_f(bug) for bug in bugs] if entrant.prompts.style == "compact" else bugs
    chains = [_chain(bug, entrant.prompts.style) for bug in bugs]
    seats = [
        Seat(EVALUATION, bug.problem, Conversation("discriminator"), number, chain.conversation)
        for bug, chain in zip(bugs, chains, strict=True)
        for number in range(samples)
    ]
    suites = entrant.converse(seats, (STAGE,))
    readers = (suites[place : place + samples] for place in range(0, len(suites), samples))
    submissions = [
        Submission(bug.problem, (), own, (-1,) * samples, (Target("recorded", bug.buggy),), chain)
        for bug, chain, own in zip(bugs, chains, readers, strict=True)
    ]
    step = replace(entrant, stages=(STAGE,)).step(EVALUATION, "bugs")
    return judge_submissions(submissions, step, judge, entrant.prompts.cases)


def _called_f(bug: Bug) -> Bug:
    """The same bug in a function called f."""
    problem, name = bug.problem, re.compile(rf"\b{re.escape(bug.problem.entry_point)}\b")
    if not problem.entry_point:
        return bug
    tests = (problem.baseline_tests, problem.hidden_tests)
    baseline, hidden = (tuple(name.sub("f", test) if isinstance(test, str) else test for test in own) for own in tests)
    renamed = replace(
        problem,
        description=name.sub("f", problem.description),
        entry_point="f",
        signature=name.sub("f", problem.signature),
        baseline_tests=baseline,
        hidden_tests=hidden,
        reference_solution=name.sub("f", problem.reference_solution or ""),
    )
    return Bug(renamed, name.sub("f", bug.buggy))


def _chain(bug: Bug, style: str) -> Chain:
    text = bug.buggy if style == "compact" else f"```python\n{bug.buggy}\n```"
    key = TurnKey(EVALUATION, bug.problem.id, "generator", 0, STAGE)
    return Chain(Conversation("generator", (Turn(key, (), (), (), text, False, True),)), Code(bug.buggy, "given"))


def bug_columns(matches: Sequence[Match]) -> dict[str, Columns]:
    """What is counted per bug: suites that catch it, bugs that any suite catches, and tests that count."""
    return columns_of(map(_counted, matches))


def _counted(match: Match) -> Iterator[tuple[str, Counted]]:
    [target] = match.targets
    caught = [any(v in KILLS for v in match.row_on(target.verdicts, suite.admitted)) for suite in match.suites]
    yield "bugs_caught", (sum(caught), len(caught))
    yield "bugs_caught_by_any", (any(caught), 1)
    valid = sum(sum(turn.valid) for suite in match.suites for turn in suite.turns)
    yield "bugs_validity", (valid, sum(suite.written for suite in match.suites))
