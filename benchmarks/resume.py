"""Is resume exact? `python -m benchmarks.resume --kills 20` kills small runs by SIGKILL, resumes them, and compares.

One run of a small full schedule is left alone; others are killed again and again, in play, judging, the update, an evaluation
and the writing of a checkpoint, each at a moment drawn at random, and resumed until they end. Episodes, metrics (seconds
aside) and adapters must be the same, byte for byte: with one process and with two. Exit 0: they are; 1: they are not. Also
told: what a checkpoint costs. Kills of other ranks than the first were left out: the first then ends with an error, which
tests/test_train_command.py shows.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any

from selfplay.run.checkpoints import latest

PLACES = ("play", "judge", "update", "evaluation", "checkpoint")
SMALL = (
    *("--n-discriminator-steps", "1", "--n-generator-steps", "1", "--k", "1", "--problems-per-step", "2"),
    *("--num-generations", "2", "--num-suites", "1", "--num-targets", "1", "--eval-problems", "1", "2"),
    *("--advantages", "running"),
)
USUAL = {"play": 1.0, "judge": 0.5, "update": 0.3, "evaluation": 2.0, "checkpoint": 0.05}  # seconds of a visit
TIMES = "checkpoint_seconds.json"


@dataclass(frozen=True, slots=True)
class Kill:
    """SIGKILL in the `visit`-th visit to a place, when `share` of the time has passed that one takes."""

    place: str
    visit: int
    share: float


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.resume", description=__doc__)
    parser.add_argument("--kills", type=int, default=20, help="kills in all, shared by the numbers of processes")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seed", type=int, default=None, help="of the kill points; printed, drawn anew without it")
    parser.add_argument("--stages", default="1,2,3,4,5", help="stages of the schedule")
    parser.add_argument("--child", nargs=2, metavar=("KILL", "FLAGS"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        return child(*map(json.loads, options.child))
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        share = -(-options.kills // len(options.processes))
        same = [
            compare(Path(folder) / str(count), count, share, random.Random(f"{seed} {count}"), options.stages)
            for count in options.processes
        ]
    print("all equal" if all(same) else "NOT EQUAL")
    return 0 if all(same) else 1


def compare(folder: Path, processes: int, kills: int, rng: random.Random, stages: str) -> bool:
    """Whether runs that are killed leave what one leaves that is not."""
    folder.mkdir()
    flags = ["--stages", stages, "--processes", str(processes), *SMALL]
    whole = folder / "whole"
    started = time.perf_counter()
    assert run(None, ["--output-dir", str(whole), *flags]) == 0
    print(f"{processes} processes: a run that is left alone takes {time.perf_counter() - started:.0f} s", flush=True)
    tell_cost(whole)
    points, same, cut = draw(kills, rng), True, folder / "cut"
    while points:
        kill, code = points[0], run(points[0], _next(cut, flags))
        if code == 0:  # it came to its end before that visit
            same &= equal(whole, cut)
            cut, points[0] = cut.with_name(f"{cut.name}+"), replace(kill, visit=1)
            continue
        assert code == -signal.SIGKILL, f"exit code {code}"
        made = latest(cut)
        print(f"  killed in {kill.place}, visit {kill.visit}; checkpoint {made.step if made else 'none'}", flush=True)
        del points[0]
    assert run(None, _next(cut, flags)) == 0
    return equal(whole, cut) and same


def equal(whole: Path, cut: Path) -> bool:
    """Whether two runs have left the same; told."""
    there = left(cut)
    differing = [name for name, digest in left(whole).items() if there[name] != digest]
    print(f"  ended: {', '.join(differing) + ' differ' if differing else 'equal'}", flush=True)
    return not differing


def draw(kills: int, rng: random.Random) -> list[Kill]:
    """At least one in each place, as far as there are so many."""
    places = [*PLACES, *(rng.choice(PLACES) for _ in range(kills))][:kills]
    rng.shuffle(places)
    return [Kill(place, rng.randrange(1, 4), rng.random()) for place in places]


def _next(folder: Path, flags: Sequence[str]) -> list[str]:
    """The flags that begin a run, or go on with it."""
    return ["--resume", str(folder)] if (folder / "config.yaml").exists() else ["--output-dir", str(folder), *flags]


def run(kill: Kill | None, flags: Sequence[str]) -> int:
    """The exit code of a run in a process of its own."""
    told = json.dumps(asdict(kill) if kill else None), json.dumps(list(flags))
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.resume", "--child", *told]
    ran = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if ran.returncode not in (0, -signal.SIGKILL):
        print(ran.stderr, file=sys.stderr)
    return ran.returncode


def left(folder: Path) -> dict[str, str]:
    """Digests of what a run leaves, without the seconds in its metrics and its own name in its bank."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    timeless = [{name: value for name, value in line.items() if not name.startswith("seconds")} for line in lines]
    files = [folder / "episodes.jsonl", *sorted(folder.glob("adapters/*/adapter_model.safetensors"))]
    held = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    held["metrics.jsonl"] = json.dumps(timeless).encode()
    bank = folder / "bank.jsonl"
    held["bank.jsonl"] = bank.read_bytes().replace(str(folder).encode(), b"") if bank.exists() else b""
    return {name: hashlib.sha256(data).hexdigest() for name, data in held.items()}


def tell_cost(folder: Path) -> None:
    made = latest(folder)
    assert made
    steps = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    seconds = [line["seconds"] for line in steps if line["kind"] == "step"]
    taken = json.loads((folder / TIMES).read_text())
    print(
        f"  a checkpoint: {made.size / 1e6:.2f} MB, {1000 * sorted(taken)[len(taken) // 2]:.0f} ms (median of {len(taken)}); "
        f"a step here {sorted(seconds)[len(seconds) // 2]:.2f} s",
        flush=True,
    )


# ---- in the process that is killed ----


def child(kill: dict[str, Any] | None, flags: list[str]) -> int:
    """Runs the training command with a watch on the places."""
    from selfplay.train import main as train

    times = watch(Kill(**kill) if kill else None)
    code = train(flags)
    if "--output-dir" in flags:
        folder = Path(flags[flags.index("--output-dir") + 1])
        (folder / TIMES).write_text(json.dumps(times["checkpoint"]))
    return code


def watch(kill: Kill | None) -> dict[str, list[float]]:
    """From here on this process is killed where `kill` says; the seconds of each visit, by place, while it lives."""
    from selfplay.evaluation.evaluator import Evaluator
    from selfplay.learning import loop
    from selfplay.run import checkpoints

    homes = (
        (loop, "play"),
        (loop, "examine"),
        (loop, "clipped_update"),
        (Evaluator, "measure"),
        (checkpoints, "write"),
    )
    times: dict[str, list[float]] = {place: [] for place in PLACES}
    for place, (home, name) in zip(PLACES, homes, strict=True):
        setattr(home, name, _watched(getattr(home, name), times[place], kill if kill and kill.place == place else None))
    return times


def _watched(function: Callable[..., Any], seen: list[float], kill: Kill | None) -> Any:
    """The function, timed; killed in it in the visit that is meant: at the latest when it is done."""

    @wraps(function)
    def inner(*arguments: Any, **named: Any) -> Any:
        here = kill is not None and len(seen) + 1 == kill.visit
        if here and kill:
            timer = threading.Timer(kill.share * USUAL[kill.place], _die)
            timer.daemon = True
            timer.start()
        started = time.perf_counter()
        result = function(*arguments, **named)
        seen.append(time.perf_counter() - started)
        if here:
            _die()
        return result

    return inner


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
