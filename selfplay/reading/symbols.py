"""Results that do not exist yet, and what a test says about them.

While a test is read, the entry point is an `EntryPoint`, calling it gives a `Result`, and whatever an expression does to
that gives another one, which holds a term (normal.py): a view of the result, a condition on it, or what relates it to
another. What no term says raises NotReadable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from selfplay.cases.calls import call_text
from selfplay.cases.values import encode
from selfplay.reading.budget import WRITING, Budget, Lazy, NotReadable, Unknown
from selfplay.reading.known import ExceptionType, Native, type_names
from selfplay.reading.normal import Term, joined, make, words
from selfplay.reading.opaque import Spoiled
from selfplay.reading.refusals import refuse

MAX_NODES = 2_000  # of one term
MAX_DEPTH = 40
LETTERS = 64  # of a term's texts that are looked through in a step
ITEM_LETTERS = 4  # of a known container that are put in order in a step

_NEGATIVE = {"is_not": "is", "not_in": "in"}
OPERATORS = {
    "Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**",
    "BitOr": "|", "BitAnd": "&", "BitXor": "^",
}  # fmt: skip
FUNCTIONS = words(
    "len sorted reversed set frozenset list tuple sum min max abs str int float bool any all prod zip enumerate range ord"
    " chr repr"
)
SAME_AS = {"fabs": "abs"}
METHODS = words(
    "lower upper strip lstrip rstrip split splitlines startswith endswith count index find replace join isdigit isalpha"
    " isalnum isupper islower isspace title capitalize keys values items get copy issubset issuperset isdisjoint union"
    " intersection difference symmetric_difference swapcase removeprefix removesuffix"
)
CHANGING = words("append extend insert pop remove sort reverse clear add discard update setdefault popitem")
LAZY = frozenset({"reversed", "zip", "enumerate", ".values", ".items", ".keys"})


def text_of(value: Any, budget: Budget) -> str:
    """Canonical text of plain data; raises NotReadable for what is unknown, no data, or too large."""
    budget.weigh(value, WRITING)
    try:
        text = encode(value, strict=True)
    except ValueError as error:
        raise NotReadable("unsupported", str(error)) from None
    budget.made(len(text))
    return text


class EntryPoint(Unknown):
    """The function under test."""

    what = "the function itself, not a call of it"

    def __init__(self, name: str, budget: Budget) -> None:
        self.name, self.budget = name, budget
        self.calls: list[Result] = []
        self.variables = 0
        self.changed: set[str] = set()  # arguments of calls whose result the test changed unseen

    def _refuse(self) -> Any:
        refuse("nothing", self.name)

    def call(self, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        for value in (*arguments, *keywords.values()):
            if isinstance(value, Result):
                refuse("on_result", self.name)
        for name in keywords:
            if not name.isidentifier():
                refuse("keywords", self.name, name=name)
        self.budget.weigh([*arguments, *keywords.values()], WRITING)
        try:
            text = call_text(arguments, keywords)
        except ValueError as error:
            raise NotReadable("unsupported", str(error)) from None
        self.budget.made(len(text))
        result = Result(self, ("result", text), len(text))
        self.calls.append(result)
        return result

    def attribute(self, name: str) -> Any:
        if name == "__name__":
            return self.name
        if name not in ("__doc__", "__module__", "__annotations__", "__qualname__"):
            refuse("patches" if name.startswith("__") else "attribute", self.name, name=name)
        return Spoiled.of("known", self.name)

    def passed_to(self, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if name == "callable":
            return True
        return super().passed_to(name, arguments, keywords)

    def compare(self, operator: str, other: Any, flipped: bool) -> Any:
        if operator in ("is", "==", "is_not", "!=") and (other is None or other is self):
            return (other is self) == (operator in ("is", "=="))
        return self._refuse()

    def variable(self) -> Result:
        """A fresh variable of a comprehension over a result."""
        self.variables += 1
        return Result(self, ("item", self.variables))


class Result(Unknown):
    """A result, or what a test makes of results: a term. `nodes` and `depth` bound it; `lazy`: an iterator in Python.

    `letters`: of all texts in the term, each as often as it stands there. Whatever is made of a term looks through it.
    """

    what = "a result"
    __slots__ = ("depth", "entry", "lazy", "letters", "nodes", "term")

    def __init__(
        self, entry: EntryPoint, term: Term, letters: int = 0, nodes: int = 1, depth: int = 1, lazy: bool = False
    ) -> None:
        self.entry, self.term, self.letters = entry, term, letters
        self.nodes, self.depth, self.lazy = nodes, depth, lazy

    @property
    def size(self) -> int:
        """Steps of looking through the term once."""
        return self.nodes // 2 + self.letters // LETTERS + 1

    def _refuse(self) -> Any:
        refuse("mixed", self.entry.name, what="other values")

    def change(self) -> None:
        """What is done to this value is not followed: nothing is known about the calls that it comes from."""
        self.entry.budget.spend(self.size)
        self.entry.changed |= set(calls_of(self.term))

    def over(self, parts: Sequence[Any], build: Callable[..., Term], lazy: bool = False) -> Any:
        """The result of `build` with the terms of this and the other `parts`."""
        spoiled = next((part for part in parts if isinstance(part, Spoiled)), None)
        if spoiled:
            return spoiled
        known = [part if isinstance(part, Result) else self._data(part) for part in parts]
        nodes, depth = 1 + sum(part.nodes for part in known), 1 + max(part.depth for part in known)
        if nodes > MAX_NODES or depth > MAX_DEPTH:
            refuse("nodes", self.entry.name, limit=MAX_NODES if nodes > MAX_NODES else MAX_DEPTH)
        self.entry.budget.spend(len(known) + sum(part.size for part in known))
        letters = sum(part.letters for part in known)
        return Result(self.entry, build(*(part.term for part in known)), letters, nodes, depth, lazy)

    def _data(self, value: Any) -> Result:
        if isinstance(value, Native):
            refuse("on_value", self.entry.name, name=f"a comparison with {value.name}")
        if type(value) in (list, tuple) and any(isinstance(item, Unknown) for item in value):
            return display(self.entry, value)
        text = text_of(value, self.entry.budget)
        return Result(self.entry, ("data", text), len(text))

    def then(self, name: str, *others: Any) -> Any:
        """A function, method or operator applied to this result."""
        return self.over([self, *others], lambda *terms: make(name, *terms), name in LAZY)

    def negated(self) -> Any:
        return self.then("not")

    def truth(self) -> bool:
        refuse("decides", self.entry.name)

    def compare(self, operator: str, other: Any, flipped: bool) -> Any:
        if isinstance(other, (Approx, Kind)):
            return other.compare(operator, self, not flipped)
        if operator == "is_not" and not (other is None or other is True or other is False):
            return True  # of another object; that a program gives back the very list it was given, no value tells
        if operator in _NEGATIVE:
            found = self.compare(_NEGATIVE[operator], other, flipped)
            return found.negated() if isinstance(found, Unknown) else not found
        if isinstance(other, (Native, Lazy, ExceptionType)):
            refuse("on_value", self.entry.name, name="a comparison with a function, a class or an iterator")
        self._check(operator, other, flipped)
        if operator == "in":
            self.entry.budget.spend(self.letters // ITEM_LETTERS)
        return self.over([other, self] if flipped else [self, other], lambda a, b: make(operator, a, b))

    def _check(self, operator: str, other: Any, flipped: bool) -> None:
        if operator == "is" and not (other is None or other is True or other is False):
            refuse("identity", self.entry.name)
        if isinstance(other, Result) and other.term == self.term:
            refuse("same_call", self.entry.name)
        if operator != "in" or not flipped:
            self.listed()
        if isinstance(other, Result) and not (operator == "in" and not flipped):
            other.listed()

    def listed(self) -> None:
        """Refuse an iterator, which equals nothing but itself."""
        if self.lazy and self.term[1] != ".keys":
            name = self.term[1].lstrip(".") if self.term[0] == "call" else "a generator"
            refuse("iterator", self.entry.name, name=name)

    def item(self, key: Any) -> Any:
        self.listed()
        if isinstance(key, slice):
            return self.then("[:]", key.start, key.stop, key.step)
        return self.then("[]", key)

    def attribute(self, name: str) -> Any:
        if name not in METHODS:
            refuse("changes" if name in CHANGING else "attribute", self.entry.name, name=name)
        return Method(self, name)

    def combine(self, operator: str, other: Any, flipped: bool) -> Any:
        if operator == "USub":
            return self.then("neg")
        if operator not in OPERATORS:
            refuse("on_value", self.entry.name, name=f"the operator {operator}")
        return self.over([other, self] if flipped else [self, other], lambda a, b: make(OPERATORS[operator], a, b))

    def passed_to(self, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        special = _SPECIAL.get(name)
        if special:
            return special(self, arguments, keywords)
        name = SAME_AS.get(name, name)
        if name not in FUNCTIONS or keywords or not 1 <= len(arguments) <= 4 or (name == "bool" and self.lazy):
            refuse("on_value", self.entry.name, name=f"{name}() with these arguments")
        if name in ("len", "str", "repr"):
            self.listed()
        return self.over(arguments, lambda *terms: make(name, *terms), name in LAZY)


def _sorted(result: Result, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """sorted(result), from the other end with `reverse`; one with a `key` is symbolic.py's."""
    if len(arguments) != 1 or not set(keywords) <= {"reverse"} or not isinstance(keywords.get("reverse", False), bool):
        refuse("on_value", result.entry.name, name="sorted() with these arguments")
    found = result.then("sorted")
    return found.over([found], lambda term: make("reversed", term)) if keywords.get("reverse") else found


def _round(result: Result, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    digits = [*arguments[1:], *keywords.values()]
    if arguments[0] is not result or len(digits) > 1 or not all(part is None or type(part) is int for part in digits):
        refuse("on_value", result.entry.name, name="round() with these arguments")
    return result.then("round", *(part for part in digits if part is not None))


def _isinstance(result: Result, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    if arguments[0] is not result:
        refuse("on_value", result.entry.name, name="isinstance() with these arguments")
    return result.then("isinstance", "|".join(sorted(set(type_names(arguments[1])))))


def _type(result: Result, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return Kind(result)


def _isclose(result: Result, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    if len(arguments) != 2 or not set(keywords) <= {"rel_tol", "abs_tol"}:
        refuse("on_value", result.entry.name, name="isclose() with these arguments")
    given = [part for part in arguments if not isinstance(part, Unknown)]
    if not all(isinstance(part, (int, float)) for part in given):
        refuse("on_value", result.entry.name, name="isclose() of something that is no number")
    return near(arguments[0], arguments[1], keywords.get("rel_tol", 1e-9), keywords.get("abs_tol", 0.0), "isclose")


def near(a: Any, b: Any, rel: Any, abs: Any, how: str = "approx") -> Any:
    """That two values, at least one of them a result, differ by no more than max(rel * |b|, abs).

    `how`: what is no number is not near anything (approx), or math.isclose raises.
    """
    result, other = (a, b) if isinstance(a, Result) else (b, a)
    tolerance = (rel, abs)
    if not all(isinstance(part, (int, float)) and math.isfinite(part) and part >= 0 for part in tolerance):
        refuse("tolerance", result.entry.name, tolerance=tolerance)
    if isinstance(other, Result) and other.term == result.term:
        refuse("same_call", result.entry.name)
    return result.then(how, other, float(rel), float(abs))


def _nothing(result: Result, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return None


_SPECIAL: dict[str, Callable[[Result, list[Any], dict[str, Any]], Any]] = {
    "sorted": _sorted,
    "round": _round,
    "isinstance": _isinstance,
    "isclose": _isclose,
    "type": _type,
    "print": _nothing,
}


def display(entry: EntryPoint, items: Sequence[Any]) -> Any:
    """A list or tuple of which some items are results, as one."""
    result = next((item for item in items if isinstance(item, Result)), None)
    if result is None:
        refuse("mixed", entry.name, what="other values")
    name = "[,]" if isinstance(items, list) else "(,)"
    return result.over(items, lambda *terms: ("call", name, *terms))


def calls_of(term: Term) -> Iterator[str]:
    """The arguments of the calls in a term."""
    if term[0] == "result":
        yield term[1]
    for part in term[1:]:
        if isinstance(part, tuple) and part:
            yield from calls_of(part if isinstance(part[0], str) else ("", *part))


def connected(connective: str, parts: Sequence[Any]) -> Any:
    """`and` or `or` of values of which at least one is a result."""
    first = next(part for part in parts if isinstance(part, Result))
    if connective == "or":  # of which those about one subject become a list
        first.entry.budget.spend(sum(part.letters for part in parts if isinstance(part, Result)) // ITEM_LETTERS)
    return first.over(parts, lambda *terms: joined(connective, list(terms)))


class Method(Unknown):
    """A method of a result, before it is called."""

    what = "a method of a result"

    def __init__(self, result: Result, name: str) -> None:
        self.result, self.name = result, name

    def call(self, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if keywords:
            refuse("on_value", self.result.entry.name, name=f"{self.name}() with these arguments")
        return self.result.then(f".{self.name}", *arguments)


class Kind(Unknown):
    """`type(f(x))`: may be compared with a builtin type."""

    what = "the type of a result"

    def __init__(self, result: Result) -> None:
        self.result = result

    def compare(self, operator: str, other: Any, flipped: bool) -> Any:
        if operator in ("in", "not_in") and isinstance(other, (tuple, list)) and other and not flipped:
            found = connected("or", [self.compare("==", one, False) for one in other])
            return found if operator == "in" else found.negated()
        if operator not in ("==", "!=", "is", "is_not") or not isinstance(other, Native):
            refuse("on_value", self.result.entry.name, name="this comparison of the type")
        condition = self.result.then("type_is", type_names(other)[0])
        return condition if operator in ("==", "is") else condition.negated()


class Approx(Unknown):
    """pytest.approx(expected)."""

    what = "an approximate value"

    def __init__(self, expected: Any, rel: float | None, abs: float | None) -> None:
        self.expected = expected
        self.rel = rel if rel is not None else (1e-6 if abs is None else 0.0)
        self.abs = 1e-12 if abs is None else abs

    def compare(self, operator: str, other: Any, flipped: bool) -> Any:
        if operator not in ("==", "!=") or not isinstance(other, Result):
            return self._refuse()
        condition = near(other, self.expected, self.rel, self.abs)
        return condition if operator == "==" else condition.negated()


def exception_names(wanted: Any) -> list[str]:
    """The names in the first argument of pytest.raises."""
    kinds = wanted if isinstance(wanted, (tuple, list)) else (wanted,)
    if not kinds or not all(isinstance(kind, ExceptionType) for kind in kinds):
        refuse("own_exception")
    return [kind.name for kind in kinds]
