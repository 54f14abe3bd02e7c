"""Opening a policy: a trainer over a model, a sampler over the same adapters, the chat of the model's tokenizer.

Heavy libraries are imported here, in the functions that need them: by then the configuration is known, and a backend that
must be imported before transformers can be.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from selfplay.learning.policy.errors import PolicyError
from selfplay.learning.policy.player import Policy
from selfplay.learning.policy.protocol import Sampler
from selfplay.learning.policy.relief import NOBODY, Listener
from selfplay.learning.policy.settings import PolicySettings

if TYPE_CHECKING:
    from selfplay.learning.policy.trainer import PeftTrainer


def open_policy(
    source: str | Path,
    settings: PolicySettings | None = None,
    seed: int = 0,
    device: str = "auto",
    told: Listener = NOBODY,
) -> Policy:
    """A policy over the model in a folder or on the hub, its adapters fresh. Raises PolicyError.

    `seed` makes the adapters and keys every sampled token. `told` is told what happens on the way.
    """
    settings = settings or PolicySettings()
    if settings.backend == "unsloth":
        import selfplay.learning.policy.unsloth  # noqa: F401 -- before any other heavy library, which it patches
    from selfplay.learning.policy import hf
    from selfplay.learning.policy.heard import check_heard
    from selfplay.learning.policy.template import read_template

    hf.check_kind(source, hf.config_of(source))
    tokenizer = hf.load_tokenizer(source)  # small, so what is wrong with it is said before the model is loaded
    read_template(tokenizer, settings.thinking)
    trainer = open_trainer(source, settings, seed, device)
    policy = join(trainer, tokenizer, seed, told)
    check_heard(policy, trainer)
    return policy


def check_kind(source: str | Path, config: Mapping[str, Any]) -> None:
    """Raises PolicyError where no causal language model can be made of a config.json, before anything is opened."""
    from selfplay.learning.policy import hf

    hf.check_kind(source, config)


def open_trainer(
    source: str | Path, settings: PolicySettings | None = None, seed: int = 0, device: str = "auto"
) -> PeftTrainer:
    """A trainer over the model in a folder or on the hub. Raises PolicyError."""
    settings = settings or PolicySettings()
    if settings.backend == "unsloth":
        from selfplay.learning.policy import unsloth

        return unsloth.open_trainer(source, settings, seed, device)
    from selfplay.learning.policy import hf
    from selfplay.learning.policy.trainer import PeftTrainer

    model = hf.load_model(source, hf.pick_device(device), settings.four_bit, settings.dtype)
    return PeftTrainer(model, settings, seed, hf.base(source))


def open_sampler(trainer: PeftTrainer, ends: frozenset[int], seed: int = 0, told: Listener = NOBODY) -> Sampler:
    """A sampler over the trainer's adapters. All of them sample the same keyed tokens. `ends`: ids that end a turn.

    Raises PolicyError where the decoder for small models is asked for and does not apply.
    """
    settings, wanted = trainer.settings, trainer.settings.sampler
    why = "asked for"
    if wanted == "auto":
        wanted = "small" if trainer.small else trainer.sampler
        why = "a small Qwen2 model in fp32 on a CPU" if trainer.small else "what suits the backend"
    told.about(sampler=f"{wanted}: {why}")
    if wanted == "small":
        from selfplay.learning.policy.decoder import DecoderSampler, Limits

        if not trainer.small:
            raise PolicyError(
                "sampler is small, which decodes Qwen2 models of hidden sizes up to 512 in fp32 on a CPU, and this is none; "
                "give --sampler own, or auto"
            )
        limits = Limits(settings.rows, settings.prefill_tokens, settings.cache_mib, trainer.bounds.context)
        return DecoderSampler(trainer.merged, ends, seed, limits)
    from selfplay.learning.policy.turns import Batching

    if wanted == "own":
        from selfplay.learning.policy.own import OwnSampler as Live
    else:
        from selfplay.learning.policy.generate import GenerateSampler as Live
    batching = Batching(settings.rows, settings.prefill_tokens, trainer.bounds.context, settings.cache_mib)
    return Live(trainer.adapters, ends, seed, batching, trainer.ready_to_play, told)


def join(trainer: PeftTrainer, tokenizer: Any, seed: int = 0, told: Listener = NOBODY) -> Policy:
    """A trainer with the chat of its model's tokenizer and the sampler that fits it."""
    from selfplay.learning.policy.chat import TemplateChat

    chat = TemplateChat(tokenizer, trainer.end_ids, trainer.settings.thinking)
    return Policy(trainer, open_sampler(trainer, chat.end_ids, seed, told), chat)
