"""One problem by id, file, text or words; what cannot be one is refused in a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from selfplay.errors import BadInput, ProblemError
from selfplay.game.problems import StdinTest, UnknownProblem, described_problem, given_problem

BARE = {"description": "Twice the number.", "signature": "def double(n: int) -> int:"}


def test_an_id_is_found_in_any_set_of_the_package() -> None:
    assert given_problem("two_sum", "procedural").entry_point == "two_sum"
    with pytest.raises(UnknownProblem, match="did you mean 'two_sum'"):
        given_problem("two_sun", "procedural")


def test_a_file_may_leave_out_id_tests_and_reference_and_be_spread_over_lines(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text(json.dumps(BARE, indent=2))
    problem = given_problem(str(tmp_path / "mine.json"), "procedural")
    assert (problem.id, problem.baseline_tests, problem.reference_solution) == ("double", (), None)


def test_standard_input_is_read_for_a_dash() -> None:
    asked = {"description": "Add two numbers.", "baseline_tests": [{"input": "1 2", "output": "3"}]}
    problem = given_problem("-", "procedural", json.dumps(asked))
    assert (problem.id, problem.kind, problem.baseline_tests) == ("problem-1", "stdio", (StdinTest("1 2", "3"),))


def test_without_a_signature_words_describe_a_program() -> None:
    assert described_problem("Print the sum of the numbers.", None).kind == "stdio"
    assert described_problem("Add.", "def add(a, b)").signature == "def add(a, b):"


@pytest.mark.parametrize(
    ("description", "signature", "said"),
    [
        ("Add.", "def add(a, b", r"field 'signature': 'def add\(a, b:' does not define 'add'"),
        ("Add.", "add", "field 'signature': 'add:' names no function"),
        (" ", "def add(a, b):", "field 'description': is empty"),
    ],
)
def test_words_that_are_no_problem_are_refused(description: str, signature: str, said: str) -> None:
    with pytest.raises(ProblemError, match=f"--description and --signature: .*{said}"):
        described_problem(description, signature)


def test_a_reference_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(ProblemError, match=r"standard input: .*'reference_solution': is not valid Python"):
        given_problem("-", "", json.dumps(BARE | {"reference_solution": "def double("}))


def test_several_problems_are_not_one() -> None:
    lines = "\n".join(json.dumps(BARE | {"id": name}) for name in "ab")
    with pytest.raises(BadInput, match="holds 2 problems; give one"):
        given_problem("-", "", lines)


@pytest.mark.parametrize("text", ["", "nonsense", "3"])
def test_what_is_no_problem_is_refused(text: str) -> None:
    with pytest.raises(ProblemError, match="write one JSON object per line"):
        given_problem("-", "", text)
