"""The tree of errors that errors.py draws."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from selfplay import errors

PACKAGE = Path(errors.__file__).parent


def drawn() -> dict[str, str]:
    """Each error of the drawing, with the one above it."""
    parents: dict[str, str] = {}
    path = ["SelfplayError"]
    for branch, name in re.findall(r"^ {4}((?:│   |    )*[├└]── )(\w+)", errors.__doc__ or "", re.MULTILINE):
        depth = len(branch) // 4
        path = [*path[:depth], name]
        parents[name] = path[-2]
    return parents


def test_every_error_of_the_package_stands_in_the_tree_below_its_own_base() -> None:
    bases: dict[str, str] = {}
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and node.bases and isinstance(node.bases[0], ast.Name):
                bases[node.name] = node.bases[0].id

    def mendable(name: str) -> bool:
        return name == "SelfplayError" or (name in bases and mendable(bases[name]))

    assert drawn() == {name: base for name, base in bases.items() if mendable(base)}
