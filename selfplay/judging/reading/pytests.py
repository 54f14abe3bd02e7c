"""What test code imports and decorates with: pytest's markers and helpers as values, and shapes of statements."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Sequence
from typing import Any

from selfplay.judging.reading.budget import NotReadable, Unknown
from selfplay.judging.reading.interpret import ModuleNames
from selfplay.judging.reading.known import Native
from selfplay.judging.reading.methods import MODULES
from selfplay.judging.reading.symbols import Approx


class Raises(Unknown):
    """`pytest.raises(...)` or `self.assertRaises(...)`, as a context or with a function."""

    what = "an expected exception"

    def __init__(self, names: list[str]) -> None:
        self.names = names


class Transparent(Unknown):
    """A context that changes nothing, such as `self.subTest()`."""


class Marker(Unknown):
    """`pytest.mark`, one of its marks, or a mark with arguments."""

    what = "a pytest mark"

    def __init__(self, name: str = "", arguments: Sequence[Any] = (), keywords: dict[str, Any] | None = None) -> None:
        self.name, self.arguments, self.keywords = name, arguments, keywords or {}

    def attribute(self, name: str) -> Any:
        return Marker(name)

    def call(self, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        return Marker(self.name, arguments, keywords)


class Parameters(Unknown):
    """`pytest.param(...)`."""

    what = "pytest.param"

    def __init__(self, values: list[Any], marked: bool) -> None:
        self.values, self.marked = values, marked


CHANGING_MARKS = frozenset({"skip", "skipif", "xfail", "usefixtures", "filterwarnings"})


def module_value(name: str, bound: str, entry_point: str, entry: Any, text: str) -> Any:
    """What `import name` binds: a known module, an opaque one of the standard library, or the one under test."""
    if name in MODULES:
        return ModuleNames(name, MODULES[name])
    if name in ("pytest", "unittest"):
        return ModuleNames(name, TESTING)
    if name.split(".")[0] in sys.stdlib_module_names:
        return ModuleNames(name, {})
    if entry_point and re.search(rf"\b{re.escape(bound)}\s*\.\s*{re.escape(entry_point)}\b", text):
        return ModuleNames(name, {entry_point: entry})
    raise NotReadable("unsupported", f"import {name}")


def imported_names(module: str, alias: ast.alias, entry_point: str, entry: Any) -> dict[str, Any]:
    """What `from module import alias` binds."""
    top = module.split(".")[0]
    known = MODULES.get(module) or (TESTING if top == "pytest" else {})
    if alias.name == "*":
        return dict(known)
    bound = alias.asname or alias.name
    if alias.name in known:
        return {bound: known[alias.name]}
    if top in sys.stdlib_module_names or top == "pytest":
        return {bound: ModuleNames(f"{module}.{alias.name}", {})}
    if alias.name == entry_point:
        return {bound: entry}
    raise NotReadable("unsupported", f"from {module or '.'} import {alias.name}")


def approx(budget: Any, apply: Any, values: list[Any], keywords: dict[str, Any]) -> Approx:
    given = dict(zip(("expected", "rel", "abs"), values, strict=False)) | keywords
    return Approx(given["expected"], given.get("rel"), given.get("abs"))


def param(budget: Any, apply: Any, values: list[Any], keywords: dict[str, Any]) -> Parameters:
    return Parameters(values, "marks" in keywords)


def refused(budget: Any, apply: Any, values: list[Any], keywords: dict[str, Any]) -> Any:
    raise NotReadable("unsupported", "pytest.raises in an expression")


def why(error: Exception) -> tuple[str, str]:
    """Reason and detail of a refusal; what evaluating raised by itself is code that would raise."""
    if isinstance(error, NotReadable):
        return error.reason, error.detail
    if isinstance(error, RecursionError):
        return "budget", "nested too deep"
    return "unreadable", f"{type(error).__name__}: {error}"[:200]


def dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return dotted(node.func)
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def is_check(node: ast.FunctionDef) -> bool:
    """HumanEval's form: `def check(candidate)`."""
    return node.name == "check" and len(node.args.args) == 1 and node.args.args[0].arg == "candidate"


def is_test_class(node: ast.ClassDef) -> bool:
    return node.name.startswith("Test") or any(dotted(base).endswith("TestCase") for base in node.bases)


def asserts(node: ast.Call) -> bool:
    """Whether a call is an assertion itself: self.assertEqual(...), pytest.raises(E, f, x)."""
    name = dotted(node.func).rsplit(".", 1)[-1]
    return name.startswith("assert") or name == "raises"


def holds_assertions(node: ast.stmt) -> bool:
    return any(
        isinstance(inner, ast.Assert) or (isinstance(inner, ast.Call) and asserts(inner)) for inner in ast.walk(node)
    )


def fails(node: ast.stmt) -> bool:
    """`assert False`, `pytest.fail()`, `self.fail()` or `raise AssertionError`."""
    if isinstance(node, ast.Assert):
        return isinstance(node.test, ast.Constant) and not node.test.value
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return dotted(node.value).endswith(".fail")
    return isinstance(node, ast.Raise) and node.exc is not None and dotted(node.exc) == "AssertionError"


def does_nothing(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assert):
        return isinstance(node.test, ast.Constant) and bool(node.test.value)
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Return) and node.value is None)


TESTING: dict[str, Any] = {
    "mark": Marker(),
    "approx": Native("approx", approx),
    "raises": Native("raises", refused),
    "param": Native("param", param),
}

ASSUMED: dict[str, Any] = {  # single statements are written without their imports
    "pytest": ModuleNames("pytest", TESTING),
    "math": ModuleNames("math", MODULES["math"]),
}
