"""The walk-through played, judged on the real box and shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given

from selfplay.box.local import LocalBox
from selfplay.game.players import Sampling
from selfplay.game.prompts import Prompts
from selfplay.game.rewards import RULES
from selfplay.judging.judge import Judge
from selfplay.match.match import Match
from selfplay.match.score import score
from selfplay.match.show import play_and_show, sample_text, warnings
from tests.match.matches import matches
from tests.scripted import ScriptedPlayer


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    box = LocalBox(workers=1)
    yield Judge(box)
    box.close()


def shown(judge: Judge, walk_through: Any, **changes: str) -> str:
    """The episode; `changes` replace what is said, keyed like generator5."""
    said = {(role, stage): text for (_, role, stage), text in walk_through.script.items()}
    said |= {(name[:-1], int(name[-1])): text for name, text in changes.items()}
    player = ScriptedPlayer(lambda key: said[key.role, key.stage])
    return play_and_show(
        player, "a script", walk_through.problem, Prompts("instruct"), Sampling(max_tokens=4000), judge
    )


@pytest.fixture(scope="module")
def text(judge: Judge, walk_through: Any) -> str:
    return shown(judge, walk_through)


def test_every_stage_of_both_roles_is_shown(text: str) -> None:
    assert [f"-- stage {k}," in text for k in range(1, 6)] == [True] * 5
    assert text.count("  generator:") == 5
    assert text.count("  discriminator:") == 5


def test_the_wrong_test_of_the_walk_through_is_shown_as_not_admitted(text: str) -> None:
    [line] = [line for line in text.splitlines() if "not admitted: " in line]
    assert line.lstrip().startswith("4 ")


def test_the_matrix_has_a_row_for_the_reference_each_program_and_each_mutant(text: str) -> None:
    matrix = text[text.index("-- matrix") : text.index("-- rewards")].splitlines()[1:]
    names = [row[2:14].strip() for row in matrix]
    assert names[:3] == ["reference", "program 1", "mutant 1"]
    assert len({len(row) for row in matrix}) == 1


def test_every_rule_says_what_it_would_pay(text: str) -> None:
    rewards = text[text.index("-- rewards by rule") :].splitlines()[1:]
    assert [row.split()[0] for row in rewards[: len(RULES)]] == list(RULES)


def test_an_episode_in_which_everybody_spoke_has_no_warning(text: str) -> None:
    assert "WARNING" not in text


def test_an_empty_turn_is_named_with_its_prompt_and_the_usual_causes(judge: Judge, walk_through: Any) -> None:
    text = shown(judge, walk_through, discriminator3="")
    warning = text[text.index("WARNING") :]
    assert "stage 3 (Pseudocode), discriminator: empty; asked by prompts/instruct/discriminator/3.jinja" in warning
    assert all(cause in warning for cause in ("temperature", "max_completion_length is 4000", "it is a script"))


def test_a_last_turn_without_code_is_named(judge: Judge, walk_through: Any) -> None:
    text = shown(judge, walk_through, generator5="I would rather not.")
    assert "stage 5 (Executable Code), generator: holds no program (no_code)" in text


def test_a_turn_without_tests_is_named(judge: Judge, walk_through: Any) -> None:
    text = shown(judge, walk_through, discriminator1="It looks fine to me.")
    assert "stage 1 (Informal Reasoning), discriminator: holds no test that can be read" in text


@given(matches())
def test_any_match_has_a_sample_with_every_stage_and_every_test_of_the_suite_that_is_shown(match: Match) -> None:
    (scored,) = score([match], RULES["novel_kills"])
    text = sample_text(scored)
    assert [f"-- stage {stage}," in text for stage in range(1, 6)] == [False, False, True, True, True]
    tests = text[text.index("-- tests") : text.index("-- rewards")].splitlines()[1:]
    read = match.suites[:1]
    assert len(tests) == match.num_baseline + sum(
        len(turn.cases) + len(turn.unread) for suite in read for turn in suite.turns
    )
    assert text.count("not admitted: ") == sum(len(turn.refused) for suite in read for turn in suite.turns)


def test_of_a_long_line_and_a_long_turn_only_the_beginning_is_shown(judge: Judge, walk_through: Any) -> None:
    text = shown(judge, walk_through, generator1="x" * 9000, generator2="y\n" * 9000)
    assert "... 3500 more characters" in text  # of the 4000 that it may say
    assert "... 1988 more lines" in text


@given(matches())
def test_a_sample_says_what_each_role_earned(match: Match) -> None:
    (scored,) = score([match], RULES["progressive"])
    last = sample_text(scored).splitlines()[-1]
    reward = scored.chains[0].reward
    assert ("lost to infrastructure" if reward is None else f"generator {reward:.2f}") in last
    assert ("discriminator -" in last) == (not scored.suites)


@given(matches())
def test_a_turn_that_came_to_nothing_is_warned_of_and_no_other(match: Match) -> None:
    told = "\n".join(warnings(match, Sampling(max_tokens=4000), "a script", "compact"))
    turns = match.chains[0].conversation.turns
    empty = [turn for each in (match.chains[0], *match.suites[:1]) for turn in each.conversation.turns if not turn.text]
    assert told.count(": empty") == len(empty)
    assert ("holds no program" in told) == bool(turns[-1].text and not match.chains[0].code.source)


def test_what_could_move_a_cursor_is_shown_escaped(judge: Judge, walk_through: Any) -> None:
    text = shown(judge, walk_through, generator1="up \x1b[1A and away")
    assert "up \\x1b[1A and away" in text
    assert "\x1b" not in text
