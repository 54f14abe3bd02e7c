"""How fast the embedded player plays and learns: tokens per second, beside transformers' own generate, and seconds per step.

    python -m benchmarks.training

One thread. The same conversations are completed by our decoder and by `transformers.generate` with the live adapter
(left-padded, dynamic cache). A step of each layout, from which both roles learn, is timed as a run makes it, and its play by
how many MiB of keys and values are kept between turns.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch

from selfplay.config import configure
from selfplay.game.episode import ROLES, Conversation
from selfplay.game.phases import Step
from selfplay.game.players import Request, Sampling
from selfplay.game.rollout import Seat, converse
from selfplay.learning import loop, setup
from selfplay.learning.policy import Policy
from selfplay.learning.policy.chat import TemplateChat
from selfplay.learning.policy.decoder import DecoderSampler
from selfplay.learning.policy.hf import load_tokenizer
from selfplay.learning.policy.trainer import PeftTrainer
from selfplay.learning.ranks import Ranks
from selfplay.mutation.cache import MutantCache
from selfplay.run.recorders import Recorder


def timed(action: Callable[[], int], times: int) -> tuple[float, int]:
    """Median CPU seconds of this process, and the tokens that one time made."""
    seconds, made = [], 0
    for _ in range(times):
        started = time.process_time()
        made = action()
        seconds.append(time.process_time() - started)
    return statistics.median(seconds), made


def ours(policy: Policy, requests: list[Request], sampling: Sampling) -> int:
    policy.sampler.forget()  # nothing is left of the time before
    return sum(len(one.ids) for one in policy.complete(requests, sampling))


def theirs(policy: Policy, requests: list[Request], sampling: Sampling) -> int:
    assert isinstance(policy.trainer, PeftTrainer)
    model, longest = policy.trainer.model, max(len(request.ids) for request in requests)
    pad = load_tokenizer(setup.EMBEDDED).pad_token_id
    ids = torch.tensor([[pad] * (longest - len(r.ids)) + list(r.ids) for r in requests])
    with policy.trainer.adapters.role("discriminator"), torch.no_grad():
        model.eval()
        out = model.generate(
            input_ids=ids, attention_mask=(ids != pad).long(), do_sample=True, temperature=1.0, top_k=0, top_p=1.0,
            max_new_tokens=sampling.max_tokens, pad_token_id=pad,
        )  # fmt: skip
    return int((out[:, longest:] != pad).sum())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training", description=__doc__)
    parser.add_argument("--rows", type=int, default=64, help="conversations completed at once")
    parser.add_argument("--times", type=int, default=5, help="repetitions; the median is printed")
    arguments = parser.parse_args()
    config = configure({"processes": 1})
    with setup.open_run(config, Recorder(), Ranks()) as run:
        requests = _requests(run, arguments.rows)
        for name, play in (("our decoder", ours), ("transformers generate", theirs)):
            seconds, made = timed(partial(play, run.policy, requests, run.table.discriminator), arguments.times)
            print(f"{name:<24} {made / seconds:8.0f} tokens/s  ({made} tokens, {seconds:.2f} s)")
        run = replace(run, mutants=MutantCache())
        for layout in ROLES:
            step = Step(0, 1, "both", "benchmark", layout=layout)
            seconds, _ = timed(partial(_step, run, step), max(2, arguments.times // 2))
            print(f"{layout + ' layout':<24} {seconds:8.1f} s  ({config.problems_per_step} problems)")
            for mib in (64, 512):
                kept = replace(run, policy=replace(run.policy, sampler=_keeping(run.policy, mib)))
                seconds, made = timed(partial(_played, kept, step), arguments.times)
                print(f"  its play, {mib:3d} MiB kept {seconds:10.1f} s  ({made} tokens)")


def _keeping(policy: Policy, mib: int) -> DecoderSampler:
    assert isinstance(policy.trainer, PeftTrainer)
    assert isinstance(policy.chat, TemplateChat)
    return DecoderSampler(policy.trainer.merged, policy.chat.end_ids, 0, replace(policy.trainer.choice, cache_mib=mib))


def _played(run: setup.Run, step: Step) -> int:
    groups = loop.play_groups(run, step)
    return sum(len(turn.ids) for group in groups for each in (*group.chains, *group.suites) for turn in each.turns)


def _step(run: setup.Run, step: Step) -> int:
    loop.train_step(run, step)
    return 0


def _requests(run: setup.Run, rows: int) -> list[Request]:
    """The discriminator's last turn, asked in `rows` conversations."""
    problems = run.problems["train"][:rows]
    seats = [Seat(0, problem, Conversation("generator"), 0) for problem in problems]
    chains = converse(run.policy, run.prompts, seats, (1, 2, 3, 4, 5), run.table.generator)
    seats = [Seat(0, p, Conversation("discriminator"), 0, chain) for p, chain in zip(problems, chains, strict=True)]
    suites = converse(run.policy, run.prompts, seats, (1, 2, 3, 4, 5), run.table.discriminator)
    turns = [suite.turns[-1] for suite in suites]
    return [
        Request(turn.key, tuple(suite.ids[: len(suite.ids) - len(turn.ids)]))
        for suite, turn in zip(suites, turns, strict=True)
    ]


if __name__ == "__main__":
    main()
