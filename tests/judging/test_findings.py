"""What an attack on an earlier judge found, as a table: what must hold, and a suite that shows it.

A row is a reference, a text of tests, right programs that must pass all that counts, wrong programs that must fail some of
it, and how many cases count; or why they do not.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import pytest

from selfplay.box.task import Execution
from selfplay.cases.case import Case
from selfplay.cases.read import MAX_CASES, read_cases
from selfplay.cases.values import encode
from selfplay.judging import texts
from selfplay.judging.clerk import shared_desk
from selfplay.judging.execute import execute_tests
from selfplay.judging.judge import Judge
from selfplay.judging.script import Broken, Story
from tests.judging.court import asks, reasons, rows, settled


class Row(NamedTuple):
    reference: str
    text: str
    right: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    counts: int = 1


COUNTS = "from collections import Counter\ndef f(text):\n    return Counter(text)\n"
ORDERED = "from collections import OrderedDict\ndef f(xs):\n    return OrderedDict((x, len(x)) for x in sorted(xs))\n"
SAME = "def f(xs):\n    return list(xs)\n"
GROWING = "def f(d):\n    d['new'] = 1\n    return len(d)\n"
SETS = "def f(xs):\n    return [{x, x + 1} for x in xs]\n"

HOLDS = {
    "counters are those of Python": Row(
        COUNTS,
        """
from collections import Counter
def test_a():
    both = f("aab") | Counter("bb")
    assert both == Counter("aabb") and f("a")["z"] == 0
    assert f("aab") - Counter("a") == {"a": 1, "b": 1}
    more = f("ab")
    more.update("ab")
    assert more == {"a": 2, "b": 2} and +Counter(a=0) == Counter()
""",
        ("def f(text):\n    from collections import Counter\n    return Counter(sorted(text))",),
        ("from collections import Counter\ndef f(text):\n    return Counter(set(text))",),
        3,
    ),
    "an operator in place changes the argument of a helper": Row(
        "def f(x):\n    return {x, x * 2}\n",
        """
def gather(seen, x):
    seen |= f(x)
def test_a():
    seen = set()
    gather(seen, 1)
    gather(seen, 3)
    assert seen == {1, 2, 3, 6}
""",
        ("def f(x):\n    return {2 * x, x}",),
        ("def f(x):\n    return {x}",),
    ),
    "a fixture is made once for whom it serves": Row(
        SAME,
        """
import unittest, pytest
made = []
@pytest.fixture
def one(): made.append(1); return f([len(made)])
@pytest.fixture
def two(one): return one
@pytest.fixture(scope="module")
def wide(): made.append("m"); return f(["m"])
def test_one(one, two): assert one is two and len(one) == 1
def test_wide(wide): wide.append(2); assert wide == ["m", 2]
def test_wide_again(wide): assert wide == ["m", 2] and made.count("m") == 1
class TestA:
    seen = []
    @classmethod
    def setup_class(cls): cls.own = f([1])
    def test_a(self): self.seen += f([1]); assert self.seen == [1]
    def test_b(self): self.seen += self.own; assert self.seen == [1, 1]
def setup_function(function): made.append(function.__name__)
def test_set_up(): assert f(made[-1:]) == ["test_set_up"]
""",
        ("def f(xs):\n    return [x for x in xs]",),
        ("def f(xs):\n    return list(xs) * 2",),
        6,
    ),
    "assertCountEqual asks nothing of the order of sets": Row(
        SETS,
        """
import unittest
class TestA(unittest.TestCase):
    def test_a(self):
        self.assertCountEqual(f([1, 5, 9]), [{9, 10}, {1, 2}, {5, 6}])
""",
        ("def f(xs):\n    return [{x + 1, x} for x in reversed(xs)]",),
        ("def f(xs):\n    return [{x} for x in xs]",),
    ),
    "a wrong order of an ordered dictionary fails": Row(
        ORDERED,
        """
from collections import OrderedDict
def test_a():
    assert f(["b", "a"]) == OrderedDict([("a", 1), ("b", 1)])
    assert str(f([])) == "OrderedDict()"
""",
        (),
        ("from collections import OrderedDict\ndef f(xs):\n    return OrderedDict((x, 1) for x in xs)",),
        2,
    ),
    "what is sorted by a key of a set has an order": Row(
        "def f(xs):\n    return set(xs)\n",
        "def test_a():\n    assert sorted(f(['ccc', 'a', 'bb']), key=len) == ['a', 'bb', 'ccc']\n"
        "    assert max(f([-3, 2]), key=abs) == -3 and min(f([-3, 2]), key=lambda x: -x) == 2\n",
        ("def f(xs):\n    return frozenset(reversed(xs))",),
        ("def f(xs):\n    return set(xs[:1])",),
        2,
    ),
    "a dictionary is unpacked to its keys": Row(
        "def f(xs):\n    return {x: len(x) for x in xs}\n",
        "def test_a():\n    a, b = f(['x', 'yy'])\n    assert (a, b) == ('x', 'yy')\n",
        ("def f(xs):\n    return {x: 0 + len(x) for x in xs}",),
        ("def f(xs):\n    return {x + x: len(x) for x in xs}",),
    ),
    "a list that changes while a loop goes over it is read as it is": Row(
        SAME,
        "def test_a():\n    xs = f([1, 2, 3, 4])\n    for x in xs:\n        if x % 2: xs.remove(x)\n    assert xs == [2, 4]\n"
        "def test_b():\n    xs, n = f([1]), 0\n    for x in xs:\n"
        "        n += 1\n        if n < 4: xs.append(n)\n    assert n == 4\n",
        ("def f(xs):\n    return sorted(xs)",),
        ("def f(xs):\n    return xs[1:]",),
        2,
    ),
    "keys that are kept grow with their dictionary": Row(
        GROWING,
        "def test_a():\n    d = {'a': 1}\n    keys = d.keys()\n    n = f(d)\n"
        "    assert (n, sorted(keys)) == (2, ['a', 'new'])\n",
        ("def f(d):\n    d.update(new=1)\n    return len(d)",),
        ("def f(d):\n    return len(d) + 1",),
    ),
    "what an iterator gives is asked": Row(
        "def f(n):\n    for x in range(n):\n        yield x * x\n",
        "def test_a():\n    assert list(f(3)) == [0, 1, 4]\n    assert next(f(1)) == 0 and sum(f(4)) == 14\n",
        ("def f(n):\n    return (x ** 2 for x in range(n))", "def f(n):\n    return iter([x * x for x in range(n)])"),
        ("def f(n):\n    return (x for x in range(n))",),
        2,
    ),
    "values of the standard library are values": Row(
        """
from collections import deque
from datetime import date
from decimal import Decimal
from fractions import Fraction
def f(n):
    return [deque([n, 2]), Fraction(n, 3), Decimal("0.1") * n, date(2024, 1, n)]
""",
        """
from datetime import date
from decimal import Decimal
from fractions import Fraction
def test_a():
    assert list(f(1)[0]) == [1, 2]
    assert f(2)[1] == Fraction(2, 3) and f(2)[1].denominator == 3
    assert f(3)[2] == Decimal("0.3")
    assert f(4)[3].isoformat() == "2024-01-04" and f(5)[3] > date(2024, 1, 4)
""",
        ("import collections, datetime, decimal, fractions\ndef f(n):\n    return [collections.deque((n, 2)), "
         "fractions.Fraction(2 * n, 6), decimal.Decimal(n) / 10, datetime.date(2024, 1, n)]",),
        ("from collections import deque\nfrom datetime import date\ndef f(n):\n"
         "    return [deque([n, 2]), n / 3, n / 10, date(2024, 1, 1)]",),
        4,
    ),
    "a nested class of tests counts": Row(
        SAME,
        "class TestA:\n    class TestB:\n        def test_c(self):\n            assert f([1]) == [1]\n",
        ("def f(xs):\n    return xs",),
        ("def f(xs):\n    return 0",),
    ),
    "a program that is right at its first call only fails a test that runs": Row(
        "def f(x):\n    return [x]\n",
        "def test_a():\n    for n in range(3):\n        r = f(n)\n        assert r == [n]\n",
        ("def f(x):\n    return list((x,))",),
        ("def f(x, seen=[]):\n    seen.append(x)\n    return list(seen)",
        "s = []\ndef f(x):\n    s.append(x)\n    return s[:]"),
        3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HOLDS)
def test_what_must_hold(judge: Judge, name: str) -> None:
    row = HOLDS[name]
    problem = asks(row.reference)
    [turn] = settled(judge, problem, row.text, trust=True)  # whether each proves enough is another question
    assert reasons(turn) == [""] * row.counts
    passing = rows(judge, problem, turn.admitted, row.reference, *row.right)
    assert set(passing) == {("passed",) * row.counts}
    assert all(set(found) != {"passed"} for found in rows(judge, problem, turn.admitted, *row.wrong))


HEAD = "import pytest, unittest\nfrom pytest import approx\n"
NESTED = "def f(x):\n    return [[x, 0.1 + 0.2], {x}]\n"
NUMBER = "def f(x):\n    return x\n"
REFUSED = {
    "approx of nested lists": (NESTED, "def test_a():\n    assert f(1)[0] == approx([[1], 0.3])", "reference"),
    "approx of a set": (NESTED, "def test_a():\n    assert f(1)[1] == approx({1})", "reference"),
    "a distance below zero": (NUMBER, "def test_a():\n    assert abs(f(1) - 1) < 0", "reference"),
    "a statement that always raises": (NUMBER, "def test_a():\n    x = f(1)\n    y = 1 / 0\n    assert x == 1", "reference"),
    "an unordered sequence equals none": (
        NESTED,
        "class TestA(unittest.TestCase):\n    def test_a(self):\n        self.assertSequenceEqual(f(1)[1], [1])",
        "reference",
    ),
    "assertAlmostEqual has no tolerance in lists": (
        NESTED,
        "class TestA(unittest.TestCase):\n    def test_a(self):\n        self.assertAlmostEqual(f(1)[0], [1, 0.3])",
        "reference",
    ),
    "a defaultdict is no dict": (
        "from collections import defaultdict\ndef f(x):\n    return defaultdict(int, {x: 1})\n",
        "def test_a():\n    assert type(f(1)) is dict",
        "reference",
    ),
    "a test that yields": (NUMBER, "def test_a():\n    assert f(1) == 1\n    yield f", "unreadable"),
    "ten million cases": (NUMBER, "def test_a():\n    for n in range(10**7):\n        assert f(n) == n", "budget"),
    "a package that is not there": (NUMBER, "import not_there\ndef test_a():\n    x = f(1)\n    assert x == not_there.y",
    "unreadable"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_count(judge: Judge, name: str) -> None:
    reference, text, reason = REFUSED[name]
    [turn] = settled(judge, asks(reference), HEAD + text)
    assert set(reasons(turn)) == {reason}


def test_a_case_shows_the_statement_that_is_judged(judge: Judge) -> None:
    text = "def test_a():\n    x = f(2) # \r    assert x == 2\n    # assert f(9) == 3\n\x0c\n"
    text += "assert f(1) == 1 #\rassert f(3) == 3"
    [turn] = settled(judge, asks(NUMBER), text)
    assert {case.source for case in turn.cases} == {"assert f(1) == 1", "assert x == 2", "assert f(3) == 3"}
    assert reasons(turn) == [""] * 3


def test_a_literal_case_carries_no_message() -> None:
    [case] = read_cases("assert f(1) == 3, print(open('x'))", "f").cases
    assert case.source == "assert f(1) == 3"


DRESSES = ["assert f(1) == 3", "assert f(1) == 3.0", "assert f(a=1) == 3", "assert f(1, 2) == 3", "assert f(1, b=2) == 3",
           "assert 3 == f(b=2, a=1)", "def test_a():\n    x = f(1)\n    assert x == 3", "assert f(1) + 1 == 4"]  # fmt: skip


def test_one_case_in_many_dresses_is_one(judge: Judge) -> None:
    problem = asks("def f(a, b=2):\n    return a + b\n", signature="def f(a: int, b: int = 2) -> int:")
    turns = settled(judge, problem, *DRESSES)
    assert [reasons(turn) for turn in turns] == [[""]] * len(DRESSES)
    assert len({case.identity for turn in turns for case in turn.admitted}) == 1
    [together] = settled(judge, problem, "\n".join(DRESSES))
    assert sorted(reasons(together)) == ["", *["duplicate"] * (len(DRESSES) - 1)]


def test_facts_that_are_known_make_no_further_cases_through_relations(judge: Judge) -> None:
    facts = "\n".join(f"assert f({n}) == {n}" for n in range(5))
    relations = "\n".join(f"assert f({n}) < f({n + 1})" for n in range(4))
    [turn] = settled(judge, asks(NUMBER), f"{facts}\n{relations}")
    assert reasons(turn)[:5] == [""] * 5
    assert set(reasons(turn)[5:]) <= {"duplicate", "weak"}


def test_relations_between_a_few_calls_are_not_more_cases_than_calls(judge: Judge) -> None:
    pairs = [(a, b) for a in range(1, 6) for b in range(a + 1, 6)]
    relations = "\n".join(f"assert (f({a}), f({b})) == ({a}, {b})" for a, b in pairs)
    [turn] = settled(judge, asks(NUMBER), f"{relations}\nassert f(1) == 1")
    assert sorted(reasons(turn))[:5] == [""] * 5
    assert set(sorted(reasons(turn))[5:]) <= {"duplicate", "weak"}


def test_many_large_comparisons_fail_no_right_program_and_cost_little() -> None:
    large = set(range(480))
    cases = [Case(f"t{n}", "", f'["l",{n}]', "==", encode(large)) for n in range(60)]
    ran = {case.arguments: Execution("returned", encode(frozenset(large))) for case in cases}
    start = time.process_time()
    assert shared_desk().verdicts(cases, [("", ran)])[0][0] == ("passed",) * 60
    assert time.process_time() - start < 2


def test_cases_beyond_the_limit_are_refused_and_not_cut() -> None:
    reading = read_cases("\n".join(f"assert f({n}) == {n}" for n in range(MAX_CASES + 5)), "f")
    assert (len(reading.cases), [refusal.reason for refusal in reading.refused]) == (MAX_CASES, ["too_many"])


TELLS_RUNS = """
import sys
def test_a():
    frame = sys._getframe()
    while "settings" not in frame.f_locals:
        frame = frame.f_back
    is_first, seed = not frame.f_locals["settings"]["prepared"], frame.f_locals["settings"]["seed"]
    assert f(1) is not f and (is_first or seed == 1)
"""


def test_a_test_that_tells_one_run_from_another_proves_nothing(judge: Judge) -> None:
    [turn] = settled(judge, asks(NUMBER), TELLS_RUNS)
    assert set(reasons(turn)) == {"weak"}


def test_what_a_child_says_of_tests_takes_no_memory_of_the_host() -> None:
    story = Story(operations=["[]"] * 2_000)
    with pytest.raises(Broken, match="assertions"):
        story.take({"e": [["d", f"test_{n}", "passed", ""] for n in range(100_000)]})
    assert sum(len(site.rests) for site in story.sites.values()) <= 2_000
    with pytest.raises(Broken, match="assertions"):
        story.take({"e": [["n", number, ""] for number in range(100_000)]})


def test_scripts_that_are_kept_take_a_bounded_share_of_memory(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "KEPT_SIZE", 10_000)
    for letter in "abc":
        settled(judge, asks(NUMBER), f"def test_a():\n    x = f('{letter}' * 2_000)\n    assert len(x) == 2_000\n")
    assert 1 <= len(judge.texts._scripts) <= 2


def test_all_arguments_of_a_text_have_one_budget() -> None:
    story = Story()
    for _ in range(4):
        story.ask(f'["const","{"x" * ((1 << 20) - 12)}"]')
    with pytest.raises(Broken, match="4 MiB"):
        story.ask('["const","x"]')


def test_a_test_that_never_ends_before_a_program_takes_nothing_from_the_others(judge: Judge) -> None:
    problem = asks("def f(s):\n    return s + 'b'\n")
    text = "def test_a():\n    s = 'a'\n    while len(s) < 5: s = f(s)\n    assert f(s) == s + 'b'\n"
    text += "def test_b():\n    x = f('')\n    assert len(x) < 2\n    assert f('') + 'c' == 'bc'\n"
    [turn] = settled(judge, problem, text, trust=True)
    [row] = rows(judge, problem, turn.admitted, "def f(s):\n    return s")
    assert row == ("timeout", "passed", "failed")


def test_coins_are_refused_together_however_some_of_them_fall(judge: Judge) -> None:
    text = "import os\ndef test_a():\n    for n in range(20):\n        r = f(n)\n        assert os.urandom(1)[0] % 2 or r is f"
    [turn] = settled(judge, asks(NUMBER), text)
    assert not turn.admitted
    assert "unstable" in reasons(turn)


def test_tests_that_never_end_on_what_is_near_are_given_up_soon(judge: Judge) -> None:
    [turn] = settled(
        judge, asks(NUMBER), "def test_a():\n    r = f(2)\n    while r != 2:\n        pass\n    assert r == 2"
    )
    assert reasons(turn) == ["budget"]
    assert "near the right ones" in turn.unread[0].detail


def test_what_a_program_imports_is_no_mark(judge: Judge) -> None:
    reference = "import string\ndef f(text):\n    return ''.join(c for c in text if c in string.digits)"
    right = "def f(text):\n    return ''.join(c for c in text if c.isdigit())"
    asking = "__sites__.interface.ask('cget', ['string', 'digits'], None)"
    text = f"def test_a():\n    r = f('a1')\n    assert r + 'x' == '1x'\n    s = {asking}\n    assert s and r == f('1')"
    problem = asks(reference, "The digits of a string")
    [turn] = settled(judge, problem, text)
    assert turn.admitted
    assert set(rows(judge, problem, turn.admitted, right)) == {("passed",) * len(turn.admitted)}


FORGED = {
    "no JSON": '"xyz"',
    "nested": '"[" * 100_000',
    "nested arguments": '\'["call","f",["t",\' + "[" * 50_000 + "]" * 50_000 + \'],["d"]]\'',
    "no text of ours": '\'["call","f",["t","\\ud800"],["d"]]\'',
    "of no known kind": '"[]"',
    "one that programs do not look at": '\'["call","f",["t",["s",1,2]],["t"],["d"]]\'',
    "no value": '\'["call","f",["t",["zz"]],["d"]]\'',
    "in another spelling": '\'["call", "f",["t",1],["d"]]\'',
}


@pytest.mark.parametrize("name", FORGED)
def test_a_test_that_asks_what_is_no_operation_is_refused(judge: Judge, name: str) -> None:
    text = f"def test_a():\n    x = f(3)\n    __sites__.ask({FORGED[name]})\n    assert x == 3\n"
    [turn] = settled(judge, asks(NUMBER), text)
    assert reasons(turn) == ["budget"]


OFFERS = ["xx", "[" * 100_000, "[1]", '{"f":3}', '{"f":[]}', '{"E":["error",3]}', '{"\\ud800":["error",["\\ud801"]]}']


@pytest.mark.parametrize("offer", OFFERS)
def test_a_program_that_forges_what_it_has_to_offer_fails(judge: Judge, offer: str) -> None:
    problem = asks(NUMBER)
    [turn] = settled(judge, problem, "def test_a():\n    x = f(3)\n    assert x == 3\n")
    program = f"""
import sys
frame = sys._getframe()
while "report" not in frame.f_locals:
    frame = frame.f_back
frame.f_locals["report"](b"L", {offer.encode()!r})
def f(x):
    return x
"""
    [row] = rows(judge, problem, turn.admitted, program)
    assert row != ("passed",)


REMEMBERING = {
    "a table": "SQUARES = {1: 1}\ndef f(x):\n    return SQUARES.get(x, x * x)\n",
    "a cache": "from functools import lru_cache\n@lru_cache(None)\ndef f(x):\n    return x * x\n",
}


@pytest.mark.parametrize("name", REMEMBERING)
def test_one_fact_of_a_reference_that_may_remember_is_paid_once(judge: Judge, name: str) -> None:
    text = "\n".join(f"def test_{n}():\n    x = f(3)\n    assert x == 9" for n in range(4))
    turns = settled(judge, asks(REMEMBERING[name]), f"assert f(3) == 9\n{text}", text)
    assert [sorted(reasons(turn)) for turn in turns] == [["", *["duplicate"] * 4], ["", *["duplicate"] * 3]]
    assert len({case.identity for turn in turns for case in turn.admitted}) == 1


def test_what_hangs_on_earlier_calls_is_a_fact_of_its_own(judge: Judge) -> None:
    reference = "seen = []\ndef f(x):\n    seen.append(x)\n    return len(seen)\n"
    text = "def test_a():\n" + "".join(f"    x = f(3)\n    assert x == {n}\n" for n in range(1, 4))
    [turn] = settled(judge, asks(reference), text)
    assert reasons(turn) == [""] * 3


STACK = """
class Stack:
    def __init__(self):
        self.items = []
    def push(self, x):
        self.items.append(x)
    def pop(self):
        return self.items.pop()
"""


def test_one_fact_of_a_class_is_paid_once(judge: Judge) -> None:
    body = "    s = Stack()\n    s.push(1)\n    s.push(2)\n    assert s.pop() == 2\n"
    padded = body.replace("    s.push(2)", "    t = Stack()\n    t.push(7)\n    s.items\n    s.push(2)")
    text = f"def test_a():\n{body}def test_b():\n{body}def test_c():\n{padded}def test_d():\n{body}    assert s.pop() == 1\n"
    [turn] = settled(judge, asks(STACK, "A Stack with push and pop.", "class Stack:"), text)
    assert sorted(reasons(turn)) == ["", "", *["duplicate"] * 3]


HOLDS_BESIDE_PYTEST = {
    "the list that was sorted in place is the one that comes back": Row(
        "def f(xs):\n    xs.sort()\n    return xs\n",
        "def test_a():\n    xs, ys = [2, 1], [3, 1]\n    assert f(xs) is xs\n    f(ys).append(9)\n    assert ys == [1, 3, 9]\n",
        wrong=("def f(xs):\n    return xs\n",),
        counts=2,
    ),
    "exceptions of the standard library are what a test imports": Row(
        "import json\nfrom decimal import Decimal\ndef f(s):\n    return Decimal(json.loads(s))\n",
        "import json, decimal, pytest\ndef test_a():\n    with pytest.raises(json.JSONDecodeError): f('{')\n"
        "    with pytest.raises(decimal.InvalidOperation): f('\"x\"')\n",
        wrong=("def f(s):\n    raise ValueError(s)\n",),
        counts=2,
    ),
    "an iterator that goes on is handed over as far as it is read": Row(
        "def f(xs):\n    for x in xs:\n        yield 2 * x\n",
        "from itertools import count, islice\ndef test_a():\n    assert list(islice(f(count(1)), 3)) == [2, 4, 6]\n",
        wrong=("def f(xs):\n    for x in xs:\n        yield x\n",),
    ),
    "a copy of an instance lives by itself": Row(
        STACK + "def f():\n    return Stack()\n",
        "import copy\ndef test_a():\n    s = f()\n    t = copy.deepcopy(s)\n    t.push(1)\n"
        "    assert (s.items, t.items) == ([], [1])\n",
        wrong=(STACK.replace("append(x)", "append(0)") + "def f():\n    return Stack()\n",),
    ),
    "a named tuple is an instance of its class": Row(
        "from collections import namedtuple\nPoint = namedtuple('Point', 'x y')\ndef f(x):\n    return Point(x, 0)\n",
        "from solution import Point\ndef test_a():\n    assert isinstance(f(1), Point)\n",
        wrong=("def f(x):\n    return (x, 0)\n",),
    ),
    "whether an instance has a hash is the program's own": Row(
        "class f:\n    def __init__(self, x): self.x = x\n    def __eq__(self, other): return self.x == other.x\n",
        "import pytest\ndef test_a():\n    with pytest.raises(TypeError): hash(f(1))\n",
        wrong=("class f:\n    def __init__(self, x): self.x = x\n",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HOLDS_BESIDE_PYTEST)
def test_what_holds_under_pytest(judge: Judge, name: str) -> None:
    row = HOLDS_BESIDE_PYTEST[name]
    problem = asks(row.reference, "It gives a Point or a Stack.")
    [turn] = settled(judge, problem, row.text, trust=True)
    assert reasons(turn) == [""] * row.counts
    assert rows(judge, problem, turn.admitted, row.reference) == [("passed",) * row.counts]
    assert all("passed" not in found[-1:] for found in rows(judge, problem, turn.admitted, *row.wrong))


CANNOT = ("s = Stack()\n    s._x = 1", "class More(Stack): pass\n    s = More()", "s = Stack()\n    s.push(print)")


@pytest.mark.parametrize("statement", CANNOT)
def test_what_cannot_cross_is_no_failure_of_a_program_without_a_reference(statement: str) -> None:
    text = f"from solution import Stack\ndef test_a():\n    {statement}\n    assert s\n"
    text += "def test_b():\n    assert Stack().items == []\n"
    found = execute_tests(STACK, text, "Stack")
    assert (found.total, found.passed, found.unreadable) == (1, 1, 1)
    assert "does not cross" in found.details[-1].reason
