"""Does it learn, and does the adversary pay? Runs of several arms over several seeds, and the table that the docs carry.

    python -m benchmarks.evidence --arms none frozen trained --seeds 0 1 2 --eval-split test --output runs/evidence
    python -m benchmarks.evidence --table runs/evidence

Arms differ in one setting and share seeds, problem sequence and number of generator updates. An arm is `name` (one of
the table below) or `name:key=value,key=value` in the configuration's own keys. Runs that are already there are kept.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ARMS: dict[str, tuple[str, ...]] = {
    "trained": (),
    "frozen": ("--adversary", "frozen"),
    "none": ("--adversary", "none"),
    "only": ("--trained-stages", "only"),
    "progressive": ("--rewards", "progressive"),
    "shifted": ("--rewards", "shifted"),
    "adversarial": ("--rewards", "adversarial"),
}
FIGURES = (
    *("code_correct", "code_greedy", "pass_at_4", "test_validity", "mutation_score", "mutation_score_kept"),
    *("fixed_kills", "distinct", "distinct_all"),
)
TESTS = FIGURES[3:]


def flags(arm: str) -> tuple[str, ...]:
    """The command-line flags of an arm."""
    name, _, settings = arm.partition(":")
    pairs = [setting.split("=", 1) for setting in settings.split(",") if setting]
    return (*ARMS.get(name, ()), *(part for key, value in pairs for part in (f"--{key.replace('_', '-')}", value)))


def run(arm: str, seed: int, split: str, folder: Path, extra: Sequence[str]) -> None:
    output = folder / f"{arm.replace(':', '-').replace(',', '-')}.{seed}"
    if output.exists():
        return
    command = [sys.executable, "-m", "selfplay.train", "--processes", "1", "--sample-every", "0", "--seed", str(seed)]
    command += ["--eval-split", split, "--output-dir", str(output), *flags(arm), *extra]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{output.name}.log").open("w") as log:
        done = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, env=os.environ | {"OMP_NUM_THREADS": "1"})
    print(f"{output}: {'done' if done.returncode == 0 else f'exit {done.returncode}, see {output}.log'}", flush=True)


def evaluations(folder: Path) -> dict[tuple[str, int], dict[str, dict[str, Any]]]:
    """(arm, seed) -> `before`, `stage-1` ... `after` -> record, of all finished runs."""
    found: dict[tuple[str, int], dict[str, dict[str, Any]]] = {}
    for path in sorted(folder.glob("*.*/metrics.jsonl")):
        arm, seed = path.parent.name.rsplit(".", 1)
        records = [record for record in map(json.loads, path.open()) if record["kind"] == "evaluation"]
        if records and records[-1]["when"] == "after":
            found[arm, int(seed)] = {record["when"]: record for record in records}
    return found


def table(folder: Path) -> Iterator[str]:
    """Markdown: every run at its last step, the mean of each arm, and the paired differences between arms."""
    found = evaluations(folder)
    yield f"| arm | seed | {' | '.join(FIGURES)} |"
    yield f"|---|---|{'---|' * len(FIGURES)}"
    starts = [record["before"] for record in found.values()]
    if starts:
        yield _row("warm start", "", starts[0], FIGURES)
    by_arm: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for (arm, seed), records in sorted(found.items()):
        shown = TESTS if arm.startswith("none") else ()
        yield _row(arm, str(seed), records["after"], [f for f in FIGURES if f not in shown])
        by_arm[arm].append(records["after"])
    for arm, records in by_arm.items():
        yield _mean_row(arm, records)
    yield ""
    yield from _changes(found)
    yield ""
    yield from _differences(by_arm)


def _row(arm: str, seed: str, record: dict[str, Any], shown: Sequence[str]) -> str:
    cells = [_cell(record.get(figure)) if figure in shown else "" for figure in FIGURES]
    return f"| {arm} | {seed} | {' | '.join(cells)} |"


def _cell(estimate: dict[str, float | None] | None) -> str:
    if not estimate or estimate["value"] is None:
        return ""
    return f"{estimate['value']:.3f} ({estimate['low']:.2f}-{estimate['high']:.2f})"


def _mean_row(arm: str, records: Sequence[dict[str, Any]]) -> str:
    cells = []
    for figure in FIGURES:
        values = [record[figure]["value"] for record in records if record[figure]["value"] is not None]
        hidden = arm.startswith("none") and figure in TESTS
        cells.append(f"**{statistics.mean(values):.3f}**" if values and not hidden else "")
    return f"| **{arm}, mean** | {len(records)} seeds | {' | '.join(cells)} |"


def _changes(found: dict[tuple[str, int], dict[str, dict[str, Any]]]) -> Iterator[str]:
    """Last step against the same run's start: mean, range over the seeds, and what that is of the start."""
    yield f"| last step minus start | {' | '.join(FIGURES)} |"
    yield f"|---|{'---|' * len(FIGURES)}"
    for arm in sorted({arm for arm, _ in found}):
        runs = [records for (name, _), records in found.items() if name == arm]
        moved = [f for f in FIGURES if f not in TESTS or any(r["after"][f] != r["before"][f] for r in runs)]
        yield f"| {arm} | {' | '.join(_change(runs, f) if f in moved else '' for f in FIGURES)} |"


def _change(runs: Sequence[dict[str, dict[str, Any]]], figure: str) -> str:
    starts = [records["before"][figure]["value"] for records in runs]
    gains = [records["after"][figure]["value"] - start for records, start in zip(runs, starts, strict=True)]
    gain = statistics.mean(gains)
    return f"{gain:+.3f} ({min(gains):+.3f} to {max(gains):+.3f}), {gain / statistics.mean(starts):+.0%}"


def _differences(by_arm: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Greedy and sampled code, arm against arm: per problem the mean over seeds, bootstrap over problems."""
    from selfplay.match.intervals import paired_difference

    names = sorted(by_arm)
    for figure, of in (("greedy", 1), ("correct", 4)):
        scores = {name: _by_problem(records, figure, of) for name, records in by_arm.items()}
        for i, first in enumerate(names):
            for second in names[i + 1 :]:
                problems = sorted(scores[first].keys() & scores[second].keys())
                gap = paired_difference([scores[first][p] for p in problems], [scores[second][p] for p in problems])
                yield f"* {figure}: {second} minus {first}: {gap.value:+.3f} ({gap.low:+.3f} to {gap.high:+.3f})"


def _by_problem(records: Sequence[dict[str, Any]], figure: str, of: int) -> dict[str, float]:
    return {
        problem: statistics.mean(record["by_problem"][problem][figure] / of for record in records)
        for problem in records[0]["by_problem"]
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evidence", description=__doc__)
    parser.add_argument("--arms", nargs="+", default=["none", "frozen", "trained"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--eval-split", default="dev")
    parser.add_argument("--output", type=Path, default=Path("runs/evidence"))
    parser.add_argument("--jobs", type=int, default=2, help="runs at once; one core each")
    parser.add_argument("--table", type=Path, help="print the table of an output folder and do nothing else")
    arguments, extra = parser.parse_known_args()
    if not arguments.table:
        with ThreadPoolExecutor(arguments.jobs) as pool:
            jobs = [
                pool.submit(run, arm, seed, arguments.eval_split, arguments.output, extra)
                for seed in arguments.seeds
                for arm in arguments.arms
            ]
            for job in jobs:
                job.result()
    print("\n".join(table(arguments.table or arguments.output)))


if __name__ == "__main__":
    main()
