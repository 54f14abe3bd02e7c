"""Open what a run needs: the player, the problems, the judge, its state. What can be refused is refused here, at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from selfplay.box.kinds import open_box
from selfplay.box.task import Limits
from selfplay.box.tiers import TierTooLow, require_tier
from selfplay.config import Config
from selfplay.errors import SelfplayError
from selfplay.game.episode import ROLES
from selfplay.game.players import Sampling
from selfplay.game.problems import SETS, Problem, load_problems, split_by_class
from selfplay.game.prompts import Prompts
from selfplay.game.rewards import RewardRule, get_rule
from selfplay.game.rollout import Table
from selfplay.judging.golden import GoldenExams
from selfplay.judging.judge import Judge
from selfplay.learning.choice import check_room, choose, known_shape, this_machine
from selfplay.learning.classes import known_classes
from selfplay.learning.plan import planned_steps
from selfplay.learning.policy import EMBEDDED, NOBODY, Listener, Policy, PolicySettings, open_policy
from selfplay.learning.ranks import Ranks
from selfplay.learning.references import check_references
from selfplay.learning.shapes import ModelShape
from selfplay.learning.state import State
from selfplay.learning.thoughts import may_think
from selfplay.learning.update import UpdateSettings
from selfplay.match.ledger import NO_LEDGER
from selfplay.mutation.cache import MutantCache
from selfplay.run.adapters import check_base, find_adapters
from selfplay.run.checkpoints import to_resume
from selfplay.run.folder import versions
from selfplay.run.recorders import Recorder

SPLITS = ("train", "dev", "test")
CLASS_SHARES = (0.8, 0.1, 0.1)
FEW = 10  # problems of a split below which an evaluation says next to nothing


@dataclass(frozen=True, slots=True)
class Run:
    """What stays open while a run lasts. `problems`: by split. What changes is `state`; `mutants` and `golden` are caches."""

    config: Config
    ranks: Ranks
    recorder: Recorder
    policy: Policy
    prompts: Prompts
    judge: Judge
    table: Table
    rule: RewardRule
    update_settings: UpdateSettings
    problems: Mapping[str, Sequence[Problem]]
    state: State
    mutants: MutantCache = field(default_factory=MutantCache)
    golden: GoldenExams = field(default_factory=GoldenExams)


def open_run(config: Config, recorder: Recorder, ranks: Ranks, judge: Judge) -> Run:
    """Opens player and problems, and says what takes time."""
    recorder.say(f"loading {config.model or 'the embedded player'}")
    policy, settings = open_player(config, recorder), update_settings(config)
    if config.ledger == "off":
        recorder.say(NO_LEDGER)
    recorder.about(
        tier=judge.box.tier,
        trainer=type(policy.trainer).__name__,
        sampler=type(policy.sampler).__name__,
        logprob_gap_limit=settings.gap_bound(policy.trainer.bounds),
    )
    problems = open_problems(config, judge, ranks, recorder.say)
    return Run(
        config,
        ranks,
        recorder,
        policy=policy,
        prompts=open_prompts(config),
        judge=judge,
        table=table(config),
        rule=reward_rule(config),
        update_settings=settings,
        problems=problems,
        state=open_state(policy, config, recorder, ranks),
    )


def open_state(policy: Policy, config: Config, recorder: Recorder, ranks: Ranks) -> State:
    """The state that the run begins with: fresh, on trained adapters, or that of a checkpoint."""
    state = State(policy, config, planned_steps(config))
    found = None
    if config.resume:
        [found, *_] = ranks.gather(to_resume(config.resume, recorder.say) if ranks.first else None)
    if found is not None:
        made_with = state.load(found.path)
        recorder.say(f"going on after step {state.done} of {len(state.plan)}, from {found.path}")
        for name, now in versions().items():
            if made_with.get(name) != now:
                recorder.say(f"{name} was {made_with.get(name)} and is {now}: figures may differ from there on")
    elif config.init_from:
        begin_on(policy, config.init_from, recorder.say)
    if config.resume and ranks.first:
        if found is None:
            recorder.say(f"{config.output_dir} has no checkpoint: the run begins again")
        recorder.rewind(state.done, found.about.records if found else {})
    return state


def begin_on(policy: Policy, name: str, say: Callable[[str], None]) -> None:
    """Gives the policy trained adapters. Raises AdapterError where they belong to another base, PolicyError."""
    found = find_adapters(name, say)
    check_base(found, policy.trainer.base)
    for role in ROLES:
        if role in found.folders:
            policy.load_adapters(found.folders[role].absolute().parent, (role,))
            said = "" if found.bases[role] else ", which does not say what base it belongs to"
            say(f"the {role} begins on {found.folders[role]}{said}")
        else:
            say(f"the {role} begins fresh: {name} holds no adapter of it")


def open_player(config: Config, told: Listener = NOBODY) -> Policy:
    """The policy that plays both roles: the embedded player unless the configuration names a model.

    `told` is told what was chosen for a model and why, and when memory runs out. Raises SelfplayError where the model, or what
    was asked of it, cannot be had; before anything heavy is loaded where that can be known.
    """
    if config.embedded:
        torch.set_num_threads(1)  # its matrices are too small to share; cores are used by processes
        told = NOBODY
    machine = this_machine(config.device)
    known = None if config.model is None else known_shape(config.model)
    shape = known if isinstance(known, ModelShape) else None
    choice = choose(
        config, machine, shape, config.model is not None and may_think(config.model, config.thinking, fetch=True)
    )
    told.about(**choice.facts())
    told.say(check_room(config, choice, shape, machine) if shape else str(known))
    settings = PolicySettings(
        rank=config.lora_rank,
        alpha=config.lora_alpha,
        targets=config.lora_target_modules,
        learning_rate=config.learning_rate[0],
        discriminator_learning_rate=config.learning_rate[-1],
        backend=choice.backend,
        sampler=choice.sampler,
        four_bit=choice.four_bit,
        dtype=choice.dtype,
        context=choice.max_seq_length,
        rows=choice.rows,
        prefill_tokens=choice.prefill_tokens,
        cache_mib=choice.cache_mib,
        gradient_checkpointing=choice.checkpointing,
        thinking=config.thinking,
    )
    return open_policy(config.model or EMBEDDED, settings, config.seed, config.device, told)


def open_prompts(config: Config) -> Prompts:
    return Prompts(config.prompts, cases=config.cases_per_turn)


def open_judge(config: Config) -> Judge:
    """Raises BoxUnavailable where the configured sandbox cannot be had, TierTooLow where it confines too little."""
    box = open_box(config)
    try:
        require_tier(box, config.sandbox_min_tier)
    except TierTooLow:
        box.close()
        raise
    return Judge(box, Limits(config.timeout))


def table(config: Config) -> Table:
    """The layout of a group; without an adversary no suite is played."""
    sampling = Sampling(config.temperature, config.max_completion_length, config.thinking_tokens)
    suites = 0 if config.adversary in ("none", "golden") else config.num_suites
    return Table(config.num_generations, suites, config.num_targets, sampling, sampling)


def update_settings(config: Config) -> UpdateSettings:
    bound = {} if config.logprob_gap_limit is None else {"logprob_gap_bound": config.logprob_gap_limit}
    return UpdateSettings(
        epsilon=config.epsilon[0],
        epsilon_high=config.epsilon[-1],
        beta=config.beta,
        num_iterations=config.num_iterations,
        temperature=config.temperature,
        micro_batch_tokens=config.micro_batch_tokens,
        **bound,
    )


def reward_rule(config: Config) -> RewardRule:
    """The configured rule, with the configured weight of validity where it has one."""
    return get_rule(config.rewards).weighing(config.validity_weight)


def open_problems(
    config: Config, judge: Judge, ranks: Ranks | None = None, say: Callable[[str], None] = lambda text: None
) -> dict[str, tuple[Problem, ...]]:
    """Problems by split. The procedural family comes split; any other set is split by what its references compute.

    `say` is told what takes time, and where a split holds too little. Raises ProblemError where a reference fails its
    own tests, SelfplayError where there is nothing to train on.
    """
    problems = load_problems(config.problems, say=say)
    if config.problems == "procedural":
        splits = {name: tuple(p for p in problems if p.id.startswith(f"procedural-{name}-")) for name in SPLITS}
    else:
        if config.problems not in SETS:
            say(f"running the references of {len(problems)} problems on their own tests")
            check_references(config.problems, problems, judge, ranks)
        classes = known_classes(problems, judge, ranks or Ranks(), say)
        shares: dict[str, float] = dict(zip(SPLITS, CLASS_SHARES, strict=True))
        splits = split_by_class(problems, lambda p: classes[p.id], shares, seed=0)
    splits["train"] = splits["train"][: config.train_problems]
    counts = ", ".join(f"{len(own)} {name}" for name, own in splits.items())
    if not splits["train"]:
        raise SelfplayError(f"{config.problems} leaves no problem to train on ({counts}); give more problems")
    say(f"problems: {counts}")
    held_out = len(splits[config.eval_split])
    if held_out < FEW:
        what = "no problem, so nothing is measured" if not held_out else f"{held_out}, too few for figures to rely on"
        say(f"the {config.eval_split} split holds {what}; give more problems, or --eval-split train to see them learnt")
    if len(splits["train"]) < config.problems_per_step:
        say(
            f"a step plays all {len(splits['train'])} training problems, problems_per_step is {config.problems_per_step}"
        )
    return splits
