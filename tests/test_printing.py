"""Text of unknown origin on a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.printing import printable


@pytest.mark.parametrize("text", ["", "plain", "two\nlines\tand a tab", "naïve 字 · ×"])
def test_ordinary_text_stays(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize("text", ["\x1b[2J", "\ud800", "\x00", "\r", "\u202e", "\x9b31m", "\u2028"])
def test_what_moves_the_cursor_or_cannot_be_encoded_is_escaped(text: str) -> None:
    shown = printable(f"a{text}b")
    assert text not in shown
    assert shown.startswith("a\\")


@given(st.text(st.characters()))
def test_whatever_comes_out_can_be_encoded_and_holds_no_escape(text: str) -> None:
    shown = printable(text)
    shown.encode("utf-8")
    assert "\x1b" not in shown
