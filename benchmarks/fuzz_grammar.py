"""Test modules and turns of models, drawn at random: from what the reader knows, and from honest files bent out of shape.

Expressions are built from the reader's own registries, so whatever is added there is tried here. What makes inputs
expensive is drawn often: huge numbers and sizes, values shared many times over, loops that grow something, texts with
surrogates and NUL, deep nesting, one line a thousand times (fuzz_pools.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from random import Random

from benchmarks.fuzz_pools import (
    CALLS,
    CONDITIONS,
    FENCES,
    GROWTH,
    HUGE,
    KEYWORDS,
    LINES,
    NUMBERS,
    OPERATORS,
    OTHERS,
    OWNERS,
    SEEN,
    SEQUENCES,
    SIZES,
    SMALL,
    STATEMENTS,
    STRINGS,
)
from benchmarks.honest_suites import own_set
from selfplay.reading.known import BUILTINS
from selfplay.reading.methods import METHODS, MODULES

IMPORTS = "import math, string, sys, copy, collections, functools, itertools, pytest, unittest"
STARTS = ("x = [1]", "x = 'a'", "x = 2", "x = (1, 2)", "x = {}", "x = b'a'", "x = f(1)")
DEEP = (
    ("(", ")"),
    ("[", "]"),
    ("-", ""),
    ("not ", ""),
    ("f(", ")"),
    ("{1:", "}"),
    ("(x, ", ")"),
    ("[x for x in ", "]"),
)
_ERRORS = [name for name in sorted(BUILTINS) if name.endswith("Error")]
_BUILTINS = [name for name in sorted(BUILTINS) if name[0].islower()]
_METHODS = {kind.__name__: sorted(names) for kind, names in METHODS.items()}


class Grammar:
    """Draws from one source of randomness: the same source gives the same text."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.pick = random.choice
        self.drawn: dict[str, Callable[[int], str]] = {
            "E": self.expression,
            "A": lambda depth: self.atom(),
            "C": lambda depth: self.condition(),
            "S": lambda depth: self.fill(self.pick(SEEN), depth),
            "F": lambda depth: self.fill(self.pick(CALLS), depth),
            "B": lambda depth: self.pick(_BUILTINS),
            "M": lambda depth: self.pick(self.pick(list(_METHODS.values()))),
            "N": lambda depth: self.pick(SIZES),
            "V": lambda depth: self.pick("xyz"),
            "X": lambda depth: self.pick(_ERRORS),
        }

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def several(self, draw: Callable[[], str], most: int) -> list[str]:
        return [draw() for _ in range(self.random.randint(0, most))]

    def fill(self, template: str, depth: int = 1) -> str:
        """A template with everything in it drawn."""
        return re.sub(r"\$([A-Z])", lambda match: self.drawn[match[1]](depth), template)

    def atom(self) -> str:
        return self.pick(HUGE if self.chance(0.25) else SMALL)

    def expression(self, depth: int = 2) -> str:
        """An expression of everything that the reader offers, and of what it does not."""
        if depth <= 0 or self.chance(0.2):
            return self.atom()
        draw = self.random.random()
        if draw < 0.4:
            return self._call(depth - 1)
        if draw < 0.65:
            return self._method(depth - 1)
        if draw < 0.8:
            a, b = self.pick(
                ((self.kind(),) * 2, (self.kind(), self.kind()), (lambda: self.expression(depth - 1),) * 2)
            )
            return f"({a()}) {self.pick(OPERATORS)} ({b()})"
        return self.fill(self.pick(OTHERS), depth - 1)

    def kind(self) -> Callable[[], str]:
        """Draws pieces of one kind, which is what functions ask for."""
        kind = self.pick((NUMBERS, NUMBERS, SEQUENCES, SEQUENCES, STRINGS, SMALL))
        return lambda: self.pick(kind)

    def _arguments(self, depth: int) -> str:
        one, other = self.kind(), self.kind()
        draw = self.pick((one, one, self.pick((one, other)), lambda: self.expression(depth)))
        plain = [draw() for _ in range(self.pick((0, 1, 1, 1, 2, 2, 2, 3, 3, 4)))]
        named = [f"{self.pick(KEYWORDS)}={self.atom()}"] if self.chance(0.12) else []
        return ", ".join([*plain, *named])

    def _call(self, depth: int) -> str:
        if self.chance(0.55):
            return f"{self.pick(_BUILTINS)}({self._arguments(depth)})"
        module = self.pick(sorted(MODULES))
        return f"{module}.{self.pick(sorted(MODULES[module]))}({self._arguments(depth)})"

    def _method(self, depth: int) -> str:
        kind = self.pick(list(_METHODS))
        owner = self.pick(OWNERS.get(kind, SMALL)) if self.chance(0.7) else self.expression(depth)
        return f"({owner}).{self.pick(_METHODS[kind])}({self._arguments(depth)})"

    def condition(self) -> str:
        """Something to assert, most often about a result."""
        return self.fill(self.pick(CONDITIONS))

    def statement(self) -> str:
        """One statement of a test, unindented; several lines where it has a body."""
        draw = self.random.random()
        if draw < 0.45:
            return f"assert {self.condition()}"
        if draw < 0.7:
            return f"{self.pick('xyz')} = {self.expression()}"
        if draw < 0.82:
            return f"for i in range({self.pick(SIZES)}):\n    {self.pick(GROWTH)}"
        if draw < 0.83:
            return f"while {self.pick(('True', 'x', 'len(x) < 10**6'))}:\n    {self.pick(GROWTH)}"
        return self.fill(self.pick(STATEMENTS))

    def function(self, number: int) -> str:
        """A test function; now and then parametrised."""
        body = [self.statement() for _ in range(self.random.randint(1, 3))]
        body.append(f"assert {self.condition()}")
        if self.chance(0.1):
            mark = f"@pytest.mark.parametrize('x, y', [({self.atom()}, {self.atom()})] * {self.pick(SIZES)})"
            return f"{mark}\ndef test_{number}(x, y):\n{_indented(body)}\n"
        return f"def test_{number}():\n{_indented([self.pick(STARTS), 'y = [1, 2]', 'z = 3', *body])}\n"

    def short(self) -> str:
        """Tests of one expression each, some after a loop that grows what they use."""
        return "\n".join([IMPORTS, *(self._short(number) for number in range(2))])

    def _short(self, number: int) -> str:
        start = [self.pick(STARTS), f"y = {self.atom()}"]
        if self.chance(0.2):
            start.append(f"for i in range({self.pick(SIZES)}):\n    {self.pick(GROWTH)}")
        asserted = self.pick(
            ("assert f($E) == 1", "assert f(1) == $E", "assert f($E) == $E", "assert $C", "y = $E\nassert f(y)")
        )
        return f"def test_{number}():\n{_indented([*start, self.fill(asserted, 2)])}"

    def module(self) -> str:
        """A module of tests."""
        tests = [self.function(number) for number in range(self.random.randint(1, 5))]
        if self.chance(0.1):
            tests = [f"class TestF(unittest.TestCase):\n{_indented(tests).replace('():', '(self):')}"]
        return "\n".join([IMPORTS, *tests])

    def file(self) -> str:
        """A text for the reader: drawn, honest and bent, spliced, or one line over and over."""
        draw = self.random.random()
        if draw < 0.55:
            return self.module()
        if draw < 0.75:
            return self.bent(self.pick(_honest()))
        if draw < 0.85:
            a, b = (self.pick((self.module(), self.pick(_honest()))).split("\n") for _ in range(2))
            return "\n".join([*a[: self.random.randint(0, len(a))], *b[self.random.randint(0, len(b)) :]])
        if draw < 0.9:
            return "\n".join(f"assert {self.condition()}" for _ in range(self.random.randint(1, 20)))
        return self.repeated(self.pick((self.statement(), f"({self.atom()}, {self.atom()}),", self.function(1))))

    def bent(self, text: str) -> str:
        """An honest text with a few changes."""
        for _ in range(self.random.randint(1, 4)):
            draw = self.random.random()
            if draw < 0.3:
                text = self._at(r"\b\d+\b", text, lambda _: self.atom())
            elif draw < 0.5:
                text = self._at(r"\"[^\"\n]*\"", text, lambda _: self.atom())
            elif draw < 0.7:
                opened, closed = self.pick(DEEP)
                times = self.pick((5, 50, 99, 500, 5000))
                text = self._at(r"(?<=== )[^\n]+", text, lambda found: f"{opened * times}{found}{closed * times}")  # noqa: B023
            else:
                text = self._another_line(text)
        return text

    def _another_line(self, text: str) -> str:
        lines = text.split("\n")
        at = self.random.randrange(len(lines))
        line = lines[at]
        times = self.pick((2, 30, 300))
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
        """A piece very often, others around it."""
        times = min(self.pick((20, 100, 300, 1000)), 20_000 // (len(piece) + 1) + 1)
        return "\n".join([*self.several(self._line, 2), *[piece] * times, *self.several(self._line, 2)])

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
        draw = self.random.random()
        code = (
            self.pick(_honest())
            if draw < 0.5
            else self.module()
            if draw < 0.7
            else "\n".join(self.several(self._line, 20))
        )
        if self.chance(0.3):
            return f"{self.pick(FENCES)}\n{code}\n{self.pick(('```', '```', '~~~', '', '````'))}"
        return self.pick((code, code, self._line(), self._line(), self.repeated(self._line())))


def _indented(pieces: Sequence[str]) -> str:
    return "\n".join(f"    {line}" for piece in pieces for line in piece.split("\n"))


@cache
def _honest() -> Sequence[str]:
    return [text for suite in own_set() for text in (suite.tests, suite.reference)]
