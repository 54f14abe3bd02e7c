"""Evaluates expressions about results: conditions joined by `and`, comprehensions, unpacking, `map`, `sorted` by a key.

Where an expression meets a result it becomes a term about it (symbols.py). Statements are loops.py's.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from selfplay.reading.expressions import Expressions
from selfplay.reading.interpret import Interpreter
from selfplay.reading.names import BoundMethod, Function, Scope
from selfplay.reading.native import Native
from selfplay.reading.normal import Term, comprehension_of, make
from selfplay.reading.opaque import Spoiled
from selfplay.reading.operators import COMPARISONS
from selfplay.reading.refusals import refuse
from selfplay.reading.symbols import METHODS, EntryPoint, Result, connected, display
from selfplay.reading.unknown import Arguments, Data, Keywords, Unknown, Value, denied


class _OverResult(Exception):
    """A comprehension turns out to go over a result."""

    def __init__(self, iterable: Result | Spoiled, generator: ast.comprehension) -> None:
        self.iterable, self.generator = iterable, generator


class Symbolic(Interpreter):
    """An evaluator that follows results through expressions."""

    entry: EntryPoint
    helpers: set[Function]

    # ---- conditions ----

    def _on_boolean(self, node: ast.BoolOp, scope: Scope) -> Value:
        """`and` / `or` with Python's shortcuts, as far as what is known decides."""
        stop = type(node.op) is ast.Or
        parts: list[Value] = []
        value: Value = None
        for part in node.values:
            value = self.value(part, scope)
            if isinstance(value, Spoiled):
                return value
            if isinstance(value, (Result, Unknown)):
                parts.append(value)
            elif bool(value) == stop:
                if not parts:
                    return value
                parts.append(value)
                break
        return self._connected("or" if stop else "and", parts, value)

    def _connected(self, connective: str, parts: list[Value], last: Value) -> Value:
        """Known parts that decide nothing are gone, except for the last one, which may be the value."""
        if parts and parts[-1] is not last:
            parts.append(last)
        if not any(isinstance(part, Result) for part in parts):
            return next((part for part in parts if self.truth(part) == (connective == "or")), last)
        return parts[0] if len(parts) == 1 else connected(connective, parts)

    def _on_comparison(self, node: ast.Compare, scope: Scope) -> Value:
        left = self.value(node.left, scope)
        parts: list[Value] = []
        for op, other in zip(node.ops, node.comparators, strict=True):
            right = self.value(other, scope)
            found = self.compare(COMPARISONS[type(op)], left, right)
            left = right
            if isinstance(found, Spoiled):
                return found
            if isinstance(found, Unknown):
                parts.append(found)
            elif not found:
                return False if not parts else connected("and", [*parts, False])
        return True if not parts else parts[0] if len(parts) == 1 else connected("and", parts)

    def compare(self, name: str, a: Data, b: Data) -> Value:
        """A comparison; lists that hold results are compared item by item."""
        if (
            name in ("==", "!=")
            and type(a) is type(b)
            and type(a) in (list, tuple)
            and (self._holds_results(a) or self._holds_results(b))
        ):
            return self._compare_items(name, a, b)
        if name in ("in", "not_in") and isinstance(b, (list, tuple)) and self._holds_results(b):
            return self._among(name, a, b)
        return super().compare(name, a, b)

    def _compare_items(self, name: str, a: Sequence[Value], b: Sequence[Value]) -> Value:
        """Lists that hold results are equal where their items are."""
        if len(a) != len(b):
            return name == "!="
        found = self.all([self.compare("==", x, y) for x, y in zip(a, b, strict=True)], "and")
        return found if name == "==" else denied(found)

    def _among(self, name: str, a: Value, items: Sequence[Value]) -> Value:
        found = self.all([self.compare("==", a, item) for item in items], "or")
        return found if name == "in" else denied(found)

    def all(self, items: Sequence[Value], connective: str) -> Result | Spoiled | bool:
        """`all` (and) or `any` (or) of items, some of which are results; True or False where they do not matter."""
        parts: list[Unknown] = []
        for item in items:
            if isinstance(item, Spoiled):
                return item
            if isinstance(item, Unknown):
                parts.append(item)
            elif bool(item) == (connective == "or"):
                return connective == "or"
        if not parts:
            return connective == "and"
        first = parts[0]
        if not isinstance(first, Result):
            first.refuse()
        return (first if len(parts) == 1 else connected(connective, parts)).then("bool")

    def _on_choice(self, node: ast.IfExp, scope: Scope) -> Value:
        test = self.value(node.test, scope)
        if not isinstance(test, Result):
            return self.value(node.body if self.truth(test) else node.orelse, scope)
        parts = [test, self.value(node.body, scope), self.value(node.orelse, scope)]
        return test.over(parts, lambda condition, a, b: ("if", condition, a, b))

    # ---- parts of results ----

    def at(self, value: Data, key: Value) -> Value:
        """An item or slice of a value; an item of known data at a place that a result says."""
        if isinstance(key, Spoiled):
            return key
        if isinstance(key, Result) and not isinstance(value, Unknown):
            return key.over([value, key], lambda of, at: make("[]", of, at))
        return super().at(value, key)

    def combine(self, name: str, a: Data, b: Data) -> Value:
        """Two values under an arithmetic operator; lists that hold results may be joined."""
        if name == "Add" and type(a) is type(b) and (self._holds_results(a) or self._holds_results(b)):
            self.budget.made(len(a) + len(b), 8)
            return a + b
        return super().combine(name, a, b)

    def _on_comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, scope: Scope
    ) -> Value:
        """Over something known: its items. Over a result: a term with a variable for each name that it binds."""
        try:
            return super()._on_comprehension(node, scope)
        except _OverResult as over:
            first = over.iterable
            if isinstance(first, Spoiled):
                return first
            if over.generator is not node.generators[0]:
                refuse("mixed", self.entry.name, what="a comprehension over something else")
        if isinstance(node, ast.DictComp):
            refuse("on_value", self.entry.name, name="a dictionary made of the items")
        inner, shape, parts = Scope(outer=scope), [], []
        for position, generator in enumerate(node.generators):
            iterable = first if position == 0 else self.value(generator.iter, inner)
            variables = self._variables(generator.target, inner)
            wanted = [self.value(condition, inner) for condition in generator.ifs]
            shape.append((variables, len(wanted)))
            parts += [iterable, *wanted]
        kind = "set" if isinstance(node, ast.SetComp) else "list"
        parts.append(self.value(node.elt, inner))
        return first.over(
            parts, lambda *terms: comprehension_of(kind, shape, terms), isinstance(node, ast.GeneratorExp)
        )

    def _each(self, generator: ast.comprehension, scope: Scope) -> Iterable[Value]:
        iterable = self.value(generator.iter, scope)
        if isinstance(iterable, (Result, Spoiled)):
            raise _OverResult(iterable, generator)
        return self.budget.each(iterable)

    def _variables(self, target: ast.expr, scope: Scope) -> tuple[int, ...]:
        names = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        numbers: list[int] = []
        for name in names:
            if not isinstance(name, ast.Name):
                refuse("nested_unpacking", self.entry.name)
            variable = self.entry.variable()
            scope.names[name.id] = variable
            numbers.append(variable.term[1])
        if isinstance(target, (ast.Tuple, ast.List)) and len(numbers) == 1:
            refuse("nested_unpacking", self.entry.name)
        return tuple(numbers)

    def apply(self, function: Value, arguments: Arguments, keywords: Keywords | None = None) -> Value:
        """A call; of results it is a term. The problem's own helpers are not called with them."""
        keywords = keywords or {}
        given = [*arguments, *keywords.values()]
        if isinstance(function, Function) and function in self.helpers and any(isinstance(v, Unknown) for v in given):
            refuse("helper", self.entry.name, name="function")
        result = next((value for value in given if isinstance(value, Result)), None)
        if isinstance(function, BoundMethod) and result is not None and function.name in METHODS and not keywords:
            return result.over([function.value, *arguments], lambda *terms: make(f".{function.name}", *terms))
        if isinstance(function, Native) and arguments and function.name in _OF_ITEMS:
            return self._of_items(function, arguments, keywords)
        return super().apply(function, arguments, keywords)

    def _of_items(self, function: Native, arguments: Arguments, keywords: Keywords) -> Value:
        """A builtin that looks at the items of a result, or of a list that holds some."""
        name, first = function.name, arguments[-1]
        if name in ("map", "filter"):
            if len(arguments) == 2 and isinstance(first, Result):
                return self._mapped(name, *arguments)
        elif name in ("all", "any"):
            if self._holds_results(first):
                return self.all(self.budget.items(first), "and" if name == "all" else "or")
        elif self._holds_results(arguments[0]):
            return self._of_items(function, [display(self.entry, arguments[0]), *arguments[1:]], keywords)
        elif isinstance(arguments[0], Result) and keywords.get("key") is not None:
            return self._keyed(name, arguments[0], keywords)
        return super().apply(function, arguments, keywords)

    def _keyed(self, name: str, result: Result, keywords: Keywords) -> Value:
        """sorted(), min() or max() with a key: of triples of key, position and item, of which the item is kept."""
        backwards = keywords.get("reverse", False) if name == "sorted" else name == "max"
        if set(keywords) - {"key", "reverse"} or not isinstance(backwards, bool):
            refuse("on_value", self.entry.name, name=f"{name}() with these arguments")
        item, position, rest = self.entry.variable(), self.entry.variable(), [self.entry.variable() for _ in range(3)]
        key = self.apply(keywords["key"], [item])
        place = position.then("neg") if backwards else position  # equal keys stay in their order
        numbers = tuple(variable.term[1] for variable in rest)

        def build(of: Term, key: Term, place: Term, item: Term, last: Term) -> Term:
            pairs = make("enumerate", of)
            triples = ("for", "list", ((pairs, (position.term[1], item[1]), ()),), ("call", "(,)", key, place, item))
            found = make("sorted", triples)
            return ("for", "list", ((make("reversed", found) if backwards else found, numbers, ()),), last)

        found = result.over([result, key, place, item, rest[2]], build)
        return found if name == "sorted" or isinstance(found, Spoiled) else found.then("[]", 0)

    def _mapped(self, name: str, function: Value, result: Result) -> Value:
        variable = self.entry.variable()
        made = variable if function is None else self.apply(function, [variable])
        if not isinstance(made, Result):
            refuse("on_value", self.entry.name, name=f"{name}() of a function that looks at nothing")
        shape = [((variable.term[1],), int(name == "filter"))]
        parts = [result, made] if name == "map" else [result, made, variable]
        return result.over(parts, lambda *terms: comprehension_of("list", shape, terms), True)

    def _unpack(self, targets: Sequence[ast.expr], value: Value, scope: Scope) -> None:
        """`a, b = f(n)` also states how many items there are."""
        if isinstance(value, Spoiled):
            for target in targets:
                self.bind(target.value if isinstance(target, ast.Starred) else target, value, scope)
            return
        if not isinstance(value, Result):
            super()._unpack(targets, value, scope)
            return
        star = next((i for i, target in enumerate(targets) if isinstance(target, ast.Starred)), None)
        length = value.then("len") if not value.lazy else value.then("list").then("len")
        self.state(length.compare("==" if star is None else ">=", len(targets) - (star is not None), False))
        value = value.then("list") if value.lazy else value
        for position, target in enumerate(targets):
            if isinstance(target, ast.Starred):
                after = len(targets) - position - 1
                part = value.item(slice(position, -after if after else None))
                self.bind(target.value, part.passed_to("list", [part], {}), scope)
            else:
                self.bind(
                    target, value.item(position if star is None or position < star else position - len(targets)), scope
                )

    def _holds_results(self, items: Value) -> bool:
        """Whether a list or tuple holds something that is not known yet."""
        if not isinstance(items, (list, tuple)):
            return False
        self.budget.spend(len(items) // 16)
        return any(isinstance(item, Unknown) for item in items)

    def state(self, value: Value) -> None:
        """Enter an asserted value."""
        raise NotImplementedError


_OF_ITEMS = frozenset({"all", "any", "map", "filter", "sum", "prod", "sorted", "min", "max", "set", "str", "repr"})

Symbolic.handlers = {
    **Expressions.handlers,
    ast.BoolOp: Symbolic._on_boolean,
    ast.Compare: Symbolic._on_comparison,
    ast.IfExp: Symbolic._on_choice,
    ast.UnaryOp: lambda interpreter, node, scope: interpreter._on_unary(node, scope),  # a subclass overrides it
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), Symbolic._on_comprehension),
}
