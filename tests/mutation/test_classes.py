"""Problems that compute the same function share a class, whatever their wording."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from selfplay.box.local import LocalBox
from selfplay.game.problems import Problem
from selfplay.judging.judge import Judge
from selfplay.mutation.classes import function_classes


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    box = LocalBox()
    yield Judge(box)
    box.close()


def problem(name: str, code: str, signature: str = "def f(xs: list[int]) -> int:") -> Problem:
    return Problem(name, name, "f", signature, ("assert f([1]) == 1",), code)


def test_two_ways_to_the_same_function_are_one_class(judge: Judge) -> None:
    plain = problem("plain", "def f(xs):\n    return sum(xs)")
    looped = problem("looped", "def f(xs):\n    t = 0\n    for x in xs:\n        t += x\n    return t")
    classes = function_classes([plain, looped], judge)
    assert classes["plain"] == classes["looped"]


def test_a_difference_at_the_boundary_makes_two_classes(judge: Judge) -> None:
    at_least = problem("at least", "def f(xs):\n    return sum(x >= 3 for x in xs)")
    above = problem("above", "def f(xs):\n    return sum(x > 3 for x in xs)")
    classes = function_classes([at_least, above], judge)
    assert classes["at least"] != classes["above"]


def test_a_problem_without_a_reference_is_a_class_of_its_own(judge: Judge) -> None:
    unknown = [Problem(name, "", "f", "def f(n: int) -> int:", ()) for name in "ab"]
    classes = function_classes(unknown, judge)
    assert classes["a"] != classes["b"]
