"""Views: the steps that a test applies to a result before it compares, as data, on trees.

`assert sorted(f(x))[0] == 1` is a case with the view `("sorted", "index", "0")`: a flat tuple of steps, each followed
by its argument where it takes one.

    len sorted reversed set list tuple sum min max abs str int float bool any all    the builtin of that name
    lower upper strip keys values items                                              the method of that name
    index I    slice A,B,C    key TREE    count TREE    has TREE                    _[I] _[A:B:C] _[T] _.count(T) T in _
    round N    isinstance A|B    type_is A                                           round(_, N), type(_) is A
    real                                                                             a number that math.isclose takes

`reversed` gives a list. `Mismatch` says that Python would have raised, that an opaque value cannot be looked into, that
the answer would hang on the order of a set, or that it takes too much work. What each step does is in functions.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from selfplay.cases.functions import apply
from selfplay.cases.scalars import number_of, type_name
from selfplay.cases.steps import Mismatch, Steps
from selfplay.cases.values import Tree, load

WITH_ARGUMENT = frozenset({"index", "slice", "key", "count", "has", "round", "isinstance", "type_is"})
METHODS = frozenset({"lower", "upper", "strip", "keys", "values", "items", "count"})


def steps(path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The steps of a view as (name, argument), the argument empty where a step takes none."""
    parts = iter(path)
    for name in parts:
        yield name, next(parts) if name in WITH_ARGUMENT else ""


def reduced(path: tuple[str, ...]) -> tuple[str, ...]:
    """The view without steps that change nothing: what is done twice in a row, list() of a list, bool() of a truth."""
    kept: list[tuple[str, str]] = []
    for step in steps(path):
        last = kept[-1] if kept else ("", "")
        if not (step == last and step[0] in _ONCE) and last[0] not in _ALREADY.get(step[0], ()):
            kept.append(step)
    return tuple(part for name, argument in kept for part in ((name, argument) if name in WITH_ARGUMENT else (name,)))


_ONCE = frozenset(
    ["sorted", "set", "list", "tuple", "abs", "str", "int", "float", "bool", "lower", "upper", "strip", "round"]
)
_ALREADY = {
    "list": ("sorted", "reversed"),
    "bool": ("any", "all", "has", "isinstance", "type_is"),
    "int": ("len", "count"),
    "abs": ("len", "count"),
}


def view(path: tuple[str, ...], tree: Tree, budget: Steps | None = None) -> Tree:
    """The tree seen through all steps of `path`; raises Mismatch."""
    budget = budget or Steps()
    for name, argument in steps(path):
        tree = _step(budget, name, argument, tree)
    return tree


def _step(budget: Steps, name: str, argument: str, tree: Tree) -> Tree:
    match name:
        case "index":
            return apply(budget, "[]", tree, _whole(argument))
        case "slice":
            return apply(budget, "[:]", tree, *(_whole(bound) if bound else None for bound in argument.split(",")))
        case "key" if type(tree) is list and tree[0] == "d":
            return apply(budget, "[]", tree, load(argument))
        case "key":
            raise Mismatch("no such key")
        case "has":
            return apply(budget, "in", load(argument), tree)
        case "round":
            return apply(budget, "round", tree, *([_whole(argument)] if argument else []))
        case "isinstance":
            return apply(budget, "isinstance", tree, argument)
        case "type_is":
            return type_name(tree) == argument
        case "real":
            if isinstance(number_of(tree), complex):
                raise Mismatch("not a real number")
            return tree
        case _ if name in METHODS:
            return apply(budget, f".{name}", tree, *([load(argument)] if argument else []))
    return apply(budget, name, tree)


def _whole(text: str) -> int:
    """The integer in a step's argument; one that is too long for a computation is a Mismatch."""
    if len(text) > 20:
        raise Mismatch("an argument that is too large")
    return int(text)
