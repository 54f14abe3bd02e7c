"""Refusals are sentences for who wrote the test, and the page in docs/ says what becomes of tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from selfplay.judging.reading import Reading, read_cases
from selfplay.judging.reading.refusals import ADVICE, SENTENCES

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reading-tests.md"
EXAMPLES = re.findall(r"```python\n(.*?)```\n```\n(.*?)```\n", PAGE.read_text(), re.DOTALL)


def told(reading: Reading) -> list[str]:
    """A reading as the page shows it."""
    cases = [f"read: {case.source.splitlines()[0]}" for case in reading.cases]
    return cases + [f"refused as {refusal.reason}: {refusal.detail}" for refusal in reading.refused]


@pytest.mark.parametrize(("text", "result"), EXAMPLES)
def test_an_example_of_the_page_is_read_as_the_page_says(text: str, result: str) -> None:
    assert told(read_cases(text, "f")) == result.splitlines()


def test_the_page_has_examples_and_every_reason() -> None:
    assert len(EXAMPLES) >= 8
    listed = set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE))
    assert listed == {reason for reason, _ in SENTENCES.values()} | set(ADVICE)


def test_a_sentence_says_what_to_write_instead() -> None:
    assert [kind for kind, (_, sentence) in SENTENCES.items() if not re.search(r"[:(,;] ?\S", sentence)] == []


@pytest.mark.parametrize(
    "text",
    ["assert f(1 == 1", "assert f(open('x')) == 1", "assert f('a' * 10**9) == 1", "assert f(1) == {**3}",
     "class A:\n    pass\nassert f(A()) == 1", "assert f(lambda: 1) == 1", "assert f([1] < 'a') == 1"],
)  # fmt: skip
def test_a_refusal_that_evaluating_made_says_what_to_do_too(text: str) -> None:
    (refusal,) = read_cases(text, "f").refused
    assert refusal.reason in ADVICE
    assert ": " in refusal.detail
