"""Which cases count: by data alone, and beside the reference."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.box.task import Execution, Limits
from selfplay.cases.calls import call_text
from selfplay.cases.case import Case
from selfplay.cases.read import Reading, read_cases
from selfplay.cases.values import encode
from selfplay.game.problems import Contract, Problem
from selfplay.judging.admission import ALL, MAX_WEIGHED, Beside, admit, is_weak, screen
from selfplay.judging.judge import Judge
from tests.judging.court import asks, reasons, settled

REFERENCE = "def f(xs):\n    return sum(xs)\n"
SIGNATURE = "def f(xs: list[int]) -> int:"
PROBLEM = Problem("p", "The sum; raises ValueError if there is none.", "f", SIGNATURE, (), REFERENCE)
BLIND = Problem("p", "The sum.", "f", SIGNATURE, ())
CONTRACT = Contract(("0 < k <= len(xs)",), ("KeyError",))
BOUND = Problem("p", "", "f", "def f(xs: list[int], k: int) -> int:", (), REFERENCE, contract=CONTRACT)
LIMITS = Limits(cpu_seconds=2)


def screened(text: str, problem: Problem = PROBLEM, trust: bool = False) -> list[str]:
    """Why each case does not count, "" where nothing is wrong so far."""
    found = screen(problem, read_cases(text, "f", problem.signature), trust=trust)
    return [refusal.reason if refusal else "" for refusal in found]


def beside(ran: dict[str, Execution], **more: Any) -> Beside:
    return Beside(ran, {}, LIMITS, **more)


def judged(cases: list[Case] | tuple[Case, ...], ran: dict[str, Execution], **more: Any) -> list[str]:
    refusals = admit(PROBLEM, cases, [None] * len(cases), beside(ran, **more))[1]
    return [refusal.reason if refusal else "" for refusal in refusals]


def against(result: Any, *tests: str) -> list[str]:
    """What becomes of tests where the reference returns `result` for every call."""
    cases = [
        case for test in tests for case in read_cases(f"import pytest\nassert {test}", "f", "def f(x, k=2):").cases
    ]
    assert len(cases) == len(tests)
    problem = Problem("p", "", "f", "def f(x, k=2):", (), "...")
    ran = {case.arguments: Execution("returned", encode(result)) for case in cases}
    return [one.reason if one else "" for one in admit(problem, cases, [None] * len(cases), beside(ran))[1]]


# ---- before anything runs ----


@pytest.mark.parametrize(
    "second", ["f([1, 2]) == 3", "3 == f( [1,2] )", "f([1, 2]) == 4", "f([2, 1]) == 3", "f([1, 2]) >= 3"]
)
def test_a_case_that_says_the_same_again_is_a_duplicate(second: str) -> None:
    same = second in ("f([1, 2]) == 3", "3 == f( [1,2] )")
    assert screened(f"assert f([1, 2]) == 3\nassert {second}") == ["", "duplicate" if same else ""]
    assert screened(f"assert f([1, 2]) == 3\nassert {second}", trust=True) == ["", ""]


def test_a_case_of_an_earlier_turn_is_a_duplicate() -> None:
    reading = read_cases("assert f([1]) == 1", "f")
    [refusal] = screen(PROBLEM, reading, [reading.cases[0].identity])
    assert refusal
    assert refusal.reason == "duplicate"


@pytest.mark.parametrize("call", ["f('ab')", "f([1.5])", "f([1], 2)", "f([True])"])
def test_arguments_outside_of_the_annotations_are_refused(call: str) -> None:
    assert screened(f"assert {call} == 3") == ["domain"]
    assert screened(f"assert {call} == 3", trust=True) == [""]


def with_raises(name: str, call: str = "f([])") -> str:
    return f"import pytest\ndef test_x():\n    with pytest.raises({name}):\n        {call}\n"


def test_an_expected_exception_counts_only_where_the_problem_names_it() -> None:
    assert screened(with_raises("ValueError")) == [""]
    assert screened(with_raises("ValueError", "f('ab')")) == [""]  # whatever its arguments are
    assert screened(with_raises("TypeError")) == screened(with_raises("(ValueError, TypeError)")) == ["exception"]
    assert screened(with_raises("KeyError", "f([1], 1)"), BOUND) == [""]
    assert screened(with_raises("TypeError"), trust=True) == [""]
    described = Problem("p", "Raises MyValueErrors.", "f", SIGNATURE, (), REFERENCE)  # a part of a word
    assert screened(with_raises("ValueError"), described) == ["exception"]


@pytest.mark.parametrize(
    ("expected", "absolute", "bounded"),
    [
        (3.0, 0.001, True), (3.0, 2.0, False), (1000.0, 5.0, True), ([1e6, 6.0], 10_000.0, False), ((1e6, 6.0), 0.05, True),
        (float("nan"), 0.015, False), ([1e6, 1e7], 10_000.0, True), ({"a": 1e6, "b": 0.0}, 1.0, False),
        ({1e6: 0.0}, 1.0, False),
        (0, 0.5, False), ([1e6, float("inf")], 10_000.0, True), ([float("inf"), 1.0], 1e300, False),
        ([10**400, 5], 100.0, False),
        ([10**400], 100.0, True), (3 + 4j, 0.05, True), (3 + 4j, 0.06, False), (2.0, 1e300, False),
    ],
)  # fmt: skip
def test_a_tolerance_is_small_beside_every_number(expected: object, absolute: float, bounded: bool) -> None:
    case = Case("t", "", call_text([[1]]), "approx", encode(expected), (0.0, absolute))
    [refusal] = screen(PROBLEM, Reading((case,)))
    assert (refusal.reason if refusal else "") == ("" if bounded else "tolerance")


@pytest.mark.parametrize(
    ("test", "weak"),
    [("f([1]) != 5", True), ("f([1]) is not None", True), ("f([1])", True), ("f([1]) >= 1", True), ("f([1]) == 1", False),
     ("not f([0])", True), ("f([1]) < 2", True), ("abs(f([1]) - 1.5) < 1e-6", False), ("f([1]) is True", False),
     ("f([1]) in [1, 2]", False)],
)  # fmt: skip
def test_without_a_reference_what_looks_weak_is_refused(test: str, weak: bool) -> None:
    truth = Problem("p", "Whether.", "f", "def f(xs: list[int]) -> bool:", ())
    assert screened(f"assert {test}", BLIND) == (["weak"] if weak and test != "not f([0])" else [""])
    assert screened("assert f([1])", truth) == [""]


@pytest.mark.parametrize(
    ("one", "other", "contested"),
    [
        ("f([1]) is True", "f([1]) is False", True),
        ("f([1]) == 1", "f([1]) == 2", True),
        ("f([1]) == 1", "f([2]) == 2", False),
    ],
)
def test_without_a_reference_what_cannot_both_be_true_is_refused(one: str, other: str, contested: bool) -> None:
    assert screened(f"assert {one}\nassert {other}", BLIND) == ["conflict" if contested else ""] * 2
    assert screened(f"assert {one}\nassert {other}") == ["", ""]


# ---- beside the reference ----


@pytest.mark.parametrize(
    ("execution", "reason"),
    [
        (Execution("returned", "3", seconds=0.1), ""),
        (Execution("returned", "4"), "reference"),
        (Execution("raised", exception=("ValueError",)), "reference"),
        (Execution("raised", exception=("RecursionError",)), "margin"),
        (Execution("timeout"), "slow"),
        (Execution("returned", "3", seconds=1.5), "slow"),
        (Execution("infra_error"), "infra_error"),
    ],
)
def test_the_reference_settles_what_counts(execution: Execution, reason: str) -> None:
    [case] = read_cases("assert f([1, 2]) == 3", "f").cases
    assert judged([case], {case.arguments: execution}) == [reason]


def test_what_a_program_prints_counts_once() -> None:
    printing = Problem("s", "", "", "", (), "print(2)", kind="stdio")
    cases = [Case("t", out, "1", "stdout", out, calls=("1",)) for out in ("2\n", "2", "3")]
    found = admit(printing, cases, [None] * 3, beside({"1": Execution("returned", "2\n")}))[1]
    assert [one and one.reason for one in found] == [None, "duplicate", "reference"]


@pytest.mark.parametrize(("mark", "weak"), [(ALL, False), ("000000000", True), ("111110000", True), ("111111000", True),
                                            ("111100100", False), ("000000111", True), ("110000111", False),
                                            ("", False)])  # fmt: skip
def test_weak_is_what_accepts_most_of_what_is_near_or_every_change_of_a_leaf(mark: str, weak: bool) -> None:
    assert is_weak(mark) is weak


@pytest.mark.parametrize(
    ("test", "result", "reason"),
    [("f(1) == 5", 5, ""), ("f(1) != 4", 5, "weak"), ("f(1) is not None", 5, "weak"), ("f(1) >= 0", 5, "weak"),
     ("f(1) > -4", 5, "weak"), ("f(1)", 5, "weak"), ("f(1)", [1], "weak"), ("f(1) is True", True, ""),
     ("f(1) is None", None, ""),
     ("f(1) in (5, 700)", 5, ""), ("f(1) in range(-100, 100)", 5, "weak"), ("abs(f(1) - 0.5) < 1e-6", 0.5, ""),
     ("f(1) == 'abc'", "abc", ""), ("f(1) != {}", {"a": 1}, "weak"), ("f(1) not in [6, 4, -5, 0, 1, 10, None]", 5, "weak"),
     ("f(1) == pytest.approx([1e6, 6.0])", [1e6, 6.0], "")],
)  # fmt: skip
def test_a_case_that_most_outcomes_near_the_right_one_pass_is_weak(test: str, result: object, reason: str) -> None:
    assert against(result, test) == [reason]


@pytest.mark.parametrize(
    "dress", ["f(1) in [5, 10000]", "abs(f(1) - 5) < 1e-6", "f(x=1) == 5.0", "f(1, 2) == 5", "f(1, k=2) in (5,)"]
)
def test_after_the_exact_value_what_the_same_calls_say_is_a_duplicate(dress: str) -> None:
    assert against(5, "f(1) == 5", dress) == ["", "duplicate"]


def test_a_weaker_case_first_leaves_the_stronger_one_its_place() -> None:
    tests = ["f(1) <= 5.5", "f(1) == 5", "f(1) in [5]"]
    found = against(5, *tests)
    assert found[1:] == ["", "duplicate"]


def test_other_inputs_are_other_cases() -> None:
    assert against(5, "f(1) == 5", "f(2) == 5", "f(1, 3) == 5", "f(1, 2) == 5") == ["", "", "", "duplicate"]


def test_an_exception_is_tried_with_its_kin() -> None:
    call = call_text([1])
    ran = {call: Execution("raised", exception=("KeyError", "LookupError", "Exception", "BaseException"))}

    def found(*wanted: list[str]) -> list[str]:
        return judged(
            [Case("t", "", call, "raises", json.dumps(names), calls=(call,)) for names in wanted], ran, trust=False
        )

    assert found(["KeyError"], ["KeyError"]) == ["", "duplicate"]
    assert found(["Exception"]) == ["weak"]


def test_of_a_huge_output_only_the_whole_counts() -> None:
    part = Case("t", "", call_text([[1]]), "in", encode(["a" * MAX_WEIGHED]))
    whole = Case("u", "", call_text([[1]]), "==", encode("a" * MAX_WEIGHED))
    assert judged([part, whole], {whole.arguments: Execution("returned", whole.expected)}) == ["weak", ""]


def test_a_mark_is_drawn_by_the_seed_and_the_call() -> None:
    [case] = read_cases("assert f([1]) in range(1, 40)", "f").cases
    marks = {seed: admit(PROBLEM, [case], [None], beside({case.arguments: Execution("returned", "7")}, seed=seed))[0][0].mark
             for seed in map(str, range(8))}  # fmt: skip
    assert len(set(marks.values())) > 1
    again = admit(PROBLEM, [case], [None], beside({case.arguments: Execution("returned", "7")}, seed="3"))
    assert again[0][0].mark == marks["3"]


VALUES = st.integers(-3, 3) | st.booleans() | st.lists(st.integers(-2, 2), max_size=3) | st.text("ab", max_size=3)


@given(st.lists(st.tuples(st.integers(0, 2), VALUES), max_size=6), st.lists(VALUES, min_size=3, max_size=3))
def test_nothing_counts_that_the_reference_fails_and_no_value_twice(
    written: list[tuple[int, object]], right: list[object]
) -> None:
    calls = [call_text([[n]]) for n in range(3)]
    cases = [
        Case(f"t{n}", "", calls[x], "==", encode(value), calls=(calls[x],)) for n, (x, value) in enumerate(written)
    ]
    found = judged(
        cases, {call: Execution("returned", encode(value)) for call, value in zip(calls, right, strict=True)}
    )
    assert all(reason == "reference" for reason, (x, value) in zip(found, written, strict=True) if value != right[x])
    earliest = {x: n for n, (x, value) in reversed([*enumerate(written)]) if value == right[x]}
    assert [n for n, reason in enumerate(found) if not reason] == sorted(earliest.values())


# ---- cases that run ----

RUN = "def test_a():\n    r = {}\n    assert {}\n"


@pytest.mark.parametrize(
    ("call", "asserted", "reason"),
    [("f([1, 2], 1)", "r == 3", ""), ("f([1, 2], 3)", "r == 3", "domain"), ("f([1, 2], 'a')", "r == 3", "domain"),
     ("f([1, 2], 1)", "r > -5", "weak"), ("f([1, 2], 1)", "r == 4", "reference"), ("5", "r == 5", "no_call")],
)  # fmt: skip
def test_a_site_counts_as_a_literal_case_does(judge: Judge, call: str, asserted: str, reason: str) -> None:
    bound = asks("def f(xs, k):\n    return sum(xs)\n", signature=BOUND.signature, contract=CONTRACT)
    assert reasons(settled(judge, bound, RUN.format(call, asserted))[0]) == [reason]


def test_the_calls_of_a_reference_that_remembers_must_be_allowed_too(judge: Judge) -> None:
    reference = "seen = []\ndef f(xs, k):\n    seen.append(k)\n    return sum(xs)\n"
    bound = asks(reference, signature=BOUND.signature, contract=CONTRACT)
    text = RUN.format("f([1, 2], 3)", "r == 3") + RUN.format("f([1, 2], 1)", "r == 3").replace("_a", "_b")
    assert reasons(settled(judge, bound, text)[0]) == ["domain", ""]


def test_what_a_test_lets_the_reference_raise_must_be_asked_for(judge: Judge) -> None:
    text = "import pytest\ndef test_a():\n    n = []\n    with pytest.raises({0}):\n        f(n)\n"
    raising = "def f(xs):\n    if not xs:\n        raise {0}('none')\n    return sum(xs)\n"
    asked = [asks(raising.format(kind), "ValueError if empty.") for kind in ("ValueError", "KeyError", "Exception")]
    found = [reasons(settled(judge, problem, text.format("Exception"))[0]) for problem in asked]
    assert found[1:] == [["exception"], ["exception"]]
    assert reasons(settled(judge, asked[0], text.format("ValueError"))[0]) == [""]


def test_a_site_leaves_a_right_program_a_margin(judge: Judge) -> None:
    deep = "def deep(n):\n    return 0 if n == 0 else 1 + deep(n - 1)\n"
    told = [RUN.format(f"f({n})", f"r == {n}") for n in (700, 950)]
    assert [reasons(settled(judge, asks(deep + "f = deep"), text)[0]) for text in told] == [[""], ["reference"]]
    slow = "import time\ndef f(x):\n    end = time.process_time() + x\n    while time.process_time() < end: pass\n    return x"
    assert reasons(settled(judge, asks(slow), RUN.format("f(0.7)", "r == 0.7"))[0]) == ["slow"]
