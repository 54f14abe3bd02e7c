"""Wrong programs made from a reference by one small change each, for tests to kill.

The changes are the operators of operators.py. Mutants that agree with the reference on all probes, that never
end, or that fail on every probe are not useful: `useful_mutants` drops them from what the judge has seen.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from selfplay.box.task import Execution
from selfplay.cases.equality import equal
from selfplay.cases.values import load
from selfplay.game.problems import Problem
from selfplay.mutation.operators import OPERATORS, Family

__all__ = ["Family", "Mutant", "mutants", "useful_mutants"]

MAX_MUTANTS = 24
MAX_SOURCE = 20_000  # characters; a longer reference is not mutated


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed program: its source, the operator's name and the line of the reference that it changed."""

    source: str
    operator: str
    line: int


def mutants(source: str, entry_point: str, family: Family, limit: int = MAX_MUTANTS) -> tuple[Mutant, ...]:
    """At most `limit` different mutants, spread evenly over the source; none for a source that cannot be parsed.

    The same source always gives the same mutants. `entry_point` "" is for programs that read standard input.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    if len(source) > MAX_SOURCE:
        return ()
    seen = {ast.unparse(tree)}
    found: list[Mutant] = []
    for operator, line, text in _changed(tree, family):
        if text not in seen:
            seen.add(text)
            found.append(Mutant(text, operator, line))
    if len(found) > limit:
        found = [found[position * len(found) // limit] for position in range(limit)]
    return tuple(found)


def _changed(tree: ast.Module, family: Family) -> Iterator[tuple[str, int, str]]:
    """(operator, line, source) of every change, made in place and taken back."""
    operators = OPERATORS[family]
    subscripts = [node for node in ast.walk(tree) if isinstance(node, ast.Subscript)]
    indices = {id(inner) for node in subscripts for inner in ast.walk(node.slice)}
    for put, node, parent in _places(tree):
        if isinstance(node, ast.Constant) and id(node) in indices:
            continue  # shifting an index or a bound belongs to the kept family
        for change in operators.get(type(node), ()):
            for operator, other in change(node, parent):
                put(other)
                yield operator, getattr(node, "lineno", 0), ast.unparse(ast.fix_missing_locations(tree))
                put(node)


def _places(parent: ast.AST) -> Iterator[tuple[Callable[[Any], None], ast.AST, ast.AST]]:
    """Every node below `parent` with a function that replaces it; annotations, decorators and docstrings left out."""
    for field, value in list(ast.iter_fields(parent)):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for position, node in enumerate(value if isinstance(value, list) else [value]):
            docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if isinstance(node, ast.AST) and not docstring:
                yield _putter(parent, field, position if isinstance(value, list) else None), node, parent
                yield from _places(node)


def _putter(parent: ast.AST, field: str, position: int | None) -> Callable[[Any], None]:
    def put(node: Any) -> None:
        if position is None:
            setattr(parent, field, node)
        else:
            getattr(parent, field)[position] = ast.Pass() if node is None else node

    return put


def useful_mutants(
    problem: Problem,
    mutants: Sequence[Mutant],
    executions_of_reference: Sequence[Execution],
    executions_of_mutants: Sequence[Sequence[Execution]],
) -> tuple[Mutant, ...]:
    """The mutants that end on every probe, differ from the reference on at least one, and do not fail on all.

    One execution per probe, in the same order for all; probes on which the reference itself does not end are ignored.
    """
    compared = [p for p, run in enumerate(executions_of_reference) if run.status in ("returned", "raised")]
    return tuple(
        mutant
        for mutant, runs in zip(mutants, executions_of_mutants, strict=True)
        if _is_useful([executions_of_reference[p] for p in compared], [runs[p] for p in compared])
    )


def _is_useful(reference: Sequence[Execution], mutant: Sequence[Execution]) -> bool:
    if any(run.status in ("timeout", "infra_error", "not_collected") for run in mutant):
        return False
    works = any(a.status == "returned" and b.status == "returned" for a, b in zip(reference, mutant, strict=True))
    return works and not all(agree(a, b) for a, b in zip(reference, mutant, strict=True))


def agree(a: Execution, b: Execution) -> bool:
    """Whether two executions did the same: equal values, or the same exception."""
    if a.status != b.status:
        return False
    if a.status != "returned":
        return a.exception[:1] == b.exception[:1]
    if a.value == b.value:
        return True
    try:
        return equal(load(a.value), load(b.value))
    except ValueError:  # what a program printed, or what cannot be read
        return False
