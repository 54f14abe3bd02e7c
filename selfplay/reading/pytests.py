"""What test code imports and decorates with: modules, pytest's and unittest's markers and helpers, shapes of statements.

A module is one that is evaluated (methods.py), one of the standard library that is not, one under test, or one that the
problem does not bring. Nothing is imported. `unittest.mock` and its like replace what is under test and refuse whatever
uses them.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from selfplay.reading.budget import Budget
from selfplay.reading.known import ExceptionType
from selfplay.reading.methods import MODULES
from selfplay.reading.names import ModuleNames
from selfplay.reading.native import Native
from selfplay.reading.normal import words
from selfplay.reading.opaque import Spoiled
from selfplay.reading.refusals import refusal, refuse
from selfplay.reading.special import Approx
from selfplay.reading.symbols import EntryPoint
from selfplay.reading.unknown import Apply, Arguments, Keywords, Unknown, Value


class Raises(Unknown):
    """`pytest.raises(...)` or `self.assertRaises(...)` as a context; `messages`: it also looks at the message."""

    what = "an expected exception"

    def __init__(self, names: list[str], messages: bool = False) -> None:
        self.names, self.messages = names, messages


class Raised(Spoiled):
    """The exception that was expected and came: its class is known to be one of `names`, nothing else."""

    def __init__(self, names: list[str], of_class: bool = False) -> None:
        super().__init__(refusal("message"))
        self.names, self.of_class = names, of_class

    def attribute(self, name: str) -> Value:
        if name in ("value", "exception"):
            return self
        return Raised(self.names, True) if name in ("type", "__class__") else Spoiled(self.error)

    def passed_to(self, name: str, arguments: Arguments, keywords: Keywords) -> Value:
        if name == "type" and len(arguments) == 1:
            return Raised(self.names, True)
        if name in ("isinstance", "issubclass") and arguments[0] is self:
            kinds = arguments[1] if isinstance(arguments[1], tuple) else (arguments[1],)
            wanted = {kind.name for kind in kinds if isinstance(kind, ExceptionType)}
            return True if set(self.names) <= wanted or "Exception" in wanted else Spoiled(self.error)
        return super().passed_to(name, arguments, keywords)

    def compare(self, operator: str, other: Value, flipped: bool) -> Value:
        if other is None and operator in ("is_not", "!="):
            return True
        same = self.of_class and isinstance(other, ExceptionType) and self.names == [other.name]
        return True if same and operator in ("==", "is") else Spoiled(self.error)


class Transparent(Unknown):
    """A context that changes nothing, such as `self.subTest()`."""


class Marker(Unknown):
    """`pytest.mark`, one of its marks, or a mark with arguments."""

    what = "a pytest mark"

    def __init__(self, name: str = "", arguments: Arguments = (), keywords: Keywords | None = None) -> None:
        self.name, self.arguments, self.keywords = name, arguments, keywords or {}

    def attribute(self, name: str) -> Value:
        return Marker(name)

    def call(self, arguments: Arguments, keywords: Keywords) -> Value:
        return Marker(self.name, arguments, keywords)


class Parameters(Unknown):
    """`pytest.param(...)`; `marks` may skip it."""

    what = "pytest.param"

    def __init__(self, values: Sequence[Value], marks: Sequence[Value]) -> None:
        self.values, self.marks = values, marks


class Stop(Unknown):
    """`pytest.skip`, `pytest.fail`: to call it ends the test."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def call(self, arguments: Arguments, keywords: Keywords) -> Value:
        refuse(self.kind)


class Replacing(Unknown):
    """A module or name that replaces what is under test: mocks, monkeypatch, importlib."""

    def __init__(self, name: str) -> None:
        self.name = name

    def refuse(self) -> NoReturn:
        refuse("patches", name=f"what {self.name} reaches")


_REPLACING = frozenset({"unittest.mock", "mock", "pytest_mock", "importlib", "builtins", "ctypes", "gc", "runpy"})
_CHANCE = frozenset({"random", "secrets", "uuid"})
_CLOCK = frozenset({"time", "datetime", "timeit"})
_ON_THE_PROBLEM = frozenset({"code", "test", "this", "main"})  # names that solutions have, whoever else has them


class Library(ModuleNames):
    """A module of the standard library, of which some names are evaluated; the others spoil what uses them."""

    def attribute(self, name: str) -> Value:
        if name in self.names:
            return self.names[name]
        if (self.name, name) in (("sys", "modules"), ("unittest", "mock")):
            return Replacing(f"{self.name}.{name}")
        kind = "chance" if self.name in _CHANCE else "clock" if self.name in _CLOCK else "followed"
        return Spoiled.of(kind, name=f"{self.name}.{name}")


class UnderTest(ModuleNames):
    """A module that is neither known nor anybody's: the one under test, whatever the test calls it."""

    def __init__(self, name: str, entry: EntryPoint, helpers: Mapping[str, Value]) -> None:
        super().__init__(name, {**helpers, entry.name: entry})
        self.entry = entry

    def attribute(self, name: str) -> Value:
        if name in self.names:
            return self.names[name]
        if name == "__dict__":
            return Replacing(f"{self.name}.{name}")
        return Spoiled.of("wrong_entry", self.entry.name, name=name)


def module_value(name: str, entry: EntryPoint, helpers: Mapping[str, Value]) -> Unknown:
    """What `import name` stands for."""
    top = name.split(".")[0]
    if name in _REPLACING or top in _REPLACING:
        return Replacing(name)
    if top in TESTING:
        return Library(top, TESTING[top])
    if name in MODULES or (top in sys.stdlib_module_names and top not in _ON_THE_PROBLEM):
        return Library(name, MODULES.get(name, {}))
    if top in PACKAGES:
        return Spoiled.of("import", name=top)
    return UnderTest(name, entry, helpers)


def imported_names(module: str, alias: ast.alias, entry: EntryPoint, helpers: Mapping[str, Value]) -> dict[str, Value]:
    """What `from module import alias` binds."""
    if f"{module}.{alias.name}" in _REPLACING:
        return {alias.asname or alias.name: Replacing(f"{module}.{alias.name}")}
    if module.split(".")[0] in ("__future__", "typing"):
        return {alias.asname or alias.name: Spoiled.of("followed", name=f"{module}.{alias.name}")}
    found = module_value(module, entry, helpers) if module else UnderTest("", entry, helpers)
    if alias.name == "*":
        return dict(found.names) if isinstance(found, ModuleNames) else {}
    if isinstance(found, Replacing):
        return {alias.asname or alias.name: found}
    known = isinstance(found, UnderTest) and alias.name not in found.names and alias.name.islower()
    if known and not module.strip("."):  # `from . import solution`
        return {alias.asname or alias.name: UnderTest(alias.name, entry, helpers)}
    return {alias.asname or alias.name: found.attribute(alias.name)}


PACKAGES = words(
    "numpy pandas scipy sympy hypothesis torch tensorflow sklearn matplotlib networkx requests pydantic attr attrs"
    " sortedcontainers parameterized ddt nose freezegun faker yaml PIL cv2 numba more_itertools dateutil pytz"
)


def _approx(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Value:
    given = dict(zip(("expected", "rel", "abs"), arguments, strict=False)) | dict(keywords)
    return Approx(given["expected"], given.get("rel"), given.get("abs"))


def _param(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Parameters:
    marks = keywords.get("marks", ())
    return Parameters(arguments, list(marks) if isinstance(marks, (list, tuple)) else [marks])


def _in_expression(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Value:
    refuse("on_value", name="pytest.raises in an expression")


def _callable(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Value:
    return not isinstance(arguments[0], (int, float, str, list, tuple, dict, set, type(None)))


def _hasattr(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Value:
    return Spoiled.of("followed", name="hasattr()")


class ImportOrSkip(Unknown):
    """`pytest.importorskip`: the module, or what spoils the tests that use it."""

    def call(self, arguments: Arguments, keywords: Keywords) -> Value:
        name = arguments[0] if arguments and isinstance(arguments[0], str) else "?"
        return Library(name, MODULES[name]) if name in MODULES else Spoiled.of("import", name=name)


# ---- shapes of statements ----


def dotted(node: ast.expr) -> str:
    """`a.b.c` of a name, an attribute, or a call of one."""
    parts: list[str] = []
    while isinstance(node, (ast.Call, ast.Attribute)):
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
        node = node.func if isinstance(node, ast.Call) else node.value
    return ".".join([node.id if isinstance(node, ast.Name) else "", *reversed(parts)])


def is_check(node: ast.FunctionDef) -> bool:
    """HumanEval's form: `def check(candidate)`."""
    return node.name == "check" and len(node.args.args) == 1 and node.args.args[0].arg == "candidate"


def is_test_class(node: ast.ClassDef) -> bool:
    """Whether pytest or unittest looks for tests in a class, its bases in the file left aside."""
    return node.name.startswith("Test") or any(dotted(base).endswith("TestCase") for base in node.bases)


def asserts(node: ast.Call) -> bool:
    """Whether a call is an assertion itself: self.assertEqual(...), pytest.raises(E, f, x), error.match(...)."""
    name = dotted(node.func).rsplit(".", 1)[-1]
    return name.startswith("assert") or name in ("raises", "match") or fails(ast.Expr(node))


def holds_assertions(node: ast.stmt) -> bool:
    """Whether a statement holds an assertion, however deep."""
    return any(
        isinstance(inner, ast.Assert) or (isinstance(inner, ast.Call) and asserts(inner)) for inner in ast.walk(node)
    )


def fails(node: ast.stmt) -> bool:
    """`assert False`, `pytest.fail()`, `self.fail()` or `raise AssertionError`."""
    if isinstance(node, ast.Assert):
        return isinstance(node.test, ast.Constant) and not node.test.value
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return dotted(node.value) in ("self.fail", "pytest.fail")
    return isinstance(node, ast.Raise) and node.exc is not None and dotted(node.exc) == "AssertionError"


def does_nothing(node: ast.stmt) -> bool:
    """`pass`, `return`, `assert True`."""
    if isinstance(node, ast.Assert):
        return isinstance(node.test, ast.Constant) and bool(node.test.value)
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Return) and node.value is None)


TESTING: dict[str, dict[str, Value]] = {
    "pytest": {
        "mark": Marker(),
        "fixture": Marker("fixture"),
        "approx": Native("approx", _approx),
        "raises": Native("raises", _in_expression),
        "param": Native("param", _param),
        "skip": Stop("skip"),
        "xfail": Stop("xfail"),
        "fail": Stop("fails"),
        "importorskip": ImportOrSkip(),
    },
    "unittest": {
        "skip": Marker("skip"),
        "skipIf": Marker("skipif"),
        "skipUnless": Marker("skipunless"),
        "expectedFailure": Marker("xfail"),
    },
}

ASSUMED: dict[str, Value] = {  # single statements are written without their imports
    "pytest": Library("pytest", TESTING["pytest"]),
    "math": Library("math", MODULES["math"]),
    "callable": Native("callable", _callable),
    "hasattr": Native("hasattr", _hasattr),
    "__file__": Spoiled.of("followed", name="__file__"),
}
