"""The codec in the box: standard values to canonical text and back, whatever their classes say of themselves."""

from __future__ import annotations

import datetime as dt
import itertools
import subprocess
import sys
import types
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import pytest

from sandbox import codec

Point = namedtuple("Point", "x y")


class Pair(NamedTuple):
    first: int
    second: Any


class Moved(Point):
    """A named tuple of another name, whose own iterator lies."""

    def __iter__(self) -> Iterator[Any]:
        return iter("lie")


def written(value: object, objects: Any = None) -> str:
    return codec.encode(value, 1 << 20, objects)


def back(value: object) -> Any:
    return codec.decode(written(value))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Point(1, [2]), '["n","Point",["x","y"],1,["l",2]]'),
        (Pair(1, "a"), '["n","Pair",["first","second"],1,"a"]'),
        (Moved(1, 2), '["n","Moved",["x","y"],1,2]'),
        (deque(), '["q",null]'),
        (defaultdict(list, a=[1]), '["dd",["a",["l",1]]]'),
        (Decimal("-Infinity"), '["D","-Infinity"]'),
        (Decimal("1E+400"), '["D","1E+400"]'),
        (Fraction(4), '["F","4/1"]'),
        (
            [Decimal(1), {Fraction(1, 2): Point(0, 0)}],
            '["l",["D","1"],["d",[["F","1/2"],["n","Point",["x","y"],0,0]]]]',
        ),
    ],
    ids=str,
)
def test_a_value_of_the_standard_library_has_one_text_and_comes_back(value: Any, text: str) -> None:
    assert written(value) == text
    again = codec.decode(text)
    assert written(again) == text
    if not isinstance(value, Moved):
        assert again == value


def test_what_comes_back_is_what_it_was() -> None:
    assert back(deque([1, 2], 5)).maxlen == 5
    assert back(Point(1, 2)).y == 2
    assert type(back(Point(1, 2))) is type(back(Point(3, 4)))
    assert type(back(Counter("a"))) is Counter
    with pytest.raises(KeyError):
        back(defaultdict(int))["missing"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ((n * n for n in range(3)), '["g",0,1,4]'),
        (map(str, [1]), '["g","1"]'),
        (zip("ab", [1, 2], strict=True), '["g",["t","a",1],["t","b",2]]'),
        (reversed([1, 2]), '["g",2,1]'),
        (iter({"a": 1}), '["g","a"]'),
        (iter({"a": 1}.items()), '["g",["t","a",1]]'),
        (itertools.permutations([1, 2]), '["g",["t",1,2],["t",2,1]]'),
        ([iter([])], '["l",["g"]]'),
        ({"a": 1}.keys(), '["o","dict_keys"]'),
    ],
    ids=["generator", "map", "zip", "reversed", "keys", "items", "itertools", "inside", "no iterator"],
)
def test_an_iterator_is_read_to_its_end(value: Any, text: str) -> None:
    assert written(value) == text


def test_an_iterator_comes_back_as_a_generator_that_is_read_once() -> None:
    found = codec.decode('["g",1,["l",2]]')
    assert isinstance(found, types.GeneratorType)
    assert (list(found), list(found)) == ([1, [2]], [])


def test_an_iterator_ends_as_it_did_where_it_raised_or_went_on_too_long() -> None:
    def failing() -> Iterator[int]:
        yield 1
        raise ValueError("no more")

    assert written(failing()) == '["g",1,["e","ValueError","no more"]]'
    assert written(itertools.count()).endswith(
        '9999,["e","TooLarge","more than 10000 items of an iterator were read ahead"]]'
    )
    found = codec.decode('["g",1,["e","ValueError","no more"]]')
    assert next(found) == 1
    with pytest.raises(RuntimeError, match="no more"):
        next(found)


def test_only_the_iterators_of_python_are_read() -> None:
    class Endless(map):  # type: ignore[type-arg]
        def __next__(self) -> Any:
            raise AssertionError("asked")

    assert written(Endless(str, [1])) == '["o","Endless"]'


def test_no_class_has_a_say_in_how_its_values_are_written() -> None:
    def lie(*_: Any) -> Any:
        raise AssertionError("asked")

    methods = dict.fromkeys(["__iter__", "__len__", "__str__", "__eq__", "__hash__", "items", "keys"], lie)
    fraction = {**methods, "numerator": property(lie), "denominator": property(lie)}
    date = {**methods, "isoformat": lie, "year": property(lie)}
    for base, made, members, text in (
        (Counter, ["a"], methods, '["C",["a",1]]'),
        (OrderedDict, [[("a", 1)]], methods, '["O",["a",1]]'),
        (deque, [[1]], {**methods, "maxlen": property(lie)}, '["q",null,1]'),
        (Decimal, ["1.5"], methods, '["D","1.5"]'),
        (Fraction, [1, 3], fraction, '["F","1/3"]'),
        (dt.date, [2024, 1, 1], date, '["date","2024-01-01"]'),
        (dt.timedelta, [1], {"days": property(lie)}, '["delta",1,0,0]'),
    ):
        kind: Any = type("Lying", (base,), members)
        assert written(kind(*made)) == text


@pytest.mark.parametrize("fields", [("x",), ("x", "x"), ("x", "not a name"), ["x", "y"], ("x", "class"), ("x", 1)])
def test_a_tuple_that_only_pretends_to_be_a_named_one_is_a_tuple(fields: Any) -> None:
    kind = type("Fake", (tuple,), {"_fields": fields})
    assert written(kind([1, 2])) == '["t",1,2]'


class Shelf:
    """Objects by number; the tags of what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def write(self, value: object) -> str | None:
        return '["h","Shelf",0]' if value is self else None

    def read(self, tree: Any) -> Any:
        self.asked.append(tree)
        return self


def test_objects_write_and_read_what_is_no_data() -> None:
    shelf = Shelf()
    assert written([shelf, print, 1], shelf) == '["l",["h","Shelf",0],["o","builtin_function_or_method"],1]'
    assert codec.decode('["d",["a",["h","Shelf",0]],["b",["u","len"]]]', shelf) == {"a": shelf, "b": shelf}
    assert shelf.asked == [["h", "Shelf", 0], ["u", "len"]]


@pytest.mark.parametrize("text", ['["h","Stack",3]', '["u","len"]', '["l",["y","lambda x: x"]]', '["o","x"]'])
def test_what_only_objects_can_read_is_no_value_without_them(text: str) -> None:
    with pytest.raises(ValueError, match="objects"):
        codec.decode(text)


def test_the_codec_loads_nothing_that_a_program_does_not_use() -> None:
    code = "import sys; from sandbox import codec; codec.encode([1, object()], 99); print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"decimal", "_decimal", "fractions", "datetime", "_datetime", "numbers"} & set(loaded)
