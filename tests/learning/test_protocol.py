"""What a backend promises, held against three: small-model functions, the model's own forward, and one without a model."""

from __future__ import annotations

import ast
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from selfplay.config import Config, configure
from selfplay.game.episode import ROLES
from selfplay.game.players import Sampling
from selfplay.learning import loop, setup
from selfplay.learning.heldout import evaluate, record_opponent
from selfplay.learning.policy import Choice, Policy, PolicyError
from selfplay.learning.policy.protocol import Sampler, Trainer
from selfplay.learning.ranks import Ranks
from selfplay.learning.samples import Sample, Span
from selfplay.learning.update import clipped_update
from tests.learning.bigram import bigram_policy
from tests.learning.conftest import build_model, make_policy, request, rows, stir
from tests.memory import Memory

LEARNING = Path(loop.__file__).parent
ROWS, OTHERS = rows((5, 9, 17, 30, 11)), rows((8, 4, 40))
SMALL = {
    "stages": "5",
    "schedule": "full",
    "n_discriminator_steps": 1,
    "n_generator_steps": 1,
    "k": 0,
    "processes": 1,
    "problems_per_step": 2,
    "num_generations": 2,
    "num_suites": 1,
    "num_targets": 1,
    "eval_problems": (1, 2),
}


@pytest.fixture(params=["small", "forward", "bigram"])
def backend(request: pytest.FixtureRequest, tokenizer: Any) -> Policy:
    if request.param == "bigram":
        return bigram_policy()
    fast = request.param == "small"
    return stir(make_policy(build_model(), tokenizer, Choice(rank=4, alpha=8, fast=fast)))


def stepped(policy: Policy) -> Policy:
    policy.trainer.accumulate("generator", ROWS, 1.0, torch.sum)
    policy.step("generator", policy.trainer.take_gradient("generator"), 1.0)
    return policy


def test_gradients_add_up_until_they_are_taken(backend: Policy) -> None:
    trainer = backend.trainer
    parts = []
    for each in (ROWS, OTHERS):
        trainer.accumulate("generator", each, 1.0, torch.sum)
        parts.append(trainer.take_gradient("generator"))
    for each in (ROWS, OTHERS):
        trainer.accumulate("generator", each, 1.0, torch.sum)
        assert not trainer.take_gradient("discriminator").any()
    whole_D = trainer.take_gradient("generator")
    assert (whole_D.dtype, whole_D.ndim) == (torch.float64, 1)
    assert torch.allclose(whole_D, parts[0] + parts[1], rtol=1e-4, atol=1e-6)
    assert not trainer.take_gradient("generator").any()


def test_accumulating_scores_as_logprobs_does(backend: Policy) -> None:
    told = backend.trainer.accumulate("discriminator", ROWS, 0.7, torch.sum)
    for mine, expected in zip(told, backend.trainer.logprobs("discriminator", ROWS, 0.7), strict=True):
        assert mine.shape == (4,)
        assert not mine.requires_grad
        assert torch.allclose(mine, expected, atol=1e-6)


def test_a_step_lowers_the_loss_of_its_role_and_moves_nothing_else(backend: Policy) -> None:
    before = {role: backend.trainer.digest(role) for role in (*ROLES, None)}
    likely = backend.trainer.logprobs("generator", ROWS, 1.0)[0].sum()
    stepped(backend)  # the loss is the likelihood itself
    assert backend.trainer.logprobs("generator", ROWS, 1.0)[0].sum() < likely
    assert backend.trainer.digest("generator") != before["generator"]
    assert {role: backend.trainer.digest(role) for role in ("discriminator", None)} == {
        role: before[role] for role in ("discriminator", None)
    }


def test_a_rate_of_nothing_moves_nothing(backend: Policy) -> None:
    before = backend.trainer.digest("generator")
    backend.trainer.scale_rate("generator", 0.0)
    assert stepped(backend).trainer.digest("generator") == before


def test_a_snapshot_scores_as_the_role_did_and_leaves_it_as_it_is(backend: Policy) -> None:
    then, said = backend.trainer.snapshot("generator"), backend.trainer.logprobs("generator", ROWS, 1.0)[0]
    moved = stepped(backend).trainer.digest("generator")
    assert torch.equal(backend.trainer.logprobs("generator", ROWS, 1.0, then)[0], said)
    assert not torch.equal(backend.trainer.logprobs("generator", ROWS, 1.0)[0], said)
    assert backend.trainer.digest("generator") == moved


def test_a_state_is_a_copy_from_which_training_goes_on_bit_for_bit(backend: Policy, tmp_path: Path) -> None:
    torch.save(stepped(backend).trainer.state(), tmp_path / "state.pt")
    held = backend.trainer.state()
    then = stepped(backend).trainer.digest("generator")
    for state in (held, torch.load(tmp_path / "state.pt", weights_only=True)):
        backend.load_state(state)
        assert stepped(backend).trainer.digest("generator") == then


def test_saved_weights_are_loaded_and_sampled(backend: Policy, tmp_path: Path) -> None:
    asked = [request((5, 9, 17), branch=branch) for branch in range(4)]
    before = backend.trainer.digest("generator")
    said = backend.complete(asked, Sampling(1.0, 12))
    backend.save(tmp_path)
    moved_D = torch.full_like(backend.trainer.take_gradient("generator"), 1.0)
    backend.trainer.scale_rate("generator", 1000.0)
    backend.step("generator", torch.randn(moved_D.shape, dtype=torch.float64), math.inf)
    assert [each.ids for each in backend.complete(asked, Sampling(1.0, 12))] != [each.ids for each in said]
    backend.load(tmp_path)
    assert backend.trainer.digest("generator") == before
    assert backend.complete(asked, Sampling(1.0, 12)) == said


def test_what_is_sampled_is_scored_alike_and_an_update_learns_from_it(backend: Policy) -> None:
    asked = [request((5, 9, 17), branch=branch) for branch in range(6)]
    done = backend.complete(asked, Sampling(1.0, 12))
    samples = [
        Sample(a.ids + d.ids, (Span(3, 3 + len(d.ids), (-1.0) ** i, d.logprobs),))
        for i, (a, d) in enumerate(zip(asked, done, strict=True))
    ]
    stats = clipped_update(backend, "generator", samples, Config(num_iterations=2, beta=0.1))
    assert stats.tokens == sum(len(each.ids) for each in done)
    assert stats.logprob_gap < backend.trainer.bounds.logprob_gap
    assert stats.ratio_max > 1
    assert stats.kl > 0


def test_a_state_of_another_trainer_changes_nothing(policy: Policy, tokenizer: Any) -> None:
    other = make_policy(build_model(), tokenizer, Choice(rank=2)).trainer.state()
    before = stepped(policy).trainer.state()
    for wrong in ({}, other, {**before, "optimizers": {}}, {**before, "optimizers": {role: {} for role in ROLES}}):
        with pytest.raises(PolicyError):
            policy.load_state(wrong)
    moved = stepped(policy).trainer.digest("generator")
    policy.load_state(before)
    assert stepped(policy).trainer.digest("generator") == moved


def test_a_whole_run_needs_nothing_but_the_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "policy_of", lambda *_: bigram_policy())
    memory = Memory()
    result = loop.train(configure(SMALL | {"max_completion_length": 24, "rewards": "progressive"}), memory)
    assert result.steps == len(memory.steps) == 2
    assert memory.saved == 1


PROTOCOL: dict[str, set[str]] = {
    "policy": {name for name in vars(Policy) if not name.startswith("_")},
    "trainer": {name for name in vars(Trainer) if not name.startswith("_")},
    "sampler": {name for name in vars(Sampler) if not name.startswith("_")},
}
OPEN_TO_ALL = {
    "selfplay.learning.policy.settings",
    "selfplay.learning.policy",
    "selfplay.learning.policy.errors",
    "selfplay.learning.policy.protocol",
}
AUTOGRAD = {"backward", "grad", "requires_grad", "requires_grad_", "no_grad", "parameters", "state_dict"}


@pytest.mark.parametrize("path", sorted(LEARNING.glob("*.py")), ids=lambda path: path.stem)
def test_outside_the_policy_only_the_protocol_is_used(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("selfplay.learning.policy"):
            assert node.module in OPEN_TO_ALL
        if isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else getattr(node.value, "attr", "")
            assert node.attr in PROTOCOL.get(owner, {node.attr}), f"{owner}.{node.attr} in line {node.lineno}"
            assert node.attr not in AUTOGRAD, f"{node.attr} in line {node.lineno}"


def test_heavy_libraries_wait_until_a_policy_is_opened() -> None:
    script = (
        "import json, sys, selfplay.learning.loop, selfplay.learning.policy.opening\n"
        "print(json.dumps([name for name in ('transformers', 'peft', 'unsloth') if name in sys.modules]))"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert json.loads(told.stdout) == []


def test_a_steps_figures_are_the_same_whether_or_not_an_evaluation_came_before() -> None:
    told = []
    for evaluated in (False, True):
        made, memory = configure(SMALL), Memory()
        with setup.open_run(made, memory, Ranks()) as run:
            if evaluated:
                run.state.opponent = record_opponent(run)
                evaluate(run)
            loop.train_step(run, run.state.plan[0])
        [metrics] = memory.steps
        told.append(({k: v for k, v in metrics.items() if not k.startswith("seconds")}, memory.episode_records))
    assert json.dumps(told[0]) == json.dumps(told[1])
