"""Does it learn, and does the adversary pay? Runs of several arms over several seeds, and the tables that the docs carry.

    python -m benchmarks.evidence --arms trained by-turns joint frozen golden --seeds 11 12 13 14 15 16 --eval-split test
    python -m benchmarks.evidence --table runs/evidence

Arms share seeds and problem sequence. An arm is `name` (one of the table below) or `name:key=value,key=value` in the
configuration's own keys. Runs that are already there are kept.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from selfplay.run.progress import NAMES

ARMS: dict[str, tuple[str, ...]] = {
    "trained": (),  # 40 steps, and both roles learn in each
    "by-turns": ("--schedule", "full"),  # 40 steps, 20 for each role
    "joint": ("--schedule", "joint"),  # 20 steps, and both roles learn in each: as many updates as `by-turns`
    # 40 steps, all the generator's
    "frozen": ("--adversary", "frozen", "--schedule", "generator_only", "--n-generator-steps", "7"),
    "golden": ("--adversary", "golden", "--schedule", "generator_only", "--n-generator-steps", "7"),
    "none": ("--adversary", "none", "--schedule", "generator_only", "--n-generator-steps", "7"),
    "single": ("--schedule", "single_stage"),
    "only": ("--trained-stages", "only"),
    "progressive": ("--rewards", "progressive"),
    "shifted": ("--rewards", "shifted"),
    "adversarial": ("--rewards", "adversarial"),
}
FIGURES = tuple(NAMES)
TESTS = FIGURES[3:]
UNTESTED = ("none", "golden")  # arms in which nobody writes tests
COSTS: Mapping[Literal["tokens", "cpu"], str] = {"tokens": "generated tokens", "cpu": "CPU seconds of steps"}
CPU_SECONDS = "CPU seconds of the run: "  # the last line of a run's log


def flags(arm: str) -> tuple[str, ...]:
    """The command-line flags of an arm."""
    name, _, settings = arm.partition(":")
    pairs = [setting.split("=", 1) for setting in settings.split(",") if setting]
    return (*ARMS.get(name, ()), *(part for key, value in pairs for part in (f"--{key.replace('_', '-')}", value)))


def run(arm: str, seed: int, split: str, folder: Path, extra: Sequence[str]) -> None:
    output = folder / f"{arm.replace(':', '-').replace(',', '-')}.{seed}"
    if output.exists():
        return
    command = [sys.executable, "-m", "selfplay.train", "--processes", "1", "--seed", str(seed)]
    command += ["--eval-split", split, "--output-dir", str(output), *flags(arm), *extra]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{output.name}.log").open("w") as log:
        child = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | {"OMP_NUM_THREADS": "1"})
        _, status, used = os.wait4(child.pid, 0)  # used: by the run and by all that it waited for, its sandbox included
        child.returncode = os.waitstatus_to_exitcode(status)
        log.write(f"{CPU_SECONDS}{used.ru_utime + used.ru_stime:.1f}\n")
    print(f"{output}: {'done' if child.returncode == 0 else f'exit {child.returncode}, see {output}.log'}", flush=True)


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
    """Markdown: every run at its last step, the mean of each arm, the paired differences between arms, their budgets."""
    found = evaluations(folder)
    yield f"| arm | seed | {' | '.join(FIGURES)} |"
    yield f"|---|---|{'---|' * len(FIGURES)}"
    # Runs of one seed start alike, whatever the arm; every seed has adapters and samples of its own.
    starts = {seed: records["before"] for (_, seed), records in found.items()}
    if starts:
        yield _mean_row("warm start", list(starts.values()))
    by_arm: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for (arm, seed), records in sorted(found.items()):
        shown = TESTS if arm.startswith(UNTESTED) else ()
        yield _row(arm, str(seed), records["after"], [f for f in FIGURES if f not in shown])
        by_arm[arm].append(records["after"])
    for arm, records in by_arm.items():
        yield _mean_row(arm, records)
    yield ""
    yield from _changes(found)
    yield ""
    yield from _differences(by_arm)
    yield from _closed(by_arm)
    yield ""
    yield from _at_equal_cost(folder, by_arm)
    yield ""
    yield from _budgets(folder, found)


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
        hidden = arm.startswith(UNTESTED) and figure in TESTS
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
    gain, start = statistics.mean(gains), statistics.mean(starts)
    of_start = f", {gain / start:+.0%}" if start else ""  # few problems may all be missed at the start
    return f"{gain:+.3f} ({min(gains):+.3f} to {max(gains):+.3f}){of_start}"


def _differences(by_arm: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """Greedy and sampled code, arm against arm, with two intervals.

    Over problems: per problem the mean over seeds, bootstrap; what other problems would have shown of these runs. Over
    seeds: Student's t of the seeds' differences; what other runs would have shown on these problems.
    """
    from selfplay.evaluation.intervals import paired_difference

    names = sorted(by_arm)
    for figure, of in (("greedy", 1), ("correct", 4)):
        scores = {name: _by_problem(records, figure, of) for name, records in by_arm.items()}
        for i, first in enumerate(names):
            for second in names[i + 1 :]:
                problems = sorted(scores[first].keys() & scores[second].keys())
                gap = paired_difference([scores[first][p] for p in problems], [scores[second][p] for p in problems])
                seeds = _over_seeds(by_arm[first], by_arm[second], f"code_{figure}")
                over = f"({gap.low:+.3f} to {gap.high:+.3f} over problems{seeds})"
                yield f"* {figure}: {second} minus {first}: {gap.value:+.3f} {over}"


def _closed(by_arm: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """The share of the gap between none and golden that each other arm closes, with the two intervals of `_differences`.

    Not defined where the gap's own interval over problems holds zero.
    """
    from selfplay.evaluation.intervals import paired_difference, ratio

    if not {"none", "golden"} <= by_arm.keys():
        return
    for figure, of in (("greedy", 1), ("correct", 4)):
        scores = {name: _by_problem(records, figure, of) for name, records in by_arm.items()}
        problems = sorted(scores["none"].keys() & scores["golden"].keys())
        gap = paired_difference([scores["none"][p] for p in problems], [scores["golden"][p] for p in problems])
        if gap.low <= 0 <= gap.high:
            yield f"* {figure}: golden minus none is {gap.value:+.3f} ({gap.low:+.3f} to {gap.high:+.3f}): no gap to close"
            continue
        for name in sorted(by_arm.keys() - {"none", "golden"}):
            gains = [scores[name][p] - scores["none"][p] for p in problems]
            share = ratio(gains, [scores["golden"][p] - scores["none"][p] for p in problems])
            seeds = _closed_over_seeds(by_arm["none"], by_arm["golden"], by_arm[name], f"code_{figure}")
            over = f"({share.low:.2f} to {share.high:.2f} over problems{seeds})"
            yield f"* {figure}: {name} closes {share.value:.2f} of the gap between none and golden {over}"


def _closed_over_seeds(
    none: Sequence[dict[str, Any]], golden: Sequence[dict[str, Any]], arm: Sequence[dict[str, Any]], figure: str
) -> str:
    """The interval of the share over paired seeds, as text; empty where the arms have not the same few."""
    if not len(none) == len(golden) == len(arm) or len(arm) not in T_975:
        return ""
    rows = [[record[figure]["value"] for record in records] for records in zip(none, golden, arm, strict=True)]
    shares = [(own - low) / (high - low) for low, high, own in rows if high != low]
    if len(shares) < len(rows):
        return ""
    middle, reach = statistics.mean(shares), T_975[len(shares)] * statistics.stdev(shares) / len(shares) ** 0.5
    return f"; {middle - reach:.2f} to {middle + reach:.2f} over {len(shares)} seeds"


T_975 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365}  # Student's t by number of seeds


def _over_seeds(first: Sequence[dict[str, Any]], second: Sequence[dict[str, Any]], figure: str) -> str:
    """The interval of the mean difference over paired seeds, as text; empty where the arms have not the same few."""
    if len(first) != len(second):
        return ""
    return _interval([b[figure]["value"] - a[figure]["value"] for a, b in zip(first, second, strict=True)])


def _interval(gaps: Sequence[float]) -> str:
    """Of the mean over seeds, as text; empty where it is not known."""
    if len(gaps) not in T_975:
        return ""
    middle, reach = statistics.mean(gaps), T_975[len(gaps)] * statistics.stdev(gaps) / len(gaps) ** 0.5
    return f"; {middle - reach:+.3f} to {middle + reach:+.3f} over {len(gaps)} seeds"


@dataclass(frozen=True, slots=True)
class Point:
    """Where a run stood at an evaluation: what its steps had cost by then, and the greedy programs that were right."""

    tokens: float
    cpu: float
    greedy: Mapping[str, float]


def course(run: Path) -> list[Point]:
    """A run's evaluations in order. CPU seconds of its steps are the run's, by the steps' share of its wall-clock time."""
    records = [json.loads(line) for line in (run / "metrics.jsonl").open()]
    cpu = _cpu_seconds(run)
    whole = sum(record["seconds"] for record in records if record["kind"] in ("step", "evaluation"))
    tokens = seconds = 0.0
    points: list[Point] = []
    for record in records:
        if record["kind"] == "step":
            tokens, seconds = tokens + record.get("generated_tokens", 0), seconds + record["seconds"]
        elif record["kind"] == "evaluation":
            greedy = {name: float(own["greedy"]) for name, own in record["by_problem"].items()}
            points.append(Point(tokens, seconds * (cpu or 0.0) / whole, greedy))
    return points


def read_at(points: Sequence[Point], cost: Literal["tokens", "cpu"], budget: float) -> dict[str, float]:
    """Greedy code of the problems that all evaluations share, between the two that a budget lies between."""
    shared = set[str].intersection(*(set(point.greedy) for point in points))
    for before, after in pairwise(points):
        low, high = getattr(before, cost), getattr(after, cost)
        if low <= budget <= high and low < high:
            share = (budget - low) / (high - low)
            return {name: (1 - share) * before.greedy[name] + share * after.greedy[name] for name in shared}
    return {name: points[-1].greedy[name] for name in shared}


def _at_equal_cost(folder: Path, by_arm: Mapping[str, Sequence[object]]) -> Iterator[str]:
    """Greedy code of `trained` minus that of each other arm where the cheaper of each two runs of a seed has ended."""
    seeds = sorted({int(run.name.rsplit(".", 1)[1]) for run in folder.glob("trained.*") if run.is_dir()})
    for arm in sorted(by_arm.keys() - {"trained"}):
        pairs = [(folder / f"trained.{seed}", folder / f"{arm}.{seed}") for seed in seeds]
        courses = [(course(ours), course(theirs)) for ours, theirs in pairs if ours.exists() and theirs.exists()]
        for cost, name in COSTS.items():
            budgets = [min(getattr(ours[-1], cost), getattr(theirs[-1], cost)) for ours, theirs in courses]
            if courses and all(budgets):
                yield _equal_line(courses, budgets, cost, f"at equal {name}: trained minus {arm}")


def _equal_line(
    courses: Sequence[tuple[list[Point], list[Point]]], budgets: Sequence[float], cost: Any, title: str
) -> str:
    from selfplay.evaluation.intervals import paired_difference

    ours, theirs = (
        [read_at(pair[side], cost, budget) for pair, budget in zip(courses, budgets, strict=True)] for side in (0, 1)
    )
    names = sorted(ours[0])
    first, second = ([statistics.mean(run[name] for run in runs) for name in names] for runs in (theirs, ours))
    gap = paired_difference(first, second)
    gaps = [statistics.mean(a.values()) - statistics.mean(b.values()) for a, b in zip(ours, theirs, strict=True)]
    over = f"({gap.low:+.3f} to {gap.high:+.3f} over {len(names)} problems{_interval(gaps)})"
    return f"* greedy {title}, {statistics.mean(budgets):,.0f} each: {gap.value:+.3f} {over}"


def _budgets(folder: Path, found: dict[tuple[str, int], dict[str, dict[str, Any]]]) -> Iterator[str]:
    """What an arm's runs spent, mean over the seeds: steps alone, and the CPU time of all, evaluations included."""
    yield "| arm | steps | generated tokens | tokens in the loss | CPU seconds of steps | CPU seconds of the run |"
    yield "|---|---|---|---|---|---|"
    for arm in sorted({arm for arm, _ in found}):
        spent = [_spent(folder / f"{arm}.{seed}") for name, seed in found if name == arm]
        columns = [statistics.mean(column) if None not in column else None for column in zip(*spent, strict=True)]
        yield f"| {arm} | {' | '.join('' if mean is None else f'{mean:,.0f}' for mean in columns)} |"


def _spent(run: Path) -> tuple[float | None, ...]:
    """A row of the table of budgets; None for what was not recorded."""
    steps = [record for record in map(json.loads, (run / "metrics.jsonl").open()) if record["kind"] == "step"]
    end, cpu = course(run)[-1], _cpu_seconds(run)
    return (len(steps), end.tokens, sum(step["tokens"] or 0 for step in steps), end.cpu if cpu else None, cpu)


def _cpu_seconds(run: Path) -> float | None:
    log = run.parent / f"{run.name}.log"
    last = log.read_text().splitlines()[-1:] if log.exists() else []
    return float(last[0].removeprefix(CPU_SECONDS)) if last and last[0].startswith(CPU_SECONDS) else None


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
