"""Files that a command line names, as programs, tests, and pairs of input and output."""

from __future__ import annotations

import io
import json
import tokenize

from selfplay.errors import BadInput
from selfplay.game.problems import StdinTest


def _bytes(path: str, flag: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise BadInput(f"{flag} {path}: {error.strerror or error}") from None


def text_of(path: str, flag: str) -> str:
    """A file's text; `flag` is how it was asked for. Raises BadInput where it cannot be read or decoded."""
    data = _bytes(path, flag)
    try:
        return _decoded(data)
    except (SyntaxError, UnicodeDecodeError) as error:
        raise BadInput(f"{flag} {path} is not text: {error}") from None


def program_of(path: str) -> str:
    """A program's source. Raises BadInput where it cannot be read.

    One that cannot be decoded keeps its bytes as lone surrogates, so that it does not load.
    """
    data = _bytes(path, "--code")
    try:
        return _decoded(data)
    except (SyntaxError, UnicodeDecodeError):
        return data.decode("utf-8", "surrogateescape") + "\udcff"


def _decoded(data: bytes) -> str:
    """As Python reads a source file: a byte order mark or coding line decides, else UTF-8."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return data.decode(encoding)


def stdin_tests(text: str, path: str) -> list[StdinTest]:
    """The pairs of a text with a JSON object in each line that is not blank. Raises BadInput naming the line."""
    lines = enumerate(text.split("\n"), 1)
    return [_stdin_test(line, f"--stdin-cases {path}, line {number}") for number, line in lines if line.strip()]


def _stdin_test(line: str, where: str) -> StdinTest:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{where}: not JSON ({error})") from None
    if not isinstance(value, dict):
        raise BadInput(f'{where}: a {type(value).__name__}, where an object with "input" and "output" belongs')
    return StdinTest(_field(value, where, "input", "stdin"), _field(value, where, "output", "stdout"))


def _field(value: dict[str, object], where: str, *names: str) -> str:
    found = next((value[name] for name in names if name in value), None)
    if not isinstance(found, str):
        raise BadInput(f'{where}: "{names[0]}" must be a text, not {found!r:.50}')
    return found
