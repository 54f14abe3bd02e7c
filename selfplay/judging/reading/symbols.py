"""Results that do not exist yet, and what a test says about them.

While a test is read, the entry point is an `EntryPoint`, calling it gives a `Result` (arguments and the view so far),
and comparing that gives a `Condition`, which is all that a case needs. What relates two results, or does something to
one that no view says, raises NotReadable: `property`, to be checked by running the test, or `unsupported`.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from selfplay.judging.reading.budget import WRITING, Budget, Lazy, NotReadable, Unknown
from selfplay.judging.reading.known import ExceptionType, Native, type_names
from selfplay.judging.values import encode

NEGATED = {
    "==": "!=",
    "!=": "==",
    "is": "is_not",
    "is_not": "is",
    "in": "not_in",
    "not_in": "in",
    "truthy": "falsy",
    "falsy": "truthy",
}
FLIPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "is": "is", "is_not": "is_not"}
SINGLETONS = (None, True, False)


def text_of(value: Any, budget: Budget) -> str:
    """Canonical text of plain data; raises NotReadable for what is unknown, no data, or too large."""
    budget.weigh(value, WRITING)
    try:
        text = encode(value, strict=True)
    except ValueError as error:
        raise NotReadable("unsupported", str(error)) from None
    budget.made(len(text))
    return text


class Signature:
    """The parameters of the entry point: folds keywords to positions. Empty text knows no parameters."""

    def __init__(self, text: str, evaluate: Callable[[ast.expr], Any]) -> None:
        self.names: tuple[str, ...] | None = None
        self.defaults: dict[str, Any] = {}
        spec = parameters(text)
        if spec is None:
            return
        positional = [*spec.posonlyargs, *spec.args]
        self.names = tuple(argument.arg for argument in positional)
        self.variadic = spec.vararg is not None
        for name, default in zip(self.names[len(self.names) - len(spec.defaults) :], spec.defaults, strict=True):
            self.defaults[name] = default
        self._evaluate = evaluate

    def fold(self, arguments: list[Any], keywords: dict[str, Any]) -> list[Any]:
        """All arguments by position; a gap is filled by the default of the signature."""
        if not keywords:
            return arguments
        names = self.names
        if names is None or not set(keywords) <= set(names[len(arguments) :]):
            raise NotReadable("keywords", f"no positions are known for {sorted(keywords)}")
        folded = list(arguments)
        last = max(names.index(name) for name in keywords)
        for name in names[len(arguments) : last + 1]:
            if name in keywords:
                folded.append(keywords[name])
            elif name in self.defaults:
                folded.append(self._evaluate(self.defaults[name]))
            else:
                raise NotReadable("keywords", f"no argument for {name!r}")
        return folded


def parameters(signature: str) -> ast.arguments | None:
    """The parameters in the text of a signature such as `def f(a: int, b=2) -> int:`; None where it is not one."""
    text = signature.strip()
    if not text:
        return None
    head = text if text.endswith(":") else f"{text}:"
    try:
        tree = ast.parse(f"{head} pass")
    except (SyntaxError, ValueError):
        return None
    function = tree.body[0]
    return function.args if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) else None


class EntryPoint(Unknown):
    """The function under test."""

    what = "the function itself, not a call of it"

    def __init__(self, signature: Signature, budget: Budget) -> None:
        self.signature, self.budget = signature, budget
        self.calls: list[Result] = []

    def call(self, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        text = text_of(self.signature.fold(arguments, keywords), self.budget)
        result = Result(text, (), self.budget)
        self.calls.append(result)
        return result


class Result(Unknown):
    """What a call returns, seen through a view."""

    what = "a result"

    def __init__(self, arguments: str, view: tuple[str, ...], budget: Budget) -> None:
        self.arguments, self.view, self.budget = arguments, view, budget

    def then(self, *step: str) -> Result:
        return Result(self.arguments, (*self.view, *step), self.budget)

    def text(self, value: Any) -> str:
        return text_of(value, self.budget)

    def condition(self, operator: str, expected: str, tolerance: tuple[float, float] = (0.0, 0.0)) -> Condition:
        if self.view[-1:] in (("values",), ("items",)):
            raise NotReadable("unsupported", f"a comparison with dict.{self.view[-1]}()")
        return Condition(self.arguments, operator, expected, self.view, tolerance)

    def negated(self) -> Any:
        return self.condition("falsy", "false")

    def compare(self, operator: str, other: Any, flipped: bool) -> Any:
        if isinstance(other, Approx):
            return other.condition(self, operator)
        if isinstance(other, (Native, Lazy)):
            raise NotReadable("unsupported", f"a comparison with a {type(other).__name__.lower()}")
        if operator in ("in", "not_in") and flipped:
            condition = self.then("has", self.text(other)).condition("truthy", "true")
            return condition if operator == "in" else condition.negated()
        if operator in ("is", "is_not") and not any(other is single for single in SINGLETONS):
            raise NotReadable("unsupported", "`is` with anything but None, True and False")
        return self.condition(FLIPPED[operator] if flipped else operator, self.text(other))

    def item(self, key: Any) -> Any:
        if isinstance(key, slice):
            bounds = [key.start, key.stop, key.step]
            if not all(bound is None or type(bound) is int for bound in bounds):
                raise NotReadable("unsupported", "a slice of something else than integers")
            return self.then("slice", ",".join("" if bound is None else str(bound) for bound in bounds))
        if type(key) is int:
            return self.then("index", str(key))
        return self.then("key", self.text(key))

    def attribute(self, name: str) -> Any:
        if name in ("lower", "upper", "strip", "keys", "values", "items", "count", "copy"):
            return ResultMethod(self, name)
        raise NotReadable("unsupported", f"the attribute {name} of a result")

    def combine(self, operator: str, other: Any, flipped: bool) -> Any:
        if operator == "Sub" and isinstance(other, (int, float)):
            return Difference(self, other)
        if operator == "USub":
            raise NotReadable("unsupported", "a negated result")
        return super().combine(operator, other, flipped)

    def passed_to(self, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if name in _STEPS and arguments == [self] and not keywords:
            return self.then(_STEPS[name])
        if name == "sorted" and len(arguments) == 1 and keywords in ({"reverse": True}, {"reverse": False}):
            return self.then(*(("sorted", "reversed") if keywords["reverse"] else ("sorted",)))
        if name == "round" and arguments[0] is self and len(arguments) <= 2:
            digits = [*arguments[1:], *keywords.values()]
            return self.then("round", str(int(digits[0])) if digits and digits[0] is not None else "")
        if name == "isinstance" and arguments[0] is self:
            names = "|".join(type_names(arguments[1]))
            return self.then("isinstance", names).condition("truthy", "true")
        if name == "isclose":
            return self._isclose(arguments, keywords)
        if name == "type" and arguments == [self]:
            return TypeOf(self)
        if name == "print":
            return None
        return self._refuse()

    def _isclose(self, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        other = next((argument for argument in arguments if argument is not self), self)
        if len(arguments) != 2 or not set(keywords) <= {"rel_tol", "abs_tol"}:
            raise NotReadable("unsupported", "this call of math.isclose")
        return self.near(other, keywords.get("rel_tol", 1e-9), keywords.get("abs_tol", 0.0))

    def near(self, expected: Any, rel: Any, abs: Any) -> Condition:
        tolerance = (rel, abs)
        if not all(isinstance(part, (int, float)) and math.isfinite(part) and part >= 0 for part in tolerance):
            raise NotReadable("tolerance", f"a tolerance of {tolerance}")
        return self.condition("approx", self.text(expected), (float(rel), float(abs)))


_BUILTIN_STEPS = "len sorted reversed set list tuple sum min max abs str int float bool any all"
_STEPS = {name: name for name in _BUILTIN_STEPS.split()}
_STEPS |= {"fabs": "abs", "frozenset": "set"}


class ResultMethod(Unknown):
    """A method of a result, before it is called."""

    what = "a method of a result"

    def __init__(self, result: Result, name: str) -> None:
        self.result, self.name = result, name

    def call(self, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if keywords or len(arguments) != (self.name == "count"):
            raise NotReadable("unsupported", f"these arguments of {self.name}")
        if self.name == "copy":
            return self.result
        return self.result.then(self.name, *(self.result.text(argument) for argument in arguments))


class TypeOf(Unknown):
    """`type(f(x))`: may be compared with a builtin type."""

    what = "the type of a result"

    def __init__(self, result: Result) -> None:
        self.result = result

    def compare(self, operator: str, other: Any, flipped: bool) -> Any:
        if operator not in ("==", "!=", "is", "is_not") or not isinstance(other, Native):
            return self._refuse()
        condition = self.result.then("type_is", type_names(other)[0]).condition("truthy", "true")
        return condition if operator in ("==", "is") else condition.negated()


class Difference(Unknown):
    """`f(x) - expected`, which abs() turns into a distance."""

    what = "the difference of a result"

    def __init__(self, result: Result, expected: Any, absolute: bool = False, digits: int | None = None) -> None:
        self.result, self.expected, self.absolute, self.digits = result, expected, absolute, digits

    def passed_to(self, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if name in ("abs", "fabs") and len(arguments) == 1:
            return Difference(self.result, self.expected, True)
        if name == "round" and len(arguments) == 2:
            return Difference(self.result, self.expected, self.absolute, arguments[1])
        return self._refuse()

    def compare(self, operator: str, other: Any, flipped: bool) -> Any:
        operator = FLIPPED.get(operator, operator) if flipped else operator
        if self.digits is not None and operator == "==" and other == 0:
            return self.result.near(self.expected, 0.0, 0.5 * 10.0**-self.digits)
        if not self.absolute or operator not in ("<", "<=") or not isinstance(other, (int, float)) or other < 0:
            return self._refuse()
        if operator == "<":  # the largest distance that is still allowed
            other = math.nextafter(other, 0.0)
        return self.result.near(self.expected, 0.0, other)


class Approx(Unknown):
    """pytest.approx(expected)."""

    what = "an approximate value"

    def __init__(self, expected: Any, rel: float | None, abs: float | None) -> None:
        self.expected = expected
        self.rel = rel if rel is not None else (1e-6 if abs is None else 0.0)
        self.abs = 1e-12 if abs is None else abs

    def condition(self, result: Result, operator: str) -> Condition:
        if operator != "==":
            raise NotReadable("unsupported", f"{operator} with an approximate value")
        return result.near(self.expected, self.rel, self.abs)

    def compare(self, operator: str, other: Any, flipped: bool) -> Any:
        return self.condition(other, operator) if isinstance(other, Result) else self._refuse()


@dataclass(frozen=True, eq=False)
class Condition(Unknown):
    """What a case states, without its name."""

    arguments: str
    operator: str
    expected: str
    view: tuple[str, ...] = ()
    tolerance: tuple[float, float] = (0.0, 0.0)

    def negated(self) -> Condition:
        if self.operator not in NEGATED:
            raise NotReadable("unsupported", f"the negation of {self.operator}")
        operator = NEGATED[self.operator]
        expected = {"truthy": "true", "falsy": "false"}.get(operator, self.expected)
        return Condition(self.arguments, operator, expected, self.view, self.tolerance)

    def compare(self, operator: str, other: Any, flipped: bool) -> Any:
        if operator not in ("==", "is", "!=", "is_not") or type(other) is not bool:
            raise NotReadable("unsupported", "a comparison of a comparison")
        return self if other == (operator in ("==", "is")) else self.negated()

    def passed_to(self, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        return self if name == "bool" and len(arguments) == 1 else self._refuse()


def exception_names(wanted: Any) -> list[str]:
    """The names in the first argument of pytest.raises."""
    kinds = wanted if isinstance(wanted, (tuple, list)) else (wanted,)
    if not kinds or not all(isinstance(kind, ExceptionType) for kind in kinds):
        raise NotReadable("unsupported", "an exception that is not builtin")
    return [kind.name for kind in kinds]
