"""The whole game in one file, on the package's public names: play, examine, score, credit, update. Read it first.

    python examples/minimal_loop.py

One language model plays two roles, with a LoRA adapter each. The generator works on a problem in five stages, the last of
which is code; the discriminator reads each stage and writes tests meant to break the code. A reference says which tests are
right. `selfplay.train` does the same, and adds what makes it learn well and last: mutants as further wrong programs, stages
trained in turn, admission of tests, clipping, several processes, evaluations, checkpoints, records.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean, pstdev
from typing import Literal

import torch

import selfplay

Role = Literal["generator", "discriminator"]
ROLES: tuple[Role, Role] = ("generator", "discriminator")
STAGES = (1, 2, 3, 4, 5)
GROUP = 4  # chains of a problem; each is read by a suite of its own
VALID = 0.6  # what a right test earns beside the wrong programs that it fails


@dataclass
class Episode:
    """One conversation of one role on one problem. `sampled`: which of the ids the player said itself."""

    role: Role
    ids: list[int] = field(default_factory=list)
    sampled: list[bool] = field(default_factory=list)
    turns: list[str] = field(default_factory=list)
    reward: float = 0.0

    def add(self, ids: Sequence[int], sampled: bool) -> None:
        self.ids += ids
        self.sampled += [sampled] * len(ids)


def play(player: selfplay.Entrant, problem: selfplay.Problem, step: int) -> tuple[list[Episode], list[Episode]]:
    """Chains of the generator, and the suite of the discriminator that read each, stage by stage."""
    chains = [Episode("generator") for _ in range(GROUP)]
    suites = [Episode("discriminator") for _ in range(GROUP)]
    last: dict[int, Sequence[int]] = {}  # what an episode said last, by its id()
    chat = player.player.chat
    for stage in STAGES:
        for episodes in (chains, suites):
            requests = []
            for branch, episode in enumerate(episodes):
                read = chains[branch].turns[-1] if episode.role == "discriminator" else None
                message = player.prompts.ask(problem, episode.role, stage, read, first=not episode.turns)
                system = player.prompts.system(episode.role)
                episode.add(
                    chat.next(message, last[id(episode)]) if episode.turns else chat.first(message, system), False
                )
                # The key seeds the random numbers of the turn: the same whatever else is sampled with it.
                key = selfplay.TurnKey(step, problem.id, episode.role, branch, stage)
                requests.append(selfplay.Request(key, tuple(episode.ids)))
            for episode, said in zip(episodes, player.player.complete(requests, player.sampling), strict=True):
                episode.add(said.ids, True)
                episode.turns.append(chat.text(said.ids))
                last[id(episode)] = said.ids
    return chains, suites


def tests_of(suite: Episode, problem: selfplay.Problem) -> list[str]:
    """The assertions of a suite, each once."""
    sources = [selfplay.extract_tests(turn, problem).source for turn in suite.turns]
    asserts = [ast.unparse(node) for text in sources for node in ast.parse(text).body if isinstance(node, ast.Assert)]
    return list(dict.fromkeys(asserts))


def passed(code: str | None, tests: Sequence[str], problem: selfplay.Problem) -> set[str]:
    """Which of the tests a program passes, in a sandbox. What could not be read, or did not run, is not passed."""
    if code is None or not tests:
        return set()
    told = selfplay.execute_tests(code, "\n".join(tests), problem.entry_point).details
    return {ast.unparse(ast.parse(detail.source)) for detail in told if detail.verdict == "passed"}


def score(chains: Sequence[Episode], suites: Sequence[Episode], problem: selfplay.Problem) -> None:
    """Pays the generator for the right tests that its code passes, the discriminator for right tests that fail wrong code."""
    written = [tests_of(suite, problem) for suite in suites]
    pool = list(dict.fromkeys(test for tests in written for test in tests))
    valid = passed(problem.reference_solution, pool, problem)
    exam = [test for test in pool if test in valid]
    codes = [selfplay.extract_code(chain.turns[-1], problem).source for chain in chains]
    passes = [passed(code, exam, problem) for code in codes]
    wrong = [own for code, own in zip(codes, passes, strict=True) if code is not None and len(own) < len(exam)]
    for chain, own in zip(chains, passes, strict=True):
        chain.reward = len(own) / len(exam) if exam else 0.0
    for suite, tests in zip(suites, written, strict=True):
        killed = [sum(test not in own for own in wrong) / max(len(wrong), 1) for test in tests if test in valid]
        suite.reward = sum(VALID + share for share in killed) / max(len(tests), 1)


def credit(group: Sequence[Episode]) -> list[tuple[Episode, float]]:
    """Each episode with its advantage: how many deviations better it was than its group. None learns where all are alike."""
    rewards = [episode.reward for episode in group]
    mean, deviation = fmean(rewards), pstdev(rewards)
    return [(each, (each.reward - mean) / deviation) for each in group] if deviation > 1e-9 else []


def update(player: selfplay.Entrant, role: Role, credited: Sequence[tuple[Episode, float]]) -> None:
    """One policy-gradient step of the role's adapter: loss = - sum of advantage x log-probability / sampled tokens."""
    policy = player.player
    if not credited or not isinstance(policy, selfplay.Policy):
        return
    width = max(len(episode.ids) for episode, _ in credited)
    advantages = torch.zeros(len(credited), width)
    ids, mask, where = (torch.zeros_like(advantages, dtype=kind) for kind in (torch.long, torch.long, torch.bool))
    for row, (episode, advantage) in enumerate(credited):
        size = len(episode.ids)
        ids[row, :size], mask[row, :size] = torch.tensor(episode.ids), 1
        where[row, :size] = torch.tensor(episode.sampled)
        advantages[row] = advantage
    rows = selfplay.Rows(ids, mask, where)
    policy.trainer.accumulate(role, rows, player.sampling.temperature, lambda logp: -(logp * advantages[where]).sum())
    policy.step(role, policy.trainer.take_gradient(role) / int(where.sum()), 1.0)


def main(steps: int = 10, problems_per_step: int = 8) -> None:
    """Trains both roles of the embedded player in every step, and prints their mean rewards."""
    player = selfplay.open_player("embedded")
    problems = selfplay.load_problems("procedural/train")
    for step in range(steps):
        groups = []
        for problem in random.Random(step).sample(problems, problems_per_step):
            chains, suites = play(player, problem, step)
            score(chains, suites, problem)
            groups.append((chains, suites))
        for number, role in enumerate(ROLES):
            update(player, role, [pair for group in groups for pair in credit(group[number])])
        rewards = [fmean(episode.reward for group in groups for episode in group[number]) for number in (0, 1)]
        print(f"step {step}: generator {rewards[0]:.3f}, discriminator {rewards[1]:.3f}", flush=True)


if __name__ == "__main__":
    main()
