"""Programs found in what a model wrote."""

from __future__ import annotations

import ast
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.game.extract import extract_code, without_thinking
from selfplay.game.problems import Problem

ADD = Problem("add", "Add.", "add", "def add(a, b):", ())
SUM = Problem("sum", "Add the numbers.", "", "", (), kind="stdio")
CODE = "def add(a, b):\n    return a + b"
PROGRAM = "a, b = map(int, input().split())\nprint(a + b)"


def fenced(code: str, language: str = "python", mark: str = "```") -> str:
    return f"{mark}{language}\n{code}\n{mark}"


@pytest.mark.parametrize("language", ["python", "py", "Python", "python3", ""])
@pytest.mark.parametrize("mark", ["```", "~~~", "````"])
def test_a_fenced_block_is_read(language: str, mark: str):
    found = extract_code(f"Here is the function:\n\n{fenced(CODE, language, mark)}\nIt adds.", ADD)
    assert (found.source, found.how) == (CODE, "fenced")


@pytest.mark.parametrize(
    "text",
    [
        CODE,
        f"{CODE}\n",
        f"Sure! Here is the code:\n\n{CODE}",
        f"Solution\n{CODE}\n\nThis function adds two numbers.",
        f"    {CODE.replace(chr(10), chr(10) + '    ')}",
    ],
)
def test_bare_code_is_read_without_the_prose_around_it(text: str):
    found = extract_code(text, ADD)
    assert (found.source, found.how) == (CODE, "bare")


def test_an_unclosed_fence_reaches_to_the_end():
    assert extract_code(f"Code:\n```python\n{CODE}", ADD).source == CODE


def test_a_block_on_one_line_is_read():
    assert extract_code("```python def add(a, b): return a + b```", ADD).source == "def add(a, b): return a + b"


def test_an_indented_block_is_read():
    indented = "\n".join(f"   {line}" for line in fenced(CODE).split("\n"))
    assert extract_code(f"1. Do this:\n{indented}", ADD).source == CODE


@pytest.mark.parametrize(
    "thinking",
    [
        f"<think>\n{fenced('def add(a, b):' + chr(10) + '    return a - b')}\n</think>\n",
        "I could subtract ...\n```python\ndef add(a, b): return a - b\n```\n</think>\n",
        "<think></think>",
    ],
)
def test_thinking_is_not_the_answer(thinking: str):
    assert extract_code(thinking + fenced(CODE), ADD).source == CODE


def test_thinking_without_an_end_leaves_no_answer():
    assert extract_code(f"<think>\n{fenced(CODE)}", ADD).source is None


def test_text_without_thinking_is_left_alone():
    assert without_thinking("a < b and c > d") == "a < b and c > d"


def test_the_block_that_defines_the_entry_point_is_chosen():
    text = f"{fenced('import math')}\n{fenced(CODE)}\nUse it so:\n{fenced('print(add(1, 2))')}"
    assert extract_code(text, ADD).source == CODE


def test_the_last_of_several_answers_is_chosen():
    first = "def add(a, b):\n    return b"
    assert extract_code(f"{fenced(first)}\nBetter:\n{fenced(CODE)}", ADD).source == CODE


def test_a_whole_answer_beats_a_broken_later_one():
    assert extract_code(f"{fenced(CODE)}\nOr:\n```python\ndef add(a, b):\n    return (a", ADD).source == CODE


@pytest.mark.parametrize(
    "example",
    [
        "print(add(1, 2))",
        "assert add(1, 2) == 3",
        "result = add(1, 2)\nprint(result)",
        "if __name__ == '__main__':\n    print(add(1, 2))",
        "n = int(input())\nprint(n)",
        "for a in range(3):\n    print(\n        add(a, a)\n    )",
        "pairs = add(1, 2)\nother = pairs",
    ],
)
def test_examples_after_the_function_are_removed(example: str):
    assert extract_code(fenced(f"{CODE}\n\n{example}"), ADD).source == CODE


@pytest.mark.parametrize(
    "needed",
    [
        "import sys\nsys.setrecursionlimit(10000)",
        "TABLE = [n * n for n in range(10)]",
        "from functools import lru_cache",
        "try:\n    import numpy\nexcept ImportError:\n    numpy = None",
    ],
)
def test_what_the_function_needs_is_kept(needed: str):
    source = f"{needed}\n\n{CODE}"
    assert extract_code(fenced(source), ADD).source == source


@pytest.mark.parametrize("binding", ["add = lambda a, b: a + b", "def plus(a, b):\n    return a + b\nadd = plus"])
def test_an_entry_point_bound_by_assignment_counts(binding: str):
    assert extract_code(binding, ADD).source == binding


def test_wrapping_the_entry_point_is_no_example():
    source = f"from functools import cache\n{CODE}\nadd = cache(add)"
    assert extract_code(source, ADD).source == source


def test_half_finished_code_is_salvaged_as_far_as_it_goes():
    found = extract_code(f"{fenced(CODE)[:-4]}\n\ndef helper(x):\n    return [x for", ADD)
    assert found.how == "salvaged"
    assert found.source is not None
    assert CODE in found.source
    ast.parse(found.source)


def test_a_function_cut_in_its_body_keeps_its_whole_lines():
    found = extract_code("def add(a, b):\n    total = a + b\n    return (tot", ADD)
    assert (found.source, found.how) == ("def add(a, b):\n    total = a + b", "salvaged")


def test_imports_before_prose_are_kept():
    found = extract_code(f"import math\nNow the function:\n{CODE}", ADD)
    assert found.source == f"import math\n{CODE}"


@pytest.mark.parametrize(
    "text", ["", "# only a comment", '"""Only words."""', "I cannot do this.", "Sure", "```python\n# todo\n```"]
)
def test_comments_and_prose_are_no_solution(text: str):
    assert extract_code(text, ADD).source is None
    assert extract_code(text, SUM).source is None


def test_another_function_is_not_the_solution():
    found = extract_code("def plus(a, b):\n    return a + b", ADD)
    assert (found.source, found.how) == (None, "no_entry_point")


@pytest.mark.parametrize("text", [PROGRAM, f"Here is the program:\n{fenced(PROGRAM)}", f"Program:\n\n{PROGRAM}\n"])
def test_a_program_is_kept_as_it_is(text: str):
    assert extract_code(text, SUM).source == PROGRAM


def test_example_input_is_not_the_program():
    assert extract_code(f"{fenced(PROGRAM)}\nFor example\n{fenced('3', 'text')}", SUM).source == PROGRAM


@pytest.mark.parametrize(
    "hostile", ["\0", "\ud800", "(" * 5000, "x = " + "-" * 20000 + "1", "def add(a, b): return 1\n" * 3000]
)
def test_hostile_text_is_read_without_an_exception(hostile: str):
    extract_code(hostile, ADD)
    extract_code(fenced(hostile), SUM)


@given(st.text(alphabet="def ad(,b):\n=`~<think>/#'\"[]1 ", max_size=200))
def test_whatever_is_found_parses_and_defines_the_entry_point(text: str):
    found = extract_code(text, ADD)
    if found.source is not None:
        assert "add" in ast.dump(ast.parse(found.source))


def test_a_short_turn_is_read_in_a_fifth_of_a_millisecond():
    def seconds() -> float:
        start = time.perf_counter()
        extract_code(CODE, ADD)
        return time.perf_counter() - start

    assert min(seconds() for _ in range(50)) < 2e-4
