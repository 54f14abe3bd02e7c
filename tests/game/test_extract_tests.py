"""Tests found in what a discriminator wrote."""

from __future__ import annotations

import ast
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.game.extract import Tests, extract_tests
from selfplay.game.problems import Problem, StdinTest

ADD = Problem("add", "Add.", "add", "def add(a, b):", ())
SUM = Problem("sum", "Add the numbers.", "", "", (), kind="stdio")
ONE, TWO = "assert add(1, 2) == 3", "assert add(0, 0) == 0"
BOTH = f"{ONE}\n{TWO}"
FUNCTION = f"def test_add():\n    {ONE}\n    {TWO}"


def block(text: str, language: str = "") -> str:
    return f"```{language}\n{text}\n```"


@pytest.mark.parametrize(
    "text", [BOTH, f"{BOTH}\n", block(BOTH, "python"), block(BOTH), f"~~~py\n{BOTH}\n~~~", f"<think>x</think>{BOTH}"]
)
def test_asserts_are_read_fenced_or_bare(text: str):
    assert extract_tests(text, ADD) == Tests(BOTH)


def test_a_turn_of_the_embedded_player_is_read_as_it_stands():
    text = "assert f([1, 2]) == 3\nassert f([]) == 0"
    assert extract_tests(text, ADD).source == text


@pytest.mark.parametrize(
    "source",
    [
        FUNCTION,
        f"import pytest\n\n@pytest.mark.parametrize('a', [1, 2])\n{FUNCTION}",
        "[((1, 2), 3), ((0, 0), 0)]",
        "((1, 2), 3)",
        "def test_big():\n    values = list(range(10000))\n    assert add(values, []) == values",
        "with pytest.raises(TypeError):\n    add(1, None)",
    ],
)
def test_every_form_of_test_is_handed_on_unchanged(source: str):
    assert extract_tests(block(source, "python"), ADD).source == source
    assert extract_tests(source, ADD).source == source


@pytest.mark.parametrize("tests", [BOTH, block(BOTH, "python")])
def test_a_line_of_critique_is_kept_and_costs_nothing(tests: str):
    found = extract_tests(f"It forgets negative numbers.\n{tests}", ADD)
    assert found == Tests(BOTH, critique="It forgets negative numbers.")


def test_prose_after_the_tests_costs_nothing():
    assert extract_tests(f"{BOTH}\nThese tests cover the basics.", ADD) == Tests(BOTH)


def test_several_blocks_are_one_suite():
    assert extract_tests(f"First:\n{block(ONE)}\nSecond:\n{block(TWO)}", ADD).source == BOTH


def test_bullets_and_ticks_around_asserts_are_removed():
    assert extract_tests(f"Tests:\n- `{ONE}`\n2. {TWO}", ADD) == Tests(BOTH, critique="Tests:")


def test_a_broken_assert_is_dropped_and_counted():
    found = extract_tests(f"{ONE}\nassert add(1, ==\n{TWO}", ADD)
    assert found == Tests(BOTH, salvaged=2, dropped=1)


def test_a_turn_cut_short_loses_its_last_test():
    found = extract_tests(f"```python\n{BOTH}\nassert add([1, 2", ADD)
    assert found == Tests(BOTH, salvaged=2, dropped=1)


def test_a_test_function_cut_short_keeps_its_whole_asserts():
    found = extract_tests(f"{FUNCTION}\n    assert add(5, ", ADD)
    assert found == Tests(FUNCTION, salvaged=2, dropped=1)


def test_a_test_function_without_a_whole_assert_is_dropped():
    assert extract_tests("def test_add():\n    a = 1\n    assert add(a, ", ADD) == Tests(dropped=1)


def test_a_list_of_pairs_cut_short_keeps_its_whole_pairs():
    found = extract_tests("[\n    ((1, 2), 3),\n    ((0, 0), 0),\n    ((5, ", ADD)
    assert ast.literal_eval(found.source) == [((1, 2), 3), ((0, 0), 0)]
    assert (found.salvaged, found.dropped) == (2, 1)


def test_an_assert_over_several_lines_survives_a_broken_neighbour():
    long = "assert add(\n1,\n2,\n) == 3"
    found = extract_tests(f"{long}\nassert add(1", ADD)
    assert found == Tests(long, salvaged=1, dropped=1)


def test_decorators_stay_with_their_function():
    source = f"@pytest.mark.parametrize('a', [1])\n{FUNCTION}"
    assert extract_tests(f"{source}\nassert add(", ADD).source == source


@pytest.mark.parametrize(
    "harness",
    ["if __name__ == '__main__':\n    pytest.main()", "test_add()", "print('all passed')", "unittest.main()", "Done"],
)
def test_what_runs_tests_and_is_none_is_removed(harness: str):
    assert extract_tests(f"{FUNCTION}\n\n{harness}", ADD) == Tests(FUNCTION)


def test_tests_written_as_asserts_beside_a_block_are_counted_as_dropped():
    assert extract_tests(f"{block(ONE)}\n{TWO}", ADD) == Tests(ONE, dropped=1)


@pytest.mark.parametrize("text", ["", "I have no tests.", "<think>" + BOTH, "# none"])
def test_a_turn_without_tests_has_none_and_drops_none(text: str):
    found = extract_tests(text, ADD)
    assert "assert" not in found.source
    assert (found.salvaged, found.dropped) == (0, 0)


def test_input_and_output_blocks_are_read_in_pairs():
    one = f"### Input\n{block('1 2')}\n### Output\n{block('3')}"
    two = f"### Input\n{block('0')}\n### Output\n{block('0')}"
    found = extract_tests(f"Zero is missing.\n{one}\n\n{two}", SUM)
    assert found.stdin == (StdinTest("1 2\n", "3\n"), StdinTest("0\n", "0\n"))
    assert (found.critique, found.salvaged, found.dropped) == ("Zero is missing.", 0, 0)


@pytest.mark.parametrize(
    "text",
    [
        f"**Input:**\n{block('1 2')}\n**Expected Output:**\n{block('3')}",
        f"Input 1:\n{block('1 2')}\nOutput 1:\n{block('3')}",
        f"{block('1 2', 'input')}\n{block('3', 'output')}",
        f"#### Test case 1 Input\n{block('1 2', 'text')}\n#### Test case 1 Output\n{block('3')}",
    ],
)
def test_headings_may_be_written_in_other_ways(text: str):
    assert extract_tests(text, SUM).stdin == (StdinTest("1 2\n", "3\n"),)


@pytest.mark.parametrize("text", ["Input: 1 2\nOutput: 3", "Input:\n1 2\n\nOutput:\n3\n"])
def test_bare_pairs_count_as_salvaged(text: str):
    found = extract_tests(text, SUM)
    assert found.stdin == (StdinTest("1 2\n", "3\n"),)
    assert found.salvaged == 1


def test_empty_input_is_an_input():
    assert extract_tests(f"### Input\n```\n```\n### Output\n{block('0')}", SUM).stdin == (StdinTest("", "0\n"),)


def test_blank_lines_inside_an_input_are_kept():
    assert (
        extract_tests(f"### Input\n{block('1' + chr(10) * 2 + '2')}\n### Output\n{block('3')}", SUM).stdin[0].input
        == "1\n\n2\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        f"### Input\n{block('1')}",
        f"### Input\n{block('1')}\n### Output\n```\n1",
        f"### Output\n{block('1')}",
    ],
)
def test_half_a_pair_is_dropped_and_counted(text: str):
    found = extract_tests(text, SUM)
    assert found.stdin == ()
    assert found.dropped == 1


@pytest.mark.parametrize(
    "hostile", ["\0", "\ud800", "(" * 5000, "[\n" * 2000, "assert " * 3000, f"{ONE}\nassert (\n" * 300]
)
def test_hostile_text_is_read_without_an_exception(hostile: str):
    extract_tests(hostile, ADD)
    extract_tests(hostile, SUM)


@given(st.text(alphabet="asert f(1)=[],:\n`dt@#'\"", max_size=200))
def test_whatever_is_found_parses(text: str):
    ast.parse(extract_tests(text, ADD).source)


@given(
    st.lists(
        st.sampled_from([ONE, TWO, "assert add(1", "assert (", "words", "def test():", "    assert add(2, 2) == 4"]),
        max_size=8,
    )
)
def test_no_test_is_lost_uncounted(lines: list[str]):
    found = extract_tests("\n".join(lines), ADD)
    written = sum("assert" in line for line in lines)
    assert found.source.count("assert") + found.dropped == written


def test_a_short_turn_is_read_in_a_fifth_of_a_millisecond():
    def seconds() -> float:
        start = time.perf_counter()
        extract_tests(BOTH, ADD)
        return time.perf_counter() - start

    assert min(seconds() for _ in range(50)) < 2e-4


def test_the_walk_through_is_read_whole(walk_through):
    for stage in range(1, 6):
        found = extract_tests(walk_through.script["two_sum", "discriminator", stage], walk_through.problem)
        assert found.source == "\n".join(walk_through.tests[stage])
        assert found.critique
        assert not found.dropped
