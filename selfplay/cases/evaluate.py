"""What a literal assertion says, as data: one call of the function under test, compared with a known value.

Known are literals, their displays, `range`, `list`, `tuple`, `set`, `frozenset`, `dict`, `float`, signs, `+`, `-`, `*` and
`**`. Values are made as trees (values.py), never as objects: no set of the text's choosing is hashed. What an operation
makes is paid for before it is made. Everything else is `NotLiteral`: it is no fault of a test, which then is run.

Left out: `math.isclose`, whose tolerance is also relative to the result; views of a result such as `len(f(x))`.
"""

from __future__ import annotations

import ast
import builtins
import json
import math
import operator
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, NamedTuple

from selfplay.cases.equality import canonical, hashable, items_of, range_key, tag_of
from selfplay.cases.steps import Mismatch
from selfplay.cases.values import MAX_BYTES, Tree, checked, dump, integer, number, rebuild

TOTAL = 8 * MAX_BYTES  # weight of all that is read of one text
_PART = 20  # weight of a value beside its characters, so that the limit of bytes is one of parts too
_MAX_BITS = 33_000  # of an integer: some 10,000 digits
_MAX_DEPTH = 100
_KNOWN = ("range", "list", "tuple", "set", "frozenset", "dict", "float")
_COMPARED: dict[type[ast.cmpop], str] = {
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
_FLIPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "is": "is", "is_not": "is_not"}
_PAIRED = (("==", "!="), ("is", "is_not"), ("in", "not_in"), ("truthy", "falsy"))
_NEGATED = {**dict(_PAIRED), **{b: a for a, b in _PAIRED}}


class NotLiteral(ValueError):
    """An assertion that is not read, and therefore run."""


class Names(NamedTuple):
    """What names of a text mean: the `subjects` are the function under test, `bound` is what the text binds itself, and
    `imports` is what it imports, by name its path."""

    subjects: frozenset[str]
    bound: Container[str]
    imports: Mapping[str, str]


class Stated(NamedTuple):
    """The data of a literal case (case.py)."""

    arguments: str
    operator: str
    expected: str
    tolerance: tuple[float, float] = (0.0, 0.0)


class Evaluator:
    """Reads assertions of one text, within `TOTAL`."""

    def __init__(self) -> None:
        self.total = TOTAL
        self.left = 0
        self.names = Names(frozenset(), frozenset(), {})

    def stated(self, node: ast.stmt, names: Names) -> Stated:
        """What a statement says. Raises NotLiteral."""
        self.names = names
        self.left = given = min(MAX_BYTES, self.total)
        try:
            return self._statement(node)
        except (Mismatch, ArithmeticError, ValueError, TypeError) as error:
            raise NotLiteral(str(error)) from None  # what Python would raise, too, is left to it
        finally:
            self.total -= given - max(0, self.left)

    # ---- assertions ----

    def _statement(self, node: ast.stmt) -> Stated:
        match node:
            case ast.Assert(test=test):
                return self._condition(test)
            case ast.With(items=[ast.withitem(ast.Call(of, [kinds], []), None)], body=[ast.Expr(call)]):
                if self.path(of) == "pytest.raises":
                    return Stated(self._call(call), "raises", json.dumps(self._exceptions(kinds)))
        raise NotLiteral("no assertion of one call")

    def _condition(self, test: ast.expr) -> Stated:
        match test:
            case ast.Compare(left, [compared], [right]):
                return self._comparison(left, _COMPARED[type(compared)], right)
            case ast.UnaryOp(ast.Not(), inner):
                stated = self._condition(inner)
                if stated.operator in _NEGATED:
                    return stated._replace(operator=_NEGATED[stated.operator])
            case ast.Call():
                return Stated(self._call(test), "truthy", "true")
        raise NotLiteral("no comparison of one call")

    def _comparison(self, left: ast.expr, name: str, right: ast.expr) -> Stated:
        if not self._is_subject(left) and name in _FLIPPED and (self._is_subject(right) or _is_call(right, "abs")):
            left, name, right = right, _FLIPPED[name], left
        if name == "==" and isinstance(left, ast.Call) and self.path(left.func) == "pytest.approx":
            left, right = right, left
        if name == "==" and isinstance(right, ast.Call) and self.path(right.func) == "pytest.approx":
            return self._approx(left, right)
        if name in ("<", "<=") and _is_call(left, "abs") and self._is_builtin("abs"):
            return self._distance(left, name, right)
        arguments, expected = self._call(left), self.value(right)
        if name in ("is", "is_not") and not (expected is None or type(expected) is bool):
            raise NotLiteral("an identity that no value has")
        return Stated(arguments, name, self._text(expected))

    def _approx(self, left: ast.expr, approx: ast.Call) -> Stated:
        """`f(x) == pytest.approx(expected, rel, abs)`: an absolute tolerance alone switches the relative one off."""
        given = dict(zip(("expected", "rel", "abs"), approx.args, strict=False))
        given |= {keyword.arg or "": keyword.value for keyword in approx.keywords}
        if len(approx.args) + len(approx.keywords) != len(given) or not {"expected"} <= set(given) <= {
            "expected",
            "rel",
            "abs",
        }:
            raise NotLiteral("approx with other arguments")
        expected = self.value(given["expected"])
        values = [pair[1] for pair in expected[1:]] if tag_of(expected) == "d" else [expected]
        values = items_of(expected) if tag_of(expected) in ("l", "t") else values
        if not all(type(one) is not bool and number(one) is not None for one in values):
            raise NotLiteral("approx of what is no number")
        rel = self._tolerance(given["rel"]) if "rel" in given else 0.0 if "abs" in given else 1e-6
        return Stated(
            self._call(left),
            "approx",
            self._text(expected),
            (rel, self._tolerance(given["abs"]) if "abs" in given else 1e-12),
        )

    def _distance(self, distance: ast.expr, name: str, limit: ast.expr) -> Stated:
        """`abs(f(x) - expected) < limit`, either way round."""
        match distance:
            case ast.Call(args=[ast.BinOp(a, ast.Sub(), b)], keywords=[]):
                call, value = (a, b) if self._is_subject(a) else (b, a)
                expected = self.value(value)
                if type(expected) is not bool and math.isfinite(_real(expected)):
                    most = self._tolerance(limit)
                    if name == "<" and most == 0:
                        raise NotLiteral("a distance below 0")
                    most = math.nextafter(most, 0) if name == "<" else most
                    return Stated(self._call(call), "approx", self._text(expected), (0.0, most))
        raise NotLiteral("no distance from a number")

    def _tolerance(self, node: ast.expr) -> float:
        value = _real(self.value(node))
        if not (math.isfinite(value) and value >= 0 and float(value) == value):
            raise NotLiteral("no tolerance")
        return float(value)

    def _exceptions(self, kinds: ast.expr) -> list[str]:
        """The names of built-in exceptions."""
        names: list[str] = []
        for kind in kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]:
            found = (
                getattr(builtins, kind.id, None) if isinstance(kind, ast.Name) and self._is_builtin(kind.id) else None
            )
            if not (isinstance(found, type) and issubclass(found, BaseException)):
                raise NotLiteral("no built-in exception")
            names.append(found.__name__)
        return sorted(set(names))

    # ---- names and calls ----

    def path(self, node: ast.expr) -> str:
        """The path of an imported name or of an attribute of one. Statements without imports may name pytest."""
        match node:
            case ast.Attribute(ast.Name(id=name), attr) if name not in self.names.bound:
                return f"{self.names.imports.get(name, name)}.{attr}"
            case ast.Name(id=name) if name not in self.names.bound:
                return self.names.imports.get(name, "")
        return ""

    def _is_subject(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self.names.subjects

    def _is_builtin(self, name: str) -> bool:
        return name not in self.names.bound and name not in self.names.imports

    def _call(self, node: ast.expr) -> str:
        """The arguments of a call of the function under test, as text (calls.py)."""
        if not isinstance(node, ast.Call) or not self._is_subject(node):
            raise NotLiteral("no call of what is under test")
        names = [keyword.arg for keyword in node.keywords]
        if None in names or len(set(names)) < len(names):
            raise NotLiteral("keywords that are not written out")
        tree: Tree = ["l", *map(self.value, node.args)]
        if names:
            tree = ["d", ["", tree], *([keyword.arg, self.value(keyword.value)] for keyword in node.keywords)]
        return self._text(tree)

    def _text(self, tree: Tree) -> str:
        text = dump(checked(tree))
        if len(text) > MAX_BYTES:
            raise NotLiteral("too large")
        return text

    # ---- values ----

    def value(self, node: ast.expr, depth: int = _MAX_DEPTH) -> Tree:
        """The tree of an expression. Raises NotLiteral and what Python would raise."""
        self._spend(_PART)
        if depth <= 0:
            raise NotLiteral("nested too deep")
        match node:
            case ast.Constant(value=value):
                return self._constant(value)
            case ast.List(elts) | ast.Tuple(elts) | ast.Set(elts):
                return self._collection(_TAGS[type(node)], [self.value(one, depth - 1) for one in elts])
            case ast.Dict(keys, values):
                pairs = zip(keys, values, strict=True)
                return self._dictionary([(self._key(k, depth), self.value(v, depth - 1)) for k, v in pairs])
            case ast.UnaryOp(sign, inner) if type(sign) in _SIGNS:
                return self._number(_SIGNS[type(sign)](_numeric(self.value(inner, depth - 1))))
            case ast.BinOp(left, sign, right):
                return self._arithmetic(type(sign), self.value(left, depth - 1), self.value(right, depth - 1))
            case ast.Call(ast.Name(id=name), arguments, keywords) if name in _KNOWN and self._is_builtin(name):
                given = [self.value(one, depth - 1) for one in arguments]
                if name == "dict":
                    return self._dict_of(given, keywords, depth)
                if not keywords:
                    return self._made(name, given)
        raise NotLiteral("no literal")

    def _spend(self, weight: int) -> None:
        self.left -= weight
        if self.left < 0:
            raise NotLiteral("too large")

    def _weigh(self, trees: Sequence[Tree], times: int = 1) -> None:
        """Pay for so many copies of some trees."""
        todo, weight = list(trees), 0
        while todo:
            tree = todo.pop()
            weight += _PART + (len(tree) if type(tree) is str else 0)
            if type(tree) is list:
                todo += tree[1:]
        self._spend(weight * max(1, times))

    def _constant(self, value: object) -> Tree:
        if isinstance(value, str):
            self._spend(len(value))
            return value
        if isinstance(value, bytes):
            self._spend(2 * len(value))
            return ["b", value.hex()]
        return value if value is None or isinstance(value, bool) else self._number(value)

    def _number(self, value: object) -> Tree:
        if isinstance(value, int) and value.bit_length() <= _MAX_BITS:
            self._spend(value.bit_length() // 4)
            return integer(int(value))
        if isinstance(value, float):
            return ["f", repr(value)]
        if isinstance(value, complex):
            return ["c", repr(value.real), repr(value.imag)]
        raise NotLiteral("no number, or one that is too long")

    def _key(self, node: ast.expr | None, depth: int) -> Tree:
        if node is None:
            raise NotLiteral("an unpacked dictionary")
        return self.value(node, depth - 1)

    def _collection(self, tag: str, items: Sequence[Tree]) -> Tree:
        if tag not in ("s", "z"):
            return [tag, *items]
        self._weigh(items, 2)
        return [tag, *sorted(self._once(items).values(), key=dump)]

    def _once(self, keys: Sequence[Tree]) -> dict[str, Tree]:
        """The first of equal ones, by the text that equal values share, as sets and dictionaries keep it."""
        if not all(map(hashable, keys)):
            raise NotLiteral("not hashable")
        return {canonical(key): key for key in reversed(keys)}

    def _dictionary(self, pairs: Sequence[tuple[Tree, Tree]]) -> Tree:
        keys = [key for key, _ in pairs]
        self._weigh(keys)
        first = self._once(keys)
        last = {canonical(key): value for key, value in pairs}
        return ["d", *([first[text], value] for text, value in last.items())]

    def _dict_of(self, given: list[Tree], keywords: list[ast.keyword], depth: int) -> Tree:
        if len(given) > 1 or any(keyword.arg is None for keyword in keywords):
            raise NotLiteral("dict with other arguments")
        source = given[0] if given else ["l"]
        rows = source[1:] if tag_of(source) == "d" else [self._items(row, True) for row in self._items(source, True)]
        pairs = [(row[0], row[1]) for row in rows if len(row) == 2 or _raise("a pair has two items")]
        return self._dictionary([*pairs, *((k.arg, self.value(k.value, depth - 1)) for k in keywords)])

    def _made(self, name: str, given: list[Tree]) -> Tree:
        if name == "range":
            start, stop, step = slice_of(given)
            return ["r", *map(integer, (start, stop, step))] if step else _raise("a step of 0")
        if len(given) > 1:
            raise NotLiteral("more than one argument")
        if name == "float":
            return self._number(float(_text_or_number(given[0]) if given else 0.0))
        items = self._items(given[0], name in ("list", "tuple")) if given else []
        return self._collection(_TAGS_BY_NAME[name], items)

    def _items(self, tree: Tree, ordered: bool) -> list[Tree]:
        """The items of an iterable; of a set only where their order does not count."""
        tag = tag_of(tree)
        if tag == "r":
            length = range_key(tree)[0]
            self._spend(_PART * length)
            return [integer(item) for item in rebuild(tree)]
        if tag == "b":
            return list(rebuild(tree))
        if tag == "d":
            return [key for key, _ in tree[1:]]
        if type(tree) is str:
            self._spend(_PART * len(tree))
            return list(tree)
        if tag in ("l", "t") or (tag in ("s", "z") and not ordered):
            return items_of(tree)
        raise NotLiteral("no iterable, or one whose order nobody knows")

    def _arithmetic(self, sign: type[ast.operator], a: Tree, b: Tree) -> Tree:
        if number(a) is not None and number(b) is not None:
            x, y = _numeric(a), _numeric(b)
            if isinstance(x, int) and isinstance(y, int) and _bits(sign, x, y) > _MAX_BITS:
                raise NotLiteral("an integer that is too long")
            return self._number(_ARITHMETIC[sign](x, y) if sign in _ARITHMETIC else _raise("another operator"))
        if sign is ast.Mult:
            times, of = (a, b) if number(a) is not None else (b, a)
            return self._repeated(of, int(times) if type(times) in (int, bool) else _raise("no whole number"))
        if sign is ast.Add and type(a) is type(b) and tag_of(a) == tag_of(b):
            self._weigh([a, b])
            if type(a) is str:
                return a + b
            if tag_of(a) in ("l", "t"):
                return [*a, *b[1:]]
            if tag_of(a) == "b":
                return ["b", a[1] + b[1]]
        raise NotLiteral("no arithmetic of these")

    def _repeated(self, tree: Tree, times: int) -> Tree:
        if type(tree) is str:
            self._spend(len(tree) * max(1, times))
            return tree * times
        self._weigh([tree], times)
        if tag_of(tree) in ("l", "t"):
            return [tree[0], *tree[1:] * times]
        if tag_of(tree) == "b":
            return ["b", tree[1] * times]
        raise NotLiteral("no sequence")


_TAGS: dict[type[ast.expr], str] = {ast.List: "l", ast.Tuple: "t", ast.Set: "s"}
_TAGS_BY_NAME = {"list": "l", "tuple": "t", "set": "s", "frozenset": "z"}
_SIGNS: dict[type[ast.unaryop], Callable[[Any], Any]] = {ast.USub: operator.neg, ast.UAdd: operator.pos}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
}


def _raise(what: str) -> Any:
    raise NotLiteral(what)


def _is_call(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _numeric(tree: Tree) -> int | float | complex:
    value = number(tree)
    return _raise("no number") if value is None else value


def _real(tree: Tree) -> int | float:
    value = _numeric(tree)
    return _raise("a complex number") if isinstance(value, complex) else value


def _text_or_number(tree: Tree) -> Any:
    return tree[:1_000] if type(tree) is str else _real(tree)


def _bits(sign: type[ast.operator], x: int, y: int) -> int:
    """How long the result may get. A negative exponent makes a float."""
    if sign is ast.Pow:
        return x.bit_length() * max(0, y)
    return x.bit_length() + y.bit_length()


def slice_of(given: list[Tree]) -> tuple[int, int, int]:
    """Start, stop and step of a range."""
    bounds = [value if isinstance(value := number(one), int) else _raise("no whole number") for one in given]
    match bounds:
        case [stop]:
            return 0, stop, 1
        case [start, stop]:
            return start, stop, 1
        case [start, stop, step]:
            return start, stop, step
    raise NotLiteral("a range of nothing")
