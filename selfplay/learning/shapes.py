"""The sizes of a language model that say how much memory it takes: from its config.json, or from a table of usual models.

Plain Python, so that a plan can be made without torch, without the weights and without a network. Covers dense decoders
of the Llama kind (Llama, Mistral, Qwen, Gemma, ...). Mixtures of experts and layers without attention are refused: their
memory goes by other rules, and a wrong plan is worse than none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selfplay.errors import SelfplayError

_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_intermediate_size")
_WRITERS = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")
_TIED_BY_DEFAULT = ("gemma", "gemma2", "gemma3_text", "cohere")


class ShapeUnknown(SelfplayError):
    """Nothing is known of the model's sizes, or they follow rules that the plan does not know."""


@dataclass(frozen=True, slots=True)
class ModelShape:
    """Sizes in numbers, not bytes. `tied`: the head is the embedding. `context`: the most tokens of a row."""

    hidden: int
    intermediate: int
    layers: int
    heads: int
    kv_heads: int
    head_size: int
    vocabulary: int
    tied: bool
    context: int
    qkv_bias: bool = False
    head_norms: bool = False

    @property
    def queries(self) -> int:
        """Width of a token's queries; of its keys, and of its values, it is `keys`."""
        return self.heads * self.head_size

    @property
    def keys(self) -> int:
        return self.kv_heads * self.head_size

    @property
    def linears(self) -> dict[str, tuple[int, int]]:
        """(inputs, outputs) of a layer's linear modules, by name."""
        return {
            "q_proj": (self.hidden, self.queries),
            "k_proj": (self.hidden, self.keys),
            "v_proj": (self.hidden, self.keys),
            "o_proj": (self.queries, self.hidden),
            "gate_proj": (self.hidden, self.intermediate),
            "up_proj": (self.hidden, self.intermediate),
            "down_proj": (self.intermediate, self.hidden),
        }

    @property
    def linear_weights(self) -> int:
        """Of all layers: what 4 bit makes smaller."""
        return self.layers * sum(inputs * outputs for inputs, outputs in self.linears.values())

    @property
    def other_weights(self) -> int:
        """Embedding, head, norms and biases: what stays at the model's own precision."""
        norms = 2 * self.hidden + (2 * self.head_size if self.head_norms else 0)
        biases = self.queries + 2 * self.keys if self.qkv_bias else 0
        return self.vocabulary * self.hidden * (1 if self.tied else 2) + self.layers * (norms + biases) + self.hidden


Sizes = tuple[int, int, int, int, int, int]  # hidden, intermediate, layers, heads, key-value heads, head size


def _qwen2(sizes: Sizes, vocabulary: int = 152_064, tied: bool = False) -> ModelShape:
    return ModelShape(*sizes, vocabulary, tied, context=32_768, qkv_bias=True)


def _qwen3(sizes: Sizes, tied: bool = False) -> ModelShape:
    return ModelShape(*sizes, 151_936, tied, context=40_960, head_norms=True)


def _llama(sizes: Sizes, vocabulary: int, context: int, tied: bool = False) -> ModelShape:
    return ModelShape(*sizes, vocabulary, tied, context)


# From the models' published configurations.
USUAL: Mapping[tuple[str, str], ModelShape] = {
    ("qwen2.5", "0.5b"): _qwen2((896, 4864, 24, 14, 2, 64), 151_936, tied=True),
    ("qwen2.5", "1.5b"): _qwen2((1536, 8960, 28, 12, 2, 128), 151_936, tied=True),
    ("qwen2.5", "3b"): _qwen2((2048, 11_008, 36, 16, 2, 128), 151_936, tied=True),
    ("qwen2.5", "7b"): _qwen2((3584, 18_944, 28, 28, 4, 128)),
    ("qwen2.5", "14b"): _qwen2((5120, 13_824, 48, 40, 8, 128)),
    ("qwen2.5", "32b"): _qwen2((5120, 27_648, 64, 40, 8, 128)),
    ("qwen3", "0.6b"): _qwen3((1024, 3072, 28, 16, 8, 128), tied=True),
    ("qwen3", "1.7b"): _qwen3((2048, 6144, 28, 16, 8, 128), tied=True),
    ("qwen3", "4b"): _qwen3((2560, 9728, 36, 32, 8, 128), tied=True),
    ("qwen3", "8b"): _qwen3((4096, 12_288, 36, 32, 8, 128)),
    ("qwen3", "14b"): _qwen3((5120, 17_408, 40, 40, 8, 128)),
    ("qwen3", "32b"): _qwen3((5120, 25_600, 64, 64, 8, 128)),
    ("llama-3.2", "1b"): _llama((2048, 8192, 16, 32, 8, 64), 128_256, 131_072, tied=True),
    ("llama-3.2", "3b"): _llama((3072, 8192, 28, 24, 8, 128), 128_256, 131_072, tied=True),
    ("llama-3", "8b"): _llama((4096, 14_336, 32, 32, 8, 128), 128_256, 8192),
    ("llama-3.1", "8b"): _llama((4096, 14_336, 32, 32, 8, 128), 128_256, 131_072),
    ("mistral", "7b"): _llama((4096, 14_336, 32, 32, 8, 128), 32_768, 32_768),
}


def shape_of(model: str | Path) -> ModelShape:
    """Of a model's folder, of one that was downloaded before, or of a usual name. Raises ShapeUnknown. Asks no network."""
    config = known_config(model)
    return _by_name(str(model)) if config is None else from_config(config)


def known_config(model: str | Path, fetch: bool = False) -> dict[str, Any] | None:
    """The config.json of a folder or in the hub's local cache; None where there is none.

    `fetch`: of a hub name get it, if it is not there. Raises ShapeUnknown where a folder holds none, where it cannot be
    read, or where the hub does not give it.
    """
    file = known_file(model, "config.json", fetch)
    if file is None and Path(model).is_dir():
        raise ShapeUnknown(f"{model} holds no config.json; give the folder of a model, or a hub name")
    return None if file is None else read_table(file)


def known_file(model: str | Path, name: str, fetch: bool = False) -> Path | None:
    """A file of a folder or in the hub's local cache; None where there is none. `fetch` and errors as above."""
    if Path(model).is_dir():
        return file if (file := Path(model) / name).is_file() else None
    from huggingface_hub import hf_hub_download, try_to_load_from_cache
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        found = try_to_load_from_cache(str(model), name)
        if found is None and fetch:
            found = hf_hub_download(str(model), name)
    except HFValidationError:
        if fetch:
            raise ShapeUnknown(f"{model} is neither a folder nor a hub name such as Qwen/Qwen3-4B") from None
        return None
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise ShapeUnknown(
            f"{model} is no folder here, and the hub did not give its {name} ({_first_line(error)}); look at the name, at "
            "the network, and for a private or gated model at `hf auth login`"
        ) from None
    return Path(found) if isinstance(found, str) else None


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")


def read_table(file: Path) -> dict[str, Any]:
    """A JSON object. Raises ShapeUnknown where it cannot be read or is none."""
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ShapeUnknown(f"{file} cannot be read ({error}); give a folder with a model's config.json") from None
    if not isinstance(config, dict):
        raise ShapeUnknown(f"{file} holds no table of keys; give a folder with a model's config.json")
    return config


def refuse(model: str | Path, config: Mapping[str, Any]) -> None:
    """Raises ShapeUnknown where a configuration says that this is nothing that two players can be made of."""
    makes = [str(each) for each in config.get("architectures") or ()]
    if makes and not any(each.endswith(_WRITERS) for each in makes):
        raise ShapeUnknown(f"{model} is a {', '.join(makes)}, no causal language model; choose one that writes text")
    quantised = config.get("quantization_config") or {}
    method = quantised.get("quant_method", "bitsandbytes")
    if quantised.get("load_in_8bit"):
        method += " to 8 bit"
    if method != "bitsandbytes":
        raise ShapeUnknown(
            f"{model} is quantised by {method}, which adapters here do not train on; choose the unquantised model, which is "
            "loaded in 4 bit where bitsandbytes is installed"
        )


def _by_name(model: str) -> ModelShape:
    name = model.rsplit("/", 1)[-1].lower()
    found = [
        (family, shape)
        for (family, size), shape in USUAL.items()
        if name.removeprefix("meta-").startswith(f"{family}-") and re.search(rf"-{re.escape(size)}(-|$)", name)
    ]
    if not found or "-vl" in name:
        known = ", ".join(f"{family}-{size}" for family, size in USUAL)
        raise ShapeUnknown(
            f"{model} is no folder, was not downloaded here and is none of the usual models ({known}); "
            "give a folder that holds its config.json"
        )
    return max(found, key=lambda each: len(each[0]))[1]


def from_config(config: Mapping[str, Any]) -> ModelShape:
    """From the keys of a config.json, those of the language part where there are several. Raises ShapeUnknown."""
    config = config.get("text_config") or config
    kind = str(config.get("model_type", "unknown"))
    strange = [key for key in _EXPERTS if config.get(key)]
    kinds = set(config.get("layer_types") or ()) - {"full_attention", "sliding_attention"}
    if strange or kinds:
        what = f"a mixture of experts ({strange[0]})" if strange else f"built of {', '.join(sorted(kinds))} layers"
        raise ShapeUnknown(f"a {kind} model is {what}, whose memory this plan cannot tell; watch the first steps")
    try:
        heads, hidden = int(config["num_attention_heads"]), int(config["hidden_size"])
        return ModelShape(
            hidden,
            int(config["intermediate_size"]),
            int(config["num_hidden_layers"]),
            heads,
            int(config.get("num_key_value_heads") or heads),
            int(config.get("head_dim") or hidden // heads),
            int(config["vocab_size"]),
            bool(config.get("tie_word_embeddings", kind in _TIED_BY_DEFAULT)),
            int(config.get("max_position_embeddings") or 1 << 30),
            qkv_bias=kind == "qwen2" or bool(config.get("attention_bias")),
            head_norms=kind in ("qwen3", "gemma3_text"),
        )
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise ShapeUnknown(f"a {kind} model's configuration lacks or garbles {error}: no plan can be made") from None
