"""What Python's operators, builtins and methods do with numbers and texts, on trees, within a budget.

Numbers that are computed with have at most 10,000 bits, texts that are read as numbers at most as many characters.
Everything whose result may be larger than what it reads is paid for before it is made. Left out: formatting, encoding,
and the searches from the right, which take quadratic time.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from selfplay.cases.equality import tag_of
from selfplay.cases.steps import CHARACTERS, Mismatch, Steps
from selfplay.cases.values import Tree, integer, number, rebuild

MAX_BITS = 10_000


def tree_of(value: Any) -> Tree:
    """The tree of a number, a text, a boolean or None."""
    if type(value) is int:
        return integer(value)
    if type(value) is float:
        return ["f", repr(value)]
    if type(value) is complex:
        return ["c", repr(value.real), repr(value.imag)]
    return value


def number_of(tree: Tree) -> Any:
    """The number to compute with (a boolean is one); raises Mismatch for others and for huge ones."""
    if type(tree) is bool:
        return tree
    value = number(tree)
    if value is None:
        raise Mismatch("not a number")
    return _small(value)


def _small(value: Any) -> Any:
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise Mismatch(f"a number of more than {MAX_BITS} bits")
    return value


def whole_of(tree: Tree) -> int:
    """The int of a tree; raises Mismatch for everything else."""
    value = number_of(tree)
    if not isinstance(value, int):
        raise Mismatch("not an integer")
    return value


def text_of(tree: Tree) -> str:
    """The text of a tree; raises Mismatch for everything else."""
    if type(tree) is not str:
        raise Mismatch("not a text")
    return tree


def on_number(function: Callable[[Any], Any]) -> Callable[[Steps, Tree], Tree]:
    """A function of one number, for trees."""
    return lambda steps, tree: tree_of(function(number_of(tree)))


def on_numbers(function: Callable[[Any, Any], Any]) -> Callable[[Steps, Tree, Tree], Tree]:
    """A function of two numbers, for trees."""
    return lambda steps, a, b: tree_of(_small(function(number_of(a), number_of(b))))


def power(base: Any, exponent: Any) -> Any:
    """`base ** exponent`, of integers only where the result is not too large."""
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * exponent > MAX_BITS + 1:
        raise Mismatch("a power that is too large")
    return base**exponent


def shifted(value: Any, by: Any) -> Any:
    """`value << by`."""
    if not isinstance(by, int) or by > MAX_BITS:
        raise Mismatch("a shift that is too large")
    return value << by


def is_close(steps: Steps, a: Tree, b: Tree, rel: Tree = None, absolute: Tree = 0) -> Tree:
    """math.isclose(a, b, rel_tol=rel, abs_tol=absolute)."""
    relative = 1e-9 if rel is None else number_of(rel)
    return math.isclose(number_of(a), number_of(b), rel_tol=relative, abs_tol=number_of(absolute))


def rounded(steps: Steps, tree: Tree, digits: Tree = None) -> Tree:
    """round(tree, digits). An integer is rounded to a power of ten only where one of that size can matter."""
    value = number_of(tree)
    if digits is None:
        return tree_of(round(value))
    places = whole_of(digits)
    if isinstance(value, int) and places < 0 and -places > value.bit_length():
        return 0
    return tree_of(round(value, places))


def to_int(steps: Steps, tree: Tree) -> Tree:
    """int(tree)."""
    return tree_of(int(_numeral(tree)))


def to_float(steps: Steps, tree: Tree) -> Tree:
    """float(tree)."""
    return tree_of(float(_numeral(tree)))


def _numeral(tree: Tree) -> Any:
    """What int() and float() take: a number, or the digits of one as text or bytes."""
    digits = bytes.fromhex(tree[1]) if tag_of(tree) in ("b", "B") else tree
    if not isinstance(digits, (str, bytes)):
        return number_of(tree)
    if len(digits) > MAX_BITS:
        raise Mismatch(f"a numeral of more than {MAX_BITS} characters")
    return digits


def to_text(steps: Steps, tree: Tree) -> Tree:
    """str(tree)."""
    steps.weigh(tree)
    return tree if type(tree) is str else _printed(tree)


def _printed(tree: Tree) -> str:
    """repr() of a value; raises Mismatch for what has no order of its own."""
    tag, value = tag_of(tree), number(tree)
    if value is not None:
        return repr(number_of(tree))
    if tag == "l":
        return f"[{', '.join(map(_printed, tree[1:]))}]"
    if tag == "t":
        return f"({', '.join(map(_printed, tree[1:]))}{',' * (len(tree) == 2)})"
    if tag == "d":
        return "{" + ", ".join(f"{_printed(key)}: {_printed(item)}" for key, item in tree[1:]) + "}"
    if tag in ("s", "z") and len(tree) <= 2:  # with more items it hangs on their order
        inner = f"{{{_printed(tree[1])}}}" if len(tree) == 2 else ""
        return inner if tag == "s" and inner else f"{'set' if tag == 's' else 'frozenset'}({inner})"
    if tag not in ("", "b", "B", "r"):
        raise Mismatch("no printed form")
    return repr(rebuild(tree))


def type_name(tree: Tree) -> str:
    """The name of the builtin type of the value, `?` for an opaque one."""
    if type(tree) is list:
        return _TYPES.get(tree[0], "?")
    return type(tree).__name__


_TYPES: dict[str, str] = {
    "l": "list", "t": "tuple", "s": "set", "z": "frozenset", "d": "dict", "f": "float", "I": "int", "b": "bytes",
    "B": "bytearray", "c": "complex", "r": "range", "list?": "list", "tuple?": "tuple", "keys": "dict_keys",
    "items": "dict_items", "values": "dict_values",
}  # fmt: skip


def is_instance(steps: Steps, tree: Tree, names: Tree) -> Tree:
    """isinstance(tree, names), the types named in one text: "int|str"."""
    name, wanted = type_name(tree), text_of(names).split("|")
    return name in wanted or (name == "bool" and "int" in wanted)


def type_of(steps: Steps, tree: Tree) -> Tree:
    """The name of the type, as a text; raises Mismatch for an opaque value."""
    name = type_name(tree)
    if name == "?":
        raise Mismatch("a type that is not known")
    return name


Text: TypeAlias = str | bytes | bytearray


def any_text_of(tree: Tree) -> Text:
    """The text or bytes of a tree; raises Mismatch for everything else."""
    if tag_of(tree) in ("b", "B"):
        return rebuild(tree)
    return text_of(tree)


def _receiver(steps: Steps, tree: Tree, *arguments: Tree) -> list[Any]:
    """A text or bytes and the arguments of their method, paid for; a tuple of texts is one argument."""
    for part in (tree, *arguments):
        steps.weigh(part)
    for argument in arguments:
        texts = argument[1:] if tag_of(argument) == "t" else [argument]
        if any(tag_of(text) not in ("", "I", "b", "B") for text in texts):  # nothing that would be hashed
            raise Mismatch("no argument for a text's method")
    return [any_text_of(tree), *map(rebuild, arguments)]


def _from_text(steps: Steps, found: Any) -> Tree:
    """The tree of what a method of a text or bytes gives."""
    if type(found) is list:
        steps.spend(2 * len(found))
        return ["l", *(_from_text(steps, part) for part in found)]
    if isinstance(found, (bytes, bytearray)):
        return ["b" if type(found) is bytes else "B", found.hex()]
    return tree_of(found)


def on_text(name: str) -> Callable[..., Tree]:
    """A method of a text or of bytes, for trees: its result is at most three times as long."""

    def method(steps: Steps, tree: Tree, *arguments: Tree) -> Tree:
        text, *given = _receiver(steps, tree, *arguments)
        if not hasattr(text, name):
            raise Mismatch("no such method")
        return _from_text(steps, getattr(text, name)(*given))

    return method


def stripped(name: str) -> Callable[..., Tree]:
    """strip, lstrip or rstrip: each character of the text may be looked for among those to strip."""

    def method(steps: Steps, tree: Tree, characters: Tree = None) -> Tree:
        text, among = _receiver(steps, tree, characters)
        steps.spend(1 + len(text) * len(among or "") // CHARACTERS)
        return _from_text(steps, getattr(text, name)(among))

    return method


def replaced(steps: Steps, tree: Tree, old: Tree, new: Tree) -> Tree:
    """tree.replace(old, new)."""
    text, before, after = _receiver(steps, tree, old, new)
    steps.spend(text.count(before) * len(after) // CHARACTERS)
    return _from_text(steps, text.replace(before, after))


def joined(steps: Steps, glue: Tree, parts: Sequence[Tree]) -> Tree:
    """glue.join(parts), which are in order."""
    texts: list[Any] = [any_text_of(part) for part in parts]
    between: Any = any_text_of(glue)
    steps.spend(len(between) * len(texts) // CHARACTERS + sum(map(len, texts)) // CHARACTERS)
    return _from_text(steps, between.join(texts))


SIMPLE_METHODS = ("lower", "upper", "title", "capitalize", "swapcase", "casefold")
TESTS = ("isdigit", "isalpha", "isalnum", "islower", "isupper", "isspace", "isdecimal", "isnumeric", "istitle")
ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": power, "<<": shifted, ">>": operator.rshift, "&": operator.and_, "|": operator.or_,
    "^": operator.xor,
}  # fmt: skip
