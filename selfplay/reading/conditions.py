"""The conditions of cases that a term about results amounts to (normal.py).

What a view, an operator and an expected value can say is said by them, so that it has one form; anything else is
written as a term in the language of terms.py. A conjunction is several conditions.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from selfplay.cases.equality import truth
from selfplay.cases.functions import takes
from selfplay.cases.values import Tree, decode, dump, load, number
from selfplay.reading.normal import FLIPPED, Term, is_call, joined, make, words
from selfplay.reading.refusals import refuse

MAX_CALLS = 64  # of the entry point, in one case
MAX_LETTERS = 1 << 20  # of constants, in one condition


@dataclass(frozen=True, slots=True)
class Condition:
    """What a case states, without its name; see cases.py."""

    arguments: str
    operator: str
    expected: str
    view: tuple[str, ...] = ()
    tolerance: tuple[float, float] = (0.0, 0.0)
    further: tuple[str, ...] = ()


def conditions(term: Term) -> Iterator[Condition]:
    """The cases that asserting a term amounts to: one, or one for each part of a conjunction."""
    if is_call(term, "bool"):
        yield from conditions(term[2])
    elif term[0] == "and":
        for part in term[1:]:
            if part[0] != "data":
                yield from conditions(part)
            elif not truth(load(part[1])):
                refuse("fails")
    elif term[0] == "or" and any(part[0] == "data" for part in term[1:]):
        yield from conditions(_undecided(term))
    elif is_call(term, "not") and term[2][0] == "or":
        for part in term[2][1:]:
            yield from conditions(make("not", part))
    else:
        yield _classic(term) or _satisfies(term)


def _undecided(term: Term) -> Term:
    """An alternative less its known parts; refuses one that always holds."""
    parts = [part for part in term[1:] if part[0] != "data" or truth(load(part[1]))]
    if not parts or any(part[0] == "data" for part in parts):
        refuse("known" if parts else "fails")
    return joined("or", parts)


def _classic(term: Term) -> Condition | None:
    """The condition as a view, an operator and an expected value, where they can say it."""
    if is_call(term, "not"):
        return _denied(term[2])
    if is_call(term, "approx", "isclose"):
        last = ("real",) if term[1] == "isclose" else ()
        rel, abs = (decode(part[1]) for part in term[4:])
        return _near(term[2], term[3], rel, abs, last)
    if is_call(term, "<", "<=") and is_call(term[2], "abs"):
        return _distance(term)
    if is_call(term, "in") and term[2][0] == "data":
        return _viewed(term[3], "truthy", "true", ("has", term[2][1]))
    if is_call(term, *FLIPPED, "in") and term[3][0] == "data":
        of, expected = _solved(*term[2:]) if term[1] == "==" else term[2:]
        return _viewed(of, term[1], expected[1])
    return _viewed(term, "truthy", "true")


def _solved(of: Term, expected: Term) -> tuple[Term, Term]:
    """`-x == 3` as `x == -3`, `x[:] == [1]` as `x == [1]`: what fails where the step raises. A denial would pass there."""
    while is_call(of, "neg"):
        opposite = _opposite(expected)
        if opposite is None:
            break
        of, expected = of[2], opposite
    while _keeps(of, expected):
        of = of[2]
    return of, expected


def _opposite(data: Term) -> Term | None:
    value = number(load(data[1]))
    if isinstance(value, int):
        return ("data", str(-value)) if abs(value) < 1 << 53 else None
    return ("data", dump(["f", repr(-value)])) if isinstance(value, float) and value == value else None


def _keeps(term: Term, data: Term) -> bool:
    """Whether the last step of a term is one that gives an equal value of the same type, if it equals the data."""
    tag = data[1][:4]
    if is_call(term, "[:]"):
        return term[3:] == (("data", "null"),) * 3 and (tag[:1] == '"' or tag in ('["l"', '["t"', '["b"'))
    return is_call(term, ".copy") and tag in ('["l"', '["d"', '["s"')


def _denied(term: Term) -> Condition | None:
    if is_call(term, "in") and term[2][0] == "data":
        return _viewed(term[3], "falsy", "false", ("has", term[2][1]))
    if is_call(term, "in") and term[3][0] == "data":
        return _viewed(term[2], "not_in", term[3][1])
    return _viewed(term, "falsy", "false")


def _viewed(term: Term, operator: str, expected: str, last: tuple[str, ...] = ()) -> Condition | None:
    path: list[str] = [*reversed(last)]
    while term[0] == "call":
        step = _step(term)
        if step is None:
            return None
        path += reversed(step)
        term = term[2]
    return Condition(term[1], operator, expected, tuple(reversed(path))) if term[0] == "result" else None


def _step(term: Term) -> tuple[str, ...] | None:
    """The last step of a term as a step of a view, with its argument."""
    name, arguments = term[1], term[3:]
    if not arguments:
        return _PLAIN_STEPS.get(name)
    if any(argument[0] != "data" for argument in arguments):
        return None
    text = arguments[0][1]
    if name == "[:]":
        bounds = [json.loads(argument[1]) for argument in arguments]
        if any(bound is not None and type(bound) is not int for bound in bounds):
            return None
        return ("slice", ",".join("" if bound is None else str(bound) for bound in bounds))
    if name == "[]":
        return ("index" if re.fullmatch(r"-?\d+", text) else "key", text)
    if name == "round":
        return ("round", text)
    if name == ".count" and len(arguments) == 1:
        return ("count", text)
    return (name, json.loads(text)) if name in ("isinstance", "type_is") else None


_PLAIN_STEPS: dict[str, tuple[str, ...]] = {
    **{
        name: (name,) for name in words("len sorted reversed set list tuple sum min max abs str int float bool any all")
    },
    **{f".{name}": (name,) for name in words("lower upper strip keys values items")},
    "round": ("round", ""),
}


def _near(of: Term, expected: Term, rel: float, abs: float, last: tuple[str, ...] = ()) -> Condition | None:
    found = _viewed(of, "approx", expected[1], last) if expected[0] == "data" else None
    return found and Condition(found.arguments, "approx", found.expected, found.view, (float(rel), float(abs)))


def _distance(term: Term) -> Condition | None:
    """`abs(x - 3) < 1e-6` as a tolerance, which has the largest distance that is still allowed."""
    inner, bound = term[2][2], number(load(term[3][1])) if term[3][0] == "data" else None
    if not is_call(inner, "-") or not isinstance(bound, (int, float)) or not math.isfinite(bound) or bound < 0:
        return None
    of, expected = (inner[3], inner[2]) if inner[2][0] == "data" else (inner[2], inner[3])
    if expected[0] != "data" or number(load(expected[1])) is None:
        return None
    return _near(of, expected, 0.0, math.nextafter(bound, 0.0) if term[1] == "<" else bound)


def _satisfies(term: Term) -> Condition:
    writer = _Writer()
    text = dump(writer.write(term))
    if not writer.calls:
        refuse("known")
    first, *further = writer.calls
    return Condition(first, "satisfies", text, (), (0.0, 0.0), tuple(further))


class _Writer:
    """Writes a term in the language of terms.py: calls and variables numbered in the order in which they appear."""

    def __init__(self) -> None:
        self.calls: dict[str, int] = {}
        self.variables: dict[int, int] = {}
        self.letters = MAX_LETTERS

    def write(self, term: Term) -> list[Tree]:
        head = term[0]
        if head == "result":
            if term[1] not in self.calls and len(self.calls) == MAX_CALLS:
                refuse("many_calls", limit=MAX_CALLS)
            return ["result", self.calls.setdefault(term[1], len(self.calls))]
        if head == "data":
            self.letters -= len(term[1])
            if self.letters < 0:
                refuse("long_condition", limit=MAX_LETTERS)
            return ["data", load(term[1])]
        if head == "item":
            if term[1] not in self.variables:
                refuse("decides")
            return ["item", self.variables[term[1]]]
        if head == "call":
            return self._call(term)
        if head == "for":
            return self._comprehension(term)
        return [head, *map(self.write, term[1:])]

    def _call(self, term: Term) -> list[Tree]:
        name: str = "is not" if term[1] == "is_not" else term[1]
        arguments = [*map(self.write, term[2:])]
        if name == "type_is":
            return ["call", "==", ["call", "type", arguments[0]], arguments[1]]
        if not takes(name, len(arguments)):
            refuse("on_value", name=f"{name.lstrip('.')} with these arguments")
        return ["call", name, *arguments]

    def _comprehension(self, term: Term) -> list[Tree]:
        generators: list[Tree] = []
        for iterable, numbers, wanted in term[2]:
            of = self.write(iterable)
            bound = [self.variables.setdefault(number, len(self.variables)) for number in numbers]
            generators.append([of, bound, [*map(self.write, wanted)]])
        written = ["for", term[1], generators, self.write(term[3])]
        for _, numbers, _ in term[2]:
            for bound in numbers:
                del self.variables[bound]
        return written
