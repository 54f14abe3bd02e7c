"""A run's folder with one real match in it, whose players write what would harm a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from selfplay.box.local import LocalBox
from selfplay.config import configure
from selfplay.game.episode import TurnKey
from selfplay.game.phases import Step
from selfplay.game.players import Sampling
from selfplay.game.problems import Problem
from selfplay.game.prompts import Prompts
from selfplay.game.rewards import get_rule
from selfplay.game.rollout import Table, play
from selfplay.judging.judge import Judge
from selfplay.match.examine import examine
from selfplay.match.ledger import to_json
from selfplay.match.score import score
from selfplay.mutation.cache import MutantCache
from selfplay.run.folder import RunFolder
from tests.scripted import ScriptedPlayer

HOSTILE = "</script><script>window.harmed = 1</script><img src=x onerror='window.harmed = 1'>\x1b\u202e"
PROBLEM = Problem(
    "big",
    f"Is it at least 3? {HOSTILE}",
    "f",
    "def f(n: int) -> bool:",
    ("assert f(7) == True", "assert f(1) == False"),
    "def f(n):\n    return n >= 3",
)
TESTS = {1: "assert f(9) == True\nassert f(9) == 1", 3: f"assert f(3) is True\nassert f(4) == False # {HOSTILE}"}
STEP = {
    "kind": "step",
    "step": 0,
    "steps": 2,
    "stage": 1,
    "role": "generator",
    "phase": "stage 1 generator",
    "loss": 0.1,
    "reward/generator": 0.5,
    "reward/discriminator": 0.25,
    "pass_rate": 0.5,
    "validity": 0.5,
    "seconds": 2.0,
    "seconds/play": 1.0,
}


def figure(value: float) -> dict[str, float]:
    return {"value": value, "low": value - 0.1, "high": value + 0.1}


def evaluation(when: str, value: float) -> dict[str, Any]:
    return {"kind": "evaluation", "when": when, "split": "dev", "problems": 8, "code_greedy": figure(value)}


@pytest.fixture(scope="session")
def match_record() -> dict[str, Any]:
    """A generator's step: a right program and a wrong one, tests that count and tests that do not."""

    def said(key: TurnKey) -> str:
        if key.role == "discriminator":
            return TESTS.get(key.stage, "")
        return f"def f(n):\n    return n >{'=' * (1 - key.branch)} 3" if key.stage == 5 else HOSTILE

    long = Sampling(max_tokens=4000)
    step = Step(0, 1, "generator", "stage 1 generator")
    groups = play(ScriptedPlayer(said), Prompts("compact"), [PROBLEM], step, Table(2, 1, 0, long, long))
    with LocalBox() as box:
        [match] = score(examine(groups, step, Judge(box), 2, MutantCache()), get_rule("novel_kills"))
    return to_json(match)


@pytest.fixture
def run_folder(tmp_path: Path, match_record: dict[str, Any]) -> Path:
    """Two steps of two, measured before and after; no adapters."""
    path = tmp_path / "run"
    folder = RunFolder(configure({"output_dir": str(path)}))
    folder.about(tier="jailed")
    folder.evaluation(evaluation("before", 0.25))
    for number in range(2):
        folder.step(STEP | {"step": number})
        folder.episodes([match_record])
    folder.evaluation(evaluation("after", 0.75))
    return path
