"""Open what a run needs: the player, the problems, the judge, its state. What can be refused is refused here, at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
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
from selfplay.learning.choice import check_half, check_room, choose, may_think, this_machine
from selfplay.learning.classes import known_classes
from selfplay.learning.plan import planned_steps
from selfplay.learning.policy import EMBEDDED, SILENT, Policy, open_policy
from selfplay.learning.problem_check import check_references
from selfplay.learning.ranks import Ranks
from selfplay.learning.shapes import ShapeUnknown, model_config, shape_of
from selfplay.learning.state import State
from selfplay.learning.update import gap_limit, update_relief
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
    problems: Mapping[str, Sequence[Problem]]
    state: State
    mutants: MutantCache = field(default_factory=MutantCache)
    golden: GoldenExams = field(default_factory=GoldenExams)


@contextmanager
def open_run(config: Config, recorder: Recorder, ranks: Ranks) -> Iterator[Run]:
    """Opens sandbox, player and problems, and says what takes time."""
    recorder.say(f"starting the sandbox: {config.sandbox}")
    with closing(open_judge(config)) as judge:
        recorder.say(f"loading {config.model or 'the embedded player'}")
        policy = policy_of(config, recorder)
        if config.ledger == "off":
            recorder.say(NO_LEDGER)
        recorder.about(
            tier=judge.box.tier,
            trainer=type(policy.trainer).__name__,
            sampler=type(policy.sampler).__name__,
            logprob_gap_limit=gap_limit(config, policy.trainer.bounds),
        )
        problems = open_problems(config, judge, ranks, recorder.say)
        yield Run(
            config,
            ranks,
            recorder,
            policy=policy,
            prompts=open_prompts(config),
            judge=judge,
            table=table(config),
            rule=reward_rule(config),
            problems=problems,
            state=open_state(policy, config, recorder, ranks),
        )


def open_state(policy: Policy, config: Config, recorder: Recorder, ranks: Ranks) -> State:
    """The state that the run begins with: fresh, on trained adapters, or that of a checkpoint."""
    state = State(policy, config, planned_steps(config), update_relief(config.micro_batch_tokens, recorder))
    checkpoint = None
    if config.resume:
        [checkpoint, *_] = ranks.gather(to_resume(config.resume, recorder.say) if ranks.first else None)
    if checkpoint is not None:
        made_with = state.load(checkpoint.path)
        recorder.say(f"going on after step {state.done} of {len(state.plan)}, from {checkpoint.path}")
        for name, now in versions().items():
            if made_with.get(name) != now:
                recorder.say(f"{name} was {made_with.get(name)} and is {now}: figures may differ from there on")
    elif config.init_from:
        begin_on(policy, config.init_from, recorder.say)
    if config.resume and ranks.first:
        if checkpoint is None:
            recorder.say(f"{config.output_dir} has no checkpoint: the run begins again")
        recorder.rewind(state.done, checkpoint.about.records if checkpoint else {})
    return state


def begin_on(policy: Policy, name: str, say: Callable[[str], None]) -> None:
    """Gives the policy trained adapters. Raises AdapterError where they belong to another base, PolicyError."""
    adapters = find_adapters(name, say)
    check_base(adapters, policy.trainer.base)
    for role in ROLES:
        if role in adapters.folders:
            policy.load_adapters(adapters.folders[role].absolute().parent, (role,))
            more = "" if adapters.bases[role] else ", which does not say what base it belongs to"
            say(f"the {role} begins on {adapters.folders[role]}{more}")
        else:
            say(f"the {role} begins fresh: {name} holds no adapter of it")


def policy_of(config: Config, recorder: Recorder = SILENT) -> Policy:
    """The policy that plays both roles: the embedded player unless the configuration names a model.

    `recorder` is told what was chosen for a model and why, and when memory runs out. Raises SelfplayError where the model, or
    what was asked of it, cannot be had; before anything heavy is loaded where that can be known.
    """
    machine = this_machine(config.device)
    if config.model is None:
        torch.set_num_threads(1)  # its matrices are too small to share; cores are used by processes
        return open_policy(EMBEDDED, choose(config, machine, None), config.seed, config.device)
    shape, unplanned, described = None, "", model_config(config.model)
    try:
        shape = shape_of(described)
    except ShapeUnknown as error:
        unplanned = str(error)
    choice = choose(config, machine, shape, may_think(config.model, config.thinking))
    check_half(config.model, described, choice)
    recorder.about(**choice.facts())
    recorder.say(check_room(config.model, choice, shape, machine) if shape else unplanned)
    return open_policy(config.model, choice, config.seed, config.device, recorder)


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


def reward_rule(config: Config) -> RewardRule:
    """The configured rule, with the configured weight of validity where it has one."""
    return get_rule(config.rewards).with_validity_weight(config.validity_weight)


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
    if unsettled := sum(problem.reference_solution is None for problem in splits["train"]):
        say(
            f"{unsettled} of the {len(splits['train'])} training problems have no reference: nothing tells a right test from a "
            "wrong one there, so tests that the discriminator writes are not paid, and programs are paid for the problem's own "
            "tests alone"
        )
    held_out = len(splits[config.eval_split])
    if held_out < FEW:
        what = "no problem, so nothing is measured" if not held_out else f"{held_out}, too few for figures to rely on"
        say(f"the {config.eval_split} split holds {what}; give more problems, or --eval-split train to see them learnt")
    if len(splits["train"]) < config.problems_per_step:
        say(
            f"a step plays all {len(splits['train'])} training problems, problems_per_step is {config.problems_per_step}"
        )
    return splits
