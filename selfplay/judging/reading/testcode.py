"""Reads a module of tests, statement by statement, into conditions on calls of the entry point.

Functions, parametrised and in classes, bare asserts, loops, locals, helpers, fixtures; what a single statement states is
stating.py's. A statement that cannot be evaluated refuses its function, at module level the file: nothing is harvested
from code that is not understood.
"""

from __future__ import annotations

import ast
import builtins
import warnings
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from selfplay.judging.reading.budget import FUNCTION_STEPS, Budget, NotReadable, module_steps
from selfplay.judging.reading.expressions import ERRORS
from selfplay.judging.reading.interpret import Scope
from selfplay.judging.reading.known import Native
from selfplay.judging.reading.pytests import (
    ASSUMED,
    CHANGING_MARKS,
    Marker,
    Parameters,
    dotted,
    holds_assertions,
    imported_names,
    is_check,
    is_test_class,
    module_value,
    why,
)
from selfplay.judging.reading.stating import Stated, Statements
from selfplay.judging.reading.symbols import Signature
from selfplay.judging.reading.unittests import TestSelf

MAX_TEXT = 1 << 20


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


class Module(Statements):
    """One test module while it is read: its names, tests and what they state."""

    def __init__(self, text: str, entry_point: str, signature: str) -> None:
        super().__init__(
            text, Signature(signature, lambda node: self.value(node, self.globals)), Budget(module_steps(text))
        )
        self.tree = parse(text)
        self.entry_point = entry_point
        self.globals = Scope({"__name__": "tests", **ASSUMED})
        if entry_point:
            self.globals.names[entry_point] = self.entry
        self.fixtures: dict[str, ast.FunctionDef] = {}
        self.tests: dict[tuple[str, ast.ClassDef | None], tuple[Unit, ast.FunctionDef]] = {}
        self.loose: list[Unit] = []

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
        self.budget.begin(FUNCTION_STEPS)
        self.stated = []

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

    def on_import(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        for alias in node.names:
            if isinstance(node, ast.Import):
                name = alias.asname or alias.name.split(".")[0]
                scope.names[name] = module_value(alias.name, name, self.entry_point, self.entry, self.text)
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
