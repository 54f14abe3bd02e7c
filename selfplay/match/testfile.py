"""Cases as tests that run without us: lines of Python for plain pytest, inputs with outputs for programs.

A case is written from its data, so that the test says what was judged; where a view or a condition was applied, the test
that was written is taken if it stands by itself. What neither gives is `Unspellable`.
"""

from __future__ import annotations

import ast
import builtins
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from selfplay.cases.calls import call_of
from selfplay.cases.case import Case
from selfplay.cases.literal import literal
from selfplay.cases.values import encode, load
from selfplay.game.problems import Problem
from selfplay.game.syntax import parsed

_LONGEST = 10_000  # characters of a test
_KNOWN = {"pytest", *dir(builtins)}


class Unspellable(Exception):
    """A case that no short test by itself can say."""


def spelled(case: Case, problem: Problem) -> str | Mapping[str, str]:
    """A line of Python that fails as the case does, or the input and output of a program. Raises Unspellable."""
    if problem.kind == "stdio":
        if problem.tolerance:
            raise Unspellable(case.name)
        return {"input": case.arguments, "output": case.expected}
    text = _from_data(case, problem.entry_point) or case.source.strip()
    if len(text) > _LONGEST or not _stands_alone(text, problem.entry_point):
        raise Unspellable(case.name)
    return text


def _from_data(case: Case, entry_point: str) -> str:
    """Empty where the data alone do not make a test."""
    if case.operator not in ("==", "raises", "approx"):
        return ""
    positional, keywords = call_of(case.arguments)
    parts = [_literal(value) for value in positional]
    call = f"{entry_point}({', '.join([*parts, *(f'{name}={_literal(value)}' for name, value in keywords.items())])})"
    if case.operator == "raises":
        names = json.loads(case.expected)
        return f"with pytest.raises({names[0] if len(names) == 1 else '(' + ', '.join(names) + ')'}): {call}"
    expected = literal(load(case.expected))
    if case.operator == "approx":
        relative, absolute = case.tolerance
        return f"assert {call} == pytest.approx({expected}, rel={relative!r}, abs={absolute!r})"
    return f"assert {call} == {expected}"


def _literal(value: Any) -> str:
    return literal(load(encode(value)))


def _stands_alone(text: str, entry_point: str) -> bool:
    """Whether the text is one statement that tests the entry point and uses nothing but it, pytest and built-in names."""
    tree = parsed(text)
    if tree is None or len(tree.body) != 1 or not isinstance(tree.body[0], ast.Assert | ast.With):
        return False
    named = [node for node in ast.walk(tree) if isinstance(node, ast.Name | ast.arg)]
    own = {node.arg if isinstance(node, ast.arg) else node.id for node in named if not _is_read(node)}
    used = {node.id for node in named if isinstance(node, ast.Name)} - own
    return entry_point in used and used - {entry_point} <= _KNOWN


def _is_read(node: ast.Name | ast.arg) -> bool:
    return isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)


def module_name(problem_id: str) -> str:
    """A problem's id as the name of a module."""
    name = re.sub(r"\W", "_", problem_id, flags=re.ASCII)
    return name if name.isidentifier() else f"p_{name}"


def pytest_module(suite: Mapping[str, Any], module: str) -> str:
    """A test module for one line of a bank, to be run where `module`.py holds the solution."""
    tests: Sequence[Mapping[str, Any]] = suite["tests"]
    head = f'"""Tests of {suite["id"]!r}: put the solution beside this file, as {module}.py, and run pytest."""\n\n'
    if suite["kind"] == "stdio":
        pairs = "".join(f"    ({one['test']['input']!r}, {one['test']['output']!r}),\n" for one in tests)
        return head + _PROGRAM.format(module=module, pairs=pairs)
    bodies = (f"def test_{number}():\n    {one['test']}\n" for number, one in enumerate(tests, 1))
    need = "import pytest\n\n" if any("pytest." in one["test"] for one in tests) else ""
    return head + need + f"from {module} import {suite['entry_point']}\n\n\n" + "\n\n".join(bodies)


_PROGRAM = """import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("{module}.py")
CASES = [
{pairs}]


@pytest.mark.parametrize(("given", "expected"), CASES)
def test_output(given, expected):
    ran = subprocess.run([sys.executable, PROGRAM], input=given, capture_output=True, text=True, check=True)
    assert lines(ran.stdout) == lines(expected)


def lines(text):
    return [line.rstrip() for line in text.rstrip().split("\\n")]
"""
