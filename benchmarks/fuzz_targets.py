"""What is fuzzed: each target draws an input and says what is wrong with what came of it, if anything.

    expressions  tests of a line or two each -> cases that can be kept and compared
    reading      a text of tests -> the same
    extraction   a model's turn -> code and tests
    comparison   a case and the answers of a program -> a verdict
    verdicts     `assert ... f(1) ...` and a result: a pass is a pass under Python too, and the other way round
    equality     two values: equal here exactly where Python says so
    admission    a suite and a reference's results: what is admitted passes on them and refuses something

None of the functions under test documents an exception, so each that arrives is a finding, as is a MemoryError that one
of them swallowed. Python's own answer is left aside where it hangs on the order of a set.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from benchmarks.fuzz_admission import admit_suite, draw_suite
from benchmarks.fuzz_conditions import condition
from benchmarks.fuzz_grammar import Grammar
from benchmarks.fuzz_values import SCALARS, canonical_text, evaluated, has_order, is_plain, similar, value
from selfplay.box.task import Execution
from selfplay.cases.calls import call_of
from selfplay.cases.case import Case
from selfplay.cases.compare import check, equal
from selfplay.cases.values import decode, encode, load
from selfplay.game.extract import extract_code, extract_tests
from selfplay.game.problems import Problem
from selfplay.reading import Reading, read_cases

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


def _draw_expression(random: Random) -> Input:
    return {"tests": Grammar(random).short(), "signature": ""}


def _read(given: Input) -> str | None:
    reading = read_cases(given["tests"], "f", given["signature"])
    return _swallowed(reading) or _unusable(reading)


def _swallowed(reading: Reading) -> str | None:
    details = (refusal.detail for refusal in reading.refused)
    return next((f"a MemoryError became a refusal: {detail}" for detail in details if "MemoryError" in detail), None)


def _unusable(reading: Reading) -> str | None:
    for case in reading.cases:
        for arguments in case.calls:
            call_of(arguments)
        verdict = check(case, *[Execution("returned", "null") for _ in case.calls])
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


VIEWS = ((), (), ("sorted",), ("len",), ("set",), ("list",), ("str",), ("reversed",), ("index", "0"))


def _draw_comparison(random: Random) -> Input:
    grammar = Grammar(random)
    tests = "\n".join(f"assert {condition(random, 'f(1)')}" for _ in range(2))
    if random.random() < 0.3:
        tests = "\n".join(f"assert {grammar.condition()}" for _ in range(2))
    expected = canonical_text(random)
    return {
        "tests": tests,
        "expected": expected,
        "view": random.choice(VIEWS),
        "operator": random.choice(("==", "!=", "<", ">=", "in", "not_in", "approx", "truthy", "stdout")),
        "answers": [canonical_text(random), expected if random.random() < 0.5 else canonical_text(random)],
    }


def _compare(given: Input) -> str | None:
    answers = [Execution("returned", answer) for answer in given["answers"]]
    cases = list(read_cases(given["tests"], "f").cases)
    if given["operator"] == "stdout" or _loads(given["expected"]):
        what = (given["operator"], given["expected"], tuple(given["view"]))
        cases.append(Case("c", "", "[]", *what, (1e-6, 1e-12)))
    for case in cases:
        verdict = check(case, *(answers * 99)[: len(case.calls)])
        if verdict not in ("passed", "failed", "error"):
            return f"the verdict is {verdict} on {case}"
    return None


def _loads(text: str) -> bool:
    try:
        load(text)
    except ValueError:
        return False
    return True


def _draw_verdict(random: Random) -> Input:
    results = [_plain_value(random) for _ in range(2)]
    if random.random() < 0.5:
        results[1] = similar(random, results[0])
    namespace = {"f": lambda number: copy.deepcopy(results[number - 1])}
    return {
        "condition": condition(
            random, random.choice(("f(1)", "f(1)", "f(2)")), lambda text: evaluated(text, namespace)
        ),
        "results": [encode(result) for result in results],
    }


def _plain_value(random: Random) -> Any:
    """Drawn until it says all in its literal; sets are rarer than elsewhere."""
    for _ in range(20):
        drawn = value(random, 2)
        if has_order(encode(drawn)) or random.random() < 0.3:
            return drawn
    return random.choice(SCALARS)


def _judge(given: Input) -> str | None:
    """Compares the verdict on one assertion with Python's own."""
    texts = given["results"]
    reading = read_cases(f"assert {given['condition']}", "f", "def f(x):")
    if reading.refused or not reading.cases:
        return None
    judged = all(_verdict(case, texts) == "passed" for case in reading.cases)
    try:
        python = bool(evaluated(given["condition"], {"f": lambda number: decode(texts[number - 1])}))
    except Exception as error:  # noqa: BLE001 (whatever the assertion raises fails it)
        python, said = False, f"raises {type(error).__name__}: {error!s:.200}"
    else:
        said = str(python)
    if judged == python or (python and _hangs_on_order(given)):
        return None
    return f"the judge says {judged}, Python {said}: {reading.cases}"


def _verdict(case: Case, results: list[str]) -> str:
    return check(case, *(Execution("returned", results[call_of(arguments)[0][0] - 1]) for arguments in case.calls))


def _hangs_on_order(given: Input) -> bool:
    """Whether a set is in play: what depends on its order may be a failure here."""
    return any(word in given["condition"] for word in ("set", "{", "&", "|", "^")) or not all(
        map(has_order, given["results"])
    )


def _draw_pair(random: Random) -> Input:
    a = value(random, 4)
    b = similar(random, a) if random.random() < 0.8 else value(random, 4)
    return {"a": encode(a), "b": encode(b)}


def _equal(given: Input) -> str | None:
    a, b = decode(given["a"]), decode(given["b"])
    told, python = equal(load(given["a"]), load(given["b"])), bool(a == b)
    if told != python:
        return f"{a!r:.500} == {b!r:.500} is {python} in Python, {told} here"
    if not (is_plain(a) and is_plain(b)):
        return None
    reading = read_cases(f"assert f({a!r}) == {b!r}", "f")
    if len(reading.cases) != 1:
        return f"a plain assertion of values gives {reading}"
    (case,) = reading.cases
    if case.arguments != encode([a]):
        return f"the argument {a!r:.500} is read as {case.arguments:.500}"
    verdict = check(case, Execution("returned", given["a"]))
    return None if (verdict == "passed") == python else f"`assert f(x) == {b!r:.500}` is {verdict} on {a!r:.500}"


TARGETS: dict[str, Target] = {
    "expressions": Target(_draw_expression, _read, (3.0, 0.1), (96.0, 2.0), often=4),
    "reading": Target(_draw_reading, _read, (6.0, 0.1), (160.0, 2.0)),
    "extraction": Target(_draw_turn, _extract, (2.0, 0.02), (64.0, 1.0)),
    "comparison": Target(_draw_comparison, _compare, (2.0, 0.005), (96.0, 0.5)),
    "verdicts": Target(_draw_verdict, _judge, (2.0, 0.02), (64.0, 1.0), often=30),
    "equality": Target(_draw_pair, _equal, (2.0, 0.02), (64.0, 1.0), often=20),
    "admission": Target(draw_suite, admit_suite, (4.0, 0.02), (96.0, 1.0), often=6),
}
