"""The codec: values to canonical text and back."""

from __future__ import annotations

import datetime as dt
import json
import math
import time
from collections import Counter, OrderedDict, defaultdict, deque
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import Any

import pytest

from selfplay.cases.values import MAX_DEPTH, decode, dump, encode, load


class Colour(IntEnum):
    RED = 3


class Lying(list):  # type: ignore[type-arg]
    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(["a lie"])

    def __len__(self) -> int:
        return 99


ORDERED = OrderedDict(a=1, b=2)
ORDERED.move_to_end("a")
STANDARD: list[tuple[Any, str]] = [
    (deque([1, (2,)]), '["q",null,1,["t",2]]'),
    (deque([1, 2, 3], 2), '["q",2,2,3]'),
    (Counter("aab"), '["C",["a",2],["b",1]]'),
    (ORDERED, '["O",["b",2],["a",1]]'),
    (defaultdict(None, a=[1]), '["dd",["a",["l",1]]]'),
    (Decimal("1.50"), '["D","1.50"]'),
    (Decimal("-1E+400"), '["D","-1E+400"]'),
    (Fraction(-2, 6), '["F","-1/3"]'),
    (dt.date(2024, 1, 31), '["date","2024-01-31"]'),
    (dt.datetime(2024, 1, 31, 10, 0, 0, 5), '["datetime","2024-01-31T10:00:00.000005"]'),
    (dt.datetime(2024, 1, 31, tzinfo=dt.UTC), '["datetime","2024-01-31T00:00:00+00:00"]'),
    (dt.time(1, 2), '["time","01:02:00"]'),
    (dt.timedelta(-1, 5, 7), '["delta",-1,5,7]'),
]


@pytest.mark.parametrize(
    ("value", "limit"),
    [(Decimal("1" * 5_000), "4000"), ([Fraction(1, 10**5_000)], "4000")],
    ids=["decimal", "fraction"],
)
def test_a_number_of_too_many_digits_names_the_limit(value: Any, limit: str) -> None:
    with pytest.raises(ValueError, match=limit):
        encode(value)


@pytest.mark.parametrize(
    "text",
    ['["g",1,["l",2]]', '["g",1,["e","E","m"]]', '["h","Stack",3]', '["u","operator.add"]', '["y","lambda x: x"]'],
)
def test_what_only_the_box_has_is_checked_in_its_form(text: str) -> None:
    assert dump(load(text)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        ("é\n", '"\\u00e9\\n"'),
        (2**53 - 1, "9007199254740991"),
        (2**53, '["I","0x20000000000000"]'),
        (-(2**60), '["I","-0x1000000000000000"]'),
        (0.5, '["f","0.5"]'),
        (-0.0, '["f","-0.0"]'),
        (math.inf, '["f","inf"]'),
        ([1, (2,)], '["l",1,["t",2]]'),
        ({2, 1}, '["s",1,2]'),
        (frozenset("ba"), '["z","a","b"]'),
        ({"b": 1, "a": [2]}, '["d",["b",1],["a",["l",2]]]'),
        (b"\x00a", '["b","0061"]'),
        (bytearray(b"a"), '["B","61"]'),
        (1 - 2j, '["c","1.0","-2.0"]'),
        (range(1, 9, 2), '["r",1,9,2]'),
        *STANDARD,
    ],
)
def test_a_value_has_one_text_and_comes_back(value: object, text: str) -> None:
    assert encode(value) == text
    assert decode(text) == value
    assert type(decode(text)) is type(value)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Colour.RED, 3),
        (Lying([1, 2]), [1, 2]),
    ],
)
def test_a_subclass_is_reduced_to_its_base_by_the_bases_own_methods(value: object, plain: object) -> None:
    assert encode(value) == encode(plain)


def test_nan_is_written_and_read() -> None:
    assert math.isnan(decode(encode(math.nan)))


def test_anything_else_is_opaque_or_refused() -> None:
    assert encode(print) == '["o","builtin_function_or_method"]'
    with pytest.raises(ValueError, match="function"):
        encode([print], strict=True)


@pytest.mark.parametrize(
    ("value", "limit"),
    [(list(range(300_000)), "200000"), (["a" * 1_000_000] * 100, "4194304"), ("a" * (5 << 20), "4194304")],
)
def test_a_value_beyond_a_cap_names_the_limit(value: object, limit: str) -> None:
    with pytest.raises(ValueError, match=limit):
        encode(value)


def test_a_cycle_hits_the_depth_limit() -> None:
    cycle: list[object] = []
    cycle.append(cycle)
    with pytest.raises(ValueError, match=str(MAX_DEPTH)):
        encode(cycle)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "1.5",
        "NaN",
        "Infinity",
        "9007199254740992",
        "9" * 5000,
        "[]",
        "[1]",
        '["x"]',
        '["f","1_0"]',
        '["f","1e9999"]',
        '["f",1]',
        '["I","12"]',
        '["I","0x"]',
        '["b","0"]',
        '["b","zz"]',
        '["c","1.0"]',
        '["d",1]',
        '["d",[1]]',
        '["r",0,1,0]',
        '["r",0,1,["I","0x0"]]',
        '["r",0,true,1]',
        '["o",1]',
        '["n","Point",["x","y"],1]',
        '["n","Point",["x","x"],1,2]',
        '["n","Point",["x","class"],1,2]',
        '["n","no name",["x"],1]',
        '["n","Point"]',
        '["q"]',
        '["q",true,1]',
        '["q",1,1,2]',
        '["q",-1]',
        '["C",1]',
        '["dd",[1]]',
        '["D","1_0"]',
        '["D",""]',
        '["D","9E+9999999999999999999"]',
        '["D","99E+999999999999999999"]',
        '["D","' + "1" * 9000 + '"]',
        '["F","1/0"]',
        '["F","1"]',
        '["F","1/-3"]',
        '["date","2024-02-30"]',
        '["date","20240229"]',
        '["datetime","2024-01-31"]',
        '["datetime","2024-01-31T25:00:00"]',
        '["datetime","2024-01-31T10:00:00+24:00"]',
        '["time","10"]',
        '["delta",1,86400,0]',
        '["delta",1,2]',
        '["h","Stack",-1]',
        '["g",["e","E","m"],1]',
        '["l",["e","E","m"]]',
        '["g",["e","E"]]',
        '["h","Stack"]',
        '["u",1]',
        '["y","x","y"]',
        '["l"',
        "[" * 100_000,
        '["l",' * 150 + "1" + "]" * 150,
        '"' + "a" * (5 << 20) + '"',
        json.dumps(["l", *range(250_000)]),
    ],
)
def test_text_of_another_origin_is_checked(text: str) -> None:
    with pytest.raises(ValueError):
        load(text)


def test_equal_sets_have_equal_texts_whatever_their_order() -> None:
    words = [f"w{i}" for i in range(100)]
    backwards = words[::-1]
    assert encode(set(words)) == encode(set(backwards))


def test_sets_in_sets_are_sorted_once() -> None:
    value: Any = frozenset(range(100_000))
    for _ in range(90):
        value = frozenset([value])
    begin = time.process_time()
    assert encode(value, size=1 << 20).startswith('["z",["z",')
    assert time.process_time() - begin < 5
