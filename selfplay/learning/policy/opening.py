"""Opening a policy: a trainer over a model, a sampler over the same adapters, the chat of the model's tokenizer.

Heavy libraries are imported here, in the functions that need them: by then the configuration is known, and a backend that
must be imported before transformers can be.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from selfplay import plugins
from selfplay.learning.policy.errors import PolicyError
from selfplay.learning.policy.player import Policy
from selfplay.learning.policy.protocol import Sampler, Trainer
from selfplay.learning.policy.relief import SILENT
from selfplay.learning.policy.settings import Choice
from selfplay.run.recorders import Recorder

if TYPE_CHECKING:
    from selfplay.learning.policy.trainer import PeftTrainer


def open_policy(
    source: str | Path,
    choice: Choice | None = None,
    seed: int = 0,
    device: str = "auto",
    recorder: Recorder = SILENT,
) -> Policy:
    """A policy over the model in a folder or on the hub, its adapters fresh. Raises PolicyError.

    `seed` makes the adapters and keys every sampled token. `recorder` is told what happens on the way.
    """
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # its threads and the sandbox's children do not mix
    choice = choice or Choice()
    if choice.backend == "unsloth":
        import selfplay.learning.policy.unsloth  # noqa: F401 -- before any other heavy library, which it patches
    from selfplay.learning.policy import hf
    from selfplay.learning.policy.adapter_check import check_adapters
    from selfplay.learning.policy.template import read_template
    from selfplay.learning.policy.trainer import PeftTrainer

    hf.check_kind(source, hf.config_of(source))
    tokenizer = hf.load_tokenizer(source)  # small, so what is wrong with it is said before the model is loaded
    read_template(tokenizer, choice.thinking)
    trainer = open_trainer(source, choice, seed, device)
    policy = join(trainer, tokenizer, choice, seed, recorder)
    if isinstance(trainer, PeftTrainer):
        check_adapters(policy, trainer)
    return policy


def check_kind(source: str | Path, config: Mapping[str, Any]) -> None:
    """Raises PolicyError where no causal language model can be made of a config.json, before anything is opened."""
    from selfplay.learning.policy import hf

    hf.check_kind(source, config)


def open_trainer(source: str | Path, choice: Choice | None = None, seed: int = 0, device: str = "auto") -> Trainer:
    """A trainer over the model in a folder or on the hub, or the one that a reference makes of it. Raises PolicyError."""
    choice = choice or Choice()
    if plugins.is_reference(choice.backend):
        return _made(choice.backend, Trainer, source, choice, seed, device)
    if choice.backend == "unsloth":
        from selfplay.learning.policy import unsloth

        return unsloth.open_trainer(source, choice, seed, device)
    from selfplay.learning.policy import hf
    from selfplay.learning.policy.trainer import PeftTrainer

    model = hf.load_model(source, hf.pick_device(device), choice.four_bit, choice.dtype)
    return PeftTrainer(model, choice, seed, hf.base(source))


def open_sampler(trainer: PeftTrainer, ends: frozenset[int], seed: int = 0, recorder: Recorder = SILENT) -> Sampler:
    """A sampler over the trainer's adapters. All of them sample the same keyed tokens. `ends`: ids that end a turn.

    Raises PolicyError where the decoder for small models is asked for and does not apply.
    """
    wanted = trainer.choice.sampler
    why = "asked for"
    if wanted == "auto" or plugins.is_reference(wanted):  # your own may be made of ours
        wanted = "small" if trainer.small else trainer.sampler
        why = "a small Qwen2 model in fp32 on a CPU" if trainer.small else "what suits the backend"
    recorder.about(sampler=f"{wanted}: {why}")
    if wanted == "small":
        from selfplay.learning.policy.decoder import DecoderSampler

        if not trainer.small:
            raise PolicyError(
                "sampler is small, which decodes Qwen2 models of hidden sizes up to 512 in fp32 on a CPU, and this is none; "
                "give --sampler own, or auto"
            )
        return DecoderSampler(trainer.merged, ends, seed, trainer.choice)
    if wanted == "own":
        from selfplay.learning.policy.stepwise import StepwiseSampler as Live
    else:
        from selfplay.learning.policy.generate import GenerateSampler as Live
    return Live(trainer.adapters, ends, seed, trainer.choice, trainer.ready_to_play, recorder)


def join(trainer: Trainer, tokenizer: Any, choice: Choice, seed: int = 0, recorder: Recorder = SILENT) -> Policy:
    """A trainer with the chat of its model's tokenizer and the sampler that fits it, or that a reference makes of the trainer,
    the ids that end a turn, and the seed."""
    from selfplay.learning.policy.chat import TemplateChat
    from selfplay.learning.policy.trainer import PeftTrainer

    chat = TemplateChat(tokenizer, getattr(trainer, "end_ids", ()), choice.thinking)
    if plugins.is_reference(choice.sampler):
        recorder.about(sampler=choice.sampler)
        return Policy(trainer, _made(choice.sampler, Sampler, trainer, chat.end_ids, seed), chat)
    if not isinstance(trainer, PeftTrainer):
        raise PolicyError(
            f"sampler is {choice.sampler}, which plays with a PeftTrainer; {choice.backend} made "
            f"{plugins.name_of(trainer)}: give a --sampler of your own too, module:name"
        )
    return Policy(trainer, open_sampler(trainer, chat.end_ids, seed, recorder), chat)


def _made(reference: str, kind: type, *arguments: Any) -> Any:
    """What a user's function makes of the arguments. Raises PolicyError where it lacks something of the protocol."""
    made = plugins.load(reference)(*arguments)
    lacking = [name for name in vars(kind) if not name.startswith("_") and not hasattr(made, name)]
    if lacking:
        what = f"{plugins.name_of(made)}, which lacks {', '.join(lacking)}"
        raise PolicyError(f"{reference} made {what}; a {kind.__name__.lower()} has all of selfplay.{kind.__name__}")
    return made
