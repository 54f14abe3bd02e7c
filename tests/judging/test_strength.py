"""What a case states beyond others, and against outputs of other inputs."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from selfplay.box.task import Execution
from selfplay.cases.calls import call_text
from selfplay.cases.case import Case
from selfplay.cases.values import encode, load
from selfplay.game.problems import Problem
from selfplay.judging.admission import Admission, admit, identity, samples_of, screen
from selfplay.judging.strength import Earlier, is_exact
from selfplay.reading import Reading, read_cases
from tests.cases.python_terms import term_text

SIGNATURE = "def f(x, k=2):"
PROBLEM = Problem("p", "", "f", SIGNATURE, (), "def f(x, k=2): ...")


def admission(tests: Sequence[str | Case], result: Any, samples: Sequence[Any] = ()) -> Admission:
    """What is decided on some tests where the reference returns `result` for every call."""
    cases = [read_cases(f"assert {t}", "f", SIGNATURE).cases[0] if isinstance(t, str) else t for t in tests]
    ran = {call: Execution("returned", encode(result)) for case in cases for call in case.calls}
    return admit(PROBLEM, cases, ran, samples=[load(encode(sample)) for sample in samples])


def reasons(tests: Sequence[str | Case], result: Any, samples: Sequence[Any] = ()) -> list[str]:
    return [refusal.reason if refusal else "" for refusal in admission(tests, result, samples).refusals]


@pytest.mark.parametrize(
    "dress",
    [
        "round(f(1), 3) == 5",
        "round(f(1)) == 5",
        "round(f(1), -1) == 0",
        "f(1) in [5, 100]",
        "f(1) in (5, 7)",
        "int(f(1)) == 5",
        "int(int(f(1))) == 5",
        "float(f(1)) == 5.0",
        "abs(f(1)) == 5",
        "str(f(1)) == '5' or True",
        "abs(f(1) - 5) < 1e-6",
        "f(1) > 4",
        "f(1) != 6",
        "f(x=1) == 5.0",
        "f(1) not in [6, 4, -5, 0, 1, 10, 15, None]",
    ],
)
def test_after_the_exact_value_a_weaker_case_on_the_same_input_is_a_duplicate(dress: str) -> None:
    if " or True" in dress:
        dress = dress.removesuffix(" or True")
    assert reasons(["f(1) == 5", dress], 5)[1] in ("duplicate", "vacuous") or dress == "str(f(1)) == '5'"


def test_a_weaker_case_first_leaves_the_stronger_one_its_place() -> None:
    assert reasons(["f(1) in [5, 100]", "f(1) == 5"], 5) == ["", ""]
    assert reasons(["f(1) in [5, 6, 4]", "f(1) in [5, 6]", "f(1) == 5", "f(1) in [5, 6]"], 5) == [
        "",
        "",
        "",
        "duplicate",
    ]


def test_many_roundings_are_one_case() -> None:
    right = 2.123456789
    found = reasons([f"round(f(1), {digits}) == {round(right, digits)}" for digits in range(16)], right)
    assert found.count("") <= 6
    assert reasons(["f(1) == 2.5", *(f"round(f(1), {k}) == {round(2.5, k)}" for k in range(1, 16))], 2.5).count("") == 1


def test_other_inputs_are_other_cases() -> None:
    assert reasons(["f(1) == 5", "f(2) == 5", "f(1, 3) == 5", "f(1, k=2) == 5", "f(1, 2) == 5"], 5) == [
        *("", "", "", "", "duplicate"),
    ]


@pytest.mark.parametrize(
    ("result", "tests"),
    [
        ([4, 5, 6], ["f(1)[0] == 4", "f(1)[1] == 5", "f(1)[2] == 6"]),
        ([4, 5, 6], ["len(f(1)) == 3", "f(1)[1] == 5", "sorted(f(1)) == [4, 5, 6]", "f(1) == [4, 5, 6]"]),
        ([3, 1, 2], ["sorted(f(1)) == [1, 2, 3]", "f(1)[0] == 3", "f(1) == [3, 1, 2]"]),
        ([[1, 2], [3, 4]], ["f(1)[0][0] == 1", "f(1)[0][1] == 2", "f(1)[1][0] == 3", "f(1)[1][1] == 4"]),
        ({"a": 1, "b": 2}, ["f(1)['a'] == 1", "f(1)['b'] == 2"]),
        (list(range(500)), ["f(1)[137] == 137", "f(1)[138] == 138"]),
        ("abcdef", ["f(1)[0] == 'a'", "f(1)[5] == 'f'", "f(1).upper() == 'ABCDEF'", "f(1) == 'abcdef'"]),
        (2.5, ["round(f(1), 1) == 2.5", "round(f(1), 4) == 2.5"]),
    ],
)
def test_each_part_of_a_result_is_a_case_of_its_own(result: object, tests: list[str]) -> None:
    cases = [read_cases(f"assert {test}", "f", SIGNATURE).cases[0] for test in tests]
    earlier = Earlier(cases, SIGNATURE)
    assert [earlier.adds(case, [Execution("returned", encode(result))]) for case in cases] == [True] * len(tests)
    assert not earlier.adds(cases[0], [Execution("returned", encode(result))])


def test_a_case_that_excludes_a_list_of_values_checks_next_to_nothing() -> None:
    for listed in ("[6, 4, -5, 0, 1, 10, 15, None]", "range(6, 60)", "list(range(-60, 5)) + list(range(6, 60))"):
        assert reasons([f"f(1) not in {listed}"], 5) == ["vacuous"]
    assert reasons(["f(1) != 7"], 5) == ["vacuous"]


@pytest.mark.parametrize("result", [b"a", bytearray(b"ab"), range(3), 1 + 2j])
def test_a_case_that_all_outputs_of_the_type_pass_does_not_count_for_any_type(result: Any) -> None:
    kind = type(result).__name__
    tests = [f"isinstance(f(1), {kind})", f"f(1) != {5!r}", f"bool(f(1)) not in {{7, 8}} or isinstance(f(1), {kind})"]
    assert reasons(tests, result) == ["vacuous"] * 3


def test_a_prefix_that_other_outputs_share_checks_something() -> None:
    assert reasons(["f(1)[:3] == [0, 1, 2]"], [0, 1, 2, 3, 4], [list(range(n)) for n in range(12)]) == [""]


def test_a_case_is_measured_at_the_place_that_it_looks_at() -> None:
    assert reasons(["int(f(1)[1]) in range(0, 12)"], [1e6, 6.0]) == ["vacuous"]
    assert reasons(["f(1)[1] < 6.5"], [1e6, 6.0]) == ["vacuous"]
    assert reasons(["f(1)[1] == 6.0"], [1e6, 6.0]) == [""]


def test_a_relation_is_measured_at_the_places_that_it_looks_at() -> None:
    assert reasons([relation("f0[1] < 6.5", 1)], [1e6, 6.0]) == ["vacuous"]
    assert reasons([relation("f0[1] == 6.0", 1)], [1e6, 6.0]) == [""]


@pytest.mark.parametrize(("operator", "view", "exact"), [("==", (), True), ("==", ("len",), False), ("!=", (), False)])
def test_a_case_is_exact_that_expects_one_whole_value(operator: str, view: tuple[str, ...], exact: bool) -> None:
    assert is_exact(Case("t", "", call_text([1]), operator, "5", view)) is exact


def test_samples_that_are_the_right_value_say_nothing() -> None:
    assert reasons(["f(1) in [5, 100]"], 5, [5, 5.0]) == [""]


def exceptional(*names: str) -> Case:
    return Case("t", f"raises {names}", call_text([1]), "raises", json.dumps(names))


def test_a_wider_exception_is_a_duplicate_and_a_narrower_one_is_not() -> None:
    ran = {call_text([1]): Execution("raised", exception=("KeyError", "LookupError", "Exception"))}

    def found(*cases: Case) -> list[str]:
        return [refusal.reason if refusal else "" for refusal in admit(PROBLEM, cases, ran).refusals]

    assert found(exceptional("KeyError"), exceptional("LookupError"), exceptional("KeyError", "ValueError")) == [
        *("", "duplicate", "duplicate"),
    ]
    assert found(exceptional("Exception"), exceptional("LookupError"), exceptional("KeyError")) == ["", "", ""]


def test_exceptions_of_a_program_s_own_are_compared_by_name() -> None:
    ran = {call_text([1]): Execution("raised", exception=("MyError", "Exception"))}

    def found(*cases: Case) -> list[str]:
        return [refusal.reason if refusal else "" for refusal in admit(PROBLEM, cases, ran).refusals]

    assert found(exceptional("MyError"), exceptional("MyError")) == ["", "duplicate"]
    assert found(exceptional("MyError"), exceptional("MyError", "OtherError")) == ["", "duplicate"]
    assert found(exceptional("MyError", "OtherError"), exceptional("MyError")) == ["", ""]
    assert found(exceptional("MyError", "int"), exceptional("MyError")) == ["", ""]


def test_of_two_cases_on_printed_numbers_the_finer_one_says_more() -> None:
    def printed(tolerance: float) -> Case:
        return Case("t", f"within {tolerance}", "1", "stdout", "2.0", tolerance=(0.0, tolerance))

    ran = {"1": Execution("returned", "2.0")}
    for order, expected in (
        ((0.1, 0.01, 0.1), ["", "", "duplicate"]),
        ((0.01, 0.1), ["", "duplicate"]),
        ((0.1, 0.1), ["", "duplicate"]),
        ((0.1, 0.01, 0.05), ["", "", "duplicate"]),
    ):
        found = admit(PROBLEM, [printed(tolerance) for tolerance in order], ran)
        assert [refusal.reason if refusal else "" for refusal in found.refusals] == expected


def relation(expression: str, *calls: int) -> Case:
    texts = [call_text([call]) for call in calls]
    return Case("t", expression, texts[0], "satisfies", term_text(expression), further=tuple(texts[1:]))


def test_a_relation_between_known_values_states_nothing_more() -> None:
    relating = relation("f0 == f1", 1, 2)
    assert reasons([relating, "f(1) == 5", "f(2) == 5"], 5) == ["", "", ""]
    assert reasons(["f(1) == 5", "f(2) == 5", relating], 5) == ["", "", "duplicate"]
    assert reasons(["f(1) == 5", relating], 5) == ["", ""]


def test_a_relation_of_three_calls_is_tried_at_each_of_them() -> None:
    assert reasons([relation("f0 == 5 and f1 == 5 and f2 == 5", 1, 2, 3)], 5) == [""]
    two = relation("f0 == 5 and f1 == 5", 1, 2)
    assert reasons([two, relation("f0 == 5 and f1 == 5 and f2 == 5", 1, 2, 3)], 5) == ["", ""]
    assert reasons([relation("f0 == 5 and f1 == 5 and f2 == 5", 1, 2, 3), two], 5) == ["", ""]


def test_places_that_relations_name_are_tried_in_long_results() -> None:
    cases = [relation("f0[137] == 137", 1), relation("f0[138] == 138", 1), relation("f0[-2] == 498", 1)]
    earlier, ran = Earlier(cases, SIGNATURE), [Execution("returned", encode(list(range(500))))]
    assert [earlier.adds(case, ran) for case in cases] == [True] * 3
    assert [earlier.adds(case, ran) for case in cases] == [False] * 3


@pytest.mark.parametrize("listed", ["[1000, 5]", "(1000, 5)", "{1000, 5}", "frozenset({1000, 5})"])
def test_a_value_that_an_earlier_case_lets_pass_is_tried_whatever_holds_it(listed: str) -> None:
    cases = [read_cases(f"assert {test}", "f", SIGNATURE).cases[0] for test in (f"f(1) in {listed}", "f(1) == 5")]
    earlier, ran = Earlier(cases, SIGNATURE), [Execution("returned", "5")]
    assert [earlier.adds(case, ran) for case in cases] == [True, True]


@pytest.mark.parametrize("seed", range(5))
def test_a_case_that_was_admitted_adds_nothing_the_second_time(seed: int) -> None:
    tests = ["f(1) == 5", "f(1) > 4", "f(1) in [5, 7]", "f(1) != 6", "round(f(1)) == 5", "f(1) < 6", "f(2) == 5"]
    Random(seed).shuffle(tests)
    cases = [read_cases(f"assert {test}", "f", SIGNATURE).cases[0] for test in tests]
    earlier, ran = Earlier(cases, SIGNATURE), [Execution("returned", "5")]
    first = [earlier.adds(case, ran) for case in cases]
    assert first[0]
    assert not any(earlier.adds(case, ran) for case in cases)
    exact = tests.index("f(1) == 5")
    assert not any(first[n] for n in range(exact + 1, len(tests)) if tests[n] != "f(2) == 5")


def test_a_relation_that_most_outputs_satisfy_is_vacuous() -> None:
    assert reasons([relation("f0 == f0", 1)], 5) == ["vacuous"]
    assert reasons([relation("f0 != f1 or f0 == f1", 1, 2)], 5) == ["vacuous"]
    assert reasons([relation("isinstance(f0, int) and isinstance(f1, int)", 1, 2)], 5) == ["vacuous"]


def test_a_case_that_takes_too_long_to_be_tried_does_not_count() -> None:
    costly = relation("all(x >= 0 for x in range(5000)) and f0 == 5", 1)
    begin = time.process_time()
    assert reasons([costly] * 4, 5) == ["vacuous"] * 4
    assert time.process_time() - begin < 60


def test_a_refusal_stands_beside_its_case() -> None:
    found = admission(["f(1) == 5", "f(1) == 4", "f(1) >= 5", "f(2) == 5"], 5)
    assert [refusal.reason if refusal else "" for refusal in found.refusals] == ["", "reference", "duplicate", ""]
    assert [case.source for case in found.admitted] == ["assert f(1) == 5", "assert f(2) == 5"]
    assert [refusal.source for refusal in found.refused] == ["assert f(1) == 4", "assert f(1) >= 5"]


def test_cases_of_one_source_keep_their_own_reasons() -> None:
    text = "import pytest\n@pytest.mark.parametrize('x, y', [(1, 5), (2, 4), (3, 5)])\ndef test(x, y):\n    assert f(x) == y"
    cases = read_cases(text, "f", SIGNATURE).cases
    ran = {case.arguments: Execution("returned", "5") for case in cases}
    ran[cases[2].arguments] = Execution("raised")
    found = admit(PROBLEM, cases, ran)
    assert [refusal and refusal.detail for refusal in found.refusals] == [
        *(None, "the reference does not pass it: failed", "the reference does not pass it: error"),
    ]


def test_samples_are_small_distinct_values() -> None:
    ran = [Execution("returned", encode(value)) for value in (1, 1, [2], "a" * 10_000, 3)]
    ran += [Execution("timeout"), Execution("returned", "printed by a program"), Execution("returned", "4")]
    assert samples_of(ran) == (1, ["l", 2], 3, 4)
    assert len(samples_of([Execution("returned", str(number)) for number in range(100)])) == 40


def approx(expected: object, absolute: float, relative: float = 0.0) -> Case:
    return Case("t", "", call_text([1]), "approx", encode(expected), (), (relative, absolute))


@pytest.mark.parametrize(
    ("expected", "absolute", "bounded"),
    [
        ([1e6, 6.0], 10_000.0, False),
        ([1e6, 6.0], 0.05, True),
        ((1e6, 6.0), 10_000.0, False),
        ((1e6, 6.0), 0.05, True),
        (float("nan"), 0.015, False),
        ([1e6, 1e7], 10_000.0, True),
        ({"a": 1e6, "b": [0.0]}, 1.0, False),
        ({1e6: 0.0}, 1.0, False),
        (0, 0.5, False),
        ([1e6, float("inf")], 10_000.0, True),
        ([float("inf"), 1.0], 1e300, False),
        ([float("nan"), 1.0], 1e300, False),
        ([10**400, 5], 100.0, False),
        ([10**400], 100.0, True),
        (3 + 4j, 0.05, True),
        (3 + 4j, 0.06, False),
        (2.0, 1e300, False),
    ],
)
def test_a_tolerance_is_small_beside_every_number(expected: object, absolute: float, bounded: bool) -> None:
    kept, _ = screen(PROBLEM, Reading((approx(expected, absolute),), ()))
    assert bool(kept) is bounded


def test_keywords_and_views_that_change_nothing_are_seen_through() -> None:
    def same(a: str, b: str) -> bool:
        one, other = (read_cases(f"assert {test}", "f", SIGNATURE).cases[0] for test in (a, b))
        return identity(one, SIGNATURE) == identity(other, SIGNATURE)

    assert same("f(1, k=3) == 1", "f(1, 3) == 1")
    assert same("int(int(f(1))) == 1", "int(f(1)) == 1")
    assert same("list(sorted(f(1))) == [1]", "sorted(f(1)) == [1]")
    assert not same("f(1, k=3) == 1", "f(1) == 1")
    assert not same("list(f(1)) == [1]", "f(1) == [1]")
