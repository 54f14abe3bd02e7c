"""Plain text first: thinking removed, fenced blocks found, code told from prose where there is no fence."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import dedent

from selfplay.game.syntax import Parser

# Patterns meet hostile text, so none may backtrack over the same characters twice; long lines stay cheap.
_FENCE = re.compile(r"^[ \t>]*(`{3,}|~{3,})[ \t]*([\w+#.-]*)(.*)$")
_CODE_LINE = re.compile(
    r"""@\w | (?:async\s+)?def\s+\w | class\s+\w+\s*[:(] | import\s+[\w.]+\s*(?:$|,|as\b|\#|;)
      | from\s+[\w.]+\s+import\b | (?:if|while|for|with|try|elif)\b.*:\s*(?:\#.*)?$ | (?:try|else|finally):
      | [A-Za-z_][\w.]*(?:\[.*\])?\s*(?:[-+*/%|&]|//|\*\*)?=(?!=) | [A-Za-z_]\w*\s*,\s*[A-Za-z_*].*=(?!=)
      | [A-Za-z_]\w*\s*:\s*(?:int|str|bool|float|list|dict|set|tuple|[A-Z])[^=]*=(?!=)
      | assert\b | print\( | [A-Za-z_][\w.]*\(.*\)\s*(?:\#.*)?$""",
    re.VERBOSE,
)
_THINKING = re.compile(r"</?think>")
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


def without_thinking(text: str) -> str:
    """`text` without <think> blocks; one never closed goes to the end, one never opened began before the text."""
    kept, at, inside = list[str](), 0, False
    for tag in _THINKING.finditer(text):
        closes = tag[0] == "</think>"
        if not inside and not closes:
            kept.append(text[at : tag.start()])
            inside = True
        elif closes:
            kept = kept if inside else []
            at, inside = tag.end(), False
    return "".join([*kept, "" if inside else text[at:]])


def blocks(lines: list[str]) -> list[Block]:
    """Fenced blocks in order. A fence closes with as many of its own mark; the last may stay open to the end."""
    found: list[Block] = []
    start, mark, language = -1, "", ""
    for number, line in enumerate(lines):
        match = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if match is None:
            continue
        if start < 0:
            inner = match[3].strip()
            if inner.endswith(match[1]):  # a whole block on one line
                body = inner.removesuffix(match[1]).strip()
                found.append(Block(match[2].lower(), body, True, number, number + 1))
            else:
                start, mark, language = number, match[1], match[2].lower()
        elif match[1].startswith(mark) and not match[2]:
            found.append(Block(language, _body(lines, start, number), True, start, number + 1))
            start = -1
        elif match[1].startswith(mark):  # a tagged fence inside a block: the one before was never closed
            found.append(Block(language, _body(lines, start, number), False, start, number))
            start, mark, language = number, match[1], match[2].lower()
    if start >= 0:
        found.append(Block(language, _body(lines, start, len(lines)), False, start, len(lines)))
    return found


def _body(lines: list[str], start: int, end: int) -> str:
    return dedent("\n".join(lines[start + 1 : end])).strip("\n")


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
    lines = dedent(text).expandtabs(4).split("\n") if "\t" in text else dedent(text).split("\n")
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
