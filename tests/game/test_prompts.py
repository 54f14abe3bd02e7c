"""What the players are asked."""

from __future__ import annotations

import pytest
from jinja2 import UndefinedError

from selfplay.errors import SelfplayError, UnknownName
from selfplay.game.episode import ROLES, Role
from selfplay.game.extract import extract_code, extract_tests
from selfplay.game.problems import Problem, StdinTest
from selfplay.game.prompts import Earlier, Prompts, _environment
from selfplay.game.stages import get_stage

TWICE = Problem("twice", "Double it.", "twice", "def twice(n: int) -> int:", ("assert twice(2) == 4",))
SUM = Problem("sum", "Add the numbers.", "", "", (StdinTest("1 2\n", "3\n"),), kind="stdio")
TURNS = [(role, stage) for role in ROLES for stage in range(1, 6)]


def test_the_compact_generator_is_asked_in_one_word():
    prompts = Prompts("compact")
    asked = [prompts.ask(TWICE, "generator", stage, first=stage == 1) for stage in range(1, 6)]
    assert asked == ["Double it.\ndef twice(n: int) -> int:\nidea", "steps", "pseudocode", "limits", "code"]


def test_the_compact_discriminator_reads_the_stage_and_is_asked_in_two_words():
    prompts = Prompts("compact")
    asked = [prompts.ask(TWICE, "discriminator", stage, "text", first=stage == 1) for stage in range(1, 6)]
    assert asked == [
        "Double it.\ndef twice(n: int) -> int:\ntext\ntest basic",
        "text\ntest edge",
        "text\ntest order",
        "text\ntest limits",
        "text\ntest attack",
    ]


@pytest.mark.parametrize("role", ROLES)
def test_compact_has_no_system_message(role: Role):
    assert Prompts("compact").system(role) == ""


@pytest.mark.parametrize("role", ROLES)
def test_instruct_has_a_system_message_per_role(role: Role):
    assert (role == "generator" and "programmer" in Prompts().system(role)) or "tester" in Prompts().system(role)


@pytest.mark.parametrize(("role", "stage"), TURNS)
@pytest.mark.parametrize("problem", [TWICE, SUM], ids=["function", "stdio"])
@pytest.mark.parametrize("style", ["instruct", "compact"])
def test_every_message_renders_without_blank_ends(role: Role, stage: int, problem: Problem, style: str):
    for first in (True, False):
        asked = Prompts(style).ask(problem, role, stage, "said before", first)
        assert asked
        assert asked == asked.rstrip()


@pytest.mark.parametrize(("role", "stage"), TURNS)
def test_only_the_first_message_carries_the_problem(role: Role, stage: int):
    first, later = (Prompts().ask(TWICE, role, stage, "text", first) for first in (True, False))
    assert "Double it." in first
    assert "assert twice(2) == 4" in first
    assert "Double it." not in later


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("style", ["instruct", "compact"])
def test_a_message_quotes_earlier_turns_under_their_stages_after_the_problem(style: str, role: Role):
    earlier = [Earlier(get_stage(1), "said one", "read one"), Earlier(get_stage(2), "said two", "read two")]
    asked = Prompts(style).ask(TWICE, role, 3, "read three" if role == "discriminator" else None, True, earlier)
    read = role == "discriminator"
    parts = ["Double it.", "Informal Reasoning", *["read one"] * read, "said one"]
    parts += ["Structured Reasoning", *["read two"] * read, "said two", *["read three"] * read]
    places = [asked.index(part) for part in parts]
    assert places == sorted(places)
    assert ("read one" in asked) == read


def test_a_turn_without_words_is_quoted_as_such():
    asked = Prompts().ask(TWICE, "generator", 2, first=True, earlier=[Earlier(get_stage(1), " ")])
    assert "(you wrote nothing)" in asked


@pytest.mark.parametrize(("role", "stage"), TURNS)
def test_an_instruct_message_names_its_stage(role: Role, stage: int):
    assert get_stage(stage).name in Prompts().ask(TWICE, role, stage, "text")


def test_the_discriminator_is_asked_for_so_many_cases():
    assert "exactly 3 new tests" in Prompts(cases=3).ask(TWICE, "discriminator", 1, "text")
    assert "exactly 1 new test." in Prompts(cases=1).ask(TWICE, "discriminator", 1, "text")


def test_a_program_is_asked_for_by_input_and_output():
    assert "standard input" in Prompts().ask(SUM, "generator", 5)
    assert "### Input" in Prompts().ask(SUM, "discriminator", 5, "print(3)")


def test_a_function_problem_names_its_imports():
    problem = Problem("p", "d", "f", "def f(x):", (), imports=("numpy",))
    assert "numpy" in Prompts().ask(problem, "generator", 5)


def test_the_format_shown_would_not_count_as_a_test():
    tests = extract_tests(Prompts().ask(TWICE, "discriminator", 2, "text"), TWICE)
    assert tests.source == ""
    assert tests.dropped == 1


def test_the_code_format_shown_is_read_as_code():
    assert extract_code(Prompts().ask(TWICE, "generator", 5), TWICE).how == "fenced"


def test_templates_in_what_a_player_said_stay_text():
    assert "{{ 7 * 7 }}" in Prompts().ask(TWICE, "discriminator", 1, "{{ 7 * 7 }}")


def test_a_misspelt_name_in_a_template_is_an_error():
    with pytest.raises(UndefinedError):
        _environment("compact").from_string("{{ probelm }}").render()


def test_the_discriminator_needs_something_to_read():
    with pytest.raises(SelfplayError, match="'twice' needs the generator's text"):
        Prompts().ask(TWICE, "discriminator", 2)


def test_a_stage_that_does_not_exist_is_refused():
    with pytest.raises(SelfplayError, match="from 1 to 5"):
        Prompts().ask(TWICE, "generator", 6)


def test_an_unknown_style_names_the_nearest():
    with pytest.raises(UnknownName, match="did you mean 'compact'"):
        Prompts("compct")


def test_no_cases_at_all_cannot_be_asked_for():
    with pytest.raises(SelfplayError, match="at least 1"):
        Prompts(cases=0)


def test_helpers_that_a_problem_brings_are_shown() -> None:
    helpers = "def encode(text):\n    return text[::-1]"
    problem = Problem("p", "Undo encode.", "decode", "def decode(text):", (), helpers=helpers)
    assert helpers in Prompts("instruct").ask(problem, "generator", 1, first=True)
