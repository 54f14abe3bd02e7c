"""Builtin functions of a result that mean more than a term with their name: sorted, round, isinstance, isclose, type.

With them stand the values that say themselves what comparing a result with them means: `pytest.approx(...)` and the
type of a result; and the names of exceptions and types that tests write.
"""

from __future__ import annotations

import math
from typing import NoReturn

from selfplay.reading.known import ExceptionType, type_names
from selfplay.reading.native import Native
from selfplay.reading.normal import make
from selfplay.reading.opaque import Spoiled
from selfplay.reading.refusals import refuse
from selfplay.reading.symbols import Comparing, Result, connected, special
from selfplay.reading.unknown import Arguments, Data, Keywords, Unknown, Value


def _odd_arguments(result: Result, name: str) -> NoReturn:
    refuse("on_value", result.entry.name, name=f"{name}() with these arguments")


@special("sorted")
def _sorted(result: Result, arguments: Arguments, keywords: Keywords) -> Value:
    """sorted(result), from the other end with `reverse`; one with a `key` is symbolic.py's."""
    if len(arguments) != 1 or not set(keywords) <= {"reverse"} or not isinstance(keywords.get("reverse", False), bool):
        _odd_arguments(result, "sorted")
    found = result.then("sorted")
    return found.over([found], lambda term: make("reversed", term)) if keywords.get("reverse") else found


@special("round")
def _round(result: Result, arguments: Arguments, keywords: Keywords) -> Value:
    digits = [*arguments[1:], *keywords.values()]
    if arguments[0] is not result or len(digits) > 1 or not all(part is None or type(part) is int for part in digits):
        _odd_arguments(result, "round")
    return result.then("round", *(part for part in digits if part is not None))


@special("isinstance")
def _isinstance(result: Result, arguments: Arguments, keywords: Keywords) -> Value:
    if arguments[0] is not result:
        _odd_arguments(result, "isinstance")
    return result.then("isinstance", "|".join(sorted(set(type_names(arguments[1])))))


@special("type")
def _type(result: Result, arguments: Arguments, keywords: Keywords) -> Value:
    return Kind(result)


@special("isclose")
def _isclose(result: Result, arguments: Arguments, keywords: Keywords) -> Value:
    if len(arguments) != 2 or not set(keywords) <= {"rel_tol", "abs_tol"}:
        _odd_arguments(result, "isclose")
    given = [part for part in arguments if not isinstance(part, Unknown)]
    if not all(isinstance(part, (int, float)) for part in given):
        refuse("on_value", result.entry.name, name="isclose() of something that is no number")
    return near(arguments[0], arguments[1], keywords.get("rel_tol", 1e-9), keywords.get("abs_tol", 0.0), "isclose")


@special("print")
def _print(result: Result, arguments: Arguments, keywords: Keywords) -> Value:
    return None


def near(a: Data, b: Data, rel: Data, abs: Data, how: str = "approx") -> Result | Spoiled:
    """That two values, at least one of them a result, differ by no more than max(rel * |b|, abs).

    `how`: what is no number is not near anything (approx), or math.isclose raises. Refuses tolerances that are no finite
    numbers from 0 on.
    """
    result, other = (a, b) if isinstance(a, Result) else (b, a)
    if not all(isinstance(part, (int, float)) for part in (rel, abs)):
        refuse("tolerance", result.entry.name, tolerance="what is no number")
    if not all(math.isfinite(part) and part >= 0 for part in (rel, abs)):
        refuse("tolerance", result.entry.name, tolerance=(rel, abs))
    if isinstance(other, Result) and other.term == result.term:
        refuse("same_call", result.entry.name)
    return result.then(how, other, float(rel), float(abs))


class Kind(Comparing):
    """`type(f(x))`: may be compared with a builtin type."""

    what = "the type of a result"

    def __init__(self, result: Result) -> None:
        self.result = result

    def compare(self, operator: str, other: Value, flipped: bool) -> Value:
        """A condition on the result; refuses what is no builtin type."""
        if operator in ("in", "not_in") and isinstance(other, (tuple, list)) and other and not flipped:
            found = connected("or", [self._is(one) for one in other])
            return found if operator == "in" else found.negated()
        if operator not in ("==", "!=", "is", "is_not"):
            self._odd()
        condition = self._is(other)
        return condition if operator in ("==", "is") else condition.negated()

    def _is(self, kind: Value) -> Result | Spoiled:
        return self.result.then("type_is", type_names(kind)[0]) if isinstance(kind, Native) else self._odd()

    def _odd(self) -> NoReturn:
        refuse("on_value", self.result.entry.name, name="this comparison of the type")


class Approx(Comparing):
    """pytest.approx(expected)."""

    what = "an approximate value"

    def __init__(self, expected: Data, rel: float | None, abs: float | None) -> None:
        self.expected = expected
        self.rel = rel if rel is not None else (1e-6 if abs is None else 0.0)
        self.abs = 1e-12 if abs is None else abs

    def compare(self, operator: str, other: Value, flipped: bool) -> Value:
        """A condition on the result that it is compared with; refuses anything but == and != of one."""
        if operator in ("==", "!=") and isinstance(other, Result):
            condition = near(other, self.expected, self.rel, self.abs)
            return condition if operator == "==" else condition.negated()
        return self.refuse()


def exception_names(wanted: Value) -> list[str]:
    """The names in the first argument of pytest.raises; refuses classes that are not builtin."""
    kinds = wanted if isinstance(wanted, (tuple, list)) else (wanted,)
    names = [kind.name for kind in kinds if isinstance(kind, ExceptionType)]
    if not names or len(names) < len(kinds):
        refuse("own_exception")
    return names
