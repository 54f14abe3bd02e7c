"""The trusted comparison: what a program returned against what a literal case expects. Only the host ever holds both.

Both arrive as canonical text, are built from it and compared by Python. What Python would answer with a TypeError
(`3 < "a"`) is a failed case: the program returned, and what it returned is wrong. So is what hangs on the order of a set,
and what takes more steps than there are (steps.py), from its own or from those that a whole suite shares. Text that is no
canonical text is an error.
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
from selfplay.cases.equality import BROKEN
from selfplay.cases.steps import Mismatch, Steps
from selfplay.cases.values import Tree, load, rebuild

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
        steps.weigh(tree, build=True)
        value = rebuild(tree)
        if case.operator in ("truthy", "falsy"):
            return bool(value) == (case.operator == "truthy")
        expected = _loaded(case.expected)
        steps.weigh(expected, build=True)
        if case.operator == "approx":
            return _is_approx(value, rebuild(expected), *case.tolerance)
        return bool(_OPERATORS[case.operator](value, rebuild(expected)))
    except BROKEN:
        return False


_loaded = lru_cache(maxsize=64)(load)


def _is(a: object, b: object) -> bool:
    """Of the values that a literal can be, only these are one object each."""
    return a is b and (a is None or type(a) is bool)


_OPERATORS: dict[str, Callable[[Any, Any], object]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "is": _is,
    "is_not": lambda a, b: not _is(a, b),
    "in": lambda a, b: a in b,
    "not_in": lambda a, b: a not in b,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _is_approx(result: Any, expected: Any, rel: float, absolute: float) -> bool:
    """pytest.approx: a number; numbers in a sequence, whatever sequence the result is; numbers by key in a dictionary."""
    if isinstance(expected, dict):
        pairs = [(result[key], expected[key]) for key in expected] if result.keys() == expected.keys() else [(None, 0)]
    elif isinstance(expected, (list, tuple)):
        if isinstance(result, (set, frozenset)) and len(result) > 1:
            raise Mismatch("the order of a set")
        if len(result) != len(expected):  # a TypeError for an iterator, which is approximately nothing
            return False
        pairs = zip(result, expected, strict=True)
    else:
        pairs = [(result, expected)]
    return all(x == y or _is_near(x, y, rel, absolute) for x, y in pairs)


def _is_near(x: Any, y: Any, rel: float, absolute: float) -> bool:
    return abs(y) < math.inf and bool(abs(y - x) <= max(rel * abs(y) if rel else 0.0, absolute))


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
