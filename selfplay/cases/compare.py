"""The trusted comparison: what a program returned against what a case expects. Only the host ever holds both.

The value arrives as canonical text, is seen through the case's view (views.py) and compared with Python's semantics
(equality.py); a case that relates several results is a term (terms.py). What Python would answer with a TypeError
(`3 < "a"`) is a failed case: the program returned, and what it returned is wrong. So is what hangs on the order of a
set, and what takes more steps than a comparison has (steps.py). Text that is no canonical text is an error.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from selfplay.box.task import Execution
from selfplay.cases.case import Case, Verdict
from selfplay.cases.equality import equal, near, truth
from selfplay.cases.functions import nearly_equal
from selfplay.cases.membership import member
from selfplay.cases.sorting import order
from selfplay.cases.steps import Mismatch, Steps
from selfplay.cases.terms import satisfied
from selfplay.cases.values import Tree, load
from selfplay.cases.views import view

__all__ = ["check", "equal", "holds", "same_output"]

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
    return case.operator == "==" and not case.view and '"nan"' not in case.expected and '["o"' not in case.expected


def check(case: Case, *executions: Execution) -> Verdict:
    """The verdict on one execution per call of the case, in order. Never raises, whatever the program returned."""
    if case.operator != "satisfies":
        return _check_one(case, executions[0])
    ended = [_STATUS.get(execution.status, "error") for execution in executions if execution.status != "returned"]
    if ended:
        return next(verdict for verdict in _WORST if verdict in ended)
    try:
        trees = [load(execution.value) for execution in executions]
    except ValueError:
        return "error"
    return _verdict(holds(case, *trees))


_WORST: tuple[Verdict, ...] = ("infra_error", "not_collected", "timeout", "error")


def _check_one(case: Case, execution: Execution) -> Verdict:
    if execution.status in _STATUS:
        return _STATUS[execution.status]
    if case.operator == "raises":
        expected = set(json.loads(case.expected))
        return "passed" if execution.status == "raised" and expected & set(execution.exception) else "failed"
    if execution.status == "raised":
        return "error"
    if case.operator == "stdout":
        return _verdict(same_output(execution.value, case.expected, case.tolerance))
    try:
        tree = load(execution.value)
    except ValueError:
        return "error"
    return _verdict(holds(case, tree))


def _verdict(passed: bool) -> Verdict:
    return "passed" if passed else "failed"


def holds(case: Case, *trees: Tree, steps: Steps | None = None) -> bool:
    """Whether the returned trees, one per call, are what the case (neither `raises` nor `stdout`) expects."""
    steps = steps or Steps()
    if case.operator == "satisfies":
        return satisfied(case.expected, trees, steps)
    try:
        seen = view(case.view, trees[0], steps)
        if case.operator in ("truthy", "falsy"):
            return truth(seen) == (case.operator == "truthy")
        expected = _loaded(case.expected)
        if case.operator in _ORDERINGS:
            return order(seen, expected, _ORDERINGS[case.operator], steps)
        return _OPERATORS[case.operator](seen, expected, case.tolerance)
    except (Mismatch, RecursionError):
        return False


_loaded = lru_cache(maxsize=64)(load)


_ORDERINGS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _is(a: Tree, b: Tree, tolerance: tuple[float, float]) -> bool:
    return a is b if a is None or type(a) is bool else False


_OPERATORS: dict[str, Callable[[Tree, Tree, tuple[float, float]], bool]] = {
    "==": lambda a, b, _: equal(a, b),
    "!=": lambda a, b, _: not equal(a, b),
    "is": _is,
    "is_not": lambda a, b, t: not _is(a, b, t),
    "in": lambda a, b, _: member(a, b),
    "not_in": lambda a, b, _: not member(a, b),
    "approx": lambda a, b, tolerance: nearly_equal(a, b, *tolerance),
}


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
        return near(float(got), float(want), *tolerance)
    except ValueError:
        return False
