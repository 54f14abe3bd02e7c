"""The judge of this checkout beside that of another one: CPU seconds of each with everything that it starts.

    git worktree add ../before COMMIT
    python -m benchmarks.pair ../before [--humaneval FILE] [--runs 10] [--only functions]

A process for each checkout judges the same suites in turns, so that a slow minute of the machine meets both, by what the
command line uses: reading, admission beside the reference, programs, verdicts. What is printed are the medians of CPU seconds
and of the runs' ratios, how many cases each counts, and how many verdicts pass.

    literal      shipped problems: 12 asserts of one call each, 8 programs (the reference and mutants)
    functions    the same as test functions that name the result, so that they run
    humaneval    HumanEval's own tests, each with the reference and three mutants of it

Left out are mutants that never end: they cost their time limit in every checkout.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from benchmarks.honest_suites import real_sets
from selfplay.cases.read import read_cases
from selfplay.game.problems import Problem, load_problems
from selfplay.mutation.mutants import mutants

TESTS, PROGRAMS, PROBLEMS = 12, 8, 20
MUTANTS = 3  # of a HumanEval problem
SECONDS = 1  # of CPU after which a mutant counts as one that never ends
Suite = tuple[str, str, str, list[str]]  # entry point, reference, text of the tests, programs

_WORKER = """
import json, os, sys
from pathlib import Path
from selfplay.box.local import LocalBox
from selfplay.judging.judge import Judge
from selfplay.judging.judgement import BadInput, function_question, judgement

def spent(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") + sum(map(spent, children))

judge = Judge(LocalBox())
for number, line in enumerate(sys.stdin):
    before, cases, passed = spent(os.getpid()), 0, 0
    for entry, reference, tests, programs in json.loads(Path(line.strip()).read_text()):
        named = [(str(place), source) for place, source in enumerate(programs)]
        question = function_question(judge, f"{tests}\\n# {number}\\n", entry, reference)  # nobody has seen it before
        try:
            judged = judgement(judge, question, named).programs
        except BadInput:
            continue
        cases += len(judged[0].verdicts)
        passed += sum(one.verdicts.count("passed") for one in judged)
    print(spent(os.getpid()) - before, cases, passed, flush=True)
judge.close()
"""


class Checkout:
    """A process that judges the suites of a file for every line that it is sent."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _WORKER],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder.resolve()), "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def judge(self, file: Path) -> tuple[float, int, int]:
        """CPU seconds, cases that count, verdicts that pass."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{file}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("a judge ended: what it said stands above")
        seconds, cases, passed = line.split()
        return float(seconds), int(cases), int(passed)


def shipped(as_functions: bool) -> Iterator[Suite]:
    """The problems that have enough tests of the plain kind and enough mutants."""
    for problem in load_problems("handwritten"):
        tests = [test for test in _asserts(problem) if test.count(" == ") == 1][:TESTS]
        programs = _programs(problem.reference_solution or "", problem.entry_point, "\n".join(tests), PROGRAMS)
        is_literal = not read_cases("\n".join(tests), problem.entry_point).rest
        if is_literal and len(tests) == TESTS and len(programs) == PROGRAMS:
            lines = map(_function, range(TESTS), tests) if as_functions else tests
            yield problem.entry_point, programs[0], "\n".join(lines), programs


def _programs(reference: str, entry_point: str, tests: str, count: int) -> list[str]:
    """The reference and mutants of it that come to an end before each of the tests."""
    wrong = (mutant.source for mutant in mutants(reference, entry_point, "paid", limit=4 * count))
    return [reference, *islice((source for source in wrong if _ends(source, tests)), count - 1)]


def _ends(program: str, tests: str) -> bool:
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        with contextlib.suppress(BaseException), contextlib.redirect_stdout(None):
            space: dict[str, object] = {}
            exec(program, space)
            for line in tests.splitlines() if tests.startswith("assert ") else [tests]:
                with contextlib.suppress(Exception):
                    exec(line, space)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _asserts(problem: Problem) -> list[str]:
    tests = [str(test) for test in (*problem.baseline_tests, *problem.hidden_tests)]
    return [test for test in tests if test.startswith(f"assert {problem.entry_point}(") and "\n" not in test]


def _function(number: int, test: str) -> str:
    call, _, expected = test.removeprefix("assert ").partition(" == ")
    return f"def test_{number}():\n    result = {call}\n    assert result == {expected}\n"


def scenarios(humaneval: Path | None) -> dict[str, list[Suite]]:
    """The suites of each scenario."""
    found = {name: list(islice(shipped(name == "functions"), PROBLEMS)) for name in ("literal", "functions")}
    if humaneval:
        suites = real_sets(humaneval)["HumanEval"]
        found["humaneval"] = [
            (
                one.entry_point,
                one.reference,
                one.tests,
                _programs(one.reference, one.entry_point, one.tests, MUTANTS + 1),
            )
            for one in suites
        ]
    return found


def compared(name: str, checkouts: Sequence[Checkout], suites: Sequence[Suite], runs: int, folder: Path) -> str:
    """A row of the table: here, there, and how they compare."""
    file, first = folder / f"{name}.json", folder / f"{name}.first.json"
    file.write_text(json.dumps(suites))
    first.write_text(json.dumps(suites[:1]))
    for checkout in checkouts:
        checkout.judge(first)  # starts whatever it needs
    rows: list[list[float]] = []
    counts: list[tuple[int, int]] = []
    for number in range(runs):
        turns = list(enumerate(checkouts))
        told = {place: checkout.judge(file) for place, checkout in (turns if number % 2 else turns[::-1])}
        rows.append([told[place][0] for place in range(len(checkouts))])
        counts = [told[place][1:] for place in range(len(checkouts))]
    here, there = (statistics.median(row[place] for row in rows) for place in (0, 1))
    ratio = statistics.median(row[0] / row[1] for row in rows)
    said = " / ".join(f"{cases} cases, {passed} passed" for cases, passed in counts)
    return f"{name:12}{len(suites):7}{here:12.2f}{there:12.2f}{ratio:10.2f}   {said}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pair", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("other", type=Path, help="folder of the other checkout")
    parser.add_argument("--humaneval", type=Path, metavar="FOLDER", help="a folder that holds humaneval/")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--only", nargs="+", default=["literal", "functions", "humaneval"])
    options = parser.parse_args()
    checkouts = Checkout(Path.cwd()), Checkout(options.other)
    print(f"load {os.getloadavg()[0]:.1f}, medians of {options.runs} runs in turns, CPU seconds of all processes")
    print(f"{'':12}{'suites':>7}{'here':>12}{'there':>12}{'ratio':>10}   here / there")
    with tempfile.TemporaryDirectory() as folder:
        for name, suites in scenarios(options.humaneval).items():
            if name in options.only:
                print(compared(name, checkouts, suites, options.runs, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
