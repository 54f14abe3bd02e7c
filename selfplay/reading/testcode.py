"""Reads a module of tests, statement by statement, into conditions on calls of the entry point.

Functions, parametrised and in classes, bare asserts, loops, locals, helpers, fixtures; what a single statement states is
stating.py's. What is not understood refuses its function; outside of functions it is left out, and what it may have
changed is unknown, or it refuses the file where it would raise or may replace the function under test.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from selfplay.reading.budget import FUNCTION_STEPS, Budget, module_steps
from selfplay.reading.copies import without_copies
from selfplay.reading.expressions import ERRORS
from selfplay.reading.fixtures import arguments_of, is_fixture
from selfplay.reading.imports import Imports, parse
from selfplay.reading.names import Function, Scope, defaults_of
from selfplay.reading.opaque import Spoiled
from selfplay.reading.pytests import asserts, dotted, holds_assertions, is_check, is_test_class
from selfplay.reading.refusals import NotReadable, refusal, why
from selfplay.reading.stating import Full, Stated
from selfplay.reading.unittests import TestSelf
from selfplay.reading.unknown import Value

COLLECTED = 10  # steps of taking a test from a class: others inherit it


@dataclass(slots=True)
class Unit:
    """A test function, or a statement outside of one (named `assert`), and what it states."""

    name: str
    node: ast.stmt
    stated: list[Stated] = field(default_factory=list)


class Module(Imports):
    """One test module while it is read: its tests and what they state."""

    def __init__(self, text: str, entry_point: str, limit: int, helpers: str = "") -> None:
        self.tree, self.text = parse(text), text
        super().__init__(text, entry_point, Budget(module_steps(text)), limit, helpers)
        self.salvaged = 0
        self.classes: dict[str, ast.ClassDef] = {}
        self.tests: dict[tuple[str, ast.ClassDef | None], tuple[Unit, ast.FunctionDef]] = {}
        self._lineages: dict[ast.ClassDef, list[ast.ClassDef]] = {}
        self.loose: list[Unit] = []
        self.empty: list[Unit] = []  # statements that state nothing

    def read(self) -> list[Unit]:
        """All units in the order of the file. Raises NotReadable where a statement outside of tests refuses it."""
        body, self.salvaged = without_copies(self.tree.body, self.entry.name, self.text)
        self.classes = {node.name: node for node in body if isinstance(node, ast.ClassDef)}
        try:
            for node in body:
                self._top(node)
            self._set_up()
            for (_, owner), (unit, function) in self.tests.items():
                unit.stated = self._budgeted(unit, lambda function=function, owner=owner: self._test(function, owner))
            self._guarded(body)
        except Full:
            pass
        return self._in_order()

    def _in_order(self) -> list[Unit]:
        """All units as they stand in the file. Of those that the limit left unread, the first says so."""
        if not self.tests and not self.loose:
            for unit in self.empty:
                unit.stated = [Stated(self.source(unit.node), None, *why(refusal("known", self.entry.name)))]
            self.loose += self.empty
        units = sorted([*self.loose, *(unit for unit, _ in self.tests.values())], key=lambda unit: unit.node.lineno)
        if self.room < 0:
            unit = next((unit for unit in units if not unit.stated), units[-1])
            unit.stated = [*unit.stated, Stated("", None, *why(refusal("too_many", limit=self.limit)))]
        return [unit for unit in units if unit.stated]

    def units(self) -> list[ast.stmt]:
        """The statements that hold tests, for counting what a refused file had written."""
        return [node for node in self.tree.body if holds_assertions(node)]

    def _budgeted(self, unit: Unit, body: Callable[[], None]) -> list[Stated]:
        """What a function states, or its refusal; it may spend one function's steps."""
        self._fresh()
        try:
            body()
        except ERRORS as error:
            return [Stated(self.source(unit.node), None, *why(error))]
        except Full:
            unit.stated = self.stated
            raise
        return self.stated or [Stated(self.source(unit.node), None, *why(refusal("nothing", self.entry.name)))]

    def _fresh(self) -> None:
        self.budget.begin(FUNCTION_STEPS)
        self.stated = []
        self.refused.clear()
        self.under.clear()
        self.entry.calls.clear()

    # ---- outside of tests ----

    def _top(self, node: ast.stmt) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self._top_function(node)
        elif isinstance(node, ast.ClassDef):
            self._top_class(node)
        elif not self._starts_tests(node):
            self._top_statement(node)

    def _top_statement(self, node: ast.stmt) -> None:
        """A statement outside of functions. One that is not evaluated is left out with what it holds."""
        self._fresh()
        unit = Unit("assert", node)
        try:
            self.run([node], self.globals)
        except NotReadable as error:
            if not self.minor(error):
                raise
            self.stated.clear()
            self.leave_out(node, self.globals, error)
            if holds_assertions(node):
                self.stated.append(Stated(self.source(node), None, *why(error)))
        except Full:
            self.loose.append(unit)
            unit.stated = self.stated
            raise
        unit.stated = self.stated
        if unit.stated:
            self.loose.append(unit)
        elif isinstance(node, ast.Assert) or _is_assertion(node):
            self.empty.append(unit)

    def _top_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if isinstance(node, ast.AsyncFunctionDef):
            if node.name.startswith("test"):
                self._unreadable_test(node, refusal("async", self.entry.name))
            self.globals.names[node.name] = Spoiled.of("async", self.entry.name)
        elif is_fixture(node):
            self.fixtures[_fixture_name(node)] = node
        elif node.name.startswith("test") or is_check(node):
            self._collect(node, None)
        elif node.decorator_list:
            self.globals.names[node.name] = Spoiled.of("followed", self.entry.name, name=f"the decorated {node.name}")
        else:
            self.run([node], self.globals)

    def _unreadable_test(self, node: ast.stmt, error: NotReadable) -> None:
        self.loose.append(Unit(getattr(node, "name", "assert"), node, [Stated(self.source(node), None, *why(error))]))

    def _collect(self, node: ast.FunctionDef, owner: ast.ClassDef | None) -> None:
        """A later test of the same name replaces the earlier one, as in Python."""
        earlier = self.tests.pop((node.name, owner), None)
        if earlier:
            self._unreadable_test(earlier[1], refusal("shadowed", self.entry.name))
        self.tests[node.name, owner] = (Unit(node.name, node), node)

    def _top_class(self, node: ast.ClassDef) -> None:
        """The tests of a test class and its bases; of any other class nothing is known."""
        if not any(is_test_class(one) for one in self._lineage(node)):
            self.globals.names[node.name] = Spoiled.of("followed", self.entry.name, name=f"the class {node.name}")
            return
        own = {getattr(statement, "name", "") for statement in node.body}
        self._fresh()
        for owner in self._lineage(node):
            for statement in self._members(owner):
                self.budget.spend(COLLECTED)
                if isinstance(statement, ast.FunctionDef) and statement.name.startswith("test"):
                    if owner is node or statement.name not in own:
                        self._collect(statement, node)
                elif isinstance(statement, ast.AsyncFunctionDef) and statement.name.startswith("test"):
                    self._unreadable_test(statement, refusal("async", self.entry.name))

    def _members(self, owner: ast.ClassDef) -> Iterator[ast.stmt]:
        """The statements of a class, those of an `if` in their place; tests under an unknown condition are refused."""
        for statement in owner.body:
            if not isinstance(statement, ast.If):
                yield statement
                continue
            try:
                yield from statement.body if self.truth(self.value(statement.test, self.globals)) else statement.orelse
            except NotReadable as error:
                for inner in (*statement.body, *statement.orelse):
                    self.budget.spend(COLLECTED)
                    if isinstance(inner, ast.FunctionDef) and inner.name.startswith("test"):
                        self._unreadable_test(inner, error)

    def _lineage(self, node: ast.ClassDef) -> list[ast.ClassDef]:
        """A class after its bases, as far as the file defines them."""
        if node not in self._lineages:
            found = [node]
            while len(found) < 10:
                base = next((self.classes[name] for name in map(dotted, found[0].bases) if name in self.classes), None)
                if base is None or base in found:
                    break
                found.insert(0, base)
            self._lineages[node] = found
        return self._lineages[node]

    def _starts_tests(self, node: ast.stmt) -> bool:
        """Calls that only start the tests: unittest.main(), pytest.main(), sys.exit(pytest.main()), test_x(), check(f)."""
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
            return False
        name = dotted(node.value.func)
        return name in ("unittest.main", "pytest.main", "sys.exit", "doctest.testmod") or (name, None) in self.tests

    def _set_up(self) -> None:
        """What a module sets up for all tests; where it is not understood, no test is."""
        for name in ("setUpModule", "setup_module", "setup_function"):
            function = self.globals.names.get(name)
            if function is not None:
                self._fresh()
                self.apply(function, [None] * (len(function.arguments.args) if isinstance(function, Function) else 0))

    def _guarded(self, body: list[ast.stmt]) -> None:
        """What a script states below `if __name__ == "__main__"`, where nothing else in the file is a test."""
        if self.tests or self.loose:
            return
        for node in body:
            if isinstance(node, ast.If) and "__name__" in ast.dump(node.test):
                for statement in node.body:
                    if not self._starts_tests(statement):
                        self._top_statement(statement)

    # ---- tests ----

    def _test(self, node: ast.FunctionDef, owner: ast.ClassDef | None) -> None:
        if is_check(node):
            self.run(node.body, Scope({node.args.args[0].arg: self.entry}, self.globals))
            return
        lineage = self._lineage(owner) if owner else []
        within = self.globals
        if owner and node.decorator_list:
            within = Scope(TestSelf(self, lineage, self.globals).names, self.globals)
        marks = [*self._marks(lineage), *(self.value(decorator, within) for decorator in node.decorator_list)]
        names = arguments_of(node)[1 if owner else 0 :]
        for row in self.rows(marks, names):
            instance = TestSelf(self, lineage, self.globals) if owner else None
            bound = self.bind_arguments(node, row, instance)
            for extra in set(row) - set(names):
                if not extra.startswith("param of ") and extra not in self._closure(names):
                    raise NotReadable("unreadable", f"{node.name} has no parameter {extra!r}")
            for argument, default in defaults_of(node.args):
                bound.setdefault(argument, self.value(default, self.globals))
            self.run(node.body, Scope(bound, self.globals))

    def _marks(self, lineage: list[ast.ClassDef]) -> list[Value]:
        """The marks of a test's class and module."""
        marks = [self.value(decorator, self.globals) for owner in lineage for decorator in owner.decorator_list]
        everywhere = self.globals.names.get("pytestmark", [])
        return [*(everywhere if isinstance(everywhere, list) else [everywhere]), *marks]


def _is_assertion(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and asserts(node.value)


def _fixture_name(node: ast.FunctionDef) -> str:
    """The name of a fixture, which its decorator may give."""
    for decorator in node.decorator_list:
        for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
            if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
                return str(keyword.value.value)
    return node.name
