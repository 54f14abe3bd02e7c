"""Reads a module of tests, statement by statement, into conditions on calls of the entry point.

Functions, parametrised and in classes, bare asserts, loops, locals, helpers, fixtures, `pytest.raises`, unittest's
assertions (unittests.py). A statement that cannot be evaluated refuses its function, at module level the file: nothing
is harvested from code that is not understood. An assertion that is understood but is no case (it relates two results,
or states two things) is refused alone.
"""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from selfplay.judging.reading.budget import Budget, NotReadable, Unknown
from selfplay.judging.reading.expressions import ERRORS
from selfplay.judging.reading.interpret import Flow, Scope
from selfplay.judging.reading.known import Native
from selfplay.judging.reading.pytests import (
    ASSUMED,
    CHANGING_MARKS,
    Marker,
    Parameters,
    Raises,
    Transparent,
    asserts,
    does_nothing,
    dotted,
    fails,
    holds_assertions,
    imported_names,
    is_check,
    is_test_class,
    module_value,
    why,
)
from selfplay.judging.reading.symbols import Condition, EntryPoint, Result, Signature, exception_names
from selfplay.judging.reading.unittests import TestEvaluator, TestSelf
from selfplay.judging.values import dump

MAX_TEXT = 1 << 20
MAX_CASES = 256  # of one function or module-level statement
FUNCTION_STEPS = 200_000
MODULE_STEPS = 1_000_000
ALONE = frozenset({"property", "compound", "keywords", "wrong_entry", "not_a_call", "tolerance"})


@dataclass(frozen=True, slots=True)
class Stated:
    """One assertion as read: its condition, or why there is none."""

    source: str
    condition: Condition | None
    reason: str = ""
    detail: str = ""


@dataclass(slots=True)
class Unit:
    """A test function, or a statement outside of one (named `assert`), and what it states."""

    name: str
    node: ast.stmt
    stated: list[Stated] = field(default_factory=list)


def parse(text: str) -> ast.Module:
    """The syntax tree of a test module; raises NotReadable."""
    if len(text) > MAX_TEXT:
        raise NotReadable("budget", f"{len(text)} characters where {MAX_TEXT} are read")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotReadable("syntax", str(error)[:200]) from None


class Module(TestEvaluator):
    """One test module while it is read: its names, tests and what they state."""

    def __init__(self, text: str, entry_point: str, signature: str) -> None:
        super().__init__(Budget(FUNCTION_STEPS))
        self.tree = parse(text)
        self.whole = text
        self.lines = text.split("\n")
        self.steps = MODULE_STEPS
        self.entry_point = entry_point
        known = Signature(signature, lambda node: self.value(node, self.globals))
        self.entry = EntryPoint(known, self.budget)
        self.globals = Scope({"__name__": "tests", **ASSUMED})
        if entry_point:
            self.globals.names[entry_point] = self.entry
        self.fixtures: dict[str, ast.FunctionDef] = {}
        self.tests: dict[tuple[str, ast.ClassDef | None], tuple[Unit, ast.FunctionDef]] = {}
        self.loose: list[Unit] = []
        self.stated: list[Stated] = []
        self.statement: ast.stmt = ast.Pass()

    def read(self) -> list[Unit]:
        """All units in the order of the file. Raises NotReadable where a statement outside of tests refuses it."""
        for node in self.tree.body:
            self._top(node)
        for (_, owner), (unit, function) in self.tests.items():
            unit.stated = self._budgeted(unit, lambda function=function, owner=owner: self._test(function, owner))
        return sorted([*self.loose, *(unit for unit, _ in self.tests.values())], key=lambda unit: unit.node.lineno)

    def units(self) -> list[ast.stmt]:
        """The statements that hold tests, for counting what a refused file had written."""
        return [node for node in self.tree.body if holds_assertions(node)]

    def _budgeted(self, unit: Unit, body: Any) -> list[Stated]:
        """What a function states, or its refusal; it may spend one function's steps."""
        self._fresh()
        try:
            body()
        except ERRORS as error:
            reason, detail = why(error)
            return [Stated(self.source(unit.node), None, reason, detail)]
        return self.stated or [Stated(self.source(unit.node), None, "not_a_call", "no assertion about the entry point")]

    def _fresh(self) -> None:
        self.steps -= FUNCTION_STEPS - max(0, self.budget.left)
        self.budget = self.entry.budget = Budget(min(FUNCTION_STEPS, self.steps))
        self.stated = []

    def source(self, node: ast.stmt) -> str:
        """The text of a statement, without its indentation."""
        lines = self.lines[node.lineno - 1 : node.end_lineno]
        lines[-1] = lines[-1].encode()[: node.end_col_offset].decode(errors="replace")
        lines[0] = lines[0].encode()[node.col_offset :].decode(errors="replace")
        return "\n".join(lines)

    def _top(self, node: ast.stmt) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self._top_function(node)
        elif isinstance(node, ast.ClassDef) and is_test_class(node):
            self._top_class(node)
        elif not self._ignored(node):
            self._fresh()
            self.run([node], self.globals)
            if self.stated:
                self.loose.append(Unit("assert", node, self.stated))

    def _top_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if node.name == self.entry_point:
            raise NotReadable("patched", f"{node.name} is defined by its own test")
        if isinstance(node, ast.AsyncFunctionDef):
            self._unreadable_test(node, "unsupported", "an async function")
        elif node.name.startswith("test") or is_check(node):
            self._collect(node, None)
        elif any(dotted(decorator).endswith("fixture") for decorator in node.decorator_list):
            self.fixtures[node.name] = node
        else:
            self.run([node], self.globals)

    def _unreadable_test(self, node: ast.stmt, reason: str, detail: str) -> None:
        name = node.name if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) else "assert"
        self.loose.append(Unit(name, node, [Stated(self.source(node), None, reason, detail)]))

    def _collect(self, node: ast.FunctionDef, owner: ast.ClassDef | None) -> None:
        """A later test of the same name replaces the earlier one, as in Python."""
        earlier = self.tests.pop((node.name, owner), None)
        if earlier:
            self._unreadable_test(earlier[1], "shadowed", "a later test has the same name")
        self.tests[node.name, owner] = (Unit(node.name, node), node)

    def _top_class(self, node: ast.ClassDef) -> None:
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef) and statement.name.startswith("test"):
                self._collect(statement, node)

    def _ignored(self, node: ast.stmt) -> bool:
        """Calls that only start the tests: unittest.main(), pytest.main(), test_x(), check(f)."""
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
            return False
        name = dotted(node.value.func)
        return name in ("unittest.main", "pytest.main") or (name, None) in self.tests

    def _test(self, node: ast.FunctionDef, owner: ast.ClassDef | None) -> None:
        if is_check(node):
            self.run(node.body, Scope({node.args.args[0].arg: self.entry}, self.globals))
            return
        decorators = [*(owner.decorator_list if owner else ()), *node.decorator_list]
        columns = [self._parametrized(self.value(decorator, self.globals)) for decorator in decorators]
        names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        for row in product(*(column for column in reversed(columns) if column is not None)):
            bound = {name: value for values in row for name, value in values.items()}
            scope = Scope(bound, self.globals)
            if owner:
                bound[names[0]] = self._instance(owner)
            for name in names:
                if name not in bound:
                    bound[name] = self._fixture(name, node)
            self.run(node.body, scope)

    def _instance(self, owner: ast.ClassDef) -> TestSelf:
        instance = TestSelf(self, owner)
        instance.set_up()
        return instance

    def _fixture(self, name: str, node: ast.FunctionDef) -> Any:
        if name not in self.fixtures:
            raise NotReadable("unsupported", f"the fixture {name!r} of {node.name}")
        fixture = self.fixtures[name]
        scope = Scope({}, self.globals)
        for argument in fixture.args.args:
            scope.names[argument.arg] = self._fixture(argument.arg, fixture)
        flow = self.run(fixture.body, scope)
        return flow.value if flow else None

    def _parametrized(self, mark: Any) -> list[dict[str, Any]] | None:
        """The rows of a parametrize mark; None for a mark that changes nothing."""
        if not isinstance(mark, Marker) or mark.name in CHANGING_MARKS or not mark.name:
            raise NotReadable("unsupported", "a decorator that is no plain pytest mark")
        if mark.name != "parametrize":
            return None
        arguments = dict(zip(("argnames", "argvalues"), mark.arguments, strict=False)) | mark.keywords
        if not {"argnames", "argvalues"} <= set(arguments) <= {"argnames", "argvalues", "ids"}:
            raise NotReadable("unsupported", "these arguments of parametrize")
        names = arguments["argnames"]
        split = [part.strip() for part in names.split(",") if part.strip()] if isinstance(names, str) else list(names)
        rows = self.budget.items(arguments["argvalues"])
        return [self._row(split, row, isinstance(names, str) and "," not in names) for row in rows]

    def _row(self, names: list[str], row: Any, single: bool) -> dict[str, Any]:
        if isinstance(row, Parameters):
            if row.marked:
                raise NotReadable("unsupported", "a marked parameter")
            row = row.values
        else:
            row = [row] if single else self.budget.items(row)
        if len(row) != len(names):
            raise NotReadable("unreadable", f"{len(row)} values for the parameters {names}")
        return dict(zip(names, row, strict=True))

    def assign(self, name: str, value: Any, scope: Scope) -> None:
        if name == self.entry_point and value is not self.entry:
            raise NotReadable("patched", f"the test binds {name} itself")
        scope.names[name] = value

    def bind(self, target: ast.expr, value: Any, scope: Scope) -> None:
        if isinstance(target, ast.Attribute):
            owner = self.value(target.value, scope)
            if isinstance(owner, TestSelf):
                owner.names[target.attr] = value
                return
        super().bind(target, value, scope)

    def call(self, node: ast.Call, scope: Scope) -> Any:
        try:
            return super().call(node, scope)
        except NotReadable as error:
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            if not name or hasattr(builtins, name) or error.detail != f"the name {name!r} is not defined":
                raise
            raise NotReadable("wrong_entry", f"{name} is not {self.entry_point}") from None

    def add(self, condition: Condition | None, reason: str = "", detail: str = "") -> None:
        """Enter what the current statement states."""
        if len(self.stated) >= MAX_CASES:
            raise NotReadable("too_many", f"more than {MAX_CASES} cases")
        self.stated.append(Stated(self.source(self.statement), condition, reason, detail))

    def state(self, value: Any) -> None:
        """Enter an asserted value: a condition on a result, or the result itself."""
        if isinstance(value, Result):
            value = value.condition("truthy", "true")
        if isinstance(value, Condition):
            self.add(value)
        elif isinstance(value, (Unknown, Native)) or (isinstance(value, (tuple, list)) and value):
            raise NotReadable("not_a_call", "an assertion about something else than a result")
        elif value:
            raise NotReadable("not_a_call", "an assertion about something known")
        else:
            raise NotReadable("unsupported", "an assertion that always fails")

    def on_expression(self, node: ast.Expr, scope: Scope) -> None:
        self.statement = node
        self._alone(lambda: self.value(node.value, scope), isinstance(node.value, ast.Call) and asserts(node.value))

    def on_assert(self, node: ast.Assert, scope: Scope) -> None:
        self.statement = node
        self._alone(lambda: self.state(self.value(node.test, scope)), True)

    def _alone(self, state: Any, assertion: bool) -> None:
        try:
            state()
        except NotReadable as error:
            if not assertion or error.reason not in ALONE:
                raise
            self.add(None, error.reason, error.detail)

    def on_import(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        for alias in node.names:
            if isinstance(node, ast.Import):
                name = alias.asname or alias.name.split(".")[0]
                scope.names[name] = module_value(alias.name, name, self.entry_point, self.entry, self.whole)
            else:
                scope.names.update(imported_names(node.module or "", alias, self.entry_point, self.entry))
        if scope.names.get(self.entry_point, self.entry) is not self.entry:
            raise NotReadable("patched", f"{self.entry_point} is imported from elsewhere")

    def apply(self, function: Any, arguments: list[Any], keywords: dict[str, Any] | None = None) -> Any:
        if isinstance(function, Native) and function.name == "raises":
            return self.expect_raises(arguments, dict(keywords or {}))
        if isinstance(function, Native) and function.name in ("param", "approx"):
            return function.function(self.budget, self.apply, arguments, keywords or {})
        return super().apply(function, arguments, keywords)

    def expect_raises(self, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if keywords.pop("match", None) is not None:
            raise NotReadable("unsupported", "the message of an exception")
        names = exception_names(arguments[0])
        if len(arguments) == 1 and not keywords:
            return Raises(names)
        calls = len(self.entry.calls)
        self._add_raises(names, self.apply(arguments[1], arguments[2:], keywords), calls)
        return None

    def _add_raises(self, names: list[str], value: Any, calls: int) -> None:
        """Enter that the one call since `calls` raises; the call's own value must be all there is."""
        if len(self.entry.calls) != calls + 1:
            raise NotReadable("property", "an expected exception around several calls, or none")
        if not isinstance(value, Result) or value.view or value is not self.entry.calls[-1]:
            raise NotReadable("unsupported", "an expected exception around more than a call")
        self.add(Condition(value.arguments, "raises", dump(names)))

    def on_with(self, node: ast.With, scope: Scope) -> Flow | None:
        contexts = [self.value(item.context_expr, scope) for item in node.items]
        if len(contexts) != 1 or not isinstance(contexts[0], (Raises, Transparent)):
            raise NotReadable("unsupported", "a with statement")
        if isinstance(contexts[0], Transparent):
            return self.run(node.body, scope)
        self._raising(contexts[0].names, node, node.body, scope)
        if isinstance(node.items[0].optional_vars, ast.Name):
            scope.names[node.items[0].optional_vars.id] = contexts[0]
        return None

    def _raising(self, names: list[str], node: ast.stmt, body: Sequence[ast.stmt], scope: Scope) -> None:
        """A body that must raise: plain statements, then one that calls the entry point."""
        calls, stated = len(self.entry.calls), len(self.stated)
        self.run(body[:-1], scope)
        last = body[-1]
        if len(self.entry.calls) != calls or len(self.stated) != stated or not isinstance(last, (ast.Expr, ast.Assign)):
            raise NotReadable("property", "an expected exception around more than one call")
        value = self.value(last.value, scope)
        self.statement = node
        self._add_raises(names, value, calls)

    def on_try(self, node: ast.Try, scope: Scope) -> Flow | None:
        """`try: f(x); assert False` with `except E: pass`: the call must raise E."""
        body = node.body[:-1] if fails(node.body[-1]) else node.body
        failing = len(body) < len(node.body) or (len(node.orelse) == 1 and fails(node.orelse[0]))
        plain = len(node.handlers) == 1 and all(map(does_nothing, node.handlers[0].body)) and not node.finalbody
        if not (failing and plain and body and node.handlers[0].type is not None):
            raise NotReadable("unsupported", "a try statement")
        names = exception_names(self.value(node.handlers[0].type, scope))
        if {"Exception", "BaseException", "AssertionError"} & set(names):
            raise NotReadable("unsupported", "an expected exception that the assertion itself would be")
        self._raising(names, node, body, scope)
        return None
