"""What extraction may cost: a total for each turn, whatever was written in it."""

from __future__ import annotations

import time

import pytest

from selfplay.game.extract import extract_code, extract_tests, without_thinking
from selfplay.game.extract.text import MAX_TURN, turn_text
from selfplay.game.problems import Problem
from selfplay.game.syntax import Parser, bound, parsed

ADD = Problem("add", "Add.", "add", "def add(a, b):", ())
SUM = Problem("sum", "Add the numbers.", "", "", (), kind="stdio")
TURN = 4_000  # characters, as a thousand tokens are
CODE = "def add(a, b):\n    return a + b"
REPEATED = [
    *("@a\n", "def f(:\n", "(", "[\n", "assert (\n", "a\n", "a;", "```python\na = (\n```\n", "<think>", "'''\n"),
    *("assert f(1) ==\n", "def test_a():\n    assert f(1\n", "@a\n    b\n", "[\n    ((1, 2), 3),\n", "Input\n"),
    *("```\n\"\"\"\n```\n'''\n", "```\na = '''\n```\n", "</think>", "\n<think>", "</think> <think>", '"\\', "\"'"),
    *("add = lambda: add(\nadd)\n", "add(1);", "def add(a): add\n", "a = add(a)\n", "@add\ndef add(): a[0] = 1\n"),
    *("print(a)\na = a.a().a\n", ".a().a", "lambda: ", "```python\ndef add(): a\n```\n", "\n    '''\n```\n\t'''\n"),
]


def seconds(text: str) -> float:
    start = time.process_time()
    for problem in (ADD, SUM):
        extract_code(text, problem)
        extract_tests(text, problem)
    return time.process_time() - start


@pytest.mark.parametrize("piece", REPEATED, ids=repr)
def test_no_turn_takes_long(piece: str):
    assert seconds(piece * (TURN // len(piece)) + "\n:") < 4


def test_a_turn_is_given_to_the_parser_ten_times_at_most(monkeypatch: pytest.MonkeyPatch):
    given = 0

    def counting(parser: Parser, source: str) -> object:
        nonlocal given
        before = parser.left
        result = original(parser, source)
        given += len(source) if parser.left < before else 0
        return result

    original = Parser.parse
    monkeypatch.setattr(Parser, "parse", counting)
    for piece in REPEATED:
        text, given = piece * (TURN // len(piece)), 0
        extract_code(text, ADD)
        extract_tests(text, ADD)
        assert given < 2 * (10 * len(text) + 20_000)


def test_beyond_its_total_nothing_parses_and_short_pieces_still_do():
    parser = Parser("a" * 100)
    long = "a = 1\n" * 1000
    tries = 0
    while parser.parsed(long) is not None:
        tries += 1
    assert 1 <= tries < 10
    assert parser.parsed("a = 1") is not None


def test_code_is_found_behind_a_dozen_lines_of_prose_that_look_like_code():
    prose = "for example, consider this:\n" * 12
    assert extract_code(f"{prose}\n{CODE}\n", ADD).source == CODE


def test_what_was_salvaged_is_kept_when_the_tries_are_used_up():
    broken = "@a\n" * 4000
    found = extract_tests(f"assert add(1, 2) == 3\n{broken}assert add(1", ADD)
    assert found.source in ("", "assert add(1, 2) == 3")
    assert found.source.count("assert") + found.dropped == 2


def test_a_thousand_elif_are_no_deeper_than_one():
    tree = parsed("if a:\n    b = 1\n" + "elif a:\n    c = 1\n" * 500)
    assert tree is None or bound(tree.body[0]) == {"b", "c"}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a\n<think>b</think>c", "a\nc"),
        ("a\n<think>b<think>c</think>d</think>\ne", "\ne"),
        ("a</think>\nb\n  <think>c", "\nb\n"),
        ("a\n</think>b", "b"),
        ("<think>a</think>" * 3 + "b", "b"),
        ("athink>b", "athink>b"),
        ("a\n<think>b</think>c\n<think>d", "a\nc\n"),
        ("<think>```python\nx = (\n</think>\n```python\na\n```", "\n```python\na\n```"),
        ("<think>\n```python\nx = '</think>'\n```\n</think>a", "a"),
    ],
)
def test_thinking_is_removed_where_it_begins_and_ends_a_line(text: str, kept: str):
    assert without_thinking(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        "The tags <think> and </think> are removed.",
        "Here:\n```python\nEND = '''\n</think>\n'''\n```\nIt is done.",
        "def f(text):\n    return text.split('</think>')[-1]\nThis splits.",
        "def f():\n    '''\n<think>\n'''",
    ],
)
def test_tags_of_a_text_are_no_thinking(text: str):
    assert without_thinking(text) == text


@pytest.mark.parametrize(
    ("text", "kept"),
    [("a\r\nb\rc", "a\nb\nc"), ("<think>\r</think>\rb", "\nb"), ("x" * (MAX_TURN + 1), "x" * MAX_TURN)],
    ids=["ends", "thinking", "long"],
)
def test_a_turn_ends_its_lines_as_python_does(text: str, kept: str):
    assert turn_text(text) == kept
