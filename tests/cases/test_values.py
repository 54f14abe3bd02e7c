"""The codec: values to canonical text and back."""

from __future__ import annotations

import json
import math
import time
from collections import Counter, OrderedDict, defaultdict, namedtuple
from enum import IntEnum
from typing import Any

import pytest

from selfplay.cases.values import MAX_DEPTH, decode, encode, load

Point = namedtuple("Point", "x y")


class Colour(IntEnum):
    RED = 3


class Lying(list):  # type: ignore[type-arg]
    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(["a lie"])

    def __len__(self) -> int:
        return 99


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
    ],
)
def test_a_value_has_one_text_and_comes_back(value: object, text: str) -> None:
    assert encode(value) == text
    assert decode(text) == value
    assert type(decode(text)) is type(value)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Counter("aab"), {"a": 2, "b": 1}),
        (OrderedDict(a=1), {"a": 1}),
        (defaultdict(int, a=1), {"a": 1}),
        (Point(1, 2), (1, 2)),
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
    with pytest.raises(ValueError, match="opaque"):
        decode(encode(object()))


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


def test_sets_nested_deep_around_much_data_are_refused_before_they_are_sorted_at_every_level() -> None:
    value: Any = frozenset(range(100_000))
    for _ in range(90):
        value = frozenset([value])
    begin = time.process_time()
    with pytest.raises(ValueError, match="sets of sets"):
        encode(value, size=1 << 20)
    assert time.process_time() - begin < 10
    assert decode(encode(frozenset([frozenset([frozenset([1])])]))) == frozenset([frozenset([frozenset([1])])])
