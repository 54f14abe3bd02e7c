"""The corpus errs at the stated rates, in the very format of the game."""

from __future__ import annotations

import ast
import random

import pytest

from selfplay.game.problems import load_problems
from selfplay.tiny.corpus import EDGE_SHARE, Mixture, draw_chain, draw_conversation, draw_suite
from selfplay.tiny.family import Pipeline, compiled
from selfplay.tiny.operations import OPERATIONS

AT_LEAST = next(o for o in OPERATIONS if o.step == "keep from {k}")
PIPELINE = Pipeline((AT_LEAST,), (3,))


def test_chains_are_misconceived_as_often_as_the_mixture_says() -> None:
    rng = random.Random(0)
    wrong = sum(draw_chain(PIPELINE, Mixture(0.8, 1, 1), rng)[5] == PIPELINE.code((0,)) for _ in range(500)) / 500
    assert wrong == pytest.approx(0.8, abs=0.07)


def test_code_mostly_follows_the_belief_stated_before_it() -> None:
    rng = random.Random(1)
    chains = [draw_chain(PIPELINE, Mixture(0.5, 1, 1), rng) for _ in range(400)]
    agree = sum((chain[4] == "3 goes") == ("x > 3" in chain[5]) for chain in chains) / 400
    assert 0.85 < agree < 1.0


def test_a_suite_has_two_readable_cases_a_stage_and_no_input_twice() -> None:
    rng = random.Random(2)
    suite = draw_suite(PIPELINE, Mixture(0.7, 1, 1), rng)
    lines = [line for stage in EDGE_SHARE for line in suite[stage].splitlines()]
    assert len(lines) == 10
    assert len({ast.unparse(ast.parse(line).body[0].test.left) for line in lines}) == 10  # type: ignore[attr-defined]


def test_most_tests_hide_the_misconception() -> None:
    rng = random.Random(3)
    right, wrong = PIPELINE.variants()
    shown = total = 0
    for _ in range(100):
        for text in draw_suite(PIPELINE, Mixture(0.7, 1, 1), rng).values():
            for line in text.splitlines():
                value = ast.literal_eval(ast.parse(line).body[0].test.left.args[0])  # type: ignore[attr-defined]
                shown += right(value) != wrong(value)
                total += 1
    assert 0.03 < shown / total < 0.2


def test_a_conversation_is_asked_with_the_prompts_of_the_game() -> None:
    problem = load_problems("procedural/train")[0]
    messages = draw_conversation(problem, PIPELINE, "generator", Mixture(0.7, 1, 1), random.Random(4))
    assert [message.said_by_player for message in messages] == [False, True] * 5
    assert messages[0].text.startswith(problem.description)
    assert messages[-2].text == "code"
    assert compiled(messages[-1].text)([5, 1]) in ([5], [5, 1], [])
