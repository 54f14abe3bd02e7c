"""Parsing text that nobody vouches for: a tree, or the line where it breaks; never an exception, never a warning."""

from __future__ import annotations

import ast
import warnings


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


def definition(tree: ast.Module, name: str) -> ast.stmt | None:
    """The last top-level statement that binds `name`: a function, a class, an assignment or an import."""
    return next((statement for statement in reversed(tree.body) if name in bound(statement)), None)


def bound(statement: ast.stmt) -> set[str]:
    """Names that a top-level statement binds; of an `if` or `try` those that its branches bind."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Assign(targets=targets):
            return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.AugAssign(target=ast.Name(id=name)):
            return {name}
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return {(alias.asname or alias.name).split(".")[0] for alias in names}
        case ast.If() | ast.Try() | ast.With() | ast.For() | ast.While():
            return {
                name
                for child in ast.iter_child_nodes(statement)
                if isinstance(child, ast.stmt)
                for name in bound(child)
            }
        case _:
            return set()
