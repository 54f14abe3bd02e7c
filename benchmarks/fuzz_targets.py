"""What is fuzzed: each target draws an input and says what is wrong with what came of it, if anything.

    reading      a text of tests -> literal cases that can be kept and compared, and the rest
    extraction   a model's turn -> code and tests
    comparison   a case and the answers of a program -> a verdict
    near         a value -> nine near outcomes, none like it, the same for the same seed

None of the functions under test documents an exception, so each that arrives is a finding, as is a MemoryError that one
of them swallowed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from benchmarks.fuzz_grammar import Grammar
from benchmarks.fuzz_values import canonical_text, value
from selfplay.box.task import Execution
from selfplay.cases.alike import alike
from selfplay.cases.calls import call_of
from selfplay.cases.case import Case
from selfplay.cases.check import check
from selfplay.cases.near import NEAR, near
from selfplay.cases.outcome import Outcome, is_like
from selfplay.cases.read import Reading, read_cases
from selfplay.cases.values import encode, load
from selfplay.game.extract import extract_code, extract_tests
from selfplay.game.problems import Problem

Input = dict[str, Any]  # plain JSON

SIGNATURES = ("", "def f(x):", "def f(x, y=1):", "def f(*args, **kw):", "def f(a, b, *, c=2) -> int:")


@dataclass(frozen=True, slots=True)
class Target:
    """`draw` makes an input, `run` tries it and returns a complaint.

    `seconds` of CPU time and `mebibytes` that it may take: a base, and per KiB. `often`: inputs in a round of all targets.
    """

    draw: Callable[[Random], Input]
    run: Callable[[Input], str | None]
    seconds: tuple[float, float]
    mebibytes: tuple[float, float]
    often: int = 1

    def bounds(self, size: int) -> tuple[float, float]:
        """CPU seconds and MiB that an input of `size` characters may take."""
        (s, per_s), (m, per_m) = self.seconds, self.mebibytes
        return s + per_s * size / 1024, m + per_m * size / 1024


def _draw_reading(random: Random) -> Input:
    return {"tests": Grammar(random).file(), "signature": random.choice(SIGNATURES)}


def _read(given: Input) -> str | None:
    reading = read_cases(given["tests"], "f", given["signature"])
    return _swallowed(reading) or _unusable(reading)


def _swallowed(reading: Reading) -> str | None:
    details = (refusal.detail for refusal in reading.refused)
    return next((f"a MemoryError became a refusal: {detail}" for detail in details if "MemoryError" in detail), None)


def _unusable(reading: Reading) -> str | None:
    for case in reading.cases:
        call_of(case.arguments)
        verdict = check(case, Execution("returned", "null"))
        if verdict not in ("passed", "failed", "error"):
            return f"a case whose verdict on None is {verdict}: {case}"
    return None


_FUNCTION = Problem(id="f", description="", entry_point="f", signature="def f(x):", baseline_tests=())
_PROGRAM = Problem(id="p", description="", kind="stdio", entry_point="", signature="", baseline_tests=())


def _draw_turn(random: Random) -> Input:
    return {"turn": Grammar(random).turn(), "stdio": random.random() < 0.3}


def _extract(given: Input) -> str | None:
    problem = _PROGRAM if given["stdio"] else _FUNCTION
    extract_code(given["turn"], problem)
    extract_tests(given["turn"], problem)
    return None


def _draw_comparison(random: Random) -> Input:
    expected = canonical_text(random)
    return {
        "expected": expected,
        "operator": random.choice(("==", "!=", "<", ">=", "in", "not_in", "approx", "truthy", "stdout")),
        "answers": [canonical_text(random), expected if random.random() < 0.5 else canonical_text(random)],
    }


def _compare(given: Input) -> str | None:
    if given["operator"] != "stdout" and not _loads(given["expected"]):
        return None
    case = Case("c", "", "[]", given["operator"], given["expected"], (1e-6, 1e-12))
    for answer in given["answers"]:
        verdict = check(case, Execution("returned", answer))
        if verdict not in ("passed", "failed", "error"):
            return f"the verdict is {verdict} on {case}"
        if _loads(answer) and _loads(given["expected"]):
            alike(load(answer), load(given["expected"]))
    return None


def _draw_outcome(random: Random) -> Input:
    return {"value": encode(value(random, 4)), "seed": str(random.random())}


def _change(given: Input) -> str | None:
    right = Outcome(load(given["value"]))
    others = near(right, given["seed"])
    if len(others) != NEAR or others != near(right, given["seed"]):
        return "not nine near outcomes, or not the same twice"
    return next((f"a near outcome is like the right one: {one}" for one in others if is_like(one, right)), None)


def _loads(text: str) -> bool:
    try:
        load(text)
    except ValueError:
        return False
    return True


TARGETS: dict[str, Target] = {
    "reading": Target(_draw_reading, _read, (6.0, 0.1), (160.0, 2.0), often=2),
    "extraction": Target(_draw_turn, _extract, (2.0, 0.02), (64.0, 1.0)),
    "comparison": Target(_draw_comparison, _compare, (2.0, 0.005), (96.0, 0.5)),
    "near": Target(_draw_outcome, _change, (2.0, 0.05), (64.0, 1.0), often=10),
}
