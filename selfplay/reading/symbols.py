"""Results that do not exist yet, and what a test says about them.

While a test is read, the entry point is an `EntryPoint`, calling it gives a `Result`, and whatever an expression does to
that gives another one, which holds a term (normal.py): a view of the result, a condition on it, or what relates it to
another. What no term says raises NotReadable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn, TypeAlias, overload

from selfplay.cases.calls import call_text
from selfplay.cases.values import encode
from selfplay.reading.budget import WRITING, Budget
from selfplay.reading.known import ExceptionType
from selfplay.reading.native import Native
from selfplay.reading.normal import Term, calls_of, joined, make, words
from selfplay.reading.opaque import Spoiled
from selfplay.reading.refusals import NotReadable, refuse
from selfplay.reading.unknown import Arguments, Keywords, Lazy, Unknown, Value, denied

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


def text_of(value: Value, budget: Budget) -> str:
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

    def refuse(self) -> NoReturn:
        refuse("nothing", self.name)

    def call(self, arguments: Arguments, keywords: Keywords) -> Result:
        """The result of a call; refuses arguments that are no plain data, or larger than canonical text may be."""
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

    def attribute(self, name: str) -> Value:
        """Its name; all else of it is the program's own affair."""
        if name == "__name__":
            return self.name
        if name not in ("__doc__", "__module__", "__annotations__", "__qualname__"):
            refuse("patches" if name.startswith("__") else "attribute", self.name, name=name)
        return Spoiled.of("known", self.name)

    def passed_to(self, name: str, arguments: Arguments, keywords: Keywords) -> Value:
        """It is callable, and nothing else is known of it."""
        if name == "callable":
            return True
        return super().passed_to(name, arguments, keywords)

    def compare(self, operator: str, other: Value, flipped: bool) -> Value:
        """It is itself and not None; refuses any other comparison."""
        if operator in ("is", "==", "is_not", "!=") and (other is None or other is self):
            return (other is self) == (operator in ("is", "=="))
        return self.refuse()

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

    def refuse(self) -> NoReturn:
        refuse("mixed", self.entry.name, what="other values")

    def change(self) -> None:
        """What is done to this value is not followed: nothing is known about the calls that it comes from."""
        self.entry.budget.spend(self.size)
        self.entry.changed |= set(calls_of(self.term))

    def over(self, parts: Sequence[Value], build: Callable[..., Term], lazy: bool = False) -> Result | Spoiled:
        """The result of `build` with the terms of `parts`, results and data; of spoiled parts the first instead.

        Costs what looking through all the terms does. Refuses what is larger than MAX_NODES and MAX_DEPTH.
        """
        spoiled = next((part for part in parts if isinstance(part, Spoiled)), None)
        return spoiled or self.made_of(parts, build, lazy)

    def made_of(self, parts: Sequence[Value], build: Callable[..., Term], lazy: bool = False) -> Result:
        """Like `over`, of parts that are not spoiled."""
        known = [part if isinstance(part, Result) else self._data(part) for part in parts]
        nodes, depth = 1 + sum(part.nodes for part in known), 1 + max(part.depth for part in known)
        if nodes > MAX_NODES or depth > MAX_DEPTH:
            refuse("nodes", self.entry.name, limit=MAX_NODES if nodes > MAX_NODES else MAX_DEPTH)
        self.entry.budget.spend(len(known) + sum(part.size for part in known))
        letters = sum(part.letters for part in known)
        return Result(self.entry, build(*(part.term for part in known)), letters, nodes, depth, lazy)

    def _data(self, value: Value) -> Result:
        if isinstance(value, Native):
            refuse("on_value", self.entry.name, name=f"a comparison with {value.name}")
        if (
            isinstance(value, (list, tuple))
            and not isinstance(value, Lazy)
            and any(isinstance(item, Unknown) for item in value)
        ):
            found = display(self.entry, value)
            return found if isinstance(found, Result) else found.refuse()
        text = text_of(value, self.entry.budget)
        return Result(self.entry, ("data", text), len(text))

    @overload
    def then(self, name: str) -> Result: ...
    @overload
    def then(self, name: str, *others: Value) -> Result | Spoiled: ...
    def then(self, name: str, *others: Value) -> Result | Spoiled:
        """A function, method or operator applied to this result."""
        return self.over([self, *others], lambda *terms: make(name, *terms), name in LAZY)

    def negated(self) -> Result:
        """The condition that it does not hold."""
        return self.then("not")

    def truth(self) -> bool:
        """Refuses: the course of a test must not depend on it."""
        refuse("decides", self.entry.name)

    def compare(self, operator: str, other: Value, flipped: bool) -> Value:
        """A condition on the result. Refuses what equals nothing (iterators), and what says nothing (itself)."""
        if isinstance(other, Comparing):
            return other.compare(operator, self, not flipped)
        if operator == "is_not" and not (other is None or other is True or other is False):
            return True  # of another object; that a program gives back the very list it was given, no value tells
        if operator in _NEGATIVE:
            return denied(self.compare(_NEGATIVE[operator], other, flipped))
        if isinstance(other, (Native, Lazy, ExceptionType)):
            refuse("on_value", self.entry.name, name="a comparison with a function, a class or an iterator")
        self._check(operator, other, flipped)
        if operator == "in":
            self.entry.budget.spend(self.letters // ITEM_LETTERS)
        return self.over([other, self] if flipped else [self, other], lambda a, b: make(operator, a, b))

    def _check(self, operator: str, other: Value, flipped: bool) -> None:
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

    def item(self, key: Value) -> Result | Spoiled:
        """An item or a slice of it, as a result."""
        self.listed()
        if isinstance(key, slice):
            return self.then("[:]", key.start, key.stop, key.step)
        return self.then("[]", key)

    def attribute(self, name: str) -> Value:
        """A method of it, if it changes nothing; refuses all other attributes."""
        if name not in METHODS:
            refuse("changes" if name in CHANGING else "attribute", self.entry.name, name=name)
        return Method(self, name)

    def combine(self, operator: str, other: Value, flipped: bool) -> Result | Spoiled:
        """What an operator makes of it; `other` is None for a sign."""
        if operator == "USub":
            return self.then("neg")
        if operator not in OPERATORS:
            refuse("on_value", self.entry.name, name=f"the operator {operator}")
        return self.over([other, self] if flipped else [self, other], lambda a, b: make(OPERATORS[operator], a, b))

    def passed_to(self, name: str, arguments: Arguments, keywords: Keywords) -> Value:
        """What a builtin makes of it; refuses those that FUNCTIONS and special.py do not know."""
        meaning = SPECIAL.get(name)
        if meaning:
            return meaning(self, arguments, keywords)
        name = SAME_AS.get(name, name)
        if name not in FUNCTIONS or keywords or not 1 <= len(arguments) <= 4 or (name == "bool" and self.lazy):
            refuse("on_value", self.entry.name, name=f"{name}() with these arguments")
        if name in ("len", "str", "repr"):
            self.listed()
        return self.over(arguments, lambda *terms: make(name, *terms), name in LAZY)


Special: TypeAlias = Callable[[Result, Arguments, Keywords], Value]
SPECIAL: dict[str, Special] = {}  # builtins whose meaning is more than a term with their name (special.py)


def special(name: str) -> Callable[[Special], Special]:
    """Enter what the builtin `name` makes of a result."""

    def enter(meaning: Special) -> Special:
        SPECIAL[name] = meaning
        return meaning

    return enter


class Comparing(Unknown):
    """A value that says itself what comparing a result with it means."""


def display(entry: EntryPoint, items: Sequence[Value]) -> Result | Spoiled:
    """A list or tuple of which some items are results, as one. Refuses where none is."""
    result = next((item for item in items if isinstance(item, Result)), None)
    if result is None:
        refuse("mixed", entry.name, what="other values")
    name = "[,]" if isinstance(items, list) else "(,)"
    return result.over(items, lambda *terms: ("call", name, *terms))


def connected(connective: str, parts: Sequence[Value]) -> Result:
    """`and` or `or` of values of which at least one is a result and none is spoiled."""
    first = next(part for part in parts if isinstance(part, Result))
    if connective == "or":  # of which those about one subject become a list
        first.entry.budget.spend(sum(part.letters for part in parts if isinstance(part, Result)) // ITEM_LETTERS)
    return first.made_of(parts, lambda *terms: joined(connective, list(terms)))


class Method(Unknown):
    """A method of a result, before it is called."""

    what = "a method of a result"

    def __init__(self, result: Result, name: str) -> None:
        self.result, self.name = result, name

    def call(self, arguments: Arguments, keywords: Keywords) -> Value:
        """What the method gives, as a result; refuses keywords."""
        if keywords:
            refuse("on_value", self.result.entry.name, name=f"{self.name}() with these arguments")
        return self.result.then(f".{self.name}", *arguments)
