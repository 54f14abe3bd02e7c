"""What must hold of a policy whatever computes it, with the figure that shows it: for backends that tests cannot reach.

Heavy libraries are imported inside: a caller may have to import one of them first. `scored` leaves its rows, log-probabilities
and gradients in a file, for another process to compute the same. Turns are few and short, since whoever asks is slow.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

TEMPERATURE = 0.7
TURNS, TOKENS = 2, 4  # of each role
MICRO = 64  # tokens of a micro-batch, so that little of it is padding
NOISE = 0.1  # of B
FAR = 4  # how many times further than the sampler another role must be
Held = tuple[bool, str]  # whether an invariant holds, and its figure


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
        policy.sampler.weights_changed(role)


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
        "sampler and trainer differ, nats (mean, most)": (
            mean <= trainer.bounds.logprob_gap,
            f"{mean:.1e}, {most:.1e}",
        ),
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
    from selfplay.config import Config
    from selfplay.learning.update import clipped_update

    return clipped_update(policy, role, samples, Config(temperature=TEMPERATURE, micro_batch_tokens=MICRO))
