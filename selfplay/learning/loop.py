"""The training loop: play, examine, score, credit, update, record.

Every random choice is keyed by (seed, step, ...), so arms that leave steps out (no adversary, a frozen one) still see the
same problems in the steps that they share, and a resumed run goes on as if it had never been cut off. Each rank plays its
own problems; only gradients and records cross. What a step leaves for the next is in the run's state (state.py).
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from selfplay.config import Config
from selfplay.errors import SelfplayError
from selfplay.game.episode import ROLES, Group, Role
from selfplay.game.phases import Step, trained_stages
from selfplay.game.problems import Problem
from selfplay.game.rollout import play
from selfplay.learning import setup
from selfplay.learning.credit import Credit, credit, group_counts
from selfplay.learning.heldout import evaluate, record_opponent
from selfplay.learning.plan import learning_roles, planned_steps, rate_factor, whole_schedule
from selfplay.learning.policy import PolicyError
from selfplay.learning.ranks import Ranks
from selfplay.learning.samples import Sample
from selfplay.learning.setup import Run
from selfplay.learning.update import UpdateStats, clipped_update, update_metrics
from selfplay.match.counts import Counts, merged, step_counts
from selfplay.match.entrant import Entrant
from selfplay.match.examine import examine
from selfplay.match.ledger import records
from selfplay.match.livebank import banked
from selfplay.match.match import Match
from selfplay.match.score import score
from selfplay.match.show import sample_text
from selfplay.run.progress import evaluation_table
from selfplay.run.reading import open_ledger, read_config
from selfplay.run.recorders import Recorder

SCHEMA = 1
SAMPLE_EVERY = 10  # steps from one episode that is shown to the next
MAX_SKIPPED = 3  # updates in a row whose gradient is not finite, after which a run ends
Shield = Callable[[], AbstractContextManager[None]]  # around what is brought to its end before a signal is raised


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """What a run ends with. `evaluations` maps `before`, `stage-1` ... `after` to their records. Shows as a table.

    `interrupted`: whether a signal ended it, and `stopped_by` which. `output_dir`: the run's folder.
    """

    evaluations: Mapping[str, Mapping[str, Any]]
    steps: int
    interrupted: bool = False
    stopped_by: int = signal.SIGINT
    output_dir: str = ""

    @property
    def player(self) -> Entrant:
        """The player that was trained, opened as `selfplay.open_player` opens it. Raises SelfplayError."""
        from selfplay.learning.sources import open_player

        return open_player(self.output_dir)

    def matches(self) -> Iterator[Match]:
        """The groups of episodes that were played, judged and paid in training, one at a time. Raises LedgerError, and
        RunFolderError where the run kept no ledger."""
        run = Path(self.output_dir)
        return (match for _, match in open_ledger(run, read_config(run)))

    def __repr__(self) -> str:
        how = "interrupted after" if self.interrupted else "done in"
        held = f"evaluations: {', '.join(self.evaluations) or 'none'}"
        return "\n".join(filter(None, [f"{how} {self.steps} steps; {held}", evaluation_table(self.evaluations)]))


def train(config: Config, recorder: Recorder, ranks: Ranks | None = None, shield: Shield = nullcontext) -> Result:
    """Train both adapters through the configured schedule, with evaluations before, after each stage and after.

    However the run ends, once a step is done the adapters are saved, and a checkpoint where the weights are those of a whole
    step: on Ctrl-C the result says `interrupted`, an error is raised on afterwards. Before that Ctrl-C is raised on, and
    nothing is kept. `shield` makes the block that a signal waits for; without it Ctrl-C cuts a step off.
    """
    planned_steps(config)  # a run without a step is refused before anything is started
    with setup.open_run(config, recorder, ranks or Ranks()) as run:
        state = run.state
        try:
            if state.opponent is None:
                state.opponent = record_opponent(run)
            evaluate(run)
            for step in state.plan[state.done :]:
                with shield():
                    train_step(run, step)
                    recorder.checkpoint(state)
                evaluate(run)
                if step.ends_stage and not state.paid:
                    recorder.say(UNPAID)
        except KeyboardInterrupt as stop:
            if not state.begun:
                raise
            _save(run)
            return Result(
                state.evaluations, state.done, True, getattr(stop, "number", signal.SIGINT), config.output_dir
            )
        except Exception as error:
            if state.begun:
                try:
                    _save(run)
                except SelfplayError as trouble:  # the first error tells more
                    error.add_note(f"the adapters could not be saved: {trouble}")
            raise
        recorder.save(run.policy)
        recorder.checkpoint(state, must=True)  # the last: it says that the run is finished
        return Result(state.evaluations, state.done, output_dir=config.output_dir)


UNPAID = (
    "every reward so far is 0, so nothing was learnt: no program passes and no test counts. See what is played "
    "with `python -m selfplay.play`; easier problems, another --model or --max-completion-length may help"
)


def _save(run: Run) -> None:
    """Keeps what there is of a run that ends early."""
    run.recorder.save(run.policy)
    snapshots = [run.policy.trainer.snapshot(role) for role in ROLES]
    if run.state.whole and all(weights.isfinite().all() for own in snapshots for weights in own.values()):
        run.recorder.checkpoint(run.state, must=True)


def train_step(run: Run, step: Step) -> None:
    """One step of the game: play, examine, score, credit, update, record."""
    clock, state = Clock(), run.state
    groups = play_groups(run, step)
    clock.lap("play")
    examined, order_dependent = examine_groups(run, step, groups)
    matches = score(examined, run.rule)
    clock.lap("judge")
    drift = state.drift.measure(run.policy.trainer, step.stage, groups, run.config.temperature, state.relief)
    stats: dict[Role, UpdateStats] = {}
    credits: dict[Role, Credit] = {}
    running = state.running
    for role in learning_roles(run.config, step):
        stages = trained_stages(step, run.config.trained_stages)
        credits[role] = credit(matches, role, stages, run.config, running, run.ranks)
        matches, running = credits[role].matches, credits[role].running
        stats[role] = update(run, step, role, credits[role].samples)
    clock.lap("update")
    counts = step_counts(matches, drift, order_dependent) + group_counts(credits)
    banks = run.ranks.gather(banked(state.bank, matches, run.config.output_dir))  # a problem is one rank's
    metrics = record(run, step, matches, counts, stats, clock)
    state.step_done(running, stats, banks, metrics)


def play_groups(run: Run, step: Step) -> list[Group]:
    """The step's problems, played by both roles as its weights are. What the sampler keeps from turn to turn is dropped on both
    sides: a step plays alike whatever came before it, and the update needs the memory."""
    run.policy.sampler.forget()
    groups = play(run.policy, run.prompts, draw_problems(run, step), step, run.table)
    run.policy.sampler.forget()
    return run.golden.dealt(groups, run.judge) if run.config.adversary == "golden" else groups


def examine_groups(run: Run, step: Step, groups: Sequence[Group]) -> tuple[list[Match], int]:
    """The groups with their verdicts, and how many cases were found to depend on the order in which they run."""
    before = run.judge.order_dependent
    # Mutants are targets for suites: a generator's step pays programs, and would run them for nothing.
    mutants = run.mutants if "discriminator" in learning_roles(run.config, step) else None
    matches = examine(groups, step, run.judge, run.config.cases_per_turn, mutants)
    return matches, run.judge.order_dependent - before


def update(run: Run, step: Step, role: Role, samples: Sequence[Sample]) -> UpdateStats:
    """Moves the adapter of `role`; raises PolicyError at the third update in a row that is skipped, which is no accident.

    Ranks without a sample take part too: gradients are summed over all of them.
    """
    run.state.begun = True
    run.policy.trainer.scale_rate(role, rate_factor(run.config, step))
    stats = clipped_update(run.policy, role, samples, run.config, run.ranks, run.state.relief)
    if stats.skipped:
        run.recorder.say(f"the {role}'s gradient was not finite: this update is skipped")
        if run.state.skipped.get(role, 0) + 1 == MAX_SKIPPED:
            raise PolicyError(
                f"{MAX_SKIPPED} updates of the {role} in a row had a gradient that is not finite; the adapters are those of "
                "the last finite one. Lower --learning-rate, or load the model in bf16 or fp32"
            )
    return stats


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


def record(
    run: Run, step: Step, matches: Sequence[Match], counts: Counts, stats: Mapping[Role, UpdateStats], clock: Clock
) -> Mapping[str, Any]:
    """Records what all ranks did in a step; its metrics are the same on each, but for the seconds."""
    run.state.ahead()
    times = {"seconds": clock.seconds} | {f"seconds/{name}": seconds for name, seconds in clock.laps.items()}
    head = {"kind": "step", "schema": SCHEMA, "step": step.index, "steps": len(whole_schedule(run.config))}
    head |= {"stage": step.stage, "role": step.role, "phase": step.phase}
    metrics = head | merged(run.ranks.gather(counts)).metrics() | update_metrics(stats) | times
    lines = [line for own in run.ranks.gather(records(matches, run.config.ledger)) for line in own]
    if run.ranks.first:
        run.recorder.step(metrics)
        run.recorder.episodes(lines)
        if step.index % SAMPLE_EVERY == 0 and matches:
            run.recorder.sample(sample_text(matches[0]))
    return metrics
