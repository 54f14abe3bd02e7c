"""What is read means what Python means: every assertion, on many outputs, is judged as running it would."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from selfplay.box.task import Execution
from selfplay.cases.calls import call_of
from selfplay.cases.case import Case
from selfplay.cases.compare import check
from selfplay.cases.values import encode
from selfplay.reading import read_cases

OUTPUTS: list[Any] = [
    frozenset({1}), b"A", b"0", b"12", bytearray(b"a"), bytearray(b"7"), 3 + 0j,
    None, True, False, 0, 1, 2, 3, 5, 7, -1, 10, 0.0, 1.0, 2.5, 3.14159, 1e20, "", "a", "ab", "abc", "Ab ", "12", "a b",
    [], [1], [1, 2], [2, 1], [1, 2, 3], [3, 1, 2], [1, 1], [0], [[1, 2], [3]], [[], [1]], [(1, 2), (0, 3)], ["a", "b"],
    ["b", "a"], [1.0, 2.0], [1, "a"], [None], (), (1, 2), (2, 1), (1, 2, 3), {}, {"a": 1}, {"k": 2}, {1: 2}, {"a": [1, 2]},
    {1, 2}, {1}, set(), frozenset({1, 2}), range(3), ["ab", "c"], [True, False], [-1, 2], [2, 4, 6], [1, 3],
]  # fmt: skip

ONE_RESULT = """
f(0) == 1
f(0) != 1
1 == f(0)
f(0) in (1, 2)
f(0) not in [1, 2, 2]
f(0) in [5]
f(0) in {1, 2}
f(0) in "abc"
2 in f(0)
2 not in f(0)
f(0)
not f(0)
not not f(0)
bool(f(0))
bool(f(0)) is True
not f(0) == 1
not f(0) < 2
f(0) < 2
2 > f(0)
0 <= f(0) <= 2
f(0) > 0 and f(0) < 5
f(0) == 1 or f(0) == 2
f(0) == 1 or f(0) == "a" or f(0) == [1]
f(0) is None or f(0) > 1
f(0) and f(0)[0] == 1
(f(0) or 3) == 3
f(0) is None
f(0) is not None
f(0) is True
isinstance(f(0), int)
isinstance(f(0), (int, str)) and not isinstance(f(0), bool)
isinstance(f(0), list) or f(0) == 1
type(f(0)) is int
type(f(0)) == list
type(f(0)) != list
type(f(0)) in (int, float)
len(f(0)) == 2
len(f(0)) > 1
int(len(f(0))) == 2
len(list(f(0))) == 2
len(set(f(0))) == len(f(0))
sorted(f(0)) == [1, 2]
sorted(sorted(f(0))) == [1, 2]
sorted(list(f(0))) == [1, 2]
list(sorted(f(0))) == [1, 2]
sorted(f(0), reverse=True) == [2, 1]
sorted(f(0), key=lambda x: -x) == [2, 1]
sorted(f(0), key=len) == ["c", "ab"]
sorted(f(0), key=len, reverse=True) == ["ab", "c"]
sorted(f(0), key=lambda p: p[1]) == [(1, 2), (0, 3)]
max(f(0), key=lambda x: x % 3) == 2
min(f(0), key=lambda x: x % 2) == 2
list(reversed(f(0))) == [2, 1]
tuple(f(0)) == (1, 2)
set(f(0)) == {1, 2}
sum(f(0)) == 3
max(f(0)) == 2
min(f(0)) == 1
abs(f(0)) == 1
abs(abs(f(0))) == 1
-f(0) == 1
-f(0) == 2.5
f(0) % 2 == 1
f(0) + 1 == 2
1 + f(0) == 2
f(0) * 2 == 4
f(0) * 2 == [1, 1]
f(0) - 1 == 0
f(0) / 2 == 1
f(0) // 2 == 1
f(0) ** 2 == 4
f(0) + [9] == [1, 2, 9]
round(f(0)) == 3
round(f(0), 2) == 3.14
round(round(f(0), 2), 3) == 3.14
round(round(f(0), 3), 2) == 3.14
int(int(f(0))) == 2
int(f(0)) == 3
float(f(0)) == 1.0
str(f(0)) == "1"
str(str(f(0))) == "[1, 2]"
f(0)[:] == [1, 2]
f(0)[:] == (1, 2)
f(0)[:] != [1, 2]
f(0)[:1] == [1]
f(0)[::-1] == [2, 1]
f(0)[::-1] == "ba"
f(0).copy() == [1, 2]
f(0).copy() == {1, 2}
f(0).copy() != [1, 2]
f(0)[0] == 1
f(0)[-1] == 2
f(0)["a"] == 1
f(0)["a"][0] == 1
f(0)[0] + f(0)[1] == 3
f(0)[0] < f(0)[1]
f(0)[0] < f(0)[-1]
f(0).get("a") == 1
f(0).get("z") is None
f(0).get("z", 4) == 4
list(f(0).keys()) == ["a"]
sorted(f(0).values()) == [1]
set(f(0).keys()) == {"a"}
f(0).keys() == {"a"}
list(f(0).items()) == [("a", 1)]
all(v > 0 for v in f(0).values())
f(0).startswith("a")
f(0).endswith("b")
f(0).upper() == "AB"
f(0).lower().strip() == "ab"
f(0).lower().lower() == "ab"
f(0).split() == ["a", "b"]
f(0).count("a") == 1
f(0).index("b") == 1
f(0).replace("a", "b") == "bb"
f(0).isdigit()
not f(0).isdigit()
" ".join(f(0)) == "a b"
"".join(sorted(f(0))) == "ab"
all(f(0))
any(f(0))
all(x > 0 for x in f(0))
any(x > 2 for x in f(0))
all(isinstance(x, int) for x in f(0))
not any(x < 0 for x in f(0))
all([x % 2 == 0 for x in f(0)])
[x for x in f(0) if x > 1] == [2]
[x * 2 for x in f(0)] == [2, 4]
{x for x in f(0)} == {1, 2}
sum(x for x in f(0)) == 3
sum(1 for x in f(0) if x) == 2
len([x for x in f(0) if x]) == 2
list(map(str, f(0))) == ["1", "2"]
list(map(len, f(0))) == [2, 1]
list(filter(None, f(0))) == [1]
list(filter(lambda x: x > 1, f(0))) == [2]
sorted(map(sorted, f(0))) == [[1, 2], [3]]
set(map(tuple, f(0))) == {(1, 2), (3,)}
[x for row in f(0) for x in row] == [1, 2, 3]
all(a <= b for a, b in zip(f(0), f(0)[1:]))
all(f(0)[i] <= f(0)[i + 1] for i in range(len(f(0)) - 1))
[i for i, x in enumerate(f(0)) if x == 2] == [1]
all(abs(a - b) < 1e-6 for a, b in zip(f(0), [1.0, 2.0]))
f(0) == sorted(f(0))
f(0) == f(0)[::-1]
abs(f(0) - 3) < 0.2
abs(3.14 - f(0)) <= 0.01
round(f(0) - 3.14, 1) == 0
f(0) == pytest.approx(3.1416, abs=1e-3)
f(0) != pytest.approx(3.1416, abs=1e-3)
f(0) == pytest.approx([1.0, 2.0])
math.isclose(f(0), 3.14159)
len(list(enumerate(f(0)))) > 0
len(tuple(zip(f(0), f(0)))) == 2
'' != str(f(0))
str(f(0)) == '{1}' or str(f(0)) == 'set()'
str(f(0)) == 'frozenset({1})'
len(f(0)) == 0 and str(frozenset(f(0))) == 'frozenset()'
str((f(0), 1)) == '(0, 1)'
float(f(0)) in (7.0, False)
int(f(0)) == 12
f(0)[0:1:True] == [1]
f(0)[False:1]
f(0) not in range(1, 7, 2)
str((f(0),)) == '(1,)' and str([f(0), (f(0), 2)]) == '[1, (1, 2)]'
isinstance(frozenset(f(0)), frozenset)
frozenset(f(0)) == {1, 2}
{1, 2} >= frozenset(f(0))
-f(0) != 10
not (-f(0) == 10)
-f(0) == -2
--f(0) == 2
not (f(0)[:] == [1])
f(0)[:] == [1]
f(0).copy() != [1]
f(0).copy() == [1]
math.isclose(f(0), 3.0)
not math.isclose(f(0), 3.0)
f(0).lower() == b'a'
len(f(0).upper()) > 0
math.prod(f(0)) == 2
[5, 6, 7][f(0)] == 6
f(0) if f(0) else True
(f(0) == 1) == True
(f(0) == 1) is False
f(0) & {1} == {1}
f(0) <= {1, 2}
{1} <= f(0)
f(0).issubset({1, 2})
f(0).union([3]) == {1, 2, 3}
[f(0), 2] == [1, 2]
(f(0), f(0)) == (1, 1)
f(0) in [[1, 2], [2, 1]]
f(0) == [1, 2] or f(0) == (1, 2)
1 < f(0) != 3
f(0) in [True, 2]
f(0) == True
"""

TWO_RESULTS = """
f(0) == f(1)
f(0) != f(1)
f(0) < f(1)
f(0) >= f(1)
not f(0) == f(1)
f(0) + f(1) == 3
f(0) == f(1)[::-1]
len(f(0)) == len(f(1))
sorted(f(0)) == sorted(f(1))
f(0) == 1 or f(1) == 1
f(0) == 1 and f(1) == 2
[f(0), f(1)] == [1, 2]
[f(i) for i in range(2)] == [1, 2]
all(f(i) == i for i in range(2))
any(f(i) == i for i in range(2))
sum(f(i) for i in range(2)) == 3
sorted([f(0), f(1)]) == [1, 2]
f(0) in f(1)
f(1) == [f(0), 2]
f(0) if f(1) else f(0) == 2
"""


def verdict(cases: tuple[Case, ...], outputs: list[Any]) -> bool:
    """Whether all cases pass for a program that returns `outputs[n]` for f(n)."""
    return all(
        check(case, *(Execution("returned", encode(outputs[call_of(text)[0][0]])) for text in case.calls)) == "passed"
        for case in cases
    )


def plain(assertion: str, outputs: list[Any]) -> bool:
    """What running the assertion says."""
    import math

    try:
        exec(f"assert {assertion}", {"f": lambda n: outputs[n], "pytest": pytest, "math": math})
    except (AssertionError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return False
    return True


def shuffled(row: list[Any]) -> bool:
    """A set of several items has no order that a test may hang on: such a case fails, whatever the run at hand says."""
    return any(isinstance(output, (set, frozenset)) and len(output) > 1 for output in row)


def differing(assertion: str, rows: list[list[Any]], judged: Callable[[list[Any]], bool]) -> list[list[Any]]:
    wrong = [(row, plain(assertion, row)) for row in rows if plain(assertion, row) != judged(row)]
    return [row for row, passes in wrong if not (passes and shuffled(row))]


@pytest.mark.parametrize("assertion", ONE_RESULT.strip().splitlines())
def test_a_condition_on_one_result_is_judged_as_python_judges_it(assertion: str) -> None:
    cases = read_cases(f"assert {assertion}", "f").cases
    assert cases
    assert differing(assertion, [[output] for output in OUTPUTS], lambda row: verdict(cases, row)) == []


@pytest.mark.parametrize("assertion", TWO_RESULTS.strip().splitlines())
def test_what_relates_two_results_is_judged_as_python_judges_it(assertion: str) -> None:
    cases = read_cases(f"assert {assertion}", "f").cases
    assert cases
    rows = [list(pair) for pair in product([1, 2, 0, None, "a", [1, 2], [2, 1], [1], (1, 2), {1: 2}, [0, 2]], repeat=2)]
    assert differing(assertion, rows, lambda row: verdict(cases, row)) == []
