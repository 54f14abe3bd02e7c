"""A player without a model: bytes as tokens, and a script that says what it is told to say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.game.episode import Role, TurnKey
from selfplay.game.players import Request, Sampling
from tests.scripted import ByteChat, ScriptedPlayer

CHAT = ByteChat()


def key(stage: int = 1, role: Role = "generator", branch: int = 0) -> TurnKey:
    return TurnKey(0, "p", role, branch, stage)


@given(st.text())
def test_text_survives_the_way_into_ids_and_back(text: str) -> None:
    [said] = ScriptedPlayer(lambda _: text).complete([Request(key(), ())], Sampling(max_tokens=10_000))
    assert CHAT.text(said.ids) == text
    assert said.ids[-1] == CHAT.end
    assert not said.truncated


@given(st.text(max_size=20), st.integers(1, 100))
def test_a_turn_is_cut_off_at_its_limit_and_nowhere_else(text: str, limit: int) -> None:
    [said] = ScriptedPlayer(lambda _: text).complete([Request(key(), ())], Sampling(max_tokens=limit))
    whole = (*text.encode(), CHAT.end)
    assert said.ids == whole[:limit]
    assert said.truncated == (limit < len(whole))
    assert len(said.logprobs) == len(said.ids)


def test_half_a_letter_is_shown_as_unknown_and_raises_nothing() -> None:
    assert CHAT.text("é".encode()[:1]) == "\ufffd"


def test_a_conversation_goes_on_where_it_was_and_closes_what_was_cut_off() -> None:
    assert CHAT.text(CHAT.first("ask", "be kind")) == "be kind\nask\n"
    assert CHAT.text(CHAT.first("ask")) == "ask\n"
    ended, cut = (104, CHAT.end), (104,)
    assert CHAT.next("more", ended)[0] != CHAT.end
    assert CHAT.next("more", cut) == (CHAT.end, *CHAT.next("more", ended))


def test_a_table_says_nothing_where_it_has_no_entry() -> None:
    player = ScriptedPlayer({("p", "generator", 1): "yes"})
    said = player.complete([Request(key(1), ()), Request(key(2), ()), Request(key(1, "discriminator"), ())], Sampling())
    assert [player.chat.text(each.ids) for each in said] == ["yes", "", ""]


@pytest.mark.parametrize("count", [0, 1, 5])
def test_completions_come_in_the_order_of_the_requests(count: int) -> None:
    player = ScriptedPlayer(lambda each: str(each.branch))
    said = player.complete([Request(key(branch=branch), ()) for branch in range(count)], Sampling())
    assert [player.chat.text(each.ids) for each in said] == [str(branch) for branch in range(count)]
