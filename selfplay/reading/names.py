"""What a name of test code may stand for beside plain data: functions, methods and modules; and the scopes that hold names."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from selfplay.reading.budget import Budget
from selfplay.reading.known import BUILTINS
from selfplay.reading.refusals import NotReadable
from selfplay.reading.unknown import Arguments, Keywords, Unknown, Value

MAX_SCOPES = 20  # a name is looked for in each


class Scope:
    """Names of one function or module, inside an outer scope."""

    __slots__ = ("depth", "names", "outer")

    def __init__(self, names: dict[str, Value] | None = None, outer: Scope | None = None) -> None:
        self.names: dict[str, Value] = {} if names is None else names
        self.outer = outer
        self.depth: int = outer.depth + 1 if outer else 0
        if self.depth > MAX_SCOPES:
            raise NotReadable("budget", f"functions inside one another more than {MAX_SCOPES} deep")

    def find(self, name: str) -> Value:
        """What a name stands for; raises NotReadable where nothing has it."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        if name in BUILTINS:
            return BUILTINS[name]
        raise NotReadable("unreadable", f"the name {name!r} is not defined")


class Function:
    """A function of the test itself: a helper or a lambda. `bound`: arguments that come before those of a call (`self`)."""

    __slots__ = ("arguments", "body", "bound", "defaults", "scope")

    def __init__(self, node: ast.FunctionDef | ast.Lambda, scope: Scope, defaults: dict[str, Value]) -> None:
        self.arguments, self.scope, self.defaults = node.args, scope, defaults
        self.body = node.body
        self.bound: tuple[Value, ...] = ()

    def called_with(self, budget: Budget, arguments: Arguments, keywords: Keywords) -> Scope:
        """The scope in which its body runs; raises NotReadable where the arguments do not fit its parameters."""
        spec, given, named = self.arguments, [*self.bound, *arguments], dict(keywords)
        budget.spend((len(spec.args) + len(spec.kwonlyargs) + len(given) + len(named)) // 4 + 2)
        names = [argument.arg for argument in (*spec.posonlyargs, *spec.args)]
        inner: dict[str, Value] = dict(zip(names, given, strict=False))
        if spec.vararg:
            inner[spec.vararg.arg] = tuple(given[len(names) :])
        elif len(given) > len(names):
            raise NotReadable("unreadable", "too many arguments for a helper")
        for name in (*names, *(argument.arg for argument in spec.kwonlyargs)):
            if name in named:
                inner[name] = named.pop(name)
            elif name not in inner:
                if name not in self.defaults:
                    raise NotReadable("unreadable", f"no argument for {name!r}")
                inner[name] = self.defaults[name]
        if spec.kwarg:
            inner[spec.kwarg.arg] = named
        elif named:
            raise NotReadable("unreadable", f"unexpected keywords {sorted(named)}")
        return Scope(inner, self.scope)


def defaults_of(spec: ast.arguments) -> list[tuple[str, ast.expr]]:
    """The parameters that have a default, each with its expression."""
    positional = [argument.arg for argument in (*spec.posonlyargs, *spec.args)]
    given = list(zip(positional[len(positional) - len(spec.defaults) :], spec.defaults, strict=True))
    named = zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
    return [*given, *((argument.arg, default) for argument, default in named if default is not None)]


class BoundMethod(Unknown):
    """A method of plain data, before it is called."""

    what = "a method"

    def __init__(self, value: Value, name: str) -> None:
        self.value, self.name = value, name


class ModuleNames(Unknown):
    """A module, as the names in it that are known."""

    what = "a module"

    def __init__(self, name: str, names: Mapping[str, Value]) -> None:
        self.name, self.names = name, names

    def attribute(self, name: str) -> Value:
        """What the name stands for in the module; raises NotReadable for one that is not known."""
        if name not in self.names:
            raise NotReadable("unsupported", f"{self.name}.{name}")
        return self.names[name]
