"""Statements that go over results or depend on one.

A loop over a result states its assertions of every item, an `if` on a result states them under its condition. A name
whose value would differ from round to round of such a loop is not known in it, nor after it; what a loop gathers
(`total += item`, `xs.append(item)`) is a term again, and so is a list of failures (`if f(x) != y: bad.append(x)`).
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias, TypeGuard

from selfplay.reading.interpret import Flow
from selfplay.reading.names import Scope
from selfplay.reading.normal import Term, comprehension_of, make
from selfplay.reading.opaque import NODE_STEPS, names_of, spoil
from selfplay.reading.refusals import refusal, refuse
from selfplay.reading.symbolic import Symbolic
from selfplay.reading.symbols import Result, connected
from selfplay.reading.unknown import Unknown, Value, denied

Wrapper: TypeAlias = Callable[[Result], Result]


class Doubt(Unknown):
    """An item of a list that is only there where a condition on results holds."""

    what = "whether something was collected"

    def __init__(self, condition: Result) -> None:
        self.condition = condition


_GATHERING = frozenset({list, str, int, float})


def _doubtful(value: Value) -> TypeGuard[list[Doubt]]:
    return type(value) is list and bool(value) and all(isinstance(item, Doubt) for item in value)


def _appended(statement: ast.stmt) -> tuple[str, str, ast.expr] | None:
    """The name, the way and the value of `xs.append(e)`, `xs.extend(e)`, `x += e`, `x *= e`."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=how), args=[item], keywords=[])):
            return (name, how, item) if how in ("append", "extend") else None
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=item):
            return name, "+", item
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Mult(), value=item):
            return name, "*", item
    return None


def _gathered_in(node: ast.For) -> list[str]:
    return [found[0] for found in map(_appended, node.body) if found]


class Loops(Symbolic):
    """An evaluator that follows results through loops and conditions."""

    under: list[Wrapper]  # the loops over results and the conditions that surround a statement, outermost first

    def _on_unary(self, node: ast.UnaryOp, scope: Scope) -> Value:
        if type(node.op) is ast.Not:
            value = self.value(node.operand, scope)
            return self._is_empty(value) if _doubtful(value) else denied(value)
        return super()._on_unary(node, scope)

    def _is_empty(self, items: list[Doubt]) -> Value:
        """Whether nothing was collected under conditions on results: none of them holds."""
        return denied(self.all([item.condition for item in items], "or"))

    def compare(self, name: str, a: Value, b: Value) -> Value:
        """Of a list that was collected under conditions on results, whether it is empty."""
        if name == "==" and (a == [] or b == []):
            for side in (a, b):
                if _doubtful(side):
                    return self._is_empty(side)
        return super().compare(name, a, b)

    def _on_for(self, node: ast.For, scope: Scope) -> Flow | None:
        """A loop over a result states what it asserts of every item."""
        iterable = self.value(node.iter, scope)
        if not isinstance(iterable, Result):
            items = self.budget.each(iterable)
            return self._loop(node, (self.bind(node.target, item, scope) for item in items), scope)
        kept = {name: value for name in _gathered_in(node) if type(value := scope.names.get(name)) in _GATHERING}
        kept = {name: value[:] if type(value) is list else value for name, value in kept.items()}
        self._undecided([node], scope)
        variables = self._variables(node.target, scope)

        def every(condition: Result) -> Result:
            shape = [(variables, 0)]
            return condition.made_of(
                [iterable, condition], lambda *terms: make("all", comprehension_of("list", shape, terms))
            )

        gathered = self._run_gathering(node, every, scope)
        self._undecided([node], scope)
        for name, (how, item) in gathered.items():
            found = self._gather(kept[name], how, item, iterable, variables) if name in kept else None
            if found is not None:
                scope.names[name] = found
        return self.run(node.orelse, scope)

    def _on_if(self, node: ast.If, scope: Scope) -> Flow | None:
        test = self.value(node.test, scope)
        if not isinstance(test, Result):
            return self.run(node.body if self.truth(test) else node.orelse, scope)
        test.listed()
        if self._collects(node, scope, test):
            return None
        self._undecided([*node.body, *node.orelse], scope)
        self._run_under(lambda condition: connected("or", [test.negated(), condition]), node.body, scope)
        self._undecided(node.body, scope)
        self._run_under(lambda condition: connected("or", [test, condition]), node.orelse, scope)
        self._undecided(node.orelse, scope)
        return None

    def _undecided(self, nodes: Sequence[ast.stmt], scope: Scope) -> None:
        """Make unknown what statements may change that run under a condition on results."""
        spoil(names_of(nodes, scope, self.budget), scope, refusal("decides", self.entry.name))

    def _collects(self, node: ast.If, scope: Scope, test: Result) -> bool:
        """`if f(x) != y: failures.append(x)`: what is collected is there where the condition holds."""
        found = _appended(node.body[0]) if len(node.body) == 1 and not node.orelse and not self.under else None
        items = scope.names.get(found[0]) if found else None
        if found is None or found[1] != "append" or type(items) is not list or (items and not _doubtful(items)):
            return False
        items.append(Doubt(test))
        return True

    def _run_under(self, wrapper: Wrapper, body: Sequence[ast.stmt], scope: Scope) -> None:
        with self._surrounded(wrapper):
            if self.run(body, scope) is not None:
                refuse("decides", self.entry.name)

    def _run_gathering(self, node: ast.For, every: Wrapper, scope: Scope) -> dict[str, tuple[str, Result]]:
        """Run the body of a loop over a result; what it gathers, by the name it gathers in: how, and each item."""
        gathered: dict[str, tuple[str, Result]] = {}
        uses = Counter(inner.id for inner in self._nodes(node) if isinstance(inner, ast.Name))
        for statement in node.body:
            found = _appended(statement)
            if found is None or uses[found[0]] != 1:
                self._run_under(every, [statement], scope)
                continue
            item = self.value(found[2], scope)
            if isinstance(item, Result):
                gathered[found[0]] = (found[1], item)
        return gathered

    def _nodes(self, node: ast.AST) -> Iterator[ast.AST]:
        for inner in ast.walk(node):
            self.budget.spend(NODE_STEPS)
            yield inner

    def _gather(self, before: Value, how: str, item: Result, over: Result, variables: tuple[int, ...]) -> Value:
        """What a name stands for after a loop that gathered an item for each one of a result."""
        inner = self.entry.variable()

        def build(of: Term, item: Term, part: Term) -> Term:
            if how == "extend" or (how == "+" and type(before) is list):
                return ("for", "list", ((of, variables, ()), (item, (inner.term[1],), ())), part)
            return ("for", "list", ((of, variables, ()),), item)

        found = over.made_of([over, item, inner], build)
        if how == "append" or (type(before) is list and how in ("+", "extend")):
            return found if before == [] else found.combine("Add", before, True)
        if how == "+" and type(before) is str:
            joined = found.made_of(["", found], lambda glue, of: make(".join", glue, of))
            return joined if before == "" else joined.combine("Add", before, True)
        if how == "+" and type(before) in (int, float):
            return found.then("sum") if before == 0 else found.then("sum").combine("Add", before, True)
        return found.then("prod") if how == "*" and before == 1 else None

    @contextmanager
    def _surrounded(self, wrapper: Wrapper) -> Iterator[None]:
        self.under.append(wrapper)
        try:
            yield
        finally:
            self.under.pop()
