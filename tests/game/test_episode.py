"""A conversation is one append-only token sequence, or as many as the template forces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from selfplay.game.episode import Conversation, Turn, TurnKey

SHAPES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.booleans()), max_size=5)


def conversation(shapes: list[tuple[int, int, bool]]) -> Conversation:
    """Turns as (prompt tokens, sampled tokens, fresh); the first is always fresh, and ids count up."""
    talk, first = Conversation("generator"), 0
    for stage, (prompt, said, fresh) in enumerate(shapes, 1):
        ids = tuple(range(first, first + prompt + said))
        key = TurnKey(0, "p", "generator", 0, stage)
        opens = fresh or stage == 1
        talk = talk.then(Turn(key, ids[:prompt], ids[prompt:], (0.0,) * said, f"at {stage}", False, opens))
        first += prompt + said
    return talk


@given(SHAPES)
def test_sequences_hold_every_turn_once_in_order(shapes: list[tuple[int, int, bool]]) -> None:
    talk = conversation(shapes)
    assert tuple(turn for sequence in talk.sequences for turn in sequence) == talk.turns
    assert all(sequence[0].fresh and not any(turn.fresh for turn in sequence[1:]) for sequence in talk.sequences)


@given(SHAPES)
def test_what_goes_on_is_the_last_sequence_alone(shapes: list[tuple[int, int, bool]]) -> None:
    talk = conversation(shapes)
    last = talk.sequences[-1] if talk.turns else ()
    assert talk.ids == tuple(i for turn in last for i in (*turn.prompt, *turn.ids))
    if not any(fresh for _, _, fresh in shapes[1:]):
        assert talk.ids == tuple(range(len(talk.ids)))


@given(SHAPES)
def test_going_on_leaves_the_conversation_that_was_as_it_is(shapes: list[tuple[int, int, bool]]) -> None:
    talk = conversation(shapes)
    before = talk.turns
    more = talk.then(Turn(TurnKey(0, "p", "generator", 3, 9), (), (), (), "more", False, not before))
    assert talk.turns == before
    assert more.turns[:-1] == before
    assert more.text(9) == "more"


def test_a_stage_that_was_not_played_has_no_text() -> None:
    talk = conversation([(1, 1, True), (1, 1, False)])
    assert [talk.text(stage) for stage in (1, 2, 3)] == ["at 1", "at 2", ""]
    assert Conversation("discriminator").ids == ()
