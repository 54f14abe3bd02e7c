"""Python's `==`, `<` and `in`, on trees."""

from __future__ import annotations

import copy
import datetime as dt
import itertools
import json
import math
import operator
import time
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from selfplay.cases.check import order
from selfplay.cases.equality import canonical, equal, hashable, truth
from selfplay.cases.membership import member
from selfplay.cases.steps import Mismatch
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


def python(function: Callable[[], bool]) -> object:
    try:
        return function()
    except (TypeError, ValueError):
        return "raises"


def ours(function: Callable[[], bool]) -> object:
    try:
        return function()
    except Mismatch:
        return "raises"


def test_equality_is_pythons_on_all_pairs() -> None:
    for a, b in itertools.product(VALUES, VALUES):
        assert equal(tree(a), tree(b)) == (a == b), (a, b)


@pytest.mark.parametrize("test", [operator.lt, operator.le, operator.gt, operator.ge])
def test_order_is_pythons_on_all_pairs(test: Callable[[Any, Any], bool]) -> None:
    for a, b in itertools.product(VALUES, VALUES):
        assert ours(lambda: order(tree(a), tree(b), test)) == python(lambda: test(a, b)), (a, b)  # noqa: B023


def test_membership_is_pythons_where_python_does_not_raise() -> None:
    for a, b in itertools.product(VALUES, VALUES):
        expected = python(lambda: a in b)  # noqa: B023
        found = ours(lambda: member(tree(a), tree(b)))  # noqa: B023
        assert found == expected or expected == "raises" or isinstance(a, complex), (a, b)


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


def test_one_text_stands_for_all_equal_values_of_the_standard_library() -> None:
    hashable_values = [value for value in STANDARD if hashable(tree(value)) and value == value]
    assert len(hashable_values) > 50
    for a, b in itertools.product(hashable_values, hashable_values):
        if not {10**400} & {a, b}:
            assert (canonical(tree(a)) == canonical(tree(b))) == (a == b) == (hash(a) == hash(b) and a == b), (a, b)


def test_what_can_be_hashed_and_what_is_true_is_pythons_to_say() -> None:
    for value in STANDARD:
        assert hashable(tree(value)) == (python(lambda: hash(value) == hash(value)) is True), value  # noqa: B023
        assert truth(tree(value)) == bool(value), value


@pytest.mark.parametrize("text", ['["g",1]', '["h","Stack",0]', '["o","x"]'])
def test_iterators_handles_and_opaque_values_equal_nothing_even_inside(text: str) -> None:
    for wrapped in (text, f'["l",{text}]', f'["d",[1,{text}]]', f'["n","P",["x"],{text}]', f'["q",null,{text}]'):
        assert not equal(load(wrapped), load(wrapped))
        with pytest.raises(Mismatch):
            canonical(load(wrapped))


def test_functions_are_equal_by_their_text() -> None:
    assert equal(load('["u","len"]'), load('["u","len"]'))
    assert not equal(load('["u","len"]'), load('["y","len"]'))
    assert truth(load('["y","lambda: 0"]'))


def test_long_and_tiny_numbers_of_a_hostile_answer_are_compared_quickly() -> None:
    for text in ("1E-1000", "1E+999999999", "1." + "1" * 3_000 + "E+900", "1" * 3_000):
        many = load(json.dumps(["s", *(["D", text] for _ in range(3 * 10**6 // len(text) // 20))]))
        begin = time.process_time()
        equal(many, load(json.dumps(many)))
        assert time.process_time() - begin < 5


def test_truth_is_pythons() -> None:
    assert [truth(tree(value)) for value in VALUES] == [bool(value) for value in VALUES]


def test_an_opaque_value_is_neither_true_nor_false() -> None:
    with pytest.raises(Mismatch):
        truth(tree(object()))


def test_nan_and_opaque_values_equal_nothing() -> None:
    for value in (math.nan, object()):
        for wrapped in (value, [value], {1: value}):
            assert not equal(tree(wrapped), tree(wrapped))
    assert not equal(load('["s",["f","nan"]]'), load('["s",["f","nan"]]'))


def test_keys_that_python_holds_equal_are_one_key() -> None:
    assert equal(load('["d",[1,"a"],[true,"b"]]'), load('["d",[["f","1.0"],"b"]]'))
    assert equal(load('["s",1,true,["f","1.0"]]'), load('["s",1]'))


def test_items_that_collide_as_hashes_cost_no_more_than_others() -> None:
    colliding = json.dumps(["s", *(["I", hex(i * (2**61 - 1))] for i in range(2**16, 2**16 + 60_000))])
    start = time.process_time()
    assert equal(load(colliding), load(colliding))
    assert time.process_time() - start < 10


def test_one_text_stands_for_all_equal_values_and_no_others() -> None:
    texts = [canonical(tree(value)) for value in VALUES]
    for (a, one), (b, other) in itertools.product(zip(VALUES, texts, strict=True), repeat=2):
        assert (one == other) == (a == b), (a, b)


@pytest.mark.parametrize("value", [[1], ([1],), (1, [1]), {1: 2}, bytearray(b"a"), (1, ({1: 2},))], ids=str)
@pytest.mark.parametrize("container", [{1}, frozenset([1]), {1: 2}], ids=str)
def test_what_python_cannot_hash_is_in_no_set(value: object, container: object) -> None:
    with pytest.raises(Mismatch):
        member(tree(value), tree(container))


def test_a_set_is_looked_up_in_a_set_as_the_frozen_one_that_it_equals() -> None:
    assert member(tree({1}), tree({frozenset([1])}))
    with pytest.raises(Mismatch):
        member(tree({1}), tree({1: 2}))


@pytest.mark.parametrize(
    ("number", "found"), [(0, False), (97, True), (255, False), (256, None), (-1, None), (True, False)]
)
def test_a_number_is_looked_up_in_bytes_where_it_is_a_byte(number: int, found: bool | None) -> None:
    assert ours(lambda: member(number, tree(b"a"))) == ("raises" if found is None else found)


def test_what_equals_nothing_is_in_nothing_and_hides_nothing() -> None:
    assert not member(tree([1]), tree([[math.nan], {2: object()}]))
    assert not member(tree([math.nan]), tree([[math.nan]]))
    assert member(tree([1]), tree([[math.nan], [1]]))


def test_sequences_are_ordered_in_one_pass_however_deep() -> None:
    def deep(value: int) -> Any:
        made: Any = value
        for _ in range(97):
            made = ["l", made]
        return made

    begin = time.process_time()
    for number in range(2_000):
        assert order(deep(number), deep(number + 1), operator.lt)
        assert not order(deep(number), deep(number), operator.lt)
    assert time.process_time() - begin < 10
