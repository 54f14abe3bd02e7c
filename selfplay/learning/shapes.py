"""The sizes of a language model that say how much memory it takes, counted on transformers' own model without its data.

A model's config.json is its folder's, the hub's, or that of a usual model, for which no network is asked. Covers dense decoders
whose layers are made as Llama's (Llama, Mistral, Qwen, Gemma, ...). Mixtures of experts and layers without attention are
refused: their memory goes by other rules, and a wrong plan is worse than none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selfplay.errors import SelfplayError
from selfplay.learning.policy import PolicyError, check_kind

_WRITERS = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")
_LINEARS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")  # of a layer


class ShapeUnknown(SelfplayError):
    """A model's memory follows rules that the plan does not know."""


@dataclass(frozen=True, slots=True)
class ModelShape:
    """Sizes in numbers, not bytes. `context`: the most tokens of a row. `linears`: of a layer, (inputs, outputs).

    `linear_weights`: of all layers, what 4 bit makes smaller; `other_weights` stay at the model's own precision.
    """

    hidden: int
    intermediate: int
    layers: int
    heads: int
    kv_heads: int
    head_size: int
    vocabulary: int
    context: int
    linears: Mapping[str, tuple[int, int]]
    linear_weights: int
    other_weights: int
    head_norms: bool

    @property
    def queries(self) -> int:
        """Width of a token's queries; of its keys, and of its values, it is `keys`."""
        return self.heads * self.head_size

    @property
    def keys(self) -> int:
        return self.kv_heads * self.head_size


def _keys(kind: str, *sizes: int, tied: bool = False) -> dict[str, Any]:
    names = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads")
    rest = {"vocab_size": 152_064 if kind == "qwen2" and not tied else 151_936, "tie_word_embeddings": tied}
    more = (
        {"max_position_embeddings": 32_768} if kind == "qwen2" else {"max_position_embeddings": 40_960, "head_dim": 128}
    )
    return {"model_type": kind, **dict(zip(names, sizes, strict=True)), **rest, **more}


# From the published configurations: models that presets, pages and benchmarks name.
USUAL: Mapping[str, Mapping[str, Any]] = {
    "qwen2.5-0.5b": _keys("qwen2", 896, 4864, 24, 14, 2, tied=True),
    "qwen2.5-1.5b": _keys("qwen2", 1536, 8960, 28, 12, 2, tied=True),
    "qwen2.5-7b": _keys("qwen2", 3584, 18_944, 28, 28, 4),
    "qwen2.5-14b": _keys("qwen2", 5120, 13_824, 48, 40, 8),
    "qwen2.5-32b": _keys("qwen2", 5120, 27_648, 64, 40, 8),
    "qwen3-1.7b": _keys("qwen3", 2048, 6144, 28, 16, 8, tied=True),
    "qwen3-4b": _keys("qwen3", 2560, 9728, 36, 32, 8, tied=True),
    "qwen3-8b": _keys("qwen3", 4096, 12_288, 36, 32, 8),
}


def usual(model: str) -> Mapping[str, Any] | None:
    """The config.json of a usual model, or of one that was made from it, by its name."""
    if Path(model).is_dir() or "/" not in model:
        return None
    named = re.match(r"(qwen2\.5|qwen3)(?:-coder)?-([\d.]+b)(?![^-])", model.rpartition("/")[2].lower())
    return USUAL.get("-".join(named.groups())) if named else None


def model_config(model: str) -> dict[str, Any]:
    """A model's config.json. Raises PolicyError where there is none, or none of a model that two players can be made of."""
    file = model_file(model, "config.json")
    if file is None and usual(model) is None:
        raise PolicyError(f"{model} holds no config.json; give the folder of a model, or a hub name")
    config = dict(usual(model) or {}) if file is None else read_table(file)
    writes = [str(each) for each in config.get("architectures") or ()]
    if writes and not any(each.endswith(_WRITERS) for each in writes):
        raise PolicyError(f"{model} is a {', '.join(writes)}, no causal language model; choose one that writes text")
    quantised = config.get("quantization_config") or {}
    method = quantised.get("quant_method", "bitsandbytes") + (" to 8 bit" if quantised.get("load_in_8bit") else "")
    if method != "bitsandbytes":
        raise PolicyError(
            f"{model} is quantised by {method}, which adapters here do not train on; choose the unquantised model, which is "
            "loaded in 4 bit where bitsandbytes is installed"
        )
    check_kind(model, config)
    return config


def model_file(model: str, name: str) -> Path | None:
    """A file of a model's folder or of the hub; None where there is none. Of a usual model none is fetched.

    Raises PolicyError where the hub does not give it.
    """
    if Path(model).is_dir():
        return file if (file := Path(model) / name).is_file() else None
    from huggingface_hub import hf_hub_download, try_to_load_from_cache
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        file = try_to_load_from_cache(model, name)
        if file is None and usual(model) is None:
            file = hf_hub_download(model, name)
    except HFValidationError:
        raise PolicyError(f"{model} is neither a folder nor a hub name such as Qwen/Qwen3-4B") from None
    except (EntryNotFoundError, HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        why = str(error).strip().partition("\n")[0].rstrip(".")
        raise PolicyError(
            f"{model} is no folder here, and the hub did not give its {name} ({why}); look at the name, at the network, and "
            "for a private or gated model at `hf auth login`"
        ) from None
    return Path(file) if isinstance(file, str) else None


def read_table(file: Path) -> dict[str, Any]:
    """A JSON object. Raises PolicyError where it cannot be read or is none."""
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PolicyError(f"{file} cannot be read ({error}); give a folder with a model's config.json") from None
    if not isinstance(config, dict):
        raise PolicyError(f"{file} holds no table of keys; give a folder with a model's config.json")
    return config


def shape_of(config: Mapping[str, Any]) -> ModelShape:
    """Of a config.json, its language part where there are several. Raises ShapeUnknown."""
    import torch
    from huggingface_hub.errors import StrictDataclassError
    from transformers import AutoConfig, AutoModelForCausalLM

    config = config.get("text_config") or config
    kind = str(config.get("model_type", "unknown"))
    if missing := {"hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"} - config.keys():
        raise ShapeUnknown(
            f"the configuration of a {kind} model lacks {', '.join(sorted(missing))}: no plan can be made"
        )
    keys = {name: value for name, value in config.items() if name not in ("model_type", "quantization_config")}
    try:
        known = AutoConfig.for_model(kind, **keys)
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(known)
    except (StrictDataclassError, AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        why = " ".join(str(error).split())[:200]
        raise ShapeUnknown(f"no {kind} model can be made of its configuration ({why}): no plan can be made") from None
    numbers = {name: parameter.numel() for name, parameter in model.named_parameters()}
    linears = {name: each for name, each in model.named_modules() if name.rpartition(".")[2] in _LINEARS}
    of_layer = {name.rpartition(".")[2]: (each.weight.shape[1], each.weight.shape[0]) for name, each in linears.items()}
    weights = sum(each.weight.numel() for each in linears.values())
    strange = [name for name, each in model.named_modules() if "expert" in name or "router" in name]
    if strange or len(linears) != known.num_hidden_layers * len(_LINEARS):
        what = f"a mixture of experts ({strange[0]})" if strange else f"not built of layers of {', '.join(_LINEARS)}"
        raise ShapeUnknown(f"a {kind} model is {what}: this plan cannot tell its memory; watch the first steps")
    heads = known.num_attention_heads
    return ModelShape(
        hidden=known.hidden_size,
        intermediate=known.intermediate_size,
        layers=known.num_hidden_layers,
        heads=heads,
        kv_heads=getattr(known, "num_key_value_heads", None) or heads,
        head_size=getattr(known, "head_dim", None) or known.hidden_size // heads,
        vocabulary=known.vocab_size,
        context=getattr(known, "max_position_embeddings", None) or 1 << 30,
        linears=of_layer,
        linear_weights=weights,
        other_weights=sum(numbers.values()) - weights,
        head_norms=any("q_norm" in name for name in numbers),
    )
