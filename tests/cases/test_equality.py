"""Trees are compared as Python compares what they stand for, and no tree makes that slow."""

from __future__ import annotations

import copy
import datetime as dt
import itertools
import json
import math
import time
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from selfplay.box.task import Execution
from selfplay.cases.case import Case
from selfplay.cases.check import check
from selfplay.cases.equality import equal
from selfplay.cases.values import encode, load

Point = namedtuple("Point", "x y")
Other = namedtuple("Other", "a b")
UTC, EAST = dt.UTC, dt.timezone(dt.timedelta(hours=2))
VALUES: list[Any] = [
    *(None, True, False, 0, 1, 2, -1, 1.0, 0.0, -0.0, 0.5, 2**60, float(2**60), 10**400, math.inf, -math.inf, 1j),
    *("", "a", "b", "1", [1], (1,), [1.0], [], (), [1, 2], [2], ["a"], [[1, 2], [3]], [{1, 2}], [{2, 1.0}], (1, "a")),
    *(set(), frozenset(), {1}, {1.0}, frozenset([True]), {1, 2}, {2, 1, "a"}, {frozenset([1, frozenset([2])])}),
    *({}, {1: 2}, {True: 2.0}, {"a": [1]}, {"a": [1], "b": 1}, {"b": True, "a": [1.0]}, {(1, 2): 3}, b"a"),
    *(range(0), range(5, 5), range(1), range(0, 1, 5), range(3), range(0, 5, 2), range(0, 6, 2), range(3, 0, -1)),
    *({frozenset([1.0, frozenset([2])])}, b"ab", {None}, [None], 1 + 0j, bytearray(b"a")),
    *([[1, 2], [4]], [{1: 2}], [{1: 2}, 1], [range(3)], [b"a"], ([1],), [[None]], [[1.0, 2], [3]], b"", bytearray()),
]  # fmt: skip


def tree(value: object) -> Any:
    return load(encode(value))


def test_equality_is_pythons_on_all_pairs() -> None:
    for a, b in itertools.product(VALUES, VALUES):
        assert equal(tree(a), tree(b)) == (a == b), (a, b)


STANDARD: list[Any] = [
    *(Point(1, 2), Other(1, 2), Point([1], 2), deque([1, 2]), deque([1, 2], 5), deque([2, 1]), deque(), [deque()]),
    *(Counter(), Counter("aab"), Counter(a=2, b=1, c=0), Counter(a=0), {"a": 2, "b": 1}, {"b": 1, "a": 2}, Counter(c=-1)),
    *(OrderedDict(a=2, b=1), OrderedDict(b=1, a=2), OrderedDict(), defaultdict(int), defaultdict(int, a=2, b=1)),
    *(OrderedDict({True: 1}), {1.0: 1}, [Counter(a=0)], [Counter()], {1: Counter(a=0)}, {1: Counter()}, {"a": 0}),
    *(Decimal(1), Decimal("1.00"), Decimal("-0"), Decimal("0.5"), Decimal("0.1"), Decimal("1E+400"), 10**400),
    *(Decimal("1E+5000"), Decimal("10E+4999"), Decimal("-1E+5000"), Decimal("1E-5000"), Decimal("Infinity"), math.inf),
    *(Decimal("NaN"), Fraction(1, 2), Fraction(1, 3), Fraction(2), Fraction(0.1), 0.1, 0.5, 5e-324, Fraction(5e-324)),
    *(Fraction(3, 2**1075), Fraction(10**400), Fraction(1, 10), Decimal.from_float(0.1), 1 / 3, 2 + 0j, 0.5 + 0j, 1j, 2**60),
    *(Decimal(2**60), Fraction(2**60), float(2**60), {Decimal(1)}, {Fraction(1)}, {1}, {(1, 2)}, {Point(1, 2)}, "1"),
    *(dt.date(2024, 1, 31), dt.datetime(2024, 1, 31), dt.datetime(2024, 1, 31, tzinfo=UTC), "2024-01-31"),
    *(dt.datetime(2024, 1, 31, 2, tzinfo=EAST), dt.datetime(1, 1, 1, tzinfo=EAST), dt.datetime(9999, 12, 31, tzinfo=UTC)),
    *(dt.time(1, 2, tzinfo=UTC), dt.time(3, 2, tzinfo=EAST), dt.time(1, 2), dt.time(0), dt.timedelta(1), dt.timedelta(0)),
    *(dt.timedelta(0, 86_400), 1, 2, [1, 2], (1, 2), {}, [], 0, None, True),
]  # fmt: skip


def test_equality_of_the_standard_library_s_values_is_pythons_on_all_pairs() -> None:
    for a, b in itertools.product(STANDARD, STANDARD):
        assert equal(tree(a), tree(b)) == (a == b if a is not b else a == copy.deepcopy(b)), (a, b)


def test_long_and_tiny_numbers_of_a_hostile_answer_are_compared_quickly() -> None:
    for text in ("1E-1000", "1E+999999999", "1." + "1" * 3_000 + "E+900", "1" * 3_000):
        many = load(json.dumps(["s", *(["D", text] for _ in range(3 * 10**6 // len(text) // 20))]))
        begin = time.process_time()
        equal(many, load(json.dumps(many)))
        assert time.process_time() - begin < 5


def test_nan_and_opaque_values_equal_nothing() -> None:
    for value in (math.nan, object()):
        for wrapped in (value, [value], {1: value}):
            assert not equal(tree(wrapped), tree(wrapped))
    assert not equal(load('["s",["f","nan"]]'), load('["s",["f","nan"]]'))


def test_keys_that_python_holds_equal_are_one_key() -> None:
    assert equal(load('["d",[1,"a"],[true,"b"]]'), load('["d",[["f","1.0"],"b"]]'))
    assert equal(load('["s",1,true,["f","1.0"]]'), load('["s",1]'))


@pytest.mark.parametrize("text", ['["g",1]', '["h","Stack",0]', '["o","x"]'])
def test_iterators_handles_and_opaque_values_equal_nothing_even_inside(text: str) -> None:
    for wrapped in (text, f'["l",{text}]', f'["d",[1,{text}]]', f'["n","P",["x"],{text}]', f'["q",null,{text}]'):
        assert not equal(load(wrapped), load(wrapped))


def test_functions_are_equal_by_their_text() -> None:
    assert equal(load('["u","len"]'), load('["u","len"]'))
    assert not equal(load('["u","len"]'), load('["y","len"]'))


def verdict(operator: str, expected: Any, value: str) -> str:
    return check(Case("test", "", '["l"]', operator, encode(expected)), Execution("returned", value))


@pytest.mark.parametrize("operator", ["==", "!=", "in", "<", "truthy"])
@pytest.mark.parametrize("key", ['["I","{}"]', '["t",["I","{}"]]', '["z",["t",["I","{}"]]]'])
def test_items_that_collide_as_hashes_cost_little(operator: str, key: str) -> None:
    keys = [key.format(hex(i * (2**61 - 1))) for i in range(2**16, 2**16 + 40_000)]
    for text in (f'["s",{",".join(keys)}]', f'["l",["d",{",".join(f"[{one},1]" for one in keys)}]]'):
        start = time.process_time()
        assert verdict(operator, {1, 2}, text) == "failed"
        assert time.process_time() - start < 2


def test_sets_and_dictionaries_of_a_right_program_are_small_enough() -> None:
    places = {(i, j): i for i in range(60) for j in range(50)}
    assert verdict("!=", {}, encode(places)) == verdict("!=", {}, encode(set(places))) == "passed"


@pytest.mark.parametrize(
    ("operator", "expected", "value", "passes"),
    [
        ("<", 3, '"a"', False),
        ("<=", {1, 2}, '["s",1]', True),
        ("<", [[1], 2], '["l",["l",0],9]', True),
        (">", Decimal("NaN"), '["D","1"]', False),
        ("in", b"a", "97", True),
        ("in", b"a", "256", False),
        ("in", {1: 2}, '["l",1]', False),
        ("not_in", {1: 2}, '["l",1]', False),
        ("in", {frozenset([1])}, '["s",1]', True),
        ("in", [[math.nan], [1]], '["l",["f","nan"]]', False),
        ("in", range(0, 9, 2), '["f","4.0"]', True),
        ("truthy", None, '["o","Thing"]', False),
        ("falsy", None, '["delta",0,0,0]', True),
        ("is", None, "null", True),
        ("is", 1, "true", False),
        ("is_not", 7, "7", True),
    ],
)
def test_what_python_would_say_or_raise_decides(operator: str, expected: Any, value: str, passes: bool) -> None:
    assert verdict(operator, expected, value) == ("passed" if passes else "failed")
