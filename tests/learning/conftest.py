"""A small random Qwen2 model and its byte-level tokenizer: the real architecture at a size that a test can afford."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from selfplay.game.episode import ROLES, Role, TurnKey
from selfplay.game.players import Request
from selfplay.learning.policy import Choice, Policy
from selfplay.learning.policy.opening import join
from selfplay.learning.policy.protocol import Rows
from selfplay.learning.policy.trainer import PeftTrainer

TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SPECIAL = ["<|pad|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]
VOCABULARY = 320

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tokenizer() -> PreTrainedTokenizerFast:
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    raw.train_from_iterator(["def solve(values): return sorted(values)", "assert solve([2, 1]) == [1, 2]"] * 4, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<|end|>", pad_token="<|pad|>")
    tokenizer.add_special_tokens({"additional_special_tokens": SPECIAL[2:]})  # type: ignore[dict-item]
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def build_model(seed: int = 0, **changes: object) -> Qwen2ForCausalLM:
    """Weights wide enough that the next token is far from uniform."""
    torch.manual_seed(seed)
    settings: dict[str, object] = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 64,
        "vocab_size": VOCABULARY,
        "tie_word_embeddings": True,
        "max_position_embeddings": 256,
        "initializer_range": 0.3,
    }
    model = Qwen2ForCausalLM(Qwen2Config(**(settings | changes)))  # type: ignore[arg-type]
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias") or "norm" in name:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return model.float().eval()


def make_policy(
    model: Qwen2ForCausalLM, tokenizer: PreTrainedTokenizerFast, settings: Choice | None = None, seed: int = 0
) -> Policy:
    trainer = PeftTrainer(model, settings, seed)
    return join(trainer, tokenizer, trainer.choice, seed)


def trainer(policy: Policy) -> PeftTrainer:
    """The policy's trainer, for tests that look inside."""
    assert isinstance(policy.trainer, PeftTrainer)
    return policy.trainer


def rows(ids: tuple[int, ...]) -> Rows:
    """One conversation of which all but the first id are scored."""
    ids_BT = torch.tensor([ids])
    return Rows(ids_BT, torch.ones_like(ids_BT), torch.arange(len(ids))[None] > 0)


def stir(policy: Policy, seed: int = 1) -> Policy:
    """Give every LoRA B a value: while it is zero, an ignored adapter goes unnoticed."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in trainer(policy).model.named_parameters():
        if "lora_B" in name:
            parameter.data.copy_(torch.randn(parameter.shape, generator=generator) * 0.1)
    for role in ROLES:
        policy.sampler.weights_changed(role)
    return policy


@pytest.fixture
def policy(tokenizer: PreTrainedTokenizerFast) -> Policy:
    return stir(make_policy(build_model(), tokenizer, Choice(rank=4, alpha=8), seed=0))


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory, tokenizer: PreTrainedTokenizerFast) -> Path:
    folder = tmp_path_factory.mktemp("model")
    build_model().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def request(
    ids: tuple[int, ...], problem: str = "p", branch: int = 0, stage: int = 1, role: Role = "generator"
) -> Request:
    return Request(TurnKey(0, problem, role, branch, stage), ids)
