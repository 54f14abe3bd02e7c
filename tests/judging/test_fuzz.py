"""Random texts and values: reading never fails, values survive the codec, comparison is Python's."""

from __future__ import annotations

import time
import warnings
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from selfplay.box.task import Execution
from selfplay.cases.compare import check, equal
from selfplay.cases.values import decode, encode, load, rebuild
from selfplay.judging.perturb import variants
from selfplay.reading import read_cases
from tests.cases.python_terms import ours, pythons

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.integers(-3, 3) | st.floats() | st.floats(-2, 2, width=16)
    | st.text(max_size=5) | st.binary(max_size=3) | st.complex_numbers(allow_nan=False, max_magnitude=3)
    | st.builds(range, st.integers(-3, 3), st.integers(-3, 3), st.sampled_from([1, 2, -1]))
)  # fmt: skip
KEYS = st.recursive(
    SCALARS.filter(lambda value: value == value),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=4,
)
DATA = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(KEYS, inner, max_size=3)
    | st.sets(KEYS, max_size=3),
    max_leaves=10,
)  # fmt: skip
PIECES = st.sampled_from(
    [
        *("assert ", "f(", ")", "[", "]", "{", "}", "==", " is ", "None", "1", "'a'", "\n", "    ", "x", "i", ":"),
        *(".append(", "lambda x: ", ",", "not ", "and ", "in ", "sorted(", "abs(", "- 1", "* 10**9", "approx(", "**"),
        *("try:\n", "except ValueError:\n", "pass\n", "if ", "while True:\n", "yield ", "%", "0.1", "return ", "b'"),
        *("def test_x():\n", "for i in range(3):\n", "import pytest\n", "with pytest.raises(ValueError):\n", "((", "#"),
        *("class TestA:\n", "@pytest.mark.parametrize('a', [1, 2])\n", "f'{x}'", "\t", "\\", "\0", "check(candidate)"),
    ]
)
EXPRESSIONS = DATA.map(repr)


def no_nan(value: Any) -> bool:
    if isinstance(value, float):
        return value == value
    if isinstance(value, (list, tuple, set, frozenset)):
        return all(map(no_nan, value))
    if isinstance(value, dict):
        return all(no_nan(key) and no_nan(item) for key, item in value.items())
    return True


def is_written_exactly(value: Any) -> bool:
    """Whether repr() says all: inf, nan and the sign of a complex zero have no literal."""
    text = repr(value)
    return "inf" not in text and "nan" not in text and encode(eval(text)) == encode(value)


def texts_are_read(pieces: list[str]) -> None:
    start = time.perf_counter()
    reading = read_cases("".join(pieces), "f", "def f(a, b=1):")
    assert time.perf_counter() - start < 5
    for case in reading.cases:
        decode(case.arguments)
    assert reading.written == len(reading.cases) + len(reading.refused)


def values_survive(a: Any, b: Any) -> None:
    tree = load(encode(a))
    assert encode(decode(encode(a))) == encode(a)
    if no_nan(a) and no_nan(b):
        assert equal(tree, tree)
        assert equal(tree, load(encode(b))) == (a == b)


def verdicts_are_pythons(argument: Any, expected: Any, result: Any) -> None:
    """A case written as text gives the verdict that running the assertion would give."""
    if not (no_nan(result) and is_written_exactly(argument) and is_written_exactly(expected)):
        return
    (case,) = read_cases(f"assert f({argument!r}) == {expected!r}", "f").cases
    assert encode([argument]) == case.arguments
    assert check(case, Execution("returned", encode(result))) == ("passed" if result == expected else "failed")


def unequal_values_stay_unequal(a: Any, b: Any) -> None:
    """NaN included: what Python calls unequal never passes, however near it is."""
    trees = [load(encode(value)) for value in (a, b)]
    assert not equal(*trees) or a == b
    for other in variants(trees[0]):
        if equal(other, trees[0]):
            assert decode(encode(a)) == rebuild(other)
        elif no_nan(a):
            assert a != rebuild(other)


def conditions_are_pythons(expression: str, a: Any, b: Any) -> None:
    """A condition is true where Python says so; what hangs on the order of a set may fail where Python's does not."""
    for condition in (expression, f"({expression}) == ({expression})", f"({expression}) != 1"):
        expected, found = pythons(condition, a, b), ours(condition, a, b)
        assert found == expected or (not found and ("set(" in condition or "union" in condition)), condition


def of_small_sets(value: Any) -> bool:
    """Whether no set in it has an order."""
    if isinstance(value, (set, frozenset)):
        return len(value) < 2 and all(map(of_small_sets, value))
    if isinstance(value, dict):
        return all(of_small_sets(key) and of_small_sets(item) for key, item in value.items())
    return not isinstance(value, (list, tuple)) or all(map(of_small_sets, value))


def _larger(inner: Any) -> Any:
    """Expressions made of smaller ones."""
    of_item = inner.map(lambda text: text.replace("f0", "x"))
    return (
        st.builds("{}({})".format, st.sampled_from(FUNCTIONS), inner)
        | st.builds("({}).{}()".format, inner, st.sampled_from(METHODS))
        | st.builds("({}).{}({})".format, inner, st.sampled_from(METHODS_OF_ONE), inner)
        | st.builds("(({}) {} ({}))".format, inner, st.sampled_from(OPERATORS), inner)
        | st.builds("({})[{}]".format, inner, inner | st.sampled_from(["1:", "::-1"]))
        | st.builds("[{} for x in {} if {}]".format, of_item, inner, of_item)
        | st.builds("{}({} for x in {})".format, st.sampled_from(["any", "all", "sum", "max"]), of_item, inner)
        | st.builds("[(a, b) for a, b in {}({}, {})]".format, st.sampled_from(["zip", "enumerate"]), inner, inner)
        | st.builds("({} if {} else {})".format, inner, inner, inner)
    )


FUNCTIONS = [
    "len",
    "sorted",
    "list",
    "tuple",
    "set",
    "sum",
    "min",
    "max",
    "abs",
    "str",
    "int",
    "float",
    "bool",
    "any",
    "all",
    "round",
    "not",
]
METHODS = ["lower", "upper", "strip", "split", "keys", "values", "items", "isdigit", "title", "splitlines"]
METHODS_OF_ONE = [
    "count",
    "index",
    "startswith",
    "endswith",
    "find",
    "split",
    "strip",
    "get",
    "join",
    "union",
    "issubset",
    "isdisjoint",
]
OPERATORS = [
    *["+", "-", "*", "/", "//", "%", "==", "!=", "<", "<=", ">", ">=", "in", "and", "or", "&", "|", "^"],
    "not in",
]
LEAVES = st.sampled_from(["f0", "f0", "f0", "f1", "0", "1", "-1", "'a'", "None", "True", "[1, 2]", "(1,)", "1.5", "''"])
CONDITIONS = st.recursive(LEAVES, _larger, max_leaves=6)
RETURNED = (
    DATA.filter(lambda value: no_nan(value) and of_small_sets(value)) | st.lists(st.integers(-3, 3), max_size=4)
    | st.text("ab ", max_size=4) | st.lists(st.text("ab", max_size=2), max_size=3) | st.integers(-5, 5)
)  # fmt: skip


def fuzz(examples: int, repeatable: bool = False) -> None:
    """`repeatable`: the same examples every time, so that a gate is red only for what changed."""
    quiet = settings(
        max_examples=examples,
        derandomize=repeatable,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    quiet(given(st.lists(PIECES | EXPRESSIONS, max_size=25))(texts_are_read))()
    quiet(given(DATA, DATA)(values_survive))()
    quiet(given(DATA, DATA, DATA)(verdicts_are_pythons))()
    quiet(given(DATA, DATA)(unequal_values_stay_unequal))()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `1 is 2`, `(1)[0]`
        quiet(given(CONDITIONS, RETURNED, RETURNED)(conditions_are_pythons))()


def test_a_few_hundred_random_texts_and_values_are_judged_as_python_would() -> None:
    fuzz(100, repeatable=True)


@pytest.mark.slow
def test_thirty_five_thousand_random_texts_and_values_are_judged_as_python_would() -> None:
    fuzz(7_000)
