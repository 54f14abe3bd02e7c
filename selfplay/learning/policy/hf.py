"""Loading a base model and its tokenizer with transformers.

In what precision is decided by learning/choice.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError
from transformers import (
    CONFIG_MAPPING,
    MODEL_FOR_CAUSAL_LM_MAPPING,
    AutoModelForCausalLM,
    AutoTokenizer,
    BitsAndBytesConfig,
    PreTrainedConfig,
    PreTrainedTokenizerFast,
)
from transformers.models.auto.tokenization_auto import get_tokenizer_config
from transformers.utils.hub import cached_file
from transformers.utils.logging import disable_progress_bar

from selfplay.learning.policy.errors import NO_CUDA, PolicyError
from selfplay.learning.policy.settings import EMBEDDED
from selfplay.run.adapters import Base, base_of

_TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "spiece.model")
_PLAIN_TOKENIZERS = ("PreTrainedTokenizerFast", "TokenizersBackend")


def pick_device(device: str = "auto") -> torch.device:
    """`auto`: this process's CUDA device where there is one."""
    if device not in ("auto", "cuda", "cpu"):
        raise PolicyError(f"unknown device {device!r}; choose auto, cuda or cpu")
    if device == "cuda" and not torch.cuda.is_available():
        raise PolicyError(NO_CUDA)
    if device == "cpu" or not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", torch.cuda.current_device())


def config_of(source: str | Path) -> Mapping[str, Any]:
    """The config.json of a model in a folder or on the hub; empty where there is none, which loading says better."""
    try:
        return PreTrainedConfig.get_config_dict(str(source))[0]
    except OSError:
        return {}


def check_kind(source: str | Path, config: Mapping[str, Any]) -> None:
    """Raises PolicyError where transformers makes no causal language model of this configuration. Code that comes with a model
    is never run; transformers would ask for leave on a terminal."""
    kind, known = config.get("model_type"), f"transformers {transformers.__version__}"
    if kind is None:
        return
    if kind not in CONFIG_MAPPING:
        brings = (
            ", and brings code of its own (auto_map in its config.json), which is not run"
            if config.get("auto_map")
            else ""
        )
        raise PolicyError(
            f"{source} is a {kind}, which {known} does not know{brings}; choose a model that it knows, or install a "
            "transformers that knows this one"
        )
    if CONFIG_MAPPING[kind] not in MODEL_FOR_CAUSAL_LM_MAPPING:
        raise PolicyError(
            f"{source} is a {kind}, of which {known} makes no causal language model; choose one that writes text"
        )


def load_model(source: str | Path, device: torch.device, four_bit: bool = False, dtype: str = "float32") -> Any:
    """A frozen model from a folder or a hub id. `dtype`: what it computes in, by PyTorch's name. Raises PolicyError."""
    if Path(source).is_dir():
        disable_progress_bar()  # nothing is fetched, so there is nothing to wait for
    try:
        how = _precision(device, four_bit, dtype)
        model = AutoModelForCausalLM.from_pretrained(str(source), trust_remote_code=False, **how)
    except (OSError, ValueError, ImportError, SafetensorError) as error:  # not there, half there, in need of a library
        raise PolicyError(f"no model could be loaded from {source}: {error}") from error
    if not getattr(model, "is_quantized", False):
        model.to(device)  # type: ignore[arg-type]
    keep_trainable(model)
    model.requires_grad_(False)
    return model.eval()


def keep_trainable(model: Any) -> None:
    """bitsandbytes packs 4-bit weights anew for some CPUs at the first pass without gradients, and gradients through a packed
    weight are wrong; told not to, it leaves them."""
    for module in model.modules():
        if hasattr(module, "support_avx512bf16_for_cpu"):
            module.support_avx512bf16_for_cpu = False


def load_tokenizer(source: str | Path) -> Any:
    """The tokenizer of a model in a folder or on the hub. Raises PolicyError."""
    folder = Path(source)
    if folder.is_dir() and not any((folder / name).is_file() for name in _TOKENIZER_FILES):
        raise PolicyError(f"{folder} holds no tokenizer ({', '.join(_TOKENIZER_FILES)}); save it beside the model")
    try:
        named = get_tokenizer_config(str(source)).get("tokenizer_class")
        # AutoTokenizer would rebuild a plain tokenizer.json as the model type's own class, with other splits.
        reader = PreTrainedTokenizerFast if named in _PLAIN_TOKENIZERS else AutoTokenizer
        return reader.from_pretrained(str(source), trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise PolicyError(f"no tokenizer could be loaded from {source}: {error}") from error


def _precision(device: torch.device, four_bit: bool, dtype: str) -> dict[str, Any]:
    computing = getattr(torch, dtype)
    if not four_bit:
        return {"dtype": computing}
    if find_spec("bitsandbytes") is None:
        raise PolicyError(
            "4 bit was asked for but bitsandbytes is not installed; pip install bitsandbytes or load in 16 bit"
        )
    quantised = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=computing,
    )
    place = "cpu" if device.type == "cpu" else device.index or 0
    return {"dtype": computing, "quantization_config": quantised, "device_map": {"": place}}


def base(source: str | Path) -> Base:
    """Name and digest of a model in a folder or, loaded already, from the hub."""
    folder = Path(source)
    if not folder.is_dir():
        return base_of(str(source), Path(str(cached_file(str(source), "config.json"))).parent)
    folder = folder.resolve()
    return base_of("embedded" if folder == EMBEDDED else folder.name, folder)
