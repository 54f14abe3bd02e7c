"""Held-out problems: which of them a run or a command measures on, when a run does, and what it records of that.

Ranks share the problems and gather what they measured, so the records and the opponent are the same on each, and a run can
go on with another number of processes. An evaluation leaves the weights as they are: one that was cut off is made again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from selfplay.config import Config
from selfplay.errors import BadInput
from selfplay.evaluation.evaluator import Evaluator, Opponent
from selfplay.evaluation.figures import Measured, figures, measured_of
from selfplay.game.problems import Problem, load_problems
from selfplay.judging.judge import Judge
from selfplay.learning.plan import planned_steps
from selfplay.learning.problem_check import check_references
from selfplay.learning.setup import Run, open_problems
from selfplay.match.entrant import Entrant

SCHEMA = 1


def record_opponent(run: Run) -> Opponent:
    """What the player of the run's beginning does on the held-out problems: the same on every rank."""
    problems = _problems_at(run, "before")
    run.policy.sampler.forget()
    run.recorder.say(f"recording the untrained player on {len(problems)} problems of the {run.config.eval_split} split")
    opponents = run.ranks.gather(_evaluator(run, problems).opponent(_entrant(run)))
    return Opponent(
        {problem: chain for each in opponents for problem, chain in each.chains.items()},
        {problem: wrong for each in opponents for problem, wrong in each.wrong.items()},
    )


def evaluate(run: Run) -> None:
    """Makes the evaluations that are due: measures once, on the problems of the last, which holds those of the others."""
    state, moments = run.state, run.state.due
    if not moments:
        return
    assert state.opponent is not None  # it is recorded before the first evaluation
    started = time.perf_counter()
    problems = _problems_at(run, moments[-1])
    run.policy.sampler.forget()
    run.recorder.say(f"evaluating {' and '.join(moments)}: {len(problems)} problems")
    matches = _evaluator(run, problems).measure(_entrant(run), state.opponent)
    gathered = run.ranks.gather([measured_of(match) for match in matches])
    everyone = sorted((each for own in gathered for each in own), key=lambda each: each.problem)
    records: dict[str, dict[str, Any]] = {}
    for when in moments:
        held = {problem.id for problem in _problems_at(run, when)}
        own = [each for each in everyone if each.problem in held]
        records[when] = evaluation_record(run, when, own, time.perf_counter() - started)
        if when == "after":
            changes = figures(own).changes(figures(state.measured))
            records[when]["change"] = {name: each.as_json() for name, each in changes.items()}
    state.ahead()
    for record in records.values():
        run.recorder.evaluation(record)
    state.evaluated(records, everyone)
    if not state.finished:  # what ends a run is kept once its adapters are saved
        run.recorder.checkpoint(state, must=True)


def evaluation_record(run: Run, when: str, measured: Sequence[Measured], seconds: float) -> dict[str, Any]:
    """One evaluation as metrics.jsonl has it."""
    head = {
        "kind": "evaluation",
        "schema": SCHEMA,
        "when": when,
        "split": run.config.eval_split,
        "tier": run.judge.box.tier,
        "problems": len(measured),
    }
    values = {name: estimate.as_json() for name, estimate in figures(measured).estimates().items()}
    detail = {each.problem: {"correct": sum(each.correct), "greedy": each.greedy} for each in measured}
    return head | values | {"seconds": round(seconds, 2), "by_problem": detail}


def held_out(
    config: Config, judge: Judge, split: str, count: int | None, say: Callable[[str], None]
) -> Sequence[Problem]:
    """The first `count` problems of a split, or of `all`. Raises BadInput, ProblemError."""
    if count is not None and count < 1:
        raise BadInput(f"--num-problems is {count}: measure on at least 1")
    if split == "all":
        problems = load_problems(config.problems)
        check_references(config.problems, problems, judge)
    else:
        problems = open_problems(config, judge, say=say)[split]
    if not problems:
        raise BadInput(f"the {split} split of {config.problems} holds no problem; give more of them, or --split all")
    return problems[:count]


def _entrant(run: Run) -> Entrant:
    stages = planned_steps(run.config)[0].played
    return Entrant("the run's player", run.policy, run.prompts, run.table.generator, stages)


def _evaluator(run: Run, problems: Sequence[Problem]) -> Evaluator:
    """Of this rank's share of the problems."""
    return Evaluator(run.judge, run.mutants, problems[run.ranks.rank :: run.ranks.size])


def _problems_at(run: Run, when: str) -> list[Problem]:
    """The held-out problems: all before and after, the first few in between."""
    config = run.config
    count = config.eval_problems[-1 if when in ("before", "after") else 0]
    return list(run.problems[config.eval_split][:count])
