"""Outcomes as text, and which count as what the reference did."""

from __future__ import annotations

import json

import pytest

from selfplay.cases.outcome import Outcome, is_like, outcome_of, outcome_text

KEY_ERROR = ("KeyError", "LookupError", "Exception", "BaseException")
OUTCOMES = {
    '{"v":null}': Outcome(),
    '{"v":["l",1]}': Outcome(["l", 1]),
    '{"v":1,"p":"a\\n"}': Outcome(1, printed="a\n"),
    '{"v":null,"c":["l",["l",1]]}': Outcome(changed=["l", ["l", 1]]),
    '{"x":["KeyError","LookupError","Exception","BaseException"],"m":"\'a\'"}': Outcome(
        raised=KEY_ERROR, message="'a'"
    ),
}


@pytest.mark.parametrize("text", OUTCOMES)
def test_an_outcome_has_one_text_and_comes_back(text: str) -> None:
    assert outcome_text(OUTCOMES[text]) == text
    assert outcome_of(text) == OUTCOMES[text]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{}",
        '{"p":"a"}',
        '{"v":1,"x":["E"],"m":""}',
        '{"x":["E"]}',
        '{"x":[],"m":""}',
        '{"x":"E","m":""}',
        '{"x":[1],"m":""}',
        '{"x":["E"],"m":1}',
        '{"v":1,"p":null}',
        '{"v":1.5}',
        '{"v":{"v":1}}',
        '{"v":["l",{"v":1}]}',
        '{"v":["x"]}',
        '{"v":1,"c":["x"]}',
        '{"v":1,"z":1}',
        '[{"v":1}]',
        '{"v":1}{"v":1}',
        json.dumps({"x": ["E"] * 21, "m": ""}),
        json.dumps({"x": ["E" * 101], "m": ""}),
        json.dumps({"v": ["l", *range(150_000)], "c": ["l", *range(150_000)]}),
        '{"v":' + "[" * 100_000,
        '{"v":"' + "a" * (5 << 20) + '"}',
    ],
)
def test_text_of_another_origin_is_checked(text: str) -> None:
    with pytest.raises(ValueError):
        outcome_of(text)


@pytest.mark.parametrize(
    ("outcome", "reference", "expected"),
    [
        (Outcome(1), Outcome(["f", "1.0"]), True),
        (Outcome(1), Outcome(2), False),
        (Outcome(1, printed="debug"), Outcome(1), True),
        (Outcome(1), Outcome(1, printed="a"), False),
        (Outcome(1, printed="b"), Outcome(1, printed="a"), False),
        (Outcome(1, changed=["l", 1]), Outcome(1), True),
        (Outcome(1), Outcome(1, changed=["l", 1]), False),
        (Outcome(1, changed=["l", ["f", "1.0"]]), Outcome(1, changed=["l", 1]), True),
        (Outcome(raised=KEY_ERROR, message="a"), Outcome(raised=KEY_ERROR, message="b"), True),
        (Outcome(raised=KEY_ERROR[1:]), Outcome(raised=KEY_ERROR), False),
        (Outcome(raised=KEY_ERROR), Outcome(), False),
        (Outcome(), Outcome(raised=KEY_ERROR), False),
    ],
)
def test_what_the_reference_does_not_say_or_change_another_may(
    outcome: Outcome, reference: Outcome, expected: bool
) -> None:
    assert is_like(outcome, reference) is expected
