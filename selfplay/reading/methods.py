"""The methods and modules that the interpreter knows, each with what a call costs."""

from __future__ import annotations

import copy
import functools
import itertools
import math
import statistics
import string
import sys
from collections.abc import Callable

from selfplay.reading import costs
from selfplay.reading.budget import Budget
from selfplay.reading.costs import Cost
from selfplay.reading.known import BUILTINS, dict_of, sorted_items
from selfplay.reading.native import Call, Native, Offered, native
from selfplay.reading.operators import binary
from selfplay.reading.refusals import NotReadable
from selfplay.reading.unknown import Apply, Arguments, Data, Keywords, Lazy, View


def _reduced(name: str, budget: Budget, items: list[Data], start: Data) -> Data:
    return functools.reduce(lambda a, b: binary(budget, name, a, b), items, start)


_MODULE: dict[str, dict[str, Data]] = {name: {} for name in ("math", "copy", "collections", "functools", "itertools")}


@native(_MODULE["math"], "prod")
def _prod(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Data:
    return _reduced("Mult", budget, budget.items(arguments[0]), keywords.get("start", 1))


@native(_MODULE["collections"], "Counter")
def _counter(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Data:
    if keywords or (arguments and isinstance(arguments[0], dict)):
        return dict_of(budget, arguments[0] if arguments else {}, keywords)
    items = budget.weigh(budget.items(arguments[0]) if arguments else [])
    counts: dict[Data, int] = {}
    for item in budget.keys(items):
        counts[item] = counts.get(item, 0) + 1
    budget.made(len(counts), 100)
    return counts


@native(_MODULE["functools"], "reduce")
def _reduce(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Data:
    return functools.reduce(lambda a, b: apply(arguments[0], [a, b]), budget.items(arguments[1]), *arguments[2:])


@native(_MODULE["itertools"], "chain")
def _chain(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Data:
    return Lazy(item for argument in arguments for item in budget.items(argument))


@native(_MODULE["itertools"], "accumulate")
def _accumulate(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Data:
    function = arguments[1] if len(arguments) > 1 else keywords.get("func")
    add = (lambda a, b: binary(budget, "Add", a, b)) if function is None else (lambda a, b: apply(function, [a, b]))
    first = {"initial": keywords["initial"]} if "initial" in keywords else {}
    return Lazy(itertools.accumulate(budget.items(arguments[0]), add, **first))


def _tuples(name: str, cost: Cost) -> Call:
    """A function of itertools that makes tuples; they are counted and paid for beforehand, and made at once."""

    def call(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> Data:
        iterables = len(arguments) if name == "product" else 1
        arguments = [*map(budget.items, arguments[:iterables]), *arguments[iterables:]]
        cost(budget, arguments, keywords)
        return Lazy(getattr(itertools, name)(*arguments, **keywords))

    return call


for _name, _cost in (
    ("product", costs.product_of),
    ("permutations", costs.permutations_of),
    ("combinations", costs.combinations_of),
):
    native(_MODULE["itertools"], _name)(_tuples(_name, _cost))

_OF_NUMBERS = (
    "acos asin atan atan2 ceil copysign cos degrees exp fabs floor fmod gcd hypot isclose isfinite isinf isnan isqrt log"
    " log10 log2 pow radians sin sqrt tan tanh trunc"
)

MODULES: dict[str, dict[str, Data]] = {
    **_MODULE,
    "math": {
        **_MODULE["math"],
        **{name: Offered(name, costs.deep(2), getattr(math, name)) for name in _OF_NUMBERS.split()},
        **{name: getattr(math, name) for name in ("e", "inf", "nan", "pi", "tau")},
        "lcm": Offered("lcm", costs.multiple, math.lcm),
        "factorial": Offered("factorial", costs.counting, math.factorial),
        "perm": Offered("perm", costs.counting, math.perm),
        "comb": Offered("comb", costs.chosen, math.comb),
    },
    "string": {name: value for name, value in vars(string).items() if isinstance(value, str) and name[0] != "_"},
    "sys": {"maxsize": sys.maxsize},
    "copy": {
        "copy": Offered("copy", costs.copied, copy.copy),
        "deepcopy": Offered("deepcopy", costs.deep(8), copy.deepcopy),
    },
    "statistics": {
        name: Offered(name, costs.deep(64), getattr(statistics, name)) for name in ("mean", "median", "mode")
    },
    "collections": {**_MODULE["collections"], "OrderedDict": BUILTINS["dict"]},
}


def _listing(kind: type, name: str) -> Callable[..., Data]:
    """A method of dictionaries whose result is a view; here a list that may be iterated again and again."""
    return lambda value: View(getattr(kind, name)(value))


def _offered(kind: type, cost: Cost, names: str) -> dict[str, Native]:
    return {name: Offered(name, cost, getattr(kind, name)) for name in names.split()}


_SETS = "union intersection difference symmetric_difference issubset issuperset isdisjoint"

METHODS: dict[type, dict[str, Native]] = {
    str: {
        **_offered(str, costs.scanned, "lower upper title capitalize swapcase casefold"),
        **_offered(str, costs.scanned, "isdigit isalpha isalnum isupper islower isspace isnumeric isdecimal"),
        **_offered(str, costs.prefixed, "startswith endswith removeprefix removesuffix"),
        **_offered(str, costs.searched, "find index count partition"),
        **_offered(str, costs.searched_back, "rfind rindex rpartition strip lstrip rstrip"),
        **_offered(str, costs.split, "split rsplit"),
        "splitlines": Offered("splitlines", costs.lines, str.splitlines),
        "join": Offered("join", costs.joined, str.join),
        "replace": Offered("replace", costs.replaced, str.replace),
        **_offered(str, costs.padded, "zfill center ljust rjust"),
        "encode": Offered("encode", costs.coded, str.encode),
    },
    bytes: {**_offered(bytes, costs.coded, "decode"), **_offered(bytes, costs.scanned, "hex")},
    list: {
        **_offered(list, costs.appended, "append"),
        **_offered(list, costs.shifted, "insert pop clear reverse"),
        **_offered(list, costs.deep(4), "remove count index"),
        **_offered(list, costs.copied, "copy"),
    },
    tuple: _offered(tuple, costs.deep(4), "count index"),
    dict: {
        "keys": Offered("keys", costs.listed(8), _listing(dict, "keys")),
        "values": Offered("values", costs.listed(8), _listing(dict, "values")),
        "items": Offered("items", costs.listed(64), _listing(dict, "items")),
        **_offered(dict, costs.entered(1), "get pop"),
        **_offered(dict, costs.entered(100), "setdefault"),
        **_offered(dict, costs.copied, "copy"),
    },
    set: {
        **_offered(set, costs.entered(64), "add discard remove"),
        **_offered(set, costs.merged, f"update {_SETS}"),
        **_offered(set, costs.copied, "copy"),
    },
    frozenset: {**_offered(frozenset, costs.merged, _SETS), **_offered(frozenset, costs.copied, "copy")},
    int: _offered(int, costs.deep(), "bit_length bit_count"),
    float: _offered(float, costs.fixed, "is_integer hex"),
}


@native(METHODS[list], "extend")
def _extend(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> None:
    value, items = arguments[0], budget.items(arguments[1])
    budget.sized(len(value) + len(items))
    value.extend(items)


@native(METHODS[list], "sort")
def _sort(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> None:
    arguments[0][:] = sorted_items(budget, apply, arguments, keywords)


@native(METHODS[dict], "update")
def _update(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> None:
    value = arguments[0]
    value.update(dict_of(budget, arguments[1] if len(arguments) > 1 else {}, keywords))
    budget.sized(len(value))


@native(METHODS[str], "format")
def _format(budget: Budget, apply: Apply, arguments: Arguments, keywords: Keywords) -> str:
    """`"{} {a}".format(...)` without specifications: every field is replaced by the text of an argument."""
    template = arguments[0]
    budget.spend(len(template) // 4 + 1)
    fields = list(string.Formatter().parse(template))
    if any(
        spec or conversion or (name and not name.isidentifier() and not name.isdigit())
        for _, name, spec, conversion in fields
    ):
        raise NotReadable("unsupported", "format with specifications")
    written = BUILTINS["str"].function
    texts = [written(budget, apply, [argument], {}) for argument in arguments[1:]]
    named = {name: written(budget, apply, [argument], {}) for name, argument in keywords.items()}
    every = [*texts, *named.values()]
    count = sum(name is not None for _, name, _, _ in fields)
    budget.made(len(template) + count * max(map(len, every), default=0), costs.width(template, *every))
    return template.format(*texts, **named)


_KEEPING = frozenset({"append", "insert", "setdefault"})  # these keep what is not known yet for later


def method(budget: Budget, apply: Apply, value: Data, name: str, arguments: Arguments, keywords: Keywords) -> Data:
    """`value.name(...)` for the listed methods of builtin types."""
    kind: type = int if type(value) is bool else type(value)
    offered = METHODS.get(kind, {}).get(name)
    if offered is None:
        raise NotReadable("unsupported", f"the method {name} of {kind.__name__}")
    if name not in _KEEPING:
        arguments = [budget.items(argument) if isinstance(argument, Lazy) else argument for argument in arguments]
    return offered.function(budget, apply, [value, *arguments], keywords)
