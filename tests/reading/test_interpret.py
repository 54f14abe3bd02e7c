"""The budgeted evaluator, contracts and annotations."""

from __future__ import annotations

import ast
import time

import pytest

from selfplay.reading.interpret import Interpreter, holds
from selfplay.reading.names import Scope
from selfplay.reading.refusals import NotReadable


def value(text: str, **names: object) -> object:
    return Interpreter().value(ast.parse(text, mode="eval").body, Scope(dict(names)))


@pytest.mark.parametrize(
    "text",
    [
        "1 + 2 * 3 - 4 // 5 ** 2 % 7",
        "[x * y for x in range(3) for y in range(x) if y]",
        "{k: v for k, v in zip('abc', [1, 2, 3])}",
        "{x % 3 for x in range(10)}",
        "sorted([3, 1, 2], key=lambda v: -v)",
        "f'{3.14159:.2f} {\"a\"!r:>5} {1:03d}'",
        "list(range(10000))",
        "'a' * 5000",
        "{**{1: 2}, 'k': [1]}",
        "(lambda a, *b, c=2, **d: (a, b, c, d))(1, 2, c=4, e=5)",
        "max([1, 5, 2]), min(3, 1), max([], default=0), max(['a', 'bb'], key=len)",
        "'-'.join(str(i) for i in range(4)).upper().replace('-', '+').split('+')",
        "[1, 2, 3][::-1][:2]",
        "all(x > 0 for x in [1, 2]) and any([0, 1]) or 5",
        "1 < 2 < 3 != 4",
        "not [] and 5",
        "10 ** 200",
        "sum(range(10)) + sum([0.5, 1])",
        "list(map(int, '123')) + list(filter(None, [0, 1]))",
        "[*range(3), *'ab'], (*[1], 2)",
        "list(enumerate('ab', 1)) + list(reversed([1, 2]))",
        "abs(-3), round(2.567, 2), divmod(7, 2), pow(2, 10), pow(2, 10, 7)",
        "isinstance(3, (int, str)), isinstance(True, int), isinstance('', list)",
        "chr(97), ord('a'), bin(5), hex(255), bool([]), float('1e3'), int('0x1f', 16)",
        "'a' in 'abc', 3 not in [1, 2], 3 in range(10**15)",
        "{'a': 1}.get('b', 2), list({'a': 1}.items()), sorted({'b': 1, 'a': 2})",
        "[1, 2, 1].count(1), 'abc'.find('c'), 'abc'.center(9, '*')",
        "frozenset([1, 2]) | {3}, {1, 2} - {1}, {1, 2} & {2}",
        "1 if 2 > 1 else 1 / 0",
        "bytes([1, 2]), bytearray(3), b'ab'.decode()",
        "-5 // 2, ~5, +3, 7 & 3, 1 << 10",
        "sum([[1], [2]], [])",
    ],
)
def test_an_expression_has_pythons_value(text: str) -> None:
    expected = eval(text)
    assert value(text) == expected
    assert type(value(text)) is type(expected)


@pytest.mark.parametrize(
    "text",
    [
        "10 ** 20000",
        "2 ** 2 ** 2 ** 2 ** 2 ** 2",
        "'a' * 10 ** 9",
        "[[0] * 1000] * 10 ** 6",
        "list(range(10 ** 9))",
        "sum(range(10 ** 9))",
        "'a' in range(10 ** 13)",
        "1 << 10 ** 9",
        "'a'.replace('a', 'b' * 10 ** 5).replace('b', 'c' * 10 ** 5)",
        "','.join(['a' * 1000] * 10000)",
        "'a'.zfill(10 ** 9)",
        "bytes(10 ** 9)",
        "{i * (2 ** 61 - 1) for i in range(9000)}",
        "dict([(i * (2 ** 61 - 1), 1) for i in range(9000)])",
        "[[[x for x in range(1000)] for y in range(1000)] for z in range(1000)]",
        "'1' * 5000 == '1' * 5000 and int('1' * 5000, 16)",
        "1" * 4000,
        "math.factorial(10 ** 9)",
    ],
)
def test_an_expression_that_costs_too_much_is_refused_at_once(text: str) -> None:
    start = time.process_time()
    with pytest.raises(NotReadable) as refusal:
        value(text, math=value_of_math())
    assert refusal.value.reason == "budget"
    assert time.process_time() - start < 2


def value_of_math() -> object:
    from selfplay.reading.methods import MODULES
    from selfplay.reading.names import ModuleNames

    return ModuleNames("math", MODULES["math"])


@pytest.mark.parametrize(
    "text",
    [
        "open('x')",
        "__import__('os')",
        "().__class__.__bases__",
        "[].append.__self__",
        "f'{1:100000}'",
        "'{:1000000}'.format(1)",
        "'%1000000d' % 1",
        "(lambda f: f(f))(lambda f: f(f))",
        "1 / 0",
        "[][0]",
        "int('x')",
        "1 + 'a'",
        "(x := 1)",
        "getattr(1, 'real')",
        "eval('1')",
        "type('A', (), {})",
        "''.__len__()",
        "[print]",
    ],
)
def test_what_is_not_known_is_refused(text: str) -> None:
    with pytest.raises(NotReadable):
        Interpreter().budget.weigh(value(text))


def test_contracts_are_conditions_on_the_arguments() -> None:
    requires = ("len(xs) > 0", "all(x >= 0 for x in xs)", "1 <= k <= len(xs)", "math.gcd(k, 2) == 1")
    assert holds(requires, {"xs": [1, 2, 3], "k": 3})
    assert not holds(requires, {"xs": [1, -2, 3], "k": 3})
    assert not holds(requires, {"xs": [], "k": 3})


def test_a_contract_that_raises_on_the_arguments_does_not_hold() -> None:
    assert not holds(("xs[0] > 0",), {"xs": []})
    assert not holds(("xs > 0",), {"xs": "a"})


def test_a_contract_that_is_no_expression_says_so() -> None:
    with pytest.raises(NotReadable, match="write a condition"):
        holds(("xs = 1",), {"xs": []})
