"""What a literal assertion says, as data: one call of the function under test, compared with a known value.

Known are literals and their displays, `range`, `list`, `tuple`, `set`, `frozenset`, `dict`, `float`, signs, `+`, `-`, `*`,
`/` and `**`. What an operation makes is paid for before it is made, and sets whose items may share a hash by the square of
their length. Everything else is `NotLiteral`: that is no fault of a test, which then is run.

Left out: `math.isclose`, whose tolerance is relative to the result, too; views of a result such as `len(f(x))`.
"""

from __future__ import annotations

import ast
import builtins
import json
import math
import operator
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

from selfplay.cases.calls import call_text
from selfplay.cases.values import MAX_BYTES, encode

TOTAL = 8 * MAX_BYTES  # weight of all that is read of one text
_PART = 20  # weight of a value beside its characters, so that the limit of bytes is one of parts too
_MAX_BITS = 33_000  # of an integer: some 10,000 digits
_COMPARED = {"Eq": "==", "NotEq": "!=", "Is": "is", "IsNot": "is_not", "In": "in", "NotIn": "not_in"}
_COMPARED |= {"Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">="}
_FLIPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "is": "is", "is_not": "is_not"}
_PAIRED = (("==", "!="), ("is", "is_not"), ("in", "not_in"), ("truthy", "falsy"))
_NEGATED = {**dict(_PAIRED), **{b: a for a, b in _PAIRED}}
_SIGNS: dict[str, Callable[[Any], Any]] = {"USub": operator.neg, "UAdd": operator.pos}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {"Add": operator.add, "Sub": operator.sub, "Mult": operator.mul}
_ARITHMETIC |= {"Div": operator.truediv, "Pow": operator.pow}
_MAKERS: dict[str, Callable[[Any], Any]] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
_NUMBERS = (int, float, complex)
_SCATTERED = (str, bytes, float, bool, type(None))  # of which not many share a hash
_NAMELESS = (
    ast.expr_context,
    ast.Constant,
    ast.Compare,
    ast.cmpop,
    ast.Call,
    ast.List,
    ast.Tuple,
    ast.Assert,
    ast.alias,
)
_FOREIGN = sys.stdlib_module_names | {"pytest", "_pytest"}


class NotLiteral(ValueError):
    """An assertion that is not read, and therefore run."""


class Stated(NamedTuple):
    """The data of a literal case (case.py)."""

    arguments: str
    operator: str
    expected: str
    tolerance: tuple[float, float] = (0.0, 0.0)


class Names:
    """What the names of a text mean: how often it `bound` (as an argument, too) and `mentioned` each, what it `imports`, by
    name its path, and all its `words`."""

    def __init__(self, body: Iterable[ast.stmt]) -> None:
        self.bound, self.mentioned = Counter[str](), Counter[str]()
        self.imports, self.words = dict[str, str](), set[str]()
        for node in (inner for statement in body for inner in ast.walk(statement) if not isinstance(inner, _NAMELESS)):
            match node:
                case ast.Name(name, ast.Load()):
                    self.mentioned[name] += 1
                case ast.Attribute(attr=str(name), ctx=ast.Load()) | ast.keyword(str(name)):
                    self.words.add(name)
                case ast.Import(aliases) | ast.ImportFrom(names=aliases):
                    for alias in aliases:
                        self._import(alias, "" if isinstance(node, ast.Import) else f"{node.module or ''}.")
                case _:
                    names = [getattr(node, field, None) for field in ("id", "attr", "name", "arg", "rest")]
                    self.bound.update([name for name in names if isinstance(name, str)])
        self.words |= self.mentioned.keys() | self.bound.keys()

    def _import(self, alias: ast.alias, module: str) -> None:
        path = module + alias.name
        if not module and not alias.asname:
            path = alias.name.partition(".")[0]
        self.words.update(path.split("."))
        if self.imports.setdefault(alias.asname or path.removeprefix(module), path) != path:
            self.bound[alias.asname or path.removeprefix(module)] += 1

    def path(self, node: ast.expr) -> str:
        """The path of what is called: an imported name, or an attribute of a module. A text without imports may name pytest."""
        match node:
            case ast.Call(ast.Attribute(ast.Name(name), attr)) if name not in self.bound:
                return f"{self.imports.get(name, name)}.{attr}"
            case ast.Call(ast.Name(name)) if name not in self.bound:
                return self.imports.get(name, "")
        return ""

    def is_builtin(self, name: str) -> bool:
        """Whether a name is nobody's but Python's."""
        return name not in self.bound and name not in self.imports

    def may_replace(self, entry_point: str) -> bool:
        """Whether the text may give another meaning to the function under test."""
        path = self.imports.get(entry_point, f".{entry_point}")
        foreign = {one.partition(".")[0] for one in (path, self.imports.get("*", ""))} & _FOREIGN
        return bool({entry_point, "*"} & self.bound.keys() or foreign) or not path.endswith(f".{entry_point}")


class Evaluator:
    """Reads assertions of one text, whose `names` are known, within `TOTAL`."""

    def __init__(self, names: Names) -> None:
        self.names, self.total, self.left = names, TOTAL, 0
        self.subjects: Collection[str] = ()

    def stated(self, node: ast.stmt, subjects: Collection[str]) -> Stated:
        """What a statement says; the function under test has the names `subjects`. Raises NotLiteral."""
        self.subjects, self.left = subjects, min(MAX_BYTES, self.total)
        self.total -= self.left
        try:
            return self._statement(node)
        except (ArithmeticError, LookupError, ValueError, TypeError) as error:
            raise NotLiteral(str(error)) from None  # what Python would raise, too, is left to it
        finally:
            self.total += max(0, self.left)

    # ---- assertions ----

    def _statement(self, node: ast.stmt) -> Stated:
        match node:
            case ast.Assert(test):
                return self._condition(test)
            case ast.With([ast.withitem(ast.Call(_, [kinds], []) as guard, None)], [ast.Expr(call)]):
                if self.names.path(guard) == "pytest.raises":
                    found = {
                        self._exception(kind) for kind in (kinds.elts if isinstance(kinds, ast.Tuple) else [kinds])
                    }
                    return Stated(self._call(call), "raises", json.dumps(sorted(found)))
        raise NotLiteral("no assertion of one call")

    def _exception(self, kind: ast.expr) -> str:
        name = kind.id if isinstance(kind, ast.Name) and self.names.is_builtin(kind.id) else ""
        found = getattr(builtins, name, None)
        if isinstance(found, type) and issubclass(found, BaseException):
            return found.__name__
        raise NotLiteral("no built-in exception")

    def _condition(self, test: ast.expr) -> Stated:
        match test:
            case ast.Compare(left, [compared], [right]):
                return self._comparison(left, _COMPARED[type(compared).__name__], right)
            case ast.UnaryOp(ast.Not(), inner):
                stated = self._condition(inner)
                return stated._replace(operator=_NEGATED[stated.operator])
        return Stated(self._call(test), "truthy", "true")

    def _comparison(self, left: ast.expr, name: str, right: ast.expr) -> Stated:
        if not _calls(left, self.subjects) and name in _FLIPPED and _calls(right, {"abs", *self.subjects}):
            left, name, right = right, _FLIPPED[name], left
        for result, other in ((left, right), (right, left)) if name == "==" else ():
            if isinstance(other, ast.Call) and self.names.path(other) == "pytest.approx":
                return self._approx(result, other)
        if name in ("<", "<=") and _calls(left, {"abs"}) and self.names.is_builtin("abs"):
            return self._distance(left, name, right)
        arguments, expected = self._call(left), self.value(right)
        if name in ("is", "is_not") and not (expected is None or type(expected) is bool):
            raise NotLiteral("an identity that no value has")
        return Stated(arguments, name, encode(expected, strict=True))

    def _approx(self, left: ast.expr, approx: ast.Call) -> Stated:
        """`f(x) == pytest.approx(expected, rel, abs)`: an absolute tolerance alone switches the relative one off."""
        given = dict(zip(("expected", "rel", "abs"), map(self.value, approx.args), strict=False))
        given |= self._named(approx.keywords)
        expected = given["expected"]
        values = expected.values() if isinstance(expected, dict) else expected
        if not all(type(one) in _NUMBERS for one in (values if type(expected) in (list, tuple, dict) else [values])):
            raise NotLiteral("approx of what is no number")
        if len(given) != len(approx.args) + len(approx.keywords) or not given.keys() <= {"expected", "rel", "abs"}:
            raise NotLiteral("approx with other arguments")
        rel, absolute = given.get("rel", 0.0 if "abs" in given else 1e-6), given.get("abs", 1e-12)
        return Stated(self._call(left), "approx", encode(expected), (_tolerance(rel), _tolerance(absolute)))

    def _distance(self, distance: ast.expr, name: str, limit: ast.expr) -> Stated:
        """`abs(f(x) - expected) < limit`, either way round. A Decimal that equals a float passes it, though Python would not
        subtract them."""
        match distance:
            case ast.Call(args=[ast.BinOp(a, ast.Sub(), b)], keywords=[]):
                call, node = (a, b) if _calls(a, self.subjects) else (b, a)
                expected, most = self.value(node), _tolerance(self.value(limit))
                if type(expected) in (int, float) and math.isfinite(expected) and (most > 0 or name == "<="):
                    most = math.nextafter(most, 0) if name == "<" else most
                    return Stated(self._call(call), "approx", encode(expected), (0.0, most))
        raise NotLiteral("no distance from a number")

    def _call(self, node: ast.expr) -> str:
        """The arguments of a call of the function under test, as text (calls.py)."""
        if not isinstance(node, ast.Call) or not _calls(node, self.subjects):
            raise NotLiteral("no call of what is under test")
        return call_text([self.value(one) for one in node.args], self._named(node.keywords))

    def _named(self, keywords: list[ast.keyword]) -> dict[str, Any]:
        named = {keyword.arg or _raise("unpacked keywords"): self.value(keyword.value) for keyword in keywords}
        return named if len(named) == len(keywords) else _raise("a keyword twice")

    # ---- values ----

    def value(self, node: ast.expr) -> Any:
        """The value of an expression. Raises NotLiteral and what Python would raise."""
        self._pay(_PART)
        match node:
            case ast.Constant(value=value):
                self._pay(_weight([value], self.left))
                return value if not isinstance(value, int) or value.bit_length() <= _MAX_BITS else _raise("too long")
            case ast.List(elts) | ast.Tuple(elts) | ast.Set(elts):
                items = [self.value(one) for one in elts]
                if isinstance(node, ast.Set):
                    return set(self._keys(items))
                return items if isinstance(node, ast.List) else tuple(items)
            case ast.Dict(keys, values):
                made = [self.value(key or _raise("an unpacked dictionary")) for key in keys]
                return dict(zip(self._keys(made), [self.value(one) for one in values], strict=True))
            case ast.UnaryOp(sign, inner):
                return _SIGNS[type(sign).__name__](self.value(inner))
            case ast.BinOp(left, sign, right):
                a, b = self.value(left), self.value(right)
                self._pay_for(sign, a, b)
                return _ARITHMETIC[type(sign).__name__](a, b)
            case ast.Call(ast.Name(name), arguments, keywords) if self.names.is_builtin(name):
                return self._made(name, [self.value(one) for one in arguments], self._named(keywords))
        raise NotLiteral("no literal")

    def _made(self, name: str, given: list[Any], named: dict[str, Any]) -> Any:
        of = given[0] if given else ()
        if name == "dict" and len(given) < 2:
            pairs = [*of.items()] if isinstance(of, dict) else self._made("list", given, {})
            return dict(zip(self._keys([key for key, _ in pairs]), [value for _, value in pairs], strict=True), **named)
        if name == "range" and not named:
            return range(*given)
        if name == "float" and not named and not (isinstance(of, str) and len(of) > 100):
            return float(*given)
        if name not in _MAKERS or named or len(given) > 1:
            raise NotLiteral("another call")
        self._pay(_PART * len(of))
        if name in ("set", "frozenset"):
            return _MAKERS[name](self._keys([*of]))
        return _MAKERS[name](of if not isinstance(of, (set, frozenset)) else _raise("the order of a set"))

    def _keys(self, keys: list[Any]) -> list[Any]:
        """What is to be hashed, paid for."""
        if not all(type(key) in _SCATTERED or (type(key) is int and key.bit_length() < 61) for key in keys):
            self._pay(_weight(keys, self.left) + len(keys) ** 2)
        return keys

    def _pay(self, weight: int) -> None:
        self.left -= weight
        if self.left < 0:
            raise NotLiteral("too large")

    def _pay_for(self, sign: ast.operator, a: Any, b: Any) -> None:
        if isinstance(a, int) and isinstance(b, int):
            bits = a.bit_length() * max(0, b) if isinstance(sign, ast.Pow) else a.bit_length() + b.bit_length()
            return self._pay(bits) if bits <= _MAX_BITS else _raise("an integer that is too long")
        if not isinstance(sign, ast.Mult):
            return self._pay(_weight([a, b], self.left))
        times, many = (a, b) if isinstance(a, int) else (b, a)  # what is repeated is characters, or items
        once = (
            len(many)
            if isinstance(many, (str, bytes))
            else _weight(many, self.left)
            if type(many) in (list, tuple)
            else 0
        )
        return self._pay(once * max(1, times)) if once else None


def _raise(what: str) -> Any:
    raise NotLiteral(what)


def _calls(node: ast.expr, names: Collection[str]) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def _tolerance(value: Any) -> float:
    good = type(value) in (int, float) and 0 <= value < math.inf and float(value) == value
    return float(value) if good else _raise("no tolerance")


def _weight(values: Iterable[Any], limit: int) -> int:
    """The weight of values and all their parts, where it is within the limit."""
    todo, weight = [*values], 0
    while todo and weight <= limit:
        value = todo.pop()
        weight += _PART + (2 * len(value) if isinstance(value, (str, bytes)) else 0)
        if isinstance(value, dict):
            todo += [*value.keys(), *value.values()]
        elif isinstance(value, (list, tuple, set, frozenset)):
            todo += value
    return weight
