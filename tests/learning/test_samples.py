"""Rows for the update: each scored token once, context unscored, batches within their budget."""

from __future__ import annotations

from random import Random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from selfplay.game.episode import Conversation, Turn, TurnKey
from selfplay.learning.policy.errors import PolicyError
from selfplay.learning.samples import Sample, Span, conversation_samples, micro_batches

CPU = torch.device("cpu")


def conversation(*turns: tuple[int, int, bool]) -> Conversation:
    """Turns as (prompt tokens, sampled tokens, fresh); ids count up over the conversation."""
    made, first = [], 100
    for stage, (prompt, said, fresh) in enumerate(turns, 1):
        ids = tuple(range(first, first + prompt + said))
        key = TurnKey(0, "p", "generator", 0, stage)
        made.append(Turn(key, ids[:prompt], ids[prompt:], (-1.0,) * said, "", False, fresh))
        first += prompt + said
    return Conversation("generator", tuple(made))


def drawn(seed: int, count: int) -> list[Sample]:
    """Samples of all lengths; ids tell their row and place."""
    random, made = Random(seed), []
    for row in range(count):
        length = random.randint(1, 12)
        ids = (row, *(1000 * (row + 1) + place for place in range(1, length)))
        start = random.randint(1, length)
        end = random.randint(start, length)
        made.append(Sample(ids, (Span(start, end, row / 8, (-0.5,) * (end - start)),) if end > start else ()))
    return made


def test_turns_of_one_sequence_are_one_sample_with_a_span_each() -> None:
    [sample] = conversation_samples(conversation((2, 3, True), (1, 2, False)), [1.0, 2.0])
    assert [(span.start, span.end, span.advantage) for span in sample.spans] == [(2, 5, 1.0), (6, 8, 2.0)]
    assert sample.ids == tuple(range(100, 108))


def test_turns_with_prompts_of_their_own_are_samples_of_their_own() -> None:
    made = conversation_samples(conversation((2, 3, True), (1, 2, True)), [1.0, 1.0])
    assert [(sample.ids, sample.spans[0].start) for sample in made] == [
        (tuple(range(100, 105)), 2),
        (tuple(range(105, 108)), 1),
    ]


def test_turns_without_an_advantage_or_without_tokens_are_context() -> None:
    talk = conversation((2, 3, True), (1, 0, False), (1, 2, False))
    [sample] = conversation_samples(talk, [None, 0.5, 0.5])
    assert [(span.start, span.end) for span in sample.spans] == [(7, 9)]
    assert conversation_samples(talk, [None] * 3) == []
    assert conversation_samples(talk, [None, 0.5, None]) == []


def test_what_follows_the_last_scored_token_is_not_needed() -> None:
    sample = Sample(tuple(range(10)), (Span(2, 4, 1.0), Span(5, 6, 1.0)))
    assert sample.needed == 6
    assert sample.prefix == (0,)
    assert Sample((1, 2), ()).needed == 0


@given(st.integers(0, 10_000), st.integers(0, 9), st.integers(1, 40), st.booleans())
def test_every_scored_token_is_in_one_batch_with_its_advantage(seed: int, count: int, tokens: int, share: bool) -> None:
    samples = drawn(seed, count)
    wanted = sorted((i, s.advantage) for row in samples for s in row.spans for i in row.ids[s.start : s.end])
    found = []
    for batch in micro_batches(samples, tokens, CPU, share):
        found += list(zip(batch.ids_BT[batch.where_BT].tolist(), batch.advantage_N.tolist(), strict=True))
    assert sorted(found) == wanted


@given(st.integers(0, 10_000), st.integers(0, 9), st.integers(1, 40))
def test_a_batch_of_several_rows_stays_within_its_tokens(seed: int, count: int, tokens: int) -> None:
    for batch in micro_batches(drawn(seed, count), tokens, CPU):
        assert batch.ids_BT.numel() <= tokens or len(batch.ids_BT) == 1
        assert batch.where_BT.any(dim=1).all()
        assert not batch.where_BT[batch.mask_BT == 0].any()


@given(st.integers(0, 10_000), st.integers(1, 9))
def test_shorter_rows_come_first_so_that_little_is_padded(seed: int, count: int) -> None:
    widths = [batch.ids_BT.shape[1] for batch in micro_batches(drawn(seed, count), 1, CPU)]
    assert widths == sorted(widths)


def test_rows_of_one_prefix_stay_together_where_it_is_shared() -> None:
    samples = [Sample((tree, 5, 6, 7 + length), (Span(3, 4, 1.0),)) for length in range(2) for tree in (1, 2)]
    firsts = [batch.ids_BT[:, 0].tolist() for batch in micro_batches(samples, 6, CPU, share=True)]
    assert firsts == [[1, 1], [2, 2]]


def test_tokens_of_which_the_sampler_said_nothing_are_known_as_such() -> None:
    told, silent = Sample((1, 2, 3), (Span(1, 3, 1.0, (-0.25, -0.5)),)), Sample((1, 2, 3), (Span(1, 3, 1.0),))
    [batch] = micro_batches([told, silent], 100, CPU)
    assert batch.known_N.tolist() == [True, True, False, False]
    assert batch.sampled_K.tolist() == [-0.25, -0.5]


@pytest.mark.parametrize("span", [Span(0, 2, 1.0), Span(2, 9, 1.0), Span(1, 3, 1.0, (-1.0,)), Span(1, 2, float("nan"))])
def test_a_span_that_cannot_be_scored_is_an_error(span: Span) -> None:
    with pytest.raises(PolicyError):
        list(micro_batches([Sample((1, 2, 3), (span,))], 100, CPU))
