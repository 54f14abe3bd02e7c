"""The program in a turn of stage 5: found in fences or bare text, whole or as far as it goes, without its examples.

Left out: renaming a function that has the wrong name, and taking a method out of a `class Solution`. The signature was
in the prompt; mending answers would pay for not reading it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from selfplay.game.extract.text import MAX_TURN, Block, blocks, code_in, outside, without_thinking
from selfplay.game.problems import Problem
from selfplay.game.syntax import Parser, bound, definition, parsed

_NOT_PYTHON = frozenset({"text", "txt", "input", "output", "console", "bash", "sh", "shell", "json", "plaintext"})
_CONSOLE = frozenset({"print", "input"})
_SEPARATE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


@dataclass(frozen=True, slots=True)
class Code:
    """The program, None where there is none, and how it was found, as a word to count by.

    `fenced` · `bare` (no fence) · `salvaged` (what parses of broken or half-finished code) · `no_entry_point` (code
    that does not define the function asked for) · `no_code`.
    """

    source: str | None
    how: str


def extract_code(text: str, problem: Problem) -> Code:
    """The solution in `text`: the last one that is whole, else the last that can be salvaged.

    For a function: the code that defines the entry point, without example calls, asserts, printing and main guard. For
    kind stdio: the program as it is. Comments alone are no solution.
    """
    text = without_thinking(text[:MAX_TURN])
    parser = Parser(text)
    lines = text.split("\n")
    found = blocks(lines)
    seen_code = False
    salvaged: str | None = None
    for how, candidate in _candidates(text, lines, found):
        source, lost = code_in(candidate, parser)
        tree = parsed(source) if source else None
        if tree is None or not _does_something(tree):
            continue
        seen_code = True
        if problem.entry_point and definition(tree, problem.entry_point) is None:
            continue
        if not lost:
            return Code(_without_examples(source, tree, problem.entry_point), how)
        salvaged = salvaged or _without_examples(source, tree, problem.entry_point)
    if salvaged is not None:
        return Code(salvaged, "salvaged")
    return Code(None, "no_entry_point" if seen_code else "no_code")


def _candidates(text: str, lines: list[str], found: list[Block]) -> Iterator[tuple[str, str]]:
    """Where the solution may be, best first: closed blocks from the last, then an open one, then bare text."""
    if not found:
        yield "bare", text
        return
    usable = [block for block in reversed(found) if block.language not in _NOT_PYTHON]
    for block in sorted(usable, key=lambda block: (not block.closed, not block.language.startswith("py"))):
        yield "fenced", block.body
    yield "bare", "\n".join(outside(lines, found))


def _does_something(tree: ast.Module) -> bool:
    """False for comments, docstrings and prose that happens to parse."""
    prose = (ast.Name, ast.Constant, ast.Tuple, ast.Attribute, ast.Compare, ast.BinOp, ast.UnaryOp)
    return any(not (isinstance(each, ast.Expr) and isinstance(each.value, prose)) for each in tree.body)


def _without_examples(source: str, tree: ast.Module, entry_point: str) -> str:
    """`source` without the top-level statements that use the solution or the console; a program stays as it is."""
    if not entry_point or all(isinstance(each, _SEPARATE) for each in tree.body):
        return source
    examples = set(_examples(tree, entry_point))
    kept = [each for each in tree.body if each not in examples]
    dropped = {line for each in examples for line in _span(each)} - {line for each in kept for line in _span(each)}
    lines = source.split("\n")
    return "\n".join(line for number, line in enumerate(lines, 1) if number not in dropped).strip("\n")


def _span(statement: ast.stmt) -> range:
    return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


def _examples(tree: ast.Module, entry_point: str) -> list[ast.stmt]:
    """Statements outside definitions that call the entry point, print, read input, or use what such ones made."""
    tainted, found = {entry_point, "__name__", *_CONSOLE}, list[ast.stmt]()
    for statement in tree.body:
        if isinstance(statement, _SEPARATE) or entry_point in bound(statement):
            continue
        names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        if isinstance(statement, ast.Assert) or names & tainted or _is_prose(statement):
            found.append(statement)
            tainted |= bound(statement)
    return found


def _is_prose(statement: ast.stmt) -> bool:
    """A lone name is a word of prose; evaluating it would stop the program."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Name)
