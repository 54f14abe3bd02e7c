"""Statements that say the same of every program are one case."""

from __future__ import annotations

import pytest

from selfplay.reading import read_cases

SAME = [
    ("f(1) == 2", "2 == f(1)", "not f(1) != 2", "(f(1) == 2) is True", "f(1) in [2]", "f(1) in (2, 2)", "-f(1) == -2"),
    ("len(f(1)) == 2", "int(len(f(1))) == 2", "len(list(f(1))) == 2", "abs(len(f(1))) == 2", "round(len(f(1))) == 2"),
    ("sorted(f(1)) == [1]", "sorted(sorted(f(1))) == [1]", "list(sorted(f(1))) == [1]", "sorted(list(f(1))) == [1]",
     "sorted(tuple(f(1))) == [1]", "sorted(f(1))[:] == [1]"),
    ("f(1) == [1]", "f(1)[:] == [1]", "f(1).copy() == [1]", "[1] == f(1)[:][:]"),
    ("int(f(1)) == 2", "int(int(f(1))) == 2"),
    ("round(f(1), 2) == 2.5", "round(round(f(1), 2), 2) == 2.5", "round(round(f(1), 2), 5) == 2.5"),
    ("f(1)", "bool(f(1))", "not not f(1)", "bool(bool(f(1)))", "bool(f(1)) is True", "bool(f(1)) == True"),
    ("not f(1)", "not bool(f(1))", "not not not f(1)", "bool(f(1)) is False"),
    ("f(1) in [1, 2]", "f(1) in (2, 1)", "f(1) == 1 or f(1) == 2", "f(1) == 2 or f(1) == 1 or f(1) == 2"),
    ("f(1) not in [1, 2]", "not f(1) in [2, 1]", "f(1) not in (1, 2, 2)"),
    ("f(1) == f(2)", "f(2) == f(1)", "not f(1) != f(2)"),
    ("f(1) < f(2)", "f(2) > f(1)"),
    ("f(1).lower() == 'a'", "f(1).lower().lower() == 'a'"),
    ("set(f(1)) == {1}", "set(list(f(1))) == {1}", "set(set(f(1))) == {1}"),
    ("all(x > 0 for x in f(1))", "all([y > 0 for y in f(1)])", "all(0 < z for z in f(1)) is True"),
    ("sum(f(1)) == 2", "sum(list(f(1))) == 2"),
    ("f(1) == 2 or f(1) == [1]", "f(1) == 2 or False or f(1) == [1]"),
]  # fmt: skip

DIFFERENT = [
    ("list(f(1)) == [1]", "f(1) == [1]"),
    ("f(1)[:] != [1]", "f(1) != [1]"),
    ("round(round(f(1), 3), 2) == 2.5", "round(f(1), 2) == 2.5"),
    ("len(sorted(f(1))) == 2", "len(f(1)) == 2"),
    ("f(1) == True", "f(1)"),
    ("not f(1) < 2", "f(1) >= 2"),
    ("f(1) == (1,)", "f(1) == [1]"),
    ("f(1) in {1, 2}", "f(1) in [1, 2]"),
    ("abs(f(1)) == 2", "f(1) == 2"),
    ("int(f(1)) == 2", "f(1) == 2"),
    ("f(1) < f(2)", "f(2) < f(1)"),
    ("f(1, k=2) == 2", "f(1, 2) == 2"),
]


def keys(assertion: str) -> list[object]:
    return [case.key for case in read_cases(f"assert {assertion}", "f").cases]


@pytest.mark.parametrize("dresses", SAME)
def test_a_view_that_changes_nothing_is_dropped(dresses: tuple[str, ...]) -> None:
    wanted = keys(dresses[0])
    assert len(wanted) == 1
    assert [dress for dress in dresses if keys(dress) != wanted] == []


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_a_view_that_may_change_something_stays(a: str, b: str) -> None:
    assert len(keys(a)) == len(keys(b)) == 1
    assert keys(a) != keys(b)


def test_a_conjunction_is_a_case_for_each_part() -> None:
    assert keys("f(1) == 2 and f(2) == 3 and True") == [*keys("f(1) == 2"), *keys("f(2) == 3")]
    assert keys("0 <= f(1) <= 3") == [*keys("f(1) >= 0"), *keys("f(1) <= 3")]
    assert keys("not (f(1) == 2 or f(2) == 3)") == [*keys("f(1) != 2"), *keys("f(2) != 3")]
    assert keys("all(f(i) == i for i in [1, 2])") == [*keys("f(1) == 1"), *keys("f(2) == 2")]
    assert keys("[f(1), f(2)] == [1, 2]") == [*keys("f(1) == 1"), *keys("f(2) == 2")]


@pytest.mark.parametrize(
    "call", ["bool(f(1), 2)", "len(f(1), 2)", "f(1).lower(2)", "f(1).strip(1, 2, 3)", "sorted(f(1), 2)"]
)
def test_a_call_with_more_arguments_than_it_takes_is_never_simplified_to_one_that_works(call: str) -> None:
    assert [*keys(f"not {call}"), *keys(f"{call} == False"), *keys(f"bool({call})")] == []
