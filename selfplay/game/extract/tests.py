"""A discriminator's tests: asserts, test functions or tuples for a function, input and output blocks for a program.

The text that is handed on parses as a whole. What does not parse is salvaged statement by statement, and counted: a
broken test must cost its writer something, or silence and noise would earn the same. Left out: whether a test means
anything; that is admission's business (`judging`).
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from selfplay.game.extract.text import Block, blocks, code_like, longest_parseable, outside, turn_text
from selfplay.game.problems import Problem, StdinTest
from selfplay.game.syntax import Parser, parsed

_TEST = re.compile(
    r"""\s*(?:assert\b|self\.assert\w+\(|with\s+[\w.]{0,40}raises\w{0,8}\(|[(\[]\s*[\[({'"\d-])""", re.IGNORECASE
)
_CONTINUING = (" ", "\t", ")", "]", "}", "else:", "elif ", "except", "finally:")
_OPEN_LIST = re.compile(r"(?:\w+\s*=\s*)?\[\s*$")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+`?(assert\b.*)$")
_TICKS = re.compile(r"^\s*`(assert\b[^`]*)`")
_MARK = re.compile(
    r"""^\W{0,8} (?:\w{1,12}\s{1,2})? (?:test\s)? (?:case\s?)? \d{0,3} \W{0,4} (expected\s+output|input|output)
        \s?\d{0,3} [*_\s]{0,3} (:?) [*_\s]{0,3} (.*)$""",
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Tests:
    """The tests of one turn.

    `source`: Python text that parses; "" for kind stdio, whose tests are in `stdin`. `critique`: prose before the first
    test. `salvaged`: tests kept out of a statement or a text that was broken; `dropped`: tests that were lost.
    """

    __test__ = False  # not a test class of pytest's

    source: str = ""
    stdin: tuple[StdinTest, ...] = ()
    critique: str = ""
    salvaged: int = 0
    dropped: int = 0


def extract_tests(text: str, problem: Problem) -> Tests:
    """The tests in a discriminator's turn, with what was salvaged and what was dropped."""
    text = turn_text(text)
    if problem.kind == "stdio":
        return _stdin_tests(text)
    parser = Parser(text)
    tree = parser.parsed(text) if "`" not in text else None
    if tree is not None and all(isinstance(each, ast.Assert) for each in tree.body):
        return Tests(text.strip())  # the usual turn of the embedded player, read with one parse
    return _function_tests(text, parser)


def _function_tests(text: str, parser: Parser) -> Tests:
    lines = text.split("\n")
    found = [block for block in blocks(lines, parser) if block.language in ("", "python", "py", "python3")]
    if found:
        bare = outside(lines, found)
        before = lines[: found[0].start]
        return _salvage("\n".join(block.body for block in found), _prose(before), _tests_in(bare), parser)
    lines = [line for line in lines if not line.lstrip().startswith(("```", "~~~"))]
    bullets = (_BULLET.match(line) or _TICKS.match(line) for line in lines)
    lines = [bullet[1].rstrip(" `") if bullet else line for line, bullet in zip(lines, bullets, strict=True)]
    begins = (n for n, line in enumerate(lines) if _TEST.match(line) or _OPEN_LIST.match(line) or code_like(line))
    start = next(begins, len(lines))
    return _salvage("\n".join(lines[start:]), _prose(lines[:start]), 0, parser)


def _prose(lines: list[str]) -> str:
    return "\n".join(lines).strip()


def _tests_in(lines: list[str]) -> int:
    return sum(_TEST.match(line) is not None for line in lines)


def _salvage(source: str, critique: str, dropped: int, parser: Parser) -> Tests:
    """`source` if it parses, else the statements of it that do."""
    tree = parser.parsed(source)
    if tree is not None:
        return Tests(_without_harness(source, tree), (), critique, 0, dropped)
    whole, rescued, mended, lost = list[str](), 0, False, dropped
    chunks, at = _chunks(_closed(source.split("\n"), parser)), 0
    while at < len(chunks):
        taken, used = _statement(chunks[at : at + 4], parser)
        lines = [line for chunk in chunks[at : at + used] for line in chunk]
        whole += lines[:taken]
        rescued += _tests_in(lines[:taken])
        mended |= taken < len(lines) and _tests_in(lines[:taken]) > 0
        lost += _tests_in(lines[taken:])
        at += used
    rescued = rescued if lost > dropped or mended else 0
    clean = "\n".join(whole)
    tree = parsed(clean)  # whatever the tries have used up
    return Tests(_without_harness(clean, tree) if tree else "", (), critique, rescued, lost)


def _chunks(lines: list[str]) -> list[list[str]]:
    """Top-level statements, roughly: a line without indentation begins one, unless it closes or continues the last."""
    chunks: list[list[str]] = []
    for line in lines:
        continues = not line or line.startswith(_CONTINUING)
        decorated = bool(chunks) and chunks[-1][-1].startswith("@")
        if chunks and (continues or decorated):
            chunks[-1].append(line)
        else:
            chunks.append([line])
    return chunks


def _statement(chunks: list[list[str]], parser: Parser) -> tuple[int, int]:
    """How many lines to keep of the first chunk, and how many chunks these are: it may need the others to parse."""
    joined: list[str] = []
    for used, chunk in enumerate(chunks, 1):
        joined = joined + chunk
        if parser.parsed("\n".join(joined)) is not None:
            return len(joined), used
    first = chunks[0]
    taken = longest_parseable(first, parser)
    return (taken if _tests_in(first[:taken]) else 0), 1


def _closed(lines: list[str], parser: Parser) -> list[str]:
    """A list of pairs that breaks off, closed after its last whole line; any other text as it is."""
    start = next((number for number, line in enumerate(lines) if _OPEN_LIST.match(line)), None)
    if start is None:
        return lines
    for end in range(len(lines) - 1, max(start, len(lines) - 8), -1):
        if parser.parsed("\n".join([*lines[:end], "]"])) is not None:
            return [*lines[:end], "]", *lines[end:]]
    return lines


def _without_harness(source: str, tree: ast.Module) -> str:
    """`source` without what runs tests and is none: main guard, printing, calls of test functions, words of prose."""
    dropped = {each for each in tree.body if _is_harness(each)}
    if not dropped:
        return source.strip("\n")
    lines = {line for each in dropped for line in range(each.lineno, (each.end_lineno or each.lineno) + 1)}
    lines -= {line for each in tree.body if each not in dropped for line in (each.lineno, each.end_lineno)}
    return "\n".join(line for number, line in enumerate(source.split("\n"), 1) if number not in lines).strip("\n")


def _is_harness(statement: ast.stmt) -> bool:
    match statement:
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
            return True
        case ast.Expr(value=ast.Call(func=ast.Name(id="print")) | ast.Call(func=ast.Attribute(attr="main"))):
            return True
        case ast.Expr(value=ast.Call(func=ast.Name(id=name), args=[], keywords=[])):
            return name.startswith("test")
        case ast.Expr(value=ast.Name() | ast.Constant()):
            return True
        case _:
            return False


def _stdin_tests(text: str) -> Tests:
    """Pairs of input and output: under a heading or in a block tagged so, fenced or bare."""
    lines = text.split("\n")
    tests, salvaged, dropped, waiting = list[StdinTest](), 0, 0, None
    for kind, body, fenced, closed in _parts(lines, blocks(lines)):
        if kind == "input":
            dropped += waiting is not None
            waiting = body
        elif waiting is None or not closed:  # an output cut short would be a wrong one
            dropped += 1
            waiting = None
        else:
            tests.append(StdinTest(_line(waiting), _line(body)))
            salvaged += not fenced
            waiting = None
    dropped += waiting is not None
    begins = (number for number, line in enumerate(lines) if _heading(line) or line.lstrip()[:3] == "```")
    start = next(begins, len(lines))
    return Tests("", tuple(tests), _prose(lines[:start]), salvaged, dropped)


def _line(text: str) -> str:
    return f"{text}\n" if text else ""


def _heading(line: str) -> tuple[str, str] | None:
    """("input" or "output", what follows on the same line) for a line such as ### Input or **Output:** 3."""
    match = _MARK.match(line)
    if match is None or (match[3] and not match[2]):
        return None
    return ("input" if match[1].lower() == "input" else "output"), match[3].strip("` ")


def _parts(lines: list[str], found: list[Block]) -> list[tuple[str, str, bool, bool]]:
    """(input or output, text, fenced, closed) in order."""
    by_start = {block.start: block for block in found}
    parts: list[tuple[str, str, bool, bool]] = []
    number, kind, bare = 0, "", list[str]()

    def end_bare() -> None:
        if kind and any(line.strip() for line in bare):
            parts.append((kind, "\n".join(bare).strip("\n"), False, True))

    while number < len(lines):
        block, heading = by_start.get(number), _heading(lines[number])
        if block is not None:
            tag = block.language if block.language in ("input", "output") else kind
            if tag:
                parts.append((tag, block.body, True, block.closed))
            number, kind, bare = block.end, "", []
            continue
        if heading is not None:
            end_bare()
            kind, bare = heading[0], [heading[1]] if heading[1] else []
        elif kind:
            bare.append(lines[number])
        number += 1
    end_bare()
    return parts
