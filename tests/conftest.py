"""Fixtures for all tests: the walk-through, one problem played through by both roles."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

from selfplay.game.problems import Problem, load_problems

# Before anything imports torch: threads of several processes wait for each other far longer than one thread works.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A busy machine is slow, and that is no failure.
settings.register_profile("selfplay", deadline=None)
settings.load_profile("selfplay")


@pytest.fixture(scope="session", autouse=True)
def heard_signals() -> None:
    """A shell starts background jobs with Ctrl-C ignored, nohup with SIGHUP, and their children inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@dataclass(frozen=True, slots=True)
class WalkThrough:
    """`two_sum` with a chain of five texts and ten tests; by stage: the tests, and whether the reference passes each.

    `script` is what both roles say, as `ScriptedPlayer` takes it.
    """

    problem: Problem
    chain: tuple[str, ...]
    tests: Mapping[int, tuple[str, ...]]
    reference_passes: Mapping[int, tuple[bool, ...]]
    script: Mapping[tuple[str, str, int], str]


@pytest.fixture(scope="session")
def walk_through(tmp_path_factory: pytest.TempPathFactory) -> WalkThrough:
    told = json.loads((Path(__file__).parent / "game" / "two_sum.json").read_text(encoding="utf-8"))
    file = tmp_path_factory.mktemp("walk_through") / "two_sum.jsonl"
    file.write_text(json.dumps(told["problem"]), encoding="utf-8")
    (problem,) = load_problems(file)
    stages = told["stages"]
    return WalkThrough(
        problem,
        tuple(stage["generator"] for stage in stages),
        {stage["stage"]: tuple(stage["tests"]) for stage in stages},
        {stage["stage"]: tuple(stage["reference_passes"]) for stage in stages},
        {(problem.id, r, stage["stage"]): stage[r] for stage in stages for r in ("generator", "discriminator")},
    )
