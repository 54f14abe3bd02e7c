"""The builtin functions that the interpreter knows.

Whatever is not listed here, among the operators (operators.py) or the methods and modules (methods.py) is not evaluated.
Left out on purpose: `format` with specifications, `getattr` (the way to everything else), `random`, `open`, `eval`.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable

from selfplay.reading import costs
from selfplay.reading.budget import Budget
from selfplay.reading.native import Call, Native, Offered, native
from selfplay.reading.operators import binary, short
from selfplay.reading.refusals import NotReadable
from selfplay.reading.unknown import Apply, Arguments, Data, Keywords, Lazy, Unknown


class ExceptionType(Unknown):
    """An exception class, by name."""

    what = "an exception class"

    def __init__(self, name: str) -> None:
        self.name = name

    def call(self, arguments: Arguments, keywords: Keywords) -> Data:
        return self


BUILTINS: dict[str, Data] = {
    **{f.__name__: Offered(f.__name__, costs.deep(), f) for f in (abs, bin, chr, complex, divmod, hex, oct, ord)},
    **{f.__name__: Offered(f.__name__, costs.written, f) for f in (str, repr)},
    **{f.__name__: Offered(f.__name__, costs.numeral, f) for f in (int, float)},
    **{f.__name__: Offered(f.__name__, costs.fixed, f) for f in (bool,)},
    "range": Offered("range", costs.deep(), range),
    "round": Offered("round", costs.rounded, round),
    "slice": Offered("slice", costs.bounds, slice),
    "NotImplemented": NotImplemented,
    "Ellipsis": Ellipsis,
    **{
        name: ExceptionType(name)
        for name, kind in vars(builtins).items()
        if isinstance(kind, type) and issubclass(kind, BaseException)
    },
}


def only(arguments: Arguments, keywords: Keywords) -> Data:
    """The one argument of a call, an empty list where there is none."""
    if keywords or len(arguments) > 1:
        raise NotReadable("unsupported", "more than one argument")
    return arguments[0] if arguments else []


@native(BUILTINS, "len")
def _len(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> int:
    if type(only(arguments, keywords)) is Lazy:
        raise NotReadable("unreadable", "an iterator has no len()")
    return len(*arguments)


@native(BUILTINS, "list")
def _list(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Data:
    return budget.items(only(arguments, keywords))


@native(BUILTINS, "tuple")
def _tuple(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Data:
    return tuple(budget.items(only(arguments, keywords)))


@native(BUILTINS, "set")
def set_of(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> set[Data]:
    """set(items)"""
    items = budget.items(only(arguments, keywords))
    budget.made(len(items), 64)
    return set(budget.keys(budget.weigh(items)))


@native(BUILTINS, "frozenset")
def _frozenset(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Data:
    return frozenset(set_of(budget, apply, arguments, keywords))


@native(BUILTINS, "any")
def _any(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> bool:
    return any(_known(budget.items(only(arguments, keywords))))


@native(BUILTINS, "all")
def _all(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> bool:
    return all(_known(budget.items(only(arguments, keywords))))


def _known(items: list[Data]) -> list[Data]:
    for item in items:
        if isinstance(item, Unknown):
            item.refuse()
    return items


@native(BUILTINS, "reversed")
def _reversed(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Data:
    return Lazy(reversed(budget.items(only(arguments, keywords))))


@native(BUILTINS, "iter")
def _iter(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Data:
    one = only(arguments, keywords)
    return one if type(one) is Lazy else Lazy(budget.items(one))


@native(BUILTINS, "next")
def _next(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Data:
    iterator = arguments[0]
    if type(iterator) is not Lazy:
        raise NotReadable("unreadable", f"a {type(iterator).__name__} is no iterator")
    found = next(iterator.rest(), _END)
    if found is _END and len(arguments) == 1:
        raise NotReadable("unreadable", "StopIteration")
    return arguments[1] if found is _END else found


_END = object()


@native(BUILTINS, "dict")
def _dict(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Data:
    return dict_of(budget, arguments[0] if arguments else {}, keywords)


def dict_of(budget: Budget, pairs: Data, keywords: Keywords) -> dict[Data, Data]:
    """A dictionary of another one or of pairs, and of keywords."""
    if not isinstance(pairs, dict):
        pairs = [budget.items(pair) for pair in budget.items(pairs)]
        budget.keys([pair[0] for pair in pairs if pair])
    budget.made(len(pairs) + len(keywords), 100)
    budget.weigh(list(pairs) if isinstance(pairs, dict) else [pair[0] for pair in pairs if pair])
    return dict(pairs, **keywords)


@native(BUILTINS, "sum")
def _sum(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Data:
    items, start = budget.items(arguments[0]), [*arguments[1:], keywords.get("start", 0)][0]
    budget.weigh(items)
    budget.weigh(start)
    if {type(start), *map(type, items)} <= _NUMBERS:
        return short(sum(items, start))
    if isinstance(start, (str, bytes, bytearray)):
        raise NotReadable("unreadable", "sum() of texts")
    for item in items:
        start = binary(budget, "Add", start, item)
    return start


_NUMBERS = frozenset({int, float, bool, complex})


@native(BUILTINS, "sorted")
def sorted_items(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> list[Data]:
    """sorted(items, key=None, reverse=False); the key is called once for each item."""
    items = budget.items(arguments[0])
    key, reverse = keywords.get("key"), bool(keywords.get("reverse", False))
    comparisons = len(items).bit_length() // 4 + 1  # that each item takes part in, as multiples of looking through it
    if key is None:
        return sorted(budget.weigh(items, comparisons), reverse=reverse)
    keyed = [(apply(key, [item]), position) for position, item in enumerate(budget.weigh(items))]
    budget.weigh([found for found, _ in keyed], comparisons)
    keyed.sort(key=operator.itemgetter(0), reverse=reverse)
    return [items[position] for _, position in keyed]


def _extreme(best: Callable[..., Data]) -> Call:
    def call(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Data:
        items = budget.weigh(budget.items(arguments[0]) if len(arguments) == 1 else list(arguments))
        key = keywords.get("key")
        if not items and "default" in keywords:
            return keywords["default"]
        return best(items, key=(lambda item: budget.weigh(apply(key, [item]))) if key is not None else None)

    return call


native(BUILTINS, "min")(_extreme(min))
native(BUILTINS, "max")(_extreme(max))


@native(BUILTINS, "zip")
def _zip(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Data:
    columns = [budget.items(argument) for argument in arguments]
    budget.made(min(map(len, columns), default=0), 64 + 8 * len(columns))
    return Lazy(zip(*columns, strict=bool(keywords.get("strict", False))))


@native(BUILTINS, "enumerate")
def _enumerate(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Data:
    items = budget.items(arguments[0])
    budget.made(len(items), 112)
    start = budget.weigh([*arguments[1:], keywords.get("start", 0)][0])
    if not isinstance(start, int) or start.bit_length() > 64:
        raise NotReadable("unsupported", "enumerate from something else than a small integer")
    return Lazy(enumerate(items, start))


@native(BUILTINS, "map")
def _map(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Data:
    columns = [budget.items(argument) for argument in arguments[1:]]
    return Lazy(apply(arguments[0], list(row)) for row in zip(*columns, strict=False))


@native(BUILTINS, "filter")
def _filter(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Data:
    items = budget.items(arguments[1])
    keep = [budget.weigh(apply(arguments[0], [item]) if arguments[0] is not None else item) for item in items]
    return Lazy(item for item, kept in zip(items, keep, strict=True) if kept)


_power_modulo = Offered("pow", costs.power_modulo, pow)


@native(BUILTINS, "pow")
def _pow(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Data:
    if len(arguments) == 3:
        return _power_modulo.function(budget, apply, arguments, keywords)
    return binary(budget, "Pow", *arguments)


@native(BUILTINS, "isinstance")
def _isinstance(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> bool:
    value, wanted = arguments
    if isinstance(value, Lazy):
        raise NotReadable("unsupported", "the type of an iterator")
    budget.spend(len(wanted) if isinstance(wanted, tuple) else 1)
    return isinstance(value, tuple(TYPES[name] for name in type_names(wanted)))


def type_names(wanted: Data) -> list[str]:
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


@native(BUILTINS, "type")
def _type(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Data:
    raise NotReadable("unsupported", "the type of something known")


@native(BUILTINS, "print")
def _print(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> None:
    return None


def _bytes(kind: type) -> Call:
    def call(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Data:
        if keywords or len(arguments) > 1:
            costs.coded(budget, arguments, keywords)
        elif arguments and isinstance(arguments[0], int):
            budget.made(max(0, arguments[0]))
        elif arguments and isinstance(arguments[0], (bytes, bytearray)):
            budget.copied(arguments[0])
        elif arguments:
            return kind(budget.weigh(budget.items(arguments[0])))
        return kind(*arguments, **keywords)

    return call


native(BUILTINS, "bytes")(_bytes(bytes))
native(BUILTINS, "bytearray")(_bytes(bytearray))
