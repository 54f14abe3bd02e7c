"""Inputs that tell wrong programs from right ones: the baseline cases' arguments, varied by type, within the contract.

The variations are where programs go wrong: empty, single, repeated, negative, zero, longer, and one step around every
number that the reference or the description names. Deterministic, so that what is equivalent stays equivalent.

First come candidates, which fit the annotations and cost no execution; then the contracts of all problems run on them
in one call of the box.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from typing import Any

from selfplay.box.task import Execution, Limits, Task
from selfplay.cases.calls import call_of, normal_call
from selfplay.cases.case import Case
from selfplay.cases.values import encode
from selfplay.game.problems import Problem
from selfplay.judging.domain import conditions, contract_holds, domain_task, fits_annotations

PROBES = 40
MAX_TRIES = 2_000
SPARE = 6  # candidates for each probe, where a contract may refuse some
MAX_BYTES = 4 << 20  # of the candidates beyond the limit

Run = Callable[[Sequence[Task]], Sequence[tuple[Execution, ...]]]


def probe_inputs(
    problems: Mapping[Problem, Sequence[Case]], limit: int, run: Run, limits: Limits
) -> dict[Problem, tuple[str, ...]]:
    """For each problem, given with its baseline cases, at most `limit` canonical argument texts that its annotations and
    contract allow; for stdin programs their own inputs. Problems on whose contract the box failed are missing."""
    found = {problem: candidates(problem, cases, limit) for problem, cases in problems.items()}
    return within(found, limit, run, limits)


def candidates(problem: Problem, baseline_cases: Sequence[Case], limit: int) -> tuple[str, ...]:
    """Inputs that fit the annotations: at most `limit`, and more where a contract will refuse some.

    Calls with keywords that have no place in the signature are not varied.
    """
    if problem.kind == "stdio":
        return tuple(dict.fromkeys(case.arguments for case in baseline_cases))[:limit]
    most = SPARE * limit if conditions(problem) else limit
    size = 0
    found: dict[str, None] = {}
    for vector in islice(_vectors(problem, baseline_cases), MAX_TRIES):
        if len(found) >= limit and (len(found) >= most or size > MAX_BYTES):
            break
        if fits_annotations(problem.signature, vector):
            try:
                text = encode(vector)
            except ValueError:  # a variation that is too large to be written
                continue
            if text not in found:
                found[text] = None
                size += len(text)
    return tuple(found)


def within(
    inputs: Mapping[Problem, Sequence[str]], limit: int, run: Run, limits: Limits
) -> dict[Problem, tuple[str, ...]]:
    """The first `limit` of each problem's inputs that its contract allows, without those on which the box failed."""
    tasks = {problem: domain_task(problem, own, limits) for problem, own in inputs.items()}
    ran = iter(run([task for task in tasks.values() if task is not None]))
    found: dict[Problem, tuple[str, ...]] = {}
    for problem, task in tasks.items():
        if task is None:
            found[problem] = tuple(inputs[problem][:limit])
            continue
        holds = dict(zip(task.inputs, map(contract_holds, next(ran)), strict=True))
        if None not in holds.values():
            found[problem] = tuple(call for call in holds if holds[call])[:limit]
    return found


def _vectors(problem: Problem, baseline_cases: Sequence[Case]) -> Iterator[list[Any]]:
    """The baseline cases' arguments, then their variations."""
    calls = dict.fromkeys(normal_call(case.arguments, problem.signature) for case in baseline_cases)
    vectors = [positional for positional, keywords in map(call_of, calls) if not keywords]
    numbers = _numbers(problem)
    streams = [_one_changed(vector, position, numbers) for vector in vectors for position in range(len(vector))]
    yield from vectors
    yield from _interleaved([*streams, _all_changed(vectors, numbers)])


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
