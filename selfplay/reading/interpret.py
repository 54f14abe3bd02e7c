"""Simple statements, run over their syntax tree within a budget, and contracts.

Reading a test can so neither touch this process nor keep it busy. A subclass gives meaning to imports, assertions and
what surrounds them (stating.py, testcode.py).

Left out: classes with behaviour, generators, `global`, `del`, `match`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import repeat, takewhile
from typing import Any

from selfplay.reading.budget import Budget
from selfplay.reading.expressions import ERRORS, Expressions
from selfplay.reading.methods import MODULES, method
from selfplay.reading.names import ModuleNames, Scope
from selfplay.reading.refusals import NotReadable
from selfplay.reading.unknown import Value

CONTRACT_STEPS = 1_000_000  # of one expression: contracts are ours, and look at every item of a stress test's list


class Flow:
    """How a statement ended, where not at its end: `return` with a value, `break`, `continue`."""

    __slots__ = ("kind", "value")

    def __init__(self, kind: str, value: Value = None) -> None:
        self.kind, self.value = kind, value


class Interpreter(Expressions):
    """Evaluates expressions (`value`) and runs statements (`run`) within one budget."""

    def run_body(self, body: list[ast.stmt], scope: Scope) -> Value:
        flow = self.run(body, scope)
        return flow.value if flow else None

    def bind(self, target: ast.expr, value: Value, scope: Scope) -> None:
        """Assign to a name, a tuple of names, or an item of a list or dictionary of the test."""
        if isinstance(target, ast.Name):
            self.assign(target.id, value, scope)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self.budget.spend(len(target.elts))
            self._unpack(target.elts, value, scope)
        elif isinstance(target, ast.Subscript):
            self._store(self.value(target.value, scope), self.value(target.slice, scope), value)
        else:
            raise NotReadable("unsupported", f"an assignment to {type(target).__name__}")

    def assign(self, name: str, value: Value, scope: Scope) -> None:
        """Bind one name in a scope."""
        scope.names[name] = value

    def _unpack(self, targets: Sequence[ast.expr], value: Value, scope: Scope) -> None:
        items = self.budget.items(value)
        star = next((i for i, target in enumerate(targets) if isinstance(target, ast.Starred)), None)
        if star is not None:
            after = len(targets) - star - 1
            if len(items) < len(targets) - 1:
                raise NotReadable("unreadable", "not enough values to unpack")
            items = [*items[:star], items[star : len(items) - after], *items[len(items) - after :]]
        if len(items) != len(targets):
            raise NotReadable("unreadable", f"{len(items)} values for {len(targets)} names")
        for target, item in zip(targets, items, strict=True):
            self.bind(target.value if isinstance(target, ast.Starred) else target, item, scope)

    def _store(self, container: Value, key: Value, value: Value) -> None:
        if not isinstance(container, (list, dict)) or isinstance(key, slice):
            raise NotReadable("unsupported", "an assignment into something that is no list or dictionary")
        if isinstance(container, dict):
            self.budget.made(1, 100)
            self.budget.keys([key])
            self.budget.sized(len(container))
        try:
            container[self.budget.weigh(key)] = value
        except (LookupError, TypeError) as error:
            raise NotReadable("unreadable", str(error)) from None

    def run(self, body: Sequence[ast.stmt], scope: Scope) -> Flow | None:
        """Run statements; None where they ran to the end."""
        for statement in body:
            self.budget.spend()
            handler = _STATEMENTS.get(type(statement))
            if handler is None:
                raise NotReadable("unsupported", f"the statement {type(statement).__name__}")
            flow = handler(self, statement, scope)
            if flow is not None:
                return flow
        return None

    def _on_expression(self, node: ast.Expr, scope: Scope) -> None:
        self.value(node.value, scope)

    def _on_assign(self, node: ast.Assign, scope: Scope) -> None:
        value = self.value(node.value, scope)
        self.budget.spend(len(node.targets))
        for target in node.targets:
            self.bind(target, value, scope)

    def _on_annotated(self, node: ast.AnnAssign, scope: Scope) -> None:
        if node.value is not None:
            self.bind(node.target, self.value(node.value, scope), scope)

    def _on_augmented(self, node: ast.AugAssign, scope: Scope) -> None:
        """Binds a new value, except that a list grows in place, as in Python."""
        target = node.target
        load = ast.Name(target.id, ast.Load()) if isinstance(target, ast.Name) else target
        old, new = self.value(load, scope), self.value(node.value, scope)
        if isinstance(old, list) and isinstance(node.op, ast.Add):
            method(self.budget, self.apply, old, "extend", [new], {})
            return
        try:
            self.bind(target, self.combine(type(node.op).__name__, old, new), scope)
        except ERRORS as error:
            raise error if isinstance(error, NotReadable) else NotReadable("unreadable", str(error)) from None

    def _on_for(self, node: ast.For, scope: Scope) -> Flow | None:
        items = self.budget.each(self.value(node.iter, scope))
        return self._loop(node, (self.bind(node.target, item, scope) for item in items), scope)

    def _on_while(self, node: ast.While, scope: Scope) -> Flow | None:
        tests = (self.truth(self.value(node.test, scope)) for _ in repeat(None))
        return self._loop(node, takewhile(bool, tests), scope)

    def _loop(self, node: ast.For | ast.While, rounds: Iterable[object], scope: Scope) -> Flow | None:
        for _ in rounds:
            self.budget.spend()
            flow = self.run(node.body, scope)
            if flow and flow.kind == "break":
                return None
            if flow and flow.kind == "return":
                return flow
        return self.run(node.orelse, scope)

    def _on_if(self, node: ast.If, scope: Scope) -> Flow | None:
        return self.run(node.body if self.truth(self.value(node.test, scope)) else node.orelse, scope)

    def _on_return(self, node: ast.Return, scope: Scope) -> Flow:
        return Flow("return", None if node.value is None else self.value(node.value, scope))

    def _on_def(self, node: ast.FunctionDef, scope: Scope) -> None:
        if node.decorator_list:
            raise NotReadable("unsupported", f"a decorator on {node.name}")
        self.assign(node.name, self.function(node, scope), scope)

    def _on_import(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        raise NotReadable("unsupported", "an import")

    def _on_assert(self, node: ast.Assert, scope: Scope) -> None:
        raise NotReadable("unsupported", "an assertion")

    def _on_with(self, node: ast.With, scope: Scope) -> Flow | None:
        raise NotReadable("unsupported", "a with statement")

    def _on_try(self, node: ast.Try, scope: Scope) -> Flow | None:
        raise NotReadable("unsupported", "a try statement")

    def _on_class(self, node: ast.ClassDef, scope: Scope) -> None:
        raise NotReadable("unsupported", "a class")


# Subclasses override these methods, so they are looked up by name.
_STATEMENTS: dict[type[ast.stmt], Callable[[Interpreter, Any, Scope], Flow | None]] = {
    ast.Expr: lambda ev, node, scope: ev._on_expression(node, scope),
    ast.Assign: lambda ev, node, scope: ev._on_assign(node, scope),
    ast.AnnAssign: lambda ev, node, scope: ev._on_annotated(node, scope),
    ast.AugAssign: lambda ev, node, scope: ev._on_augmented(node, scope),
    ast.For: lambda ev, node, scope: ev._on_for(node, scope),
    ast.While: lambda ev, node, scope: ev._on_while(node, scope),
    ast.If: lambda ev, node, scope: ev._on_if(node, scope),
    ast.Return: lambda ev, node, scope: ev._on_return(node, scope),
    ast.FunctionDef: lambda ev, node, scope: ev._on_def(node, scope),
    ast.ClassDef: lambda ev, node, scope: ev._on_class(node, scope),
    ast.Import: lambda ev, node, scope: ev._on_import(node, scope),
    ast.ImportFrom: lambda ev, node, scope: ev._on_import(node, scope),
    ast.Assert: lambda ev, node, scope: ev._on_assert(node, scope),
    ast.With: lambda ev, node, scope: ev._on_with(node, scope),
    ast.Try: lambda ev, node, scope: ev._on_try(node, scope),
    ast.Pass: lambda ev, node, scope: None,
    ast.Break: lambda ev, node, scope: Flow("break"),
    ast.Continue: lambda ev, node, scope: Flow("continue"),
}


def holds(requires: Sequence[str], arguments: Mapping[str, Value]) -> bool:
    """Whether a contract's expressions are all true of the arguments, by parameter name.

    An expression that raises on the arguments does not hold. Raises NotReadable for one that is no expression or costs
    more than the budget.
    """
    scope = Scope({"math": ModuleNames("math", MODULES["math"]), **arguments})
    return all(_holds(_expression(text), scope) for text in requires)


def _holds(expression: ast.expr, scope: Scope) -> bool:
    try:
        return bool(Interpreter(Budget(CONTRACT_STEPS)).value(expression, scope))
    except NotReadable as error:
        if error.reason == "unreadable":  # the expression raised
            return False
        raise


@lru_cache(maxsize=4096)
def _expression(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        detail = f"the contract {text!r} is no expression; write a condition on the parameters"
        raise NotReadable("syntax", detail) from None
