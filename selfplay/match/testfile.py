"""Cases as tests that run without us: lines of Python for plain pytest, inputs with outputs for programs.

A test is written from a case's data alone, which `spelled` decides and does. What data do not say stays a model's text:
it is kept as text, and the only file that holds it (`model_module`) gives it to the sandbox and says so first.
"""

from __future__ import annotations

import ast
import builtins
import json
import keyword
import re
from collections.abc import Iterable, Mapping, Sequence

from selfplay.cases.case import Case
from selfplay.cases.literal import literal
from selfplay.cases.values import Tree, load
from selfplay.game.problems import Problem
from selfplay.game.syntax import parsed

LONGEST = 10_000  # characters of a test
_ERRORS = {name for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException)}
_VALUES = {"float", "complex", "set", "frozenset", "range", "bytearray"}  # what spells a value that is no display
_COMPARED = {"==": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "in": "in", "not_in": "not in"}
_IDENTICAL = {"is": "is", "is_not": "is not"}


def spelled(case: Case, problem: Problem) -> str | Mapping[str, str] | None:
    """A line of Python that fails as the case does, or the input and output of a program, written from its data alone.

    None where the data do not say it all: a site of a text, an exception of the test's own, numbers that may differ.
    """
    if problem.kind == "stdio" or case.operator == "stdout":
        plain = problem.kind == "stdio" and case.operator == "stdout" and case.tolerance == (0.0, 0.0)
        return {"input": case.arguments, "output": case.expected} if plain else None
    try:
        text = _line(case, problem.entry_point) if case.literal else ""
    except ValueError:  # no canonical text
        return None
    return text if len(text) <= LONGEST and _is_data(text, problem.entry_point) else None


def _line(case: Case, entry_point: str) -> str:
    """Empty for an operator that compares nothing with a literal."""
    call = f"{entry_point}({', '.join(_arguments(load(case.arguments)))})"
    if case.operator == "raises":
        names = json.loads(case.expected)
        if (
            not isinstance(names, list)
            or not names
            or not all(isinstance(name, str) and name in _ERRORS for name in names)
        ):
            return ""
        return f"with pytest.raises({names[0] if len(names) == 1 else '(' + ', '.join(names) + ')'}): {call}"
    if case.operator in ("truthy", "falsy"):
        return f"assert {'not ' * (case.operator == 'falsy')}{call}"
    expected = load(case.expected)
    if case.operator == "approx":
        relative, absolute = case.tolerance
        return f"assert {call} == pytest.approx({literal(expected)}, rel={relative!r}, abs={absolute!r})"
    single = expected is None or isinstance(expected, bool)
    compared = _COMPARED | _IDENTICAL if single else _COMPARED
    return f"assert {call} {compared[case.operator]} {literal(expected)}" if case.operator in compared else ""


def _arguments(call: Tree) -> list[str]:
    """The arguments of a call (cases/calls.py), each as Python. Raises ValueError where the tree is no call."""
    match call:
        case ["l", *positional]:
            return [literal(each) for each in positional]
        case ["d", ["", ["l", *positional]], *keywords] if all(_is_name(name) for name, _ in keywords):
            return [*(literal(each) for each in positional), *(f"{name}={literal(value)}" for name, value in keywords)]
    raise ValueError("no arguments of a call")


def _is_name(text: object) -> bool:
    return isinstance(text, str) and text.isidentifier() and not keyword.iskeyword(text)


def _is_data(text: str, entry_point: str) -> bool:
    """Whether a line that was spelled is one statement made of the entry point, pytest's words, exceptions and literals."""
    tree = parsed(text)
    if tree is None or len(tree.body) != 1 or not isinstance(tree.body[0], ast.Assert | ast.With):
        return False
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    known = {entry_point, "pytest", *_VALUES, *_ERRORS}
    return _is_name(entry_point) and entry_point in names <= known and attributes <= {"raises", "approx"}


def model_text(case: Case) -> str:
    """The text that a model wrote and that has to be run to judge the case; empty for a literal one, and for one that is too
    long to be kept."""
    return case.text if len(case.text) <= LONGEST else ""


def is_entry_point(problem: Problem) -> bool:
    """Whether the problem names what its solution defines, as Python can: a bank may come from anywhere."""
    return problem.kind == "stdio" or _is_name(problem.entry_point)


def module_name(problem_id: str) -> str:
    """A problem's id as the name of a module."""
    name = re.sub(r"\W", "_", problem_id, flags=re.ASCII)
    return name if _is_name(name) else f"p_{name}"


def pytest_module(problem: Problem, tests: Sequence[str | Mapping[str, str]], module: str) -> str:
    """A test module of what `spelled` gave, to be run where `module`.py holds the solution."""
    told = json.dumps(problem.id)  # its escapes are Python's as well, and it ends no text of three quotes
    head = f'"""Tests of {told}: put the solution beside this file, as {module}.py, and run pytest."""\n\n'
    pairs = [(test["input"], test["output"]) for test in tests if not isinstance(test, str)]
    if pairs:
        return head + _PROGRAM.format(module=module, pairs=_items(pairs))
    lines = [test for test in tests if isinstance(test, str)]
    bodies = (f"def test_{number}():\n    {line}\n" for number, line in enumerate(lines, 1))
    need = "import pytest\n\n" if any("pytest." in line for line in lines) else ""
    return head + need + f"from {module} import {problem.entry_point}\n\n\n" + "\n\n".join(bodies)


def model_module(problem: Problem, texts: Sequence[tuple[str, str]], module: str) -> str:
    """A test module that holds a model's texts, given as (site, text), and has each run in the sandbox."""
    told, entry_point = json.dumps(problem.id), repr(problem.entry_point)
    return _MODEL.format(told=told, module=module, entry_point=entry_point, texts=_items(texts))


def _items(rows: Iterable[tuple[str, str]]) -> str:
    return "".join(f"    {row!r},\n" for row in rows)


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

_MODEL = '''"""A MODEL WROTE THE TESTS IN THIS FILE, AND RUNNING THE FILE RUNS THEM.

Nobody has read them. They stand here as text, and each is given to selfplay, which runs the program in its sandbox.
Tests of {told}: put the solution beside this file, as {module}.py, pip install selfplay-code, and run pytest.
"""

from pathlib import Path

import pytest

from selfplay import execute_tests

PROGRAM = Path(__file__).with_name("{module}.py")
ENTRY_POINT = {entry_point}
TESTS = [  # where an assertion stands, and the text that it stands in
{texts}]


@pytest.mark.parametrize(("site", "text"), TESTS, ids=range(len(TESTS)))
def test_by_a_model(site, text):
    details = execute_tests(PROGRAM.read_text(), text, ENTRY_POINT).details
    own = [detail for detail in details if detail.name == site] or details
    assert own
    assert [detail for detail in own if detail.verdict != "passed"] == []
'''
