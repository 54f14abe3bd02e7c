"""What a test function is given: the rows of `parametrize`, fixtures of the file, and marks that skip it."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import product

from selfplay.reading.names import Scope
from selfplay.reading.opaque import Spoiled
from selfplay.reading.pytests import Marker, Parameters, dotted
from selfplay.reading.refusals import NotReadable, refuse
from selfplay.reading.stating import Statements
from selfplay.reading.unittests import TestSelf
from selfplay.reading.unknown import Unknown, Value

MAX_ROWS = 4_096  # of one parametrised function
MAX_NAMES = 2_000  # characters of its argnames, or as many names
ROW_STEPS = 4  # of making one row, or calling a test with it
FIXTURE_STEPS = 2  # of looking at one fixture of the file
Row = dict[str, Value]
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Request(Unknown):
    """`request` in a fixture with parameters."""

    what = "pytest's request"

    def __init__(self, params: Row, name: str) -> None:
        self.params, self.name = params, name

    def attribute(self, name: str) -> Value:
        return self.params[self.name] if name == "param" and self.name in self.params else self.refuse()


def is_fixture(node: ast.stmt) -> bool:
    """Whether a statement defines a fixture."""
    return isinstance(node, ast.FunctionDef) and any(dotted(one).endswith("fixture") for one in node.decorator_list)


class Fixtures(Statements):
    """Knows the fixtures of a file, and with what a test is called."""

    fixtures: dict[str, ast.FunctionDef]
    globals: Scope

    def rows(self, marks: Iterable[Value], names: Sequence[str]) -> list[Row]:
        """With what a test is called, row by row, in the order of pytest. Refuses a test that is skipped."""
        self.budget.spend(FIXTURE_STEPS * len(self.fixtures))
        columns = [rows for rows in map(self._parametrized, marks) if rows is not None]
        needed = self._closure([*names, *(name for name in self.fixtures if self._settings(name).get("autouse"))])
        columns += [self._params(name) for name in needed if "params" in self._settings(name)]
        count = 1
        for column in columns:
            count *= len(column)
            if count > MAX_ROWS:
                refuse("too_many", limit=MAX_ROWS)
        self.budget.spend(count * (len(columns) + ROW_STEPS))
        return [{name: value for row in rows for name, value in row.items()} for rows in product(*reversed(columns))]

    def bind_arguments(self, node: Function, row: Row, instance: TestSelf | None) -> Row:
        """A test's arguments by name: of the row, else fixtures; those for all tests are run as well."""
        names = arguments_of(node)
        own = instance.fixtures if instance else {}
        self.budget.spend(ROW_STEPS + len(names) + FIXTURE_STEPS * (len(self.fixtures) + len(own)))
        bound: Row = {}
        if instance is not None:
            if not names:
                raise NotReadable("unreadable", f"{node.name} takes no self")
            bound[names.pop(0)] = instance
        for name in [*self.fixtures, *own]:
            if self._settings(name, instance).get("autouse"):
                self._fixture(name, row, instance, ())
        if instance is not None:
            instance.set_up()
        for name in names:
            bound[name] = row[name] if name in row else self._fixture(name, row, instance, ())
        return bound

    def _closure(self, names: Sequence[str]) -> list[str]:
        found: dict[str, None] = {}
        todo = deque(names)
        while todo:
            self.budget.spend()
            name = todo.popleft()
            if name in self.fixtures and name not in found:
                found[name] = None
                todo += arguments_of(self.fixtures[name])
        return list(found)

    def _node(self, name: str, instance: TestSelf | None) -> ast.FunctionDef:
        own = instance.fixtures if instance else {}
        found = own.get(name) or self.fixtures.get(name)
        if found is None and name in ("monkeypatch", "mocker"):
            refuse("patches", self.entry.name, name=f"something ({name})")
        return found or refuse("fixture", self.entry.name, name=name)

    def _settings(self, name: str, instance: TestSelf | None = None) -> dict[str, Value]:
        node = self._node(name, instance)
        self.budget.spend(2 * len(node.decorator_list))
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call) and dotted(decorator).endswith("fixture"):
                wanted = [keyword for keyword in decorator.keywords if keyword.arg in ("params", "autouse")]
                return {keyword.arg or "": self.value(keyword.value, self.globals) for keyword in wanted}
        return {}

    def _params(self, name: str) -> list[Row]:
        return [{f"param of {name}": value} for value in self.budget.items(self._settings(name)["params"])]

    def _fixture(self, name: str, row: Row, instance: TestSelf | None, within: tuple[str, ...]) -> Value:
        self.budget.spend(ROW_STEPS)
        node = self._node(name, instance)
        if name in within:
            refuse("fixture", self.entry.name, name=name)
        names = arguments_of(node)
        scope = Scope({}, self.globals)
        if instance is not None and name in instance.fixtures and names:
            scope.names[names.pop(0)] = instance
        for argument in names:
            if argument == "request":
                given = {name: row[f"param of {name}"]} if f"param of {name}" in row else {}
                scope.names[argument] = Request(given, name)
            else:
                value = row[argument] if argument in row else self._fixture(argument, row, instance, (*within, name))
                scope.names[argument] = value
        return self._given(node, scope)

    def _given(self, node: ast.FunctionDef, scope: Scope) -> Value:
        """What a fixture returns or yields; what follows a yield comes after the test."""
        self.budget.spend(len(node.body) // 8)
        for position, statement in enumerate(node.body):
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Yield):
                self.run(node.body[:position], scope)
                return None if statement.value.value is None else self.value(statement.value.value, scope)
        flow = self.run(node.body, scope)
        return flow.value if flow else None

    def _parametrized(self, mark: Value) -> list[Row] | None:
        """The rows of a parametrize mark; None for a mark that changes nothing."""
        if isinstance(mark, Spoiled):
            mark.refuse()
        if not isinstance(mark, Marker) or not mark.name:
            refuse("mark", self.entry.name)
        if mark.name != "parametrize":
            self._skipped(mark)
            return None
        arguments = dict(zip(("argnames", "argvalues"), mark.arguments, strict=False)) | dict(mark.keywords)
        odd = set(arguments) - {"argnames", "argvalues", "ids", "scope"}
        if odd or not {"argnames", "argvalues"} <= set(arguments):
            refuse("indirect", self.entry.name, name=", ".join(sorted(odd)) or "this form")
        names = self.budget.weigh(arguments["argnames"])
        if isinstance(names, (str, list, tuple)) and len(names) > MAX_NAMES:
            refuse("indirect", self.entry.name, name="a long list of names")
        split = [part.strip() for part in names.split(",") if part.strip()] if isinstance(names, str) else list(names)
        single = isinstance(names, str) and len(split) == 1
        values = self.budget.items(arguments["argvalues"])
        self.budget.spend(len(values) * (len(split) + ROW_STEPS))
        found = [self._row(split, row, single) for row in values]
        return [row for row in found if row is not None]

    def _skipped(self, mark: Marker) -> None:
        """Refuse a test that its mark skips. A condition that is not known may skip it."""
        if mark.name in ("skip", "xfail"):
            refuse(mark.name)
        if mark.name in ("skipif", "skipunless"):
            condition = mark.arguments[0] if mark.arguments else mark.keywords.get("condition")
            if isinstance(condition, str) or self.truth(condition) == (mark.name == "skipif"):
                refuse("skip")
        if mark.name == "usefixtures":
            for name in mark.arguments:
                self._fixture(name, {}, None, ())

    def _row(self, names: list[str], row: Value, single: bool) -> Row | None:
        """One row by name; None where its own mark skips it."""
        if isinstance(row, Parameters):
            for mark in row.marks:
                try:
                    self._parametrized(mark)
                except NotReadable as error:
                    if error.reason != "skip":
                        raise
                    return None
            row = row.values
        else:
            row = [row] if single else self.budget.items(row)
        if len(row) != len(names):
            raise NotReadable("unreadable", f"{len(row)} values for the parameters {names}")
        return dict(zip(names, row, strict=True))


def arguments_of(node: Function) -> list[str]:
    """The names of a function's parameters that have no default."""
    spec = node.args
    positional = [argument.arg for argument in (*spec.posonlyargs, *spec.args)]
    keywords = [a.arg for a, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default is None]
    return [*positional[: len(positional) - len(spec.defaults)], *keywords]
