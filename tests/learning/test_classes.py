"""Problems are sorted into function classes once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from selfplay.box.local import LocalBox
from selfplay.game.problems import Problem, load_problems
from selfplay.judging.judge import Judge
from selfplay.learning import classes
from selfplay.learning.classes import SHIPPED_SETS, digest_of, known_classes, named
from selfplay.learning.ranks import Ranks
from selfplay.mutation.classes import function_classes


class Idle(Judge):
    """A judge that must not be asked."""

    def __init__(self) -> None: ...


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    box = LocalBox()
    yield Judge(box)
    box.close()


def double(name: str, body: str) -> Problem:
    return Problem(
        id=name,
        description="Twice x.",
        signature="def double(x: int):",
        entry_point="double",
        baseline_tests=("assert double(2) == 4",),
        reference_solution=f"def double(x):\n    return {body}",
    )


MINE = (double("b", "x + x"), double("a", "2 * x"), double("c", "x * x"))


@pytest.mark.parametrize("name", SHIPPED_SETS)
def test_the_packages_sets_come_sorted(name: str) -> None:
    problems = load_problems(name)
    found = known_classes(problems, Idle(), Ranks(), lambda text: pytest.fail(text))
    assert set(found) == {problem.id for problem in problems}


def test_other_problems_are_sorted_once_and_found_again(
    judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    said: list[str] = []
    assert known_classes(MINE, judge, Ranks(), said.append) == {"a": "a", "b": "a", "c": "c"}
    assert known_classes(MINE[::-1], Idle(), Ranks(), said.append) == {"a": "a", "b": "a", "c": "c"}
    assert len(said) == 1


def test_a_cache_that_cannot_be_used_costs_only_time(
    judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "selfplay").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert known_classes(MINE, judge, Ranks(), lambda text: None)["b"] == "a"
    monkeypatch.setattr(classes, "_cache", lambda: tmp_path)
    (tmp_path / f"{digest_of(MINE)}.json").write_text("not JSON")
    assert known_classes(MINE, judge, Ranks(), lambda text: None)["b"] == "a"


def test_only_the_first_rank_sorts(judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Second(Ranks):
        rank, size = 1, 2

        def gather(self, value: object) -> list:  # type: ignore[override]
            return [{"a": "a"}, value]

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert known_classes(MINE, Idle(), Second(), lambda text: None) == {"a": "a"}


def test_a_changed_problem_is_another_set() -> None:
    assert digest_of(MINE) == digest_of(MINE[::-1]) != digest_of((*MINE[:2], double("c", "x ** 2")))


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED_SETS)
def test_what_is_shipped_is_what_the_judge_finds(judge: Judge, name: str) -> None:
    problems = load_problems(name)
    assert known_classes(problems, Idle(), Ranks(), lambda text: None) == named(function_classes(problems, judge))
