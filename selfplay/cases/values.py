"""Data as canonical text: what crosses the border between the judge and the box.

A value becomes a tagged tree and the tree one line of JSON, so both sides can hold, compare and hash it without ever
building an object of the other side's choosing:

    None True "a" 7        null true "a" 7          2**60       ["I","0x1000000000000000"]
    0.5 nan                ["f","0.5"] ["f","nan"]  1j          ["c","0.0","1.0"]
    [1] (1,)               ["l",1] ["t",1]          range(3)    ["r",0,3,1]
    {1} frozenset({1})     ["s",1] ["z",1]          {"a": 1}    ["d",["a",1]]
    b"a" bytearray(b"a")   ["b","61"] ["B","61"]    object()    ["o","object"]   (opaque: equal to nothing)

Items of sets are sorted by their own text, dictionaries keep their order, subclasses (Counter, namedtuple, IntEnum) are
reduced to their base by the base's own methods, never by ones that the subclass may override. `load` reads text of any
origin and only checks it; `decode` rebuilds objects and is for text that this process encoded itself: 60,000 integers
of equal hash keep a rebuilt set busy for minutes.

Left out: sharing and cycles (a shared list is written twice, a cycle hits the depth limit), and two lone surrogates
that spell one character (JSON joins them).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NoReturn, TypeAlias

Tree: TypeAlias = Any  # None | bool | int | str | list of a tag and its parts; checked by load()

MAX_NODES = 200_000
MAX_DEPTH = 100
MAX_BYTES = 4 << 20
SORTING = 4  # times the size of a value that may be written to sort the items of its sets
SMALL = 1 << 53  # integers below this survive any JSON reader

_FLOAT = re.compile(r"-?(?:\d{1,20}(?:\.\d{1,20})?(?:e[+-]?\d{1,3})?|inf)|nan", re.ASCII)
_HEX = re.compile(r"-?0x[0-9a-f]+")
_BYTES = re.compile(r"(?:[0-9a-f]{2})*")


def encode(value: object, *, nodes: int = MAX_NODES, size: int = MAX_BYTES, strict: bool = False) -> str:
    """The canonical text of `value`. `strict` refuses what would be opaque.

    Raises ValueError beyond `nodes` values, 100 levels or `size` bytes of text, naming the limit.
    """
    text = dump(_Encoder(nodes, size, strict).tree(value, MAX_DEPTH))
    if len(text) > size:
        raise ValueError(f"value takes {len(text)} bytes, the limit is {size}")
    return text


def dump(tree: Tree) -> str:
    """The one way a tree is written."""
    return json.dumps(tree, separators=(",", ":"))


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
            return ["t", *self._items(tuple.__iter__(value), depth)]
        if isinstance(value, dict):
            return ["d", *([self.tree(k, depth), self.tree(v, depth)] for k, v in dict.items(value))]
        if isinstance(value, set):
            return ["s", *sorted(self._items(set.__iter__(value), depth), key=self._sorted_by)]
        if isinstance(value, frozenset):
            return ["z", *sorted(self._items(frozenset.__iter__(value), depth), key=self._sorted_by)]
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


_NONE = object()


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


def integer(value: int) -> Tree:
    """The tree of an int: a JSON number where every reader keeps it exact, else tagged hexadecimal."""
    return value if -SMALL < value < SMALL else ["I", hex(value)]


def load(text: str, *, nodes: int = MAX_NODES, size: int = MAX_BYTES) -> Tree:
    """The tree of canonical text of any origin, checked part by part; raises ValueError for anything else.

    Sets may come unsorted and dictionaries with repeated keys: who compares must not trust their order.
    """
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


def checked(tree: object, *, nodes: int = MAX_NODES) -> Tree:
    """What was parsed, if it is a tree; raises ValueError."""
    _Checker(nodes).check(tree, MAX_DEPTH)
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


_READER = json.JSONDecoder(
    object_pairs_hook=_refused_object,
    parse_float=_refused_constant,
    parse_constant=_refused_constant,
    parse_int=_small_integer,
)


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
        tag = tree[0] if tree else None
        if tag in ("l", "t", "s", "z") and type(tag) is str:
            for item in tree[1:]:
                self.check(item, depth - 1)
        elif tag == "d":
            self._pairs(tree, depth)
        else:
            _check_scalar(tag, tree[1:])

    def _pairs(self, tree: Tree, depth: int) -> None:
        for pair in tree[1:]:
            if type(pair) is not list or len(pair) != 2:
                raise _refuse("a dictionary entry that is no pair")
            self.check(pair[0], depth - 1)
            self.check(pair[1], depth - 1)


def _check_scalar(tag: object, parts: list[Tree]) -> None:
    match tag, parts:
        case "f", [str(text)] if _FLOAT.fullmatch(text):
            return
        case "I", [str(text)] if _HEX.fullmatch(text):
            return
        case "c", [str(real), str(imaginary)] if _FLOAT.fullmatch(real) and _FLOAT.fullmatch(imaginary):
            return
        case "b" | "B", [str(text)] if _BYTES.fullmatch(text):
            return
        case "r", [_, _, step] if all(map(_is_integer, parts)) and number(step) != 0:
            return
        case "o", [str()]:
            return
    raise _refuse(f"a list tagged {str(tag)[:20]!r}")


def _is_integer(tree: Tree) -> bool:
    if type(tree) is int:
        return True
    match tree:
        case ["I", str(text)]:
            return bool(_HEX.fullmatch(text))
    return False


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


def rebuild(tree: Tree) -> Any:
    """The object of a tree of our own making; raises ValueError for an opaque one."""
    if type(tree) is not list:
        return tree
    tag, parts = tree[0], tree[1:]
    if tag == "d":
        return {rebuild(key): rebuild(value) for key, value in parts}
    if tag in _CONTAINERS:
        return _CONTAINERS[tag]([rebuild(part) for part in parts])
    if tag == "b" or tag == "B":
        return (bytes if tag == "b" else bytearray).fromhex(parts[0])
    if tag == "r":
        return range(*map(whole, parts))
    if tag == "o":
        raise ValueError(f"an opaque {parts[0]} cannot be rebuilt")
    return number(tree)


_CONTAINERS: dict[str, Any] = {"l": list, "t": tuple, "s": set, "z": frozenset}
