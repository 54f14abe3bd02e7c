"""The program in a turn of stage 5: found in fences or bare text, whole or as far as it goes, without its examples.

What it needs and does not define is taken from the other blocks of the turn. Left out: renaming a function that has the
wrong name, and taking a method out of a `class Solution`. The signature was in the prompt; mending answers would pay for
not reading it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from selfplay.game.extract.examples import Program
from selfplay.game.extract.text import Block, blocks, code_in, outside, turn_text
from selfplay.game.problems import Problem
from selfplay.game.syntax import Parser, bound, parsed

_NOT_PYTHON = frozenset({"text", "txt", "input", "output", "console", "bash", "sh", "shell", "json", "plaintext"})
_IMPORTS = (ast.Import, ast.ImportFrom)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, *_IMPORTS)
_MAX_LENDERS = 8  # blocks that a program is put together from


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

    For a function: the code that defines the entry point, without what only shows its use (examples.py). For kind
    stdio: the program as it is. Comments alone are no solution, and to import the entry point is the last resort: it is
    how tests begin.
    """
    text = turn_text(text)
    parser = Parser(text)
    seen_code = False
    second = dict[str, Code]()
    for how, candidate, others in _candidates(text, parser):
        source, lost = code_in(candidate, parser)
        tree = parsed(source) if source else None
        if tree is None or not _does_something(tree):
            continue
        seen_code = True
        binding = [each for each in tree.body if not problem.entry_point or problem.entry_point in bound(each)]
        if not binding:
            continue
        imported = problem.entry_point and all(isinstance(each, _IMPORTS) for each in binding)
        rank = "salvaged" if lost else "imported" if imported else ""
        if rank in second:
            continue
        found = Code(_finished(source, tree, problem.entry_point, others, parser), "salvaged" if lost else how)
        if not rank:
            return found
        second[rank] = found
    none = Code(None, "no_entry_point" if seen_code else "no_code")
    return second.get("salvaged") or second.get("imported") or none


def _candidates(text: str, parser: Parser) -> Iterator[tuple[str, str, list[Block]]]:
    """Where the solution may be, best first, each with the blocks beside it, those before it from the nearest on.

    All of the text where that is a program, then closed blocks from the last, then an open one, then bare text.
    """
    lines = text.split("\n")
    found = blocks(lines, parser)
    if not found or parser.parsed(text) is not None:
        yield "bare", text, []
    usable = [block for block in reversed(found) if block.language not in _NOT_PYTHON]
    best_first = sorted(enumerate(usable), key=lambda it: (not it[1].closed, not it[1].language.startswith("py")))
    for place, block in best_first:
        yield "fenced", block.body, [*usable[place + 1 :], *reversed(usable[:place])]
    if found:
        yield "bare", "\n".join(outside(lines, found)), []


def _does_something(tree: ast.Module) -> bool:
    """False for comments, docstrings and prose that happens to parse."""
    prose = (ast.Name, ast.Constant, ast.Tuple, ast.Attribute, ast.Compare, ast.BinOp, ast.UnaryOp)
    return any(not (isinstance(each, ast.Expr) and isinstance(each.value, prose)) for each in tree.body)


def _finished(source: str, tree: ast.Module, entry_point: str, others: list[Block], parser: Parser) -> str:
    """`source` with what it needs of the other blocks, and without its examples; a program keeps all that it does."""
    if not others and (not entry_point or all(isinstance(each, _DEFINITIONS) for each in tree.body)):
        return source
    program = Program(source, tree, entry_point)
    lenders = [(block.body, module) for block in others if program.missing and (module := parser.parsed(block.body))]
    for _ in range(_MAX_LENDERS):
        missing = program.missing
        lender = next((one for one in lenders if any(bound(each) & missing for each in one[1].body)), None)
        joined = lender and _joined(lender[0], program.source, tree)
        whole = parser.parsed(joined) if joined else None
        if not lender or not joined or not whole:
            break
        lenders.remove(lender)
        program, tree = Program(joined, whole, entry_point), whole
    return program.without_examples() if entry_point else program.source


def _joined(before: str, source: str, tree: ast.Module) -> str:
    """One module of two: `before` stands before all but the other's `from __future__`."""
    future = (each for each in tree.body if isinstance(each, ast.ImportFrom) and each.module == "__future__")
    start = max((each.end_lineno or each.lineno for each in future), default=0)
    lines = source.split("\n")
    return "\n".join([*lines[:start], before, "", *lines[start:]])
