"""Useful mutants of problems, made once."""

from __future__ import annotations

import resource

from selfplay.box.local import LocalBox
from selfplay.box.task import Execution, Limits
from selfplay.game.problems import Problem
from selfplay.judging.judge import Judge
from selfplay.mutation.cache import LEAST_SECONDS, MutantCache, _patience
from selfplay.mutation.mutants import mutants

ENDLESS = """
def f(n: int) -> int:
    steps = 0
    while n > 0:
        n = n - 1
        steps = steps + 2
    return steps
"""
PROBLEM = Problem("p", "", "f", "def f(n: int) -> int:", ("assert f(3) == 6",), ENDLESS)


def test_a_mutant_that_never_ends_costs_little() -> None:
    assert any("n = n + 1" in mutant.source for mutant in mutants(ENDLESS, "f", "paid"))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with LocalBox() as box:
        [useful] = MutantCache().mutants([PROBLEM], Judge(box, recheck=0.0))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert useful
    assert not any("n = n + 1" in source for source in useful)
    assert after.ru_utime - before.ru_utime < 6


def test_a_mutant_may_take_a_multiple_of_the_references_time_and_never_more_than_any_program() -> None:
    def patience(*seconds: float) -> float:
        return _patience(Limits(), [Execution("returned", "1", seconds=one) for one in seconds]).cpu_seconds

    assert patience() == patience(0.001, 0.002) == LEAST_SECONDS
    assert (patience(0.001, 0.1), patience(1.5)) == (1.0, 2.0)
