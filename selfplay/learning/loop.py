"""The training loop: play, examine, score, credit, update, record.

Every random choice is keyed by (seed, step, ...), so arms that leave steps out (no adversary, a frozen one) still see the
same problems in the steps that they share. Each rank plays its own problems; only gradients and records cross.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from selfplay.config import Config
from selfplay.game.advantages import RunningMeans
from selfplay.game.episode import ROLES, Role
from selfplay.game.phases import Step, schedule, trained_stages
from selfplay.game.problems import Problem
from selfplay.game.prompts import Prompts
from selfplay.game.rewards import RewardRule
from selfplay.game.rollout import Table, play
from selfplay.judging.judge import Judge
from selfplay.judging.targets import MutantBank
from selfplay.learning import setup
from selfplay.learning.credit import Credit, CreditSettings, credit
from selfplay.learning.drift import Drift
from selfplay.learning.policy import Policy
from selfplay.learning.ranks import Ranks
from selfplay.learning.update import UpdateSettings, UpdateStats, clipped_update, update_metrics
from selfplay.match.counts import Counts, merged, step_counts
from selfplay.match.evaluate import Evaluator, Measured, Opponent, figures, measured_of
from selfplay.match.examine import examine
from selfplay.match.ledger import to_json
from selfplay.match.record import Match
from selfplay.match.score import score
from selfplay.match.show import sample_text

SCHEMA = 1


class Recorder(Protocol):
    """Where a run's records go. Only rank 0's is asked to keep anything."""

    def about(self, **facts: Any) -> None: ...
    def step(self, metrics: Mapping[str, Any]) -> None: ...
    def evaluation(self, record: Mapping[str, Any]) -> None: ...
    def episodes(self, records: Sequence[Mapping[str, Any]]) -> None: ...
    def sample(self, text: str) -> None: ...
    def save(self, policy: Policy) -> None: ...


@dataclass(frozen=True, slots=True)
class Result:
    """What a run ends with. `evaluations` maps `before`, `stage-1` ... `after` to their records."""

    evaluations: Mapping[str, Mapping[str, Any]]
    steps: int
    interrupted: bool = False


@dataclass(slots=True)
class Run:
    """What stays open while a run lasts. `problems` maps a split to its problems; `running` is the advantages' memory."""

    config: Config
    ranks: Ranks
    recorder: Recorder
    policy: Policy
    prompts: Prompts
    judge: Judge
    table: Table
    rule: RewardRule
    credit_settings: CreditSettings
    update_settings: UpdateSettings
    problems: Mapping[str, Sequence[Problem]]
    running: RunningMeans = field(default_factory=RunningMeans)
    drift: Drift = field(default_factory=Drift)
    bank: MutantBank = field(default_factory=MutantBank)
    evaluations: dict[str, Mapping[str, Any]] = field(default_factory=dict)


def train(config: Config, recorder: Recorder, ranks: Ranks | None = None) -> Result:
    """Train both adapters through the configured schedule, with evaluations before, after each stage and after.

    Ctrl-C ends it in order: the adapters are saved and the result says `interrupted`.
    """
    ranks = ranks or Ranks()
    judge = setup.open_judge(config)
    try:
        run = open_run(config, recorder, ranks, judge)
        recorder.about(tier=judge.box.tier)
        return _train(run)
    finally:
        judge.close()


def open_run(config: Config, recorder: Recorder, ranks: Ranks, judge: Judge) -> Run:
    return Run(
        config,
        ranks,
        recorder,
        policy=setup.open_player(config),
        prompts=setup.open_prompts(config),
        judge=judge,
        table=setup.table(config),
        rule=setup.reward_rule(config),
        credit_settings=CreditSettings(config.advantages, config.mask_truncated),
        update_settings=setup.update_settings(config),
        problems=setup.open_problems(config, judge),
    )


def _train(run: Run) -> Result:
    steps = planned_steps(run.config)
    done = 0
    try:
        opponent = _record_opponent(run)
        _evaluate(run, opponent, "before")
        for step in steps:
            train_step(run, step, len(_schedule(run.config)))
            done += 1
            if step.ends_stage:
                _evaluate(run, opponent, f"stage-{step.stage}")
        _evaluate(run, opponent, "after")
    except KeyboardInterrupt:
        run.recorder.save(run.policy)
        return Result(run.evaluations, done, interrupted=True)
    run.recorder.save(run.policy)
    return Result(run.evaluations, done)


def planned_steps(config: Config) -> list[Step]:
    """The schedule's steps; without a trained adversary only those that train the generator."""
    kept = [step for step in _schedule(config) if config.adversary == "trained" or step.trains("generator")]
    last = {step.stage: step.index for step in kept}
    return [replace(step, ends_stage=step.index == last[step.stage]) for step in kept]


def _schedule(config: Config) -> tuple[Step, ...]:
    return schedule(config.schedule, config.stages, config.n_discriminator_steps, config.n_generator_steps, config.k)


def train_step(run: Run, step: Step, total: int) -> None:
    """One step of the game: play, examine, score, credit, update, record."""
    clock = Clock()
    run.drift.begin(run.policy, step.stage)
    groups = play(run.policy, run.prompts, draw_problems(run, step), step, run.table)
    clock.lap("play")
    bank = run.bank if step.trains("discriminator") else None
    matches = score(examine(groups, step, run.judge, run.config.cases_per_turn, bank), run.rule)
    clock.lap("judge")
    drifted = run.drift.measure(run.policy, groups, run.config.temperature, run.config.micro_batch_tokens)
    stats: dict[Role, UpdateStats] = {}
    credits: dict[Role, Credit] = {}
    for role in trained_roles(run.config, step):
        stages = trained_stages(step, run.config.trained_stages)
        credits[role] = credit(matches, role, stages, run.credit_settings, run.running, run.ranks)
        matches, run.running = credits[role].matches, credits[role].running
        run.policy.scale_rate(role, rate_factor(run.config, step))
        stats[role] = clipped_update(run.policy, role, credits[role].samples, run.update_settings, run.ranks)
    clock.lap("update")
    _record(run, step, total, matches, drifted, credits, stats, clock)


def rate_factor(config: Config, step: Step) -> float:
    """What is left of the learning rate; counted over the whole schedule, so that arms that skip steps agree."""
    if config.lr_scheduler_type == "constant":
        return 1.0
    return 1.0 - step.index / len(_schedule(config))


def trained_roles(config: Config, step: Step) -> list[Role]:
    return [r for r in ROLES if step.trains(r) and (r == "generator" or config.adversary == "trained")]


def draw_problems(run: Run, step: Step) -> list[Problem]:
    """This rank's share of the step's problems, drawn without replacement by seed and step alone."""
    pool = run.problems["train"]
    rng = random.Random(f"{run.config.seed} problems {step.index}")
    drawn = rng.sample(range(len(pool)), min(run.config.problems_per_step, len(pool)))
    return [pool[i] for i in drawn[run.ranks.rank :: run.ranks.size]]


@dataclass(slots=True)
class Clock:
    """Seconds of each part of a step."""

    started: float = field(default_factory=time.perf_counter)
    laps: dict[str, float] = field(default_factory=dict)

    def lap(self, name: str) -> None:
        self.laps[name] = self.seconds - sum(self.laps.values())

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started


def _record(
    run: Run,
    step: Step,
    total: int,
    matches: Sequence[Match],
    drifted: tuple[float, int],
    credits: Mapping[Role, Credit],
    stats: Mapping[Role, UpdateStats],
    clock: Clock,
) -> None:
    counts = merged(run.ranks.gather(step_counts(matches, drifted) + _taught(credits)))
    records = run.ranks.gather([to_json(match) for match in matches])
    if not run.ranks.first:
        return
    times = {"seconds": clock.seconds} | {f"seconds/{name}": seconds for name, seconds in clock.laps.items()}
    head = {"kind": "step", "schema": SCHEMA, "step": step.index, "steps": total, "stage": step.stage}
    run.recorder.step(
        head | {"role": step.role, "phase": step.phase} | counts.metrics() | update_metrics(stats) | times
    )
    run.recorder.episodes([record for own in records for record in own])
    if run.config.sample_every and step.index % run.config.sample_every == 0 and matches:
        run.recorder.sample(sample_text(matches[0]))


def _taught(credits: Mapping[Role, Credit]) -> Counts:
    """How many of this rank's groups taught something, by role and together."""
    plain: dict[str, int] = {}
    for role, own in credits.items():
        for name, count in (("informative_groups", own.informative), ("groups", own.groups)):
            plain[name] = plain.get(name, 0) + count
            plain[f"{name}/{role}"] = count
    return Counts(plain=plain)


def _evaluator(run: Run) -> Evaluator:
    stages = planned_steps(run.config)[0].played
    return Evaluator(run.judge, run.prompts, run.bank, run.table, stages, run.config.eval_samples)


def _held_out(run: Run, when: str) -> list[Problem]:
    """This rank's share of the held-out problems: all before and after, fewer in between."""
    config = run.config
    count = config.final_eval_problems if when in ("before", "after") else config.eval_problems
    return list(run.problems[config.eval_split][:count])[run.ranks.rank :: run.ranks.size]


def _record_opponent(run: Run) -> Opponent:
    return _evaluator(run).record_opponent(run.policy, _held_out(run, "before"))


def _evaluate(run: Run, opponent: Opponent, when: str) -> None:
    started = time.perf_counter()
    matches = _evaluator(run).measure(run.policy, _held_out(run, when), opponent)
    measured = [measured_of(match) for match in matches]
    everyone = sorted((m for own in run.ranks.gather(measured) for m in own), key=lambda m: m.problem)
    if run.ranks.first:
        record = evaluation_record(run, when, everyone, time.perf_counter() - started)
        run.evaluations[when] = record
        run.recorder.evaluation(record)


def evaluation_record(run: Run, when: str, measured: Sequence[Measured], seconds: float) -> dict[str, Any]:
    head = {
        "kind": "evaluation",
        "schema": SCHEMA,
        "when": when,
        "split": run.config.eval_split,
        "tier": run.judge.box.tier,
        "problems": len(measured),
    }
    values = {name: estimate.as_json() for name, estimate in figures(measured).items()}
    detail = {m.problem: {"correct": sum(m.correct), "greedy": m.greedy} for m in measured}
    return head | values | {"seconds": round(seconds, 2), "by_problem": detail}
