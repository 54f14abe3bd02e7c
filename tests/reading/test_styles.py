"""Test files in the styles that models and people use: how many cases each holds, and what of it is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from selfplay.reading import read_cases

FILE = Path(__file__).with_name("styles.txt")  # === NAME | CASES | REASONS, and the text of the tests below
SECTION = re.compile(r"=== (.*?) \| (\d+) \|(.*)\n((?:(?!===).*\n)*)")
STYLES = {name: (text, int(cases), reasons.split()) for name, cases, reasons, text in SECTION.findall(FILE.read_text())}


def test_there_are_many_styles() -> None:
    assert len(STYLES) >= 45


@pytest.mark.parametrize("style", STYLES)
def test_a_style_is_read(style: str) -> None:
    text, cases, reasons = STYLES[style]
    reading = read_cases(text, "f")
    assert len(reading.cases) == cases, reading.refused
    assert [refusal.reason for refusal in reading.refused] == reasons


@pytest.mark.parametrize("style", [style for style in STYLES if style.startswith("own copy")])
def test_an_own_copy_counts_as_salvaged(style: str) -> None:
    assert read_cases(STYLES[style][0], "f").salvaged == 1


@pytest.mark.parametrize("style", STYLES)
def test_reading_twice_gives_the_same(style: str) -> None:
    assert read_cases(STYLES[style][0], "f") == read_cases(STYLES[style][0], "f")
