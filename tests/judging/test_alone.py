"""By which of its calls a place fails: padding and guards win no places that count, and honest tests lose none."""

from __future__ import annotations

from collections.abc import Mapping, Set

import pytest

from selfplay.game.problems import Problem
from selfplay.judging.alone import coded, looked_at
from selfplay.judging.judge import Judge
from tests.judging.court import asks, reasons, settled

ADD = asks("def f(a, b):\n    return a + b\n", signature="def f(a: int, b: int) -> int:")
ROWS = 7


def rows(line: str, start: str = "") -> str:
    """A test that begins with `start` and says `line` of every n, of which m is the next."""
    lines = [line.replace("$n", str(n)).replace("$m", str(n + 1)) for n in range(10, 10 + ROWS)]
    return "\n    ".join(["def test_a():", *filter(None, [start]), *lines]) + "\n"


def one_each(line: str, start: str) -> str:
    """The same as a test for every n."""
    return "".join(f"def test_$n():\n    {start}\n    {line}\n".replace("$n", str(n)) for n in range(10, 10 + ROWS))


GUARD = "if f(2, 3) != 5: raise ValueError"
IDLE = "assert f($n, 0) is not f"
FLAG = "bad = []\ndef test_b():\n    x = f(2, 3)\n    assert x == 5\n    if x != 5: bad.append(x)\n"
MANY = """xs = [f(n, 1) for n in range(4)]
    for n in range(4): assert xs[n] == n + 1
    if xs != [1, 2, 3, 4]: raise ValueError"""
TABLE = """
import pytest
@pytest.mark.parametrize("n", range(7))
def test_a(n):
    x = f(n, 0)
    assert f(2, 3) == 5 and x is not f
"""
LOOP = """
def test_a():
    for n in range(7 if f(2, 3) == 5 else 0):
        assert f(n, 0) is not f
"""
PADDED = {
    "an idle conjunct": (rows("assert f(2, 3) == 5 and f($n, 0) is not f"), 1),
    "a weak conjunct": (rows("assert f(2, 3) == 5 and f($n, 0) > -3"), 1),
    "a conjunct that refuses one change of a leaf": (rows("assert f(2, 3) == 5 and f($n, 0) != $m"), 1),
    "idle beside three that are not": (
        rows("assert f(1, 3) == 4 and f(2, 3) == 5 and f(3, 3) == 6 and f($n, 0) is not f"),
        3,
    ),
    "an idle disjunct that is asked first": (rows("assert f($n, 0) == f or f(2, 3) == 5"), 1),
    "disjuncts that save each other": ("assert f(1, 0) == 1 or f(2, 0) == 2\n", 0),
    "an argument that is nothing": (rows("assert f(f($n, 0) * 0 + 2, 3) == 5"), 1),
    "a guard": (rows(IDLE, GUARD), 0),
    "a guard of the module": (GUARD + "\n" + rows(IDLE), 0),
    "a guard in each of the tests": (one_each(IDLE, GUARD), 0),
    "a guard whose call counts": (rows(IDLE, f"x = f(2, 3)\n    assert x == 5\n    {GUARD}"), 1),
    "a guard whose call counts with another": (rows(IDLE, f"assert f(2, 3) == 5 and f(4, 4) == 8\n    {GUARD}"), 1),
    "a guard of many calls that count": (rows(IDLE, MANY), 4),
    "a guard before places that are weak": (rows("assert f($n, 0) != $m", GUARD), 0),
    "a flag of another test": (FLAG + rows(IDLE + " and not bad"), 1),
    "a loop that a call lets run": (LOOP, 1),
    "one result in many assertions": (rows("assert x + $n == 5 + $n", "x = f(2, 3)"), 1),
    "a parameter that is not looked at": (TABLE, 1),
}


@pytest.mark.parametrize("name", PADDED)
def test_places_that_one_call_carries_are_one(judge: Judge, name: str) -> None:
    text, most = PADDED[name]
    [turn] = settled(judge, ADD, text)
    assert bool(most) <= len(turn.admitted) <= most, [case.source for case in turn.admitted]
    assert set(reasons(turn)) <= {"", "weak", "duplicate"}


HONEST = {
    "a test each": one_each("assert x == $n + 2", "x = f($n, 2)"),
    "a loop": f"def test_a():\n    for n in range({ROWS}): assert f(n, 3) == n + 3\n",
    "results in a list": rows("assert xs[$n] == $n + 3", "xs = [f(n, 3) for n in range(18)]"),
    "two calls that both count": rows("assert f($n, 30) == $n + 30 and f($n, 31) == $n + 31"),
    "two calls that are compared": rows("assert (f($n, 30), f(30, $n)) == ($n + 30, $n + 30)"),
    "one call beside which all stand": rows("assert f($n, 30) * base == $n + 30", "base = f(0, 1)"),
    "statements that raise where a result is wrong": rows(
        "x = f($n, 30)\n    [0, 1][x - $n - 30]\n    assert x == $n + 30"
    ),
}


@pytest.mark.parametrize("name", HONEST)
def test_places_that_look_at_calls_of_their_own_count(judge: Judge, name: str) -> None:
    [turn] = settled(judge, ADD, HONEST[name])
    assert reasons(turn) == [""] * ROWS


def test_a_call_that_is_not_looked_at_must_be_allowed_all_the_same(judge: Judge) -> None:
    texts = [f"def test_a():\n    x = f({n}, 0)\n    assert f(2, 3) == 5 and x is not f\n" for n in ("1", "1.5")]
    assert [reasons(turn) for turn in settled(judge, ADD, *texts)] == [[""], ["domain"]]


COUNTER = """
class Counter:
    def __init__(self): self.n = 0
    def add(self, by): self.n += by; return self.n
"""
COUNTS = """
def test_a():
    c = Counter()
    for n in range(6):
        c.add(n)
        assert c.n == n * (n + 1) // 2
"""
IDLES = """
def test_b():
    c = Counter()
    for n in range(6):
        x = c.add(-n)
        assert Counter().n == 0 and x is not c
"""


def test_what_an_object_is_asked_is_looked_at_call_by_call(judge: Judge) -> None:
    problem = Problem("p", "A Counter with n and add.", "Counter", "class Counter:", (), COUNTER)
    assert [len(turn.admitted) for turn in settled(judge, problem, COUNTS, COUNTS + IDLES)] == [6, 7]


# ---- the code ----


def told(reads: Mapping[str, Set[str]], calls: int = 12, marks: str = "1" * 9) -> dict[str, set[str]]:
    """What is found of sites that rest on all calls, and fail exactly by those that they read."""
    names = [f"f({n})" for n in range(calls)]

    def run(changes: Mapping[str, int]) -> tuple[set[str], set[str]]:
        return {name for name, own in reads.items() if not own.isdisjoint(changes)}, set(names)

    return looked_at(names, dict.fromkeys(reads, names), dict.fromkeys(reads, marks), run)


@pytest.mark.parametrize("calls", [1, 2, 3, 6, 7, 12, 35])
def test_every_call_has_runs_of_its_own(calls: int) -> None:
    codes = list(coded([f"f({n})" for n in range(calls)]).values())
    assert len(set(codes)) == calls
    assert all(a & ~b for a in codes for b in codes if a != b)


def test_of_all_that_a_place_rests_on_it_looks_at_what_it_fails_by() -> None:
    each = {f"s{n}": {f"f({n})"} for n in range(12)}
    assert told(each) == each
    assert "f(3)" in told({"s": {"f(3)"}}, calls=100)["s"]
    assert told({"s": {f"f({n})" for n in range(12)}})["s"]
