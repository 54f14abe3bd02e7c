"""What comes of solving a problem: the chain, the program, the tests and what the program did on them, with its costs.

A solution shows as text, where a model's characters are escaped, and as one JSON object. Solver (solver.py) makes it.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from selfplay.cases.case import Verdict
from selfplay.game.problems import Problem, problem_to_json
from selfplay.game.stages import get_stage
from selfplay.match.entrant import Spent
from selfplay.printing import printable

_WIDTH = 78  # of a test that is shown


@dataclass(frozen=True, slots=True)
class SolutionTest:
    """A test and what became of it. `stage` None: the problem's own.

    `verdict`: of the program; None where it was not run. `refused`: why the test does not count, empty where it does.
    """

    stage: int | None
    source: str
    verdict: Verdict | None = None
    refused: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"refused": self.refused or None}


@dataclass(frozen=True, slots=True)
class Execution:
    """What the program did on the tests that count. `agreed`: how many of the sampled programs do the same on all."""

    tier: str
    passed: int
    total: int
    agreed: int


@dataclass(frozen=True, slots=True, repr=False)
class Solution:
    """`chain` and `spent` map stages to what was said and what both roles cost. `code` is None where there is none.

    `execution` is None where nothing was run. `sample` numbers the chosen one of `samples`; `judging`: seconds of reading
    and running. Shows as text.
    """

    problem: Problem
    player: str
    chain: Mapping[int, str]
    code: str | None
    how: str
    tests: tuple[SolutionTest, ...]
    execution: Execution | None
    sample: int
    samples: int
    spent: Mapping[int, Spent]
    judging: float

    @property
    def seconds(self) -> float:
        """All of it: playing, reading and running."""
        return sum(spent.seconds for spent in self.spent.values()) + self.judging

    @property
    def tokens(self) -> int:
        return sum(spent.tokens for spent in self.spent.values())

    @property
    def solved(self) -> bool:
        """A program, which passes every test known to be right: the problem's own and, where there is a reference, all that
        count. As far as anything was run."""
        known = [test for test in self.tests if test.stage is None or self.problem.reference_solution is not None]
        return self.code is not None and all(test.verdict in ("passed", None) for test in known)

    def __repr__(self) -> str:
        return self.text()

    def line(self) -> str:
        """One line for people, for where there are many problems."""
        return printable(f"{self.problem.id}: {self._verdict() if self.code else 'no program'}; {self.seconds:.2f} s")

    def text(self, chain: bool = True) -> str:
        """For people; without the `chain` where that was shown as it came."""
        return printable("\n".join(self._lines(chain)))

    def as_json(self) -> dict[str, Any]:
        """One object of plain JSON values, with the problem as in a problem file."""
        return {
            "problem": json.loads(problem_to_json(self.problem)),
            "player": self.player,
            "chain": {str(stage): text for stage, text in self.chain.items()},
            "code": self.code,
            "tests": [test.as_json() for test in self.tests],
            "execution": asdict(self.execution) if self.execution else None,
            "sample": self.sample,
            "samples": self.samples,
            "seconds": {
                "total": round(self.seconds, 3),
                "judging": round(self.judging, 3),
                "stages": {str(stage): round(spent.seconds, 3) for stage, spent in self.spent.items()},
            },
            "tokens": {
                "total": self.tokens,
                "stages": {str(stage): spent.tokens for stage, spent in self.spent.items()},
            },
        }

    def _lines(self, chain: bool) -> Iterator[str]:
        for stage, text in self.chain.items() if chain else ():
            yield f"-- stage {stage}, {get_stage(stage).name}"
            yield from textwrap.indent(text.strip() or "(nothing)", "  ").splitlines()
        chosen = f", sample {self.sample + 1} of {self.samples}" if self.samples > 1 else ""
        yield f"-- program ({self.how}{chosen})"
        yield from textwrap.indent(self.code or "none", "  ").splitlines()
        yield "-- tests"
        for test in self.tests:
            fate = test.verdict or (f"does not count: {test.refused}" if test.refused else "not run")
            source = textwrap.shorten(test.source, _WIDTH, placeholder=" ...")
            yield f"  {test.stage or 'own':>3}  {source:<{_WIDTH}}  {fate}"
        if not self.tests:
            yield "  none that can be read"
        yield f"-- {self._verdict()}"
        stages = "  ".join(f"{stage}: {one.tokens} in {one.seconds:.2f} s" for stage, one in self.spent.items())
        yield f"tokens by stage: {stages}; judging {self.judging:.2f} s; {self.tokens} in {self.seconds:.2f} s in all"

    def _verdict(self) -> str:
        ran = self.execution
        if ran is None:
            return "nothing was run"
        also = f"; {ran.agreed} of {self.samples} programs do the same" if self.samples > 1 else ""
        sure = self.problem.reference_solution is not None
        doubt = "" if sure else "; without a reference nobody knows which of its own tests are right"
        return f"passed {ran.passed} of {ran.total} tests{also} (sandbox: {ran.tier}){doubt}"
