"""The functions, methods and operators that a test may apply to a result, by name: what views and terms are made of.

Each takes the budget and one tree per argument, gives a tree, and raises Mismatch or what Python would raise. Beyond
what Python has: `type` gives the name of a type as a text and `isinstance` takes such names ("int|str"), `reversed` a
list; `isclose` and `approx` take tolerances by position; `(,)` `[,]` `{,}` `{:}` build a tuple, list, set, dictionary.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from selfplay.cases import dictionaries, scalars, sequences, sorting
from selfplay.cases.equality import SETS, equal, hashable, tag_of, truth
from selfplay.cases.membership import member
from selfplay.cases.scalars import number_of, on_number, on_text, tree_of, whole_of
from selfplay.cases.sorting import order
from selfplay.cases.steps import Mismatch, Steps
from selfplay.cases.values import Tree

Function = Callable[..., Tree]

MANY = 64  # arguments of a display, min, max or zip


def _add(steps: Steps, a: Tree, b: Tree) -> Tree:
    if sequences.is_number(a) and sequences.is_number(b):
        return scalars.on_numbers(operator.add)(steps, a, b)
    return sequences.chained(steps, a, b)


def _product(steps: Steps, tree: Tree) -> Tree:
    found: Tree = 1
    for item in sequences.parts(steps, tree):
        found = scalars.on_numbers(operator.mul)(steps, found, item)
    return found


def _multiply(steps: Steps, a: Tree, b: Tree) -> Tree:
    if sequences.is_number(a) and sequences.is_number(b):
        return scalars.on_numbers(operator.mul)(steps, a, b)
    if sequences.is_number(a):
        a, b = b, a
    return sequences.repeated(steps, a, whole_of(b))


def _on_sets_or_numbers(name: str) -> Function:
    of_sets, of_numbers = sorting.set_operation(name), scalars.on_numbers(scalars.ARITHMETIC[name])
    return lambda steps, a, b: (of_sets if tag_of(a) in SETS and tag_of(b) in SETS else of_numbers)(steps, a, b)


def _ordering(test: Callable[[Tree, Tree], bool]) -> Function:
    return lambda steps, a, b: order(a, b, test, steps)


def _contained(steps: Steps, a: Tree, b: Tree) -> bool:
    if type(b) is list:
        steps.spend(len(b) * (2 if type(a) is list else 1) // 2)
    return member(a, b)


def _is(steps: Steps, a: Tree, b: Tree) -> Tree:
    """Whether two are the same of None, True and False; of other values nobody knows."""
    if not any(single is None or type(single) is bool for single in (a, b)):
        raise Mismatch("the identity of something else than None, True and False")
    return a is b


def _approx(steps: Steps, a: Tree, b: Tree, rel: Tree, absolute: Tree) -> Tree:
    return nearly_equal(a, b, float(number_of(rel)), float(number_of(absolute)))


def nearly_equal(a: Tree, b: Tree, rel: float, absolute: float) -> bool:
    """pytest.approx and friends, which do not tell a list from a tuple."""
    if tag_of(a) in ("l", "t") and tag_of(b) in ("l", "t"):
        a, b = ["l", *a[1:]], ["l", *b[1:]]
    return equal(a, b, rel, absolute)


def _display(tag: str) -> Function:
    return lambda steps, *items: [tag, *items]


def _set_display(steps: Steps, *items: Tree) -> Tree:
    return sequences.set_of("s")(steps, ["l", *items])


def _dict_display(steps: Steps, *items: Tree) -> Tree:
    pairs = list(zip(items[::2], items[1::2], strict=True))
    if not all(hashable(key) for key, _ in pairs):
        raise Mismatch("not hashable")
    return ["d", *([key, value] for key, value in pairs)]


def _joined(steps: Steps, glue: Tree, tree: Tree) -> Tree:
    return scalars.joined(steps, glue, sequences.in_order(steps, tree))


def _union(name: str) -> Function:
    """A method of a set, whose argument may be any iterable."""

    def combine(steps: Steps, a: Tree, b: Tree) -> Tree:
        if tag_of(a) not in ("s", "z"):
            raise Mismatch("not a set")
        return sorting.set_operation(name)(steps, a, sequences.set_of("s")(steps, b))

    return combine


def _copy(steps: Steps, tree: Tree) -> Tree:
    if tag_of(tree) not in ("l", "d", "s", "z", "B"):
        raise Mismatch("no copy")
    return tree


FUNCTIONS: dict[str, tuple[int, int, Function]] = {  # name: least arguments, most arguments, function
    "len": (1, 1, sequences.length),
    "sorted": (1, 2, sorting.in_sorted_order),
    "reversed": (1, 1, sequences.backwards),
    "set": (0, 1, sequences.set_of("s")),
    "frozenset": (0, 1, sequences.set_of("z")),
    "list": (1, 1, sequences.collected("l")),
    "tuple": (1, 1, sequences.collected("t")),
    "sum": (1, 2, sequences.total),
    "prod": (1, 1, _product),
    "min": (1, MANY, sorting.extreme(min)),
    "max": (1, MANY, sorting.extreme(max)),
    "any": (1, 1, sequences.any_of),
    "all": (1, 1, sequences.all_of),
    "range": (1, 3, sequences.range_of),
    "enumerate": (1, 2, sequences.numbered),
    "zip": (0, MANY, sequences.zipped),
    "abs": (1, 1, on_number(abs)),
    "round": (1, 2, scalars.rounded),
    "int": (1, 1, scalars.to_int),
    "float": (1, 1, scalars.to_float),
    "str": (1, 1, scalars.to_text),
    "bool": (1, 1, lambda steps, tree: truth(tree)),
    "type": (1, 1, scalars.type_of),
    "isinstance": (2, 2, scalars.is_instance),
    "isclose": (2, 4, scalars.is_close),
    "approx": (4, 4, _approx),
    "sqrt": (1, 1, on_number(math.sqrt)),
    "floor": (1, 1, on_number(math.floor)),
    "ceil": (1, 1, on_number(math.ceil)),
    "isnan": (1, 1, on_number(math.isnan)),
    "isinf": (1, 1, on_number(math.isinf)),
    "isfinite": (1, 1, on_number(math.isfinite)),
    "gcd": (2, 2, scalars.on_numbers(math.gcd)),
    "not": (1, 1, lambda steps, tree: not truth(tree)),
    "neg": (1, 1, on_number(operator.neg)),
    "pos": (1, 1, on_number(operator.pos)),
    "invert": (1, 1, on_number(operator.invert)),
    "==": (2, 2, lambda steps, a, b: equal(a, b)),
    "!=": (2, 2, lambda steps, a, b: not equal(a, b)),
    "<": (2, 2, _ordering(operator.lt)),
    "<=": (2, 2, _ordering(operator.le)),
    ">": (2, 2, _ordering(operator.gt)),
    ">=": (2, 2, _ordering(operator.ge)),
    "is": (2, 2, _is),
    "is not": (2, 2, lambda steps, a, b: not _is(steps, a, b)),
    "in": (2, 2, _contained),
    "not in": (2, 2, lambda steps, a, b: not _contained(steps, a, b)),
    **{name: (2, 2, scalars.on_numbers(function)) for name, function in scalars.ARITHMETIC.items()},
    "+": (2, 2, _add),
    "*": (2, 2, _multiply),
    **{name: (2, 2, _on_sets_or_numbers(name)) for name in ("-", "&", "|", "^")},
    "[]": (2, 2, sequences.item),
    "[:]": (4, 4, sequences.part),
    "[,]": (0, MANY, _display("l")),
    "(,)": (0, MANY, _display("t")),
    "{,}": (1, MANY, _set_display),
    "{:}": (0, MANY, _dict_display),
    **{f".{name}": (1, 1, on_text(name)) for name in (*scalars.SIMPLE_METHODS, *scalars.TESTS)},
    **{f".{name}": (1, 2, scalars.stripped(name)) for name in ("strip", "lstrip", "rstrip")},
    ".startswith": (2, 3, on_text("startswith")),
    ".endswith": (2, 3, on_text("endswith")),
    ".find": (2, 3, on_text("find")),
    ".split": (1, 3, on_text("split")),
    ".splitlines": (1, 1, on_text("splitlines")),
    ".replace": (3, 3, scalars.replaced),
    ".join": (2, 2, _joined),
    ".count": (2, 2, sequences.occurrences),
    ".index": (2, 2, sequences.first_position),
    ".copy": (1, 1, _copy),
    ".get": (2, 3, dictionaries.value_or),
    ".keys": (1, 1, lambda steps, tree: ["keys", *(key for key, _ in dictionaries.pairs(steps, tree))]),
    ".values": (1, 1, lambda steps, tree: ["values", *(value for _, value in dictionaries.pairs(steps, tree))]),
    ".items": (1, 1, lambda steps, tree: ["items", *(["t", *pair] for pair in dictionaries.pairs(steps, tree))]),
    ".union": (2, 2, _union("|")),
    ".intersection": (2, 2, _union("&")),
    ".difference": (2, 2, _union("-")),
    ".symmetric_difference": (2, 2, _union("^")),
    ".issubset": (2, 2, sorting.compared_as_sets(operator.le)),
    ".issuperset": (2, 2, sorting.compared_as_sets(operator.ge)),
    ".isdisjoint": (2, 2, sorting.disjoint),
}

CHEAP = frozenset({"len", "[]", ".get", "type", "is", "is not"})


def takes(name: str, count: int) -> bool:
    """Whether there is a function of this name that takes so many arguments."""
    least, most, _ = FUNCTIONS.get(name, (1, 0, None))
    return least <= count <= most


def apply(steps: Steps, name: str, *trees: Tree) -> Tree:
    """The value of a function for some arguments; raises Mismatch for all that Python would raise.

    Looking through the arguments is paid for here; `CHEAP` are those that do not, or pay for it themselves.
    """
    if name not in CHEAP:
        for tree in trees:
            steps.weigh(tree)
    try:
        return FUNCTIONS[name][2](steps, *trees)
    except Mismatch:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # what Python raises for such a step
        raise Mismatch(f"{name}: {error}") from None


__all__ = ["FUNCTIONS", "apply", "nearly_equal", "tree_of"]
