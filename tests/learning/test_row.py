"""A turn's tokens: so many to think, so many to speak, in every sampler."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import pytest

from selfplay.game.episode import Conversation
from selfplay.game.players import Completion, Marks, Sampling
from selfplay.game.problems import Problem
from selfplay.game.prompts import Prompts
from selfplay.game.rollout import Seat, converse
from selfplay.learning.policy import Choice, Policy
from selfplay.learning.policy.turns import Row
from tests.learning.conftest import build_model, make_policy, request, stir
from tests.learning.test_chat import KEEPING, THINKING, with_template
from tests.learning.test_live_samplers import PROMPTS, requests

SAMPLERS = ("small", "own", "generate")
OPEN, CLOSE, END, WORD = 1, 2, 3, 4
MARKS = Marks(frozenset({(OPEN,), (9, OPEN)}), (CLOSE, CLOSE))
ANSWER, THOUGHT = 4, 8


def said(script: list[int], marks: Marks | None = MARKS, thought: int = THOUGHT, room: int = 100) -> Completion:
    """What comes of a turn that would say the script and then words without end."""
    row = Row(0, (7,), 0, Sampling(1.0, ANSWER, thought, marks), room)
    for token in (*script, *[WORD] * 50):
        if row.done:
            break
        row.add(token, 0.0, frozenset({END}))
    assert len(row.ids) <= row.most
    return row.completion


def opened() -> Marks:
    return Marks(MARKS.openings, MARKS.closing, opened=True)


def test_a_turn_that_opens_no_thought_may_say_as_much_as_one_of_a_model_that_has_none() -> None:
    assert len(said([]).ids) == len(said([], marks=None).ids) == ANSWER


def test_a_mark_in_the_middle_of_an_answer_opens_nothing() -> None:
    assert len(said([WORD, OPEN]).ids) == ANSWER


def test_a_closing_mark_without_a_thought_gives_no_tokens() -> None:
    assert len(said([WORD, CLOSE, CLOSE]).ids) == ANSWER


@pytest.mark.parametrize(("script", "marks"), [([OPEN], MARKS), ([9, OPEN], MARKS), ([], opened())])
def test_a_thought_that_uses_up_its_tokens_ends_the_turn(script: list[int], marks: Marks) -> None:
    cut = said(script, marks)
    assert (len(cut.ids), cut.truncated) == (THOUGHT, True)


@pytest.mark.parametrize("length", [0, 1, THOUGHT - 4, THOUGHT - 3])
def test_an_answer_has_its_tokens_however_late_the_thought_closes(length: int) -> None:
    thought = [OPEN, *[WORD] * length, CLOSE, CLOSE]
    assert len(said(thought).ids) == len(thought) + ANSWER


def test_a_mark_that_closes_past_the_thoughts_tokens_comes_too_late() -> None:
    assert len(said([OPEN, *[WORD] * (THOUGHT - 2), CLOSE, CLOSE]).ids) == THOUGHT


def test_a_second_thought_is_part_of_the_answer() -> None:
    assert len(said([OPEN, CLOSE, CLOSE, OPEN, WORD, CLOSE, CLOSE]).ids) == 3 + ANSWER


def test_a_turn_may_end_in_its_thought() -> None:
    assert said([OPEN, END]) == Completion((OPEN, END), (0.0, 0.0), truncated=False)


@pytest.mark.parametrize("script", [[OPEN], [OPEN, CLOSE, CLOSE], []])
def test_the_context_bounds_thought_and_answer(script: list[int]) -> None:
    assert len(said(script, room=3).ids) == 3


def test_a_thought_without_tokens_of_its_own_is_part_of_the_answer() -> None:
    assert len(said([OPEN, CLOSE, CLOSE], thought=0).ids) == ANSWER


def test_a_turn_begun_again_has_its_thought_before_it() -> None:
    row = Row(0, (7,), 0, Sampling(1.0, ANSWER, THOUGHT, opened()), 100)
    for _ in range(2):
        assert (row.ids, row.limit) == ([], THOUGHT)
        for token in (CLOSE, CLOSE):
            row.add(token, 0.0, frozenset())
        assert row.limit == 2 + ANSWER
        row.restart()


def policy_of(tokenizer: Any, sampler: str, **settings: Any) -> Policy:
    chosen = Choice(rank=4, alpha=8, sampler=sampler, **settings)  # type: ignore[arg-type]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a template that rewrites earlier turns
        return stir(make_policy(build_model(max_position_embeddings=4096), tokenizer, chosen))


@pytest.mark.parametrize("rows", [128, 5])
@pytest.mark.parametrize("name", SAMPLERS)
def test_every_sampler_cuts_turns_by_the_same_rule(tokenizer: Any, name: str, rows: int) -> None:
    whole = policy_of(tokenizer, "small").complete(requests(), Sampling(1.0, 30))
    starts = sorted({each.ids[:1] for each in whole})
    common = Counter(i for each in whole for i in each.ids[1:-1]).most_common(1)[0][0]
    marks = Marks(frozenset(starts[::2]), (common,))
    expected, kinds = [], Counter[str]()
    for each in whole:
        thought, ids = each.ids[:20], each.ids
        if ids[:1] not in marks.openings:
            kind, length = "none", 6
        elif common not in thought[1:]:
            kind, length = "cut", 20
        else:
            kind, length = "closed", thought.index(common, 1) + 1 + 6
        kinds[kind] += len(ids) > length
        expected.append((ids[:length], each.truncated or len(ids) > length))
    assert min(kinds[kind] for kind in ("none", "cut", "closed")) > 0
    done = policy_of(tokenizer, name, rows=rows).complete(requests(), Sampling(1.0, 6, 20, marks))
    assert [(each.ids, each.truncated) for each in done] == expected


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_thought_closed_with_its_last_token_leaves_the_answer_whole(tokenizer: Any, name: str) -> None:
    policy = policy_of(tokenizer, name)
    asked = [request(PROMPTS[3])]
    [plain] = policy.complete(asked, Sampling(1.0, 26))
    assert len(plain.ids) == 26
    closing = plain.ids[18:20]
    assert all(plain.ids[i : i + 2] != closing for i in range(18))
    marks = Marks(frozenset(), closing, opened=True)
    assert policy.complete(asked, Sampling(1.0, 6, 20, marks))[0].ids == plain.ids
    assert policy.complete(asked, Sampling(1.0, 6, 19, marks))[0].ids == plain.ids[:19]


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize(("template", "thinking"), [(KEEPING, "auto"), (THINKING, "on")])
def test_a_thought_cut_off_is_counted_apart(tokenizer: Any, name: str, template: str, thinking: str) -> None:
    marked = with_template(tokenizer, template, ("<think>", "</think>"))
    closing = marked.convert_tokens_to_ids("</think>")
    policy = policy_of(marked, name, thinking=thinking)
    problem = Problem("twice", "Double it.", "twice", "def twice(n: int) -> int:", ("assert twice(2) == 4",))
    seats = [Seat(0, problem, Conversation("generator"), branch) for branch in range(24)]
    played = converse(policy, Prompts("compact"), seats, (1,), Sampling(1.0, 8, 60))
    for turn in (conversation.turns[0] for conversation in played):
        if template == KEEPING:
            assert len(turn.ids) <= 8  # a random model opens no thought
            assert not turn.thought_cut
        else:
            thinks = closing not in turn.ids
            assert turn.thought_cut == (thinks and turn.truncated) == (thinks and len(turn.ids) == 60)
