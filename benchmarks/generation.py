"""How fast a model without functions of its own plays and learns: a generator step's sampling, and its update.

    python -m benchmarks.generation

A random model of 32 M parameters with a tokenizer trained on the problems, on one thread of a CPU. A whole generator step is
played (five stages, branches from the step's stage on) by the sampler `generate` as transformers attends, and by `own`; then
the chains are updated with and without shared prefixes. Variants take turns within each round, and the figures are seconds of
CPU time, which other work on the machine moves little. A random model hardly ever ends a turn, so some of its vocabulary is
taken for the end of one: turns are of different lengths, as a trained model's are.
"""

from __future__ import annotations

import argparse
import operator
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from random import Random
from typing import Any

import torch

from benchmarks.random_models import SPECIAL, TEMPLATE
from selfplay.game.episode import Group
from selfplay.game.phases import Step
from selfplay.game.players import Sampling
from selfplay.game.problems import Problem, load_problems
from selfplay.game.prompts import Prompts
from selfplay.game.rollout import Table, play
from selfplay.learning.policy import Choice, Policy
from selfplay.learning.policy.chat import TemplateChat
from selfplay.learning.policy.generate import GenerateSampler
from selfplay.learning.policy.stepwise import StepwiseSampler
from selfplay.learning.policy.trainer import PeftTrainer
from selfplay.learning.policy.turns import LiveSampler
from selfplay.learning.samples import Sample, conversation_samples, micro_batches

SIZES = {
    "hidden_size": 512,
    "intermediate_size": 1536,
    "num_hidden_layers": 10,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": True,
}
DRY = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
MICRO_BATCH, CACHE_MIB = 4096, 1024


class Stock(PeftTrainer):
    """Attends as transformers does, and shares no prefix."""

    def _shares(self, model: Any) -> bool:
        return False


def tokenizer(problems: list[Problem]) -> Any:
    """A byte-pair tokenizer of the problems' texts."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # type: ignore[assignment]
    raw.decoder = decoders.ByteLevel()  # type: ignore[assignment]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=8192, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    prompts = Prompts()
    texts = [
        prompts.ask(problem, "generator", stage, None, first=True) for problem in problems for stage in range(1, 6)
    ]
    raw.train_from_iterator(texts, trainer)
    made = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<|end|>", pad_token="<|end|>")
    made.add_special_tokens({"additional_special_tokens": SPECIAL[1:]})  # type: ignore[dict-item]
    made.chat_template = TEMPLATE
    return made


def trainer(kind: type[PeftTrainer], size: int, dry: bool) -> PeftTrainer:
    """Both adapters stirred, so that they change what is said."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    sizes: dict[str, Any] = SIZES | (DRY if dry else {})
    config = Qwen2Config(**sizes, vocab_size=size)
    made = kind(Qwen2ForCausalLM(config).float(), Choice(fast=False))
    for name, parameter in made.model.named_parameters():
        if "lora_B" in name:
            parameter.data.normal_(0, 0.02)
    return made


def seconds(name: str, action: Callable[[], Any]) -> tuple[float, Any]:
    started = time.process_time()
    done = action()
    spent = time.process_time() - started
    print(f"{name}: {spent:.1f}", file=sys.stderr, flush=True)
    return spent, done


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generation", description=__doc__)
    parser.add_argument("--stages", type=int, nargs="+", default=[1, 3, 5], help="stages of the generator step")
    parser.add_argument("--rounds", type=int, default=3, help="repetitions; medians are printed")
    parser.add_argument("--suites", type=int, default=2, help="chains that a discriminator reads; 0: chains alone")
    parser.add_argument("--problems", type=int, default=1, help="problems of the step")
    parser.add_argument("--tokens", type=int, default=64, help="tokens of the longest turn; the mean one is shorter")
    parser.add_argument("--ablation", action="store_true", help="also what keeping and our attention do by themselves")
    parser.add_argument("--only", choices=["sampling", "update"], help="one of the two tables")
    parser.add_argument("--dry-run", action="store_true", help="a tiny model, whose figures mean nothing")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    problems = list(load_problems("handwritten"))
    words = tokenizer(problems)
    ours, stock = (trainer(kind, len(words), arguments.dry_run) for kind in (PeftTrainer, Stock))
    parameters = sum(p.numel() for n, p in ours.model.named_parameters() if "lora" not in n)
    print(f"{parameters / 1e6:.1f} M parameters, torch {torch.__version__}, transformers {version('transformers')}")
    print("| stage | what | checked | median CPU seconds | times as fast |\n|---|---|---|---|---|")
    players = _players(ours, stock, words, arguments.tokens, arguments.ablation)
    sampling = Sampling(1.0, arguments.tokens)
    table = Table(num_suites=arguments.suites, generator=sampling, discriminator=sampling)
    chosen = problems[: arguments.problems]
    for stage in arguments.stages:
        step = Step(0, stage, "generator", "benchmark")
        if arguments.only == "update":
            groups = play(players["own"], Prompts(), chosen, step, table)
        else:
            groups = _played(step, chosen, players, table, arguments.rounds)
        if arguments.only != "sampling":
            whole_and_shared = {"update, each row whole": stock, "update, shared prefixes": ours}
            _updated(stage, groups, whole_and_shared, arguments.rounds)
    return 0


def _players(ours: PeftTrainer, stock: PeftTrainer, words: Any, tokens: int, ablation: bool) -> dict[str, Policy]:
    chat = TemplateChat(words)
    ends = chat.end_ids | frozenset(Random(0).sample(range(len(words)), len(words) // tokens))
    kept, anew = Choice(cache_mib=CACHE_MIB), Choice(cache_mib=0)

    def player(kind: type[LiveSampler], over: PeftTrainer, choice: Choice) -> Policy:
        return Policy(over, kind(over.adapters, ends, 0, choice, over.ready_to_play), chat)

    players = {"generate": player(GenerateSampler, stock, anew), "own": player(StepwiseSampler, ours, kept)}
    if ablation:
        players["own, nothing kept"] = player(StepwiseSampler, ours, anew)
        players["own, as transformers attends"] = player(StepwiseSampler, stock, kept)
        players["generate, as we attend"] = player(GenerateSampler, ours, anew)
    return players


def _played(
    step: Step, problems: list[Problem], players: Mapping[str, Policy], table: Table, rounds: int
) -> list[Group]:
    """Rows of the table for sampling; what was played, once it is known to be the same by all."""
    took: dict[str, list[float]] = {name: [] for name in players}
    told: dict[str, list[Group]] = {}
    for _ in range(rounds):
        for name, player in players.items():
            player.sampler.forget()
            spent, told[name] = seconds(name, lambda player=player: play(player, Prompts(), problems, step, table))
            took[name].append(spent)
    said = {name: [turn.ids for group in groups for turn in _turns(group)] for name, groups in told.items()}
    same = {name: sum(map(operator.eq, own, said["generate"])) for name, own in said.items()}
    _print(step.stage, took, {name: f"{same[name]} of {len(own)} turns the same" for name, own in said.items()})
    return told["generate"]


def _print(stage: int, took: Mapping[str, list[float]], notes: Mapping[str, str]) -> None:
    """A row of the table for each variant, beside the first."""
    medians = {name: statistics.median(spent) for name, spent in took.items()}
    first = next(iter(medians.values()))
    for name, median in medians.items():
        print(f"| {stage} | {name} | {notes[name]} | {median:.1f} | {first / median:.2f} |", flush=True)


def _turns(group: Group) -> list[Any]:
    return [turn for each in (*group.chains, *group.suites) for turn in each.turns]


def _updated(stage: int, groups: list[Group], trainers: Mapping[str, PeftTrainer], rounds: int) -> None:
    """Rows of the table for the update of the turns from the stage on."""
    samples = [
        sample
        for group in groups
        for chain in group.chains
        for sample in conversation_samples(chain, [1.0 if n >= stage else None for n in chain.stages])
    ]
    took: dict[str, list[float]] = {name: [] for name in trainers}
    gradients = {}
    for _ in range(rounds):
        for name, each in trainers.items():
            spent, gradients[name] = seconds(name, lambda each=each: _gradient(each, samples))
            took[name].append(spent)
    one, other = gradients.values()
    far = f"gradients differ by {float((one - other).norm() / one.norm()):.0e}"
    _print(stage, took, dict.fromkeys(trainers, far))


def _gradient(trainer: PeftTrainer, samples: list[Sample]) -> torch.Tensor:
    for batch in micro_batches(samples, MICRO_BATCH, trainer.device, trainer.bounds.shares_prefixes):
        trainer.accumulate("generator", batch, 1.0, lambda new_N, batch=batch: -(new_N * batch.advantage_N).sum())
    return trainer.take_gradient("generator")


if __name__ == "__main__":
    raise SystemExit(main())
