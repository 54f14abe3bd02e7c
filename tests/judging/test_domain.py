"""Which calls and inputs a problem allows: by its annotations, by its contract in the box, by how its inputs are spelled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from selfplay.box.local import LocalBox
from selfplay.box.task import Execution, Limits
from selfplay.cases.calls import call_text, stdin_call
from selfplay.cases.read import read_stdin_cases
from selfplay.game.problems import Contract, Problem, StdinTest
from selfplay.judging.admission import screen
from selfplay.judging.domain import allowed, domain_task, fits_annotations, stdin_oddities
from selfplay.judging.judge import Judge

FREE = Problem("p", "", "f", "def f(xs: list[int], k: int = 1) -> int:", ())


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with LocalBox() as box:
        yield Judge(box, limits=Limits(cpu_seconds=0.5))


def bound(*requires: str, signature: str = FREE.signature, **others: Any) -> Problem:
    return Problem("p", "", "f", signature, (), contract=Contract(requires), **others)


def word(
    judge: Judge, problem: Problem, *positional: object, annotated: bool = True, **keywords: object
) -> bool | None:
    """Whether the problem allows the call, its contract asked in the box."""
    call = call_text(positional, keywords)
    task = domain_task(problem, [call], judge.limits)
    assert task is not None
    assert task.secret
    return allowed(problem, call, judge.run([task])[0][0], annotated)


# annotations


@pytest.mark.parametrize(
    ("annotation", "fitting", "others"),
    [
        ("int", [1], [True, 1.0, "a", None]),
        ("float", [1, 1.0], [True, "a"]),
        ("bool", [True], [1]),
        ("str", ["a"], [1, ["a"]]),
        ("list[int]", [[], [1]], [[True], ["a"], (1,), [1.5]]),
        ("List[List[float]]", [[[1]], []], [[1]]),
        ("list", [[1, "a"]], [(1,)]),
        ("dict[str, list[int]]", [{}, {"a": [1]}], [{1: [1]}, {"a": ["b"]}]),
        ("tuple[int, str]", [(1, "a")], [(1,), ("a", 1)]),
        ("tuple[int, ...]", [(), (1, 2)], [("a",)]),
        ("int | None", [1, None], ["a"]),
        ("Optional[int]", [1, None], ["a"]),
        ("typing.Union[int, str]", [1, "a"], [None]),
        ("'list[int]'", [[1]], [["a"]]),
        ("Any", [1, None, "a"], []),
        ("SomethingElse", [1, None], []),
        ("set[int]", [{1}], [[1], {"a"}]),
        ("Sequence[int]", [[1], (1,)], [{1}, ["a"]]),
        ("Literal['a', 'b']", ["a"], ["c"]),
        ("Callable[[int], int]", [], [1]),
    ],
)
def test_annotations_decide_the_type(annotation: str, fitting: list[object], others: list[object]) -> None:
    signature = f"def f(x: {annotation}) -> int:"
    assert all(fits_annotations(signature, [value]) for value in fitting)
    assert not any(fits_annotations(signature, [value]) for value in others)


def test_the_number_of_arguments_must_fit() -> None:
    signature = "def f(a: int, b: int = 2, *rest: str):"
    assert fits_annotations(signature, [1])
    assert fits_annotations(signature, [1, 2, "x"])
    assert not fits_annotations(signature, [])
    assert not fits_annotations(signature, [1, 2, 3])
    assert not fits_annotations("def f(a, b):", [1])
    assert fits_annotations("", [1, 2, 3])


@pytest.mark.parametrize(
    ("signature", "positional", "keywords", "fitting"),
    [
        ("def f(a, b=2):", [1], {}, True),
        ("def f(a, b=2):", [], {"a": 1, "b": 3}, True),
        ("def f(a, b=2):", [1], {"a": 1}, False),
        ("def f(a, b=2):", [1], {"c": 1}, False),
        ("def f(a, /):", [], {"a": 1}, False),
        ("def f(a, *rest: int, k=1, **others: str):", [1, 2], {"z": "3"}, True),
        ("def f(a, *rest: int, k=1, **others: str):", [1, 2], {"z": 3}, False),
        ("def f(a, *rest: int, k=1, **others: str):", [1, "2"], {}, False),
        ("def f(*, k):", [], {}, False),
    ],
)
def test_arguments_are_bound_as_python_binds_them(
    signature: str, positional: list[Any], keywords: dict[str, Any], fitting: bool
) -> None:
    assert fits_annotations(signature, positional, keywords) == fitting


# contracts


def test_a_contract_is_conditions_that_all_hold_of_the_arguments(judge: Judge) -> None:
    problem = bound("len(xs) > 0", "all(x >= 0 for x in xs)", "1 <= k <= len(xs)", "math.gcd(k, 2) == 1")
    assert word(judge, problem, [1, 2, 3], 3)
    assert word(judge, problem, [1, -2, 3], 3) is False
    assert word(judge, problem, [], 3) is False


def test_annotations_and_contracts_hold_for_keywords_and_defaults(judge: Judge) -> None:
    problem = bound("0 < k <= len(xs)")
    assert word(judge, problem, [1, 2], k=2)
    assert word(judge, problem, xs=[1])
    assert word(judge, problem, [1, 2], k=3) is False
    assert word(judge, problem, [1, 2], k=1.0) is False
    assert word(judge, problem, [1, 2], j=1) is False


def test_without_annotations_the_contract_alone_is_asked(judge: Judge) -> None:
    problem = bound("k > 0")
    assert word(judge, problem, "no list", 1, annotated=False)
    assert word(judge, problem, "no list", 1) is False
    assert word(judge, problem, [], 0, annotated=False) is False


def test_a_contract_may_call_the_helpers_and_packages_that_the_problem_brings(judge: Judge) -> None:
    helpers = "from __future__ import annotations\ndef is_even(n: Unknown):\n    return n % 2 == 0\n"
    assert word(judge, bound("is_even(k)", helpers=helpers), [], 2)
    assert word(judge, bound("is_even(k)", helpers=helpers), [], 3) is False


@pytest.mark.parametrize(
    "signature",
    ["def f(xs: Strange[int], *, k=2) -> Other:", "def f(xs, /, k: 'No one' = SOME, **rest):", "def f(*xs, k=(1, 2))"],
)
def test_annotations_and_defaults_that_mean_nothing_here_do_not_stop_a_contract(judge: Judge, signature: str) -> None:
    assert word(judge, bound("len(xs) == 1", signature=signature), [1])


def test_names_in_a_condition_are_its_own(judge: Judge) -> None:
    """A comment, a line break, a parameter called like a built-in or like the module of numbers."""
    problem = bound("sum(math) > max  # not the function", "(n := len(math)) and\nn < 9", signature="def f(math, max):")
    assert word(judge, problem, [1, 2], 2)
    assert word(judge, problem, [1, 2], 3) is False


@pytest.mark.parametrize(
    "condition", ["xs[0] > 0", "xs > 0", "nobody(xs)", "any(iter(int, 1))", "k >", "__import__('nowhere')"]
)
def test_a_contract_that_raises_does_not_end_or_cannot_be_loaded_allows_nothing(judge: Judge, condition: str) -> None:
    assert word(judge, bound(condition), []) is False


def test_where_the_box_failed_nobody_knows() -> None:
    problem, call = bound("k > 0"), call_text([[], 1])
    assert allowed(problem, call, Execution("infra_error")) is None
    assert allowed(problem, call) is None
    assert allowed(problem, call_text(["no list", 1]), Execution("infra_error")) is False


def test_what_is_truthy_allows_and_every_call_is_asked_once(judge: Judge) -> None:
    calls = [call_text([xs]) for xs in ([1], [], [1])]
    task = domain_task(bound("xs"), calls, judge.limits)
    assert task is not None
    assert [allowed(FREE, call, one) for call, one in zip(task.inputs, judge.run([task])[0], strict=True)] == [
        True,
        True,
    ]
    assert [allowed(bound("xs"), call, one) for call, one in zip(task.inputs, judge.run([task])[0], strict=True)] == [
        True,
        False,
    ]


def test_a_problem_without_conditions_needs_no_box() -> None:
    for problem in (FREE, bound()):
        assert domain_task(problem, [call_text([[]])], Limits()) is None
        assert allowed(problem, call_text([[1]]))
        assert allowed(problem, call_text([1])) is False


# standard input

PLAIN = "3 4\n"
DRESSES = (
    *("3 4", " 3 4\n", "3 4 \n", "3  4\n", "3\t4\n", "3 4\n\n", "\n3 4\n", "3 4\r\n", "3\xa04\n", "3\v4\n"),
    *("3 4\n  \n", "3 4\n "),
)
STRICT = "import sys\na, b = sys.stdin.read()[:-1].split(' ')\nprint(len(a) + len(b), int(a) + int(b))"
SUM = Problem(
    *("sum", "Two numbers on a line, a blank between them: print their lengths' sum and their sum.", "", ""),
    (StdinTest("1 2\n", "2 3\n"),),
    "a, b = input().split()\nprint(len(a) + len(b), int(a) + int(b))",
    kind="stdio",
)


def test_all_spellings_of_an_input_are_one_call() -> None:
    assert {stdin_call(text) for text in (PLAIN, *DRESSES)} == {"3 4"}


@pytest.mark.parametrize(("one", "other"), [("3 4\n", "3\n4\n"), ("3\n4\n", "3\n\n4\n"), ("", "\n"), ("\n", "\n\n")])
def test_lines_tell_inputs_apart(one: str, other: str) -> None:
    assert stdin_call(one) != stdin_call(other)


@pytest.mark.parametrize("text", DRESSES)
def test_a_spelling_that_no_input_of_the_problem_s_has_is_outside(text: str) -> None:
    assert stdin_oddities(SUM, text)
    assert allowed(SUM, text) is False


def test_a_spelling_that_an_input_of_the_problem_s_has_is_inside() -> None:
    for own in DRESSES:
        other = own.replace("3", "17").replace("4", "5")
        shown = Problem("s", "", "", "", (StdinTest(own, ""),), kind="stdio")
        assert not stdin_oddities(shown, other)
        assert not stdin_oddities(Problem("s", "", "", "", (), kind="stdio", hidden_tests=shown.baseline_tests), other)


@pytest.mark.parametrize("text", ["", "7 8\n", "-1 22\n7 8\n", "x\n" * 1000])
def test_an_ordinary_input_of_any_length_is_inside(text: str) -> None:
    assert not stdin_oddities(SUM, text)
    assert not stdin_oddities(Problem("s", "", "", "", (), kind="stdio"), text)


def test_a_spelling_costs_a_time_that_grows_with_its_length_alone() -> None:
    for piece in (" ", "\n", " \n", "\t", "a ", "\r\n", "\n "):
        assert stdin_oddities(SUM, piece * 300_000 + "a")


def test_thirteen_spellings_are_one_case_and_kill_no_right_program(judge: Judge) -> None:
    written = read_stdin_cases([StdinTest(text, "2 7\n") for text in (*DRESSES, PLAIN, PLAIN)])
    found = screen(SUM, written)
    assert [each.reason if each else "" for each in found] == [*["domain"] * len(DRESSES), "", "duplicate"]
    assert judge.matrix("", [STRICT], written.cases[-2:-1]).verdicts == (("passed",),)
