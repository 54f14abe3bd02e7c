"""The admission of small suites: what counts must pass on the reference, and must check something.

A reference is what it returned, drawn at random: plain values, which the tests speak about, and now and then what only a
hostile reference would return. What an admitted case accepts is asked of outputs that admission has not drawn.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from benchmarks.fuzz_conditions import condition
from benchmarks.fuzz_values import canonical_text, evaluated, hostile, similar, value
from selfplay.box.task import Execution
from selfplay.cases.calls import call_of
from selfplay.cases.case import Case
from selfplay.cases.compare import check
from selfplay.cases.values import decode, encode
from selfplay.game.problems import Problem
from selfplay.judging.admission import admit, samples_of, screen
from selfplay.reading import read_cases

FRESH = 80  # outputs that an admitted case is tried with, of each of its calls
SIGNATURES = ("def f(x):", "def f(x: int):", "def f(x, y=1):")


def draw_suite(random: Random) -> dict[str, Any]:
    """Tests of `f`, what a reference returned for 1, 2 and 3, and what other programs did."""
    results = [value(random, 2)]
    results += [similar(random, results[0]) if random.random() < 0.6 else value(random, 2) for _ in range(2)]
    namespace = {"f": lambda number: copy.deepcopy(results[number - 1])}

    def test() -> str:
        call = f"f({random.randint(1, 3)})"
        return f"assert {condition(random, call, lambda text: evaluated(text, namespace))}"

    texts = list(map(encode, results))
    if random.random() < 0.1:
        texts[random.randrange(3)] = hostile(random)
    return {
        "tests": "\n".join(test() for _ in range(random.randint(1, 5))),
        "signature": random.choice(SIGNATURES),
        "trusted": random.random() < 0.5,
        "results": texts,
        "others": [canonical_text(random) for _ in range(random.randint(0, 2))],
        "fresh": random.randrange(10**9),
    }


def admit_suite(given: dict[str, Any]) -> str | None:
    """What is wrong with the admission of a suite."""
    signature, results = given["signature"], given["results"]
    problem = Problem("f", "", "f", signature, (), reference_solution="def f(x): ...")
    kept, _ = screen(problem, read_cases(given["tests"], "f", signature), trust_reference=given["trusted"])
    ran = {call: Execution("returned", results[_number(call) % 3]) for case in kept for call in case.calls}
    others = [Execution("returned", text) for text in given["others"]]
    admission = admit(problem, kept, ran, samples=samples_of([*others, *ran.values()]))
    if admission.cases != kept or len(admission.refusals) != len(kept):
        return f"the cases of an admission are not the ones that were given: {admission}"
    for case in admission.admitted:
        executions = [ran[call] for call in case.calls]
        if check(case, *executions) != "passed":
            return f"an admitted case does not pass on the reference: {case}"
        if case.operator not in ("raises", "stdout") and accepts_all(case, executions, Random(given["fresh"])):
            return f"an admitted case accepts whatever is drawn of its type: {case} on {executions}"
    return None


def _number(call: str) -> int:
    positional, _ = call_of(call)
    return positional[0] - 1 if positional and type(positional[0]) is int else 0


def accepts_all(case: Case, executions: Sequence[Execution], random: Random) -> bool:
    """Whether the case passes on all fresh outputs, one call's at a time; no, where none can be drawn."""
    tried = [
        [*executions[:place], Execution("returned", other), *executions[place + 1 :]]
        for place, execution in enumerate(executions)
        if len(execution.value) < 1000
        for other in _others(execution.value, random)
    ]
    return len(tried) >= FRESH // 2 and all(check(case, *outputs) == "passed" for outputs in tried)


def _others(text: str, random: Random) -> Iterator[str]:
    """Different values of the type of one, as texts."""
    try:
        right = decode(text)
    except (TypeError, ValueError):  # hostile: it cannot be rebuilt here
        return
    for _ in range(FRESH):
        other = encode(_like(right, random))
        if other != text:
            yield other


def _like(right: Any, random: Random) -> Any:
    kind = type(right)
    if kind in (list, tuple, set, frozenset) and right:
        items = sorted(right, key=repr)
        return kind(_like(random.choice(items), random) for _ in range(random.randint(0, len(items) + 3)))
    if kind is dict and right:
        return {key: _like(item, random) for key, item in right.items() if random.random() < 0.7}
    draw = _DRAWN.get(kind)
    return draw(random) if draw else right


_LETTERS = "abcxyz ABZ019 .,-_\n\té"
_DRAWN: dict[type, Callable[[Random], Any]] = {
    bool: lambda random: random.random() < 0.5,
    int: lambda random: random.randint(-1, 1) * random.randrange(random.choice((4, 30, 1000, 10**6, 10**20))),
    float: lambda random: random.uniform(-1, 1) * random.choice((1.0, 20.0, 1e3, 1e9, 1e100)),
    str: lambda random: "".join(random.choices(_LETTERS, k=random.choice((0, 1, 2, 3, 8, 30)))),
    list: lambda random: [random.choice((0, 1, -7, 99, "a", None)) for _ in range(random.randrange(6))],
    bytes: lambda random: random.randbytes(random.randrange(6)),
    complex: lambda random: complex(random.uniform(-9, 9), random.uniform(-9, 9)),
}
