"""A case: what makes two of them one."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from selfplay.cases.case import Case
from selfplay.cases.read import read_cases

LITERAL = Case("t", "assert f(1) == 2", '["l",1]', "==", "2", calls=('["l",1]',))
RUN = Case("test_a", "assert r == 2", "", "runs", "test_a:0.0", calls=('["l",1]',), text="...")


def test_admitted_cases_are_one_where_they_ask_and_refuse_the_same() -> None:
    assert replace(LITERAL, mark="111").identity == replace(RUN, mark="111").identity
    assert replace(LITERAL, mark="111").identity != replace(LITERAL, mark="110").identity
    assert replace(LITERAL, mark="111").identity != replace(LITERAL, mark="111", calls=('["l",2]',)).identity


@pytest.mark.parametrize(
    "change", [{"arguments": "[]"}, {"operator": "!="}, {"expected": "3"}, {"tolerance": (0.0, 1.0)}, {"text": "x"}]
)
def test_before_that_everything_counts_that_decides_a_verdict(change: dict[str, str]) -> None:
    assert replace(LITERAL, **change).identity != LITERAL.identity  # type: ignore[arg-type]
    assert replace(LITERAL, name="u", source="2 == f(1)").identity == LITERAL.identity


@pytest.mark.parametrize(("one", "other"), [("f(1, 3)", "f(1, b=3)"), ("f(1)", "f(a=1, b=2)"), ("f(1)", "f(1, 2)")])
def test_spellings_of_a_call_are_one_call(one: str, other: str) -> None:
    first, second = (read_cases(f"assert {call} == 1", "f", "def f(a, b=2):").cases[0] for call in (one, other))
    assert first.calls == second.calls


def test_a_case_crosses_to_another_process() -> None:
    assert pickle.loads(pickle.dumps((LITERAL, RUN))) == (LITERAL, RUN)
    assert (LITERAL.literal, RUN.literal) == (True, False)
