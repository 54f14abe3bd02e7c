"""Plain text first: thinking removed, fenced blocks found, code told from prose where there is no fence."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from selfplay.game.syntax import Parser, parsed

# Patterns meet hostile text, so none may backtrack over the same characters twice; long lines stay cheap.
_FENCE = re.compile(r"^[ \t>]*(`{3,}|~{3,})[ \t]*([\w+#.-]*)(.*)$")
_CODE_LINE = re.compile(
    r"""@\w | (?:async\s+)?def\s+\w | class\s+\w+\s*[:(] | import\s+[\w.]+\s*(?:$|,|as\b|\#|;)
      | from\s+[\w.]+\s+import\b | (?:if|while|for|with|try|elif)\b.*:\s*(?:\#.*)?$ | (?:try|else|finally):
      | [A-Za-z_][\w.]*(?:\[.*\])?\s*(?:[-+*/%|&]|//|\*\*)?=(?!=) | [A-Za-z_]\w*\s*,\s*[A-Za-z_*].*=(?!=)
      | [A-Za-z_]\w*\s*:\s*(?:int|str|bool|float|list|dict|set|tuple|[A-Z])[^=]*=(?!=)
      | assert\b | print\( | [A-Za-z_][\w.]*\(.*\)\s*(?:\#.*)?$ | [rRfF]?(?:"{3}|'{3})""",
    re.VERBOSE,
)
_THINKING = re.compile(
    r"(?P<opens>(?:^[ \t]*|(?<=</think>)\s*)<think>)|(?P<closes>^[ \t]*</think>|</think>(?=[ \t]*$))|</think>",
    re.MULTILINE,
)
_IN_QUOTES = re.compile(r"""\\.|\"{3}|'{3}""")
_IN_CODE = re.compile(r"""\\.|\"{3}|'{3}|\#.*|"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'""")
_MAX_FENCES = 20  # in one text of three quotes
_MAX_PARSES = 64  # bounds the work on text that no cut makes parse
MAX_TURN = 1 << 17  # characters of a turn that are read: 4,096 tokens of 32


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: its language tag, lower case; its text; whether its fence was closed; the lines it spans."""

    language: str
    body: str
    closed: bool
    start: int
    end: int


def turn_text(text: str) -> str:
    """What is read of a turn: its first characters, without thinking, its lines ended as Python ends them."""
    return without_thinking(text[:MAX_TURN].replace("\r\n", "\n").replace("\r", "\n"))


def without_thinking(text: str) -> str:
    """`text` without <think> blocks; one never closed goes to the end, one never opened began before the text.

    A block begins at the beginning of a line, or behind another. A closing tag without one begins or ends a line. Tags
    inside of a program are its own.
    """
    if "think>" not in text or parsed(text) is not None:
        return text
    programs = _programs(text)
    parts, at, inside, program = list[str](), 0, False, next(programs, None)
    for tag in _THINKING.finditer(text):
        while program and program.stop <= tag.start():
            program = next(programs, None)
        if program and tag.start() in program:
            continue
        if tag["opens"] and not inside:
            parts.append(text[at : tag.start()])
            inside = True
        elif tag["closes"] or (inside and not tag["opens"]):
            parts = parts if inside else []
            at, inside = tag.end(), False
    return "".join([*parts, "" if inside else text[at:]])


def _programs(text: str) -> Iterator[range]:
    """Where closed blocks are that hold a tag and parse."""
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    for block in blocks(lines, Parser(text)):
        if block.closed and "think>" in block.body and parsed(block.body) is not None:
            yield range(starts[block.start], starts[block.end])


def blocks(lines: list[str], parser: Parser | None = None) -> list[Block]:
    """Fenced blocks in order. A fence closes with as many of its own mark; the last may stay open to the end.

    With a parser, a fence between three quotes closes nothing, where that makes a program of the block.
    """
    found: list[Block] = []
    number, start, mark, language, quotes = 0, -1, "", "", ""
    while number < len(lines):
        line = lines[number]
        match = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if match is None:
            quotes = _open_quotes(line, quotes)
        elif start < 0:
            inner = match[3].strip()
            if inner.endswith(match[1]):  # a whole block on one line
                body = inner.removesuffix(match[1]).strip()
                found.append(Block(match[2].lower(), body, True, number, number + 1))
            else:
                start, mark, language, quotes = number, match[1], match[2].lower(), ""
        elif quotes and parser and (end := _end_of_program(lines, start, number, quotes, parser)):
            found.append(Block(language, _body(lines, start, end), end < len(lines), start, min(end + 1, len(lines))))
            start, number = -1, end
        elif match[1].startswith(mark) and not match[2]:
            found.append(Block(language, _body(lines, start, number), True, start, number + 1))
            start = -1
        elif match[1].startswith(mark):  # a tagged fence inside a block: the one before was never closed
            found.append(Block(language, _body(lines, start, number), False, start, number))
            start, mark, language, quotes = number, match[1], match[2].lower(), ""
        number += 1
    if start >= 0:
        found.append(Block(language, _body(lines, start, len(lines)), False, start, len(lines)))
    return found


def _end_of_program(lines: list[str], start: int, number: int, quotes: str, parser: Parser) -> int | None:
    """Where the block ends whose text of three quotes holds the fence in line `number`; None where that is no program."""
    inside = 1
    while inside <= _MAX_FENCES and number < len(lines):
        number += 1
        if number == len(lines) or _FENCE.match(lines[number]):
            if not quotes:
                return number if parser.parsed(_body(lines, start, number)) is not None else None
            inside += 1
        else:
            quotes = _open_quotes(lines[number], quotes)
    return None


def _open_quotes(line: str, quotes: str) -> str:
    """The three quotes that stand open behind a line, "" where none do. `quotes`: those before it."""
    if '"""' not in line and "'''" not in line:
        return quotes
    at = 0
    while token := (_IN_QUOTES if quotes else _IN_CODE).search(line, at):
        at = token.end()
        if token[0] == quotes:
            quotes = ""
        elif not quotes and token[0] in ('"""', "'''"):
            quotes = token[0]
    return quotes


def _body(lines: list[str], start: int, end: int) -> str:
    return "\n".join(_dedented(lines[start + 1 : end])).strip("\n")


def _dedented(lines: list[str]) -> list[str]:
    """The lines without the indentation that all share. (textwrap.dedent empties blank lines, which a text may hold.)"""
    indented = [line[: len(line) - len(line.lstrip(" \t"))] for line in lines if line.strip()]
    ends = list(zip(min(indented, default=""), max(indented, default=""), strict=False))  # what these share, all share
    margin = next((place for place, (one, other) in enumerate(ends) if one != other), len(ends))
    return [line[margin:] for line in lines] if margin else lines


def outside(lines: list[str], found: list[Block]) -> list[str]:
    """The lines of no block, a blank one in place of each block."""
    kept, at = list[str](), 0
    for block in found:
        kept += [*lines[at : block.start], ""]
        at = block.end
    return kept + lines[at:]


def code_like(line: str) -> bool:
    """Whether a line without indentation looks like the first of a statement, not like prose."""
    return _CODE_LINE.match(line) is not None


def longest_parseable(lines: list[str], parser: Parser) -> int:
    """How many of the first lines make a module; the parser's own error line is where the next try ends."""
    end = len(lines)
    for _ in range(_MAX_PARSES):
        if end <= 0:
            return 0
        result = parser.parse("\n".join(lines[:end]))
        if isinstance(result, ast.Module):
            return end
        # An error at the very end, such as a block without a body, is mended by taking one line more away.
        end = min(end - 1, max(result - 1, 0))
    return 0


def code_in(text: str, parser: Parser) -> tuple[str, bool]:
    """All parseable code in `text`, prose left out, and whether any line that looked like code was lost."""
    lines = _dedented(text.split("\n"))
    code, lost = _parts_of_code(lines, parser)
    if "\t" in text and (lost or not code):  # perhaps tabs were mixed with blanks, which Python refuses
        indents = (line[: len(line) - len(line.lstrip(" \t"))] for line in lines)
        lines = [indent.expandtabs(4) + line[len(indent) :] for line, indent in zip(lines, indents, strict=True)]
        code, lost = _parts_of_code(lines, parser)
    return code, lost


def _parts_of_code(lines: list[str], parser: Parser) -> tuple[str, bool]:
    if parser.parsed("\n".join(lines)) is not None:
        return "\n".join(lines).strip("\n"), False
    kept, lost = list[str](), False
    for segment, whole in _segments(lines, parser):
        kept += segment
        lost = lost or not whole
    return "\n".join(kept).strip("\n"), lost


def _segments(lines: list[str], parser: Parser) -> Iterator[tuple[list[str], bool]]:
    """Runs of lines that parse, each with False where the line after it looked like code too."""
    at = 0
    for _ in range(_MAX_PARSES):
        while at < len(lines) and not code_like(lines[at]):
            at += 1
        if at == len(lines):
            return
        taken = longest_parseable(lines[at:], parser)
        end = at + taken
        rest = lines[end] if end < len(lines) else ""
        yield lines[at:end], not (taken == 0 or rest.startswith((" ", "\t")) or code_like(rest))
        at = max(end, at + 1)
        while at < len(lines) and lines[at].startswith((" ", "\t")):  # what is left of a broken statement
            at += 1
