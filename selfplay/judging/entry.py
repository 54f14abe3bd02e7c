"""Which function is under test, and how it is called: told from the texts of programs and tests, nothing run."""

from __future__ import annotations

import ast
import re

from selfplay.game.syntax import definition, parsed


def called_functions(code: str, tests: str) -> tuple[str, ...]:
    """The top-level functions of `code` that `tests` call, the most called first."""
    counts = _calls(code, tests)
    return tuple(sorted((name for name in counts if counts[name]), key=lambda name: -counts[name]))


def called_entry_point(code: str, tests: str) -> str:
    """The top-level function of `code` that `tests` call most often; the last one where they call none."""
    counts = _calls(code, tests)
    return max(reversed(counts), key=lambda name: counts[name], default="")


def _calls(code: str, tests: str) -> dict[str, int]:
    tree = parsed(code)
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)] if tree else []
    return {name: len(re.findall(rf"(?<!def )\b{re.escape(name)}\s*\(", tests)) for name in names}


def signature_of(code: str, entry_point: str) -> str:
    """The line `def name(parameters):` of a program's function, `class name:` of a class; empty where it has neither."""
    tree = parsed(code)
    found = definition(tree, entry_point) if tree else None
    if isinstance(found, ast.ClassDef):
        return f"class {found.name}:"
    if not isinstance(found, ast.FunctionDef):
        return ""
    try:
        return f"def {found.name}({ast.unparse(found.args)}):"
    except RecursionError:
        return ""
