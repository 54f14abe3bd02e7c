"""Unsloth's CUDA path without a GPU: its CUDA Python and its Triton source, interpreted on CPU tensors, held to our invariants.

    python -m benchmarks.unsloth_cuda_path            # all parts; needs unsloth, unsloth_zoo, bitsandbytes, pillow and triton

On a CPU Unsloth is stock transformers and PEFT, so tests there prove our use of it and nothing of its own forward, caches and
gradients. Here random two-layer models are opened as a run opens them, by `UnslothTrainer` with the sampler `generate`, while
pretended_cuda.py makes Unsloth believe in a T4. Both adapters are filled with noise, both roles play, score and learn
(invariants.py); then PEFT alone, in a process that knows nothing of Unsloth, computes the same log-probabilities and gradients
in fp32. A part has a process of its own, since Unsloth changes classes. Exits with 1 where an invariant does not hold, with 2
where none was tried.

Not shown: speed, memory, the rounding of a GPU, whether kernels compile, what happens at the same time on a GPU, 4 bit
(bitsandbytes' CUDA kernels cannot be interpreted, and Unsloth loads nothing in 4 bit without them), attention kernels (those
of PyTorch on the CPU are taken), and the kernels that Unsloth keeps for tensors that lie on a card.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from benchmarks.invariants import TEMPERATURE, Held, drawn, filled, kept, learned, scored, stir

NEEDED = ("unsloth", "unsloth_zoo", "bitsandbytes", "PIL", "triton")
ROPE = "_rope_embedding_QK"  # turns back in the backward pass
ALWAYS = (
    ("_rms_layernorm_forward", "forward"),
    ("_rms_layernorm_backward", "backward"),
    (ROPE, "forward"),
    (ROPE, "backward"),
)
# SwiGLU with LoRA, which Unsloth fuses over 16-bit and 4-bit weights only.
HALF = (("_fg_kernel", "forward"), ("_DWf_DW_dfg_kernel", "backward"))
HEADS = {"num_attention_heads": 2, "num_key_value_heads": 1}  # interpreting takes milliseconds for each token and head


@dataclass(frozen=True, slots=True)
class Part:
    """A shape of random_models.py in a dtype, with rows of at most `context` tokens.

    `logprob`: nats by which PEFT's fp32 figures may differ in the mean. `turned`: 1 - cosine of the gradients with PEFT's,
    at most.
    """

    name: str
    shape: str
    dtype: Literal["float32", "float16"]
    context: int
    checkpointing: bool
    logprob: float
    turned: float

    @property
    def offloads(self) -> bool:
        """Below 512 tokens Unsloth checkpoints plainly."""
        return self.checkpointing and self.context + 1 >= 512


PARTS = (
    Part("Qwen2, fp16", "tiny", "float16", 511, True, 0.05, 1e-3),
    Part("Qwen2, fp32", "tiny", "float32", 511, True, 1e-4, 1e-9),
    Part("Qwen3, fp16", "tiny3", "float16", 63, False, 0.05, 1e-3),
    Part("Llama, fp16", "tiny-llama", "float16", 63, False, 0.05, 1e-3),
)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.unsloth_cuda_path",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--part", choices=[part.name for part in PARTS], help="this part alone")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--by", choices=["unsloth", "peft"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    chosen = [part for part in PARTS if arguments.part in (None, part.name)]
    if arguments.by:
        told = (by_unsloth if arguments.by == "unsloth" else by_peft)(chosen[0], arguments.folder)
        (arguments.folder / f"{arguments.by}.json").write_text(json.dumps(told), encoding="utf-8")
        return 0
    if lacking := [name for name in NEEDED if find_spec(name) is None]:
        from selfplay.errors import install

        print(f"not run: {', '.join(lacking)} not installed; {install('gpu')} triton")
        return 2
    print(f"{_versions()}\ninterpreted on this CPU; speed, memory and 4-bit kernels are not shown\n", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        results = {part.name: _run(part, Path(folder) / str(i)) for i, part in enumerate(chosen)}
    print(table(results))
    return 0 if all(holds for own in results.values() for holds, _ in own.values()) else 1


def table(results: Mapping[str, Mapping[str, Held]]) -> str:
    """Invariants down, parts across; what does not hold is marked."""
    names = dict.fromkeys(name for own in results.values() for name in own)
    lines = [["invariant", *results], ["---"] * (1 + len(results))]
    for name in names:
        cells = [own.get(name, (True, "")) for own in results.values()]
        lines.append([name, *(figure if holds else f"**FAILS** {figure}" for holds, figure in cells)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _versions() -> str:
    names = ("torch", "triton", "transformers", "peft", "unsloth", "unsloth_zoo")
    return ", ".join(f"{name} {metadata.version(name)}" for name in names)


def _run(part: Part, folder: Path) -> dict[str, Held]:
    """One part: Unsloth's process leaves what it found in the folder, PEFT's reads it."""
    started, told = time.monotonic(), {}
    make(part, folder / "model")
    for by in ("unsloth", "peft"):
        words = [sys.executable, "-m", "benchmarks.unsloth_cuda_path", "--part", part.name, "--by", by]
        ran = subprocess.run([*words, "--folder", str(folder)], capture_output=True, text=True)
        if ran.returncode:
            print(ran.stderr[-4000:], file=sys.stderr)
            return told | {"runs to its end": (False, (ran.stderr.strip().splitlines() or ["without a word"])[-1])}
        told |= json.loads((folder / f"{by}.json").read_text(encoding="utf-8"))
    print(f"{part.name}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return told


def make(part: Part, folder: Path) -> None:
    """Weights wide enough that the next token is far from uniform; norms and biases that are not just ones and zeros."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.utils.logging import disable_progress_bar

    from benchmarks.random_models import config, tokenizer

    disable_progress_bar()
    keys: dict[str, Any] = {**config(part.shape), **HEADS, "initializer_range": 0.3}
    torch.manual_seed(0)
    made = AutoConfig.for_model(**keys)
    model: Any = AutoModelForCausalLM.from_config(made, dtype=torch.float32)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias") or "norm" in name:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    model.to(getattr(torch, part.dtype)).save_pretrained(folder)
    tokenizer().save_pretrained(folder)


def by_unsloth(part: Part, folder: Path) -> dict[str, Held]:
    """Opens, plays, scores, learns and saves by Unsloth; leaves adapters and figures in the folder for `by_peft`."""
    from benchmarks.pretended_cuda import offload_always, pretend

    kernels = pretend()
    from selfplay.learning.policy import Choice, open_policy

    settings = Choice(
        rank=8,
        alpha=16,
        backend="unsloth",
        sampler="generate",
        four_bit=False,
        dtype=part.dtype,
        context=part.context,
        checkpointing=part.checkpointing,
    )
    policy = open_policy(folder / "model", settings, seed=3, device="cpu")  # raises where an adapter is not heard
    trainer: Any = policy.trainer
    offloaded = offload_always() if part.offloads else None
    rows, known = trainer.model.get_input_embeddings().weight.shape[0], _vocabulary(folder)
    told: dict[str, Held] = {
        "both adapters are heard at opening": (True, "yes"),
        "rows of the embedding": (rows == known, f"{rows} of {known}"),
    }
    stir(policy)
    policy.save(folder)
    samples = {role: drawn(policy, role) for role in ("generator", "discriminator")}
    full = filled(policy, part.context)
    width, limit = len(full.ids), trainer.model.max_seq_length
    told["longest row below max_seq_length"] = (width == part.context < limit, f"{width} < {limit}")
    told |= scored(trainer, samples, full, folder)
    before = Counter(kernels)  # at load Unsloth launches some to check them
    told |= learned(policy, samples)
    told["kernels launched by updates: forward, backward"] = _launched(kernels - before, part)
    told |= kept(policy, samples["generator"], folder)
    if offloaded is not None:
        told["activations are offloaded"] = (offloaded(), "yes" if offloaded() else "no")
    return told


def _launched(kernels: Counter[tuple[str, str]], part: Part) -> Held:
    """Whether each kernel ran in the pass that it is for; the launches of a recompute are left out."""
    wanted = (*ALWAYS, *(HALF if part.dtype == "float16" else ()))
    lacking = [f"no {name} {by}" for name, by in wanted if not kernels[name, by]]
    totals = [sum(kernels[pair] for pair in wanted if pair[1] == by) for by in ("forward", "backward")]
    return not lacking, "; ".join(lacking) or "{}, {}".format(*totals)


def _vocabulary(folder: Path) -> int:
    return json.loads((folder / "model" / "config.json").read_text(encoding="utf-8"))["vocab_size"]


def by_peft(part: Part, folder: Path) -> dict[str, Held]:
    """The same by PEFT alone, in fp32, from the saved adapters: log-probabilities of each role and the base, and gradients."""
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    base = AutoModelForCausalLM.from_pretrained(folder / "model", dtype=torch.float32)
    adapters, found = folder / "adapters", torch.load(folder / "found.pt", weights_only=False)
    model: Any = PeftModel.from_pretrained(base, adapters / "generator", "generator", is_trainable=True)
    model.load_adapter(adapters / "discriminator", "discriminator", is_trainable=True)
    gaps, turned = [], 0.0
    for each in found["scored"]:
        for role, said_N in each["said"].items():
            gaps.append((_logprobs(model, each["batch"], role).detach() - said_N).abs())
    for role, theirs_D in found["gradients"].items():
        for batch in [each["batch"] for each in found["scored"] if each["role"] == role and len(each["said"]) > 1]:
            (_logprobs(model, batch, role) * batch.advantage_N).sum().backward()
        grads = [parameter.grad for name, parameter in model.named_parameters() if f".{role}." in name]
        ours_D = torch.cat([grad.flatten().double() for grad in grads])
        turned = max(turned, 1 - float(torch.cosine_similarity(ours_D, theirs_D.double(), dim=0)))
    gap_N = torch.cat(gaps)
    mean, most = float(gap_N.mean()), float(gap_N.max())
    return {
        "PEFT alone differs, nats (mean, most)": (mean <= part.logprob, f"{mean:.1e}, {most:.1e}"),
        "gradients beside PEFT's, 1 - cosine": (turned <= part.turned, f"{turned:.1e}"),
    }


def _logprobs(model: Any, batch: Any, role: str) -> Any:
    """Of the scored ids, [N]; "None": of the base."""
    import torch

    if role == "None":
        with model.disable_adapter(), torch.no_grad():
            logits = model(input_ids=batch.ids_BT, attention_mask=batch.mask_BT).logits
    else:
        model.set_adapter(role)
        logits = model(input_ids=batch.ids_BT, attention_mask=batch.mask_BT).logits
    scored = batch.where_BT[:, 1:]
    logprobs = torch.log_softmax(logits[:, :-1][scored].float() / TEMPERATURE, -1)
    return logprobs.gather(1, batch.ids_BT[:, 1:][scored][:, None])[:, 0]


if __name__ == "__main__":
    sys.exit(main())
