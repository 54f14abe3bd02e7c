"""Opening a policy: a trainer over a model, a sampler over the same adapters, the chat of the model's tokenizer.

Heavy libraries are imported here, in the functions that need them: by then the configuration is known, and a backend that
must be imported before transformers can be.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from selfplay.learning.policy.player import Policy
from selfplay.learning.policy.protocol import Sampler
from selfplay.learning.policy.settings import PolicySettings

if TYPE_CHECKING:
    from selfplay.learning.policy.trainer import PeftTrainer


def open_policy(
    source: str | Path,
    settings: PolicySettings | None = None,
    seed: int = 0,
    device: str = "auto",
    four_bit: bool | None = None,
) -> Policy:
    """A policy over the model in a folder or on the hub, its adapters fresh. Raises PolicyError.

    `seed` makes the adapters and keys every sampled token. `four_bit` None: where it can be done.
    """
    from selfplay.learning.policy import hf

    tokenizer = hf.load_tokenizer(source)  # small, so what is wrong with it is said before the model is loaded
    return join(open_trainer(source, settings, seed, device, four_bit), tokenizer, seed)


def open_trainer(
    source: str | Path,
    settings: PolicySettings | None = None,
    seed: int = 0,
    device: str = "auto",
    four_bit: bool | None = None,
) -> PeftTrainer:
    """A trainer over the model in a folder or on the hub. Raises PolicyError."""
    from selfplay.learning.policy import hf
    from selfplay.learning.policy.trainer import PeftTrainer

    return PeftTrainer(hf.load_model(source, hf.pick_device(device), four_bit), settings, seed, str(source))


def open_sampler(trainer: PeftTrainer, ends: frozenset[int], seed: int = 0) -> Sampler:
    """A sampler over the trainer's adapters, both sampling the same keyed tokens: the decoder of small models where it
    applies, else a loop over the model's own forward. `ends`: ids that end a turn."""
    settings = trainer.settings
    if trainer.small:
        from selfplay.learning.policy.decoder import DecoderSampler, Limits

        return DecoderSampler(trainer.merged, ends, seed, Limits(settings.rows, cache_mib=settings.cache_mib))
    from selfplay.learning.policy.generate import GenerateSampler

    return GenerateSampler(trainer.adapters, ends, seed, settings.rows, trainer.bounds.context)


def join(trainer: PeftTrainer, tokenizer: Any, seed: int = 0) -> Policy:
    """A trainer with the chat of its model's tokenizer and the sampler that fits it."""
    from selfplay.learning.policy.chat import TemplateChat

    chat = TemplateChat(tokenizer, trainer.end_ids)
    return Policy(trainer, open_sampler(trainer, chat.end_ids, seed), chat)
