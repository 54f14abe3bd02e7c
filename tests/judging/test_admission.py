"""Which cases count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.box.task import Execution, Limits
from selfplay.cases.case import Case
from selfplay.cases.values import encode, load
from selfplay.game.problems import Contract, Problem
from selfplay.judging.admission import MAX_WEIGHED, Admission, admit, identity, screen
from selfplay.judging.strength import is_vacuous
from selfplay.reading import Reading, read_cases

REFERENCE = "def f(xs):\n    return sum(xs)\n"
SIGNATURE = "def f(xs: list[int]) -> int:"
PROBLEM = Problem("p", "The sum; raises ValueError if there is none.", "f", SIGNATURE, (), REFERENCE)
BLIND = Problem("p", "The sum.", "f", SIGNATURE, ())
CONTRACT = Contract(("0 < k <= len(xs)",), ("KeyError",))
BOUND = Problem("p", "", "f", "def f(xs: list[int], k: int) -> int:", (), REFERENCE, contract=CONTRACT)


def screened(text: str, problem: Problem = PROBLEM, trust_reference: bool = False) -> tuple[list[str], list[str]]:
    """Sources that remain, reasons of the others."""
    kept, refused = screen(problem, read_cases(text, "f", problem.signature), trust_reference=trust_reference)
    return [case.source for case in kept], [refusal.reason for refusal in refused]


def test_an_ordinary_case_remains() -> None:
    assert screened("assert f([1, 2]) == 3") == (["assert f([1, 2]) == 3"], [])


@pytest.mark.parametrize(
    ("second", "same"),
    [
        ("assert f([1, 2]) == 3", True),
        ("assert 3 == f( [1,2] )", True),
        ("assert f([1, 2]) == 3.0", True),
        ("assert f([1, 2]) == 4", False),
        ("assert f([2, 1]) == 3", False),
        ("assert f([1, 2]) >= 3", False),
    ],
)
def test_a_duplicate_is_refused(second: str, same: bool) -> None:
    assert screened(f"assert f([1, 2]) == 3\n{second}")[1] == (["duplicate"] if same else [])


def test_a_case_written_in_an_earlier_turn_is_a_duplicate() -> None:
    earlier = read_cases("assert f([1]) == 1", "f").cases
    kept, refused = screen(PROBLEM, read_cases("assert f([1]) == 1", "f"), {identity(case) for case in earlier})
    assert (kept, [refusal.reason for refusal in refused]) == ((), ["duplicate"])


@pytest.mark.parametrize("call", ["f('ab')", "f([1.5])", "f([1], 2)", "f([True])"])
def test_arguments_outside_of_the_annotations_are_refused(call: str) -> None:
    assert screened(f"assert {call} == 3")[1] == ["domain"]
    assert screened(f"assert {call} == 3", trust_reference=True)[1] == []


def test_arguments_outside_of_the_contract_are_refused() -> None:
    assert screened("assert f([1, 2], 3) == 3", BOUND)[1] == ["domain"]
    assert screened("assert f([1, 2], 2) == 3", BOUND)[1] == []


def with_raises(name: str, call: str = "f([])") -> str:
    return f"import pytest\ndef test_x():\n    with pytest.raises({name}):\n        {call}\n"


def test_an_expected_exception_counts_only_where_the_problem_names_it() -> None:
    assert screened(with_raises("ValueError"))[1] == []
    assert screened(with_raises("TypeError"))[1] == ["exception"]
    assert screened(with_raises("(ValueError, TypeError)"))[1] == ["exception"]
    assert screened(with_raises("KeyError", "f([1], 1)"), BOUND)[1] == []
    assert screened(with_raises("TypeError"), trust_reference=True)[1] == []


@pytest.mark.parametrize(
    ("test", "refused"),
    [
        ("abs(f([1]) - 3.0) < 0.001", False),
        ("abs(f([1]) - 3.0) < 2", True),
        ("abs(f([1]) - 1000.0) < 5", False),
        ("f([1]) == pytest.approx(3.0, rel=0.5)", True),
    ],
)
def test_a_tolerance_is_bounded(test: str, refused: bool) -> None:
    assert screened(f"import pytest\nassert {test}")[1] == (["tolerance"] if refused else [])


@pytest.mark.parametrize(
    ("test", "vacuous"),
    [
        ("f([1]) != 5", True),
        ("f([1]) is not None", True),
        ("isinstance(f([1]), int)", True),
        ("f([1])", True),
        ("f([1]) >= 1", True),
        ("f([1]) == 1", False),
        ("not f([0])", False),
        ("f([1]) > 1", True),
        ("f([1]) < 2", True),
        ("f([1]) <= 2", True),
        ("len(f([1])) > 0", True),
        ("len(f([1])) == 2", False),
        ("f([1])[0] is True", False),
        ("bool(f([1])) == True", True),
        ("not isinstance(f([1]), str)", True),
        ("sorted(f([1])) == [1]", False),
        ("abs(f([1]) - 1.5) < 1e-6", False),
        ("f([1]) == f([1, 0])", False),
    ],
)
def test_without_a_reference_what_looks_vacuous_is_refused(test: str, vacuous: bool) -> None:
    assert screened(f"assert {test}", BLIND)[1] == (["vacuous"] if vacuous else [])


def test_without_a_reference_the_truth_of_a_result_counts_where_the_result_is_a_truth() -> None:
    truth = Problem("p", "Whether.", "f", "def f(xs: list[int]) -> bool:", ())
    assert screened("assert f([1])", truth)[1] == []
    assert screened("assert f([1])", BLIND)[1] == ["vacuous"]


@pytest.mark.parametrize(
    ("one", "other", "contested"),
    [
        ("f([1]) is True", "f([1]) is False", True),
        ("len(f([1])) == 1", "len(f([1])) == 2", True),
        ("f([1]) == 1", "f([1]) is True", False),
    ],
)
def test_what_cannot_both_be_true_is_contested(one: str, other: str, contested: bool) -> None:
    assert screened(f"assert {one}\nassert {other}", BLIND)[1] == ["conflict", "conflict"] * contested


def test_outputs_that_cannot_both_be_printed_are_contested() -> None:
    printing = Problem("s", "", "", "", (), kind="stdio")
    cases = tuple(Case("t", out, "1\n", "stdout", out) for out in ("2", "3"))
    assert [refusal.reason for refusal in screen(printing, Reading(cases, ()))[1]] == ["conflict"] * 2
    assert screen(printing, Reading(cases, ()), trust_reference=True)[0] == cases


def test_without_a_reference_contradicting_cases_are_all_refused() -> None:
    assert screened("assert f([1]) == 1\nassert f([1]) == 2\nassert f([2]) == 2", BLIND) == (
        ["assert f([2]) == 2"],
        ["conflict", "conflict"],
    )
    assert screened("assert f([1]) == 1\nassert f([1]) == 2")[1] == []


def test_the_domain_is_asked_unless_the_reference_is_trusted_with_it() -> None:
    kept, refused = screen(PROBLEM, read_cases("assert f('ab') == 3", "f", SIGNATURE))
    assert (kept, [(refusal.reason, refusal.source) for refusal in refused]) == (
        (),
        [("domain", "assert f('ab') == 3")],
    )


def test_a_demanded_exception_may_be_asked_for_with_arguments_of_any_type() -> None:
    assert screened(with_raises("ValueError", "f('ab')"))[1] == []
    assert screened(with_raises("KeyError", "f([1], 2)"), BOUND)[1] == ["domain"]


def test_an_exception_is_named_as_a_word_and_not_as_a_part_of_one() -> None:
    described = Problem("p", "Raises MyValueErrors.", "f", SIGNATURE, (), REFERENCE)
    assert screened(with_raises("ValueError"), described)[1] == ["exception"]


def test_the_readings_own_refusals_are_kept() -> None:
    assert screened("assert f(f([1])) == 1\nassert f([1]) == 1")[1] == ["property"]


@pytest.mark.parametrize(
    ("test", "result", "vacuous"),
    [
        ("f([1]) == 5", 5, False),
        ("f([1]) != 4", 5, True),
        ("f([1]) is not None", 5, True),
        ("f([1]) >= 0", 5, True),
        ("f([1]) > 4", 5, False),
        ("f([1]) > -4", 5, True),
        ("isinstance(f([1]), int)", 5, True),
        ("isinstance(f([1]), bool)", True, True),
        ("f([1])", True, False),
        ("not f([1])", False, False),
        ("f([1])", 5, True),
        ("f([1])", [1], True),
        ("not f([1])", [], False),
        ("f([1]) is None", None, False),
        ("f([1]) in (1, 5)", 5, False),
        ("f([1]) in range(-100, 100)", 5, True),
        ("sorted(f([1])) == [1, 2]", [2, 1], False),
        ("len(f([1])) == 3", [1, 2, 3], False),
        ("len(f([1])) >= 0", [1, 2, 3], True),
        ("abs(f([1]) - 0.5) < 1e-6", 0.5, False),
        ("f([1]) == 'abc'", "abc", False),
        ("'a' in f([1])", "abcde", True),
        ("f([1]) != {}", {"a": 1}, True),
    ],
)
def test_a_case_that_most_outputs_near_the_right_one_pass_is_vacuous(test: str, result: object, vacuous: bool) -> None:
    (case,) = read_cases(f"assert {test}", "f").cases
    assert is_vacuous(case, load(encode(result))) is vacuous


def admitted(text: str, execution: Execution) -> tuple[int, list[str]]:
    cases = read_cases(text, "f").cases
    result = admit(PROBLEM, cases, dict.fromkeys((case.arguments for case in cases), execution))
    return len(result.admitted), [refusal.reason for refusal in result.refused]


@pytest.mark.parametrize(
    ("execution", "reasons"),
    [
        (Execution("returned", "3", seconds=0.1), []),
        (Execution("returned", "4"), ["reference"]),
        (Execution("raised", exception=("ValueError",)), ["reference"]),
        (Execution("timeout"), ["reference"]),
        (Execution("returned", "3", seconds=1.5), ["slow"]),
        (Execution("infra_error"), ["infra_error"]),
    ],
)
def test_the_reference_settles_what_is_admitted(execution: Execution, reasons: list[str]) -> None:
    assert admitted("assert f([1, 2]) == 3", execution) == (1 - len(reasons), reasons)


def test_a_vacuous_case_is_refused_though_the_reference_passes_it() -> None:
    assert admitted("assert f([1, 2]) != 4", Execution("returned", "3")) == (0, ["vacuous"])


def test_without_a_reference_every_screened_case_is_admitted() -> None:
    case = Case("t", "", '["l",1]', "==", "1")
    assert admit(BLIND, [case], None) == Admission((case,), (None,))


@pytest.mark.parametrize("printed", ["1", '["d"', '["d",["",["l"]]]'])
def test_what_a_program_is_given_on_stdin_is_no_call(printed: str) -> None:
    case = Case("t", "", printed, "stdout", "1.0")
    assert identity(case, SIGNATURE) == ((printed,), "stdout", "1.0", (), (0.0, 0.0))
    assert identity(Case("t", "", printed, "stdout", "1"), SIGNATURE) != identity(case, SIGNATURE)


def test_what_a_program_prints_is_admitted_once_by_the_reference() -> None:
    printing = Problem("s", "", "", "", (), "print(2)", kind="stdio")
    case, again, wrong = (Case("t", out, "1", "stdout", out) for out in ("2\n", "2", "3"))
    ran = {"1": Execution("returned", "2\n")}
    found = admit(printing, [case, again, wrong], ran)
    assert [refusal and refusal.reason for refusal in found.refusals] == [None, "duplicate", "reference"]


@pytest.mark.parametrize(("length", "reasons"), [(MAX_WEIGHED - 2, [""]), (MAX_WEIGHED + 1, ["vacuous"])])
def test_of_a_huge_output_a_part_counts_no_more(length: int, reasons: list[str]) -> None:
    big = encode("a" * length)
    [part] = read_cases(f"assert len(f([1])) == {length}", "f").cases
    whole = Case("t", "", part.arguments, "==", big)
    for case, expected in ((part, reasons), (whole, [""])):
        found = admit(PROBLEM, [case], {case.arguments: Execution("returned", big)})
        assert [refusal.reason if refusal else "" for refusal in found.refusals] == expected


@pytest.mark.parametrize(("seconds", "share", "slow"), [(0.9, 0.5, False), (1.1, 0.5, True), (1.1, 1.0, False)])
def test_the_reference_has_a_share_of_the_limit(seconds: float, share: float, slow: bool) -> None:
    case = Case("t", "", '["l",1]', "==", "1")
    ran = {case.arguments: Execution("returned", "1", seconds=seconds)}
    [refusal] = admit(PROBLEM, [case], ran, Limits(cpu_seconds=2), share).refusals
    assert (refusal is not None and refusal.reason == "slow") == slow


VALUES = st.integers(-3, 3) | st.booleans() | st.lists(st.integers(-2, 2), max_size=3) | st.text("ab", max_size=3)


@given(st.lists(st.tuples(st.integers(0, 2), VALUES), max_size=6), st.lists(VALUES, min_size=3, max_size=3))
def test_nothing_is_admitted_that_the_reference_fails_and_no_value_twice(
    written: list[tuple[int, object]], right: list[object]
) -> None:
    cases = [Case(f"t{n}", "", f'["l",{argument}]', "==", encode(value)) for n, (argument, value) in enumerate(written)]
    ran = {f'["l",{argument}]': Execution("returned", encode(value)) for argument, value in enumerate(right)}
    found = admit(PROBLEM, cases, ran)
    assert len(found.refusals) == len(cases)
    assert len({case.arguments for case in found.admitted}) == len(found.admitted)
    for (argument, value), refusal in zip(written, found.refusals, strict=True):
        if value != right[argument]:
            assert refusal is not None
            assert refusal.reason == "reference"
    earliest = {x: n for n, (x, value) in reversed([*enumerate(written)]) if value == right[x]}
    assert [n for n, refusal in enumerate(found.refusals) if refusal is None] == sorted(earliest.values())


def test_a_call_is_not_compared_with_itself_in_another_dress() -> None:
    assert screened("assert f(xs=[1]) == f([1])")[1] == ["vacuous"]
    assert screened("assert f([2, 1]) == f([1, 2])")[1] == []
