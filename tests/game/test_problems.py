"""Problem files: what is read, what is refused and how the refusal reads."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.errors import ProblemError, SelfplayError
from selfplay.game.problems import (
    SETS,
    Contract,
    Problem,
    StdinTest,
    load_problems,
    problem_to_json,
    split_by_class,
    validate_problem,
)

PROTOTYPE = {
    "id": "two_sum",
    "description": "Indices of two numbers that add up to target.",
    "function_signature": "def two_sum(nums, target):",
    "baseline_tests": ["assert two_sum([2,7], 9) == [0,1]"],
    "reference_solution": "def two_sum(nums, target):\n    return [0, 1]",
    "difficulty": "easy",
    "tags": ["array", "hash-table"],
}
OURS = {**PROTOTYPE, "entry_point": "two_sum", "signature": PROTOTYPE["function_signature"]}
del OURS["function_signature"]
PROGRAM = {"id": "sum", "description": "Add.", "baseline_tests": [{"input": "1 2\n", "output": "3\n"}], "kind": "stdio"}
ADD = Problem("add", "Add.", "add", "def add(a, b):", ("assert add(1, 2) == 3",), "def add(a, b):\n    return a + b")


@pytest.fixture
def write(tmp_path: Path):
    def write(*lines: object, name: str = "problems.jsonl") -> Path:
        """A file with one line per item; what is not text is written as JSON."""
        path = tmp_path / name
        path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
        return path

    return write


def refusal(path: Path) -> str:
    with pytest.raises(ProblemError) as caught:
        load_problems(path)
    return str(caught.value)


# reading


def test_the_prototypes_field_names_are_read_as_ours(write):
    assert load_problems(write(PROTOTYPE)) == load_problems(write(OURS, name="ours.jsonl"))


def test_the_entry_point_follows_from_the_signature(write):
    (problem,) = load_problems(write(PROTOTYPE))
    assert (problem.entry_point, problem.signature) == ("two_sum", "def two_sum(nums, target):")


def test_an_array_and_lines_hold_the_same_problems(write):
    other = {**PROTOTYPE, "id": "other"}
    array = write(json.dumps([PROTOTYPE, other], indent=2), name="problems.json")
    assert load_problems(array) == load_problems(write(PROTOTYPE, "", other))


def test_a_byte_order_mark_is_skipped(tmp_path: Path):
    path = tmp_path / "bom.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(PROTOTYPE).encode())
    assert load_problems(path)[0].id == "two_sum"


def test_a_program_is_told_by_its_tests(write):
    (problem,) = load_problems(write({key: value for key, value in PROGRAM.items() if key != "kind"}))
    assert (problem.kind, problem.entry_point, problem.baseline_tests) == ("stdio", "", (StdinTest("1 2\n", "3\n"),))


def test_stdin_and_stdout_are_other_names_for_input_and_output(write):
    (problem,) = load_problems(write({**PROGRAM, "baseline_tests": [{"stdin": "1", "stdout": "2"}]}))
    assert problem.baseline_tests == (StdinTest("1", "2"),)


def test_a_contract_is_read(write):
    (problem,) = load_problems(write({**OURS, "contract": {"requires": ["len(nums) > 1"], "raises": ["ValueError"]}}))
    assert problem.contract == Contract(("len(nums) > 1",), ("ValueError",))


def test_a_line_separator_inside_a_text_ends_no_line(write):
    line = json.dumps({**OURS, "description": "one\u2028two"}, ensure_ascii=False)
    path = write("")
    path.write_text(line, encoding="utf-8")
    assert load_problems(path)[0].description == "one\u2028two"


def test_null_stands_for_the_default(write):
    (problem,) = load_problems(write({**OURS, "contract": None, "difficulty": None}))
    assert (problem.contract, problem.difficulty) == (None, "unknown")


@pytest.mark.parametrize("name", [name for name in SETS if "/" not in name])
def test_each_shipped_set_is_found_by_name_and_sound(name: str):
    problems = load_problems(name)
    assert problems
    assert [flaw for problem in problems for flaw in validate_problem(problem)] == []


def test_the_three_procedural_splits_make_the_whole_set():
    parts = [load_problems(f"procedural/{split}") for split in ("train", "dev", "test")]
    assert load_problems("procedural") == tuple(problem for part in parts for problem in part)


TEXT = st.text(min_size=1, max_size=8)


@given(
    TEXT.filter(str.strip), TEXT, st.lists(TEXT, max_size=2), st.none() | st.just(Contract(("a > 0",), ("ValueError",)))
)
def test_a_problem_written_is_read_back_equal(tmp_path_factory, name, description, tags, contract):
    problem = replace(ADD, id=name, description=f"x{description}", tags=tuple(tags), contract=contract)
    path = tmp_path_factory.mktemp("round") / "one.jsonl"
    path.write_text(problem_to_json(problem), encoding="utf-8")
    assert load_problems(path) == (problem,)


def test_a_program_written_is_read_back_equal(write):
    problem = Problem(
        "s", "d", "", "", (StdinTest("1", "2"),), kind="stdio", hidden_tests=(StdinTest("", "0"),), tolerance=1e-6
    )
    assert load_problems(write(problem_to_json(problem))) == (problem,)


# refusing


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": None}, "line 1, field 'id': is missing; add it"),
        ({"id": " "}, "field 'id': is empty"),
        ({"id": 7}, "field 'id': holds the number 7, not text"),
        ({"description": ["x"]}, "field 'description': holds a list, not text"),
        ({"description": " "}, "field 'description': is empty; say what is asked"),
        ({"baseline_tests": "assert two_sum([], 1) == []"}, "field 'baseline_tests': holds text, not a list"),
        ({"baseline_tests": [3]}, "field 'baseline_tests[0]': holds the number 3"),
        (
            {"baseline_tests": [{"input": "1"}]},
            "field 'baseline_tests[0]': has the keys input; give it input and output",
        ),
        ({"baseline_tests": ["assert two_sum("]}, "field 'baseline_tests[0]': 'assert two_sum(' is not valid Python"),
        ({"baseline_tests": ["assert other(1) == 2"]}, "never calls 'two_sum'"),
        ({"hidden_tests": ["x ="]}, "field 'hidden_tests[0]'"),
        ({"function_signature": None}, "field 'signature': is missing"),
        ({"function_signature": "two_sum(nums)"}, "names no function; write for instance def add(a, b):"),
        ({"function_signature": "def two_sum(nums"}, "field 'signature'"),
        ({"entry_point": "twosum"}, "field 'entry_point': is 'twosum', the signature defines 'two_sum'"),
        ({"reference_solution": "def two_sum(:"}, "field 'reference_solution': is not valid Python"),
        ({"reference_solution": "def other(x): pass"}, "does not define the entry point 'two_sum'"),
        ({"reference_solution": "def two_sum(nums): pass"}, "takes (nums), the signature (nums, target)"),
        ({"signature": "def two_sum(a):"}, "says the same as signature; keep one of the two"),
        ({"kind": "class"}, "field 'kind': is 'class'; write \"function\" or \"stdio\""),
        ({"tolerance": True}, "field 'tolerance'"),
        ({"tags": ["a", 1]}, "field 'tags[1]': holds the number 1, not text"),
        ({"imports": ["numpy.linalg"]}, "not a top-level package"),
        ({"contract": {"require": []}}, "field 'contract'"),
        ({"contract": {"requires": ["len(nums"]}}, "field 'contract.requires[0]': 'len(nums' is not an expression"),
        ({"contract": {"requires": ["len(xs) > 1"]}}, "'len(xs) > 1' uses xs; use the parameters nums, target only"),
        ({"contract": {"raises": ["Value Error"]}}, "field 'contract.raises'"),
    ],
)
def test_a_flaw_names_its_field_its_reason_and_the_way_out(write, change: dict[str, object], said: str):
    assert said in refusal(write({**PROTOTYPE, **change}))


def test_fields_that_no_problem_has_are_kept_and_told_in_one_line(write):
    told: list[str] = []
    lines = [{**PROTOTYPE, "level": [3], "refrence": None}, {**PROTOTYPE, "id": "other", "level": {"a": 1}}]
    problems = load_problems(write(*lines), say=told.append)
    assert [problem.metadata for problem in problems] == [{"level": [3], "refrence": None}, {"level": {"a": 1}}]
    assert len({*problems, *problems}) == 2
    [line] = told
    assert line.endswith("no such field: 'level'; 'refrence', did you mean 'reference_solution'?")
    assert load_problems(write(*map(problem_to_json, problems)), say=told.append) == problems


def test_a_comprehension_in_a_contract_may_use_names_of_its_own(write):
    load_problems(write({**PROTOTYPE, "contract": {"requires": ["all(-9 <= n for n in nums)"]}}))


def test_a_contract_may_use_the_problem_s_helpers_and_math(write):
    helpers = "import re\ndef is_even(n):\n    return n % 2 == 0"
    requires = ["is_even(target)", "math.gcd(target, 4) == 2", "re.match('2', str(target))"]
    load_problems(write({**PROTOTYPE, "helpers": helpers, "contract": {"requires": requires}}))


def test_a_program_has_no_asserts(write):
    assert 'write {"input": "...", "output": "..."}' in refusal(
        write({**PROGRAM, "baseline_tests": ["assert f() == 1"]})
    )


def test_all_bad_lines_are_listed_up_to_five(write):
    said = refusal(write(PROTOTYPE, *[{"id": str(n)} for n in range(7)]))
    assert "7 flaws" in said
    assert "line 2, " in said
    assert "line 6, " in said
    assert "line 7, " not in said
    assert said.endswith("... and 2 more")


def test_two_problems_with_one_id_are_both_named(write):
    assert "line 3, field 'id': 'two_sum' is also the id of line 1" in refusal(write(PROTOTYPE, "", PROTOTYPE))


def test_a_line_that_is_not_json_is_named_with_its_column(write):
    assert "line 2: is not JSON" in refusal(write(PROTOTYPE, '{"id": '))


def test_an_object_spread_over_lines_is_one_flaw(write):
    said = refusal(write(json.dumps(PROTOTYPE, indent=2)))
    assert "write one JSON object per line, or a JSON array" in said
    assert "\n" not in said


def test_a_flaw_in_an_array_names_the_line_its_item_begins_on(write):
    text = f"[\n{json.dumps(PROTOTYPE)},\n{json.dumps({'id': 'x'})}\n]"
    assert "line 3, field 'description': is missing" in refusal(write(text))


@pytest.mark.parametrize("tail", ["", ",", "] x", "{}]"])
def test_a_broken_array_is_refused(write, tail: str):
    assert "line 2: " in refusal(write(f"[\n{json.dumps(PROTOTYPE)}{tail}"))


@pytest.mark.parametrize("text", ["", "\n\n", "[]"])
def test_a_file_without_problems_is_refused(write, text: str):
    assert "holds no problem; write one JSON object per line" in refusal(write(text))


def test_an_item_that_is_no_object_is_refused(write):
    assert "line 1: holds the number 3, not an object" in refusal(write("3"))


def test_another_encoding_is_refused_with_the_line_it_shows_on(tmp_path: Path):
    path = tmp_path / "latin.jsonl"
    path.write_bytes(b'{"id": "a"}\n{"id": "\xe9"}')
    assert "line 2: byte 0xe9 at position 20 is not UTF-8; save the file as UTF-8" in refusal(path)


def test_a_missing_file_names_the_sets_and_the_nearest_file(write, tmp_path: Path):
    write(PROTOTYPE)
    said = refusal(tmp_path / "problem.jsonl")
    assert "does not exist" in said
    assert "handwritten" in said
    assert "problems.jsonl'?" in said


def test_a_folder_is_no_problem_file(tmp_path: Path):
    assert "cannot be read" in refusal(tmp_path)


def test_a_misspelt_set_is_a_missing_file_with_a_suggestion():
    assert "did you mean 'procedural'?" in refusal(Path("proceduraal"))


def test_nesting_beyond_reason_is_refused(write):
    assert "nested too deeply" in refusal(write("[" * 100_000))
    assert "nested too deeply" in refusal(write('{"id": ' + "[" * 100_000))


def test_a_sound_problem_has_no_complaints():
    assert validate_problem(ADD) == []


def test_pairs_need_not_name_the_entry_point():
    assert validate_problem(replace(ADD, baseline_tests=("((1, 2), 3)",))) == []


def test_without_tests_and_reference_nothing_can_be_judged():
    (complaint,) = validate_problem(replace(ADD, baseline_tests=(), reference_solution=None))
    assert complaint.startswith("baseline_tests: is empty and there is no reference_solution")


# splitting


def classes(count: int) -> list[Problem]:
    return [replace(ADD, id=f"p{n}", description=str(n % (count // 2))) for n in range(count)]


SHARES = {"train": 0.6, "dev": 0.2, "test": 0.2}


@given(st.integers(0, 50), st.integers(4, 40))
def test_a_class_lies_wholly_in_one_split(seed: int, count: int):
    splits = split_by_class(classes(count), lambda problem: problem.description, SHARES, seed)
    found = [{problem.description for problem in split} for split in splits.values()]
    assert sum(map(len, found)) == len(set.union(*found))
    assert sum(map(len, splits.values())) == count


def test_shares_are_met_as_near_as_classes_allow():
    splits = split_by_class(classes(100), lambda problem: problem.description, SHARES, seed=0)
    assert {name: len(split) for name, split in splits.items()} == {"train": 60, "dev": 20, "test": 20}


def test_the_order_of_problems_does_not_matter():
    first, second = (
        split_by_class(problems, lambda problem: problem.description, SHARES, seed=1)
        for problems in (classes(30), classes(30)[::-1])
    )
    assert {name: set(split) for name, split in first.items()} == {name: set(split) for name, split in second.items()}


def test_another_seed_splits_otherwise():
    splits = [split_by_class(classes(40), lambda problem: problem.description, SHARES, seed) for seed in (0, 1)]
    assert splits[0] != splits[1]


@pytest.mark.parametrize("shares", [{}, {"train": 0.5}, {"train": 1.5, "dev": -0.5}])
def test_shares_that_are_no_split_are_refused(shares: dict[str, float]):
    with pytest.raises(SelfplayError, match="add up to 1"):
        split_by_class(classes(4), lambda problem: problem.id, shares, seed=0)
