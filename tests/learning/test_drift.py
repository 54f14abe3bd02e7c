"""The drift of frozen stages: nothing at the start of a stage, something after an update, and no trace of measuring."""

from __future__ import annotations

import pytest
import torch

from selfplay.game.episode import ROLES
from selfplay.game.phases import Step
from selfplay.game.players import Sampling
from selfplay.game.problems import Problem
from selfplay.game.prompts import Prompts
from selfplay.game.rollout import Table, play
from selfplay.learning.drift import Drift
from selfplay.learning.policy import Policy
from selfplay.learning.update import update_relief
from tests.learning.conftest import trainer

PROBLEM = Problem("p", "Double it.", "f", "def f(n: int) -> int:", ("assert f(2) == 4",))
TABLE = Table(2, 2, 0, Sampling(1.0, 12), Sampling(1.0, 12))


def nudge(policy: Policy) -> None:
    with torch.no_grad():
        for parameters in trainer(policy).adapters.parameters.values():
            for name, parameter in parameters.items():
                if "lora_B" in name:
                    parameter.normal_(std=0.05)
    for role in ROLES:
        policy.sampler.weights_changed(role)


def measured(policy: Policy, drift: Drift, stage: int) -> tuple[float, int]:
    groups = play(policy, Prompts("compact"), [PROBLEM], Step(0, stage, "generator", ""), TABLE)
    return drift.measure(policy.trainer, stage, groups, 1.0, update_relief(4096))


def test_without_an_update_nothing_has_drifted(policy: Policy) -> None:
    total, tokens = measured(policy, Drift(), 3)
    assert tokens > 0
    assert total / tokens == pytest.approx(0.0, abs=1e-6)


def test_moved_weights_show_as_drift_and_are_left_as_they_are(policy: Policy) -> None:
    drift = Drift()
    measured(policy, drift, 3)
    nudge(policy)
    before = {role: policy.trainer.digest(role) for role in ROLES}
    total, tokens = measured(policy, drift, 3)
    assert total / tokens > 1e-4
    assert before == {role: policy.trainer.digest(role) for role in ROLES}


def test_the_first_stage_has_no_frozen_prefix(policy: Policy) -> None:
    assert measured(policy, Drift(), 1) == (0.0, 0)
