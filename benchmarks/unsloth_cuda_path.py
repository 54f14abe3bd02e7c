"""Unsloth's CUDA path without a GPU: its CUDA Python and its Triton source, interpreted on CPU tensors, held to our invariants.

    python -m benchmarks.unsloth_cuda_path            # all parts; needs unsloth, unsloth_zoo, bitsandbytes, pillow and triton

On a CPU Unsloth is stock transformers and PEFT, so tests there prove our use of it and nothing of its own forward, caches and
gradients. Here random two-layer models are opened as a run opens them, by `UnslothTrainer` with the sampler `generate`, while
pretended_cuda.py makes Unsloth believe in a T4. Both adapters are filled with noise, both roles play, score and learn; then PEFT
alone, in a process that knows nothing of Unsloth, computes the same log-probabilities and gradients in fp32. A part has a process
of its own, since Unsloth changes classes. Exits with 1 where an invariant does not hold, with 2 where nothing could be run.

Not shown: speed, memory, the rounding of a GPU, whether kernels compile, anything that happens at once on a GPU, 4 bit
(bitsandbytes' CUDA kernels cannot be interpreted, and without them Unsloth loads nothing in 4 bit), attention kernels (PyTorch's
own on the CPU are taken), and the kernels that Unsloth keeps for tensors that lie on a card.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

NEEDED = ("unsloth", "unsloth_zoo", "bitsandbytes", "PIL", "triton")
KERNELS = ("_rms_layernorm_forward", "_rms_layernorm_backward", "_rope_embedding_QK", "_fg_kernel", "_DWf_DW_dfg_kernel")
TEMPERATURE = 0.7
TURNS, TOKENS = 2, 4  # of each role: interpreting takes milliseconds for each row of each norm
MICRO = 64  # tokens of a micro-batch, so that little of it is padding
NOISE = 0.1  # of B
FAR = 4  # how many times further than the sampler another role must be


@dataclass(frozen=True, slots=True)
class Part:
    """A shape of random_models.py in a dtype, with rows of at most `context` tokens.

    `logprob`: nats by which PEFT's fp32 figures may differ in the mean. `cosine`: of the gradients with PEFT's, at least.
    """

    name: str
    shape: str
    dtype: Literal["float32", "float16"]
    context: int
    checkpointing: bool
    logprob: float
    cosine: float

    @property
    def offloads(self) -> bool:
        """Below 512 tokens Unsloth checkpoints plainly."""
        return self.checkpointing and self.context + 1 >= 512


PARTS = (
    Part("Qwen2, fp16", "tiny", "float16", 63, True, 0.05, 0.999),
    Part("Qwen2, fp32", "tiny", "float32", 63, False, 1e-4, 0.99999),
    Part("Qwen2, fp16, offloading", "tiny", "float16", 511, True, 0.05, 0.999),
    Part("Qwen3, fp16", "tiny3", "float16", 63, False, 0.05, 0.999),
    Part("Llama, fp16", "tiny-llama", "float16", 63, False, 0.05, 0.999),
)
Held = tuple[bool, str]  # whether an invariant holds, and its figure


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
        print(f"not run: {', '.join(lacking)} not installed; python -m pip install 'selfplay[gpu]' triton")
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

    from benchmarks.random_models import config, tokenizer

    keys = config(part.shape)
    torch.manual_seed(0)
    made = AutoConfig.for_model(keys.pop("model_type"), **keys, initializer_range=0.3)
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
    from selfplay.learning.policy import PolicySettings, open_policy

    settings = PolicySettings(
        rank=8,
        alpha=16,
        backend="unsloth",
        sampler="generate",
        four_bit=False,
        dtype=part.dtype,
        context=part.context,
        gradient_checkpointing=part.checkpointing,
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
    told |= learned(policy, samples)
    told |= kept(policy, samples["generator"], folder)
    if offloaded is not None:
        told["activations are offloaded"] = (offloaded(), "yes" if offloaded() else "no")
    ran = all(kernels[name] for name in KERNELS)
    told["Triton kernels interpreted, launches"] = (ran, f"{len(kernels)}, {kernels.total()}")
    return told


def _vocabulary(folder: Path) -> int:
    return json.loads((folder / "model" / "config.json").read_text(encoding="utf-8"))["vocab_size"]


def stir(policy: Any) -> None:
    """Gives every B a value: while it is zero, an ignored adapter goes unnoticed."""
    import torch

    generator = torch.Generator().manual_seed(1)
    for role in ("generator", "discriminator"):
        noisy = {
            name: (torch.randn(own.shape, generator=generator) * NOISE).to(own) if "lora_B" in name else own
            for name, own in policy.trainer.snapshot(role).items()
        }
        policy.trainer.adapters.put({role: noisy})
        policy.sampler.changed(role)


def drawn(policy: Any, role: Any) -> list[Any]:
    """Turns of a role as samples, rewarded by turns with plus and minus one."""
    return _played(policy, role, [policy.chat.first("Sort" + "." * i) for i in range(TURNS)])


def filled(policy: Any, context: int) -> Any:
    """A sample whose prompt leaves its turn less room than it may take."""
    return _played(policy, "generator", [tuple(5 + i * 7 % 250 for i in range(context - TOKENS // 2))])[0]


def _played(policy: Any, role: Any, prompts: list[tuple[int, ...]]) -> list[Any]:
    from selfplay.game.episode import TurnKey
    from selfplay.game.players import Request, Sampling
    from selfplay.learning.samples import Sample, Span

    asked = [Request(TurnKey(0, "sort", role, branch, 1), prompt) for branch, prompt in enumerate(prompts)]
    done = policy.complete(asked, Sampling(TEMPERATURE, TOKENS))
    return [
        Sample(a.ids + d.ids, (Span(len(a.ids), len(a.ids) + len(d.ids), (-1.0) ** i, d.logprobs),))
        for i, (a, d) in enumerate(zip(asked, done, strict=True))
    ]


def scored(trainer: Any, samples: Mapping[Any, list[Any]], full: Any, folder: Path) -> dict[str, Held]:
    """Sampler and trainer agree, also on a row that fills the context, and are far from the other role and the base."""
    import torch

    from selfplay.learning.samples import micro_batches

    found, gradients, gaps = [], {}, defaultdict(list)
    asked = [*((role, own, (*samples, None)) for role, own in samples.items()), ("generator", [full], ["generator"])]
    for role, own, scorers in asked:
        for batch in micro_batches(own, MICRO, trainer.device):
            said = {str(each): trainer.logprobs(each, batch, TEMPERATURE)[0] for each in scorers}
            for each, said_N in said.items():
                gaps[each == role, role, each].append((said_N - batch.sampled_K).abs())
            if len(scorers) > 1:
                trainer.accumulate(role, batch, TEMPERATURE, lambda new_N, by=batch.advantage_N: (new_N * by).sum())
            found.append({"role": role, "batch": batch, "said": said})
        gradients.setdefault(role, trainer.take_gradient(role))
    torch.save({"scored": found, "gradients": gradients}, folder / "found.pt")
    near_N = torch.cat([gap for key, own in gaps.items() if key[0] for gap in own])
    far = min(float(torch.cat(own).mean()) for key, own in gaps.items() if not key[0])
    mean, most = float(near_N.mean()), float(near_N.max())
    return {
        "sampler and trainer differ, nats (mean, most)": (mean <= trainer.bounds.logprob_gap, f"{mean:.1e}, {most:.1e}"),
        "from the other role or the base, at least": (far > FAR * mean, f"{far:.2f}"),
    }


def learned(policy: Any, samples: Mapping[Any, list[Any]]) -> dict[str, Held]:
    """An update of each role moves that role alone, from a ratio of one."""
    ratios, strays = [], []
    for role, own in samples.items():
        before = {each: policy.trainer.digest(each) for each in (*samples, None)}
        stats = _update(policy, role, own)
        ratios.append(stats.ratio_max)
        moved = [each for each in before if policy.trainer.digest(each) != before[each]]
        if moved != [role] or stats.skipped:
            strays.append(f"the {role}'s moved {moved}")
    return {
        "ratio of a first update": (set(ratios) == {1.0}, " ".join(map(str, ratios))),
        "an update moves its role alone": (not strays, "; ".join(strays) or "bit for bit"),
    }


def kept(policy: Any, samples: list[Any], folder: Path) -> dict[str, Held]:
    """What is saved comes back: adapters from their folder, an update from the trainer's state."""
    import torch

    trainer = policy.trainer
    # Drawn by weights that have moved, so not to be held against what the sampler said.
    samples = [replace(each, spans=tuple(replace(span, logprobs=()) for span in each.spans)) for each in samples]
    torch.save(trainer.state(), folder / "state.pt")
    policy.save(folder / "again")
    before = [trainer.digest(role) for role in ("generator", "discriminator")]
    _update(policy, "generator", samples)
    then = trainer.digest("generator")
    policy.load(folder / "again")
    loaded = before == [trainer.digest(role) for role in ("generator", "discriminator")]
    policy.load_state(torch.load(folder / "state.pt", weights_only=True))
    _update(policy, "generator", samples)
    resumed = trainer.digest("generator") == then
    return {
        "adapters saved and loaded": (loaded, "bit for bit" if loaded else "another digest"),
        "an update that resumes": (resumed, "bit for bit" if resumed else "another digest"),
    }


def _update(policy: Any, role: Any, samples: list[Any]) -> Any:
    from selfplay.learning.update import UpdateSettings, clipped_update

    return clipped_update(policy, role, samples, UpdateSettings(temperature=TEMPERATURE, micro_batch_tokens=MICRO))


def by_peft(part: Part, folder: Path) -> dict[str, Held]:
    """The same by PEFT alone, in fp32, from the saved adapters: log-probabilities of each role and the base, and gradients."""
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    base = AutoModelForCausalLM.from_pretrained(folder / "model", dtype=torch.float32)
    adapters, found = folder / "adapters", torch.load(folder / "found.pt", weights_only=False)
    model: Any = PeftModel.from_pretrained(base, adapters / "generator", "generator", is_trainable=True)
    model.load_adapter(adapters / "discriminator", "discriminator", is_trainable=True)
    gaps, cosines = [], []
    for each in found["scored"]:
        for role, said_N in each["said"].items():
            gaps.append((_logprobs(model, each["batch"], role).detach() - said_N).abs())
    for role, theirs_D in found["gradients"].items():
        for batch in [each["batch"] for each in found["scored"] if each["role"] == role and len(each["said"]) > 1]:
            (_logprobs(model, batch, role) * batch.advantage_N).sum().backward()
        grads = [parameter.grad for name, parameter in model.named_parameters() if f".{role}." in name]
        ours_D = torch.cat([grad.flatten().double() for grad in grads])
        cosines.append(float(torch.cosine_similarity(ours_D, theirs_D, dim=0)))
    gap_N = torch.cat(gaps)
    mean, most = float(gap_N.mean()), float(gap_N.max())
    return {
        "PEFT alone differs, nats (mean, most)": (mean <= part.logprob, f"{mean:.1e}, {most:.1e}"),
        "gradients beside PEFT's, cosine": (min(cosines) >= part.cosine, f"{min(cosines):.6f}"),
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
