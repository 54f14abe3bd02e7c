"""What a name of test code may stand for beside plain data: functions, methods and modules; and the scopes that hold names."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from selfplay.reading.budget import NotReadable, Unknown
from selfplay.reading.known import BUILTINS

MAX_SCOPES = 20  # a name is looked for in each


class Scope:
    """Names of one function or module, inside an outer scope."""

    __slots__ = ("depth", "names", "outer")

    def __init__(self, names: dict[str, Any] | None = None, outer: Scope | None = None) -> None:
        self.names: dict[str, Any] = {} if names is None else names
        self.outer = outer
        self.depth: int = outer.depth + 1 if outer else 0
        if self.depth > MAX_SCOPES:
            raise NotReadable("budget", f"functions inside one another more than {MAX_SCOPES} deep")

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


class ModuleNames(Unknown):
    """A module, as the names in it that are known."""

    what = "a module"

    def __init__(self, name: str, names: Mapping[str, Any]) -> None:
        self.name, self.names = name, names

    def attribute(self, name: str) -> Any:
        if name not in self.names:
            raise NotReadable("unsupported", f"{self.name}.{name}")
        return self.names[name]
