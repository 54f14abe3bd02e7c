"""Make the embedded player: `python -m selfplay.tiny.make --output selfplay/tiny/player`.

A byte-level BPE tokenizer and a Qwen2-architecture model of about a million parameters, trained from scratch on fresh
draws of `corpus.py` over the training split of the procedural family. Dev and test problems are never seen. One thread,
seeded: the same machine and versions make the same weights.

The tokenizer merges across spaces, so that a common phrase such as `[x for x in xs if x >= ` is one token, and splits
digits, so that numbers are spelled. Hidden matrices are trained with Muon, everything else with AdamW.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from selfplay.game.problems import Problem, load_problems
from selfplay.learning.policy.hf import load_tokenizer
from selfplay.tiny.corpus import Message, Mixture, draw_corpus
from selfplay.tiny.family import Pipeline, draw_family

VOCABULARY = 640
BATCH_TOKENS = 4000
PAD, END, USER, ASSISTANT, SYSTEM = SPECIAL = ("<|pad|>", "<|end|>", "<|user|>", "<|assistant|>", "<|system|>")
CHAT_TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
IGNORED = -100
Row = tuple[list[int], list[int]]  # ids and labels of one conversation


@dataclass(frozen=True, slots=True)
class Phase:
    """Part of the training: tokens in all, learning rates of Muon and AdamW, and what is drawn."""

    tokens: float
    muon: float
    adam: float
    mixture: Mixture


_EARLY = Mixture(0.7, chains=1, suites=1, slipped=0.02, edges_right=0.75, any_size=False, rarity=0)
PHASES = (
    Phase(4.5e6, 0.02, 3e-3, _EARLY),
    # Tests are harder to learn than chains: expected values have to be worked out.
    Phase(3.2e6, 0.012, 2e-3, replace(_EARLY, misconceived=0.78, suites=2)),
    # What is left to chance in chains hides the misconceptions, and happy paths catch it.
    Phase(2.4e6, 0.010, 1.5e-3, replace(_EARLY, misconceived=0.85, chains=3)),
    # Tests of any size: what a player can work out, and what it cannot, is what training has to find out.
    Phase(4.0e6, 0.010, 1.5e-3, Mixture(0.72, chains=2, suites=1, rarity=0)),
    Phase(0.9e6, 0.005, 8e-4, Mixture(0.80, chains=4, suites=1)),
)


def training_problems() -> list[tuple[Problem, Pipeline]]:
    problems = [problem for problem in load_problems("procedural") if problem.id.startswith("procedural-train")]
    return list(zip(problems, draw_family()["train"], strict=True))


def make_tokenizer(texts: Iterator[str]) -> PreTrainedTokenizerFast:
    """Byte-level BPE without a split at spaces; digits, line ends and quotes stand alone."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\d|\n *|'"), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token=PAD)
    fast.chat_template = CHAT_TEMPLATE
    return fast


def make_model(tokenizer: PreTrainedTokenizerFast) -> Qwen2ForCausalLM:
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=384,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
        eos_token_id=tokenizer.convert_tokens_to_ids(END),  # type: ignore[arg-type]  # one token, one id
        pad_token_id=tokenizer.convert_tokens_to_ids(PAD),  # type: ignore[arg-type]
        bos_token_id=None,
    )
    return Qwen2ForCausalLM(config)


def encode(tokenizer: Tokenizer, messages: list[Message]) -> Row:
    """Ids of a conversation in the chat template, and labels that score what the player says."""
    special = {name: tokenizer.token_to_id(name) for name in SPECIAL}
    ids: list[int] = []
    labels: list[int] = []
    for message in messages:
        said = [*tokenizer.encode(message.text, add_special_tokens=False).ids, special[END]]
        ids += [special[ASSISTANT if message.said_by_player else USER], *said]
        labels += [IGNORED, *(said if message.said_by_player else [IGNORED] * len(said))]
    return ids, labels


def batches(
    rows: Iterator[Row], tokens: int, pad: int, rng: random.Random
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Right-padded batches (ids_BT, labels_BT) of about `tokens` tokens, each of rows alike in length."""
    while True:
        pool = sorted(islice(rows, 1024), key=lambda row: len(row[0]))
        size = 0
        chunks: list[list[Row]] = [[]]
        for row in pool:
            if size + len(row[0]) > tokens:
                chunks.append([])
                size = 0
            chunks[-1].append(row)
            size += len(row[0])
        for chunk in rng.sample(chunks, len(chunks)):
            longest = max(len(ids) for ids, _ in chunk)
            yield (
                torch.tensor([ids + [pad] * (longest - len(ids)) for ids, _ in chunk]),
                torch.tensor([labels + [IGNORED] * (longest - len(labels)) for _, labels in chunk]),
            )


class Muon(torch.optim.Optimizer):
    """Momentum, orthogonalised (Jordan et al. 2024), in float32: PyTorch's own works in bfloat16, which is ten times slower on
    a CPU that must emulate it. Parameters are matrices [rows, columns]; equal shapes are orthogonalised together.
    """

    def __init__(self, parameters: list[torch.nn.Parameter], lr: float, momentum: float = 0.95) -> None:
        super().__init__(parameters, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[torch.nn.Parameter]] = defaultdict(list)
            for parameter in group["params"]:
                by_shape[parameter.shape].append(parameter)
            for shape, parameters in by_shape.items():
                updates = orthogonal(torch.stack([self._momentum(p, group["momentum"]) for p in parameters]))
                for parameter, update in zip(parameters, updates, strict=True):
                    parameter.add_(update, alpha=-group["lr"] * max(1.0, shape[0] / shape[1]) ** 0.5)

    def _momentum(self, parameter: torch.nn.Parameter, momentum: float) -> torch.Tensor:
        """Nesterov's look-ahead of the averaged gradient."""
        assert parameter.grad is not None
        average = self.state[parameter].setdefault("average", torch.zeros_like(parameter))
        average.lerp_(parameter.grad, 1 - momentum)
        return parameter.grad.lerp(average, momentum)


def orthogonal(matrices: torch.Tensor) -> torch.Tensor:
    """The nearest orthogonal matrices to a stack [n, rows, columns], by five Newton-Schulz steps."""
    tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.mT if tall else matrices
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(5):
        square = x @ x.mT
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return x.mT if tall else x


def make_optimizers(model: Qwen2ForCausalLM, phase: Phase) -> list[torch.optim.Optimizer]:
    hidden = [p for n, p in model.named_parameters() if p.ndim == 2 and "embed" not in n]
    other = [p for n, p in model.named_parameters() if p.ndim != 2 or "embed" in n]
    adam = torch.optim.AdamW(other, lr=phase.adam, betas=(0.9, 0.98), weight_decay=0.0, fused=True)
    return [Muon(hidden, lr=phase.muon), adam]


def train(model: Qwen2ForCausalLM, rows: Iterator[Row], phase: Phase, seed: int) -> None:
    """Next-token training through one phase: linear warm-up over 3 %, then cosine to zero."""
    optimizers = make_optimizers(model, phase)
    base_rates = [[group["lr"] for group in optimizer.param_groups] for optimizer in optimizers]
    seen, started = 0, time.monotonic()
    pad = model.config.pad_token_id
    assert pad is not None  # make_model sets it
    for step, (ids, labels) in enumerate(batches(rows, BATCH_TOKENS, pad, random.Random(seed))):
        share = seen / phase.tokens
        if share >= 1:
            return
        factor = min(1.0, share / 0.03 + 0.05) * 0.5 * (1 + math.cos(math.pi * share))
        for optimizer, rates in zip(optimizers, base_rates, strict=True):
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * factor
        loss = model(input_ids=ids, attention_mask=(ids != pad).long(), labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        seen += int((ids != pad).sum())
        if step % 25 == 0:
            print(
                f"step {step:4d}  tokens {seen / 1e6:5.2f}M  loss {loss.item():.4f}  {time.monotonic() - started:5.0f}s",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m selfplay.tiny.make", description=__doc__)
    parser.add_argument(
        "--output", type=Path, default=Path("selfplay/tiny/player"), help="folder for model and tokenizer"
    )
    parser.add_argument("--start", type=Path, help="go on from a player that this command saved after a phase")
    parser.add_argument("--phase", type=int, default=1, help="the phase to begin with")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(arguments.seed)
    problems = training_problems()
    if arguments.start:
        model, tokenizer = Qwen2ForCausalLM.from_pretrained(arguments.start), load_tokenizer(arguments.start)
    else:
        sample = islice(draw_corpus(problems, PHASES[0].mixture, random.Random("tokenizer")), 8000)
        tokenizer = make_tokenizer(message.text for messages in sample for message in messages)
        model = make_model(tokenizer)
    backend = tokenizer.backend_tokenizer
    for number, phase in list(enumerate(PHASES))[arguments.phase - 1 :]:
        corpus = draw_corpus(problems, phase.mixture, random.Random(f"corpus {arguments.seed + number}"))
        train(model, (encode(backend, messages) for messages in corpus), phase, arguments.seed)
        model.save_pretrained(arguments.output)
        tokenizer.save_pretrained(arguments.output)
        print(f"phase {number + 1}: saved {model.num_parameters():,} parameters to {arguments.output}")


if __name__ == "__main__":
    main()
