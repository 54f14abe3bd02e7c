"""The files that plain pytest gets: an honest text of tests, and the program under the names that the tests import.

Two things only are done to the tests. Where they hold a copy of the entry point, every public name of the program that
they define is imported from it instead. Where they use a public name of the program that they neither import nor define,
an import of it is put on top.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path


def with_program(tests: str, reference: str, entry_point: str) -> str:
    """The tests, with imports in place of copies of the program and on top for names that come from nowhere."""
    tree = ast.parse(tests)
    public = _public(ast.parse(reference))
    bound = {name for node in tree.body for name in _bound(node)}
    defined = {name for node in tree.body for name in _defined(node)}
    copies = defined & public if entry_point in defined else set()
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & public
    starred = any(alias.name == "*" for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names)
    absent = sorted(used - bound) if not starred else []
    text = tests
    if copies:
        tree.body = [_replaced(node, copies) for node in tree.body]
        text = ast.unparse(tree)
    return f"from solution import {', '.join(absent)}\n{text}" if absent else text


def _public(program: ast.Module) -> set[str]:
    return {name for node in program.body for name in (*_defined(node), *_assigned(node)) if not name.startswith("_")}


def _bound(node: ast.stmt) -> Iterator[str]:
    yield from _defined(node)
    yield from (child.id for child in ast.walk(node) if isinstance(child, ast.Name) and _is_store(child))
    for child in ast.walk(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield from ((alias.asname or alias.name).split(".")[0] for alias in child.names)


def _defined(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name


def _assigned(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        yield from (child.id for child in ast.walk(node) if isinstance(child, ast.Name) and _is_store(child))


def _is_store(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _replaced(node: ast.stmt, copies: set[str]) -> ast.stmt:
    name = next(_defined(node), "")
    return ast.ImportFrom("solution", [ast.alias(name)], 0) if name in copies else node


def has_tests(tree: ast.Module) -> bool:
    """Whether pytest may find a test: a function of such a name stands somewhere."""
    functions = (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return any(node.name.startswith("test") for node in functions)


def write_modules(folder: Path, tests: ast.Module, program: str) -> None:
    """`solution.py`, and modules that are it under every name that the tests import and that does not exist."""
    (folder / "solution.py").write_text(program, encoding="utf-8")
    for dotted in sorted(_imported(tests) - {"solution"}):
        if importlib.util.find_spec(dotted.split(".")[0]) is None:
            path = folder.joinpath(*dotted.split("."))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.with_suffix(".py").write_text("import solution, sys\n\nsys.modules[__name__] = solution\n")


def _imported(tests: ast.Module) -> set[str]:
    nodes = list(ast.walk(tests))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {
        node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level
    }
