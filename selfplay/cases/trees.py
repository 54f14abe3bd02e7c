"""Canonical text of any origin as a tree, checked part by part (values.py says what the tags mean).

Nothing is built but lists, texts and small integers, and what is checked is the form: sets may come unsorted,
dictionaries with repeated keys, and handles and functions may name what nobody has. Who compares trusts none of that.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from keyword import iskeyword
from typing import Any, NoReturn, TypeAlias

Tree: TypeAlias = Any  # None | bool | int | str | list of a tag and its parts; checked by load()

MAX_NODES = 200_000
MAX_DEPTH = 100
MAX_BYTES = 4 << 20
MAX_DIGITS = 4_000  # of a Decimal, or of either part of a Fraction: below Python's own limit, and quick to compare
SMALL = 1 << 53  # integers below this survive any JSON reader

_FLOAT = re.compile(r"-?(?:\d{1,20}(?:\.\d{1,20})?(?:e[+-]?\d{1,3})?|inf)|nan", re.ASCII)
_HEX = re.compile(r"-?0x[0-9a-f]+")
_BYTES = re.compile(r"(?:[0-9a-f]{2})*")
_DECIMAL = re.compile(r"-?(?:\d{1,4000}(?:\.\d{1,4000})?(?:[eE][+-]\d{1,18})?|Infinity|s?NaN\d{0,4000})", re.ASCII)
_FRACTION = re.compile(r"-?\d{1,4000}/[1-9]\d{0,3999}", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = re.compile(r"\d\d:\d\d:\d\d(?:\.\d{6})?(?:[+-]\d\d:\d\d(?::\d\d(?:\.\d{6})?)?)?", re.ASCII)


def dump(tree: Tree) -> str:
    """The one way a tree is written."""
    return json.dumps(tree, separators=(",", ":"))


def load(text: str, *, nodes: int = MAX_NODES, size: int = MAX_BYTES) -> Tree:
    """The tree of canonical text of any origin, checked part by part; raises ValueError for anything else."""
    tree = parsed(text, size=size)
    return checked(tree, nodes=nodes)


def parsed(text: str, *, size: int = MAX_BYTES) -> Any:
    """JSON of nothing but arrays, texts, booleans, null and small integers, unchecked; raises ValueError."""
    if len(text) > size:
        raise ValueError(f"text takes {len(text)} characters, the limit is {size}")
    try:
        return _READER.decode(text)
    except RecursionError:
        raise ValueError(f"text is nested more than {MAX_DEPTH} deep") from None


def checked(tree: object, *others: object, nodes: int = MAX_NODES) -> Tree:
    """What was parsed, if it is a tree (and so are the `others`, within the same number of parts); raises ValueError."""
    checker = _Checker(nodes)
    for one in (tree, *others):
        checker.check(one, MAX_DEPTH)
    return tree


def _refuse(what: str) -> ValueError:
    return ValueError(f"not canonical text: {what}")


def _refused_object(pairs: list[tuple[str, object]]) -> NoReturn:
    raise _refuse("a JSON object")


def _refused_constant(text: str) -> NoReturn:
    raise _refuse(f"a bare {text[:20]}")


def _small_integer(text: str) -> int:
    if len(text) > 17:
        raise _refuse("an integer beyond 2**53 written as a number")
    value = int(text)
    if not -SMALL < value < SMALL:
        raise _refuse("an integer beyond 2**53 written as a number")
    return value


def reader(objects: Callable[[list[tuple[str, Any]]], object]) -> json.JSONDecoder:
    """Reads JSON without floats and large integers; `objects` gets the pairs of each JSON object."""
    return json.JSONDecoder(
        object_pairs_hook=objects,
        parse_float=_refused_constant,
        parse_constant=_refused_constant,
        parse_int=_small_integer,
    )


_READER = reader(_refused_object)


class _Checker:
    """Checks tags and shapes of a tree, within a number of parts and a depth."""

    def __init__(self, nodes: int) -> None:
        self.limit = self.left = nodes

    def check(self, tree: Tree, depth: int) -> None:
        self.left -= 1
        if self.left < 0:
            raise ValueError(f"text holds more than {self.limit} parts")
        if type(tree) is not list:
            return
        if depth <= 0:
            raise ValueError(f"text is nested more than {MAX_DEPTH} deep")
        tag = tree[0] if tree and type(tree[0]) is str else None
        if tag in ("l", "t", "s", "z"):
            self._items(tree[1:], depth)
        elif tag == "g":
            self._items(_items_of_iterator(tree), depth)
        elif tag in ("d", "C", "O", "dd"):
            self._pairs(tree, depth)
        elif tag == "n":
            self._items(_items_of_named(tree), depth)
            self.left -= len(tree[2])
        elif tag == "q":
            self._items(_items_of_deque(tree), depth)
        elif tag is None or not _is_scalar(tag, tree[1:]):
            raise _refuse(f"a list tagged {str(tree[0] if tree else None)[:20]!r}")

    def _items(self, items: Sequence[Tree], depth: int) -> None:
        for item in items:
            self.check(item, depth - 1)

    def _pairs(self, tree: Tree, depth: int) -> None:
        for pair in tree[1:]:
            if type(pair) is not list or len(pair) != 2:
                raise _refuse("a dictionary entry that is no pair")
            self.check(pair[0], depth - 1)
            self.check(pair[1], depth - 1)


def _items_of_iterator(tree: Tree) -> list[Tree]:
    match tree:
        case [_, *items, ["e", str(), str()]]:
            return items
    return tree[1:]


def _items_of_named(tree: Tree) -> list[Tree]:
    match tree:
        case [_, str(name), [*fields], *items] if len(fields) == len(items) and are_names([name, *fields]):
            return items
    raise _refuse("a named tuple without its names")


def are_names(names: Sequence[object]) -> bool:
    """Whether these are the name of a class and its fields, as `namedtuple` takes them."""
    plain = all(type(name) is str and name.isidentifier() and not iskeyword(name) for name in names)
    return plain and len(set(names[1:])) == len(names) - 1


def _items_of_deque(tree: Tree) -> list[Tree]:
    match tree:
        case [_, None, *items]:
            return items
        case [_, int(most), *items] if type(most) is int and most >= len(items):
            return items
    raise _refuse("a deque longer than it may be")


def _is_scalar(tag: str, parts: list[Tree]) -> bool:
    match tag, parts:
        case "f", [str(text)]:
            return bool(_FLOAT.fullmatch(text))
        case "I", [str(text)]:
            return bool(_HEX.fullmatch(text))
        case "c", [str(real), str(imaginary)]:
            return bool(_FLOAT.fullmatch(real) and _FLOAT.fullmatch(imaginary))
        case "b" | "B", [str(text)]:
            return bool(_BYTES.fullmatch(text))
        case "r", [_, _, step]:
            return all(map(_is_integer, parts)) and step != 0 and (type(step) is int or int(step[1], 16) != 0)
        case "o" | "u" | "y", [str()]:
            return True
        case "h", [str(), int(place)]:
            return type(place) is int and place >= 0
    return _is_exact_or_date(tag, parts)


def _is_exact_or_date(tag: str, parts: list[Tree]) -> bool:
    match tag, parts:
        case "D", [str(text)]:
            return bool(_DECIMAL.fullmatch(text)) and _makes(Decimal, text)
        case "F", [str(text)]:
            return bool(_FRACTION.fullmatch(text))
        case "date", [str(text)]:
            return bool(_DATE.fullmatch(text)) and _makes(dt.date.fromisoformat, text)
        case "datetime", [str(text)]:
            whole = _DATE.match(text) and text[10:11] == "T" and _TIME.fullmatch(text, 11)
            return bool(whole) and _makes(dt.datetime.fromisoformat, text)
        case "time", [str(text)]:
            return bool(_TIME.fullmatch(text)) and _makes(dt.time.fromisoformat, text)
        case "delta", [_, _, _] if all(type(part) is int for part in parts):
            days, seconds, rest = parts
            return abs(days) < 10**9 and 0 <= seconds < 86_400 and 0 <= rest < 10**6
    return False


def _makes(make: Callable[[str], object], text: str) -> bool:
    try:
        make(text)
    except (ValueError, ArithmeticError):
        return False
    return True


def _is_integer(tree: Tree) -> bool:
    if type(tree) is int:
        return True
    match tree:
        case ["I", str(text)]:
            return bool(_HEX.fullmatch(text))
    return False
