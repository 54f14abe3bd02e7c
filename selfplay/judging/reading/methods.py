"""The methods and modules that the interpreter knows, each with a guard on what it may cost."""

from __future__ import annotations

import collections
import copy
import functools
import itertools
import math
import re
import string
import sys
from collections.abc import Callable
from typing import Any

from selfplay.judging.reading.budget import MAX_GROWN, Budget, Lazy, NotReadable, hashable
from selfplay.judging.reading.known import BUILTINS, Call, Native, binary, plain, sorted_items


def _counter(budget: Budget, apply: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    if arguments and isinstance(arguments[0], dict):
        return dict(arguments[0])
    return dict(collections.Counter(hashable(budget.items(arguments[0]) if arguments else [])))


def _deepcopy(budget: Budget, apply: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return copy.deepcopy(budget.weigh(arguments[0]))


def _lazily(function: Callable[..., Any]) -> Call:
    """A function of itertools whose results are counted as they come."""

    def call(budget: Budget, apply: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        parts = [budget.items(part) if hasattr(part, "__len__") else part for part in arguments]
        found = Lazy(itertools.islice(function(*parts, **keywords), 10_001))
        if len(found) > 10_000:
            raise NotReadable("budget", "more than 10000 combinations")
        budget.spend(len(found))
        return found

    return call


def _reduce(budget: Budget, apply: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    return functools.reduce(lambda a, b: apply(arguments[0], [a, b]), budget.items(arguments[1]), *arguments[2:])


_MATH = tuple(
    name
    for names in ("acos asin atan atan2 ceil copysign cos degrees exp fabs floor fmod gcd hypot isclose isfinite isinf",
                  "isnan isqrt lcm log log10 log2 pow radians sin sqrt tan tanh trunc")
    for name in names.split()
)  # fmt: skip

MODULES: dict[str, dict[str, Any]] = {
    "math": {
        **{name: Native(name, plain(getattr(math, name))) for name in _MATH},
        **{name: getattr(math, name) for name in ("e", "inf", "nan", "pi", "tau")},
        "prod": Native("prod", lambda budget, apply, args, kw: functools.reduce(
            lambda a, b: binary(budget, "Mult", a, b), budget.items(args[0]), kw.get("start", 1))),
        "factorial": Native("factorial", lambda budget, apply, args, kw: math.factorial(_below(args[0], 1000))),
        "comb": Native("comb", lambda budget, apply, args, kw: math.comb(_below(args[0], 5000), args[1])),
        "perm": Native("perm", lambda budget, apply, args, kw: math.perm(*(_below(arg, 1000) for arg in args))),
    },
    "string": {name: value for name, value in vars(string).items() if isinstance(value, str) and name[0] != "_"},
    "sys": {"maxsize": sys.maxsize},
    "copy": {"copy": Native("copy", lambda budget, apply, args, kw: copy.copy(budget.weigh(args[0]))),
             "deepcopy": Native("deepcopy", _deepcopy)},
    "collections": {"Counter": Native("Counter", _counter), "OrderedDict": BUILTINS["dict"]},
    "functools": {"reduce": Native("reduce", _reduce)},
    "itertools": {name: Native(name, _lazily(getattr(itertools, name)))
                  for name in ("product", "permutations", "combinations", "chain", "accumulate")},
}  # fmt: skip


def _below(value: Any, bound: int) -> int:
    if not isinstance(value, int) or value > bound:
        raise NotReadable("budget", f"an argument beyond {bound}")
    return value


METHODS: dict[type, frozenset[str]] = {
    kind: frozenset(names.split())
    for kind, names in {
        str: "lower upper strip lstrip rstrip split rsplit splitlines startswith endswith find rfind index rindex count"
        " title capitalize swapcase casefold isdigit isalpha isalnum isupper islower isspace isnumeric isdecimal"
        " partition rpartition removeprefix removesuffix encode join replace zfill center ljust rjust format",
        bytes: "decode hex",
        list: "append extend insert pop remove sort reverse copy count index clear",
        tuple: "count index",
        dict: "keys values items get pop update setdefault copy",
        set: "add discard remove update union intersection difference symmetric_difference issubset issuperset"
        " isdisjoint copy",
        frozenset: "union intersection difference symmetric_difference issubset issuperset isdisjoint copy",
        int: "bit_length bit_count",
        float: "is_integer hex",
    }.items()
}


def method(budget: Budget, apply: Any, value: Any, name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """`value.name(...)` for the listed methods of builtin types."""
    kind: type = int if type(value) is bool else type(value)
    if name not in METHODS.get(kind, ()):
        raise NotReadable("unsupported", f"the method {name} of {kind.__name__}")
    if isinstance(value, list) and name in ("sort", "extend"):
        return _list_method(budget, apply, value, name, arguments, keywords)
    arguments = [list(argument) if isinstance(argument, Lazy) else argument for argument in arguments]
    budget.spend(_touched(value) // 16 + 1)
    if name not in ("append", "insert", "setdefault"):  # these keep what is not known yet for later
        budget.weigh(arguments)
        budget.weigh(keywords)
    _guard_method(budget, value, name, arguments)
    result = getattr(value, name)(*arguments, **keywords)
    return Lazy(result) if name in ("keys", "values", "items") and kind is dict else result


def _touched(value: Any) -> int:
    return len(value) if hasattr(value, "__len__") else 1


def _list_method(budget: Budget, apply: Any, value: list[Any], name: str, arguments: Any, keywords: Any) -> None:
    if name == "sort":
        value[:] = sorted_items(budget, apply, [value], keywords)
    else:
        items = budget.items(arguments[0])
        budget.sized(len(value) + len(items))
        value.extend(items)


def _guard_method(budget: Budget, value: Any, name: str, arguments: list[Any]) -> None:
    if name == "replace":
        old, new = arguments[0], arguments[1]
        budget.sized(len(value) + (value.count(old) if old else len(value) + 1) * len(new))
    elif name == "join":
        items = arguments[0]
        budget.sized(len(value) * len(items) + sum(map(len, items)))
    elif name in ("zfill", "center", "ljust", "rjust"):
        budget.sized(arguments[0])
    elif name == "format":
        if re.search(r"\{[^}]*[:!.\[]|\{[^}]*\{", value):
            raise NotReadable("unsupported", "format with specifications")
        budget.sized(len(value) + value.count("{") * sum(len(str(argument)) for argument in arguments))
    elif isinstance(value, (dict, set)) and name in ("add", "setdefault", "update") and len(value) > MAX_GROWN:
        raise NotReadable("budget", f"a {type(value).__name__} grown beyond {MAX_GROWN} items")
    elif isinstance(value, (set, frozenset)) and arguments:
        hashable([*value, *(item for argument in arguments if hasattr(argument, "__iter__") for item in argument)])
    elif name == "update":
        hashable([*value, *(arguments[0] if arguments else ())])
    elif name == "append":
        budget.sized(len(value) + 1)
