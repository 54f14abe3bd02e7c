"""The trusted comparison: what a program returned against what a literal case expects. Only the host ever holds both.

The value arrives as canonical text and is compared with Python's semantics (equality.py). What Python would answer with a
TypeError (`3 < "a"`) is a failed case: the program returned, and what it returned is wrong. So is what hangs on the order
of a set, and what takes more steps than there are (steps.py): a comparison pays for looking at both sides once, from its
own steps or from those that a whole suite shares. Text that is no canonical text is an error.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from selfplay.box.task import Execution
from selfplay.cases.case import Case, Verdict
from selfplay.cases.equality import EXACT, PAIRS, SETS, canonical, equal, items, items_of, range_key, tag_of, truth
from selfplay.cases.membership import member
from selfplay.cases.steps import Mismatch, Steps
from selfplay.cases.values import Tree, integer, load, number, rebuild

__all__ = ["check", "holds", "is_same_text", "order", "same_output"]

_STATUS: dict[str, Verdict] = {
    "timeout": "timeout",
    "crashed": "error",
    "not_collected": "not_collected",
    "infra_error": "infra_error",
}


def is_same_text(case: Case, execution: Execution) -> bool:
    """Whether the case passes because what came back is, letter by letter, the text of what is expected.

    Most right answers are. It costs no more than to look at both, so it may be asked anywhere; False decides nothing.
    """
    if execution.status != "returned" or execution.value != case.expected:
        return False
    if case.operator == "stdout":
        return True
    return case.operator == "==" and '"nan"' not in case.expected and '["o"' not in case.expected


def check(case: Case, execution: Execution, steps: Steps | None = None) -> Verdict:
    """The verdict on what the case's call did. Never raises, whatever the program returned."""
    if execution.status in _STATUS:
        return _STATUS[execution.status]
    if case.operator == "raises":
        expected = set(json.loads(case.expected))
        return _verdict(execution.status == "raised" and not expected.isdisjoint(execution.exception))
    if execution.status == "raised":
        return "error"
    if case.operator == "stdout":
        return _verdict(same_output(execution.value, case.expected, case.tolerance))
    if is_same_text(case, execution):
        return "passed"
    try:
        tree = load(execution.value)
    except ValueError:
        return "error"
    return _verdict(holds(case, tree, steps))


def _verdict(passed: bool) -> Verdict:
    return "passed" if passed else "failed"


def holds(case: Case, tree: Tree, steps: Steps | None = None) -> bool:
    """Whether the returned tree is what the case (neither `raises` nor `stdout`) expects."""
    steps = steps or Steps()
    try:
        steps.weigh(tree)
        if case.operator in ("truthy", "falsy"):
            return truth(tree) == (case.operator == "truthy")
        expected = _loaded(case.expected)
        steps.weigh(expected)
        if case.operator == "approx":
            return _is_approx(tree, expected, *case.tolerance)
        return _OPERATORS[case.operator](tree, expected)
    except (Mismatch, RecursionError, ArithmeticError):  # the last: a Decimal has no order with NaN
        return False


_loaded = lru_cache(maxsize=64)(load)


def _is(a: Tree, b: Tree) -> bool:
    return a is b if a is None or type(a) is bool else False


# ---- order ----


def order(a: Tree, b: Tree, test: Callable[[Any, Any], bool]) -> bool:
    """Python's ordering: numbers, texts, bytes, sequences item by item, sets by inclusion; else Mismatch."""
    deciding = _deciding(a, b)
    if deciding is None:
        return test(0, 0)
    a, b = deciding
    if tag_of(a) in SETS and tag_of(b) in SETS:
        return _include(items(a), items(b), test)
    return test(*_comparable(a, b))


def _deciding(a: Tree, b: Tree) -> tuple[Tree, Tree] | None:
    """The first parts of two sequences that differ, as deep as both go: what their order hangs on. Their lengths where one
    is the beginning of the other, None where they are equal."""
    if _SEQUENCE.get(tag_of(a), "") != _SEQUENCE.get(tag_of(b)):
        return a, b
    left, right = items_of(a), items_of(b)
    for x, y in zip(left, right, strict=False):
        if tag_of(x) in _SEQUENCE:
            found = _deciding(x, y)
            if found is not None:
                return found
        elif not equal(x, y):
            return x, y
    return None if len(left) == len(right) else (len(left), len(right))


_SEQUENCE = {"l": "l", "t": "t", "n": "t", "q": "q"}


def _comparable(a: Tree, b: Tree) -> tuple[Any, Any]:
    if type(a) is str and type(b) is str:
        return a, b
    if tag_of(a) in ("b", "B") and tag_of(b) in ("b", "B"):
        return a[1], b[1]
    return _real(a), _real(b)


def _real(tree: Tree) -> Any:
    """A number that has an order."""
    value = rebuild(tree) if tag_of(tree) in EXACT else number(tree)
    if value is None or isinstance(value, complex):
        raise Mismatch("not comparable")
    return value


def _include(a: list[str], b: list[str], test: Callable[[Any, Any], bool]) -> bool:
    if test(1, 2):  # < or <=: swap so that only inclusion of the second in the first is asked
        a, b = b, a
    return set(b) <= set(a) and (test(1, 1) or len(a) > len(b))


_OPERATORS: dict[str, Callable[[Tree, Tree], bool]] = {
    "==": equal,
    "!=": lambda a, b: not equal(a, b),
    "is": _is,
    "is_not": lambda a, b: not _is(a, b),
    "in": member,
    "not_in": lambda a, b: not member(a, b),
    "<": lambda a, b: order(a, b, operator.lt),
    "<=": lambda a, b: order(a, b, operator.le),
    ">": lambda a, b: order(a, b, operator.gt),
    ">=": lambda a, b: order(a, b, operator.ge),
}


# ---- approximately ----


def _is_approx(result: Tree, expected: Tree, rel: float, absolute: float) -> bool:
    """pytest.approx: a number; numbers in a sequence, whatever sequence the result is; numbers by key in a dictionary."""
    tag = tag_of(expected)
    if tag == "d":
        return tag_of(result) in ("d", "C", "O", "dd") and _are_approx(*_by_key(result, expected), rel, absolute)
    if tag in ("l", "t"):
        return _are_approx(_sized(result, len(expected) - 1), expected[1:], rel, absolute)
    return _is_number_approx(result, expected, rel, absolute)


def _are_approx(results: list[Tree], expected: list[Tree], rel: float, absolute: float) -> bool:
    pairs = zip(results, expected, strict=False)
    return len(results) == len(expected) and all(_is_number_approx(x, y, rel, absolute) for x, y in pairs)


def _by_key(result: Tree, expected: Tree) -> tuple[list[Tree], list[Tree]]:
    """The values of two dictionaries in one order; of different length where the keys are not the same."""
    left, right = ({canonical(key): value for key, value in tree[1:]} for tree in (result, expected))
    return (list(left.values()), [right[key] for key in left]) if left.keys() == right.keys() else ([], [None])


def _sized(tree: Tree, length: int) -> list[Tree]:
    """What a loop over a value of this length gives. Raises Mismatch for others, and for the order of a set."""
    tag = tag_of(tree)
    if tag == "r" and range_key(tree)[0] == length:
        return [integer(item) for item in rebuild(tree)]
    if type(tree) is str or tag in ("b", "B"):
        return list(tree if type(tree) is str else rebuild(tree))
    if tag in _SEQUENCE or (tag in SETS and len(tree) <= 2):
        return items_of(tree)
    if tag in PAIRS:
        return [key for key, _ in tree[1:]]
    raise Mismatch("no sequence of this length")


def _is_number_approx(result: Tree, expected: Tree, rel: float, absolute: float) -> bool:
    if equal(result, expected):
        return True
    x: Any = rebuild(result) if tag_of(result) in EXACT else number(result)
    y: Any = number(expected)
    if x is None:
        return False
    try:
        return abs(y) < math.inf and bool(abs(y - x) <= max(rel * abs(y) if rel else 0.0, absolute))
    except (TypeError, ValueError, ArithmeticError):  # then pytest fails the test, too
        return False


# ---- printed text ----


def same_output(printed: str, expected: str, tolerance: tuple[float, float] = (0.0, 0.0)) -> bool:
    """Line by line; blanks at the end of a line and empty lines at the end count for nothing."""
    got, want = _lines(printed), _lines(expected)
    if len(got) != len(want):
        return False
    if not any(tolerance):
        return got == want
    return all(_same_line(x, y, tolerance) for x, y in zip(got, want, strict=True))


def _lines(text: str) -> list[str]:
    return "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n").split("\n")


def _same_line(got: str, want: str, tolerance: tuple[float, float]) -> bool:
    tokens, wanted = got.split(), want.split()
    return len(tokens) == len(wanted) and all(_same_token(x, y, tolerance) for x, y in zip(tokens, wanted, strict=True))


def _same_token(got: str, want: str, tolerance: tuple[float, float]) -> bool:
    if got == want:
        return True
    try:
        x, y = float(got), float(want)
    except ValueError:
        return False
    relative, absolute = tolerance
    return x == y or (math.isfinite(y) and abs(x - y) <= max(relative * abs(y), absolute))
