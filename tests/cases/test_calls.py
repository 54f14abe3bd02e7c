"""The arguments of a call as text, and which calls ask the same."""

from __future__ import annotations

from typing import Any

import pytest

from selfplay.cases.calls import call_of, call_text, normal_call, stdin_call


@pytest.mark.parametrize(
    ("positional", "keywords"), [([], {}), ([1, [2]], {}), ([1], {"key": "a"}), ([], {"b": {1: 2}, "a": None})]
)
def test_a_call_survives_its_text(positional: list[Any], keywords: dict[str, Any]) -> None:
    assert call_of(call_text(positional, keywords)) == (positional, keywords)


@pytest.mark.parametrize(
    ("signature", "calls", "expected"),
    [
        ("def f(a, b=2):", [([1], {}), ([1, 2], {}), ([1], {"b": 2}), ([], {"b": 2, "a": 1})], ([1, 2], {})),
        ("def f(a, *, k=1, c=[]):", [([1], {}), ([1], {"c": []}), ([1], {"k": 1, "c": []})], ([1], {"c": [], "k": 1})),
        ("def f(a, b=g(), c=-6):", [([1], {}), ([1], {"c": -6})], ([1], {"c": -6})),
        ("def f(a, b, c=6):", [([1], {"c": 7})], ([1], {"c": 7})),
        ("def f(a, /, b):", [([], {"a": 1, "b": 2})], ([], {"a": 1, "b": 2})),
        ("def f(a, **rest):", [([], {"z": 1, "a": 2}), ([2], {"z": 1})], ([2], {"z": 1})),
        ("def f(a=1, *rest, k=3):", [([], {}), ([1], {"k": 3})], ([1], {"k": 3})),
        ("def f(a, b=2, /):", [([1], {}), ([1, 2], {})], ([1, 2], {})),
        ("def f(a):", [([1, 2], {})], ([1, 2], {})),
        ("def f(a):", [([1], {"a": 1})], ([1], {"a": 1})),
        ("class f:", [([1], {"y": 1, "x": 2}), ([1], {"x": 2, "y": 1})], ([1], {"x": 2, "y": 1})),
    ],
)
def test_calls_that_ask_the_same_have_one_normal_form(
    signature: str, calls: list[tuple[list[Any], dict[str, Any]]], expected: tuple[list[Any], dict[str, Any]]
) -> None:
    assert {normal_call(call_text(*call), signature) for call in calls} == {call_text(*expected)}


def test_a_normal_form_is_its_own() -> None:
    text = normal_call(call_text([1], {"c": 3}), "def f(a, b=2, *, c, d='x'):")
    assert normal_call(text, "def f(a, b=2, *, c, d='x'):") == text


def test_items_of_a_set_are_hashed_by_nobody() -> None:
    text = call_text([{number * (2**61 - 1) for number in range(300)}])
    assert normal_call(text, "def f(a):") == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1  2 \n\t3\n", "1 2\n3"), ("\n\n1\n\n2\n\n", "1\n\n2"), ("", ""), ("\n", "\n"), (" \n", " \n")],
)
def test_inputs_are_compared_word_by_word_in_each_line(text: str, expected: str) -> None:
    assert stdin_call(text) == expected
