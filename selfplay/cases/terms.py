"""Conditions on results that no operator and view of a case says, as data: `all(x % 2 for x in f(n))`, `f(a) == f(b)`.

A case with the operator `satisfies` holds a term in `expected`, as JSON:

    ["result", 0]                            what the first call returned (1, 2, ...: the further calls)
    ["data", TREE]                           a constant, as a tree of values.py
    ["item", 3]                              the variable with this number, bound by a "for" around it
    ["call", NAME, TERM, ...]                a function, method or operator: "len", "sorted", "%", "==", "in", "not",
                                             "[]" (item), "[:]" (slice: of, start, stop, step), ".startswith", ...
                                             (functions.py has all of them, with how many arguments they take)
    ["and", TERM, ...]  ["or", TERM, ...]    with Python's shortcuts
    ["if", CONDITION, TERM, TERM]
    ["for", KIND, [[ITERABLE, [NUMBER, ...], [CONDITION, ...]], ...], TERM]
                                             a comprehension; KIND is "list" or "set", several numbers unpack an item

The case passes where the term is true of the returned trees. Evaluation never builds objects of the program's choosing,
spends from one budget of steps, and what Python would raise fails the case. `any` and `all` of a comprehension stop
where a generator would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, ClassVar, TypeAlias

from selfplay.cases.equality import truth
from selfplay.cases.functions import FUNCTIONS, apply
from selfplay.cases.sequences import in_order, parts, set_of, shuffled
from selfplay.cases.steps import Mismatch, Steps
from selfplay.cases.values import Tree, checked, parsed

Term: TypeAlias = Any  # a list of a word and its parts; checked by check()

MAX_TERMS = 2_000  # data not counted
MAX_DEPTH = 60
MAX_VARIABLES = 100


def satisfied(text: str, results: Sequence[Tree], steps: Steps | None = None) -> bool:
    """Whether a term is true of what the calls returned. Raises ValueError where `text` is no term for so many calls."""
    term = _checked(text, len(results))
    try:
        return _Evaluation(results, steps or Steps()).holds(term)
    except (Mismatch, RecursionError):
        return False


def check(text: str, calls: int = 1) -> Term:
    """The term that `text` holds, for `calls` results; raises ValueError, naming what is wrong."""
    term = parsed(text)
    _Check(calls).term(term, MAX_DEPTH, frozenset())
    return term


_checked = lru_cache(maxsize=1024)(check)


class _Check:
    """Checks the shape of a term: words, functions and their arguments, bound variables, number of terms and depth."""

    def __init__(self, calls: int) -> None:
        self.calls = calls
        self.left = MAX_TERMS

    def term(self, term: Term, depth: int, bound: frozenset[int]) -> None:
        self.left -= 1
        if self.left < 0 or depth <= 0:
            raise ValueError(f"a term of more than {MAX_TERMS} parts, or nested more than {MAX_DEPTH} deep")
        match term:
            case ["data", tree]:
                checked(tree)
            case ["result", int(number)] if type(number) is int and 0 <= number < self.calls:
                return
            case ["item", int(number)] if number in bound:
                return
            case ["call", str(name), *arguments] if name in FUNCTIONS:
                least, most, _ = FUNCTIONS[name]
                if not least <= len(arguments) <= most or (name == "{:}" and len(arguments) % 2):
                    raise ValueError(f"{len(arguments)} arguments of {name}, which takes {least} to {most}")
                self._all(arguments, depth, bound)
            case ["and" | "or", _, *_]:
                self._all(term[1:], depth, bound)
            case ["if", _, _, _]:
                self._all(term[1:], depth, bound)
            case ["for", "list" | "set", [_, *_] as generators, body]:
                self.term(body, depth - 1, self._generators(generators, depth, bound))
            case _:
                raise ValueError(f"not a term: {term!r:.60}")

    def _all(self, terms: Sequence[Term], depth: int, bound: frozenset[int]) -> None:
        for term in terms:
            self.term(term, depth - 1, bound)

    def _generators(self, generators: Sequence[Term], depth: int, bound: frozenset[int]) -> frozenset[int]:
        for generator in generators:
            match generator:
                case [iterable, [_, *_] as numbers, [*conditions]] if all(map(_is_variable, numbers)):
                    self.term(iterable, depth - 1, bound)
                    bound |= frozenset(numbers)
                    self._all(conditions, depth, bound)
                case _:
                    raise ValueError(f"not a generator: {generator!r:.60}")
        return bound


def _is_variable(number: object) -> bool:
    return type(number) is int and 0 <= number < MAX_VARIABLES


class _Evaluation:
    """The values of a checked term's parts."""

    def __init__(self, results: Sequence[Tree], steps: Steps) -> None:
        self.results = results
        self.steps = steps
        self.items: dict[int, Tree] = {}

    def value(self, term: Term) -> Tree:
        """The tree that a term stands for; raises Mismatch."""
        self.steps.spend(2)
        return self._words[term[0]](self, term)

    def _called(self, term: Term) -> Tree:
        name, arguments = term[1], term[2:]
        if name in ("any", "all") and arguments[0][0] == "for" and arguments[0][1] == "list":
            return self._quantified(arguments[0], name == "any")
        return apply(self.steps, name, *map(self.value, arguments))

    def _chosen(self, term: Term) -> Tree:
        return self.value(term[2] if self.holds(term[1]) else term[3])

    def _shortcut(self, term: Term) -> Tree:
        for part in term[1:-1]:
            found = self.value(part)
            if self._truth(found) == (term[0] == "or"):
                return found
        return self.value(term[-1])

    def holds(self, term: Term) -> bool:
        """The truth of a term's value."""
        return self._truth(self.value(term))

    def _truth(self, tree: Tree) -> bool:
        if type(tree) is list and tree[0] in ("I", "r"):  # of which all is read
            self.steps.weigh(tree)
        return truth(tree)

    def _quantified(self, term: Term, wanted: bool) -> bool:
        """any() or all() of a generator. In the order of a set it may stop anywhere, so all of it must have a truth."""
        rows = _Rows(self, term[2])
        found = False
        for _ in rows:
            holds = self.holds(term[3])  # in the order of a set asked of every item, whatever was found: it may raise
            found = found or holds == wanted
            if found and not rows.shuffled:
                break
        return found == wanted

    def _comprehension(self, term: Term) -> Tree:
        _, kind, generators, body = term
        rows = _Rows(self, generators)
        made = []
        for _ in rows:
            made.append(self.value(body))
            self.steps.weigh(made[-1])
        if kind == "set":
            return set_of("s")(self.steps, ["l", *made])
        return ["list?" if rows.shuffled and len(made) > 1 else "l", *made]

    _words: ClassVar[dict[str, Callable[[_Evaluation, Term], Tree]]] = {
        "call": _called,
        "item": lambda self, term: self.items[term[1]],
        "result": lambda self, term: self.results[term[1]],
        "data": lambda self, term: term[1],
        "and": _shortcut,
        "or": _shortcut,
        "if": _chosen,
        "for": _comprehension,
    }


class _Rows:
    """Binds the variables of a comprehension, once per row; `shuffled` where a row came in the order of a set."""

    def __init__(self, evaluation: _Evaluation, generators: Sequence[Term]) -> None:
        self.evaluation, self.generators = evaluation, generators
        self.shuffled = False

    def __iter__(self) -> Iterator[None]:
        return self._from(0)

    def _from(self, position: int) -> Iterator[None]:
        if position == len(self.generators):
            yield
            return
        evaluation = self.evaluation
        iterable, numbers, conditions = self.generators[position]
        tree = evaluation.value(iterable)
        self.shuffled = self.shuffled or shuffled(tree)
        for item in parts(evaluation.steps, tree):
            self._bind(numbers, item)
            if all(map(evaluation.holds, conditions)):
                yield from self._from(position + 1)

    def _bind(self, numbers: Sequence[int], item: Tree) -> None:
        self.evaluation.steps.spend()
        if len(numbers) == 1:
            self.evaluation.items[numbers[0]] = item
            return
        found = in_order(self.evaluation.steps, item)
        if len(found) != len(numbers):
            raise Mismatch(f"{len(found)} values where {len(numbers)} are unpacked")
        self.evaluation.items.update(zip(numbers, found, strict=True))
