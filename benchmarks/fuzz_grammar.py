"""Test modules and turns of models, drawn at random: statements from templates, and honest files bent out of shape.

What makes inputs expensive is drawn often: huge numbers and sizes, texts with surrogates and NUL, deep nesting, one line a
thousand times (fuzz_pools.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from random import Random

from benchmarks.fuzz_pools import FENCES, HUGE, LINES, SMALL, STATEMENTS
from benchmarks.honest_suites import own_set

DEEP = (("[", "]"), ("(", ")"), ("{1: ", "}"), ("-", ""), ("not ", ""), ("f(", ")"))
_ERRORS = ("ValueError", "(KeyError, IndexError)", "Exception", "BaseException", "x", "Nope")


class Grammar:
    """Draws texts."""

    def __init__(self, random: Random) -> None:
        self.random, self.pick = random, random.choice

    def chance(self, share: float) -> bool:
        """True in so many of the draws."""
        return self.random.random() < share

    def fill(self, template: str) -> str:
        """A template with everything in it drawn."""
        drawn = {
            "A": lambda: self.pick(HUGE if self.chance(0.2) else SMALL),
            "V": lambda: self.pick("xyz"),
            "X": lambda: self.pick(_ERRORS),
        }
        return re.sub(r"\$([AVX])", lambda match: drawn[match[1]](), template)

    def statement(self) -> str:
        """One statement of a test."""
        return self.fill(self.pick(STATEMENTS))

    def module(self) -> str:
        """A module of tests: functions, bare statements, now and then a class or a parametrised function."""
        parts = ["import pytest"]
        for number in range(self.random.randint(1, 5)):
            body = [self.statement() for _ in range(self.random.randint(1, 4))]
            if self.chance(0.3):
                parts += body
                continue
            mark = self.fill("@pytest.mark.parametrize('x', [$A, $A])\n") if self.chance(0.1) else ""
            parts.append(f"{mark}def test_{number}({'x' if mark else ''}):\n{_indented(body)}")
        return "\n".join(parts)

    def file(self) -> str:
        """A text for the reader: drawn, honest and bent, spliced, or one line over and over."""
        draw = self.random.random()
        if draw < 0.5:
            return self.module()
        if draw < 0.75:
            return self.bent(self.pick(_honest()))
        if draw < 0.85:
            a, b = (self.pick((self.module(), self.pick(_honest()))).split("\n") for _ in range(2))
            return "\n".join([*a[: self.random.randint(0, len(a))], *b[self.random.randint(0, len(b)) :]])
        return self.repeated(self.pick((self.statement(), self.fill("($A, $A),"), self.module())))

    def bent(self, text: str) -> str:
        """An honest text with a few changes."""
        for _ in range(self.random.randint(1, 4)):
            draw = self.random.random()
            if draw < 0.4:
                text = self._at(r"\b\d+\b|\"[^\"\n]*\"", text, lambda _: self.fill("$A"))
            elif draw < 0.7:
                opened, closed = self.pick(DEEP)
                times = self.pick((5, 50, 99, 500, 5000))
                text = self._at(r"(?<=== )[^\n]+", text, lambda found: f"{opened * times}{found}{closed * times}")  # noqa: B023
            else:
                text = self._another_line(text)
        return text

    def _another_line(self, text: str) -> str:
        lines = text.split("\n")
        at, times = self.random.randrange(len(lines)), self.pick((2, 30, 300))
        line = lines[at]
        lines[at : at + 1] = self.pick(
            ([], [line] * times, [line, self.pick(lines)], [f"{line}{' ' * 9999}#"], [line[:-1]], [f" {line}"])
        )
        return "\n".join(lines)

    def _at(self, pattern: str, text: str, change: Callable[[str], str]) -> str:
        found = list(re.finditer(pattern, text))
        if not found:
            return text
        match = self.pick(found)
        return f"{text[: match.start()]}{change(match[0])}{text[match.end() :]}"

    def repeated(self, piece: str) -> str:
        """A piece very often."""
        return "\n".join([piece] * min(self.pick((20, 100, 300, 1000)), 20_000 // (len(piece) + 1) + 1))

    def turn(self) -> str:
        """What a model may have written: prose, fences, code whole and broken."""
        if self.chance(0.35):
            return self.repeated(self._line())
        text = "\n".join(self._part() for _ in range(self.random.randint(1, 8)))
        return self.bent(text) if self.chance(0.3) else text

    def _line(self) -> str:
        line = self.pick(LINES)
        return line * self.pick((1, 1, 1, 2, 50, 2000)) if len(line) < 12 else line

    def _part(self) -> str:
        lines = "\n".join(self._line() for _ in range(self.random.randint(0, 20)))
        code = self.pick((self.pick(_honest()), self.module(), lines))
        if self.chance(0.3):
            return f"{self.pick(FENCES)}\n{code}\n{self.pick(('```', '```', '~~~', '', '````'))}"
        return self.pick((code, code, self._line(), self._line(), self.repeated(self._line())))


def _indented(pieces: Sequence[str]) -> str:
    return "\n".join(f"    {line}" for piece in pieces for line in piece.split("\n"))


@cache
def _honest() -> Sequence[str]:
    return [text for suite in own_set() for text in (suite.tests, suite.reference)]
