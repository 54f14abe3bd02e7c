"""The operators and comparisons that the interpreter knows, each paid for by what it reads and makes, before it runs.

Left out: `%` on texts (a width of a billion is a billion characters), `@`.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from selfplay.reading import costs
from selfplay.reading.budget import MAX_BITS, Budget, bits
from selfplay.reading.costs import width
from selfplay.reading.refusals import NotReadable
from selfplay.reading.unknown import Data, Lazy

_CONTAINERS = (list, tuple, set, frozenset, dict)
_LISTED = (list, tuple, str, bytes, bytearray)


def binary(budget: Budget, name: str, a: Data, b: Data) -> Data:
    """`a` and `b` combined by the operator whose ast name is given; raises NotReadable for what would be too large."""
    if name not in _BINARY:
        raise NotReadable("unsupported", f"the operator {name}")
    same = type(a) if type(a) is type(b) else None
    budget.spend()
    if same is float:
        pass
    elif same is int:
        _pay_integers(budget, name, a, b)
    elif name == "Add" and same in _LISTED:
        budget.made(len(a) + len(b), _each(a, b))
    elif name == "Mult" and (type(a) in _LISTED or type(b) in _LISTED):
        _pay_repeated(budget, a, b)
    else:
        _pay_others(budget, name, a, b)
    return short(_BINARY[name](a, b))


def short(result: Data) -> Data:
    """`result`, unless it is an integer that is too long."""
    return bits(result) if isinstance(result, int) else result


def _each(*values: Data) -> int:
    """Bytes of one item or character."""
    return 8 if isinstance(values[0], (list, tuple)) else width(*values)


def _pay_integers(budget: Budget, name: str, a: int, b: int) -> None:
    """One operation is quadratic at worst; powers and shifts are refused by the bits of their result."""
    size = a.bit_length() + b.bit_length()
    if size > 128:
        budget.weigh((a, b))
    if name == "Pow" and a.bit_length() > 1 and a.bit_length() * abs(b) > MAX_BITS:
        raise NotReadable("budget", "a power that is too large")
    if name == "LShift" and a and a.bit_length() + b > MAX_BITS:
        raise NotReadable("budget", "a shift that is too large")


def _pay_repeated(budget: Budget, a: Data, b: Data) -> None:
    sequence, times = (a, b) if type(a) in _LISTED else (b, a)
    if not isinstance(times, int):
        budget.weigh(times)
    else:
        budget.made(len(sequence) * max(0, times), _each(sequence))


def _pay_others(budget: Budget, name: str, a: Data, b: Data) -> None:
    if name == "Mod" and isinstance(a, (str, bytes, bytearray)):
        raise NotReadable("unsupported", "formatting with %")
    budget.weigh(a, 2)
    budget.weigh(b, 2)
    if isinstance(a, int) and isinstance(b, int):  # booleans among them
        _pay_integers(budget, name, int(a), int(b))
    elif isinstance(a, _CONTAINERS) and isinstance(b, _CONTAINERS):
        budget.copied(a, b, a, b)


_BINARY: dict[str, Callable[[Data, Data], Data]] = {
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

_UNARY: dict[type[ast.unaryop], Callable[[Data], Data]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
}


COMPARISONS: dict[type[ast.cmpop], str] = {
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


def unary(budget: Budget, kind: type[ast.unaryop], value: Data) -> Data:
    """`value` with a sign, or its bits inverted."""
    return _UNARY[kind](budget.weigh(value))


def compare(budget: Budget, name: str, a: Data, b: Data) -> bool:
    """A comparison of known values, by its name in COMPARISONS; raises what Python raises, and NotReadable."""
    if name in ("in", "not_in"):
        return _is_in(budget, a, b) == (name == "in")
    if type(a) in _PLAIN and type(b) in _PLAIN:
        return _COMPARE[name](a, b)
    budget.weigh(a)
    budget.weigh(b)
    return _COMPARE[name](a, b)


_PLAIN = frozenset({bool, float, type(None)})


def _is_in(budget: Budget, a: Data, b: Data) -> bool:
    budget.weigh(a)
    if isinstance(b, Lazy):
        budget.weigh(list(b))
        return any(a is item or a == item for item in b.rest())
    if type(b) is range and type(a) is not int:  # searched one by one
        b = budget.items(b)
    if type(b) in (str, bytes, bytearray):
        costs.searched(budget, (b, a), {})
    elif type(b) in (set, frozenset, dict):
        budget.weigh(a, 3)  # a hash, and a comparison with the few of the same
    else:
        budget.weigh(b)
    return a in b


_COMPARE: dict[str, Callable[[Data, Data], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is_not": operator.is_not,
}
