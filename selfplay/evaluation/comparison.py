"""Players side by side: each plays everything, and its bugs are hunted while it is there. Printing and files are the command's.

Players are given as what opens them, so that one at a time lies in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from selfplay.evaluation.bugs import Bug, bug_columns, hunt
from selfplay.evaluation.evaluator import Evaluator, Opponent
from selfplay.evaluation.figures import Figures, appearance_figures
from selfplay.evaluation.standings import Standings, as_json, by_problem
from selfplay.match.entrant import Entrant


@dataclass(slots=True)
class Comparison:
    """The figures of each player, those of the bugs among them, its seconds, and its results by problem. `about`: on what."""

    players: dict[str, Figures] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    problems: dict[str, dict[str, Any]] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)

    def estimates(self) -> Standings:
        return {name: own.estimates() for name, own in self.players.items()}

    def differences(self) -> Standings:
        """Each further player minus the first."""
        first, *others = self.players
        return {f"{name} minus {first}": self.players[name].changes(self.players[first]) for name in others}

    def as_json(self) -> dict[str, Any]:
        return {
            "players": as_json(self.estimates()),
            "differences": as_json(self.differences()),
            "by_problem": self.problems,
            "seconds": {name: round(seconds, 2) for name, seconds in self.seconds.items()},
        }


def compare(
    players: Iterable[Callable[[], Entrant]],
    opponent: Opponent,
    evaluator: Evaluator,
    ks: Sequence[int],
    bugs: Sequence[Bug] = (),
    single_stage: bool = False,
    say: Callable[[str], None] = lambda text: None,
) -> Comparison:
    """Lets every player play everything; with `single_stage` once more without a reasoning chain. pass@k for each of `ks`."""
    comparison = Comparison()
    for open_player in players:
        entrant = open_player()
        for each in (entrant, entrant.single_stage()) if single_stage else (entrant,):
            say(f"playing {each.name}")
            appearance = evaluator.appearance(each, opponent)
            figures = appearance_figures(appearance, ks)
            if bugs:
                figures.columns.update(bug_columns(hunt(each, bugs, evaluator.judge, evaluator.samples)))
            comparison.players[each.name] = figures
            comparison.seconds[each.name] = appearance.seconds
            for problem, result in by_problem(appearance).items():
                comparison.problems.setdefault(problem, {})[each.name] = result
    return comparison
