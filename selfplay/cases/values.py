"""Data as canonical text: what crosses the border between the judge and the box.

A value becomes a tagged tree and the tree one line of JSON, so both sides can hold, compare and hash it without ever
building an object of the other side's choosing:

    None True "a" 7        null true "a" 7          2**60       ["I","0x1000000000000000"]
    0.5 nan                ["f","0.5"] ["f","nan"]  1j          ["c","0.0","1.0"]
    [1] (1,)               ["l",1] ["t",1]          range(3)    ["r",0,3,1]
    {1} frozenset({1})     ["s",1] ["z",1]          {"a": 1}    ["d",["a",1]]
    b"a" bytearray(b"a")   ["b","61"] ["B","61"]    object()    ["o","object"]   (opaque: equal to nothing)

    Point(x=1, y=2)        ["n","Point",["x","y"],1,2]          Counter("a")         ["C",["a",1]]
    deque([1], maxlen=3)   ["q",3,1]   (no maxlen: null)        OrderedDict(a=1)     ["O",["a",1]]
    Decimal("1.50")        ["D","1.50"]                         defaultdict(int)     ["dd"]   (without its factory)
    Fraction(-1, 3)        ["F","-1/3"]                         (x for x in [1])     ["g",1]  (an iterator, read)
    date(2024, 1, 31)      ["date","2024-01-31"]                timedelta(1, 2, 3)   ["delta",1,2,3]
    datetime, time         ["datetime",iso] ["time",iso]        an instance by handle            ["h","Stack",3]
    operator.add           ["u","operator.add"]                 lambda x: x + 1      ["y","lambda x: x + 1"]
    an iterator that raised at its end                          ["g",1,["e","ValueError","its message"]]

Items of sets are sorted by their own text, dictionaries keep their order, other subclasses (IntEnum) are reduced to
their base by the base's own methods, never by ones that the subclass may override. `load` reads text of any origin and
only checks it (trees.py). `rebuild` makes the objects: 60,000 integers of equal hash keep a set busy for minutes, so a tree
of another's making is weighed first (steps.py).

Left out: sharing and cycles (a shared list is written twice, a cycle hits the depth limit), two lone surrogates that
spell one character (JSON joins them), and iterators, handles and functions, which only the box has and `load` checks.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from selfplay.cases.trees import MAX_BYTES, MAX_DEPTH, MAX_DIGITS, MAX_NODES, SMALL, Tree, are_names, dump, load
from selfplay.cases.trees import checked as checked
from selfplay.cases.trees import parsed as parsed

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_NODES", "Tree", "checked", "decode", "dump", "encode", "integer", "load"]
__all__ += ["number", "parsed", "rebuild", "whole"]

SORTING = 4  # times the size of a value that may be written to sort the items of its sets


def encode(value: object, *, nodes: int = MAX_NODES, size: int = MAX_BYTES, strict: bool = False) -> str:
    """The canonical text of `value`. `strict` refuses what would be opaque.

    Raises ValueError beyond `nodes` values, 100 levels or `size` bytes of text, naming the limit.
    """
    text = dump(_Encoder(nodes, size, strict).tree(value, MAX_DEPTH))
    if len(text) > size:
        raise ValueError(f"value takes {len(text)} bytes, the limit is {size}")
    return text


class _Encoder:
    def __init__(self, nodes: int, size: int, strict: bool) -> None:
        self.limit = self.left = nodes
        self.size = self.room = size
        self.sorting = SORTING * size
        self.strict = strict

    def tree(self, value: Any, depth: int) -> Tree:
        kind = type(value)
        if (kind is int and -SMALL < value < SMALL) or kind is bool or value is None:
            self.left -= 1
            if self.left < 0:
                raise ValueError(f"value holds more than {self.limit} parts")
            return value
        return self._tagged(value, depth)

    def _tagged(self, value: object, depth: int) -> Tree:
        self.left -= 1
        if self.left < 0:
            raise ValueError(f"value holds more than {self.limit} parts")
        if depth <= 0:
            raise ValueError(f"value is nested more than {MAX_DEPTH} deep")
        scalar = _scalar(value)
        if scalar is _NONE:
            return self._container(value, depth - 1)
        self._take(scalar)
        return scalar

    def _take(self, scalar: Tree) -> None:
        """Account for long text before it is written: a thousand names of one string share its memory, not its text."""
        texts = scalar if type(scalar) is list else [scalar]
        self.room -= sum(len(text) for text in texts if type(text) is str)
        if self.room < 0:
            raise ValueError(f"value takes more than {self.size} bytes")

    def _container(self, value: object, depth: int) -> Tree:
        if isinstance(value, list):
            return ["l", *self._items(list.__iter__(value), depth)]
        if isinstance(value, tuple):
            return [*_head(value), *self._items(tuple.__iter__(value), depth)]
        if isinstance(value, dict):
            tag = next((tag for kind, tag in _DICTIONARIES if isinstance(value, kind)), "d")
            pairs = OrderedDict.items(value) if isinstance(value, OrderedDict) else dict.items(value)
            return [tag, *([self.tree(k, depth), self.tree(v, depth)] for k, v in pairs)]
        if isinstance(value, set):
            return ["s", *sorted(self._items(set.__iter__(value), depth), key=self._sorted_by)]
        if isinstance(value, frozenset):
            return ["z", *sorted(self._items(frozenset.__iter__(value), depth), key=self._sorted_by)]
        if isinstance(value, deque):
            return ["q", value.maxlen, *self._items(deque.__iter__(value), depth)]
        rare = _rare(value)
        if rare is not _NONE:
            self._take(rare)
            return rare
        if self.strict:
            raise ValueError(f"a {type(value).__name__} is no plain data")
        return ["o", type(value).__name__]

    def _sorted_by(self, item: Tree) -> str:
        """An item of a set as text. In sets of sets the same text is written at every level, which is paid for."""
        text = dump(item)
        self.sorting -= len(text)
        if self.sorting < 0:
            raise ValueError(f"sets of sets take more than {SORTING} times {self.size} bytes to sort")
        return text

    def _items(self, items: Iterable[object], depth: int) -> list[Tree]:
        return [self.tree(item, depth) for item in items]


_DICTIONARIES = ((Counter, "C"), (OrderedDict, "O"), (defaultdict, "dd"))
_NONE = object()


def _head(value: tuple[object, ...]) -> Tree:
    """How the tree of a tuple begins; of a named one with its names."""
    name, fields = type(value).__name__, getattr(type(value), "_fields", None)
    if isinstance(fields, tuple) and len(fields) == tuple.__len__(value) and are_names([name, *fields]):
        return ["n", name, [*fields]]
    return ["t"]


def _scalar(value: object) -> Tree:
    """The tree of a value without parts, or `_NONE`."""
    if isinstance(value, int):
        return integer(int.__index__(value))
    if isinstance(value, float):
        return ["f", float.__repr__(value)]
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bytes):
        return ["b", bytes.hex(value)]
    if isinstance(value, bytearray):
        return ["B", bytearray.hex(value)]
    if isinstance(value, complex):
        plain = complex.__complex__(value)
        return ["c", repr(plain.real), repr(plain.imag)]
    if type(value) is range:
        return ["r", integer(value.start), integer(value.stop), integer(value.step)]
    return _NONE


def _rare(value: object) -> Tree:
    """The tree of an exact number or a date, or `_NONE`."""
    if isinstance(value, (Decimal, Fraction)):
        return _exact(value)
    if isinstance(value, dt.timedelta):
        return ["delta", value.days, value.seconds, value.microseconds]
    for tag, kind in _DATES.items():
        if isinstance(value, kind):
            return [tag, kind.isoformat(value)]
    return _NONE


_DATES: dict[str, Any] = {"datetime": dt.datetime, "date": dt.date, "time": dt.time}  # a datetime is a date, too


def _exact(value: Decimal | Fraction) -> Tree:
    if isinstance(value, Decimal):
        text = Decimal.__str__(value)
        if len(text) <= MAX_DIGITS:
            return ["D", text]
    elif max(value.numerator.bit_length(), value.denominator.bit_length()) <= 3 * MAX_DIGITS:
        return ["F", f"{value.numerator}/{value.denominator}"]
    raise ValueError(f"a {type(value).__name__} has more than {MAX_DIGITS} digits")


def integer(value: int) -> Tree:
    """The tree of an int: a JSON number where every reader keeps it exact, else tagged hexadecimal."""
    return value if -SMALL < value < SMALL else ["I", hex(value)]


def number(tree: Tree) -> int | float | complex | None:
    """The number that a tree stands for (booleans included), or None."""
    if type(tree) is int or type(tree) is bool:
        return int(tree)
    if type(tree) is list:
        if tree[0] == "f":
            return float(tree[1])
        if tree[0] == "I":
            return int(tree[1], 16)
        if tree[0] == "c":
            return complex(float(tree[1]), float(tree[2]))
    return None


def whole(tree: Tree) -> int:
    """The int that a tree stands for; raises ValueError for any other value."""
    value = number(tree)
    if not isinstance(value, int):
        raise ValueError("not an integer")
    return value


def decode(text: str) -> Any:
    """The object that `text` stands for. Only for text that this process encoded itself."""
    return rebuild(load(text))


class Opaque:
    """An object of which nothing is known but that it equals no other."""

    def __bool__(self) -> bool:
        raise ValueError("whether it is true nobody knows")


@dataclass(frozen=True, slots=True)
class Function:
    """A function or a lambda by its text."""

    tag: str
    text: str


def rebuild(tree: Tree) -> Any:
    """The object that a tree stands for. Raises TypeError for keys that have no hash."""
    if type(tree) is not list:
        return tree
    tag, parts = tree[0], tree[1:]
    if tag in _PAIRS:
        return _PAIRS[tag]({rebuild(key): rebuild(value) for key, value in parts})
    if tag in _CONTAINERS:
        return _CONTAINERS[tag]([rebuild(part) for part in parts])
    if tag == "n":
        return _named_tuple(parts[0], tuple(parts[1]))(*map(rebuild, parts[2:]))
    if tag == "q":
        return deque(map(rebuild, parts[1:]), parts[0])
    if tag in _SCALARS:
        return _SCALARS[tag](*parts)
    if tag in ("u", "y"):
        return Function(tag, parts[0])
    value = number(tree)
    return Opaque() if value is None else value


@lru_cache(maxsize=64)
def _named_tuple(name: str, fields: tuple[str, ...]) -> Any:
    return namedtuple(name, fields, rename=True)


_PAIRS: dict[str, Any] = {"d": dict, "C": Counter, "O": OrderedDict, "dd": lambda pairs: defaultdict(None, pairs)}
_CONTAINERS: dict[str, Any] = {"l": list, "t": tuple, "s": set, "z": frozenset, "g": iter}
_SCALARS: dict[str, Any] = {
    "b": bytes.fromhex,
    "B": bytearray.fromhex,
    "r": lambda *parts: range(*map(whole, parts)),
    "D": Decimal,
    "F": Fraction,
    "delta": dt.timedelta,
    **{tag: kind.fromisoformat for tag, kind in _DATES.items()},
}
