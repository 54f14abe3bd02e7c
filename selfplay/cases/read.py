"""Literal tests, read to data without being run; what else a text of tests holds is left to be run.

    reading = read_cases(text, "f", "def f(a, b=2):")
    reading.cases     of asserts of one call and a known value (evaluate.py): bare, in the straight line of a plain test
                      function or of HumanEval's check(candidate), as rows of a table, as JSON [[arguments, expected], ...]
    reading.rest      the module without them, to be run; "" where nothing that is a test remains

A plain function has no parameters and no decorators. Where a text binds the name of the function under test, reaches for
what could replace it or the streams, or sets up something for all its tests, nothing in it is literal; nor is anything
where the entry point is a class. A copy of the function under test is dropped: the program's own is tested.
"""

from __future__ import annotations

import ast
import json
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from selfplay.cases.calls import normal_call, parameters, stdin_call
from selfplay.cases.case import Case, Refusal
from selfplay.cases.evaluate import Evaluator, Names, NotLiteral
from selfplay.cases.values import MAX_BYTES
from selfplay.game.problems import Problem, StdinTest

MAX_TEXT = 1 << 20  # characters
MAX_CASES = 1_024  # of one text
MAX_SOURCE = 2_000  # characters of a case's source
_BLOCKING = frozenset(
    "globals vars setattr delattr exec eval __import__ __builtins__ builtins __dict__ modules importlib mock patch autouse "
    "monkeypatch pytestmark pytest_generate_tests setup_module teardown_module setup_function teardown_function __test__ "
    "setUpModule tearDownModule stdout stderr redirect_stdout redirect_stderr ctypes gc _getframe settrace".split()
)
_ENDING = frozenset(["skip", "fail", "xfail", "importorskip", "exit", "quit", "_exit", "abort"])
_HARNESS = ("unittest.main", "pytest.main")
_CLOSING = (" ", "\t", ")", "]", "}")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text of tests holds: literal cases, what is no test and why, and the `rest`, to be run. `salvaged`: copies of
    the entry point, dropped."""

    cases: tuple[Case, ...] = ()
    refused: tuple[Refusal, ...] = ()
    rest: str = ""
    salvaged: int = 0


def read_cases(text: str, entry_point: str, signature: str = "", limit: int = MAX_CASES) -> Reading:
    """Read `text`; never raises. Of more than `limit` cases the rest is refused with one count."""
    if not text.strip():
        return Reading()
    if len(text) > MAX_TEXT:
        return _unreadable(text, "size", f"{len(text)} characters, the limit is {MAX_TEXT}")
    try:
        return _read(text, entry_point, signature, limit)
    except (RecursionError, MemoryError):
        return _unreadable(text, "unreadable", "nested too deep")


def _read(text: str, entry_point: str, signature: str, limit: int) -> Reading:
    lost: list[Refusal] = []
    rows = _json_rows(text)
    try:
        body = _parsed(text if rows is None else repr(rows))
    except (SyntaxError, ValueError) as error:
        body, lost = _salvaged(text, f"no Python: {error}"[:200])
        if not body:
            return _unreadable(text, "unreadable", f"no Python: {error}"[:200])
    module = _Module(body, entry_point, signature, limit, is_json=rows is not None)
    module.refused += lost
    kept = module.read()
    if not _holds_tests(kept, entry_point):
        kept = []
    rest = text
    if module.has_changed or lost:
        try:
            rest = ast.unparse(ast.Module(kept, []))
        except ValueError:  # an integer, or a formatted string, that cannot be written
            return Reading(rest=text)
    if not module.cases and not module.refused and not kept:
        return _unreadable(text, "no_test", "it holds no assertion and no test")
    return Reading(tuple(module.cases), tuple(module.refused[: limit + 1]), rest if kept else "", module.salvaged)


def _unreadable(text: str, reason: str, detail: str) -> Reading:
    return Reading(refused=(Refusal("module", text[:MAX_SOURCE], reason, detail),))


def _json_rows(text: str) -> object:
    """The rows of JSON `[[arguments, expected], ...]`; None where the text is something else."""
    if not text.lstrip().startswith("["):
        return None
    try:
        rows = json.loads(text)
    except ValueError:
        return None
    return rows if rows and all(isinstance(row, list) and len(row) >= 2 for row in rows) else None


def _parsed(text: str) -> list[ast.stmt]:
    """The statements of a module. Raises SyntaxError and ValueError for what Python would not compile."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
        compile(tree, "<tests>", "exec", dont_inherit=True)
    return tree.body


def _salvaged(text: str, why: str) -> tuple[list[ast.stmt], list[Refusal]]:
    """The statements of a broken text of nothing but assertions and rows, as one that breaks off, and what is lost of it."""
    chunks: list[list[str]] = []
    for line in text.split("\n"):
        if chunks and (not line.strip() or line.startswith(_CLOSING)):
            chunks[-1].append(line)
        else:
            chunks.append([line])
    kept: list[ast.stmt] = []
    lost: list[Refusal] = []
    for chunk in map("\n".join, chunks):
        try:
            body = _parsed(chunk)
        except (SyntaxError, ValueError):
            lost.append(Refusal("assert", chunk[:MAX_SOURCE], "unreadable", why))
            continue
        if not all(isinstance(node, (ast.Assert, ast.Import, ast.ImportFrom)) or _is_bare_row(node) for node in body):
            return [], []
        kept += body
    return (kept, lost) if any(isinstance(node, (ast.Assert, ast.Expr)) for node in kept) else ([], [])


class _Module:
    """A module of tests while its literal assertions are taken out."""

    def __init__(self, body: list[ast.stmt], entry_point: str, signature: str, limit: int, is_json: bool) -> None:
        self.entry, self.signature, self.limit = entry_point, signature, limit
        self.is_json, self.evaluator = is_json, Evaluator()
        self.cases: list[Case] = []
        self.refused: list[Refusal] = []
        self.left_out = 0
        copies = [node for node in body if _is_copy(node, entry_point)]
        self.body = [node for node in body if not _is_guard(node) and not _is_copy(node, entry_point)]
        self.salvaged, self.has_changed = len(copies), len(copies) > 0
        self.names = _Found(self.body)
        of_class = signature.lstrip().startswith("class") or any(isinstance(one, ast.ClassDef) for one in copies)
        self.is_literal = not of_class and not self.names.may_replace(entry_point)

    def read(self) -> list[ast.stmt]:
        """Fills `cases` and `refused`; the statements that remain."""
        body = [each for node in self.body for each in self._asserted(node)]
        kept: list[ast.stmt] = []
        loose = _Block("assert", body, self.entry)
        for node in body:
            if isinstance(node, ast.FunctionDef) and self._is_plain(node):
                kept += self._function(node, self.entry)
            elif isinstance(node, ast.FunctionDef) and self._is_check(node):
                kept += self._checked(node)
            elif not self._is_harness(node) and not self._taken(node, loose):
                kept.append(node)
        if self.left_out:
            detail = f"{self.limit} cases of one text are read, it holds {self.left_out} more"
            self.refused.append(Refusal("assert", "", "too_many", detail))
        return kept
