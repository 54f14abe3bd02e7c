"""Players side by side: who is opened when, what is played once, and what of it is compared.

One player at a time lies in memory. The opponent is recorded first, by the untrained player unless another is named; then
each player appears, and its bugs are hunted while it is there. Printing and files are the command's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from selfplay.config import Config
from selfplay.errors import BadInput
from selfplay.evaluation.bugs import Bug, bug_columns, hunt
from selfplay.evaluation.contest import Contest
from selfplay.evaluation.crossplay import CrossPlay, cross_play
from selfplay.evaluation.evaluator import Opponent
from selfplay.evaluation.figures import Figures, figures
from selfplay.evaluation.intervals import Columns, Estimate, ratio, ratio_change
from selfplay.evaluation.standings import as_json, by_problem
from selfplay.game.problems import Problem, load_problems
from selfplay.judging.judge import Judge
from selfplay.learning.opening import Source, source_of
from selfplay.learning.references import check_references
from selfplay.learning.setup import open_problems
from selfplay.match.entrant import Entrant
from selfplay.mutation.bank import MutantBank
from selfplay.run import checkpoints

Say = Callable[[str], None]
Table = dict[str, dict[str, Estimate]]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be measured: `samples` programs for each of `problems`, pass@k for `ks`, `samples` suites for each bug.

    `single_stage`: every player once more without a reasoning chain.
    """

    problems: Sequence[Problem]
    samples: int
    ks: Sequence[int]
    bugs: Sequence[Bug] = ()
    single_stage: bool = False


@dataclass(slots=True)
class Comparison:
    """The figures of each player, what it caught of the bugs, its seconds, and its results by problem."""

    players: dict[str, Figures] = field(default_factory=dict)
    bugs: dict[str, dict[str, Columns]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    problems: dict[str, dict[str, Any]] = field(default_factory=dict)

    def estimates(self) -> Table:
        """Each player's figures, those of the bugs among them."""
        return {
            name: own.estimates() | {figure: ratio(*columns) for figure, columns in self.bugs.get(name, {}).items()}
            for name, own in self.players.items()
        }

    def differences(self) -> Table:
        """Each further player minus the first."""
        first, *others = self.players
        found: Table = {}
        for name in others:
            caught, before = self.bugs.get(name, {}), self.bugs.get(first, {})
            found[f"{name} minus {first}"] = self.players[name].changes(self.players[first]) | {
                figure: ratio_change(before[figure], caught[figure]) for figure in caught
            }
        return found

    def as_json(self) -> dict[str, Any]:
        return {
            "players": as_json(self.estimates()),
            "differences": as_json(self.differences()),
            "by_problem": self.problems,
            "seconds": {name: round(seconds, 2) for name, seconds in self.seconds.items()},
        }


def held_out(config: Config, judge: Judge, split: str, count: int | None, say: Say) -> Sequence[Problem]:
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


def compare(
    players: Sequence[tuple[Source, Config]], opponent: str | None, asked: Asked, judge: Judge, say: Say
) -> Comparison:
    """Lets every player play everything. `opponent` None: the first player, untrained."""
    contest = Contest(judge, MutantBank(), asked.problems, asked.samples)
    source, config = players[0]
    other = source_of(opponent) if opponent else Source(f"{source.name}, untrained")
    say(f"recording the opponent: {other.name}")
    recorded = contest.opponent(other.open(other.config(_asked_of(config)) if opponent else config))
    found = Comparison()
    for source, config in players:
        entrant = source.open(config)
        for each in [entrant] + [entrant.single_stage()] * asked.single_stage:
            say(f"playing {each.name}")
            _appear(found, contest, each, recorded, asked)
    return found


def _asked_of(config: Config) -> Mapping[str, object]:
    return {"seed": config.seed, "device": config.device}


def _appear(found: Comparison, contest: Contest, entrant: Entrant, opponent: Opponent, asked: Asked) -> None:
    appearance = contest.appearance(entrant, opponent)
    found.players[entrant.name] = figures(appearance, asked.ks)
    found.seconds[entrant.name] = appearance.seconds
    for problem, result in by_problem(appearance).items():
        found.problems.setdefault(problem, {})[entrant.name] = result
    if asked.bugs:
        found.bugs[entrant.name] = bug_columns(hunt(entrant, asked.bugs, contest.judge, asked.samples))


def moments(run: Path) -> list[tuple[str, Source]]:
    """The player before a run, and each of its checkpoints that ends a stage, with names for a table. Raises BadInput."""
    held = [made for made in checkpoints.listed(run) if made.about.evaluated]
    if not held:
        raise BadInput(f"{run} holds no checkpoint that ends a stage; cross-play needs a run with checkpoints")
    sources = [(f"stage {made.about.stage}", source_of(f"{run}@{made.step}")) for made in held]
    return [("start", Source(f"{run}, untrained", None, sources[0][1].settings)), *sources]


def cross(
    players: Sequence[tuple[str, Source]], given: Mapping[str, object], problems: Sequence[Problem], judge: Judge
) -> CrossPlay:
    """Every generator against every discriminator of a run's moments."""
    named = [(name, partial(source.open, source.config(given))) for name, source in players]
    return cross_play(named, problems, judge)
