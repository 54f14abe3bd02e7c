"""The trainer over Unsloth, where it is installed: the same adapters, figures and files as with transformers and PEFT.

On a CPU Unsloth is stock transformers and PEFT, so this shows our glue and nothing of its kernels. It patches libraries when it
is imported, so each scene is played in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from transformers import PreTrainedTokenizerFast

from tests.learning.conftest import build_model

pytestmark = pytest.mark.unsloth
ROOT = Path(__file__).parents[2]
PRECISIONS = ("fp32", "nf4")

SCENE = """
import json, sys
from pathlib import Path
from selfplay.learning.policy import Choice, open_policy
from selfplay.game.players import Sampling

model, backend, four_bit, folder = sys.argv[1], sys.argv[2], sys.argv[3] == "nf4", Path(sys.argv[4])
settings = Choice(
    rank=4, alpha=8, backend=backend, sampler="generate", four_bit=four_bit, dtype="float32", fast=False, context=200,
    checkpointing=True,
)
policy = open_policy(model, settings, 3, "cpu")
assert ("unsloth" in sys.modules) == (backend == "unsloth")

import torch
from selfplay.game.episode import ROLES
from selfplay.learning.samples import Sample, Span
from selfplay.config import Config
from selfplay.learning.update import clipped_update
from tests.learning.conftest import request, rows, stir

trainer, told = policy.trainer, {}
told["fresh"] = {role: trainer.digest(role) for role in ROLES}
told["model"] = type(trainer).__name__
stir(policy)
"""


@pytest.fixture(scope="module")
def wide_model(tmp_path_factory: pytest.TempPathFactory, tokenizer: PreTrainedTokenizerFast) -> Path:
    """4 bit needs hidden sizes of 64 and more."""
    folder = tmp_path_factory.mktemp("wide")
    build_model(hidden_size=64, intermediate_size=128, initializer_range=0.2).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def play(wide_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Runs lines after SCENE, with a backend at a precision; what they put into `told` comes back."""

    @cache
    def run(lines: str, backend: str, precision: str = "fp32") -> Any:
        script = f"{SCENE}\n{lines}\nprint('TOLD' + json.dumps(told))"
        folder = tmp_path_factory.mktemp(backend)
        words = [sys.executable, "-c", script, str(wide_model), backend, precision, str(folder)]
        ran = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr[-3000:]
        return json.loads(ran.stdout.rpartition("TOLD")[2])

    return run


UPDATE = """
asked = [request((5, 9, 17, 30 + i), branch=i, role=role) for role in ROLES for i in range(6)]
done = policy.complete(asked, Sampling(0.7, 16))
told["ids"] = [each.ids for each in done]
before = {str(role): trainer.digest(role) for role in (*ROLES, None)}
samples = [
    Sample(a.ids + d.ids, (Span(4, 4 + len(d.ids), (-1.0) ** i, d.logprobs),))
    for i, (a, d) in enumerate(zip(asked[:6], done[:6]))
]
stats = clipped_update(policy, "generator", samples, Config(temperature=0.7))
after = {str(role): trainer.digest(role) for role in (*ROLES, None)}
told["moved"] = sorted(role for role in after if after[role] != before[role])
told["stats"] = [stats.loss, stats.ratio_max, stats.grad_norm, stats.entropy, stats.logprob_gap]
told["logprobs"] = {str(r): trainer.logprobs(r, rows((5, 9, 17, 30, 11)), 0.7)[0].tolist() for r in (*ROLES, None)}
"""


@pytest.mark.parametrize("precision", PRECISIONS)
def test_both_backends_start_alike_and_give_the_same_figures(play: Callable[..., Any], precision: str) -> None:
    theirs, ours = (play(UPDATE, backend, precision) for backend in ("unsloth", "transformers"))
    assert (theirs["model"], ours["model"]) == ("UnslothTrainer", "PeftTrainer")
    assert theirs["fresh"] == ours["fresh"]
    assert theirs["ids"] == ours["ids"]
    assert theirs["stats"] == pytest.approx(ours["stats"], abs=1e-4)
    for role, logprobs in ours["logprobs"].items():
        assert theirs["logprobs"][role] == pytest.approx(logprobs, abs=1e-4)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_an_update_moves_its_role_alone_from_a_ratio_of_one(play: Callable[..., Any], precision: str) -> None:
    told = play(UPDATE, "unsloth", precision)
    assert told["moved"] == ["generator"]
    loss, ratio, norm, _, gap = told["stats"]
    assert ratio == 1.0
    assert norm > 0
    assert abs(loss) < 1
    assert gap < 1e-4


SAVED = """
policy.save(folder)
told["saved"] = {str(r): trainer.logprobs(r, rows((5, 9, 17, 30, 11)), 1.0)[0].tolist() for r in ROLES}
from peft import PeftModel
from selfplay.learning.policy import hf
base = hf.load_model(model, torch.device("cpu"), four_bit, "float32")
plain = PeftModel.from_pretrained(base, folder / "adapters" / "generator", adapter_name="generator")
plain.load_adapter(folder / "adapters" / "discriminator", adapter_name="discriminator")
told["plain"] = {}
for role in ROLES:
    plain.set_adapter(role)
    with torch.no_grad():
        logits = plain(input_ids=torch.tensor([[5, 9, 17, 30, 11]])).logits[0, :-1].log_softmax(-1)
    told["plain"][role] = logits.gather(1, torch.tensor([[9], [17], [30], [11]]))[:, 0].tolist()
from safetensors import safe_open
with safe_open(folder / "adapters" / "generator" / "adapter_model.safetensors", "pt") as file:
    told["embeddings"] = [name for name in file.keys() if "lora_" not in name]
def step():
    trainer.accumulate("generator", rows((5, 9, 17, 30, 11)), 1.0, torch.sum)
    policy.step("generator", trainer.take_gradient("generator"), 1.0)
    return trainer.digest("generator")
digest = trainer.digest("generator")
with torch.no_grad():
    next(iter(trainer.adapters.parameters["generator"].values())).add_(1.0)
policy.load(folder)
told["loaded"] = trainer.digest("generator") == digest
step()
held = trainer.state()
told["first"] = step()
policy.load_state(held)
told["again"] = step()
"""


@pytest.mark.parametrize("precision", PRECISIONS)
def test_saved_adapters_load_with_peft_alone_and_give_the_same(play: Callable[..., Any], precision: str) -> None:
    told = play(SAVED, "unsloth", precision)
    assert told["loaded"]
    assert told["embeddings"] == []
    for role, logprobs in told["saved"].items():
        assert told["plain"][role] == pytest.approx(logprobs, abs=1e-5)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_resumed_update_is_the_same_bit_for_bit(play: Callable[..., Any], precision: str) -> None:
    told = play(SAVED, "unsloth", precision)
    assert told["first"] == told["again"]


SAMPLERS = """
from dataclasses import replace
from selfplay.learning.policy.opening import open_sampler
prompts = [tuple(5 + (i * 13 + j * 7) % 280 for j in range(4 + i % 9)) for i in range(32)]
asked = [request(prompt, branch=i, role=role) for role in ROLES for i, prompt in enumerate(prompts)]
for name in ("own", "generate"):
    trainer.choice = replace(trainer.choice, sampler=name)
    told[name] = [each.ids for each in open_sampler(trainer, policy.chat.end_ids, 3).complete(asked, Sampling(1.0, 24))]
"""


@pytest.mark.parametrize("backend", ["transformers", "unsloth"])
def test_in_four_bit_own_and_generate_draw_the_same_turns(play: Callable[..., Any], backend: str) -> None:
    told = play(SAMPLERS, backend, "nf4")
    same = sum(one == other for one, other in zip(told["own"], told["generate"], strict=True))
    assert same >= 0.99 * len(told["own"])


def test_a_run_goes_from_start_to_end(wide_model: Path, tmp_path: Path) -> None:
    words = f"""--model {wide_model} --output-dir {tmp_path}/run --device cpu --backend unsloth --preset smoke --prompts compact
        --stages 5 --problems-per-step 1 --num-generations 2 --num-suites 1 --num-targets 1 --max-completion-length 8
        --eval-problems 1 --problems procedural""".split()
    ran = subprocess.run([sys.executable, "-m", "selfplay.train", *words], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-3000:]
    assert "without a CUDA GPU it accelerates nothing" in ran.stdout
    assert "backend: 'unsloth" in (tmp_path / "run" / "config.yaml").read_text()
    assert not (ROOT / "unsloth_compiled_cache").exists()
