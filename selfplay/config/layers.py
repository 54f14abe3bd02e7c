"""Sources of a configuration, laid over each other: defaults by kind of model, preset, file, and what was given last.

`Config(**given)` and `configure(given)` are the same, so a keyword, a flag and a line of YAML all end in one table of
values. Unknown keys are errors with a suggestion; the prototype's names say what they are called here.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from selfplay import plugins
from selfplay.config.knobs import Knobs, hints
from selfplay.config.values import ConfigError, is_nothing, read, spelled
from selfplay.errors import UnknownName, suggestion

Values = dict[str, Any]

CARDS = {"t4": 14.7, "l4": 22.1, "a100": 39.5, "h100": 79.1}  # GiB that PyTorch finds on the usual kinds
_SMALL = {"problems_per_step": 4, "num_generations": 4, "num_targets": 2}  # of a step
PRESETS: dict[str, Values] = {
    "smoke": {"n_discriminator_steps": 1, "n_generator_steps": 1, "k": 1, **_SMALL, "eval_problems": (4, 8)},
    # Sized by the memory plan (learning/memory.py, docs/real-models.md), not yet run on these cards.
    "t4": {
        "model": "Qwen/Qwen2.5-Coder-1.5B-Instruct",
        **_SMALL,
        "micro_batch_tokens": 2048,
        "eval_problems": (8, 16),
    },
    "l4": {"model": "Qwen/Qwen2.5-Coder-7B-Instruct", **_SMALL, "eval_problems": (8, 16)},
    "a100": {"model": "Qwen/Qwen2.5-Coder-7B-Instruct", "micro_batch_tokens": 8192, "eval_problems": (20, 40)},
    "h100": {
        "model": "Qwen/Qwen2.5-Coder-14B-Instruct",
        "problems_per_step": 16,
        "micro_batch_tokens": 16384,
        "eval_problems": (20, 40),
    },
}
RENAMED = {  # the prototype's names
    "generator_model": "model",
    "discriminator_model": "model",
    "clip_epsilon": "epsilon",
    "max_new_tokens": "max_completion_length",
    "K": "k",
}
_BY_KIND = {each.name for each in fields(Knobs) if "model" in each.metadata}
ANEW = {each.name for each in fields(Knobs) if each.metadata["anew"]}  # what a resumed run may be given
PLUGGED = ("rewards", "problems", "sampler", "backend", "callbacks")  # keys that take references and objects
RUN_FILE, CHECKPOINTS = "config.yaml", "checkpoints"  # of a run's folder, where `resume` finds what was configured
MADE_WITH = "made_with"  # what a run folder's config.yaml says beyond the keys; not read back


class Config(Knobs):
    """One run, with nothing left open but what only the model can tell. Any key may be given; the others get what suits."""

    __slots__ = ()

    def __init__(self, **given: Any) -> None:
        """Raises ConfigError, UnknownName."""
        super().__init__(**_resolved(checked(given)))


def configure(given: Mapping[str, object] | None = None, file: str | Path | None = None) -> Config:
    """These values over a YAML file's, both over preset and defaults. Raises ConfigError, UnknownName."""
    return Config(**given_values(given or {}, file))


def given_values(given: Mapping[str, object], file: str | Path | None = None) -> Values:
    """What was given and no more: these values over a YAML file's, by the types of their keys."""
    return (from_yaml(Path(file)) if file else {}) | checked(given)


def fitting_preset(gib: float) -> str | None:
    """The preset of the largest card whose memory a GPU of so many GiB has too; None where it is smaller than all."""
    # Cards of one kind differ by a little in what is left to PyTorch.
    return max((name for name, size in CARDS.items() if size <= 1.03 * gib), key=lambda name: CARDS[name], default=None)


def defaults(embedded: bool) -> Values:
    """What each key is for the embedded player, or for a model."""
    own = {each.name: each.default for each in fields(Knobs)}
    if embedded:
        return own
    return own | {each.name: each.metadata["model"] for each in fields(Knobs) if "model" in each.metadata}


def _resolved(given: Values) -> Values:
    """A value for every key."""
    given = _resumed(given) if given.get("resume") else given
    preset = given.get("preset")
    if preset is not None and preset not in PRESETS:
        raise UnknownName("preset", preset, PRESETS)
    chosen = PRESETS.get(preset or "", {}) | given
    chosen = {name: value for name, value in chosen.items() if value is not None or name not in _BY_KIND}
    return _settled(defaults(chosen.get("model") is None) | chosen)


def _resumed(given: Values) -> Values:
    """What the run in the folder `resume` was configured with, and over it what may be given anew. Raises ConfigError."""
    run = run_folder(given["resume"])
    if not (run / RUN_FILE).is_file():
        raise ConfigError(
            f"there is nothing to resume in {run}: it holds no {RUN_FILE}; name the --output-dir of a run"
        )
    kept = from_yaml(run / RUN_FILE) | {"output_dir": str(run)}
    for name, value in given.items():
        if name in ANEW or value == kept.get(name):
            continue
        if name == "output_dir":
            raise ConfigError(f"a resumed run goes on in its own folder, {run}; leave out output_dir, here {value}")
        raise ConfigError(
            f"{name} is {spelled(value)}, but the run in {run} began with {spelled(kept.get(name))}, and its "
            "steps so far were computed with that; leave it out, or begin a new run on its adapters (init_from). Anew may be "
            f"given: {', '.join(sorted(ANEW))}"
        )
    return kept | {name: value for name, value in given.items() if name in ANEW}


def run_folder(path: str) -> Path:
    """The run that is meant by its folder or by the folder of one of its checkpoints."""
    folder = Path(path)
    return Path(os.path.normpath(folder / "../..")) if folder.absolute().parent.name == CHECKPOINTS else folder


def checked(given: Mapping[str, object]) -> Values:
    """The values by the types of their keys."""
    strangers = [name for name in given if name not in hints()]
    if strangers:
        raise unknown(strangers, given, hints())
    given = {name: _in_words(name, value) for name, value in given.items()}
    models = given.get("model")
    if isinstance(models, list | tuple) and len(models) > 1:
        raise two_models(*models[:2])
    return {name: _value(name, value) for name, value in given.items()}


def _in_words(name: str, value: object) -> object:
    """With references in place of objects."""
    if name == "callbacks" and isinstance(value, list | tuple):
        return tuple(map(plugins.word, value)) or None
    return plugins.word(value) if name in PLUGGED or isinstance(value, os.PathLike) else value


def _value(name: str, value: object) -> Any:
    if name in PLUGGED and plugins.is_reference(value):
        return value
    return None if name in _BY_KIND and is_nothing(value) else read(name, value, hints()[name])


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
    """What to say where each role was given a model of its own."""
    return ConfigError(
        f"two models, {one} and {other}: one model plays both roles here, with an adapter each; "
        f"give one of them as {_spelled('model', dashes)}"
    )


def from_yaml(path: Path) -> Values:
    """A file's values. Raises ConfigError naming the file."""
    import yaml  # not needed for --help

    try:
        text = path.read_text(encoding="utf-8")
        document, twice = yaml.safe_load(text), _given_twice(text)
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
    if twice:
        raise ConfigError(f"{path}: {twice[0]!r} is given twice, the second time in line {twice[1]}; keep one of them")
    try:
        return checked({str(name): value for name, value in document.items() if name != MADE_WITH})
    except (ConfigError, UnknownName) as error:
        raise ConfigError(f"{path}: {error}") from None


def _given_twice(text: str) -> tuple[str, int] | None:
    """The first key that a YAML table repeats, and the line where it does; YAML itself keeps the last, silently."""
    import yaml

    table = yaml.compose(text, Loader=yaml.SafeLoader)
    seen: set[str] = set()
    for key, _ in table.value if isinstance(table, yaml.MappingNode) else ():
        if key.value in seen:
            return key.value, key.start_mark.line + 1
        seen.add(key.value)
    return None


def _settled(values: Values) -> Values:
    """With `auto` decided where that takes no look at a GPU: the embedded player runs on the CPU."""
    settled = dict(values)
    given = [settled.get(name) for name in PLUGGED]
    here = [
        each for value in given for each in (value if isinstance(value, tuple) else (value,)) if plugins.is_here(each)
    ]
    if settled.get("model") is None and settled.get("device", "auto") == "auto":
        settled["device"] = "cpu"
    if settled.get("processes", "auto") == "auto":
        small = settled.get("model") is None and settled["device"] == "cpu" and not here
        settled["processes"] = min(2, cores()) if small else 1
    if here and settled["processes"] > 1:
        raise ConfigError(
            f"processes is {settled['processes']}, but no other process can import {here[0]}: put it into a module and give "
            "module:name, or give processes=1"
        )
    return settled


def cores() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _spelled(name: str, dashes: str) -> str:
    return f"{dashes}{name.replace('_', '-')}" if dashes else repr(name)
