"""The trainer over Unsloth: the same two adapters and the same update, by its kernels on a CUDA GPU.

Unsloth must be imported before transformers and peft, which it patches, so this module is imported only when its backend is
taken, and then first. On a CPU it is stock transformers and PEFT. What it does to a model stays in here: loading, adapters by
its public recipe, its two modes, autocast. Tokenizer and chat stay ours: its loader reads some tokenizers differently and may
add rows to the embedding. It cuts rows at `max_seq_length` in silence, so no row of ours reaches it. fp16 needs no loss
scaling: the loss is a sum over tokens, not a mean, and the mean is taken of its gradient in fp64.
"""

from __future__ import annotations

import os
import sys
import tempfile
from copy import deepcopy
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from selfplay.errors import install
from selfplay.learning.policy.errors import PolicyError
from selfplay.learning.policy.settings import Choice

# Otherwise it writes a folder of generated code into the working directory.
os.environ.setdefault("UNSLOTH_COMPILE_LOCATION", str(Path(tempfile.gettempdir()) / f"unsloth_{os.getuid()}"))
# Otherwise it rounds the fp32 activations that it offloads to bf16, and the gradient is not that of the forward pass.
os.environ.setdefault("UNSLOTH_OFFLOAD_FP32", "exact")

try:
    _unsloth: Any = import_module("unsloth")
    FastLanguageModel = _unsloth.FastLanguageModel
except ImportError as trouble:
    raise PolicyError(
        f"unsloth cannot be imported ({trouble}): {install('gpu')}, or give --backend transformers"
    ) from trouble

import torch
from torch import Tensor
from transformers import AutoConfig

from selfplay.game.episode import ROLES, Role
from selfplay.learning.policy import hf
from selfplay.learning.policy.adapters import Adapters
from selfplay.learning.policy.protocol import Rows
from selfplay.learning.policy.trainer import PeftTrainer
from selfplay.run.adapters import UNKNOWN, Base


def open_trainer(source: str | Path, choice: Choice, seed: int, device: str) -> UnslothTrainer:
    """A trainer over the model in a folder or on the hub. Raises PolicyError."""
    place = hf.pick_device(device)
    if place.type == "cpu" and torch.cuda.is_available():
        raise PolicyError("backend unsloth takes the GPU that is there; give --backend transformers with --device cpu")
    try:
        config = AutoConfig.from_pretrained(str(source), trust_remote_code=False).get_text_config()
        whole = getattr(config, "max_position_embeddings", sys.maxsize)
        # One more than a row may have; beyond what the model knows it would stretch the positions.
        longest = min(whole, choice.context + 1)
        model, _ = FastLanguageModel.from_pretrained(
            model_name=str(source),
            max_seq_length=longest,
            dtype=getattr(torch, choice.dtype),
            load_in_4bit=choice.four_bit,
            use_gradient_checkpointing=checkpointing(choice),
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise PolicyError(f"unsloth could not load {source}: {error}") from error
    rows = model.get_input_embeddings().weight.shape[0]
    if rows != config.vocab_size:
        raise PolicyError(
            f"unsloth made {rows} rows of the {config.vocab_size} of the model's embedding, so its adapters would load nowhere "
            "else; give --backend transformers"
        )
    if choice.four_bit and not getattr(model, "is_quantized", False):
        raise PolicyError(
            f"unsloth did not load {source} in 4 bit; give --load-in-4bit false, or --backend transformers"
        )
    return UnslothTrainer(model, replace(choice, context=longest - 1), seed, hf.base(source))


def checkpointing(choice: Choice) -> Literal["unsloth", False]:
    return "unsloth" if choice.checkpointing else False


class UnslothTrainer(PeftTrainer):
    """A `Trainer` over a model that Unsloth loaded, which it owns from then on."""

    def __init__(self, model: Any, choice: Choice, seed: int = 0, base: Base = UNKNOWN) -> None:
        self._mode = ""
        super().__init__(model, replace(choice, fast=False), seed, base)

    @property
    def sampler(self) -> Literal["own", "generate"]:
        return "generate"

    def _shares(self, model: Any) -> bool:
        return False  # on CUDA its layers attend by functions of their own

    def ready_to_play(self) -> Any:
        if self._mode != "playing":
            FastLanguageModel.for_inference(self.model)
            self._mode = "playing"
        return self.model

    def _ready_to_train(self) -> Any:
        if self._mode != "training":
            FastLanguageModel.for_training(self.model, use_gradient_checkpointing=checkpointing(self.choice))
            self._mode = "training"
        return self.model

    def _adapted(self, model: Any, seed: int) -> Adapters:
        """By the public recipe, which names its adapter "default"; each role's is a further one with the same settings, seeded
        as under transformers. The global random state, which all of this moves, is put back."""
        choice = self.choice
        with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
            adapted = FastLanguageModel.get_peft_model(
                model,
                r=choice.rank,
                lora_alpha=choice.alpha,
                lora_dropout=0,
                target_modules=choice.targets if isinstance(choice.targets, str) else list(choice.targets),
                bias="none",
                use_gradient_checkpointing=checkpointing(choice),
                random_state=seed,
            )
            common = adapted.peft_config["default"]
            for i, role in enumerate(ROLES):
                torch.manual_seed(seed * 2 + i)
                adapted.add_adapter(role, deepcopy(common))
            adapted.delete_adapter("default")
        adapted.requires_grad_(False)
        return Adapters(adapted, self.base)

    def _logprobs(self, role: Role | None, rows: Rows, temperature: float) -> tuple[Tensor, Tensor]:
        # Its `generate` runs under autocast, other than on its CPU backend, so scoring must.
        dtype: Any = self.model.get_base_model().dtype
        half = _unsloth.DEVICE_TYPE != "cpu" and dtype != torch.float32
        with torch.autocast(self.device.type, dtype=dtype if half else None, enabled=half):
            return super()._logprobs(role, rows, temperature)
