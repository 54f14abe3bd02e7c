"""What the names of a test file stand for: its imports, what the problem brings, and the function under test.

That function keeps its name. Whatever would give the name to something else replaces what is to be judged, and refuses
the file.
"""

from __future__ import annotations

import ast
import builtins
import warnings

from selfplay.reading.budget import Budget
from selfplay.reading.fixtures import Fixtures
from selfplay.reading.names import Function, Scope
from selfplay.reading.native import Native
from selfplay.reading.opaque import Spoiled
from selfplay.reading.pytests import ASSUMED, imported_names, module_value
from selfplay.reading.refusals import NotReadable, refuse
from selfplay.reading.unittests import Base, TestSelf
from selfplay.reading.unknown import Arguments, Keywords, Value

MAX_TEXT = 1 << 20
_OF_PYTEST = frozenset({"param", "approx", "callable", "hasattr"})  # called whatever they are given, results too


def parse(text: str) -> ast.Module:
    """The syntax tree of a test module; raises NotReadable for what is no Python or longer than MAX_TEXT characters."""
    if len(text) > MAX_TEXT:
        refuse("size", size=len(text), limit=MAX_TEXT)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotReadable("syntax", str(error)[:200]) from None


class Imports(Fixtures):
    """Knows what is imported and what is brought, and keeps the function under test under its name.

    `brought`: the functions of the problem's `helpers`, which tests may call on known values.
    """

    def __init__(self, text: str, entry_point: str, budget: Budget, limit: int, helpers: str) -> None:
        super().__init__(text, entry_point, budget, limit)
        self.globals = Scope({"__name__": "tests", **ASSUMED, "super": Base()})
        self.fixtures = {}
        self.brought: dict[str, Value] = {}
        if helpers.strip():
            self.brought = self._evaluated(helpers)
        self.helpers = {value for value in self.brought.values() if isinstance(value, Function)}
        self.globals.names.update(self.brought)
        if entry_point:
            self.globals.names[entry_point] = self.entry

    def _evaluated(self, helpers: str) -> dict[str, Value]:
        """What a text of helpers binds, the entry point left out. What is not evaluated spoils who uses it."""
        scope = Scope(dict(ASSUMED))
        for node in parse(helpers).body:
            name = getattr(node, "name", "")
            if name != self.entry.name:
                try:
                    self.run([node], scope)
                except NotReadable as error:
                    scope.names[name] = Spoiled(error)
        return {name: value for name, value in scope.names.items() if name not in ASSUMED}

    def assign(self, name: str, value: Value, scope: Scope) -> None:
        """Bind a name; refuses the entry point's."""
        if name == self.entry.name and value is not self.entry:
            refuse("patched", name)
        super().assign(name, value, scope)

    def bind(self, target: ast.expr, value: Value, scope: Scope) -> None:
        """Assign also to attributes of a test's `self`."""
        if isinstance(target, ast.Attribute):
            owner = self.value(target.value, scope)
            if isinstance(owner, TestSelf):
                owner.names[target.attr] = value
                return
        super().bind(target, value, scope)

    def apply(self, function: Value, arguments: Arguments, keywords: Keywords | None = None) -> Value:
        """A call; pytest's own functions are called with whatever they are given."""
        if isinstance(function, Native) and function.name == "raises":
            return self.expect_raises(arguments, keywords or {})
        if isinstance(function, Native) and function.name in _OF_PYTEST:
            return function.function(self.budget, self.apply, arguments, keywords or {})
        return super().apply(function, arguments, keywords)

    def _on_call(self, node: ast.Call, scope: Scope) -> Value:
        """A call of a name that nothing defines is taken for one of another function under test."""
        try:
            return super()._on_call(node, scope)
        except NotReadable as error:
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            if not name or hasattr(builtins, name) or error.detail != f"the name {name!r} is not defined":
                raise
            refuse("undefined", self.entry.name, name=name)

    def _on_import(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        self.budget.spend(sum(2 + len(alias.name) // 16 for alias in node.names))
        for alias in node.names:
            if isinstance(node, ast.Import):
                name = alias.name if alias.asname else alias.name.split(".")[0]
                scope.names[alias.asname or name] = module_value(name, self.entry, self.brought)
            else:
                module = "." * node.level + (node.module or "")
                scope.names.update(imported_names(module, alias, self.entry, self.brought))
        # `import f` and `from f import f` name the module after the function under test; all else replaces it
        found = scope.names.get(self.entry.name, self.entry) if self.entry.name else self.entry
        if found is not self.entry and self.entry not in getattr(found, "names", {}).values():
            refuse("patched", self.entry.name)
