"""Inputs that tell wrong programs from right ones: the baseline cases' arguments, varied by type, within the contract.

The variations are where programs go wrong: empty, single, repeated, negative, zero, longer, and one step around every
number that the reference or the description names. Deterministic, so that what is equivalent stays equivalent.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

from selfplay.cases.calls import call_of, folded
from selfplay.cases.case import Case
from selfplay.cases.values import encode
from selfplay.game.problems import Problem
from selfplay.judging.domain import in_domain

PROBES = 40
MAX_TRIES = 2_000


def probe_inputs(problem: Problem, baseline_cases: Sequence[Case], limit: int = PROBES) -> tuple[str, ...]:
    """About `limit` canonical argument texts that fit annotations and contract; for stdin programs their own inputs.

    Calls with keywords that have no place in the signature are not varied.
    """
    if problem.kind == "stdio":
        return tuple(dict.fromkeys(case.arguments for case in baseline_cases))[:limit]
    calls = dict.fromkeys(folded(case.arguments, problem.signature) for case in baseline_cases)
    vectors = [positional for positional, keywords in map(call_of, calls) if not keywords]
    numbers = _numbers(problem)
    streams = [_one_changed(vector, position, numbers) for vector in vectors for position in range(len(vector))]
    streams.append(_all_changed(vectors, numbers))
    found: dict[str, None] = {}
    for tries, vector in enumerate((*vectors, *_interleaved(streams))):
        if len(found) >= limit or tries >= MAX_TRIES:
            break
        if in_domain(problem, vector):
            try:
                found.setdefault(encode(vector))
            except ValueError:  # a variation that is too large to be written
                continue
    return tuple(found)


def _interleaved(streams: Sequence[Iterable[list[Any]]]) -> Iterator[list[Any]]:
    """The streams' items in turn, so that a cut leaves something of each."""
    for row in zip_longest(*streams):
        yield from (vector for vector in row if vector is not None)


def _one_changed(vector: list[Any], position: int, numbers: Sequence[int]) -> Iterator[list[Any]]:
    for value in variations(vector[position], numbers):
        yield [*vector[:position], value, *vector[position + 1 :]]


def _all_changed(vectors: Sequence[list[Any]], numbers: Sequence[int]) -> Iterator[list[Any]]:
    for vector in vectors:
        if len(vector) > 1:
            for row in zip(*(list(variations(value, numbers)) or [value] for value in vector), strict=False):
                yield list(row)


def _numbers(problem: Problem) -> tuple[int, ...]:
    """Every small integer in the reference and the description, and its neighbours, in order of appearance."""
    found = [int(text) for text in re.findall(r"(?<![\w.])-?\d{1,6}(?!\w|\.\d)", problem.description)]
    found += _constants(problem.reference_solution or "")
    return tuple(dict.fromkeys(near for number in found for near in (number, number + 1, number - 1)))


def _constants(source: str) -> list[int]:
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    values = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return [value for value in values if type(value) is int and abs(value) < 1_000_000]


def variations(value: Any, numbers: Sequence[int] = ()) -> Iterator[Any]:
    """Values of the same type near `value`, the telling ones first."""
    vary = _VARY.get(type(value))
    return iter(()) if vary is None else vary(value, numbers)


def _of_int(value: int, numbers: Sequence[int]) -> Iterator[int]:
    yield from (0, 1, -1, *numbers, value + 1, value - 1, -value, 2, 10, value * 2, 7, 100, -10)


def _of_float(value: float, numbers: Sequence[int]) -> Iterator[float]:
    yield from (0.0, 1.0, -1.0, value + 0.5, -value, *map(float, numbers), value * 2, 0.5, 100.0)


def _of_text(value: str, numbers: Sequence[int]) -> Iterator[str]:
    yield from ("", value[:1], value[::-1], value + value, value.upper(), "a", f" {value} ", value[:1] * 3)
    yield from (value[1:], value + value[::-1], value.swapcase(), "aab", "ab ba", value.lower(), "".join(sorted(value)))
    yield from ("A1 b2", value[:1] + value, "-1", "0")


def _of_list(value: list[Any], numbers: Sequence[int]) -> Iterator[list[Any]]:
    first = value[:1] or [1]
    yield from ([], first, value[::-1], value + value, first * 3, _sorted(value), value[1:], value + first)
    others = list(variations(first[0], numbers))
    yield from (_negated(value), _sorted(value)[::-1], value * 3 + first, others[:8], others)
    for other in others:
        yield [other]
        yield [other, *value[1:]]
        yield [*value, other]
        yield [other, other]


def _sorted(value: Iterable[Any]) -> list[Any]:
    try:
        return sorted(value)
    except TypeError:
        return list(value)


def _negated(value: list[Any]) -> list[Any]:
    return [-item if type(item) in (int, float) else item for item in value]


def _of_dict(value: dict[Any, Any], numbers: Sequence[int]) -> Iterator[dict[Any, Any]]:
    pairs = list(value.items())
    yield from ({}, dict(pairs[:1]), dict(pairs[1:]), dict(pairs[::-1]))
    for key, item in pairs[:2]:
        for other in variations(item, numbers):
            yield {**value, key: other}
        for other in variations(key, numbers):
            yield {**value, other: item}


def _through_list(kind: Callable[[list[Any]], Any]) -> Callable[[Any, Sequence[int]], Iterator[Any]]:
    """The variations of a list of the same items; items of sets are sorted first, to be the same in every process."""
    order = list if kind is tuple else _sorted
    return lambda value, numbers: map(kind, _of_list(order(value), numbers))


_VARY: dict[type, Callable[[Any, Sequence[int]], Iterator[Any]]] = {
    bool: lambda value, numbers: iter((not value,)),
    int: _of_int,
    float: _of_float,
    str: _of_text,
    list: _of_list,
    tuple: _through_list(tuple),
    set: _through_list(set),
    frozenset: _through_list(frozenset),
    dict: _of_dict,
}
