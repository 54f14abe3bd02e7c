"""The training loop: play, examine, score, credit, update, record.

Every random choice is keyed by (seed, step, ...), so arms that leave steps out (no adversary, a frozen one) still see the
same problems in the steps that they share. Each rank plays its own problems; only gradients and records cross.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from selfplay.config import Config
from selfplay.errors import SelfplayError
from selfplay.game.advantages import RunningMeans
from selfplay.game.episode import ROLES, Role
from selfplay.game.phases import Step, trained_stages
from selfplay.game.problems import Problem
from selfplay.game.prompts import Prompts
from selfplay.game.rewards import RewardRule
from selfplay.game.rollout import Table, play
from selfplay.judging.judge import Judge
from selfplay.learning import setup
from selfplay.learning.credit import Credit, CreditSettings, credit, taught
from selfplay.learning.drift import Drift
from selfplay.learning.plan import planned_steps, rate_factor, trained_roles, whole_schedule
from selfplay.learning.policy import Policy, PolicyError, Relief
from selfplay.learning.ranks import Ranks
from selfplay.learning.update import UpdateSettings, UpdateStats, clipped_update, update_metrics, update_relief
from selfplay.match.counts import merged, step_counts
from selfplay.match.evaluate import Evaluator, Measured, Opponent, changes, figures, measured_of
from selfplay.match.examine import examine
from selfplay.match.ledger import NO_LEDGER, records
from selfplay.match.record import Match
from selfplay.match.score import score
from selfplay.match.show import sample_text
from selfplay.mutation.bank import MutantBank
from selfplay.run.progress import evaluation_table

SCHEMA = 1
MAX_SKIPPED = 3  # updates in a row whose gradient is not finite, after which a run ends


class Recorder(Protocol):
    """Where a run's records go. Only rank 0's is asked to keep anything."""

    def say(self, text: str) -> None: ...
    def about(self, **facts: Any) -> None: ...
    def step(self, metrics: Mapping[str, Any]) -> None: ...
    def evaluation(self, record: Mapping[str, Any]) -> None: ...
    def episodes(self, records: Sequence[Mapping[str, Any]]) -> None: ...
    def sample(self, text: str) -> None: ...
    def save(self, policy: Policy) -> None: ...


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """What a run ends with. `evaluations` maps `before`, `stage-1` ... `after` to their records. Shows as a table."""

    evaluations: Mapping[str, Mapping[str, Any]]
    steps: int
    interrupted: bool = False

    def __repr__(self) -> str:
        how = "interrupted after" if self.interrupted else "done in"
        held = f"evaluations: {', '.join(self.evaluations) or 'none'}"
        return "\n".join(filter(None, [f"{how} {self.steps} steps; {held}", evaluation_table(self.evaluations)]))


@dataclass(slots=True)
class Run:
    """What stays open while a run lasts. `problems` maps a split to its problems; `running` is the advantages' memory.

    `updated`: whether an update has been made. `paid`: whether any reward was not 0. `skipped`: a role's
    updates in a row whose gradient was not finite. `measured`: what `before` measured, for the change since.
    """

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
    relief: Relief
    problems: Mapping[str, Sequence[Problem]]
    running: RunningMeans = field(default_factory=RunningMeans)
    drift: Drift = field(default_factory=Drift)
    bank: MutantBank = field(default_factory=MutantBank)
    evaluations: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    measured: list[Measured] = field(default_factory=list)
    updated: bool = False
    paid: bool = False
    skipped: dict[Role, int] = field(default_factory=dict)


def train(config: Config, recorder: Recorder, ranks: Ranks | None = None) -> Result:
    """Train both adapters through the configured schedule, with evaluations before, after each stage and after.

    Once an update is made, however the run ends the adapters are saved: on Ctrl-C the result says `interrupted`,
    an error is raised on afterwards. Before that Ctrl-C is raised on, and nothing is kept.
    """
    ranks = ranks or Ranks()
    planned_steps(config)  # a run without a step is refused before anything is started
    recorder.say(f"starting the sandbox: {config.sandbox}")
    judge = setup.open_judge(config)
    try:
        return _train(open_run(config, recorder, ranks, judge))
    finally:
        judge.close()


def open_run(config: Config, recorder: Recorder, ranks: Ranks, judge: Judge) -> Run:
    """Opens player and problems, and says what takes time."""
    recorder.say(f"loading {config.model or 'the embedded player'}")
    policy, settings = setup.open_player(config, recorder), setup.update_settings(config)
    if config.ledger == "off":
        recorder.say(NO_LEDGER)
    recorder.about(tier=judge.box.tier, logprob_gap_limit=settings.gap_bound(policy.trainer.bounds))
    problems = setup.open_problems(config, judge, ranks, recorder.say)
    return Run(
        config,
        ranks,
        recorder,
        policy=policy,
        prompts=setup.open_prompts(config),
        judge=judge,
        table=setup.table(config),
        rule=setup.reward_rule(config),
        credit_settings=CreditSettings(config.advantages, config.mask_truncated),
        update_settings=settings,
        relief=update_relief(config.micro_batch_tokens, recorder),
        problems=problems,
    )


def _train(run: Run) -> Result:
    steps = planned_steps(run.config)
    done = 0
    try:
        opponent = _record_opponent(run)
        _evaluate(run, opponent, "before")
        for step in steps:
            train_step(run, step, len(whole_schedule(run.config)))
            done += 1
            if step.ends_stage:
                # The last stage's evaluation is also the final one: it is made once, on the problems of both.
                _evaluate(run, opponent, f"stage-{step.stage}", *(["after"] if step is steps[-1] else []))
                _say_if_unpaid(run)
    except KeyboardInterrupt:
        if not run.updated:
            raise
        run.recorder.save(run.policy)
        return Result(run.evaluations, done, interrupted=True)
    except Exception as error:
        if run.updated:
            try:
                run.recorder.save(run.policy)
            except SelfplayError as trouble:  # the first error tells more
                error.add_note(f"the adapters could not be saved: {trouble}")
        raise
    run.recorder.save(run.policy)
    return Result(run.evaluations, done)


def _say_if_unpaid(run: Run) -> None:
    if not run.paid:
        run.recorder.say(
            "every reward so far is 0, so nothing was learnt: no program passes and no test counts. See what is played "
            "with `python -m selfplay.play`; easier problems, another --model or --max-completion-length may help"
        )


def train_step(run: Run, step: Step, total: int) -> None:
    """One step of the game: play, examine, score, credit, update, record."""
    clock = Clock()
    # A step plays alike whether an evaluation, a resume or nothing came before it.
    run.policy.sampler.forget()
    run.drift.begin(run.policy.trainer, step.stage)
    groups = play(run.policy, run.prompts, draw_problems(run, step), step, run.table)
    clock.lap("play")
    dependent = run.judge.order_dependent
    # Mutants are targets for suites: a generator's step pays programs, and would run them for nothing.
    bank = run.bank if step.trains("discriminator") else None
    matches = score(examine(groups, step, run.judge, run.config.cases_per_turn, bank), run.rule)
    clock.lap("judge")
    # Before the update: the prefixes were sampled with the weights that are about to move.
    drifted = run.drift.measure(run.policy.trainer, groups, run.config.temperature, run.relief)
    stats: dict[Role, UpdateStats] = {}
    credits: dict[Role, Credit] = {}
    for role in trained_roles(run.config, step):
        stages = trained_stages(step, run.config.trained_stages)
        credits[role] = credit(matches, role, stages, run.credit_settings, run.running, run.ranks)
        matches, run.running = credits[role].matches, credits[role].running
        run.policy.trainer.scale_rate(role, rate_factor(run.config, step))
        # Ranks without a sample take part too: gradients are summed over all of them.
        stats[role] = clipped_update(
            run.policy, role, credits[role].samples, run.update_settings, run.ranks, run.relief
        )
        run.updated = True
        _count_skipped(run, role, stats[role])
    clock.lap("update")
    _record(run, step, total, matches, drifted, run.judge.order_dependent - dependent, credits, stats, clock)


def _count_skipped(run: Run, role: Role, stats: UpdateStats) -> None:
    """Says that an update was skipped; raises PolicyError at a role's third in a row, which is no accident any more."""
    if not stats.skipped:
        # An update without a scored token says nothing about the gradient.
        run.skipped[role] = 0 if stats.tokens else run.skipped.get(role, 0)
        return
    run.skipped[role] = run.skipped.get(role, 0) + 1
    run.recorder.say(f"the {role}'s gradient was not finite: this update is skipped")
    if run.skipped[role] == MAX_SKIPPED:
        raise PolicyError(
            f"{MAX_SKIPPED} updates of the {role} in a row had a gradient that is not finite; the adapters are those of the "
            "last finite one. Lower --learning-rate, or load the model in bf16 or fp32"
        )


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
    dependent: int,
    credits: Mapping[Role, Credit],
    stats: Mapping[Role, UpdateStats],
    clock: Clock,
) -> None:
    counts = merged(run.ranks.gather(step_counts(matches, drifted, dependent) + taught(credits)))
    run.paid |= any(counts.shares[f"reward/{role}"].hits for role in ROLES)
    lines = run.ranks.gather(records(matches, run.config.ledger))
    if not run.ranks.first:
        return
    times = {"seconds": clock.seconds} | {f"seconds/{name}": seconds for name, seconds in clock.laps.items()}
    head = {"kind": "step", "schema": SCHEMA, "step": step.index, "steps": total, "stage": step.stage}
    run.recorder.step(
        head | {"role": step.role, "phase": step.phase} | counts.metrics() | update_metrics(stats) | times
    )
    run.recorder.episodes([record for own in lines for record in own])
    if run.config.sample_every and step.index % run.config.sample_every == 0 and matches:
        run.recorder.sample(sample_text(matches[0]))


def _evaluator(run: Run) -> Evaluator:
    stages = planned_steps(run.config)[0].played
    return Evaluator(run.judge, run.prompts, run.bank, run.table, stages, run.config.eval_samples)


def _held_out(run: Run, when: str) -> list[Problem]:
    """The held-out problems: all before and after, the first few in between."""
    config = run.config
    count = config.final_eval_problems if when in ("before", "after") else config.eval_problems
    return list(run.problems[config.eval_split][:count])


def _mine(run: Run, problems: Sequence[Problem]) -> Sequence[Problem]:
    return problems[run.ranks.rank :: run.ranks.size]


def _record_opponent(run: Run) -> Opponent:
    problems = _held_out(run, "before")
    run.policy.sampler.forget()
    run.recorder.say(f"recording the untrained player on {len(problems)} problems of the {run.config.eval_split} split")
    return _evaluator(run).record_opponent(run.policy, _mine(run, problems))


def _evaluate(run: Run, opponent: Opponent, *moments: str) -> None:
    """Measures once, on the problems of the last of `moments`, which holds those of the others; records each."""
    started = time.perf_counter()
    problems = _held_out(run, moments[-1])
    run.policy.sampler.forget()
    run.recorder.say(f"evaluating {' and '.join(moments)}: {len(problems)} problems")
    matches = _evaluator(run).measure(run.policy, _mine(run, problems), opponent)
    measured = [measured_of(match) for match in matches]
    everyone = sorted((m for own in run.ranks.gather(measured) for m in own), key=lambda m: m.problem)
    if not run.ranks.first:
        return
    for when in moments:
        held = {problem.id for problem in _held_out(run, when)}
        own = [m for m in everyone if m.problem in held]
        record = evaluation_record(run, when, own, time.perf_counter() - started)
        if when == "before":
            run.measured = own
        if when == "after":
            record |= {"change": {name: each.as_json() for name, each in changes(run.measured, own).items()}}
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
