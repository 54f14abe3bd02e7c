"""Tests in any of their usual forms, read to cases without being run.

A pytest or unittest module, bare asserts, HumanEval's `check(candidate)`, a bare list of `((inputs), expected)` or
`(argument, ..., expected)` tuples, JSON `[[arguments, expected], ...]`, and pairs of stdin and stdout. What is refused
keeps its name, text and reason, so that `written` counts everything that was written.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from selfplay.cases.calls import parameters
from selfplay.cases.case import Case, Refusal
from selfplay.cases.values import MAX_BYTES
from selfplay.game.problems import Problem, StdinTest
from selfplay.reading.budget import Budget
from selfplay.reading.expressions import ERRORS
from selfplay.reading.interpret import Interpreter
from selfplay.reading.names import Scope
from selfplay.reading.refusals import NotReadable, refusal, why
from selfplay.reading.stating import MAX_SOURCE, Stated
from selfplay.reading.symbols import text_of
from selfplay.reading.testcode import Module, Unit
from selfplay.reading.unknown import Data, Value

__all__ = ["MAX_CASES", "Reading", "problem_cases", "read_cases", "read_stdin_cases"]

MAX_CASES = 1_024  # of one text


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text of tests holds: cases, and what is none and why. `salvaged`: copies of the entry point, dropped.

    `order`: the names of both as they stand in the text, where their indices do not say it.
    """

    cases: tuple[Case, ...] = ()
    refused: tuple[Refusal, ...] = ()
    salvaged: int = 0
    order: tuple[str, ...] = ()

    @property
    def written(self) -> int:
        """All that was written as a test, readable or not."""
        return len(self.cases) + len(self.refused)


def read_cases(
    text: str, entry_point: str, signature: str = "", *, limit: int = MAX_CASES, helpers: str = ""
) -> Reading:
    """Read `text`; never raises. Of more than `limit` cases the rest is refused with one count.

    `signature` tells how many arguments a row of a table holds: the problem's, never that of a program to be judged.
    `helpers`: source of functions that the problem itself brings; tests may call them on known values.
    """
    if not text.strip():
        return Reading()
    try:
        rows = _json_rows(text)
        if rows is not None:
            return _of_rows(rows, entry_point, signature, True, limit)
        module = Module(text, entry_point, limit, helpers)
        if _is_table(module.tree):
            return _of_rows(_table(module.tree), entry_point, signature, False, limit)
        return _of_module(module)
    except ERRORS as error:
        return Reading(refused=(Refusal("module", _short(text), *why(error)),))


def _of_module(module: Module) -> Reading:
    try:
        return _named(module.read(), module.salvaged)
    except ERRORS as error:
        reason, detail = why(error)
        nodes = module.units() or module.tree.body[:1]
        units = [Unit(getattr(node, "name", "assert"), node) for node in nodes]
        for unit in units:
            unit.stated = [Stated(module.source(unit.node), None, reason, detail)]
        return _named(units, 0)


def _named(units: Iterable[Unit], salvaged: int) -> Reading:
    """Give every statement its function's name, with an index where the name holds several."""
    stated = [(unit.name, one) for unit in units for one in unit.stated]
    total, seen = Counter(name for name, _ in stated), Counter[str]()
    cases: list[Case] = []
    refused: list[Refusal] = []
    order: list[str] = []
    for base, one in stated:
        name = f"{base}[{seen[base]}]" if total[base] > 1 else base
        seen[base] += 1
        order.append(name)
        if one.condition is None:
            refused.append(Refusal(name, one.source, one.reason, one.detail))
        else:
            what = one.condition
            kept = (what.arguments, what.operator, what.expected, what.view, what.tolerance, what.further)
            cases.append(Case(name, one.source, *kept))
    return Reading(tuple(cases), tuple(refused), salvaged, tuple(order))


def _short(text: str) -> str:
    return text if len(text) <= MAX_SOURCE else f"{text[:MAX_SOURCE]} ..."


def _json_rows(text: str) -> list[Value] | None:
    """The rows of JSON `[[arguments, expected], ...]`; None where the text is something else."""
    if not text.lstrip().startswith("["):
        return None
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return rows if rows and all(isinstance(row, list) and len(row) >= 2 for row in rows) else None


def _is_table(tree: ast.Module) -> bool:
    """Whether a module is nothing but lists or tuples, bare or assigned to names."""
    body = [node for node in tree.body if not isinstance(node, (ast.Import, ast.ImportFrom))]
    return bool(body) and all(
        isinstance(node, (ast.Expr, ast.Assign, ast.AnnAssign)) and isinstance(node.value, (ast.List, ast.Tuple))
        for node in body
    )


def _table(tree: ast.Module) -> list[Value]:
    """The rows of all lists, and of tuples that have a name; a bare tuple is a row by itself."""
    evaluator, rows = Interpreter(Budget()), []
    for node in tree.body:
        if isinstance(node, (ast.Expr, ast.Assign, ast.AnnAssign)) and node.value is not None:
            value: Data = evaluator.value(node.value, Scope())
            rows.extend([value] if isinstance(node, ast.Expr) and isinstance(value, tuple) else value)
    return rows


def _of_rows(rows: Sequence[Value], entry_point: str, signature: str, is_json: bool, limit: int) -> Reading:
    spec = parameters(signature)
    count = None if spec is None or spec.vararg else len(spec.posonlyargs) + len(spec.args)
    budget = Budget(1_000_000)
    read = [
        _of_row(f"assert[{position}]" if len(rows) > 1 else "assert", row, entry_point, count, is_json, budget)
        for position, row in enumerate(rows[:limit])
    ]
    if len(rows) > limit:
        read.append(Refusal("assert", "", *why(refusal("too_many", limit=limit))))
    return _sorted_out(read)


def _sorted_out(read: Sequence[Case | Refusal]) -> Reading:
    cases = tuple(one for one in read if isinstance(one, Case))
    return Reading(cases, tuple(one for one in read if isinstance(one, Refusal)))


def _of_row(
    name: str, row: Value, entry_point: str, count: int | None, is_json: bool, budget: Budget
) -> Case | Refusal:
    try:
        budget.weigh(row)
        arguments, expected = _split(row, count, is_json)
        source = f"assert {entry_point}({', '.join(map(repr, arguments))}) == {expected!r}"
        return Case(name, _short(source), text_of(arguments, budget), "==", text_of(expected, budget))
    except NotReadable as error:
        return Refusal(name, "", error.reason, error.detail)


def _split(row: Value, count: int | None, is_json: bool) -> tuple[list[Value], Value]:
    """Arguments and expected value of one row, told apart by the number of parameters where that is known."""
    if not isinstance(row, (list, tuple)) or len(row) < 2:
        raise NotReadable("unreadable", "a row that is no pair of arguments and expected value")
    first, expected = row[0], row[-1]
    packed = isinstance(first, list if is_json else tuple)
    if len(row) == 2 and packed and (count is None or len(first) == count):
        return list(first), expected
    if (count is None and len(row) == 2) or count == len(row) - 1:
        return list(row[:-1]), expected
    if count is None and not is_json:
        return list(row[:-1]), expected
    if len(row) == 2 and packed:
        return list(first), expected  # the wrong number of arguments: for the reference to refuse
    raise NotReadable("unreadable", f"a row of {len(row)} values for {count} parameters")


def read_stdin_cases(tests: Sequence[StdinTest], tolerance: float | None = None) -> Reading:
    """Pairs of input and output as cases; `tolerance` where the problem lets numbers differ."""
    cases: list[Case] = []
    refused: list[Refusal] = []
    allowed = (0.0, 0.0) if tolerance is None else (tolerance, tolerance)
    for position, test in enumerate(tests):
        name = f"stdin[{position}]" if len(tests) > 1 else "stdin"
        if len(test.input) + len(test.output) > MAX_BYTES:
            detail = f"{len(test.input) + len(test.output)} characters, the limit is {MAX_BYTES}"
            refused.append(Refusal(name, _short(test.input), "budget", detail))
        else:
            cases.append(Case(name, _short(test.input), test.input, "stdout", test.output, (), allowed))
    return Reading(tuple(cases), tuple(refused))


def problem_cases(problem: Problem, which: Literal["baseline", "hidden"] = "baseline") -> Reading:
    """The problem's own tests, each read by itself."""
    tests = problem.baseline_tests if which == "baseline" else problem.hidden_tests
    pairs = [test for test in tests if isinstance(test, StdinTest)]
    readings = [
        read_cases(test, problem.entry_point, problem.signature, helpers=problem.helpers)
        for test in tests
        if isinstance(test, str)
    ]
    stdin = read_stdin_cases(pairs, problem.tolerance)
    several = len(readings) > 1
    numbered = [
        replace(one, name=f"{which}[{position}]{_index(one.name)}" if several else one.name)
        for position, reading in enumerate(readings)
        for one in (*reading.cases, *reading.refused)
    ]
    return _sorted_out([*numbered, *stdin.cases, *stdin.refused])


def _index(name: str) -> str:
    return name[name.index("[") :] if name.endswith("]") else ""
