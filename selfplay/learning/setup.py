"""Open what a run needs: the player, the problems, the judge. Everything that can be refused is refused here, at once."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from selfplay.config import Config
from selfplay.game.players import Sampling
from selfplay.game.problems import Problem, load_problems, split_by_class
from selfplay.game.prompts import Prompts
from selfplay.game.rewards import RewardRule, get_rule
from selfplay.game.rollout import Table
from selfplay.judging.box.tiers import TierTooLow, require_tier
from selfplay.judging.boxes import open_box
from selfplay.judging.cases import Limits
from selfplay.judging.classes import function_classes
from selfplay.judging.judge import Judge
from selfplay.learning.policy import Policy, PolicySettings, open_policy
from selfplay.learning.update import UpdateSettings

EMBEDDED = Path(__file__).resolve().parent.parent / "tiny" / "player"
SPLITS = ("train", "dev", "test")
CLASS_SHARES = (0.8, 0.1, 0.1)


def open_player(config: Config) -> Policy:
    """The policy that plays both roles: the embedded player unless the configuration names a model."""
    if config.embedded:
        torch.set_num_threads(1)  # its matrices are too small to share; cores are used by processes
    settings = PolicySettings(
        rank=config.lora_rank,
        alpha=config.lora_alpha,
        targets=config.lora_target_modules,
        learning_rate=config.generator_learning_rate,
        discriminator_learning_rate=config.discriminator_learning_rate,
    )
    return open_policy(config.model or EMBEDDED, settings, config.seed, config.device)


def open_prompts(config: Config) -> Prompts:
    return Prompts(config.prompts, cases=config.cases_per_turn)


def open_judge(config: Config) -> Judge:
    """Raises BoxUnavailable where the configured sandbox cannot be had, TierTooLow where it confines too little."""
    box = open_box(config)
    try:
        require_tier(box, config.sandbox_min_tier, config.e2b_fallback)
    except TierTooLow:
        box.close()
        raise
    return Judge(box, Limits(config.timeout, config.memory_mib))


def table(config: Config) -> Table:
    """The layout of a group; without an adversary no suite is played."""
    sampling = Sampling(config.temperature, config.max_completion_length)
    suites = 0 if config.adversary == "none" else config.num_suites
    return Table(config.num_generations, suites, config.num_targets, sampling, sampling)


def update_settings(config: Config) -> UpdateSettings:
    bound = {} if config.logprob_gap_limit is None else {"logprob_gap_bound": config.logprob_gap_limit}
    return UpdateSettings(
        epsilon=config.epsilon,
        epsilon_high=config.epsilon_high,
        beta=config.beta,
        num_iterations=config.num_iterations,
        temperature=config.temperature,
        max_grad_norm=config.max_grad_norm,
        micro_batch_tokens=config.micro_batch_tokens,
        **bound,
    )


def reward_rule(config: Config) -> RewardRule:
    """The configured rule, with the configured weight of validity where it has one."""
    rule = get_rule(config.rewards)
    if not rule.per_turn:
        return rule
    return replace(rule, discriminator=partial(rule.discriminator, validity_weight=config.validity_weight))


def open_problems(config: Config, judge: Judge) -> dict[str, tuple[Problem, ...]]:
    """Problems by split. The procedural family comes split; any other set is split by what its references compute."""
    problems = load_problems(config.problems)
    if config.problems == "procedural":
        return {name: tuple(p for p in problems if p.id.startswith(f"procedural-{name}-")) for name in SPLITS}
    classes = function_classes(problems, judge)
    return split_by_class(problems, lambda p: classes[p.id], dict(zip(SPLITS, CLASS_SHARES, strict=True)), seed=0)
