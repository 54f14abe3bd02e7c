"""Fuzzing what reads a model's and a program's texts: reading, extraction, comparison.

    python -m benchmarks.fuzz --minutes 30 [--seed S] [--targets reading verdicts] [--findings FOLDER]
    python -m benchmarks.fuzz --again FILE      tries the input of a finding once more

Every input has a bound on CPU seconds and memory, a base and so much per KiB. A finding is an input beyond its bound, an
exception, a crash, or an answer that Python contradicts (fuzz_targets.py). The seed is printed and says all that is
drawn: every input has a number, and comes from seed and number alone. Findings of one kind are kept once, made smaller
by leaving out lines, and written to a file each. The exit is 1 where there is one.

Left out: feedback from coverage. The grammar walks the reader's registries, which is where the branches are.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.fuzz_guard import Finding, Job, attempt
from benchmarks.fuzz_targets import TARGETS, Input, Target

SHRINKING = 20.0  # seconds, of the time of one finding


def jobs(targets: Mapping[str, Target], seed: str, inputs: int | None = None) -> Iterator[Job]:
    """Target and seed of every input, without end or so many; the cheap ones come more often."""
    most = max(target.often for target in targets.values())
    turns = [name for turn in range(most) for name, target in targets.items() if turn < target.often]
    for number, name in zip(range(inputs) if inputs else itertools.count(), itertools.cycle(turns), strict=False):
        yield name, f"{seed}:{number}", None


def hunt(
    targets: Mapping[str, Target], seconds: float, seed: str, inputs: int | None = None
) -> tuple[int, list[tuple[int, Finding]]]:
    """How many inputs were tried, and the first finding of each kind with how often that kind was met."""
    tried, kinds, counts = 0, dict[str, Finding](), Counter[str]()
    for one in attempt(targets, jobs(targets, seed, inputs), time.monotonic() + seconds):
        tried += 1
        if one.finding is not None:
            kind = f"{one.finding.target}: {one.finding.kind}"
            counts[kind] += 1
            kinds.setdefault(kind, one.finding)
    return tried, [(counts[kind], finding) for kind, finding in kinds.items()]


def smaller(targets: Mapping[str, Target], finding: Finding, seconds: float) -> Finding:
    """The same kind of finding with fewer lines, as far as `seconds` go."""
    end = time.monotonic() + seconds
    for key in [key for key, part in finding.given.items() if isinstance(part, str)]:
        pieces = 2
        while time.monotonic() < end:
            lines = finding.given[key].split("\n")
            less = _without_a_piece(finding.given, key, lines, pieces)
            found = next(filter(None, (_again(targets, finding, given, end) for given in less)), None)
            if found is None and pieces >= len(lines):
                break
            pieces = pieces * 2 if found is None else pieces
            finding = found or finding
    return finding


def _without_a_piece(given: Input, key: str, lines: list[str], pieces: int) -> Iterator[Input]:
    step = max(1, -(-len(lines) // pieces))
    for start in range(0, len(lines), step):
        left = lines[:start] + lines[start + step :]
        if left:
            yield {**given, key: "\n".join(left)}


def _again(targets: Mapping[str, Target], finding: Finding, given: Input, end: float) -> Finding | None:
    if time.monotonic() > end:
        return None
    found = next((one.finding for one in attempt(targets, [(finding.target, finding.seed, given)])), None)
    return found if found is not None and found.kind.split(" in ")[0] == finding.kind.split(" in ")[0] else None


def told(finding: Finding, count: int, file: Path) -> str:
    shown = json.dumps(finding.given)
    head = f"{finding.target}: {finding.kind} ({count} times)\n  seed {finding.seed}, input in {file}"
    return f"{head}\n  {shown if len(shown) < 600 else shown[:600] + ' ...'}\n  {finding.detail.strip()[:1500]}"


def kept(folder: Path, finding: Finding) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(f"{finding.target}{finding.kind}".encode("utf-8", "replace")).hexdigest()[:10]
    path = folder / f"{finding.target}-{digest}.json"
    fields = {"target": finding.target, "kind": finding.kind, "seed": finding.seed, "detail": finding.detail}
    path.write_text(json.dumps({**fields, "given": finding.given}, indent=1))
    return path


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.fuzz", description="Fuzz reading, extraction, comparison."
    )
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--inputs", type=int, help="stop after so many")
    parser.add_argument("--seed", default=str(random.randrange(10**9)))
    parser.add_argument("--targets", nargs="+", choices=list(TARGETS), default=list(TARGETS))
    parser.add_argument("--findings", type=Path, default=Path("runs/fuzz"), help="a folder for the inputs of findings")
    parser.add_argument("--again", type=Path, help="a file of a finding: its input alone is tried")
    arguments = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":  # texts of sets are drawn too, and a seed must say all
        again = [sys.executable, "-m", "benchmarks.fuzz", *sys.argv[1:]]
        os.execve(sys.executable, again, {**os.environ, "PYTHONHASHSEED": "0"})
    targets = {name: TARGETS[name] for name in arguments.targets}
    if arguments.again:
        told_before = json.loads(arguments.again.read_text())
        found = next(attempt(TARGETS, [(told_before["target"], told_before["seed"], told_before["given"])])).finding
        print("no finding" if found is None else told(found, 1, arguments.again))
        sys.exit(found is not None)
    print(f"seed {arguments.seed}", flush=True)
    start = time.monotonic()
    tried, found = hunt(targets, arguments.minutes * 60, arguments.seed, arguments.inputs)
    seconds = time.monotonic() - start
    for count, finding in found:
        finding = smaller(targets, finding, min(SHRINKING, seconds / len(found)))
        print(told(finding, count, kept(arguments.findings, finding)), flush=True)
    rate = f"{tried} inputs in {seconds:.0f} s ({tried / seconds:.0f} a second)"
    print(f"{rate}, {len(found)} kinds of finding, {sum(count for count, _ in found)} in all")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
