"""`self` of a test method: attributes of the test, helper methods, and unittest's assertions as conditions."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from selfplay.judging.reading.budget import NotReadable, Unknown
from selfplay.judging.reading.interpret import Evaluator, Function, Scope
from selfplay.judging.reading.known import BUILTINS
from selfplay.judging.reading.pytests import Transparent
from selfplay.judging.reading.symbols import Condition, Difference, Result

_COMPARISONS = {
    **dict.fromkeys(("assertEqual", "assertEquals", "assertListEqual", "assertDictEqual", "assertTupleEqual"), "=="),
    **dict.fromkeys(("assertSetEqual", "assertSequenceEqual", "assertMultiLineEqual"), "=="),
    "assertNotEqual": "!=",
    "assertIs": "is",
    "assertIsNot": "is_not",
    "assertIn": "in",
    "assertNotIn": "not_in",
    "assertGreater": ">",
    "assertGreaterEqual": ">=",
    "assertLess": "<",
    "assertLessEqual": "<=",
}
_NONE = {"assertIsNone": "is", "assertIsNotNone": "is_not"}


class TestEvaluator(Evaluator):
    """An evaluator that notes what tests state."""

    __test__ = False  # not a test class of our own
    globals: Scope

    @abstractmethod
    def state(self, value: Any) -> None:
        """Enter an asserted value."""

    @abstractmethod
    def expect_raises(self, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        """`assertRaises`, as a context or with a call."""


class TestSelf(Unknown):
    """The instance of a test class."""

    __test__ = False  # not a test class of our own
    what = "the test class"

    def __init__(self, module: TestEvaluator, owner: ast.ClassDef) -> None:
        self.module = module
        self.names: dict[str, Any] = {}
        for statement in owner.body:
            self._define(statement, Scope(self.names, module.globals))

    def _define(self, statement: ast.stmt, scope: Scope) -> None:
        self.module.budget.spend()
        if isinstance(statement, ast.FunctionDef):
            if not statement.name.startswith("test"):
                self.names[statement.name] = self._bound(statement, scope.outer or scope)
        elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Pass)):
            self.module.run([statement], scope)
        elif not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
            raise NotReadable("unsupported", f"the statement {type(statement).__name__} in a class")

    def _bound(self, node: ast.FunctionDef, scope: Scope) -> Function:
        decorators = {decorator.id for decorator in node.decorator_list if isinstance(decorator, ast.Name)}
        if len(decorators) < len(node.decorator_list) or not decorators <= {"staticmethod", "classmethod"}:
            raise NotReadable("unsupported", f"a decorator on {node.name}")
        function = self.module.function(node, scope)
        function.bound = () if "staticmethod" in decorators else (self,)
        return function

    def set_up(self) -> None:
        for name in ("setUpClass", "setup_class", "setUp", "setup_method"):
            if name in self.names:
                self.module.apply(self.names[name], [])

    def attribute(self, name: str) -> Any:
        if name in self.names:
            return self.names[name]
        if name == "subTest":
            return Assertion(self.module, name)
        if name in _COMPARISONS or name in _NONE or name in _OTHERS:
            return Assertion(self.module, name)
        raise NotReadable("unsupported", f"self.{name}")


class Assertion(Unknown):
    """One of unittest's assertion methods."""

    what = "an assertion method"

    def __init__(self, module: TestEvaluator, name: str) -> None:
        self.module, self.name = module, name

    def call(self, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        keywords.pop("msg", None)
        if self.name in ("assertRaises", "subTest"):
            return _OTHERS[self.name](self.module, arguments, keywords)
        if self.name in _COMPARISONS:
            value = self.module.compare(_COMPARISONS[self.name], arguments[0], arguments[1])
        elif self.name in _NONE:
            value = self.module.compare(_NONE[self.name], arguments[0], None)
        else:
            value = _OTHERS[self.name](self.module, arguments, keywords)
        self.module.state(value)
        return None


def _negated(module: TestEvaluator, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    value = arguments[0]
    return value.negated() if isinstance(value, Unknown) else not value


def _instance(module: TestEvaluator, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return module.apply(BUILTINS["isinstance"], arguments[:2])


def _not_instance(module: TestEvaluator, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return _negated(module, [_instance(module, arguments, keywords)], keywords)


def _almost(module: TestEvaluator, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """|a - b| <= delta, or equal when their difference is rounded to `places` (7)."""
    delta = keywords.get("delta")
    places = arguments[2] if len(arguments) > 2 else keywords.get("places")
    difference = module.combine("Sub", arguments[0], arguments[1])
    if not isinstance(difference, Difference):
        raise NotReadable("not_a_call", "an assertion about something known")
    bound = delta if delta is not None else 0.5 * 10.0 ** -(7 if places is None else places)
    return difference.result.near(difference.expected, 0.0, bound)


def _count_equal(module: TestEvaluator, arguments: list[Any], keywords: dict[str, Any]) -> Condition:
    """The same items in any order, where they can be sorted."""
    results = [argument for argument in arguments[:2] if isinstance(argument, Result)]
    others = [argument for argument in arguments[:2] if not isinstance(argument, Result)]
    if len(results) != 1:
        raise NotReadable("property", "assertCountEqual of two results, or none")
    try:
        wanted = sorted(module.budget.weigh(module.budget.items(others[0])))
    except TypeError as error:
        raise NotReadable("unsupported", str(error)) from None
    return results[0].then("sorted").compare("==", wanted, False)


def _context(module: TestEvaluator, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return Transparent()


_OTHERS: dict[str, Callable[[Any, list[Any], dict[str, Any]], Any]] = {
    "assertTrue": lambda module, arguments, keywords: arguments[0],
    "assertFalse": _negated,
    "assertIsInstance": _instance,
    "assertNotIsInstance": _not_instance,
    "assertAlmostEqual": _almost,
    "assertAlmostEquals": _almost,
    "assertCountEqual": _count_equal,
    "assertRaises": lambda module, arguments, keywords: module.expect_raises(arguments, keywords),
    "subTest": _context,
}
