"""Where cases end in a turn's ids."""

from __future__ import annotations

from selfplay.game.episode import Turn, TurnKey
from selfplay.game.players import ByteChat
from selfplay.learning import setup
from selfplay.learning.policy.chat import TemplateChat
from selfplay.learning.policy.hf import load_tokenizer
from selfplay.learning.positions import case_ends

TEXT = ByteChat().text


def turn(text: str) -> Turn:
    ids = (*text.encode(), ByteChat.end)
    return Turn(TurnKey(0, "p", "discriminator", 0, 1), (), ids, (), text, truncated=False)


def test_a_case_ends_with_its_statement() -> None:
    assert case_ends(turn("a == 1\nb == 2"), ["a == 1", "b == 2"], TEXT) == [6, 13]


def test_the_same_statement_twice_is_found_twice() -> None:
    assert case_ends(turn("a == 1\na == 1"), ["a == 1", "a == 1"], TEXT) == [6, 13]


def test_the_cases_of_one_statement_end_with_it() -> None:
    assert case_ends(turn("for x in y: a"), ["for x in y", "for x in y"], TEXT) == [10, 10]


def test_a_statement_that_is_not_there_takes_the_whole_turn() -> None:
    assert case_ends(turn("a == 1"), ["a == 2", ""], TEXT) == [7, 7]


def test_ids_of_several_characters_and_of_parts_of_one() -> None:
    assert case_ends(turn("é == 1\nb"), ["é == 1", "b"], TEXT) == [7, 9]


def test_a_real_tokenizers_ids_end_with_the_statement_or_its_line() -> None:
    tokenizer = load_tokenizer(setup.EMBEDDED)
    chat = TemplateChat(tokenizer)
    text = "assert f(93) == 20\nassert f([6, 1]) == [1]"
    ids = (*tokenizer(text, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id)
    said = Turn(TurnKey(0, "p", "discriminator", 0, 1), (), ids, (), chat.text(ids), truncated=False)
    first, second = case_ends(said, text.split("\n"), chat.text)
    assert chat.text(ids[:first]).startswith("assert f(93) == 20")
    assert chat.text(ids[: first - 1]) in text[: len("assert f(93) == 2")]
    assert second == len(ids) - 1
