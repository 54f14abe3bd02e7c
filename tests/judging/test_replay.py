"""Texts of tests before programs: real pytest on one side, the program on the other, data between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from selfplay.box.talk import Child, Ended, Talker
from selfplay.box.task import Limits
from selfplay.judging.actors import Stopped, Subject
from selfplay.judging.clerk import shared_desk
from selfplay.judging.replay import Performance, Replay
from selfplay.judging.script import Script, Unusable

CALLING = "def f(g, x):\n    return g(x)\n"
SORT = "def f(xs):\n    return sorted(xs)\n"
STACK = """
class Empty(IndexError):
    pass

class Stack:
    def __init__(self, items=()):
        self._items = list(items)
    def push(self, item):
        self._items.append(item)
    def pop(self):
        if not self._items:
            raise Empty("nothing there")
        return self._items.pop()
    @property
    def size(self):
        return len(self._items)
    def __len__(self):
        return len(self._items)
    def __eq__(self, other):
        return isinstance(other, Stack) and self._items == other._items
"""


@pytest.fixture(scope="module")
def replay() -> Iterator[Replay]:
    talker = Talker()
    yield Replay(talker, shared_desk(), Limits(cpu_seconds=1.0))
    talker.close()


class FailingTalker(Talker):
    """The sandbox is lost when a text runs for the third time: first on outcomes near the reference's."""

    def __init__(self) -> None:
        super().__init__()
        self.texts = 0

    def tests(self, *args: Any, **settings: Any) -> Child:
        child = super().tests(*args, **settings)
        self.texts += 1
        if self.texts == 3:
            child.say = self.lost  # type: ignore[method-assign]
        return child

    def lost(self, word: str | None = None) -> bytes:
        raise Ended(None)


def scripted(replay: Replay, text: str, reference: str = SORT, entry_point: str = "f") -> Script:
    return replay.script(Subject(entry_point, reference), text)


def before(replay: Replay, text: str, program: str, reference: str = SORT, entry_point: str = "f") -> Performance:
    subject = Subject(entry_point, reference)
    return replay.before(replay.script(subject, text), subject, program)


def sites(found: Performance) -> dict[str, str]:
    return {name: verdict for name, verdict in found.sites.items() if not name.endswith(":end")}


# ---- what runs ----


def test_fixtures_parametrize_and_unittest_are_those_of_pytest(replay: Replay) -> None:
    text = """
import unittest
import pytest

@pytest.fixture(scope="module")
def made():
    items = f([3, 1])
    yield items
    items.clear()

@pytest.mark.parametrize("xs", [[2, 1], []], ids=["two", "none"])
def test_table(xs, made):
    assert f(xs) == sorted(xs) and made == [1, 3]

class TestMore(unittest.TestCase):
    def setUp(self):
        self.xs = [2, 1]
    def test_sub(self):
        for n in (1, 2):
            with self.subTest(n=n):
                self.assertEqual(f(self.xs * n)[0], 1)
"""
    tests = scripted(replay, text).story.tests
    assert {name: told.outcome for name, told in tests.items()} == {
        "module": "passed",
        "test_table[two]": "passed",
        "test_table[none]": "passed",
        "TestMore::test_sub": "passed",
    }


def test_plain_functions_are_judged_as_pytest_judges_them(replay: Replay) -> None:
    plain = """
def test_a():
    r = f([2, 1])
    assert r == [1, 2]
    assert len(r) == 3

def test_b():
    assert f([1]) != [1] or f([2]) == [2]
"""
    through_pytest = plain + "\nclass TestNothing:\n    pass\n"
    called, collected = (scripted(replay, text).story for text in (plain, through_pytest))
    assert called.verdicts() == collected.verdicts()
    assert called.operations == collected.operations


def test_a_subtest_that_raises_fails_its_test(replay: Replay) -> None:
    text = "import unittest\nclass TestF(unittest.TestCase):\n    def test_f(self):\n        for n in (1, 2):\n"
    text += "            with self.subTest(n=n):\n                for x in f([n]): self.assertEqual(x, n)\n"
    found = before(replay, text, "def f(xs):\n    return [] - xs\n")
    assert found.tests["TestF::test_f"] == "failed"
    assert set(before(replay, text, SORT + "# other").tests.values()) == {"passed"}


def test_a_file_that_pytest_cannot_collect_is_refused(replay: Replay) -> None:
    with pytest.raises(Unusable, match="no_such_package"):
        scripted(replay, "import no_such_package\ndef test_a():\n    assert no_such_package.x(f([1])) == 1\n")


def test_a_skipped_test_and_an_expected_failure_are_no_pass(replay: Replay) -> None:
    text = """
import pytest
@pytest.mark.skip
def test_a():
    assert f([1]) == [1]
@pytest.mark.xfail
def test_b():
    assert f([1]) == [2]
def test_c():
    assert f([2]) == [2]
"""
    tests = scripted(replay, text).story.tests
    assert [tests[name].outcome for name in ("test_a", "test_b", "test_c")] == ["skipped", "skipped", "passed"]


def test_classes_are_judged_by_operations_on_handles(replay: Replay) -> None:
    text = """
import pytest
from stack import Empty, Stack

def test_stack():
    stack = Stack([1])
    stack.push(2)
    assert len(stack) == 2
    assert stack.size == 2
    assert stack.pop() == 2
    assert stack == Stack([1])
    stack.pop()
    with pytest.raises(Empty, match="nothing"):
        stack.pop()
"""
    assert set(before(replay, text, STACK, STACK, "Stack").sites.values()) == {"passed"}
    first_in = STACK.replace("self._items.pop()", "self._items.pop(0)")
    found = before(replay, text, first_in, STACK, "Stack")
    assert [sites(found)[f"test_stack:{n}.0"] for n in range(5)] == ["passed", "passed", "failed", "failed", "passed"]


def test_a_class_that_derives_from_another_is_judged(replay: Replay) -> None:
    shapes = "class Shape:\n    kind = 'any'\nclass Square(Shape):\n    def area(self):\n        return 4\n"
    text = (
        "def test_a():\n    s = Square()\n    assert s.area() == 4 and isinstance(s, Shape) and Square.kind == 'any'\n"
    )
    assert scripted(replay, text, shapes, "Square").story.sites["test_a:0.0"].held


def test_an_instance_that_the_program_holds_is_one_of_its_names(replay: Replay) -> None:
    tree = (
        "class Node:\n    def __init__(self, value): self.value = value\nroot = Node(3)\ndef f(node): return node.value"
    )
    found = before(replay, "assert f(root) == 3", tree.replace("Node(3)", "Node(4)"), tree)
    assert sites(found) == {"module:0.0": "failed"}
    assert sites(before(replay, "assert f(root) == 3", tree + "  # right", tree)) == {"module:0.0": "passed"}


def test_private_names_do_not_cross(replay: Replay) -> None:
    script = scripted(replay, "def test_a():\n    s = Stack([1])\n    assert s._items == [1]\n", STACK, "Stack")
    assert not script.story.sites["test_a:0.0"].held


def test_a_copy_of_the_program_in_the_text_is_not_what_is_tested(replay: Replay) -> None:
    text = "def f(xs):\n    return xs\n\ndef test_a():\n    r = f([2, 1])\n    assert r == [1, 2]\n"
    assert scripted(replay, text).story.sites["test_a:0.0"].held


# ---- granularity ----


def test_an_assertion_that_fails_does_not_hide_the_next(replay: Replay) -> None:
    text = "def test_a():\n    r, s = f([2, 1]), f([5])\n    assert r == [1, 2]\n    assert s == [5]\n"
    found = before(replay, text, "def f(xs):\n    return xs\n")
    assert sites(found) == {"test_a:0.0": "failed", "test_a:1.0": "passed"}
    assert found.tests["test_a"] == "failed"


def test_a_loop_over_a_table_is_a_case_a_row(replay: Replay) -> None:
    text = "def test_a():\n    for xs, want in [([2, 1], [1, 2]), ([3], [3])]:\n        assert f(xs) == want\n"
    found = before(replay, text, "def f(xs):\n    return xs\n")
    assert sites(found) == {"test_a:0.0": "failed", "test_a:0.1": "passed"}


def test_a_flag_set_at_the_first_difference_fails_nothing_else(replay: Replay) -> None:
    text = """
broken = []
def test_a():
    if f([2, 1]) != [1, 2]:
        broken.append(1)
def test_b():
    assert f([3]) == [3] and not broken
"""
    found = before(replay, text, "def f(xs):\n    return xs\n")
    assert found.sites["test_b:0.0"] == "passed"
    assert found.sites["test_a:end"] == "passed"


def test_a_site_in_a_helper_rests_on_its_own_call(replay: Replay) -> None:
    text = """
def check(xs, want):
    assert f(xs) == want
def test_a():
    check([2, 1], [1, 2])
    check([3], [3])
"""
    story = scripted(replay, text).story
    assert [site.rests for name, site in story.sites.items() if not name.endswith("end")] == [(0,), (1,)]


# ---- fairness ----


def test_what_is_equal_by_our_rules_is_given_as_the_reference_did_it(replay: Replay) -> None:
    text = "def test_a():\n    r = f(2)\n    assert repr(r) == '1.0' and type(r) is float\n"
    found = before(replay, text, "def f(n):\n    print('noise')\n    return 1\n", "def f(n):\n    return n / 2\n")
    assert (found.sites["test_a:0.0"], found.ran) == ("passed", False)


def test_messages_of_exceptions_are_nobodys_business(replay: Replay) -> None:
    text = "import pytest\ndef test_a():\n    with pytest.raises(ValueError, match='empty'):\n        f([])\n"
    reference = "def f(xs):\n    raise ValueError('empty list')\n"
    assert before(replay, text, "def f(xs):\n    raise ValueError\n", reference).sites["test_a:0.0"] == "passed"
    assert before(replay, text, "def f(xs):\n    raise KeyError\n", reference).sites["test_a:0.0"] != "passed"


def test_a_crash_ends_the_test_and_is_never_shown_to_it(replay: Replay) -> None:
    text = """
import pytest
def test_a():
    with pytest.raises(BaseException):
        f([])
def test_b():
    assert f([2, 1]) == [1, 2]
"""
    reference = "def f(xs):\n    if not xs:\n        raise ValueError\n    return sorted(xs)\n"
    crashing = "import os\ndef f(xs):\n    if not xs:\n        os._exit(0)\n    return sorted(xs)\n"
    found = before(replay, text, crashing, reference)
    assert (found.sites["test_a:0.0"], found.sites["test_b:1.0"]) == ("error", "passed")


def test_a_program_that_never_ends_costs_its_own_sites_alone(replay: Replay) -> None:
    text = (
        "def test_a():\n    r = f([])\n    assert r == []\ndef test_b():\n    r = f([2, 1])\n    assert r == [1, 2]\n"
    )
    found = before(replay, text, "def f(xs):\n    while not xs:\n        pass\n    return sorted(xs)\n")
    assert sites(found) == {"test_a:0.0": "timeout", "test_b:1.0": "passed"}


def test_a_program_gets_no_argument_made_of_a_result_that_it_has_not_given(replay: Replay) -> None:
    both = """
def encode(x):
    return x + 1
def decode(y):
    return y - 1
"""
    peeking = """
seen = []
def encode(x):
    return "no"
def decode(y):
    seen.append(y)
    return y - 1 if y != 42 else 41 if 42 in seen else 0
"""
    text = "def test_a():\n    e = encode(41)\n    assert decode(e) == 41\n"
    found = before(replay, text, peeking, both, "decode")
    assert found.sites["test_a:0.0"] != "passed"
    assert '["call","decode",["t",42],["d"]]' not in found.outcomes


# ---- tests that cheat ----


@pytest.mark.parametrize(
    "coin",
    [
        "import os\ndef test_a():\n    r = f([1])\n    assert os.urandom(1)[0] % 2 or r is None\n",
        "def test_a():\n    r = f([1])\n    assert hash('some words') % 2 or r is None\n",
        "import random\ndef test_a():\n    r = f([1])\n    assert random.Random().random() < .5 or r is None\n",
    ],
    ids=["urandom", "hash", "unseeded"],
)
def test_a_coin_is_noticed_or_weak(replay: Replay, coin: str) -> None:
    admitted = 0
    for number in range(4):
        script = scripted(replay, f"{coin}\n# {number}\n")
        site = script.story.sites["test_a:0.0"]
        admitted += site.held and "test_a:0.0" not in script.unstable and script.marks["test_a:0.0"].count("1") >= 5
    assert admitted < 4


def test_a_test_that_swallows_its_questions_is_worth_nothing(replay: Replay) -> None:
    text = "def test_a():\n    try:\n        r = f([2, 1])\n    except BaseException:\n        pass\n    assert True\n"
    script = scripted(replay, text)
    assert script.marks["test_a:0.0"] == "000000000"


def test_a_text_that_asks_without_end_is_refused(replay: Replay) -> None:
    with pytest.raises(Unusable, match=r"more than|time"):
        scripted(replay, "def test_a():\n    for n in range(10**6):\n        assert f([n]) == [n]\n")


def test_a_sandbox_that_fails_on_a_near_outcome_says_nothing_of_the_test() -> None:
    talker = FailingTalker()
    try:
        with pytest.raises(Stopped, match="infra_error"):
            scripted(
                Replay(talker, shared_desk(), Limits(cpu_seconds=1.0)),
                "def test_a():\n    assert f([2, 1]) == [1, 2]\n",
            )
    finally:
        talker.close()


def test_a_text_that_never_ends_is_refused(replay: Replay) -> None:
    with pytest.raises(Unusable, match="time"):
        scripted(replay, "def test_a():\n    r = f([1])\n    while True:\n        pass\n")


@pytest.mark.parametrize("end", ["import os\nos._exit(0)", "import os\nos.kill(os.getpid(), 9)", "x = [0] * 10**10"])
def test_a_text_that_ends_its_process_is_refused(replay: Replay, end: str) -> None:
    lines = end.replace("\n", "\n    ")
    try:
        script = scripted(replay, f"def test_a():\n    r = f([1])\n    assert r == [1]\n    {lines}\n")
    except Unusable:
        return
    assert script.story.tests["test_a"].outcome == "failed"  # memory: refused as an exception


@pytest.mark.parametrize("argument", ["eval", "getattr", "lambda x: x.upper()", "lambda x: __import__('os')"])
def test_code_does_not_cross_as_an_argument(replay: Replay, argument: str) -> None:
    text = f"def test_a():\n    r = f([], '0')\ndef test_b():\n    r = f({argument}, '1')\n    assert r is not None\n"
    story = scripted(replay, text, CALLING).story
    assert story.tests["test_b"].outcome == "failed"
    assert [outcome for outcome in story.outcomes if not outcome.startswith('{"x":["TypeError"')] == []


def test_listed_functions_and_plain_lambdas_cross(replay: Replay) -> None:
    text = "def test_a():\n    assert f(len, 'abc') == 3\n    assert f(lambda x: x * 2, 4) == 8\n"
    assert all(site.held for site in scripted(replay, text, CALLING).story.sites.values())


def test_the_tests_after_one_that_ends_the_program_rest_on_calls_of_their_own(replay: Replay) -> None:
    text = "def test_a():\n    x = f([3, 1])\n    assert x == [1, 3]\n\n"
    text += "def test_b():\n    for n in range(1, 9):\n        xs = f([n, 0])\n        assert xs == [0, n]\n"
    program = "import os\ndef f(xs):\n    if xs == [3, 1]: os._exit(0)\n    return xs if xs[0] == 8 else sorted(xs)"
    found = sites(before(replay, text, program))
    assert [verdict for name, verdict in found.items() if name.startswith("test_a")] == ["error"]
    assert [verdict for name, verdict in found.items() if name.startswith("test_b")] == ["passed"] * 7 + ["failed"]
