"""A literal case is decided by comparing data: the verdict is the one that running the test gives."""

from __future__ import annotations

import ast

import pytest

from selfplay.judging.judge import Judge
from tests.judging.court import asks, reasons, rows, settled

# Left out is what counts as what the reference does (floats within 1e-9, 6 for 6 + 0j), and views of dictionaries.
# By what the reference does: assertions that it passes, and programs that do something else, or the same in another dress.
NUMBERS = (
    ["f(3) == 6", "6.0 == f(3)", "f(3) != 7", "7 > f(3)", "f(3) >= 6", "f(3)", "not f(0)",
     "f(0) == False", "f(3) in (5, 6)", "f(3) in range(5, 9)", "f(3) not in [1, 2]", "abs(f(3) - 6) < 0.001",
     "abs(8 - f(4)) <= 0.01", "f(3) == pytest.approx(6)", "f(3) == pytest.approx(6.01, abs=0.02)", "f(3) is not None",
     "not f(4) == 7", "f(x=3) == 2 * 3", "f(10**20) == 2 * 10**20"],
    ["x + 3", "2.0 * x", "2 * x + 0.01", "str(2 * x)", "[2 * x]", "None", "x or 'no'", "float('nan')", "1 / x", "True",
    "{6}", "bytes([6])"],
)  # fmt: skip
TEXTS = (
    ["f('ab') == 'abab'", "f('ab') < 'b'", "f('') == ''", "not f('')", "f('a') in ('aa', 'b')", "f('a') != b'aa'"],
    ["x", "x * 3", "x.encode()", "list(x)", "x + 'b'", "(x,)", "[][0]", "None", "x * 2 or 0", "{x * 2: 1}"],
)  # fmt: skip
LISTS = (
    ["f([2, 1]) == [1, 2]", "f([2, 1]) == [True, 2.0]", "f([]) == []", "not f([])", "f([2, 1]) != (1, 2)", "f([2, 1]) < [1, 3]",
     "f([1]) in [[1], [2]]", "f([0.1]) == pytest.approx([0.1])", "f([[2], [1]]) == [[1], [2]]"],
    ["x", "tuple(sorted(x))", "set(map(str, x))", "sorted(x)[:1]", "{y: y for y in sorted(x)}", "iter(x)", "range(1, 3)",
     "__import__('collections').deque(sorted(x))", "[float(y) for y in sorted(x)]", "None", "'12'"],
)  # fmt: skip
RESULTS = {"2 * x": NUMBERS, "x + x": TEXTS, "sorted(x)": LISTS}
SETS = (
    ["f([1, 1]) == {1}", "f([1, 2]) <= {1, 2, 3}", "f([]) == set()", "f([1]) == frozenset([1])", "f([2]) != [2]"],
    ["frozenset(x)", "list(set(x))", "dict.fromkeys(x)", "set(map(float, x))", "set()", "{*x, 9}"],
)  # fmt: skip
TRUTHS = (
    ["f(3) is True", "f(-1) is False", "f(3)", "not f(-1)", "f(3) == 1", "f(3) is not None", "f(-1) is not True"],
    ["x", "not x > 0", "None", "'yes' * (x > 0)", "bool(x)", "[x > 0]"],
)
ERRORS = (
    ["pytest.raises(ZeroDivisionError): f(0)", "pytest.raises((KeyError, ArithmeticError)): f(0)",
    "pytest.raises(Exception): f(0)", "f(1) == 1"],
    ["x", "1 // x", "[1][x]", "{1: 1}[x]", "(_ for _ in ()).throw(KeyboardInterrupt)", "exit(0)"],
)  # fmt: skip
RESULTS |= {"set(x)": SETS, "x > 0": TRUTHS, "1 / x": ERRORS}


def to_be_run(test: str) -> str:
    """The assertion with the call in a statement of its own."""
    if test.startswith("pytest"):
        guard, _, call = test.partition(": ")
        return f"with {guard}:\n        r = {call}"
    tree = ast.parse(test)
    [call] = [
        ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "f"
    ]
    return f"r = {call}\n    assert {ast.unparse(tree).replace(call, 'r')}"


@pytest.mark.parametrize("result", RESULTS)
def test_a_literal_case_s_verdict_is_a_run_s(judge: Judge, result: str) -> None:
    tests, others = RESULTS[result]
    problem = asks(
        f"def f(x):\n    return {result}\n", "Raises ZeroDivisionError, KeyError, ArithmeticError or Exception."
    )
    written = [f"with {test}" if test.startswith("pytest") else f"assert {test}" for test in tests]
    texts = [
        "".join(f"def test_{n}():\n    {test}\n" for n, test in enumerate(each))
        for each in (written, map(to_be_run, tests))
    ]
    literal, run = settled(judge, problem, *(f"import pytest\n{text}" for text in texts), trust=True)
    assert reasons(literal) == reasons(run) == [""] * len(tests)
    assert [case.literal for case in literal.cases + run.cases] == [True] * len(tests) + [False] * len(tests)
    programs = [f"def f(x):\n    return {other}\n" for other in (result, *others)]
    verdicts = [rows(judge, problem, turn.admitted, *programs) for turn in (literal, run)]
    for program, one, other in zip(programs, *verdicts, strict=True):
        found = {
            test: (a, b) for test, a, b in zip(tests, one, other, strict=True) if (a == "passed") != (b == "passed")
        }
        assert found == {}, program
