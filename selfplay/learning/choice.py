"""What `auto` comes to for a real model: backend, precision, how much is sampled at once; each with its reason.

A pure function of the configuration, the machine and the model's shape, decided before anything heavy is loaded. What
cannot work is refused here, in words. Left out: whether the decoder for small models applies, which only the loaded model
tells (policy/opening.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

from selfplay import plugins
from selfplay.config import CARDS, Config
from selfplay.errors import SelfplayError, install
from selfplay.learning.memory import GIB, RESERVE, fitted, plan, table
from selfplay.learning.plan import planned_steps
from selfplay.learning.policy import Choice, PolicyError, Thinking, names_thoughts
from selfplay.learning.policy.errors import NO_CUDA
from selfplay.learning.policy.settings import Backend, DType
from selfplay.learning.shapes import ModelShape, model_config, model_file, read_table, shape_of

CACHE_MIB, CACHE_MIB_EMBEDDED = 1024, 512  # of keys and values kept between turns where no GPU's memory says more
PROBLEM_TOKENS, TURN_TOKENS = 400, 200  # of a problem's text, and of what a prompt adds to each turn: generous guesses
# Families whose activations or gradients leave the range of float16; Unsloth's list (FORCE_FLOAT32 of its loader), which has it
# compute them in fp32 where that is needed.
WIDE = ("embedding_gemma2", "gemma3", "gemma4", "glm4_moe", "gpt_oss", "qwen3_5", "qwen3_moe")
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
    on_cuda = backend == "unsloth" and machine.cuda
    if config.sampler == "own" and on_cuda:
        raise SelfplayError(
            "sampler own cannot read the keys and values that Unsloth keeps on CUDA; give --sampler generate, or "
            "--backend transformers"
        )
    four_bit, dtype, precise = _precision(config, machine)
    planned = row_tokens(config, thinks)
    longest = _max_seq_length(config, shape.context if shape else 1 << 30, planned)
    choice = Choice(
        backend=backend,
        sampler="generate" if on_cuda and config.sampler == "auto" else config.sampler,
        four_bit=four_bit,
        dtype=dtype,
        thinking=config.thinking,
        rank=config.lora_rank,
        alpha=config.lora_alpha,
        targets=config.lora_target_modules,
        learning_rate=config.learning_rate[0],
        discriminator_learning_rate=config.learning_rate[-1],
        checkpointing=not config.embedded if config.gradient_checkpointing == "auto" else config.gradient_checkpointing,
        context=longest,
        # The longest conversation is the one that fills every turn.
        row_tokens=min(planned, longest),
        micro_batch_tokens=config.micro_batch_tokens,
        cache_mib=0,
        cpu=not machine.cuda,
        why={"backend": because, "precision": precise} | _cut(config, planned, longest),
    )
    if config.generation_rows != "auto":
        rows, reason = config.generation_rows, "as it was set"
    elif shape is None or machine.gib is None:
        rows, reason = choice.rows, "the usual number"
    else:
        rows = fitted(shape, choice, machine.gib).rows
        reason = f"what fits in {machine.gib:.1f} GiB by the memory plan"
    choice = replace(choice, rows=rows, why={**choice.why, "generation_rows": reason})
    return replace(choice, cache_mib=_cache_mib(config, machine, shape, choice))


def _cache_mib(config: Config, machine: Machine, shape: ModelShape | None, choice: Choice) -> int:
    """What may be kept between turns: on a GPU what the plan of sampling leaves, at most a whole batch."""
    if choice.sampler == "generate":
        return 0
    if shape is None or machine.gib is None:
        return CACHE_MIB_EMBEDDED if config.embedded else CACHE_MIB
    planned = plan(shape, choice)
    left = int((machine.gib - RESERVE) * GIB) - sum(planned.stays.values()) - sum(planned.sampling.values())
    return max(0, min(left, planned.sampling["keys and values"])) >> 20


def check_half(model: str, described: Mapping[str, Any], choice: Choice) -> None:
    """Raises PolicyError where a model of this config.json would overflow in the float16 that it is to compute in."""
    kinds = [str(part.get("model_type", "")) for part in (described, described.get("text_config") or {})]
    wide = next((kind for kind in kinds if kind.startswith(WIDE)), None)
    if wide and choice.dtype == "float16" and choice.backend != "unsloth":
        raise PolicyError(
            f"{model} is a {wide}, which overflows in float16: give --backend unsloth, which computes it in fp32 where that is "
            "needed, --dtype float32, a GPU that has bf16, or another --model"
        )


def memory_plan(config: Config) -> tuple[str, bool]:
    """What a run would take, in lines, and whether it fits: on the preset's card, or on this machine. No weights are loaded.

    Raises PolicyError where the model is not there or is none that can play, ShapeUnknown where its memory follows other rules,
    SelfplayError where the embedded player plays: it needs some hundred MiB anywhere.
    """
    if config.model is None:
        raise SelfplayError("the embedded player fits anywhere; give the --model, or a --preset, to plan for")
    machine = card(config.preset or "") or this_machine(config.device)
    described = model_config(config.model)
    shape = shape_of(described)
    choice = choose(config, machine, shape, may_think(config.model, config.thinking))
    check_half(config.model, described, choice)
    taken = "".join(f"  {name.replace('_', ' ')}: {value}\n" for name, value in choice.facts().items())
    planned = plan(shape, choice)
    text = f"{config.model}\n{taken}{table(planned, machine.gib, machine.name)}"
    return text, machine.gib is None or planned.fits(machine.gib)


def check_room(model: str, choice: Choice, shape: ModelShape, machine: Machine) -> str:
    """The memory plan in lines. Raises SelfplayError where not even what stays fits: then loading is of no use."""
    planned = plan(shape, choice)
    lines = table(planned, machine.gib, machine.name)
    if machine.gib is not None and sum(planned.stays.values()) > machine.gib * GIB:
        raise SelfplayError(f"{model} does not fit on {machine.name}\n{lines}")
    return lines


def may_think(model: str, thinking: Thinking) -> bool:
    """Whether turns of this model may begin with a thought, `thinking` as it is configured; told before anything is loaded, by
    the marks that its chat template names, or by its family.

    Not known here: whether the template switches thoughts off by default. For such a model the plan is too large.
    """
    if thinking != "auto":
        return thinking == "on"
    try:
        settings = model_file(model, "tokenizer_config.json")
        template = settings and read_table(settings).get("chat_template")
        if settings and not template and (file := model_file(model, "chat_template.jinja")):
            template = file.read_text(encoding="utf-8", errors="replace")
    except PolicyError:  # opening the tokenizer says what is wrong with it
        template = None
    if not template:
        name = model.rpartition("/")[2].lower()
        return name.startswith("qwen3-") and "instruct" not in name
    return names_thoughts(str(template))


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
