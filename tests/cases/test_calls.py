"""The arguments of a call as text, and which calls ask the same."""

from __future__ import annotations

from typing import Any

import pytest

from selfplay.cases.calls import call_of, call_text, folded
from selfplay.game.problems import Contract, Problem
from selfplay.judging.domain import in_domain, named


@pytest.mark.parametrize(
    ("positional", "keywords"), [([], {}), ([1, [2]], {}), ([1], {"key": "a"}), ([], {"b": {1: 2}, "a": None})]
)
def test_a_call_survives_its_text(positional: list[Any], keywords: dict[str, Any]) -> None:
    assert call_of(call_text(positional, keywords)) == (positional, keywords)


@pytest.mark.parametrize(
    ("signature", "positional", "keywords", "expected"),
    [
        ("def f(a, b):", [1], {"b": 2}, ([1, 2], {})),
        ("def f(a, b):", [], {"b": 2, "a": 1}, ([1, 2], {})),
        ("def f(a, b=5, c=6):", [1], {"c": 7}, ([1, 5, 7], {})),
        ("def f(a, b=g(), c=6):", [1], {"c": 7}, ([1], {"c": 7})),
        ("def f(a, b, c=6):", [1], {"c": 7}, ([1], {"c": 7})),
        ("def f(a, *, k):", [1], {"k": 7}, ([1], {"k": 7})),
        ("def f(a, /, b):", [], {"a": 1, "b": 2}, ([], {"a": 1, "b": 2})),
        ("def f(a, **rest):", [], {"z": 1, "a": 2}, ([2], {"z": 1})),
        ("def f(*args, **rest):", [1], {"z": 1}, ([1], {"z": 1})),
        ("no signature", [1], {"b": 2}, ([1], {"b": 2})),
        ("", [1], {"b": 2}, ([1], {"b": 2})),
        ("def f(a, b=2):", [1], {}, ([1], {})),
    ],
)
def test_keywords_fold_into_their_places(
    signature: str, positional: list[Any], keywords: dict[str, Any], expected: tuple[list[Any], dict[str, Any]]
) -> None:
    assert call_of(folded(call_text(positional, keywords), signature)) == expected


def test_the_order_of_keywords_does_not_matter() -> None:
    one, other = call_text([], {"x": 1, "y": 2}), call_text([], {"y": 2, "x": 1})
    assert folded(one, "def f(**rest):") == folded(other, "def f(**rest):")


@pytest.mark.parametrize(
    ("signature", "positional", "keywords", "bound"),
    [
        ("def f(a, b=2):", [1], {}, {"a": 1, "b": 2}),
        ("def f(a, b=2):", [], {"a": 1, "b": 3}, {"a": 1, "b": 3}),
        ("def f(a, b=2):", [1], {"a": 1}, None),
        ("def f(a, b=2):", [1], {"c": 1}, None),
        ("def f(a, /):", [], {"a": 1}, None),
        ("def f(a, *rest, k=1, **others):", [1, 2], {"z": 3}, {"a": 1, "rest": (2,), "k": 1, "others": {"z": 3}}),
        ("def f(*, k):", [], {}, None),
    ],
)
def test_arguments_are_bound_as_python_binds_them(
    signature: str, positional: list[Any], keywords: dict[str, Any], bound: dict[str, Any] | None
) -> None:
    assert named(signature, positional, keywords) == bound


def test_annotations_and_contracts_hold_for_keywords() -> None:
    contract = Contract(("0 < k <= len(xs)",), ())
    problem = Problem("p", "", "f", "def f(xs: list[int], k: int = 1) -> int:", (), contract=contract)
    assert in_domain(problem, [[1, 2]], {"k": 2})
    assert in_domain(problem, [], {"xs": [1]})
    assert not in_domain(problem, [[1, 2]], {"k": 3})
    assert not in_domain(problem, [[1, 2]], {"k": 1.0})
    assert not in_domain(problem, [[1, 2]], {"j": 1})
