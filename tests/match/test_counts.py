"""What a group adds up to: the prototype's figures by its formulas, and what each stage's tests add."""

from __future__ import annotations

import pytest

from selfplay.match.counts import step_counts
from selfplay.match.record import Match
from tests.match.groups import group


def told(*matches: Match) -> dict[str, float | int | None]:
    return step_counts(matches, (0.0, 0)).metrics()


def test_the_prototypes_pass_rate_is_a_mean_over_programs() -> None:
    lost = group(
        {"a": ("passed", "passed", "passed"), "b": ("failed", "passed", "infra_error")},
        [{1: ["x", "y"]}],
    )
    metrics = told(lost)
    assert metrics["test_pass_rate"] == 0.75  # of 1 and 1/2, where 4 of 5 verdicts passed
    assert metrics["pass_rate"] == 0.8
    assert metrics["test_pass_rate_baseline"] == 0.5
    assert metrics["test_pass_rate_discriminator"] == 1.0


def test_a_program_that_faces_no_test_of_the_discriminator_is_in_no_mean() -> None:
    assert told(group({"a": ("passed",)}))["test_pass_rate_discriminator"] is None


def test_a_bug_is_caught_by_valid_tests_that_the_program_read_fails_of_all_written() -> None:
    """The suite reads the first program: x and y fail it, y is refused; z fails the other one alone."""
    match = group(
        {"a": ("passed", "failed", "failed", "passed"), "b": ("passed", "passed", "passed", "failed")},
        [{1: ["x", "y"], 5: ["z"]}],
        refused=["y"],
    )
    assert told(match)["bug_catch_rate"] == pytest.approx(1 / 3, abs=1e-5)
    assert told(match)["test_validity"] == told(match)["validity"] == pytest.approx(2 / 3, abs=1e-5)


def test_a_suite_whose_verdicts_infrastructure_took_says_nothing_of_bugs() -> None:
    lost = group({"a": ("passed", "infra_error")}, [{1: ["x"]}])
    caught = group({"a": ("passed", "failed")}, [{1: ["x"]}])
    assert told(lost)["bug_catch_rate"] is None
    assert told(lost, caught)["bug_catch_rate"] == 1.0


def by_stage(match: Match, name: str) -> list[float | int | None]:
    metrics = told(match)
    return [metrics[f"{name}/{stage}"] for stage in range(1, 6)]


def test_a_kill_is_new_where_no_earlier_stage_of_the_suite_made_it() -> None:
    """x kills the program, y at the next stage kills it too, z kills what is left; two at one stage are both new."""
    match = group(
        {"a": ("passed", "failed", "failed", "passed", "passed")},
        [{1: ["x"], 2: ["y"], 4: ["z", "w"]}],
        mutants=[("passed", "passed", "passed", "failed", "failed")],
    )
    assert by_stage(match, "new_kills") == [1, 0, 0, 2, 0]


def test_a_test_that_repeats_one_of_the_problems_own_is_valid_and_not_new() -> None:
    match = group({"a": ("passed", "passed")}, [{1: ["base"], 3: ["x"]}])
    assert by_stage(match, "valid") == [1, 0, 1, 0, 0]
    assert by_stage(match, "new") == [0, 0, 1, 0, 0]


def test_a_refused_test_is_written_and_nothing_else() -> None:
    match = group({"a": ("passed", "failed")}, [{2: ["x"]}], refused=["x"])
    assert by_stage(match, "written") == [0, 1, 0, 0, 0]
    assert by_stage(match, "valid") == by_stage(match, "new") == by_stage(match, "new_kills") == [0] * 5


def test_a_suite_that_wrote_nothing_kills_none_of_the_targets() -> None:
    assert told(group({"a": ("failed",)}, [{}]))["kills"] == 0.0
