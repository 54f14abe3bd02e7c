"""Parsing text that nobody vouches for: a tree, or the line where it breaks; never an exception, never a warning."""

from __future__ import annotations

import ast
import symtable
import warnings
from collections.abc import Iterator

_PASSES = 10  # times that a text may be given to the parser whole
_BASE = 20_000  # characters that any text may cost, however short
_EACH = 64  # characters that a try costs beside its own


def parse(source: str) -> ast.Module | int:
    """The module that `source` spells, or the number of the first line (from 1) that cannot be part of one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "\d" in a model's string is not our reader's business
            return ast.parse(source)
    except SyntaxError as error:
        return error.lineno or 1
    except (ValueError, MemoryError, RecursionError):  # null bytes, lone surrogates; nesting beyond the parser's depth
        return 1


def parsed(source: str) -> ast.Module | None:
    """The module that `source` spells, None where it spells none."""
    tree = parse(source)
    return tree if isinstance(tree, ast.Module) else None


def globals_by_line(source: str) -> dict[int, set[str]]:
    """For each line on which a function, lambda or class of the module begins, the module's names that it uses, at any depth.

    Empty where `source` does not compile, though it parses.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scopes = symtable.symtable(source, "<turn>", "exec").get_children()
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return {}
    found: dict[int, set[str]] = {}
    waiting = [(scope, found.setdefault(scope.get_lineno(), set())) for scope in scopes]
    while waiting:
        scope, names = waiting.pop()
        names.update(symbol.get_name() for symbol in scope.get_symbols() if symbol.is_global())
        waiting += [(inner, names) for inner in scope.get_children()]
    return found


class Parser:
    """Parses pieces of one text, in as many tries as a fixed multiple of its length allows; then nothing parses.

    Finding code in prose is trying. Without a total, a thousand lines of `@a` were parsed sixty times over for each of
    sixty beginnings.
    """

    def __init__(self, text: str) -> None:
        self.left = _PASSES * len(text) + _BASE

    def parse(self, source: str) -> ast.Module | int:
        """As `parse`; 1 for what is too long for what is left."""
        cost = len(source) + _EACH
        if cost > self.left:
            return 1
        self.left -= cost
        return parse(source)

    def parsed(self, source: str) -> ast.Module | None:
        """As `parsed`; None for what is too long for what is left."""
        tree = self.parse(source)
        return tree if isinstance(tree, ast.Module) else None


def definition(tree: ast.Module, name: str) -> ast.stmt | None:
    """The last top-level statement that binds `name`: a function, a class, an assignment or an import."""
    return next((statement for statement in reversed(tree.body) if name in bound(statement)), None)


def bound(statement: ast.stmt) -> set[str]:
    """Names that a top-level statement binds; of an `if` or `try` those that its branches bind."""
    names = set[str]()
    waiting = [statement]  # no recursion: a thousand `elif` are nested a thousand deep
    while waiting:
        each = waiting.pop()
        if isinstance(each, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
            waiting += [child for child in ast.iter_child_nodes(each) if isinstance(child, ast.stmt)]
        else:
            names.update(_bound(each))
    return names


def _bound(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.AugAssign(target=ast.Name(id=name)):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from ((alias.asname or alias.name).split(".")[0] for alias in names)
        case _:
            return
