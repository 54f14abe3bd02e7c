"""What `auto` comes to for a real model: backend, precision, how much is sampled at once; each with its reason.

A pure function of the configuration, the machine and the model's shape, decided before anything heavy is loaded. What
cannot work is refused here, in words. Left out: whether the decoder for small models applies, which only the loaded model
tells (learning/policy/opening.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, Literal

from selfplay import plugins
from selfplay.config import CARDS, Config
from selfplay.errors import SelfplayError, install
from selfplay.learning.memory import GIB, RESERVE, Precision, Use, fitted, plan, table
from selfplay.learning.plan import planned_steps
from selfplay.learning.policy import PolicyError, check_kind
from selfplay.learning.policy.errors import NO_CUDA
from selfplay.learning.shapes import ModelShape, ShapeUnknown, from_config, known_config, refuse, shape_of
from selfplay.learning.thoughts import may_think

Backend = str  # transformers, unsloth or a reference
DType = Literal["float32", "bfloat16", "float16"]

ROWS, PREFILL = 128, 8192
CACHE_MIB, CACHE_MIB_EMBEDDED = 1024, 64  # of keys and values kept between turns where no GPU's memory says more
PROBLEM_TOKENS, TURN_TOKENS = 400, 200  # of a problem's text, and of what a prompt adds to each turn: generous guesses
SLACK = 1.5  # how much longer than planned a conversation may become


@dataclass(frozen=True, slots=True)
class Machine:
    """What matters of a machine. `gib`: memory of its GPU, None without one."""

    gib: float | None = None
    bf16: bool = False
    bitsandbytes: bool = False
    unsloth: bool = False
    name: str = "this GPU"

    @property
    def cuda(self) -> bool:
        return self.gib is not None


@dataclass(frozen=True, slots=True)
class Choice:
    """Every key settled. `row_tokens`: of the longest conversation that is planned. `why` has the reason for each key that
    was `auto`."""

    backend: Backend
    sampler: str
    four_bit: bool
    dtype: DType
    checkpointing: bool
    row_tokens: int
    max_seq_length: int
    rows: int
    prefill_tokens: int
    why: Mapping[str, str]
    cache_mib: int = 0

    def facts(self) -> dict[str, Any]:
        """What was taken and why, as it is printed and stands in config.yaml."""
        cut = self.why.get("max_seq_length")
        return {
            "backend": f"{self.backend}: {self.why['backend']}",
            "base": f"{'4 bit, ' if self.four_bit else ''}{self.dtype}: {self.why['precision']}",
            "gradient_checkpointing": "on" if self.checkpointing else "off",
            "max_seq_length": f"{self.max_seq_length}: {cut}" if cut else self.max_seq_length,
            "generation_rows": f"{self.rows}: {self.why['generation_rows']}",
            "prefill_tokens": self.prefill_tokens,
            **({"kept_between_turns": f"{self.cache_mib} MiB of keys and values"} if self.cache_mib else {}),
        }


def this_machine(device: str) -> Machine:
    """As PyTorch sees it, or without its GPU where `device` is cpu. Raises PolicyError where it is cuda and there is none."""
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        raise PolicyError(NO_CUDA)
    bitsandbytes, unsloth = (find_spec(name) is not None for name in ("bitsandbytes", "unsloth"))
    if device == "cpu" or not torch.cuda.is_available():
        return Machine(bitsandbytes=bitsandbytes, unsloth=unsloth)
    gib = torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory / GIB
    bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
    return Machine(gib, bf16, bitsandbytes, unsloth, torch.cuda.get_device_name())


def card(preset: str) -> Machine | None:
    """The machine that a preset is named after, with everything installed; None for other presets."""
    if preset not in CARDS:
        return None
    return Machine(CARDS[preset], bf16=preset != "t4", bitsandbytes=True, unsloth=True, name=preset)


def choose(config: Config, machine: Machine, shape: ModelShape | None, thinks: bool = False) -> Choice:
    """Raises SelfplayError where what was asked for cannot be had. `shape` None: it is not known, nothing is fitted. `thinks`:
    turns may begin with a thought."""
    backend, because = _backend(config, machine)
    four_bit, dtype, precise = _precision(config, machine)
    context = shape.context if shape else 1 << 30
    planned = row_tokens(config, thinks)
    longest = _max_seq_length(config, context, planned)
    choice = Choice(
        backend,
        "generate" if backend == "unsloth" and machine.cuda and config.sampler == "auto" else config.sampler,
        four_bit,
        dtype,
        not config.embedded if config.gradient_checkpointing == "auto" else config.gradient_checkpointing,
        planned,
        longest,
        ROWS if config.generation_rows == "auto" else config.generation_rows,
        PREFILL,
        {
            "backend": because,
            "precision": precise,
            "generation_rows": "as it was set",
            **_cut(config, planned, longest),
        },
    )
    if choice.sampler == "own" and backend == "unsloth" and machine.cuda:
        raise SelfplayError(
            "sampler own cannot read the keys and values that Unsloth keeps on CUDA; give --sampler generate, or "
            "--backend transformers"
        )
    fitting = choice if config.generation_rows != "auto" else _with_rows(config, machine, shape, choice)
    return replace(fitting, cache_mib=_cache_mib(config, machine, shape, fitting))


def _with_rows(config: Config, machine: Machine, shape: ModelShape | None, choice: Choice) -> Choice:
    rows, reason = choice.rows, "the usual number"
    if shape is not None and machine.gib is not None:
        rows = fitted(shape, use(config, choice, shape), machine.gib).rows
        reason = f"what fits in {machine.gib:.1f} GiB by the memory plan"
    return replace(choice, rows=rows, why={**choice.why, "generation_rows": reason})


def _cache_mib(config: Config, machine: Machine, shape: ModelShape | None, choice: Choice) -> int:
    """What may be kept between turns: on a GPU what the plan of sampling leaves, at most a whole batch."""
    if choice.sampler == "generate":
        return 0
    if shape is None or machine.gib is None:
        return CACHE_MIB_EMBEDDED if config.embedded else CACHE_MIB
    made = plan(shape, use(config, choice, shape))
    left = int((machine.gib - RESERVE) * GIB) - sum(made.stays.values()) - sum(made.sampling.values())
    return max(0, min(left, made.sampling["keys and values"])) >> 20


def use(config: Config, choice: Choice, shape: ModelShape) -> Use:
    """What the memory plan asks about a run. The longest conversation is the one that fills every turn."""
    precision: Precision = "4 bit" if choice.four_bit else "32 bit" if choice.dtype == "float32" else "16 bit"
    return Use(
        precision,
        config.lora_rank,
        config.lora_target_modules,
        min(choice.row_tokens, choice.max_seq_length, shape.context),
        choice.rows,
        choice.prefill_tokens,
        config.micro_batch_tokens,
        choice.checkpointing,
        choice.cache_mib,
    )


def memory_plan(config: Config) -> tuple[str, bool]:
    """What a run would take, in lines, and whether it fits: on the preset's card, or on this machine.

    Nothing is loaded and nothing fetched. Raises ShapeUnknown where the model's sizes are not known here or it is none that can
    play, SelfplayError where the embedded player plays: it needs some hundred MiB anywhere.
    """
    if config.model is None:
        raise SelfplayError("the embedded player fits anywhere; give the --model, or a --preset, to plan for")
    machine = card(config.preset or "") or this_machine(config.device)
    if found := known_config(config.model):
        refuse(config.model, found)
        check_kind(config.model, found)  # asks transformers, which a name alone does not need
    shape = shape_of(config.model)
    choice = choose(config, machine, shape, may_think(config.model, config.thinking))
    taken = "".join(f"  {name.replace('_', ' ')}: {value}\n" for name, value in choice.facts().items())
    made = plan(shape, replace(use(config, choice, shape), cpu=not machine.cuda))
    text = f"{config.model}\n{taken}{table(made, machine.gib, machine.name)}"
    return text, machine.gib is None or made.fits(machine.gib)


def known_shape(model: str) -> ModelShape | str:
    """Of a model about to be loaded, whose config.json is fetched if need be; in words why not, where no plan can be made.

    Raises ShapeUnknown where the model is not there, or is none that can play.
    """
    config = known_config(model, fetch=True)
    assert config is not None
    refuse(model, config)
    try:
        return from_config(config)
    except ShapeUnknown as error:
        return str(error)


def check_room(config: Config, choice: Choice, shape: ModelShape, machine: Machine) -> str:
    """The memory plan in lines. Raises SelfplayError where not even what stays fits: then loading is of no use."""
    made = plan(shape, replace(use(config, choice, shape), cpu=not machine.cuda))
    lines = table(made, machine.gib, machine.name)
    if machine.gib is not None and sum(made.stays.values()) > machine.gib * GIB:
        raise SelfplayError(f"{config.model} does not fit on {machine.name}\n{lines}")
    return lines


def row_tokens(config: Config, thinks: bool = False) -> int:
    """The discriminator's conversation: at each stage it reads a turn and writes one. A thought is counted once, since the turn
    after it is asked in a prompt of its own."""
    stages = len(planned_steps(config)[0].played)
    said = PROBLEM_TOKENS + stages * (TURN_TOKENS + 2 * config.max_completion_length)
    return said + (config.thinking_tokens if thinks else 0)


def _max_seq_length(config: Config, context: int, planned: int) -> int:
    if config.max_completion_length >= context:
        raise SelfplayError(
            f"max_completion_length is {config.max_completion_length}, the model can attend to {context} tokens in all: not "
            "one turn fits beside its prompt; lower --max-completion-length or choose another --model"
        )
    if config.max_seq_length == "auto" and config.embedded:
        return context
    if config.max_seq_length == "auto":
        return min(context, -int(-planned * SLACK // 1024) * 1024)
    if config.max_seq_length > context:
        raise SelfplayError(
            f"max_seq_length is {config.max_seq_length}, the model can attend to {context} tokens: give that or less"
        )
    return config.max_seq_length


def _cut(config: Config, planned: int, longest: int) -> dict[str, str]:
    """What to say where the planned conversations are longer than a row may be."""
    if config.embedded or planned <= longest:
        return {}
    thinks = planned > row_tokens(config)
    return {
        "max_seq_length": f"conversations may come to {planned:,}, and what is beyond is cut off; lower --max-completion-length"
        f"{' or --thinking-tokens' if thinks else ''}, or choose a --model that can attend to more"
    }


def _backend(config: Config, machine: Machine) -> tuple[Backend, str]:
    if plugins.is_reference(config.backend):
        return config.backend, "your own"
    if config.backend == "unsloth":
        if not machine.unsloth:
            raise SelfplayError(f"backend is unsloth, which is not installed: {install('gpu')}, or give --backend auto")
        return "unsloth", "asked for" if machine.cuda else "asked for; without a CUDA GPU it accelerates nothing"
    if config.backend == "transformers":
        return "transformers", "asked for"
    if config.embedded:
        return "transformers", "the embedded player needs no other"
    if not machine.cuda:
        return "transformers", "there is no CUDA GPU"
    if not machine.unsloth:
        return "transformers", "unsloth is not installed"
    return "unsloth", "it is installed and there is a CUDA GPU"


def _precision(config: Config, machine: Machine) -> tuple[bool, DType, str]:
    """(whether in 4 bit, what it computes in, why)."""
    where = machine.name if machine.cuda else "the CPU"
    if config.load_in_4bit is True and not machine.bitsandbytes:
        raise SelfplayError(
            "load_in_4bit is true but bitsandbytes is not installed: python -m pip install bitsandbytes, or leave it away "
            "to load in 16 bit on a GPU, fp32 on a CPU"
        )
    if config.dtype == "bfloat16" and machine.cuda and not machine.bf16:
        raise SelfplayError(f"dtype is bfloat16, which {where} cannot compute; give --dtype float16")
    if config.dtype == "float16" and not machine.cuda:
        raise SelfplayError("dtype is float16, which a CPU computes too slowly to be of use; give --dtype float32")
    dtype: DType = "float32" if not machine.cuda else "bfloat16" if machine.bf16 else "float16"
    if config.dtype != "auto":
        dtype = config.dtype
    four_bit = machine.cuda and machine.bitsandbytes and not config.embedded
    reason = f"what {where} computes best"
    if config.load_in_4bit != "auto":
        return config.load_in_4bit, dtype, "asked for"
    if machine.cuda and not machine.bitsandbytes:
        reason += "; bitsandbytes is not installed, so not in 4 bit"
    return four_bit, dtype, reason
