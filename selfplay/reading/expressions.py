"""A budgeted evaluator of Python expressions over their syntax tree. Nothing is executed.

Names, operators and functions are those of known.py and methods.py; values of class Unknown give meaning to what is
done with a result that does not exist yet. Whatever is not known raises NotReadable.

Left out: `%` formatting, `await`, walrus. Iterators are evaluated at once.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, TypeAlias

from selfplay.reading.budget import Budget, bits
from selfplay.reading.costs import width
from selfplay.reading.known import BUILTINS
from selfplay.reading.methods import method
from selfplay.reading.names import BoundMethod, Function, Scope, defaults_of
from selfplay.reading.native import Native
from selfplay.reading.operators import COMPARISONS, binary, compare, unary
from selfplay.reading.refusals import NotReadable
from selfplay.reading.unknown import Arguments, Data, Keywords, Lazy, Unknown, Value, denied

ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError, MemoryError)
# Called with the interpreter, a node of the handler's kind, and the scope.
Handler: TypeAlias = Callable[[Any, Any, Scope], Value]


class Expressions:
    """Evaluates expressions within one budget. How names are bound and helpers run is the subclass's part.

    All methods may raise NotReadable, and spend the budget.
    """

    handlers: ClassVar[dict[type[ast.AST], Handler]]  # a subclass may have its own

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()

    def value(self, node: ast.AST, scope: Scope) -> Value:
        """The value of an expression; raises NotReadable, also for what Python would raise."""
        self.budget.spend()
        handler = self.handlers.get(type(node))
        if handler is None:
            raise NotReadable("unsupported", f"the expression {type(node).__name__}")
        try:
            return handler(self, node, scope)
        except NotReadable:
            raise
        except ERRORS as error:
            raise NotReadable("unreadable", f"{type(error).__name__}: {error}"[:200]) from None

    def truth(self, value: Value) -> bool:
        """Which way an `if` on a value goes."""
        return value.truth() if isinstance(value, Unknown) else bool(value)

    def _on_constant(self, node: ast.Constant, scope: Scope) -> Value:
        if isinstance(node.value, int):
            return bits(node.value)
        return node.value

    def _on_name(self, node: ast.Name, scope: Scope) -> Value:
        return scope.find(node.id)

    def _on_sequence(self, node: ast.List | ast.Tuple, scope: Scope) -> Value:
        items = self._items(node.elts, scope)
        return items if type(node) is ast.List else tuple(items)

    def _on_set(self, node: ast.Set, scope: Scope) -> Value:
        return self._set(self._items(node.elts, scope))

    def _set(self, items: list[Value]) -> set[Value]:
        self.budget.made(len(items), 64)
        self.budget.spend(2)
        return set(self.budget.keys(self.budget.weigh(items)))

    def _items(self, nodes: Sequence[ast.expr], scope: Scope) -> list[Value]:
        if len(nodes) > 32 and all(type(node) is ast.Constant for node in nodes):
            self.budget.spend(len(nodes) // 8)
            return [self._on_constant(node, scope) for node in nodes if type(node) is ast.Constant]
        items: list[Value] = []
        for node in nodes:
            if type(node) is ast.Starred:
                items.extend(self.budget.items(self.value(node.value, scope)))
            else:
                items.append(self.value(node, scope))
        return items

    def _on_dictionary(self, node: ast.Dict, scope: Scope) -> Value:
        pairs: list[tuple[Value, Value]] = []
        for key, item in zip(node.keys, node.values, strict=True):
            if key is None:
                found = self.value(item, scope)
                if not isinstance(found, dict):
                    raise NotReadable("unsupported", "** of something that is no dictionary")
                self.budget.copied(found)
                pairs.extend(found.items())
            else:
                pairs.append((self.value(key, scope), self.value(item, scope)))
        return self._dictionary(pairs)

    def _dictionary(self, pairs: list[tuple[Value, Value]]) -> dict[Value, Value]:
        keys = [key for key, _ in pairs]
        self.budget.made(len(pairs), 100)
        self.budget.keys(self.budget.weigh(keys))
        return dict(pairs)

    def _on_binary(self, node: ast.BinOp, scope: Scope) -> Value:
        return self.combine(type(node.op).__name__, self.value(node.left, scope), self.value(node.right, scope))

    def combine(self, name: str, a: Value, b: Value) -> Value:
        """Two values under an arithmetic operator, by its name in ast."""
        if isinstance(a, Unknown):
            return a.combine(name, b, False)
        if isinstance(b, Unknown):
            return b.combine(name, a, True)
        return binary(self.budget, name, a, b)

    def _on_unary(self, node: ast.UnaryOp, scope: Scope) -> Value:
        value = self.value(node.operand, scope)
        if type(node.op) is ast.Not:
            return denied(value)
        if isinstance(value, Unknown):
            return value.combine(type(node.op).__name__, None, False)
        return unary(self.budget, type(node.op), value)

    def _on_boolean(self, node: ast.BoolOp, scope: Scope) -> Value:
        """`and` / `or` with Python's shortcuts."""
        stop = type(node.op) is ast.Or
        value: Value = None
        for part in node.values:
            value = self.value(part, scope)
            if self.truth(value) == stop:
                break
        return value

    def _on_comparison(self, node: ast.Compare, scope: Scope) -> Value:
        """A chain goes on as long as its comparisons hold."""
        left, found = self.value(node.left, scope), True
        for op, other in zip(node.ops, node.comparators, strict=True):
            right = self.value(other, scope)
            found = self.truth(self.compare(COMPARISONS[type(op)], left, right))
            if not found:
                break
            left = right
        return found

    def compare(self, name: str, a: Value, b: Value) -> Value:
        """Two values under a comparison, by its name in COMPARISONS."""
        if isinstance(a, Unknown):
            return a.compare(name, b, False)
        if isinstance(b, Unknown):
            return b.compare(name, a, True)
        return compare(self.budget, name, a, b)

    def _on_choice(self, node: ast.IfExp, scope: Scope) -> Value:
        return self.value(node.body if self.truth(self.value(node.test, scope)) else node.orelse, scope)

    def _on_item(self, node: ast.Subscript, scope: Scope) -> Value:
        return self.at(self.value(node.value, scope), self.value(node.slice, scope))

    def at(self, value: Data, key: Value) -> Value:
        """An item or slice of a value."""
        if isinstance(value, Unknown):
            return value.item(key)
        if type(key) is slice and type(value) is not range:
            if not hasattr(value, "__len__") or isinstance(value, Lazy):
                raise NotReadable("unreadable", f"a {type(value).__name__} has no slices")
            each = 8 if isinstance(value, (list, tuple)) else width(value)
            self.budget.made(len(range(*key.indices(len(value)))), each)
        return value[self.budget.weigh(key, 3)]

    def _on_slice(self, node: ast.Slice, scope: Scope) -> Value:
        """The bounds of a slice: integers, so that nothing hides in them."""
        bounds = (node.lower, node.upper, node.step)
        return self.apply(BUILTINS["slice"], [None if part is None else self.value(part, scope) for part in bounds])

    def _on_attribute(self, node: ast.Attribute, scope: Scope) -> Value:
        value = self.value(node.value, scope)
        if isinstance(value, Unknown):
            return value.attribute(node.attr)
        self.budget.spend(2)
        return BoundMethod(value, node.attr)

    def function(self, node: ast.FunctionDef | ast.Lambda, scope: Scope) -> Function:
        """A helper or a lambda, its defaults evaluated where it is defined."""
        spec = node.args
        self.budget.spend(len(spec.posonlyargs) + len(spec.args) + len(spec.kwonlyargs) + 3)
        return Function(node, scope, {name: self.value(default, scope) for name, default in defaults_of(spec)})

    def _on_joined(self, node: ast.JoinedStr, scope: Scope) -> str:
        parts: list[Data] = [self.value(part, scope) for part in node.values]
        self.budget.made(sum(map(len, parts)), width(*parts))
        return "".join(parts)

    def _on_formatted(self, node: ast.FormattedValue, scope: Scope) -> str:
        value = self.budget.weigh(self.value(node.value, scope), 4)
        spec = "" if node.format_spec is None else str(self.value(node.format_spec, scope))
        if re.search(r"\d{4}", spec) or (spec and not isinstance(value, (int, float, str))):
            raise NotReadable("unsupported", f"the format {spec[:20]!r}")
        self.budget.spend(32 if spec else 1)  # at most 999 places, and as many digits
        shown = {115: str, 114: repr, 97: ascii}.get(node.conversion, lambda value: value)(value)
        return format(shown, spec)

    def _on_comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, scope: Scope
    ) -> Value:
        found: list[Data] = []
        inner = Scope(outer=scope)
        for _ in self._bindings(node.generators, inner):
            if isinstance(node, ast.DictComp):
                found.append((self.value(node.key, inner), self.value(node.value, inner)))
            else:
                found.append(self.value(node.elt, inner))
            self.budget.spend(len(node.generators) - 1)  # each item passes through all of them
        self.budget.sized(len(found))
        if type(node) is ast.DictComp:
            return self._dictionary(found)
        if type(node) is ast.SetComp:
            return self._set(found)
        return found if type(node) is ast.ListComp else Lazy(found)

    def _bindings(self, generators: Sequence[ast.comprehension], scope: Scope) -> Iterator[None]:
        """Bind the targets of a comprehension to every combination that passes its conditions."""
        if not generators:
            yield
            return
        first = generators[0]
        for item in self._each(first, scope):
            self.budget.spend()
            self.bind(first.target, item, scope)
            if all(self.truth(self.value(condition, scope)) for condition in first.ifs):
                yield from self._bindings(generators[1:], scope)

    def _each(self, generator: ast.comprehension, scope: Scope) -> Iterable[Value]:
        return self.budget.each(self.value(generator.iter, scope))

    def _on_call(self, node: ast.Call, scope: Scope) -> Value:
        function = self.value(node.func, scope)
        arguments = self._items(node.args, scope)
        keywords: dict[str, Data] = {}
        for keyword in node.keywords:
            value: Data = self.value(keyword.value, scope)
            if keyword.arg is None:
                self.budget.copied(value)
            keywords.update({keyword.arg: value} if keyword.arg is not None else value)
        return self.apply(function, arguments, keywords)

    def apply(self, function: Value, arguments: Arguments, keywords: Keywords | None = None) -> Value:
        """Call a function of the test, a known one, or something unknown that says itself what calling it means."""
        self.budget.spend()
        keywords = keywords or {}
        if isinstance(function, Function):
            inner = function.called_with(self.budget, arguments, keywords)
            body = function.body
            return self.run_body(body, inner) if isinstance(body, list) else self.value(body, inner)
        if isinstance(function, BoundMethod):
            return method(self.budget, self.apply, function.value, function.name, arguments, keywords)
        if isinstance(function, Unknown):
            return function.call(arguments, keywords)
        if not isinstance(function, Native):
            raise NotReadable("unsupported", f"a call of a {type(function).__name__}")
        for argument in (*arguments, *keywords.values()):
            if isinstance(argument, Unknown):
                return argument.passed_to(function.name, arguments, keywords)
        return function.function(self.budget, self.apply, arguments, keywords)

    def bind(self, target: ast.expr, value: Value, scope: Scope) -> None:
        """Assign a value to a name, or to whatever else the subclass knows."""
        raise NotImplementedError

    def run_body(self, body: list[ast.stmt], scope: Scope) -> Value:
        """What a helper's statements return."""
        raise NotImplementedError


Expressions.handlers = {
    ast.Constant: Expressions._on_constant,
    ast.Name: Expressions._on_name,
    **dict.fromkeys((ast.List, ast.Tuple), Expressions._on_sequence),
    ast.Set: Expressions._on_set,
    ast.Dict: Expressions._on_dictionary,
    ast.BinOp: Expressions._on_binary,
    ast.UnaryOp: Expressions._on_unary,
    ast.BoolOp: Expressions._on_boolean,
    ast.Compare: Expressions._on_comparison,
    ast.IfExp: Expressions._on_choice,
    ast.Subscript: Expressions._on_item,
    ast.Slice: Expressions._on_slice,
    ast.Attribute: Expressions._on_attribute,
    ast.Lambda: Expressions.function,
    ast.JoinedStr: Expressions._on_joined,
    ast.FormattedValue: Expressions._on_formatted,
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), Expressions._on_comprehension),
    ast.Call: lambda interpreter, node, scope: interpreter._on_call(node, scope),  # a subclass overrides it
}
