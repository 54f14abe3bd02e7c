"""Values that are not evaluated and spoil what uses them, and nothing else: names of modules that the problem does not
bring, of the standard library's that are not read, messages of exceptions, names that were changed unseen.

Whatever is made of such a value is such a value; it becomes a refusal where it would decide something: an argument, an
assertion, an `if`. What a statement that is not evaluated may have changed is found here too, so that leaving it out
lets nothing be misread.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NoReturn

from selfplay.reading.budget import Budget
from selfplay.reading.known import BUILTINS
from selfplay.reading.names import Function, Scope
from selfplay.reading.normal import words
from selfplay.reading.refusals import NotReadable, refusal
from selfplay.reading.unknown import Arguments, Data, Keywords, Unknown, Value

NODE_STEPS = 3  # for looking at one node of a syntax tree
_MUTABLE = (list, dict, set, bytearray)


class Spoiled(Unknown):
    """A value that is not known and never will be, with the refusal of whatever depends on it."""

    def __init__(self, error: NotReadable) -> None:
        self.error = error

    @classmethod
    def of(cls, kind: str, entry: str = "the function under test", **facts: object) -> Spoiled:
        """One whose refusal is of this kind (refusals.py)."""
        return cls(refusal(kind, entry, **facts))

    def refuse(self) -> NoReturn:
        raise self.error.with_traceback(None)

    def call(self, arguments: Arguments, keywords: Keywords) -> Value:
        """What it returns is not known either; what it is given, it may change."""
        if any(isinstance(value, (*_MUTABLE, Function)) for value in (*arguments, *keywords.values())):
            return self.refuse()
        return self

    def attribute(self, name: str) -> Value:
        if name in ("__dict__", "__globals__", "f_globals"):  # from where everything can be replaced
            raise refusal("patches", name=f"what {name} holds")
        return self

    def item(self, key: Value) -> Value:
        return self

    def passed_to(self, name: str, arguments: Arguments, keywords: Keywords) -> Value:
        return None if name == "print" else self

    def compare(self, operator: str, other: Value, flipped: bool) -> Value:
        return self

    def negated(self) -> Value:
        return self

    def combine(self, operator: str, other: Value, flipped: bool) -> Value:
        return self


def spoil(names: tuple[set[str], set[str]], scope: Scope, error: NotReadable) -> None:
    """Make unknown what nodes bind, and what they may change by giving it to somebody: the `names` of names_of()."""
    bound, exposed = names
    for name in exposed - bound:
        value = _found(scope, name)
        if isinstance(value, _MUTABLE):
            _empty(value, Spoiled(error))
            bound.add(name)
        elif isinstance(value, Unknown):
            value.change()
    for name in bound:
        owner, _, attribute = name.partition(".")
        held = getattr(_found(scope, owner), "names", None) if attribute else _holder(scope, name).names
        if isinstance(held, dict):
            held[attribute or name] = Spoiled(error)


def _empty(value: list[Data] | dict[Data, Data] | set[Data] | bytearray, instead: Spoiled) -> None:
    """Other names may stand for the same list: what is in it is unknown to them too."""
    if isinstance(value, list):
        value[:] = [instead]
    elif isinstance(value, dict):
        value.clear()
        value["?"] = instead
    else:
        value.clear()


def _holder(scope: Scope, name: str) -> Scope:
    found: Scope | None = scope
    while found is not None:
        if name in found.names:
            return found
        found = found.outer
    return scope


def _found(scope: Scope, name: str) -> Value:
    return _holder(scope, name).names.get(name)


def names_of(nodes: Iterable[ast.AST], scope: Scope, budget: Budget) -> tuple[set[str], set[str]]:
    """The names that the nodes bind, and those whose values they may change, helpers of the test included.

    Every node is paid for, a helper's too: a loop may ask this for each of its rounds.
    """
    bound: set[str] = set()
    exposed: set[str] = set()
    entered: set[str] = set()
    todo: list[tuple[ast.AST, bool, bool]] = [(node, False, True) for node in nodes]
    while todo:
        node, given, outside = todo.pop()
        budget.spend(NODE_STEPS)
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                if given:
                    exposed.add(node.id)
            elif outside:
                bound.add(node.id)
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and outside:
            bound.add(node.name)
        if isinstance(node, (ast.Import, ast.ImportFrom)) and outside:
            bound |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            bound.add(node.name)
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            bound |= set(node.names)
        if isinstance(node, ast.Call):
            todo += _of_call(node, scope, given, outside, entered)
            continue
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            bound.add(f"{node.value.id}.{node.attr}")
        stored = isinstance(node, (ast.Subscript, ast.Attribute)) and not isinstance(node.ctx, ast.Load)
        todo += [(child, given or stored, outside) for child in ast.iter_child_nodes(node)]
    return bound, exposed


def _of_call(
    node: ast.Call, scope: Scope, given: bool, outside: bool, entered: set[str]
) -> Iterator[tuple[ast.AST, bool, bool]]:
    """What a call looks at: it may change its arguments, unless it is a builtin or the function under test."""
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    value = _found(scope, name) if name else None
    harmless = (name in BUILTINS and value is None) or type(value).__name__ == "EntryPoint"
    if isinstance(node.func, ast.Attribute) and node.func.attr.startswith("assert"):
        harmless = True
    if isinstance(value, Function) and name not in entered:
        entered.add(name)
        body = value.body if isinstance(value.body, list) else [value.body]
        yield from ((statement, given, False) for statement in body)
    if not name:
        yield node.func, not harmless, outside
    for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
        yield argument, given or not harmless, outside


_REPLACING = words("setattr delattr exec eval globals locals vars __import__ __dict__ modules monkeypatch mocker patch")


def replaces(node: ast.AST, budget: Budget) -> str:
    """What a statement may put something else in place of, the function under test perhaps; empty where it cannot."""
    for inner in ast.walk(node):
        budget.spend(NODE_STEPS)
        if isinstance(inner, ast.Name) and inner.id in _REPLACING:
            return inner.id
        if isinstance(inner, ast.Attribute):
            owner = inner.value.id if isinstance(inner.value, ast.Name) else ""
            if inner.attr in _REPLACING or (not isinstance(inner.ctx, ast.Load) and owner not in ("self", "cls")):
                return inner.attr
    return ""
