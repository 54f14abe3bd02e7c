"""How operations are named where sameness is asked: those that ask the same have one name, wherever in a text they stand.

    f(1, b=2)                         as literal cases name the call, spellings folded (cases/calls.py)
    f() that gave 1, then 2           the second by its outcome as well: it hangs on calls before it
    s.pop(), of s = Stack([1, 2])     by the outcome and by what the instance went through, reading apart

Names are made of what a model's test asked, and arguments are built for them: only the clerk does it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from selfplay.cases.calls import call_text, normal_call, placed_call
from selfplay.cases.steps import Steps
from selfplay.cases.values import Tree, dump, rebuild

_CHANGING = ("next", "setitem", "delitem", "call", "enter", "exit", "iadd", "isub", "imul")  # of the operators
_OPERATORS = frozenset(f"__{name}__" for name in _CHANGING)


def call_name(operation: str, entry_point: str, signature: str) -> str:
    """The name of one operation by itself."""
    kind, *parts = json.loads(operation)
    if kind != "call" or parts[0] != entry_point:
        return operation
    try:
        Steps().weigh(["l", *parts[1:]], build=True)
        return normal_call(call_text(rebuild(parts[1]), rebuild(parts[2])), signature)
    except (ValueError, TypeError):  # what is no data, or takes too long to build
        return operation


def call_names(operations: Sequence[tuple[str, str]], entry_point: str, signature: str) -> list[str]:
    """The names of a story's operations, given with their outcomes."""
    names: list[str] = []
    first: dict[str, str] = {}  # by name its first outcome
    lives: dict[int, str] = {}  # by handle what its instance went through
    for operation, outcome in operations:
        tree, gave = json.loads(operation), json.loads(outcome)
        asked = set(_handles(tree))
        said = _digest(_with_lives(gave, {}))
        if asked:
            name = _digest([_with_lives(tree, lives), said])
        else:
            name = call_name(operation, entry_point, signature)
            if first.setdefault(name, said) != said:
                name = placed_call(name, said)
        names.append(name)
        if _changes(tree):
            lives.update({handle: _digest([lives[handle], name]) for handle in asked if handle in lives})
        for place, handle in enumerate(_handles(gave)):
            lives.setdefault(handle, _digest([name, place]))
    return names


def _changes(tree: Tree) -> bool:
    """Whether an operation may change the instances that it names."""
    kind, *parts = tree
    if kind == "method" and parts[1].startswith("__"):
        return parts[1] in _OPERATORS
    return kind not in ("get", "cget", "const")


def _handles(tree: object) -> list[int]:
    match tree:
        case ["h", str(), int(handle)]:
            return [handle]
        case list() | dict():
            return [handle for part in (tree.values() if isinstance(tree, dict) else tree) for handle in _handles(part)]
    return []


def _with_lives(tree: Tree, lives: dict[int, str]) -> Tree:
    """The tree with what its instances went through in place of their numbers."""
    match tree:
        case ["h", str(kind), int(handle)]:
            return ["h", kind, lives.get(handle, "")]
        case list():
            return [_with_lives(part, lives) for part in tree]
        case dict():
            return {key: _with_lives(part, lives) for key, part in tree.items()}
    return tree


def _digest(tree: Tree) -> str:
    return hashlib.blake2b(dump(tree).encode(), digest_size=16).hexdigest()
