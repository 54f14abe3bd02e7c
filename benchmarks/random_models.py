"""Models with random weights and a tokenizer made on the spot, saved as any other: the shapes of real ones, without a network.

What such a model writes means nothing and hardly ever ends, so every turn is as long as it may be.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from selfplay.learning.shapes import USUAL

TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SPECIAL = ["<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]
TINY = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 1024,
    "tie_word_embeddings": True,
    "max_position_embeddings": 4096,
}
SHAPES: Mapping[str, Mapping[str, Any]] = {
    "tiny": {"model_type": "qwen2", **TINY},
    "tiny3": {"model_type": "qwen3", **TINY},
    "tiny-llama": {"model_type": "llama", **TINY},
    "0.5b": USUAL["qwen2.5-0.5b"],
    "1.5b": USUAL["qwen2.5-1.5b"],
    "7b": USUAL["qwen2.5-7b"],
    "qwen3-1.7b": USUAL["qwen3-1.7b"],
}


def config(name: str) -> dict[str, Any]:
    """The configuration of a shape, as transformers has it."""
    return dict(SHAPES[name])


def make(name: str, folder: Path, device: str, dtype: str) -> None:
    """Saves a model of this shape and its tokenizer; made on `device`, where random numbers are cheap."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    keys = config(name)
    torch.manual_seed(0)
    with torch.device(device):
        made = AutoConfig.for_model(keys.pop("model_type"), **keys)
        model = AutoModelForCausalLM.from_config(made, dtype=getattr(torch, dtype))
    model.save_pretrained(folder)
    tokenizer().save_pretrained(folder)


def tokenizer() -> Any:
    """A token for each byte, and a chat template."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = [*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    raw = Tokenizer(models.BPE({token: i for i, token in enumerate(alphabet)}, []))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # type: ignore[assignment]
    raw.decoder = decoders.ByteLevel()  # type: ignore[assignment]
    made = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<|end|>", pad_token="<|end|>")
    made.add_special_tokens({"additional_special_tokens": SPECIAL[1:]})  # type: ignore[dict-item]
    made.chat_template = TEMPLATE
    return made
