"""Sources of a configuration, laid over each other: defaults, kind of model, preset, file, and what was given last.

Unknown keys are errors with a suggestion; the prototype's names say what they are called here.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from selfplay.config.knobs import Config, hints
from selfplay.config.values import ConfigError, read
from selfplay.errors import UnknownName, suggestion

Values = dict[str, Any]

EMBEDDED: Values = {
    "max_completion_length": 96,
    "prompts": "compact",
    # Its weights are five times as large as usual, so its adapters are scaled up; few ranks carry less noise.
    "lora_rank": 8,
    "lora_alpha": 80,
    "problems_per_step": 32,
    "learning_rate": 4e-3,
    "generator_learning_rate": 2.5e-3,
    "num_suites": 3,
    "micro_batch_tokens": 2048,  # two processes stay within 2 GiB
}
MODEL: Values = {
    "max_completion_length": 512,
    "prompts": "instruct",
    "problems": "handwritten",
    "problems_per_step": 8,
    "learning_rate": 2e-5,
    "eval_problems": 10,
    "final_eval_problems": 40,
}
PRESETS: dict[str, Values] = {
    "smoke": {
        "n_discriminator_steps": 1,
        "n_generator_steps": 1,
        "k": 1,
        "problems_per_step": 4,
        "num_generations": 4,
        "num_targets": 2,
        "sample_every": 5,
        "eval_problems": 4,
        "final_eval_problems": 8,
    },
    # Sized by arithmetic for 16 GB, not yet run on that card.
    "t4": {
        "model": "Qwen/Qwen2.5-Coder-1.5B-Instruct",
        "problems_per_step": 4,
        "num_generations": 4,
        "num_targets": 2,
        "micro_batch_tokens": 2048,
        "sample_every": 1,
        "eval_problems": 8,
        "final_eval_problems": 16,
    },
}
RENAMED = {  # the prototype's names
    "generator_model": "model",
    "discriminator_model": "model",
    "clip_epsilon": "epsilon",
    "max_new_tokens": "max_completion_length",
    "K": "k",
}
MADE_WITH = "made_with"  # what a run folder's config.yaml says beyond the keys; not read back


def configure(given: Mapping[str, object] | None = None, file: str | Path | None = None) -> Config:
    """These values over a YAML file's, both over preset and defaults. Raises ConfigError, UnknownName."""
    values = (from_yaml(Path(file)) if file else {}) | checked(given or {})
    preset = values.get("preset")
    if preset is not None and preset not in PRESETS:
        raise UnknownName("preset", preset, PRESETS)
    values = PRESETS.get(preset or "", {}) | values
    by_model = EMBEDDED if values.get("model") is None else MODEL
    values = by_model | {name: value for name, value in values.items() if value is not None or name not in by_model}
    return Config(**_settled(values))


def checked(given: Mapping[str, object]) -> Values:
    """The values by the types of their keys."""
    strangers = [name for name in given if name not in hints()]
    if strangers:
        raise unknown(strangers, given, hints())
    models = given.get("model")
    if isinstance(models, list | tuple) and len(models) > 1:
        raise two_models(*models[:2])
    return {name: read(name, value, hints()[name]) for name, value in given.items()}


def unknown(
    names: Collection[str],
    given: Mapping[str, object],
    known: Collection[str],
    prog: str = "python -m selfplay.train",
    dashes: str = "",
) -> ConfigError:
    """What to say of keys that are not `known`. `dashes`: how they were written, as flags or as keys."""
    models = sorted({str(given[name]) for name in ("generator_model", "discriminator_model") if given.get(name)})
    if len(models) > 1:
        return two_models(models[0], models[1], dashes)

    def said(name: str) -> str:
        if name in RENAMED:
            return f"{_spelled(name, dashes)} is called {_spelled(RENAMED[name], dashes)} here; rename it"
        close = suggestion(name, known).replace("_", "-" if dashes else "_")
        return f"unknown key {_spelled(name, dashes)}{close}; `{prog} --help` lists them"

    return ConfigError("\n".join(said(name) for name in names))


def two_models(one: object, other: object, dashes: str = "") -> ConfigError:
    return ConfigError(
        f"two models, {one} and {other}: one model plays both roles here, with an adapter each; "
        f"give one of them as {_spelled('model', dashes)}"
    )


def from_yaml(path: Path) -> Values:
    """A file's values. Raises ConfigError naming the file."""
    import yaml  # not needed for --help

    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path} does not exist; --config takes a YAML file of keys and values") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read ({error}); give a YAML file in UTF-8") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not YAML: {' '.join(str(error).split())}; write lines such as `k: 2`") from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise ConfigError(f"{path} holds {type(document).__name__}, not keys with values; write lines such as `k: 2`")
    try:
        return checked({str(name): value for name, value in document.items() if name != MADE_WITH})
    except (ConfigError, UnknownName) as error:
        raise ConfigError(f"{path}: {error}") from None


def _settled(values: Values) -> Values:
    """With `auto` decided where that takes no look at a GPU: the embedded player runs on the CPU."""
    settled = dict(values)
    if settled.get("model") is None and settled.get("device", "auto") == "auto":
        settled["device"] = "cpu"
    if settled.get("processes", "auto") == "auto":
        small = settled.get("model") is None and settled["device"] == "cpu"
        settled["processes"] = min(2, cores()) if small else 1
    return settled


def cores() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _spelled(name: str, dashes: str) -> str:
    return f"{dashes}{name.replace('_', '-')}" if dashes else repr(name)
