"""`self` of a test method: attributes of the test, helper methods, and unittest's assertions as conditions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from selfplay.reading.known import BUILTINS
from selfplay.reading.names import Function, Scope
from selfplay.reading.opaque import Spoiled
from selfplay.reading.pytests import Stop, Transparent, dotted
from selfplay.reading.refusals import NotReadable, refusal, refuse
from selfplay.reading.special import near
from selfplay.reading.stating import Statements
from selfplay.reading.symbols import Result
from selfplay.reading.unknown import Arguments, Keywords, Unknown, Value

_COMPARISONS = {
    **dict.fromkeys(("assertEqual", "assertEquals", "assertListEqual", "assertDictEqual", "assertTupleEqual"), "=="),
    **dict.fromkeys(("assertSetEqual", "assertMultiLineEqual"), "=="),
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


class TestSelf(Unknown):
    """The instance of a test class, its bases' part included."""

    __test__ = False  # not a test class of our own
    what = "the test class"

    def __init__(self, module: Statements, owners: Sequence[ast.ClassDef], globals: Scope) -> None:
        self.module = module
        self.names: dict[str, Value] = {}
        self.fixtures: dict[str, ast.FunctionDef] = {}
        for owner in owners:
            for statement in owner.body:
                self._define(statement, Scope(self.names, globals))

    def _define(self, statement: ast.stmt, scope: Scope) -> None:
        """What a statement of the class means for its instances; one that is not evaluated spoils what it binds."""
        self.module.budget.spend(1 + 2 * len(getattr(statement, "decorator_list", ())))
        outer = scope.outer or scope
        if isinstance(statement, ast.FunctionDef):
            if any(dotted(decorator).endswith("fixture") for decorator in statement.decorator_list):
                self.fixtures[statement.name] = statement
            elif not statement.name.startswith("test"):
                self.names[statement.name] = self._bound(statement, outer)
            return
        if isinstance(statement, (ast.AsyncFunctionDef, ast.ClassDef)):
            self.names[statement.name] = Spoiled.of("followed", name=statement.name)
            return
        try:
            self.module.run([statement], scope)
        except NotReadable as error:
            if not self.module.minor(error):
                raise
            self.module.leave_out(statement, scope, error)

    def _bound(self, node: ast.FunctionDef, scope: Scope) -> Value:
        decorators = {decorator.id for decorator in node.decorator_list if isinstance(decorator, ast.Name)}
        if len(decorators) < len(node.decorator_list) or not decorators <= {"staticmethod", "classmethod"}:
            return Spoiled.of("class_statement", name=f"the decorator of {node.name}")
        function = self.module.function(node, scope)
        function.bound = () if "staticmethod" in decorators else (self,)
        return function

    def set_up(self) -> None:
        """Run what the class sets up before each test, and before all of them."""
        for name in ("setUpClass", "setup_class", "setUp", "setup_method"):
            function = self.names.get(name)
            if isinstance(function, Function):
                given = len(function.arguments.args) - len(function.bound)
                self.module.apply(function, [None] if given > 0 and name.startswith("setup") else [])
            elif function is not None:
                self.module.apply(function, [])

    def attribute(self, name: str) -> Value:
        if name in self.names:
            return self.names[name]
        if name in ("subTest", "fail", "skipTest") or name in _COMPARISONS or name in _NONE or name in _OTHERS:
            return {"fail": Stop("fails"), "skipTest": Stop("skip")}.get(name) or Assertion(self.module, name)
        if name != "__class__":
            refuse("self", name=name)
        return self


class Base(Unknown):
    """`super()` of a test class: what it sets up is set up already."""

    def call(self, arguments: Arguments, keywords: Keywords) -> Value:
        return self

    def attribute(self, name: str) -> Value:
        return self if name in ("setUp", "tearDown", "setUpClass", "tearDownClass") else refuse("self", name=name)


class Assertion(Unknown):
    """One of unittest's assertion methods."""

    what = "an assertion method"

    def __init__(self, module: Statements, name: str) -> None:
        self.module, self.name = module, name

    def call(self, arguments: Arguments, keywords: Keywords) -> Value:
        keywords = {name: value for name, value in keywords.items() if name != "msg"}
        if self.name in ("assertRaises", "assertRaisesRegex", "subTest"):
            return _OTHERS[self.name](self.module, arguments, keywords)
        if len(arguments) < (1 if self.name in _NONE or self.name in ("assertTrue", "assertFalse") else 2):
            raise NotReadable("unreadable", f"{self.name} with {len(arguments)} arguments")
        if self.name in _COMPARISONS:
            value = self.module.compare(_COMPARISONS[self.name], arguments[0], arguments[1])
        elif self.name in _NONE:
            value = self.module.compare(_NONE[self.name], arguments[0], None)
        else:
            value = _OTHERS[self.name](self.module, arguments, keywords)
        self.module.state(value)
        return None


def _truth(module: Statements, arguments: Arguments, keywords: Keywords) -> Value:
    return arguments[0]


def _negated(module: Statements, arguments: Arguments, keywords: Keywords) -> Value:
    value = arguments[0]
    return value.negated() if isinstance(value, Unknown) else not value


def _instance(module: Statements, arguments: Arguments, keywords: Keywords) -> Value:
    return module.apply(BUILTINS["isinstance"], arguments[:2])


def _not_instance(module: Statements, arguments: Arguments, keywords: Keywords) -> Value:
    return _negated(module, [_instance(module, arguments, keywords)], keywords)


def _almost(module: Statements, arguments: Arguments, keywords: Keywords) -> Value:
    """|a - b| <= delta, or equal when their difference is rounded to `places` (7)."""
    return _within(module, arguments, keywords, "approx")


def _within(module: Statements, arguments: Arguments, keywords: Keywords, how: str) -> Value:
    a, b, *rest = arguments
    delta = keywords.get("delta")
    places = rest[0] if rest else keywords.get("places")
    if isinstance(a, Spoiled) or isinstance(b, Spoiled):
        return a if isinstance(a, Spoiled) else b
    if not isinstance(a, Result) and not isinstance(b, Result):
        refuse("known", module.entry.name)
    bound = delta if delta is not None else 0.5 * 10.0 ** -(7 if places is None else places)
    return near(a, b, 0.0, bound, how)


def _not_almost(module: Statements, arguments: Arguments, keywords: Keywords) -> Value:
    """What is no number is not far from anything either: the subtraction raises."""
    return _negated(module, [_within(module, arguments, keywords, "isclose")], keywords)


def _count_equal(module: Statements, arguments: Arguments, keywords: Keywords) -> Value:
    """The same items in any order, where they can be sorted."""
    sides = [_in_order(module, argument) for argument in arguments[:2]]
    return module.compare("==", *sides)


def _in_order(module: Statements, value: Value) -> Value:
    try:
        return module.apply(BUILTINS["sorted"], [value])
    except TypeError as error:
        raise NotReadable("unsupported", str(error)) from None


def _sequences_equal(module: Statements, arguments: Arguments, keywords: Keywords) -> Value:
    """Equal items in order, whatever the types of the two sequences."""
    return module.compare("==", *(module.apply(BUILTINS["list"], [argument]) for argument in arguments[:2]))


def _raises(module: Statements, arguments: Arguments, keywords: Keywords) -> Value:
    return module.expect_raises(arguments, keywords)


def _raises_message(module: Statements, arguments: Arguments, keywords: Keywords) -> Value:
    return module.expect_raises([arguments[0], *arguments[2:]], {**keywords, "match": None})


def _context(module: Statements, arguments: Arguments, keywords: Keywords) -> Value:
    return Transparent()


def _message(module: Statements, arguments: Arguments, keywords: Keywords) -> Value:
    spoiled = next((argument for argument in arguments[:2] if isinstance(argument, Spoiled)), None)
    return spoiled or Spoiled(refusal("on_value", module.entry.name, name="a pattern"))


_OTHERS: dict[str, Callable[[Statements, Arguments, Keywords], Value]] = {
    "assertTrue": _truth,
    "assertFalse": _negated,
    "assertIsInstance": _instance,
    "assertNotIsInstance": _not_instance,
    "assertAlmostEqual": _almost,
    "assertAlmostEquals": _almost,
    "assertNotAlmostEqual": _not_almost,
    "assertCountEqual": _count_equal,
    "assertSequenceEqual": _sequences_equal,
    "assertRaises": _raises,
    "assertRaisesRegex": _raises_message,
    "assertRegex": _message,
    "assertNotRegex": _message,
    "subTest": _context,
}
