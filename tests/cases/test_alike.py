"""What counts as the same value to a test, and what does not."""

from __future__ import annotations

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
from hypothesis import given
from hypothesis import strategies as st

from selfplay.cases.alike import alike
from selfplay.cases.equality import equal
from selfplay.cases.steps import Steps
from selfplay.cases.values import encode, load

Point = namedtuple("Point", "x y")
Other = namedtuple("Other", "x y")


def tree(value: object) -> Any:
    return load(encode(value))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, 1.0),
        (True, 1),
        (0.1 + 0.2, 0.3),
        (1e-10, 0),
        (10**12 + 0.5, 10**12 + 0.6),
        (math.nan, math.nan),
        (math.inf, math.inf),
        (1 + 2j, 1 + 2.0000000001j),
        ([1, {"a": (0.3,)}], [True, {"a": (0.1 + 0.2,)}]),
        ({1, 2}, {2.0, True}),
        ({(0.1 + 0.2, "a"), (1, "b")}, {(1.0, "b"), (0.3, "a")}),
        ({0.1 + 0.2: "x"}, {0.3: "x"}),
        (Point(1, [2]), Point(1.0, [2])),
        (deque([1]), deque([1.0])),
        (Counter(a=1), Counter(a=True)),
        (range(0, 5, 2), range(0, 6, 2)),
        ([math.nan], [math.nan]),
        (2**70, float(2**70)),
    ],
)
def test_these_are_alike(a: object, b: object) -> None:
    assert alike(tree(a), tree(b))
    assert alike(tree(b), tree(a))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, "1"),
        (1, None),
        (0, None),
        (False, None),
        (10**10, 10**10 + 1),
        (1.0, 1.0000001),
        (10**400, math.inf),
        (10**400, 1.5),
        (math.nan, 1.0),
        ([1], (1,)),
        ((1, 2), Point(1, 2)),
        (Point(1, 2), Other(1, 2)),
        ({1}, frozenset([1])),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": 1}, OrderedDict(a=1)),
        ({"a": 1}, defaultdict(int, a=1)),
        ({"a": 1}, Counter(a=1)),
        (Counter(a=0), Counter()),
        (deque([1]), deque([1], 3)),
        (b"a", bytearray(b"a")),
        (Decimal("1.5"), Decimal("1.50")),
        (Decimal(1), 1),
        (Fraction(1, 2), 0.5),
        (dt.date(2024, 1, 1), dt.datetime(2024, 1, 1)),
        ([1, 2], [1]),
        ({1, 2}, {1}),
        (range(3), [0, 1, 2]),
    ],
)
def test_these_are_not(a: object, b: object) -> None:
    assert not alike(tree(a), tree(b))
    assert not alike(tree(b), tree(a))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ('["g",1,2]', '["g",1,["f","2.0"]]', True),
        ('["g",1,2]', '["l",1,2]', False),
        ('["h","Stack",1]', '["h","Stack",1]', True),
        ('["h","Stack",1]', '["h","Stack",2]', False),
        ('["h","Stack",1]', '["h","Queue",1]', False),
        ('["u","len"]', '["u","len"]', True),
        ('["y","lambda: 1"]', '["y","lambda: 2"]', False),
        ('["o","x"]', '["o","x"]', False),
        ('["l",["d",[1,["o","x"]]]]', '["l",["d",[1,["o","x"]]]]', False),
        ('["l","o"]', '["l","o"]', True),
        ('["l",["g"]]', '["l",["g"]]', True),
    ],
)
def test_what_only_the_box_has(a: str, b: str, expected: bool) -> None:
    assert alike(load(a), load(b)) is expected


SCALARS = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False, width=16) | st.text("ab", max_size=2)
)
KEYS = SCALARS | st.tuples(SCALARS, SCALARS)
DATA = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.sets(KEYS, max_size=3)
        | st.dictionaries(KEYS, inner, max_size=3)
    ),
    max_leaves=8,
)


@given(DATA, DATA)
def test_what_is_alike_is_equal_but_for_small_differences_of_floats(a: Any, b: Any) -> None:
    assert alike(tree(a), tree(a))
    if alike(tree(a), tree(b)):
        assert alike(tree(b), tree(a))
        assert equal(tree(a), tree(b)) or any(isinstance(part, float) for part in _parts([a, b]))


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [part for pair in value.items() for item in pair for part in _parts(item)]
    return [part for item in value for part in _parts(item)] if isinstance(value, (list, tuple, set)) else [value]


def test_sets_in_sets_are_paid_for_at_every_level_and_then_given_up() -> None:
    def deep(last: Any) -> Any:
        made = ["z", *range(40_000), last]
        for _ in range(95):
            made = ["z", made]
        return made

    begin = time.process_time()
    assert alike(deep(1), deep(1))
    assert not alike(deep(1), deep(["f", "1.0"]))  # given up: it would be
    assert time.process_time() - begin < 10
    steps = Steps()
    assert alike(["s", 1, 2], ["s", 2, 1], steps)
    assert steps.left < Steps().left


def test_colliding_or_unsorted_items_cost_no_more_than_others() -> None:
    numbers = [i * (2**61 - 1) for i in range(50_000)]
    one, other = (["s", *(["I", hex(n)] for n in order)] for order in (numbers, numbers[::-1]))
    begin = time.process_time()
    assert alike(load(json.dumps(one)), load(json.dumps(other)))
    assert time.process_time() - begin < 10


def test_likeness_is_the_same_both_ways() -> None:
    values = [
        0,
        1,
        1.0,
        1 + 1e-10,
        "a",
        [1],
        (1,),
        {1},
        frozenset([1]),
        {1: 1},
        None,
        math.nan,
        Decimal(1),
        b"",
        range(1),
    ]
    for a, b in itertools.product(values, values):
        assert alike(tree(a), tree(b)) == alike(tree(b), tree(a))
