"""A budgeted evaluator of Python expressions over their syntax tree. Nothing is executed.

Names, operators and functions are those of known.py and methods.py; values of class Unknown give meaning to what is
done with a result that does not exist yet. Whatever is not known raises NotReadable.

Left out: `%` formatting, `await`, walrus. Iterators are evaluated at once.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

from selfplay.reading.budget import Budget, Lazy, NotReadable, Unknown, bits
from selfplay.reading.costs import width
from selfplay.reading.known import BUILTINS, Native
from selfplay.reading.methods import method
from selfplay.reading.names import BoundMethod, Function, Scope
from selfplay.reading.operators import binary, compare, unary

ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError, MemoryError)
OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is_not",
    ast.In: "in",
    ast.NotIn: "not_in",
}


class Expressions:
    """Evaluates expressions within one budget. How names are bound and helpers run is the subclass's part."""

    handlers: ClassVar[dict[type[ast.AST], Callable[[Any, Any, Scope], Any]]]  # a subclass may have its own

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()

    def value(self, node: ast.AST, scope: Scope) -> Any:
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

    def truth(self, value: Any) -> bool:
        return value.truth() if isinstance(value, Unknown) else bool(value)

    def constant(self, node: ast.Constant, scope: Scope) -> Any:
        if isinstance(node.value, int):
            return bits(node.value)
        return node.value

    def name(self, node: ast.Name, scope: Scope) -> Any:
        return scope.find(node.id)

    def sequence(self, node: ast.List | ast.Tuple, scope: Scope) -> Any:
        items = self._items(node.elts, scope)
        return items if type(node) is ast.List else tuple(items)

    def set(self, node: ast.Set, scope: Scope) -> Any:
        return self._set(self._items(node.elts, scope))

    def _set(self, items: list[Any]) -> set[Any]:
        self.budget.made(len(items), 64)
        self.budget.spend(2)
        return set(self.budget.keys(self.budget.weigh(items)))

    def _items(self, nodes: Sequence[ast.expr], scope: Scope) -> list[Any]:
        if len(nodes) > 32 and all(type(node) is ast.Constant for node in nodes):
            self.budget.spend(len(nodes) // 8)
            return [self.constant(node, scope) for node in nodes if type(node) is ast.Constant]
        items: list[Any] = []
        for node in nodes:
            if type(node) is ast.Starred:
                items.extend(self.budget.items(self.value(node.value, scope)))
            else:
                items.append(self.value(node, scope))
        return items

    def dictionary(self, node: ast.Dict, scope: Scope) -> Any:
        pairs: list[tuple[Any, Any]] = []
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

    def _dictionary(self, pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
        keys = [key for key, _ in pairs]
        self.budget.made(len(pairs), 100)
        self.budget.keys(self.budget.weigh(keys))
        return dict(pairs)

    def binary(self, node: ast.BinOp, scope: Scope) -> Any:
        return self.combine(type(node.op).__name__, self.value(node.left, scope), self.value(node.right, scope))

    def combine(self, name: str, a: Any, b: Any) -> Any:
        if isinstance(a, Unknown):
            return a.combine(name, b, False)
        if isinstance(b, Unknown):
            return b.combine(name, a, True)
        return binary(self.budget, name, a, b)

    def unary(self, node: ast.UnaryOp, scope: Scope) -> Any:
        value = self.value(node.operand, scope)
        if type(node.op) is ast.Not:
            return value.negated() if isinstance(value, Unknown) else not value
        if isinstance(value, Unknown):
            return value.combine(type(node.op).__name__, None, False)
        return unary(self.budget, type(node.op), value)

    def boolean(self, node: ast.BoolOp, scope: Scope) -> Any:
        """`and` / `or` with Python's shortcuts; at most one part may be unknown, and it must decide."""
        stop = type(node.op) is ast.Or
        value: Any = None
        unknown: list[Any] = []
        for part in node.values:
            value = self.value(part, scope)
            if isinstance(value, Unknown):
                unknown.append(value)
            elif bool(value) == stop:
                break
        if not unknown:
            return value
        if len(unknown) > 1 or (not isinstance(value, Unknown) and bool(value) == stop):
            raise NotReadable("compound", "several conditions in one assertion")
        return unknown[0]

    def comparison(self, node: ast.Compare, scope: Scope) -> Any:
        left = self.value(node.left, scope)
        results: list[Any] = []
        for op, other in zip(node.ops, node.comparators, strict=True):
            right = self.value(other, scope)
            results.append(self.compare(OPERATORS[type(op)], left, right))
            if results[-1] is False:
                return False
            left = right
        unknown = [result for result in results if isinstance(result, Unknown)]
        if len(unknown) > 1:
            raise NotReadable("compound", "a chained comparison")
        return unknown[0] if unknown else results[-1]

    def compare(self, name: str, a: Any, b: Any) -> Any:
        if isinstance(a, Unknown):
            return a.compare(name, b, False)
        if isinstance(b, Unknown):
            return b.compare(name, a, True)
        return compare(self.budget, name, a, b)

    def choice(self, node: ast.IfExp, scope: Scope) -> Any:
        return self.value(node.body if self.truth(self.value(node.test, scope)) else node.orelse, scope)

    def item(self, node: ast.Subscript, scope: Scope) -> Any:
        return self.at(self.value(node.value, scope), self.value(node.slice, scope))

    def at(self, value: Any, key: Any) -> Any:
        """An item or slice of a value."""
        if isinstance(value, Unknown):
            return value.item(key)
        if type(key) is slice and type(value) is not range:
            if not hasattr(value, "__len__") or isinstance(value, Lazy):
                raise NotReadable("unreadable", f"a {type(value).__name__} has no slices")
            each = 8 if isinstance(value, (list, tuple)) else width(value)
            self.budget.made(len(range(*key.indices(len(value)))), each)
        return value[self.budget.weigh(key, 3)]

    def slice(self, node: ast.Slice, scope: Scope) -> Any:
        """The bounds of a slice: integers, so that nothing hides in them."""
        bounds = (node.lower, node.upper, node.step)
        return self.apply(BUILTINS["slice"], [None if part is None else self.value(part, scope) for part in bounds])

    def attribute(self, node: ast.Attribute, scope: Scope) -> Any:
        value = self.value(node.value, scope)
        if isinstance(value, Unknown):
            return value.attribute(node.attr)
        self.budget.spend(2)
        return BoundMethod(value, node.attr)

    def lambda_(self, node: ast.Lambda, scope: Scope) -> Function:
        return self.function(node, scope)

    def function(self, node: ast.FunctionDef | ast.Lambda, scope: Scope) -> Function:
        spec = node.args
        positional = [*spec.posonlyargs, *spec.args]
        self.budget.spend(len(positional) + len(spec.kwonlyargs) + 3)
        defaults = {
            argument.arg: self.value(default, scope)
            for argument, default in zip(positional[len(positional) - len(spec.defaults) :], spec.defaults, strict=True)
        }
        for argument, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
            if default is not None:
                defaults[argument.arg] = self.value(default, scope)
        return Function(node, scope, defaults)

    def joined(self, node: ast.JoinedStr, scope: Scope) -> str:
        parts = [self.value(part, scope) for part in node.values]
        self.budget.made(sum(map(len, parts)), width(*parts))
        return "".join(parts)

    def formatted(self, node: ast.FormattedValue, scope: Scope) -> str:
        value = self.budget.weigh(self.value(node.value, scope), 4)
        spec = "" if node.format_spec is None else self.value(node.format_spec, scope)
        if re.search(r"\d{4}", spec) or (spec and not isinstance(value, (int, float, str))):
            raise NotReadable("unsupported", f"the format {spec[:20]!r}")
        self.budget.spend(32 if spec else 1)  # at most 999 places, and as many digits
        shown = {115: str, 114: repr, 97: ascii}.get(node.conversion, lambda value: value)(value)
        return format(shown, spec)

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, scope: Scope) -> Any:
        found: list[Any] = []
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
        for item in self.budget.each(self.value(first.iter, scope)):
            self.budget.spend()
            self.bind(first.target, item, scope)
            if all(self.truth(self.value(condition, scope)) for condition in first.ifs):
                yield from self._bindings(generators[1:], scope)

    def call(self, node: ast.Call, scope: Scope) -> Any:
        function = self.value(node.func, scope)
        arguments = self._items(node.args, scope)
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value, scope)
            if keyword.arg is None:
                self.budget.copied(value)
            keywords.update({keyword.arg: value} if keyword.arg is not None else value)
        return self.apply(function, arguments, keywords)

    def apply(self, function: Any, arguments: list[Any], keywords: dict[str, Any] | None = None) -> Any:
        """Call a function of the test, a known one, or something unknown that says itself what calling it means."""
        self.budget.spend()
        keywords = keywords or {}
        if isinstance(function, Function):
            return self._apply_own(function, arguments, keywords)
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

    def _apply_own(self, function: Function, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        scope = Scope(self._bound(function, [*function.bound, *arguments], dict(keywords)), function.scope)
        if not isinstance(function.body, list):
            return self.value(function.body, scope)
        return self.run_body(function.body, scope)

    def _bound(self, function: Function, arguments: list[Any], keywords: dict[str, Any]) -> dict[str, Any]:
        spec = function.arguments
        self.budget.spend((len(spec.args) + len(spec.kwonlyargs) + len(arguments) + len(keywords)) // 4 + 2)
        names = [argument.arg for argument in (*spec.posonlyargs, *spec.args)]
        bound = dict(zip(names, arguments, strict=False))
        if spec.vararg:
            bound[spec.vararg.arg] = tuple(arguments[len(names) :])
        elif len(arguments) > len(names):
            raise NotReadable("unreadable", "too many arguments for a helper")
        for name in (*names, *(argument.arg for argument in spec.kwonlyargs)):
            if name in keywords:
                bound[name] = keywords.pop(name)
            elif name not in bound:
                if name not in function.defaults:
                    raise NotReadable("unreadable", f"no argument for {name!r}")
                bound[name] = function.defaults[name]
        if spec.kwarg:
            bound[spec.kwarg.arg] = keywords
        elif keywords:
            raise NotReadable("unreadable", f"unexpected keywords {sorted(keywords)}")
        return bound

    def bind(self, target: ast.expr, value: Any, scope: Scope) -> None:
        """Assign to a name; a subclass knows more targets."""
        if not isinstance(target, ast.Name):
            raise NotReadable("unsupported", f"an assignment to {type(target).__name__}")
        scope.names[target.id] = value

    def run_body(self, body: list[ast.stmt], scope: Scope) -> Any:
        """What a helper's statements return."""
        raise NotReadable("unsupported", "statements")


Expressions.handlers = {
    ast.Constant: Expressions.constant,
    ast.Name: Expressions.name,
    ast.List: Expressions.sequence,
    ast.Tuple: Expressions.sequence,
    ast.Set: Expressions.set,
    ast.Dict: Expressions.dictionary,
    ast.BinOp: Expressions.binary,
    ast.UnaryOp: Expressions.unary,
    ast.BoolOp: Expressions.boolean,
    ast.Compare: Expressions.comparison,
    ast.IfExp: Expressions.choice,
    ast.Subscript: Expressions.item,
    ast.Slice: Expressions.slice,
    ast.Attribute: Expressions.attribute,
    ast.Lambda: Expressions.lambda_,
    ast.JoinedStr: Expressions.joined,
    ast.FormattedValue: Expressions.formatted,
    ast.ListComp: Expressions.comprehension,
    ast.SetComp: Expressions.comprehension,
    ast.DictComp: Expressions.comprehension,
    ast.GeneratorExp: Expressions.comprehension,
    ast.Call: lambda ev, node, scope: ev.call(node, scope),  # a subclass overrides it
}
