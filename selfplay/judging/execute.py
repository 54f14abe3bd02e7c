"""Two plain functions for programs and tests as text, on a box of their own: the shortest way to a verdict.

    execute_tests("def add(a, b): return a + b", "assert add(1, 2) == 3").passed   ->  1
    validate_tests_against_solution(["assert add(1, 2) == 4"], solution).passed    ->  0

Left out: admission (see `Judge.settle`): here every test counts that can be read or run.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from selfplay.box.local import LocalBox
from selfplay.box.task import Box, Limits
from selfplay.cases.case import Case, Refusal, Verdict
from selfplay.cases.read import Reading
from selfplay.errors import UnknownName
from selfplay.judging.actors import Subject
from selfplay.judging.judge import Job, Judge
from selfplay.judging.script import Shown

Environment = Literal["local", "e2b"]


@dataclass(frozen=True, slots=True)
class Detail:
    """One test: its verdict, or why it could not be read (then `verdict` is None).

    `returned`, `expected` and `assertion`, where values were asked for: what the program did, what the test wants, and what
    pytest says of a test that ran and failed.
    """

    name: str
    source: str
    verdict: Verdict | None
    reason: str = ""
    returned: str = ""
    expected: str = ""
    assertion: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a program did on some tests. `total` counts the readable ones; `seconds` is wall-clock time."""

    total: int
    passed: int
    unreadable: int
    timed_out: bool
    seconds: float
    details: tuple[Detail, ...]

    @property
    def failed(self) -> int:
        """Tests that count and did not pass."""
        return self.total - self.passed


def execute_tests(
    code: str,
    tests: str | Sequence[str],
    entry_point: str = "",
    limits: Limits | None = None,
    environment: Environment = "local",
    values: bool = False,
) -> Outcome:
    """Runs `code` on `tests`: the text of a test module, or several texts.

    `values`: say of each test what the program returned (or raised) beside what was expected; for people, never for players.

    `entry_point` is the function under test; without it, the one of `code` that the tests call most often.
    `environment`: where it runs, in jailed processes on this machine or in E2B's cloud (E2B_API_KEY is then needed).
    Raises BoxUnavailable where that cannot be had.
    """
    texts = [tests] if isinstance(tests, str) else list(tests)
    judge = Judge(_box(environment), limits)
    entry_point = entry_point or judge.desk.entry_point(code, "\n".join(texts))
    readings: list[Reading] = [judge.desk.tests(text, entry_point) for text in texts]
    start = time.monotonic()
    subject = Subject(entry_point)
    cases = [case for reading in readings for case in reading.cases]
    sites = [site for one in readings if one.rest for site in judge.texts.cases(subject, "", one.rest, [code])]
    cases += [case for case, refusal in sites if refusal is None]
    refused = [*(each for one in readings for each in one.refused), *(refusal for _, refusal in sites if refusal)]
    verdicts = judge.matrices([Job(entry_point, (code,), tuple(cases), subject=subject)])[0].verdicts[0]
    shown = judge.shown(entry_point, code, cases, subject=subject) if values else [Shown("", "")] * len(cases)
    return _outcome(refused, cases, verdicts, shown, time.monotonic() - start)


def validate_tests_against_solution(
    tests: str | Sequence[str], solution: str, entry_point: str = "", limits: Limits | None = None
) -> Outcome:
    """How many of the tests the solution passes: those are the valid ones. A solution never leaves this machine."""
    return execute_tests(solution, tests, entry_point, limits)


def _outcome(
    refused: Sequence[Refusal],
    cases: Sequence[Case],
    verdicts: Sequence[Verdict],
    shown: Sequence[Shown],
    seconds: float,
) -> Outcome:
    judged = [
        Detail(case.name, case.source, verdict, "", *values)
        for case, verdict, values in zip(cases, verdicts, shown, strict=True)
    ]
    unread = [Detail(each.name, each.source, None, f"{each.reason}: {each.detail}") for each in refused]
    return Outcome(
        total=len(cases),
        passed=sum(verdict == "passed" for verdict in verdicts),
        unreadable=len(refused),
        timed_out="timeout" in verdicts,
        seconds=seconds,
        details=(*judged, *unread),
    )


@functools.cache
def _box(environment: Environment) -> Box:
    """One box of each kind for the process; boxes end with it."""
    if environment == "local":
        return LocalBox()
    if environment != "e2b":
        raise UnknownName("environment", environment, get_args(Environment))
    from selfplay.box.e2b import E2BBox, E2BSettings

    return E2BBox(E2BSettings(label="execute_tests"))
