"""What one statement of a test states: an assert, an assertion's call, an expected exception, as conditions on results.

An assertion that is no case is refused alone, and a plain statement that is not evaluated is left out: what either may
have changed is unknown from there on. A statement that holds others, or would raise, is the caller's to refuse
(testcode.py). What is known to hold says nothing about a program and is left out without a word.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from selfplay.cases.values import dump
from selfplay.reading.budget import Budget
from selfplay.reading.conditions import Condition, conditions
from selfplay.reading.interpret import Flow
from selfplay.reading.loops import Loops
from selfplay.reading.names import Function, Scope
from selfplay.reading.native import Native
from selfplay.reading.normal import FALSE
from selfplay.reading.opaque import Spoiled, names_of, replaces, spoil
from selfplay.reading.pytests import Raised, Raises, Transparent, asserts, does_nothing, fails
from selfplay.reading.refusals import NotReadable, kind_of, refusal, refuse, why
from selfplay.reading.special import exception_names
from selfplay.reading.symbols import EntryPoint, Result
from selfplay.reading.unknown import Arguments, Keywords, Unknown, Value

MAX_SOURCE = 2_000  # characters of a statement's text that are kept
GRAVE = frozenset({"unreadable", "patched", "syntax", "skip"})  # what makes all of a test meaningless
ENOUGH = 1_000  # steps that must be left for going on after a statement that takes too many
LEFT_OUT = 20  # steps of leaving a statement out, beside looking at it: an exception was raised and caught
WRITTEN = 8  # letters of a condition that are written in a step
_PLAIN = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Import, ast.ImportFrom, ast.Delete)


@dataclass(frozen=True, slots=True)
class Stated:
    """One assertion as read: its condition, or why there is none."""

    source: str
    condition: Condition | None
    reason: str = ""
    detail: str = ""


class Full(Exception):
    """The limit of cases is reached."""


class Statements(Loops):
    """Evaluates statements and keeps in `stated` what they state about the entry point."""

    def __init__(self, text: str, entry_point: str, budget: Budget, limit: int) -> None:
        super().__init__(budget)
        self.lines = text.encode(errors="replace").split(b"\n")
        self.entry = EntryPoint(entry_point, budget)
        self.limit = self.room = limit
        self.helpers: set[Function] = set()
        self.under = []
        self.stated: list[Stated] = []
        self.refused: set[Stated] = set()
        self.statement: ast.stmt = ast.Pass()
        self._sources: dict[ast.stmt, str] = {}

    def source(self, node: ast.stmt) -> str:
        """The text of a statement, without its indentation, as far as it is kept."""
        if node not in self._sources:
            lines = self.lines[node.lineno - 1 : node.end_lineno]
            if len(lines) == 1:  # a long line may hold thousands of statements: of each its own part is copied
                lines = [lines[0][node.col_offset : node.end_col_offset]]
            else:
                lines[-1] = lines[-1][: node.end_col_offset]
                lines[0] = lines[0][node.col_offset :]
            text = b"\n".join(lines).decode(errors="replace")
            self._sources[node] = text if len(text) <= MAX_SOURCE else f"{text[:MAX_SOURCE]} ..."
        return self._sources[node]

    def add(self, condition: Condition | None, reason: str = "", detail: str = "") -> None:
        """Enter what the current statement states; a loop's refusal counts once."""
        stated = Stated(self.source(self.statement), condition, reason, detail)
        if condition is None:
            if stated in self.refused:
                return
            self.refused.add(stated)
        self.room -= 1 + (len(condition.further) if condition else 0)
        if self.room < 0:
            raise Full
        self.stated.append(stated)

    def state(self, value: Value) -> None:
        """Enter an asserted value: a condition on results, under the loops and conditions that surround it."""
        if isinstance(value, Spoiled):
            value.refuse()
        result = value if isinstance(value, Result) else self._known(value)
        if result is None:
            return
        result.listed()
        for wrapper in reversed(self.under):
            result = wrapper(result)
        self.budget.spend(result.size)
        for condition in conditions(result.term):
            if condition.operator == "satisfies":  # of which all data is written out
                self.budget.spend(len(condition.expected) // WRITTEN)
            if not self.entry.changed.isdisjoint((condition.arguments, *condition.further)):
                refuse("spoiled", self.entry.name, name="the result")
            self.add(condition)

    def _known(self, value: Value) -> Result | None:
        """None for what holds; below an `if` on a result, what does not hold says that this must not be reached."""
        if isinstance(value, EntryPoint):
            refuse("nothing", self.entry.name)
        if isinstance(value, (Unknown, Native, Function)) or (isinstance(value, (tuple, list)) and value):
            refuse("object", self.entry.name)
        if value:
            return None
        if not self.under:
            refuse("false", self.entry.name)
        return Result(self.entry, FALSE)

    # ---- statements ----

    def run(self, body: Sequence[ast.stmt], scope: Scope) -> Flow | None:
        """Run statements; a plain one that is not evaluated is left out, and what it may have changed is unknown."""
        for statement in body:
            if self.under and fails(statement):
                self.statement = statement
                self.state(False)
                continue
            try:
                flow = super().run([statement], scope)
            except NotReadable as error:
                if not isinstance(statement, _PLAIN) or not self.minor(error):
                    raise
                self.leave_out(statement, scope, error)
                continue
            if flow is not None:
                return flow
        return None

    def minor(self, error: NotReadable) -> bool:
        """Whether a refusal concerns one statement alone."""
        if error.reason == "budget" and self.budget.left - self.budget.floor < ENOUGH:
            return False
        return error.reason not in GRAVE and kind_of(error) != "undefined"

    def leave_out(self, statement: ast.stmt, scope: Scope, error: NotReadable) -> None:
        """Go on without a statement; refuses one that may replace the function under test."""
        self.budget.spend(LEFT_OUT)
        names = names_of([statement], scope, self.budget)
        if self.entry.name in names[0]:
            refuse("patched", self.entry.name)
        replaced = replaces(statement, self.budget)
        if replaced:
            refuse("patches", self.entry.name, name=replaced)
        spoil(names, scope, error)

    def _on_expression(self, node: ast.Expr, scope: Scope) -> None:
        if isinstance(node.value, ast.Call) and asserts(node.value):
            self._alone(node, scope, lambda: self._asserted(self.value(node.value, scope)))
        elif not isinstance(node.value, ast.Constant):
            self.value(node.value, scope)

    def _asserted(self, value: Value) -> None:
        if isinstance(value, Spoiled) and not isinstance(value, Raised):
            value.refuse()

    def _on_assert(self, node: ast.Assert, scope: Scope) -> None:
        self._alone(node, scope, lambda: self._assert(node, self.value(node.test, scope)))

    def _assert(self, node: ast.Assert, value: Value) -> None:
        self.statement = node  # not the one of a helper that made the value
        self.state(value)

    def _on_assign(self, node: ast.Assign, scope: Scope) -> None:
        self.statement = node
        super()._on_assign(node, scope)

    def _on_for(self, node: ast.For, scope: Scope) -> Flow | None:
        self.statement = node
        return super()._on_for(node, scope)

    def _alone(self, node: ast.stmt, scope: Scope, state: Callable[[], Value]) -> None:
        self.statement = node
        try:
            state()
        except NotReadable as error:
            if not self.minor(error) and kind_of(error) != "undefined":
                raise
            self.statement = node
            self.add(None, *why(error))
            self.leave_out(node, scope, error)

    # ---- expected exceptions ----

    def expect_raises(self, arguments: Arguments, keywords: Keywords) -> Value:
        """`raises` as a context, or with a function and its arguments. What the message says is refused by itself."""
        names = exception_names(arguments[0])
        messages = "match" in keywords
        keywords = {name: value for name, value in keywords.items() if name not in ("match", "msg")}
        if len(arguments) == 1 and not keywords:
            return Raises(names, messages)
        calls = len(self.entry.calls)
        self._add_raises(Raises(names, messages), self.apply(arguments[1], arguments[2:], keywords), calls)
        return Raised(names)

    def _add_raises(self, expected: Raises, value: Value, calls: int) -> None:
        """Enter that the one call since `calls` raises; the call's own value must be all there is."""
        if isinstance(value, Spoiled):
            value.refuse()
        if len(self.entry.calls) != calls + 1:
            refuse("several_raise", self.entry.name)
        if not isinstance(value, Result) or value.term != self.entry.calls[-1].term:
            refuse("around_call", self.entry.name)
        if self.under:
            refuse("decides", self.entry.name)
        self.add(Condition(value.term[1], "raises", dump(expected.names)))
        if expected.messages:
            self.add(None, *why(refusal("message")))

    def _on_with(self, node: ast.With, scope: Scope) -> Flow | None:
        contexts = [self.value(item.context_expr, scope) for item in node.items]
        if all(isinstance(context, Transparent) for context in contexts):
            return self.run(node.body, scope)
        first = contexts[0]
        if len(contexts) != 1 or not isinstance(first, Raises):
            if isinstance(first, Spoiled) and first.error.reason != "unsupported":
                first.refuse()
            refuse("with", self.entry.name)
        self._alone(node, scope, lambda: self._raising(first, node.body, scope))
        if isinstance(node.items[0].optional_vars, ast.Name):
            self.assign(node.items[0].optional_vars.id, Raised(first.names), scope)
        return None

    def _raising(self, expected: Raises, body: Sequence[ast.stmt], scope: Scope) -> None:
        """A body that must raise: plain statements, then one that calls the entry point."""
        calls, stated, node = len(self.entry.calls), len(self.stated), self.statement
        for statement in body[:-1]:
            Loops.run(self, [statement], scope)
        last = body[-1]
        called = len(self.entry.calls) != calls or len(self.stated) != stated
        if called or not isinstance(last, (ast.Expr, ast.Assign, ast.Return)) or last.value is None:
            refuse("several_raise", self.entry.name)
        value = self.value(last.value, scope)
        self.statement = node
        self._add_raises(expected, value, calls)

    def _on_try(self, node: ast.Try, scope: Scope) -> Flow | None:
        """`try: f(x); assert False` with `except E`: the call must raise E. A guarded import is an import."""
        if all(isinstance(statement, (ast.Import, ast.ImportFrom, ast.Pass)) for statement in node.body):
            return self.run([*node.body, *node.orelse, *node.finalbody], scope)
        body = node.body[:-1] if fails(node.body[-1]) else node.body
        failing = len(body) < len(node.body) or (len(node.orelse) == 1 and fails(node.orelse[0]))
        if not (failing and len(node.handlers) == 1 and body and node.handlers[0].type is not None) or node.finalbody:
            refuse("try", self.entry.name)
        handler = node.handlers[0]
        names = exception_names(self.value(node.handlers[0].type, scope))
        if {"Exception", "BaseException", "AssertionError"} & set(names):
            refuse("any_exception", self.entry.name)
        self._alone(node, scope, lambda: self._raising(Raises(names), body, scope))
        if handler.name:
            self.assign(handler.name, Raised(names), scope)
        return None if all(map(does_nothing, handler.body)) else self.run(handler.body, scope)
