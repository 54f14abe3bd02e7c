"""How fast the embedded player plays and learns: tokens per second, beside transformers' own generate, and seconds per step.

    python -m benchmarks.training

One thread. The same conversations are completed by our decoder and by `transformers.generate` with the live adapter
(left-padded, dynamic cache); then one discriminator step and one generator step are timed as a whole run makes them.
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
from selfplay.game.episode import Conversation
from selfplay.game.phases import Step
from selfplay.game.players import Request, Sampling
from selfplay.game.rollout import Seat, converse
from selfplay.learning import loop, setup
from selfplay.learning.policy import Policy
from selfplay.learning.policy.hf import load_tokenizer
from selfplay.learning.policy.trainer import PeftTrainer
from selfplay.learning.ranks import Ranks
from selfplay.mutation.cache import MutantCache
from selfplay.run.recorders import Recorder


def timed(action: Callable[[], int], times: int) -> tuple[float, int]:
    """Median seconds, and the tokens that one time made."""
    seconds, made = [], 0
    for _ in range(times):
        started = time.perf_counter()
        made = action()
        seconds.append(time.perf_counter() - started)
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
        for step in (Step(0, 1, "discriminator", "benchmark"), Step(1, 1, "generator", "benchmark")):
            seconds, _ = timed(partial(_step, run, step), max(2, arguments.times // 2))
            print(f"{step.role + ' step':<24} {seconds:8.1f} s  ({config.problems_per_step} problems)")


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
