"""A budgeted evaluator of Python expressions and simple statements, for tests and contracts. Nothing is executed.

It walks the syntax tree with the functions of known.py and a budget of steps, so that reading a test can neither touch
this process nor keep it busy. A subclass gives meaning to assertions; values of class Unknown give meaning to what is
done with a result that does not exist yet. Whatever it does not know raises NotReadable.

Left out: classes with behaviour, generators, `global`, `del`, `match`, `%` formatting. Iterators are evaluated at once.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from selfplay.judging.budget import MAX_GROWN, Budget, Lazy, NotReadable, Unknown, bits, hashable
from selfplay.judging.known import BUILTINS, MODULES, UNARY, Native, binary, compare, method

__all__ = ["Evaluator", "Function", "NotReadable", "Scope", "holds"]


class Scope:
    """Names of one function or module, inside an outer scope."""

    __slots__ = ("names", "outer")

    def __init__(self, names: dict[str, Any] | None = None, outer: Scope | None = None) -> None:
        self.names: dict[str, Any] = {} if names is None else names
        self.outer = outer

    def find(self, name: str) -> Any:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        if name in BUILTINS:
            return BUILTINS[name]
        raise NotReadable("unreadable", f"the name {name!r} is not defined")


class Function:
    """A function of the test itself: a helper or a lambda."""

    __slots__ = ("arguments", "body", "bound", "defaults", "scope")

    def __init__(self, node: ast.FunctionDef | ast.Lambda, scope: Scope, defaults: dict[str, Any]) -> None:
        self.arguments, self.scope, self.defaults = node.args, scope, defaults
        self.body = node.body
        self.bound: tuple[Any, ...] = ()


class BoundMethod(Unknown):
    """A method of plain data, before it is called."""

    what = "a method"

    def __init__(self, value: Any, name: str) -> None:
        self.value, self.name = value, name


class Flow:
    """How a statement ended, where not at its end: `return` with a value, `break`, `continue`."""

    __slots__ = ("kind", "value")

    def __init__(self, kind: str, value: Any = None) -> None:
        self.kind, self.value = kind, value


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


class Evaluator:
    """Evaluates expressions (`value`) and runs statements (`run`) within one budget."""

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()

    def value(self, node: ast.AST, scope: Scope) -> Any:
        """The value of an expression; raises NotReadable, also for what Python would raise."""
        self.budget.spend()
        handler = _EXPRESSIONS.get(type(node))
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
        return set(hashable(self.budget.weigh(self._items(node.elts, scope))))

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
                pairs.extend(found.items())
            else:
                pairs.append((self.budget.weigh(self.value(key, scope)), self.value(item, scope)))
        hashable([key for key, _ in pairs])
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
        return UNARY[type(node.op)](value)

    def boolean(self, node: ast.BoolOp, scope: Scope) -> Any:
        """`and` / `or` with Python's shortcuts; at most one part may be unknown, and the others must leave it to decide."""
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
        value, key = self.value(node.value, scope), self.value(node.slice, scope)
        if isinstance(value, Unknown):
            return value.item(key)
        return value[self.budget.weigh(key)]

    def slice(self, node: ast.Slice, scope: Scope) -> slice:
        bounds = (node.lower, node.upper, node.step)
        return slice(*(None if bound is None else self.value(bound, scope) for bound in bounds))

    def attribute(self, node: ast.Attribute, scope: Scope) -> Any:
        value = self.value(node.value, scope)
        if isinstance(value, Unknown):
            return value.attribute(node.attr)
        return BoundMethod(value, node.attr)

    def lambda_(self, node: ast.Lambda, scope: Scope) -> Function:
        return self.function(node, scope)

    def function(self, node: ast.FunctionDef | ast.Lambda, scope: Scope) -> Function:
        spec = node.args
        positional = [*spec.posonlyargs, *spec.args]
        defaults = {
            argument.arg: self.value(default, scope)
            for argument, default in zip(positional[len(positional) - len(spec.defaults) :], spec.defaults, strict=True)
        }
        for argument, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
            if default is not None:
                defaults[argument.arg] = self.value(default, scope)
        return Function(node, scope, defaults)

    def text(self, node: ast.JoinedStr, scope: Scope) -> str:
        parts = [self.value(part, scope) for part in node.values]
        self.budget.sized(sum(map(len, parts)))
        return "".join(parts)

    def formatted(self, node: ast.FormattedValue, scope: Scope) -> str:
        value = self.budget.weigh(self.value(node.value, scope))
        spec = "" if node.format_spec is None else self.value(node.format_spec, scope)
        if re.search(r"\d{4}", spec) or (spec and not isinstance(value, (int, float, str))):
            raise NotReadable("unsupported", f"the format {spec[:20]!r}")
        shown = {115: str, 114: repr, 97: ascii}.get(node.conversion, lambda value: value)(value)
        return format(shown, spec)

    def comprehension(self, node: Any, scope: Scope) -> Any:
        found: list[Any] = []
        inner = Scope(outer=scope)
        for _ in self._bindings(node.generators, inner):
            if type(node) is ast.DictComp:
                found.append((self.budget.weigh(self.value(node.key, inner)), self.value(node.value, inner)))
            else:
                found.append(self.value(node.elt, inner))
            self.budget.sized(len(found))
        if type(node) is ast.DictComp:
            hashable([key for key, _ in found])
            return dict(found)
        if type(node) is ast.SetComp:
            return set(hashable(self.budget.weigh(found)))
        return found if type(node) is ast.ListComp else Lazy(found)

    def _bindings(self, generators: Sequence[ast.comprehension], scope: Scope) -> Iterator[None]:
        """Bind the targets of a comprehension to every combination that passes its conditions."""
        if not generators:
            yield
            return
        first = generators[0]
        for item in self.budget.items(self.value(first.iter, scope)):
            self.bind(first.target, item, scope)
            if all(self.truth(self.value(condition, scope)) for condition in first.ifs):
                yield from self._bindings(generators[1:], scope)

    def call(self, node: ast.Call, scope: Scope) -> Any:
        function = self.value(node.func, scope)
        arguments = self._items(node.args, scope)
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value, scope)
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
        flow = self.run(function.body, scope)
        return flow.value if flow else None

    def _bound(self, function: Function, arguments: list[Any], keywords: dict[str, Any]) -> dict[str, Any]:
        spec = function.arguments
        names = [argument.arg for argument in (*spec.posonlyargs, *spec.args)]
        bound = dict(zip(names, arguments))
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
        """Assign to a name, a tuple of names, or an item of a list or dictionary of the test."""
        if isinstance(target, ast.Name):
            self.assign(target.id, value, scope)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target.elts, value, scope)
        elif isinstance(target, ast.Subscript):
            self._store(self.value(target.value, scope), self.value(target.slice, scope), value)
        else:
            raise NotReadable("unsupported", f"an assignment to {type(target).__name__}")

    def assign(self, name: str, value: Any, scope: Scope) -> None:
        scope.names[name] = value

    def _unpack(self, targets: Sequence[ast.expr], value: Any, scope: Scope) -> None:
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

    def _store(self, container: Any, key: Any, value: Any) -> None:
        if not isinstance(container, (list, dict)) or isinstance(key, slice):
            raise NotReadable("unsupported", "an assignment into something that is no list or dictionary")
        if isinstance(container, dict) and len(container) > MAX_GROWN:
            raise NotReadable("budget", f"a dictionary grown beyond {MAX_GROWN} items")
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

    def on_expression(self, node: ast.Expr, scope: Scope) -> None:
        self.value(node.value, scope)

    def on_assign(self, node: ast.Assign, scope: Scope) -> None:
        value = self.value(node.value, scope)
        for target in node.targets:
            self.bind(target, value, scope)

    def on_annotated(self, node: ast.AnnAssign, scope: Scope) -> None:
        if node.value is not None:
            self.bind(node.target, self.value(node.value, scope), scope)

    def on_augmented(self, node: ast.AugAssign, scope: Scope) -> None:
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

    def on_for(self, node: ast.For, scope: Scope) -> Flow | None:
        for item in self.budget.items(self.value(node.iter, scope)):
            self.bind(node.target, item, scope)
            flow = self.run(node.body, scope)
            if flow and flow.kind == "break":
                return None
            if flow and flow.kind == "return":
                return flow
        return self.run(node.orelse, scope)

    def on_while(self, node: ast.While, scope: Scope) -> Flow | None:
        while self.truth(self.value(node.test, scope)):
            flow = self.run(node.body, scope)
            if flow and flow.kind == "break":
                return None
            if flow and flow.kind == "return":
                return flow
        return self.run(node.orelse, scope)

    def on_if(self, node: ast.If, scope: Scope) -> Flow | None:
        return self.run(node.body if self.truth(self.value(node.test, scope)) else node.orelse, scope)

    def on_return(self, node: ast.Return, scope: Scope) -> Flow:
        return Flow("return", None if node.value is None else self.value(node.value, scope))

    def on_def(self, node: ast.FunctionDef, scope: Scope) -> None:
        if node.decorator_list:
            raise NotReadable("unsupported", f"a decorator on {node.name}")
        self.assign(node.name, self.function(node, scope), scope)

    def on_import(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        raise NotReadable("unsupported", "an import")

    def on_assert(self, node: ast.Assert, scope: Scope) -> None:
        raise NotReadable("unsupported", "an assertion")

    def on_with(self, node: ast.With, scope: Scope) -> Flow | None:
        raise NotReadable("unsupported", "a with statement")

    def on_try(self, node: ast.Try, scope: Scope) -> Flow | None:
        raise NotReadable("unsupported", "a try statement")

    def on_class(self, node: ast.ClassDef, scope: Scope) -> None:
        raise NotReadable("unsupported", "a class")


_EXPRESSIONS: dict[type[ast.AST], Callable[[Evaluator, Any, Scope], Any]] = {
    ast.Constant: Evaluator.constant,
    ast.Name: Evaluator.name,
    ast.List: Evaluator.sequence,
    ast.Tuple: Evaluator.sequence,
    ast.Set: Evaluator.set,
    ast.Dict: Evaluator.dictionary,
    ast.BinOp: Evaluator.binary,
    ast.UnaryOp: Evaluator.unary,
    ast.BoolOp: Evaluator.boolean,
    ast.Compare: Evaluator.comparison,
    ast.IfExp: Evaluator.choice,
    ast.Subscript: Evaluator.item,
    ast.Slice: Evaluator.slice,
    ast.Attribute: Evaluator.attribute,
    ast.Lambda: Evaluator.lambda_,
    ast.JoinedStr: Evaluator.text,
    ast.FormattedValue: Evaluator.formatted,
    ast.ListComp: Evaluator.comprehension,
    ast.SetComp: Evaluator.comprehension,
    ast.DictComp: Evaluator.comprehension,
    ast.GeneratorExp: Evaluator.comprehension,
    ast.Call: Evaluator.call,
}

# Subclasses override these methods, so they are looked up by name.
_STATEMENTS: dict[type[ast.stmt], Callable[[Evaluator, Any, Scope], Flow | None]] = {
    ast.Expr: lambda ev, node, scope: ev.on_expression(node, scope),
    ast.Assign: lambda ev, node, scope: ev.on_assign(node, scope),
    ast.AnnAssign: lambda ev, node, scope: ev.on_annotated(node, scope),
    ast.AugAssign: lambda ev, node, scope: ev.on_augmented(node, scope),
    ast.For: lambda ev, node, scope: ev.on_for(node, scope),
    ast.While: lambda ev, node, scope: ev.on_while(node, scope),
    ast.If: lambda ev, node, scope: ev.on_if(node, scope),
    ast.Return: lambda ev, node, scope: ev.on_return(node, scope),
    ast.FunctionDef: lambda ev, node, scope: ev.on_def(node, scope),
    ast.ClassDef: lambda ev, node, scope: ev.on_class(node, scope),
    ast.Import: lambda ev, node, scope: ev.on_import(node, scope),
    ast.ImportFrom: lambda ev, node, scope: ev.on_import(node, scope),
    ast.Assert: lambda ev, node, scope: ev.on_assert(node, scope),
    ast.With: lambda ev, node, scope: ev.on_with(node, scope),
    ast.Try: lambda ev, node, scope: ev.on_try(node, scope),
    ast.Pass: lambda ev, node, scope: None,
    ast.Break: lambda ev, node, scope: Flow("break"),
    ast.Continue: lambda ev, node, scope: Flow("continue"),
}


class ModuleNames(Unknown):
    """A module, as the names in it that are known."""

    what = "a module"

    def __init__(self, name: str, names: Mapping[str, Any]) -> None:
        self.name, self.names = name, names

    def attribute(self, name: str) -> Any:
        if name not in self.names:
            raise NotReadable("unsupported", f"{self.name}.{name}")
        return self.names[name]


def holds(requires: Sequence[str], arguments: Mapping[str, Any]) -> bool:
    """Whether a contract's expressions are all true of the arguments, by parameter name.

    An expression that raises on the arguments does not hold. Raises NotReadable for one that is no expression or costs
    more than the budget.
    """
    scope = Scope({"math": ModuleNames("math", MODULES["math"]), **arguments})
    for text in requires:
        try:
            tree = ast.parse(text.strip(), mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise NotReadable("syntax", f"the contract {text!r} is no expression") from None
        try:
            if not Evaluator().value(tree.body, scope):
                return False
        except NotReadable as error:
            if error.reason != "unreadable":
                raise
            return False
    return True
