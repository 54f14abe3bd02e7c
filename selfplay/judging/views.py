"""Views: the steps that a test applies to a result before it compares, as data, on trees.

`assert sorted(f(x))[0] == 1` is a case with the view `("sorted", "index", "0")`: a flat tuple of steps, each followed
by its argument where it takes one.

    len sorted reversed set list tuple sum min max abs str int float bool any all    the builtin of that name
    lower upper strip keys values items                                              the method of that name
    index I    slice A,B,C    key TREE    count TREE    has TREE                    _[I] _[A:B:C] _[T] _.count(T) T in _
    round N    isinstance A|B    type_is A                                           round(_, N), type(_) is A

`Mismatch` says that Python would have raised, or that an opaque value cannot be looked into.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

from selfplay.judging.equality import Mismatch, canonical, entries, equal, member, order, range_key, truth
from selfplay.judging.values import Tree, dump, encode, integer, load, number, rebuild, whole

WITH_ARGUMENT = frozenset({"index", "slice", "key", "count", "has", "round", "isinstance", "type_is"})


def steps(path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The steps of a view as (name, argument), the argument empty where a step takes none."""
    parts = iter(path)
    for name in parts:
        yield name, next(parts) if name in WITH_ARGUMENT else ""


def view(path: tuple[str, ...], tree: Tree) -> Tree:
    """The tree seen through all steps of `path`; raises Mismatch."""
    for name, argument in steps(path):
        try:
            tree = _ARGUED[name](tree, argument) if name in _ARGUED else _PLAIN[name](tree)
        except Mismatch:
            raise
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # what Python raises for such a step
            raise Mismatch(f"{name}: {error}") from None
    return tree


MAX_ITEMS = 200_000


def sequence(tree: Tree) -> list[Tree]:
    """The items that iterating over the tree gives: list, tuple, text, bytes, range, set, keys of a dictionary."""
    if type(tree) is str:
        return list(tree)
    if type(tree) is not list:
        raise Mismatch("not iterable")
    tag = tree[0]
    if tag in ("l", "t"):
        return tree[1:]
    if tag in ("s", "z"):
        return list(_distinct(tree[1:]).values())
    if tag == "d":
        return list(_distinct([key for key, _ in tree[1:]]).values())
    if tag in ("b", "B"):
        return list(bytes.fromhex(tree[1]))
    if tag == "r":
        return _range_items(tree)
    raise Mismatch("not iterable")


def _range_items(tree: Tree) -> list[Tree]:
    values = range(*map(whole, tree[1:]))
    if values[MAX_ITEMS:]:
        raise Mismatch(f"more than {MAX_ITEMS} items")
    return [integer(value) for value in values]


def _distinct(trees: list[Tree]) -> dict[str, Tree]:
    found: dict[str, Tree] = {}
    for tree in trees:
        found.setdefault(canonical(tree), tree)
    return found


def _length(tree: Tree) -> Tree:
    if type(tree) is list and tree[0] == "r":
        return integer(range_key(tree)[0])
    return len(sequence(tree))


def _compare(a: Tree, b: Tree) -> int:
    if order(a, b, operator.lt):
        return -1
    return 1 if order(b, a, operator.lt) else 0


def _sorted(tree: Tree) -> Tree:
    values = sequence(tree)
    if all(type(value) is int for value in values) or all(type(value) is str for value in values):
        return ["l", *sorted(values)]
    return ["l", *sorted(values, key=functools.cmp_to_key(_compare))]


def _extreme(best: Callable[..., Any]) -> Callable[[Tree], Tree]:
    return lambda tree: best(sequence(tree), key=functools.cmp_to_key(_compare))


def _tree(value: Any) -> Tree:
    return load(encode(value))


def _number(tree: Tree) -> Any:
    value = number(tree)
    if value is None:
        raise Mismatch("not a number")
    return value


def _on_number(function: Callable[[Any], Any]) -> Callable[[Tree], Tree]:
    return lambda tree: _tree(function(_number(tree)))


def _on_text(function: Callable[[str], str]) -> Callable[[Tree], Tree]:
    return lambda tree: function(_text(tree))


def _text(tree: Tree) -> str:
    if type(tree) is not str:
        raise Mismatch("not a text")
    return tree


def _convert(kind: Callable[[Any], Any]) -> Callable[[Tree], Tree]:
    return lambda tree: _tree(kind(tree) if type(tree) is str else kind(_number(tree)))


def _printed(tree: Tree) -> Tree:
    return str(_ordered(tree))


def _ordered(tree: Tree) -> Any:
    """The object of a tree without sets and dictionaries, whose printed order or whose hashing is not ours to trust."""
    if type(tree) is list and tree[0] in ("l", "t"):
        parts = [_ordered(part) for part in tree[1:]]
        return parts if tree[0] == "l" else tuple(parts)
    if type(tree) is list and tree[0] in ("s", "z", "d", "o"):
        raise Mismatch("no printed form")
    return rebuild(tree)


def _set(tree: Tree) -> Tree:
    found = _distinct(sequence(tree))
    return ["s", *sorted(found.values(), key=dump)]


def _pairs(tree: Tree) -> list[Any]:
    found = entries(tree) if type(tree) is list and tree[0] == "d" else None
    if found is None:
        raise Mismatch("not a dictionary")
    values = dict(found)
    return [(key, values[text]) for text, key in _distinct([key for key, _ in tree[1:]]).items()]


_PLAIN: dict[str, Callable[[Tree], Tree]] = {
    "len": _length,
    "sorted": _sorted,
    "reversed": lambda tree: ["l", *reversed(sequence(tree))],
    "set": _set,
    "list": lambda tree: ["l", *sequence(tree)],
    "tuple": lambda tree: ["t", *sequence(tree)],
    "sum": lambda tree: _tree(sum(_number(item) for item in sequence(tree))),
    "min": _extreme(min),
    "max": _extreme(max),
    "any": lambda tree: any(truth(item) for item in sequence(tree)),
    "all": lambda tree: all(truth(item) for item in sequence(tree)),
    "abs": _on_number(abs),
    "int": _convert(int),
    "float": _convert(float),
    "str": _printed,
    "bool": truth,
    "lower": _on_text(str.lower),
    "upper": _on_text(str.upper),
    "strip": _on_text(str.strip),
    "keys": lambda tree: ["s", *(key for key, _ in _pairs(tree))],
    "values": lambda tree: ["l", *(value for _, value in _pairs(tree))],
    "items": lambda tree: ["l", *(["t", *pair] for pair in _pairs(tree))],
}


def _item(tree: Tree, position: Any) -> Tree:
    if type(tree) is list and tree[0] in ("s", "z", "d"):
        raise Mismatch("no positions")
    return sequence(tree)[position]


def _slice(tree: Tree, bounds: str) -> Tree:
    part = _item(tree, slice(*(int(bound) if bound else None for bound in bounds.split(","))))
    if type(tree) is str:
        return "".join(part)
    if tree[0] in ("b", "B"):
        return [tree[0], bytes(part).hex()]
    if tree[0] == "r":
        return ["l", *part]
    return [tree[0], *part]


def _index(tree: Tree, position: str) -> Tree:
    if type(tree) is list and tree[0] == "d":
        return _key(tree, position)
    return _item(tree, int(position))


def _key(tree: Tree, key: str) -> Tree:
    wanted = canonical(load(key))
    for found, value in reversed(tree[1:] if type(tree) is list and tree[0] == "d" else []):
        if canonical(found) == wanted:
            return value
    raise Mismatch("no such key")


def _count(tree: Tree, item: str) -> Tree:
    wanted = load(item)
    if type(tree) is str:
        return tree.count(_text(wanted))
    if type(tree) is not list or tree[0] not in ("l", "t", "r"):
        raise Mismatch("no count")
    return sum(equal(found, wanted) for found in sequence(tree))


def _has(tree: Tree, item: str) -> Tree:
    return member(load(item), tree)


def _round(tree: Tree, digits: str) -> Tree:
    return _tree(round(_number(tree), int(digits)) if digits else round(_number(tree)))


_TYPES: dict[str, str] = {
    "l": "list", "t": "tuple", "s": "set", "z": "frozenset", "d": "dict", "f": "float", "I": "int", "b": "bytes",
    "B": "bytearray", "c": "complex", "r": "range",
}  # fmt: skip


def type_name(tree: Tree) -> str:
    """The name of the builtin type of the value, `?` for an opaque one."""
    if type(tree) is list:
        return _TYPES.get(tree[0], "?")
    return type(tree).__name__


def _isinstance(tree: Tree, names: str) -> Tree:
    name, wanted = type_name(tree), names.split("|")
    return name in wanted or (name == "bool" and "int" in wanted)


_ARGUED: dict[str, Callable[[Tree, str], Tree]] = {
    "index": _index,
    "slice": _slice,
    "key": _key,
    "count": _count,
    "has": _has,
    "round": _round,
    "isinstance": _isinstance,
    "type_is": lambda tree, name: type_name(tree) == name,
}
