"""The copy of the function under test that a test file brings, as models and people write it: dropped.

The program under test is what such tests mean. A copy is a plain definition (a function, a class, a lambda with the
name) at the top of the file, or in the handler of a guarded import. Everything else that binds the name replaces the
function under test, and the file is refused: two different copies, a decorator that changes it, a definition under a
condition, `global`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence

from selfplay.reading.pytests import dotted
from selfplay.reading.refusals import refuse

_HARMLESS = frozenset({"lru_cache", "cache", "functools.lru_cache", "functools.cache"})
_GUARDS = frozenset({"", "ImportError", "ModuleNotFoundError", "Exception"})


def without_copies(body: Sequence[ast.stmt], entry_point: str, text: str) -> tuple[list[ast.stmt], int]:
    """The statements of a file less the copies of the entry point, and how many there were; raises NotReadable."""
    if not entry_point or not _may_bind(text, entry_point):
        return list(body), 0
    kept: list[ast.stmt] = []
    copies: list[ast.stmt] = []
    for node in body:
        if _is_copy(node, entry_point):
            copies.append(node)
        else:
            kept.append(node)
            copies += _guarded(node, entry_point)
    dropped = set(copies)
    for node in kept:
        if _rebinds(node, entry_point, dropped):
            refuse("patched", entry_point)
    if len({ast.dump(copy) for copy in copies}) > 1:
        refuse("patched", entry_point)
    return kept, len(copies)


def _may_bind(text: str, entry_point: str) -> bool:
    """Whether the name stands anywhere but before its arguments. Letters beyond ASCII may spell it in other ways."""
    name = re.escape(entry_point)
    return not text.isascii() or re.search(rf"(?:def|class)[\s\\]+{name}\b|\b{name}\b(?!\()", text) is not None


def _is_copy(node: ast.stmt, entry_point: str) -> bool:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            if node.name != entry_point:
                return False
            if not all(dotted(decorator) in _HARMLESS for decorator in node.decorator_list):
                refuse("patched", entry_point)
            return True
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda()):
            return name == entry_point
    return False


def _guarded(node: ast.stmt, entry_point: str) -> Iterator[ast.stmt]:
    """Copies in `try: from solution import f` with `except ImportError: def f(...)`."""
    if not isinstance(node, ast.Try):
        return
    for handler in node.handlers:
        caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        if all(kind is None or dotted(kind) in _GUARDS for kind in caught):
            yield from (statement for statement in handler.body if _is_copy(statement, entry_point))


def _rebinds(node: ast.stmt, entry_point: str, copies: Collection[ast.AST]) -> bool:
    """Whether a statement at the top of the file gives the name another meaning for all of the file."""
    todo: list[tuple[ast.AST, bool]] = [(node, True)]
    while todo:
        inner, outside = todo.pop()
        if inner in copies:
            continue
        if isinstance(inner, ast.Global) and entry_point in inner.names:
            return True
        if outside and isinstance(inner, ast.Name) and inner.id == entry_point and not isinstance(inner.ctx, ast.Load):
            return True
        if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            if outside and getattr(inner, "name", "") == entry_point:
                return True
            outside = False
        todo += [(child, outside) for child in ast.iter_child_nodes(inner)]
    return False
