"""What one statement of a test states: an assert, an assertion's call, an expected exception, as conditions on results.

An assertion that is understood but is no case (it relates two results, or states two things) is refused alone; any other
statement that cannot be evaluated is the caller's to refuse (testcode.py).
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from selfplay.judging.reading.budget import Budget, NotReadable, Unknown
from selfplay.judging.reading.interpret import Flow, Scope
from selfplay.judging.reading.known import Native
from selfplay.judging.reading.pytests import Raises, Transparent, asserts, does_nothing, fails
from selfplay.judging.reading.symbols import Condition, EntryPoint, Result, Signature, exception_names
from selfplay.judging.reading.unittests import TestEvaluator
from selfplay.judging.values import dump

MAX_CASES = 256  # of one function or module-level statement
ALONE = frozenset({"property", "compound", "keywords", "wrong_entry", "not_a_call", "tolerance"})


@dataclass(frozen=True, slots=True)
class Stated:
    """One assertion as read: its condition, or why there is none."""

    source: str
    condition: Condition | None
    reason: str = ""
    detail: str = ""


class Statements(TestEvaluator):
    """Evaluates statements and keeps in `stated` what they state about the entry point."""

    def __init__(self, text: str, signature: Signature, budget: Budget) -> None:
        super().__init__(budget)
        self.text = text
        self.lines = text.split("\n")
        self.entry = EntryPoint(signature, budget)
        self.stated: list[Stated] = []
        self.statement: ast.stmt = ast.Pass()

    def source(self, node: ast.stmt) -> str:
        """The text of a statement, without its indentation."""
        lines = self.lines[node.lineno - 1 : node.end_lineno]
        lines[-1] = lines[-1].encode()[: node.end_col_offset].decode(errors="replace")
        lines[0] = lines[0].encode()[node.col_offset :].decode(errors="replace")
        return "\n".join(lines)

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
