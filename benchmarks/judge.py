"""Suites per second: the judge beside pytest per suite, a fresh interpreter per suite, and EvalPlus's own checker.

    python -m benchmarks.judge [--humaneval FILE] [--suites 164] [--seconds 20] [--workers 1 2] [--flat 50000]

A suite is one HumanEval reference with its tests; without the file, the problems that come with the package. All
systems run the same suites, in rounds, so that a slow minute of the machine meets each of them. Admission (reading the
tests) is timed by itself. EvalPlus is measured where it is installed. `--flat N` adds a long run and reports memory.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selfplay.box.local import LocalBox
from selfplay.box.task import Limits, Task
from selfplay.cases.case import Case
from selfplay.cases.read import problem_cases, read_cases
from selfplay.game.problems import load_problems
from selfplay.judging.judge import Job, Judge

CASE_COUNTS = (1, 10, 30, 60)
ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Suite:
    """A program, its tests as text (a module that asserts when it is run) and as cases."""

    name: str
    program: str
    tests: str
    entry_point: str
    cases: tuple[Case, ...]


Run = Callable[[Suite], object]


def humaneval(path: Path) -> list[Suite]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    return [_humaneval_suite(json.loads(line)) for line in text.split("\n") if line.strip()]


def _humaneval_suite(row: dict[str, str]) -> Suite:
    program, entry = row["prompt"] + row["canonical_solution"], row["entry_point"]
    tests = f"{row['test']}\ncheck({entry})\n"
    return Suite(row["task_id"], program, tests, entry, read_cases(tests, entry).cases)


def shipped() -> list[Suite]:
    problems = [problem for problem in load_problems("handwritten") if problem.reference_solution]
    return [
        Suite(
            problem.id,
            problem.reference_solution or "",
            "\n".join(str(test) for test in (*problem.baseline_tests, *problem.hidden_tests)),
            problem.entry_point,
            (*problem_cases(problem, "baseline").cases, *problem_cases(problem, "hidden").cases),
        )
        for problem in problems
    ]


def timed(run: Run, suites: Sequence[Suite], seconds: float, taken: list[float]) -> None:
    """Adds the milliseconds of each run to `taken`, the suites in turn, until the time is up."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        run(suites[len(taken) % len(suites)])
        taken.append((time.perf_counter() - start) * 1e3)


def report(name: str, taken: Sequence[float], baseline: Sequence[float]) -> None:
    ordered = sorted(taken)
    median, p99 = statistics.median(taken), ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    slower = median / statistics.median(baseline)
    print(f"{name:34} {median:9.2f} {p99:9.2f} {1e3 * len(taken) / sum(taken):10.1f} {len(taken):8} {slower:8.2f}")


def slowest(taken: Sequence[float], suites: Sequence[Suite]) -> str:
    """The three suites with the largest medians, and what share of a round they are."""
    medians = {suite.name: statistics.median(own) for i, suite in enumerate(suites) if (own := taken[i :: len(suites)])}
    top = sorted(medians, key=medians.__getitem__, reverse=True)[:3]
    share = sum(medians[name] for name in top) / sum(medians.values())
    return f"{', '.join(f'{name} {medians[name]:.0f}' for name in top)} ({share:.0%} of a round)"


def ours(judge: Judge) -> Run:
    return lambda suite: judge.matrix(suite.entry_point, [suite.program], suite.cases)


def fresh_interpreter(folder: Path, *flags: str) -> Run:
    file = folder / "suite.py"

    def run(suite: Suite) -> object:
        file.write_text(f"{suite.program}\n{suite.tests}", "utf-8")
        return subprocess.run([sys.executable, *flags, str(file)], capture_output=True, check=False)

    return run


def pytest_per_suite(folder: Path) -> Run:
    file = folder / "test_suite.py"

    def run(suite: Suite) -> object:
        body = "\n".join(f"    {line}" for line in suite.tests.splitlines())
        file.write_text(f"{suite.program}\ndef test_suite():\n{body}\n", "utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)]
        return subprocess.run(command, capture_output=True, check=False, cwd=folder)

    return run


def evalplus(suites: Sequence[Suite]) -> Callable[[Suite], bool] | None:
    """EvalPlus's checker on the same calls, made ready beforehand; None where it is not installed."""
    try:
        from evalplus.eval import untrusted_check  # pyright: ignore[reportMissingImports]
    except ImportError:
        return None
    from selfplay.cases.values import decode

    ready: dict[str, tuple[list[Any], list[Any]]] = {}
    for suite in suites:
        cases = [case for case in suite.cases if case.operator == "=="]
        ready[suite.name] = [list(decode(c.arguments)) for c in cases], [decode(c.expected) for c in cases]

    def run(suite: Suite) -> bool:
        inputs, expected = ready[suite.name]
        seconds = [1.0] * len(inputs)  # the reference's own times, of which its limits are multiples
        said = untrusted_check("humaneval", suite.program, inputs, suite.entry_point, expected, 0, seconds)
        return said[0] == "pass"

    return run


def many_tasks(box: LocalBox, suites: Sequence[Suite], seconds: float) -> float:
    """Suites per second when the box gets many at once."""
    tasks = [Task(suite.program, suite.entry_point, tuple(case.arguments for case in suite.cases)) for suite in suites]
    start, done = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        box.run(tasks)
        done += len(tasks)
    return done / (time.perf_counter() - start)


def by_count(box: LocalBox, seconds: float) -> None:
    print("\ncases in one suite, ms per suite")
    medians = {}
    for count in CASE_COUNTS:
        task = Task("def add(a, b): return a + b", "add", tuple(f'["t",{n},2]' for n in range(count)))
        suite = Suite("add", "", "", "add", ())
        taken: list[float] = []
        timed(lambda _, task=task: box.run([task]), [suite], seconds, taken)
        medians[count] = statistics.median(taken)
    print("  ".join(f"{count}: {ms:.2f}" for count, ms in medians.items()), end="  ")
    print(f"(60 cost {medians[60] / medians[1]:.2f} x 1)")


def resident_mib(pid: int) -> float:
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def flat(box: LocalBox, suites: Sequence[Suite], count: int) -> None:
    """Memory of host and zygotes before and after `count` suites."""
    tasks = [Task(suite.program, suite.entry_point, tuple(case.arguments for case in suite.cases)) for suite in suites]
    box.run(tasks)
    pids = [os.getpid(), *box.pids]
    before = [resident_mib(pid) for pid in pids]
    done = 0
    while done < count:
        box.run(tasks)
        done += len(tasks)
    after = [resident_mib(pid) for pid in pids]
    print(f"\nmemory over {done} suites, MiB (host, zygotes): {before} -> {after}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--humaneval", type=Path, help="HumanEval.jsonl or .jsonl.gz (default: the shipped problems)")
    parser.add_argument("--suites", type=int, default=164, help="how many suites to take")
    parser.add_argument("--seconds", type=float, default=20.0, help="time for each system")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--flat", type=int, default=0, help="run this many suites and compare memory")
    parser.add_argument("--host-mib", type=int, default=0, help="hold this much memory meanwhile, as a trainer does")
    options = parser.parse_args()
    ballast = b"1" * (options.host_mib << 20)
    suites = (humaneval(options.humaneval) if options.humaneval else shipped())[: options.suites]
    cases = sum(len(suite.cases) for suite in suites)
    print(f"{len(suites)} suites, {cases / len(suites):.1f} cases each, load {os.getloadavg()[0]:.1f}", end="")
    print(f", {len(ballast) >> 20} MiB held by the host" if ballast else "")
    print(f"{'one suite at a time':34} {'median ms':>9} {'p99 ms':>9} {'suites/s':>10} {'runs':>8} {'x judge':>8}")
    compare(suites, options.seconds)
    rates = {}
    print("\nmany suites at once, suites per second")
    for workers in options.workers:
        with LocalBox(workers) as box:
            rates[workers] = many_tasks(box, suites, options.seconds)
            print(f"  {workers} workers: {rates[workers]:.0f} ({rates[workers] / rates[options.workers[0]]:.2f} x)")
            if workers == options.workers[-1] and options.flat:
                flat(box, suites, options.flat)


def compare(suites: Sequence[Suite], seconds: float) -> None:
    with LocalBox() as box, tempfile.TemporaryDirectory() as name:
        judge, folder, checker = Judge(box, Limits(), recheck=0.0), Path(name), evalplus(suites)
        systems: dict[str, Run] = {f"judge ({box.tier})": ours(judge)}
        if checker:
            systems["evalplus"] = checker
        systems["python -I -S per suite"] = fresh_interpreter(folder, "-I", "-S")
        systems["python per suite"] = fresh_interpreter(folder)
        systems["python -m pytest per suite"] = pytest_per_suite(folder)
        taken: dict[str, list[float]] = {system: [] for system in systems}
        for _ in range(ROUNDS):
            for system, run in systems.items():
                timed(run, suites, seconds / ROUNDS, taken[system])
        for system in systems:
            report(system, taken[system], next(iter(taken.values())))
        print(f"slowest in the judge, ms: {slowest(next(iter(taken.values())), suites)}")
        print(f"reading the tests: {reading_ms(suites):.2f} ms per suite")
        print(f"references that fail a test: judge {failing(judge, suites)}", end="")
        print(f", evalplus {sum(not checker(suite) for suite in suites)}" if checker else "")
        by_count(box, seconds / 4)


def failing(judge: Judge, suites: Sequence[Suite]) -> int:
    matrices = judge.matrices([Job(suite.entry_point, (suite.program,), suite.cases) for suite in suites])
    return sum(any(verdict != "passed" for verdict in matrix.verdicts[0]) for matrix in matrices)


def reading_ms(suites: Sequence[Suite]) -> float:
    start = time.perf_counter()
    for suite in suites:
        read_cases(suite.tests, suite.entry_point)
    return (time.perf_counter() - start) / len(suites) * 1e3


if __name__ == "__main__":
    main()
