"""The operators and builtin functions that the interpreter knows, each with a guard on what it may cost.

Whatever is not listed here is not evaluated. Left out on purpose: `%` and full `format` (a width of a billion is a
billion characters), `getattr` (the way to everything else), `random`, `open`, `eval`.
"""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable
from typing import Any

from selfplay.judging.reading.budget import MAX_BITS, Budget, Lazy, NotReadable, Unknown, bits, hashable

Call = Callable[..., Any]  # a host function called with (budget, apply, arguments, keywords)


class Native:
    """A known function. `apply` lets it call functions of the test itself (the `key` of `sorted`)."""

    __slots__ = ("function", "name")

    def __init__(self, name: str, function: Call) -> None:
        self.name, self.function = name, function


class ExceptionType(Unknown):
    """An exception class, by name."""

    what = "an exception class"

    def __init__(self, name: str) -> None:
        self.name = name

    def call(self, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        return self


def binary(budget: Budget, name: str, a: Any, b: Any) -> Any:
    """`a` and `b` combined by the operator whose ast name is given; raises NotReadable for what would be too large."""
    if name not in _BINARY:
        raise NotReadable("unsupported", f"the operator {name}")
    budget.weigh(a)
    budget.weigh(b)
    _guard(budget, name, a, b)
    result = _BINARY[name](a, b)
    if isinstance(result, int):
        return bits(result)
    if isinstance(result, (set, frozenset, dict)):
        hashable(list(result))
    return result


def _guard(budget: Budget, name: str, a: Any, b: Any) -> None:
    if name == "Mult":
        _guard_product(budget, a, b)
    elif name == "Add" and hasattr(a, "__len__") and hasattr(b, "__len__"):
        budget.sized(len(a) + len(b))
    elif name == "Pow" and isinstance(a, int) and isinstance(b, int) and a.bit_length() * abs(b) > MAX_BITS:
        raise NotReadable("budget", "a power that is too large")
    elif name == "LShift" and isinstance(b, int) and b > MAX_BITS:
        raise NotReadable("budget", "a shift that is too large")
    elif name == "Mod" and isinstance(a, (str, bytes, bytearray)):
        raise NotReadable("unsupported", "formatting with %")


def _guard_product(budget: Budget, a: Any, b: Any) -> None:
    for sequence, times in ((a, b), (b, a)):
        if hasattr(sequence, "__len__") and isinstance(times, int):
            budget.sized(len(sequence) * times)


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Pow": operator.pow,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
    "BitOr": operator.or_,
    "BitAnd": operator.and_,
    "BitXor": operator.xor,
}

UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
}


def compare(budget: Budget, name: str, a: Any, b: Any) -> bool:
    """A comparison by its operator as written: == < in is_not ..."""
    if isinstance(b, Lazy) and name in ("in", "not_in"):
        b = list(b)
    budget.weigh(a)
    budget.weigh(b)
    if name in ("in", "not_in"):
        if isinstance(b, range) and type(a) is not int:  # anything else is searched for item by item
            b = budget.items(b)
        return (a in b) == (name == "in")
    return _COMPARE[name](a, b)


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is_not": operator.is_not,
}


def native(name: str) -> Callable[[Call], Call]:
    """Enter a function with the full signature (budget, apply, arguments, keywords) as a builtin."""

    def enter(function: Call) -> Call:
        BUILTINS[name] = Native(name, function)
        return function

    return enter


def plain(function: Callable[..., Any]) -> Call:
    """A function of data: its arguments are paid for and its result is measured."""

    def call(budget: Budget, apply: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        budget.weigh(arguments)
        budget.weigh(keywords)
        result = function(*arguments, **keywords)
        return bits(result) if isinstance(result, int) else result

    return call


def _of_items(function: Callable[[list[Any]], Any]) -> Call:
    """A function of at most one iterable."""

    def call(budget: Budget, apply: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if keywords or len(arguments) > 1:
            raise NotReadable("unsupported", "more than one argument")
        return function(budget.items(arguments[0]) if arguments else [])

    return call


def _checked_set(kind: type) -> Callable[[list[Any]], Any]:
    return lambda items: kind(hashable(items))


def _any_all(function: Callable[[list[Any]], bool]) -> Callable[[list[Any]], bool]:
    def call(items: list[Any]) -> bool:
        for item in items:
            if isinstance(item, Unknown):
                item._refuse()
        return function(items)

    return call


BUILTINS: dict[str, Any] = {
    **{f.__name__: Native(f.__name__, plain(f)) for f in (abs, bin, bool, chr, complex, divmod, hex, oct, ord)},
    **{f.__name__: Native(f.__name__, plain(f)) for f in (range, round, slice, int, float, str, repr)},
    **{f.__name__: Native(f.__name__, _of_items(f)) for f in (list, tuple)},
    **{f.__name__: Native(f.__name__, _of_items(_checked_set(f))) for f in (set, frozenset)},
    **{f.__name__: Native(f.__name__, _of_items(_any_all(f))) for f in (any, all)},
    "len": Native("len", lambda budget, apply, arguments, keywords: len(*arguments)),  # looks into nothing: free
    "reversed": Native("reversed", _of_items(lambda items: Lazy(items[::-1]))),
    "iter": Native("iter", _of_items(Lazy)),
    "NotImplemented": NotImplemented,
    "Ellipsis": Ellipsis,
    **{
        name: ExceptionType(name)
        for name, kind in vars(builtins).items()
        if isinstance(kind, type) and issubclass(kind, BaseException)
    },
}


@native("dict")
def _dict(budget: Budget, apply: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    pairs = arguments[0] if arguments else ()
    if not isinstance(pairs, dict):
        pairs = [budget.items(pair) for pair in budget.items(pairs)]
        hashable([pair[0] for pair in pairs if pair])
    return dict(pairs, **keywords)


@native("sum")
def _sum(budget: Budget, apply: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    items, start = budget.items(arguments[0]), [*arguments[1:], keywords.get("start", 0)][0]
    budget.weigh(items)
    budget.weigh(start)
    if isinstance(start, (list, tuple)):
        budget.sized(len(items) * sum(map(len, items)) // 8)
    return sum(items, start)


@native("sorted")
def sorted_items(budget: Budget, apply: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    items = list(budget.weigh(budget.items(arguments[0])))
    key = keywords.get("key")
    if key is None:
        return sorted(items, reverse=bool(keywords.get("reverse", False)))
    keyed = [(budget.weigh(apply(key, [item])), position) for position, item in enumerate(items)]
    reverse = bool(keywords.get("reverse", False))
    keyed = sorted(keyed, key=operator.itemgetter(0), reverse=reverse)
    return [items[position] for _, position in keyed]


def _extreme(best: Callable[..., Any]) -> Call:
    def call(budget: Budget, apply: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        items = budget.weigh(budget.items(arguments[0]) if len(arguments) == 1 else list(arguments))
        key = keywords.get("key")
        if not items and "default" in keywords:
            return keywords["default"]
        return best(items, key=(lambda item: budget.weigh(apply(key, [item]))) if key is not None else None)

    return call


BUILTINS["min"], BUILTINS["max"] = Native("min", _extreme(min)), Native("max", _extreme(max))


@native("zip")
def _zip(budget: Budget, apply: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return Lazy(zip(*(budget.items(argument) for argument in arguments), strict=bool(keywords.get("strict", False))))


@native("enumerate")
def _enumerate(budget: Budget, apply: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return Lazy(enumerate(budget.items(arguments[0]), *arguments[1:], **keywords))


@native("map")
def _map(budget: Budget, apply: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    columns = [budget.items(argument) for argument in arguments[1:]]
    return Lazy(apply(arguments[0], list(row)) for row in zip(*columns, strict=False))


@native("filter")
def _filter(budget: Budget, apply: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    items = budget.items(arguments[1])
    keep = [budget.weigh(apply(arguments[0], [item]) if arguments[0] is not None else item) for item in items]
    return Lazy(item for item, kept in zip(items, keep, strict=True) if kept)


@native("pow")
def _pow(budget: Budget, apply: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    if len(arguments) == 3:
        budget.weigh(arguments)
        return pow(*map(bits, arguments))
    return binary(budget, "Pow", *arguments)


@native("isinstance")
def _isinstance(budget: Budget, apply: Any, arguments: list[Any], keywords: dict[str, Any]) -> bool:
    value, wanted = arguments
    return isinstance(value, tuple(TYPES[name] for name in type_names(wanted)))


def type_names(wanted: Any) -> list[str]:
    """The names in the second argument of `isinstance`."""
    kinds = wanted if isinstance(wanted, tuple) else (wanted,)
    names = [kind.name if isinstance(kind, Native) else "" for kind in kinds]
    if not names or any(name not in TYPES for name in names):
        raise NotReadable("unsupported", "isinstance of a type that is not builtin")
    return names


TYPES: dict[str, type] = {
    kind.__name__: kind
    for kind in (int, float, str, bool, list, tuple, set, frozenset, dict, bytes, bytearray, complex, range)
}


@native("type")
def _type(budget: Budget, apply: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    raise NotReadable("unsupported", "the type of something known")


@native("print")
def _print(budget: Budget, apply: Any, arguments: list[Any], keywords: dict[str, Any]) -> None:
    return None


def _bytes(kind: type) -> Call:
    def call(budget: Budget, apply: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        budget.weigh(arguments)
        if arguments and isinstance(arguments[0], int):
            budget.sized(arguments[0])
        return kind(*arguments, **keywords)

    return call


BUILTINS["bytes"], BUILTINS["bytearray"] = Native("bytes", _bytes(bytes)), Native("bytearray", _bytes(bytearray))
