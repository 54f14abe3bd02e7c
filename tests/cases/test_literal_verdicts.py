"""A literal case's verdict is what Python says when the assertion is executed with a function that returns the value."""

from __future__ import annotations

import os
import random
import warnings
from collections import Counter, OrderedDict, deque, namedtuple
from decimal import Decimal
from fractions import Fraction
from math import inf, nan
from typing import Any

import pytest

from selfplay.box.task import Execution
from selfplay.cases.calls import call_text
from selfplay.cases.check import check
from selfplay.cases.read import read_cases
from selfplay.cases.values import encode

ROUNDS = int(os.environ.get("SELFPLAY_FUZZ", "500"))
Point = namedtuple("Point", ["x", "y"])
SCALARS: list[Any] = [
    *(
        0,
        1,
        2,
        -1,
        3,
        2**53,
        -(2**70),
        True,
        False,
        None,
        0.0,
        -0.0,
        0.5,
        1.0,
        2.5,
        1e16,
        1e308,
        inf,
        -inf,
        nan,
        1j,
        2 + 0j,
    ),
    *("", "a", "ab", "b", "1", "é", b"", b"a", b"ab", range(3), range(0), range(0, 3, 2)),
]
RARE: list[Any] = [
    *(Decimal("1"), Decimal("0.5"), Decimal("NaN"), Decimal("Infinity"), Fraction(1, 2), Fraction(2), object()),
    *(bytearray(b"a"), deque([1, 2]), Counter("ab"), OrderedDict(a=1), Point(1, 2)),
]
COMPARED = ["==", "!=", "<", "<=", ">", ">=", "in", "not in", "is", "is not"]


class Writer:
    """Draws assertions of `f` and results that are close to what they expect."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def expression(self, depth: int = 3) -> str:
        choose, of = self.random.choice, self.expression
        if depth == 0 or self.random.random() < 0.3:
            return _spelled(choose(SCALARS))
        items = [of(depth - 1) for _ in range(self.random.randrange(4))]
        listed = ", ".join(items)
        pairs = ", ".join(f"{of(0)}: {item}" for item in items)
        iterable = choose(
            [f"[{listed}]", f"({listed},)" if items else "()", _spelled(choose(["aba", range(4), b"aa"]))]
        )
        forms = [f"[{listed}]", f"({listed},)" if items else "()", f"{{{pairs}}}", f"{{{listed or 0}}}"]
        forms += [
            f"{choose(['list', 'tuple', 'set', 'frozenset'])}({choose([iterable, ''])})",
            f"dict(a={of(0)}, b={of(0)})",
        ]
        forms += [
            f"range({choose([0, 2])}, {choose([1, 4])})",
            f"float({choose(['3', repr('inf'), repr('1.5'), 'True'])})",
        ]
        forms += [f"dict([({of(0)}, {of(0)})])", f"-{of(0)}", f"+{of(0)}"]
        forms += [f"({of(depth - 1)}) {choose(['+', '-', '*', '/', '**'])} ({of(depth - 1)})" for _ in range(3)]
        forms += [f"[{listed}] * {choose([0, 2, -1])}", f"{choose([2, 3])} * {_spelled(choose(['ab', (1,), b'a']))}"]
        return choose(forms)

    def assertion(self) -> tuple[str, str]:
        """An assertion and the expression of what it expects."""
        expected = self.expression()
        call = f"f({', '.join(self.expression(1) for _ in range(self.random.randrange(3)))})"
        draw = self.random.random()
        number = self.random.choice(
            ["1.0", "2", "-0.5", "[1.0, 2]", "{'a': 1.0}", "(0.5,)", "float('inf')", "1e-13", "1j", "[]"]
        )
        if draw < 0.1:
            return f"assert {self.random.choice(['', 'not '])}{call}", number
        if draw < 0.25:
            more = self.random.choice(["", ", abs=0.5", ", rel=0.1", ", 0.1", ", rel=0.01, abs=0.01", ", abs=0"])
            sides = [call, f"pytest.approx({number}{more})"]
            self.random.shuffle(sides)
            return f"assert {' == '.join(sides)}", number
        if draw < 0.35:
            distance = f"abs({call} - {number})" if self.random.random() < 0.7 else f"abs({number} - {call})"
            return (
                f"assert {distance} {self.random.choice(['<', '<='])} {self.random.choice(['0.5', '1', '1e-9'])}",
                number,
            )
        sides = [call, expected]
        if self.random.random() < 0.3:
            sides.reverse()
        return f"assert {'not ' if draw > 0.95 else ''}{f' {self.random.choice(COMPARED)} '.join(sides)}", expected

    def result(self, expected: Any) -> Any:
        """What a program may return: what is expected, something near it, an item of it, anything."""
        draw = self.random.random()
        if draw < 0.25:
            return expected
        if draw < 0.65:
            return self.near(expected)
        if draw < 0.8 and isinstance(expected, (list, tuple, set, frozenset, dict, str, range)) and expected:
            return self.random.choice([*expected])
        return self.random.choice([*SCALARS, *RARE, [1], (1, 2), {1}, {"a": 1}, [[1], [2]], {1: [nan]}])

    def near(self, value: Any) -> Any:
        choose = self.random.choice
        if isinstance(value, (int, float)) and value == value and abs(value) < 1e300:
            shifted = [value + choose([0, 1, -1, 0.4, 1e-7, 1e-10]), float(value), bool(value), complex(value)]
            return choose([*shifted, Decimal(value), Fraction(value), int(value)])
        if isinstance(value, (list, tuple)) and value:
            items = [*value]
            items[self.random.randrange(len(items))] = self.near(choose(items))
            return choose(
                [items, tuple(items), [*value], tuple(value), deque(value), items[1:], Point(*(items * 2)[:2])]
            )
        if isinstance(value, (set, frozenset)):
            return choose([set(value), frozenset(value), [*value], {*value, 1}, {*[*value][1:]}])
        if isinstance(value, dict):
            changed = {key: self.near(each) for key, each in value.items()}
            return choose([changed, OrderedDict(value), dict(reversed(value.items())), [*value], {**value, "a": 1.0}])
        if isinstance(value, (str, bytes)):
            return choose([value * 2, value[1:], [*value]])
        return choose(SCALARS)


def _spelled(value: Any) -> str:
    return f"float('{value}')" if isinstance(value, float) and (value != value or value in (inf, -inf)) else repr(value)


def _is_policy(assertion: str, operator: str, result: Any) -> bool:
    """Where we say something else: a Decimal may be near a float, though it cannot be subtracted; and nobody knows what an
    opaque value says of its truth."""
    return ("abs(" in assertion and isinstance(result, Decimal)) or (
        operator in ("truthy", "falsy") and type(result) is object
    )


def _by_python(assertion: str, result: Any) -> tuple[str, tuple[Any, ...]]:
    asked: list[Any] = []

    def f(*arguments: Any) -> Any:
        asked.append(arguments)
        return result

    try:
        exec(assertion, {"f": f, "pytest": pytest})  # assertions of our own writing
    except Exception:  # noqa: BLE001  # whatever an assertion raises, it has failed
        return "failed", *asked
    return "passed", *asked


def test_verdicts_are_what_python_says() -> None:
    read = 0
    for seed in range(ROUNDS):
        writer = Writer(seed)
        assertion, expression = writer.assertion()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reading = read_cases(assertion, "f")
            if not reading.cases:
                assert reading.rest == assertion
                continue
            (case,) = reading.cases
            assert not reading.rest
            expected = eval(expression, {"pytest": pytest})
            for _ in range(4):
                result = writer.result(expected)
                if _is_policy(assertion, case.operator, result):
                    continue
                said, *asked = _by_python(assertion, result)
                told = f"{seed}: {assertion} with {result!r}"
                if asked:
                    assert case.arguments == call_text(asked[0]), told
                assert check(case, Execution("returned", encode(result))) == said, told
                read += 1
    assert read > ROUNDS
