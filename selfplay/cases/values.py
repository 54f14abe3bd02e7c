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
their base by the base's own methods, never by ones that the subclass may override. Values are written and built by the very
code that does it in the box (sandbox/codec.py). What is trusted is here: `load` reads text of any origin and checks it part
by part (trees.py), and builds nothing. `rebuild` makes the objects: 60,000 integers of equal hash keep a set busy for
minutes, so a tree of another's making is weighed first (steps.py).

Left out: sharing and cycles (a shared list is written twice, a cycle hits the depth limit), and two lone surrogates that
spell one character (JSON joins them).
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any, NoReturn

from selfplay.cases.trees import MAX_BYTES, MAX_DEPTH, MAX_NODES, SMALL, Tree, dump, load
from selfplay.cases.trees import checked as checked
from selfplay.cases.trees import parsed as parsed
from selfplay.resources import resource

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_NODES", "Tree", "checked", "decode", "dump", "encode", "integer", "load"]
__all__ += ["number", "parsed", "rebuild", "whole"]


def _loaded(name: str) -> Any:
    """A module of the box's, which in an installed wheel lies among the data."""
    spec = importlib.util.spec_from_file_location(f"sandbox_{name}", resource("sandbox") / f"{name}.py")
    assert spec and spec.loader  # noqa: PT018
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_codec = _loaded("codec")


def encode(value: object, *, size: int = MAX_BYTES, strict: bool = False) -> str:
    """The canonical text of `value`. `strict` refuses what would be opaque.

    Raises ValueError beyond 200,000 parts, 100 levels or `size` bytes of text, naming the limit.
    """
    try:
        return _codec.encode(value, size, _Plain if strict else None)
    except _codec.TooLarge as error:
        raise ValueError(f"the value is too large: {error}") from None


class _Plain:
    """Of what is no data, nothing is written."""

    @staticmethod
    def write(value: object) -> NoReturn:
        raise ValueError(f"a {type(value).__name__} is no plain data")


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


def rebuild(tree: Tree) -> Any:
    """The object that a tree stands for. Raises TypeError for keys that have no hash."""
    return _codec.build(tree, _Objects)


class _Objects:
    """What stands for values that only the box has."""

    @staticmethod
    def read(tree: Tree) -> object:
        return Function(*tree) if tree[0] in ("u", "y") else Opaque()

    @staticmethod
    def error(name: str, message: str) -> Exception:
        return RuntimeError(f"{name}: {message}")


class Opaque:
    """An object of which nothing is known but that it equals no other."""

    def __bool__(self) -> bool:
        raise ValueError("whether it is true nobody knows")


@dataclass(frozen=True, slots=True)
class Function:
    """A function or a lambda by its text."""

    tag: str
    text: str
