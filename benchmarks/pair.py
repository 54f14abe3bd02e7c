"""The judge of this checkout beside that of another one: is a change slower?

    git worktree add ../before COMMIT
    python -m benchmarks.pair ../before --humaneval HumanEval.jsonl.gz [--suites 80] [--rounds 30]

Two processes, one per checkout, judge the same suites in turns, so that a slow minute of the machine meets both. Printed is
the median over rounds of this checkout's time over the other's: of the median suite, and of all suites together.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

_WORKER = """
import statistics, sys, time
from pathlib import Path
from benchmarks.judge import humaneval, ours
from selfplay.box.local import LocalBox
from selfplay.judging.judge import Judge
suites = humaneval(Path(sys.argv[1]))[: int(sys.argv[2])]
run = ours(Judge(LocalBox()))
for suite in suites[:10]:
    run(suite)
print("ready", flush=True)
for _ in sys.stdin:
    taken = []
    for suite in suites:
        start = time.perf_counter()
        run(suite)
        taken.append(1e3 * (time.perf_counter() - start))
    print(statistics.median(taken), sum(taken), flush=True)
"""


class Checkout:
    """A process that judges all suites once for every line that it is sent."""

    def __init__(self, folder: Path, problems: Path, suites: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _WORKER, str(problems.resolve()), str(suites)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder.resolve()), "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._line()

    def _line(self) -> str:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the judge of {self.process.args} ended: does that checkout hold benchmarks/judge.py?")
        return line

    def once(self) -> tuple[float, float]:
        """Milliseconds of the median suite and of all."""
        assert self.process.stdin
        self.process.stdin.write("once\n")
        self.process.stdin.flush()
        median, total = map(float, self._line().split())
        return median, total


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pair", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("other", type=Path, help="folder of the other checkout")
    parser.add_argument("--humaneval", type=Path, required=True, metavar="FILE")
    parser.add_argument("--suites", type=int, default=80)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    here, other = (Checkout(path, options.humaneval, options.suites) for path in (Path.cwd(), options.other))
    rounds: list[tuple[tuple[float, float], tuple[float, float]]] = []
    for number in range(options.rounds):
        first, second = (here, other) if number % 2 else (other, here)
        results = {first: first.once(), second: second.once()}
        rounds.append((results[here], results[other]))
    for name, place in (("median suite", 0), ("all suites", 1)):
        mine, theirs = (statistics.median(each[side][place] for each in rounds) for side in (0, 1))
        ratio = statistics.median(own[place] / another[place] for own, another in rounds)
        print(f"{name:14} here {mine:8.2f} ms   there {theirs:8.2f} ms   here / there {ratio:.3f}")


if __name__ == "__main__":
    main()
