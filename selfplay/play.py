"""Play one episode: `python -m selfplay.play --problem two_sum [--player runs/a]`, or `selfplay.play("two_sum")`.

Prints the chain, the tests, the matrix of verdicts and what every reward rule would pay, and says what to look into
where a turn came to nothing. Without --player it is the untrained one. Exit codes: 0 played, 2 bad input.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from selfplay.config import Config
from selfplay.config.flags import words
from selfplay.game.problems import Problem, find_problem
from selfplay.run.command import PLAYING, callable_module, command

ABOUT = "Play one episode and show everything that happens in it; without --player before any training."
PROBLEM = "Id of the problem to play, such as two_sum. Default: one of --problems, drawn by --seed."
PLAYER = (
    "Whose adapters play: embedded, base (with --model), a run's folder, RUN@STEP or a folder of adapters. "
    "Default: the untrained player."
)


def play(problem: str | None = None, player: str | None = None, **knobs: Any) -> str:
    """One episode as text; also prints it. Keywords are the configuration's keys. Raises SelfplayError."""
    from selfplay.learning.sources import BASE, EMBEDDED, source_of

    source = source_of(player or (BASE if knobs.get("model") else EMBEDDED))
    config = source.config(knobs)
    chosen = choose(config, problem)  # a problem that does not exist is refused before torch loads
    entrant = source.open(config)
    from selfplay.learning.problem_check import check_references
    from selfplay.learning.setup import open_judge
    from selfplay.match.show import play_and_show

    with closing(open_judge(config)) as judge:
        check_references(config.problems, [chosen], judge)  # it decides which tests are right
        name = player or config.model or "the embedded player"
        text = play_and_show(entrant.player, name, chosen, entrant.prompts, entrant.sampling, judge)
    print(text, flush=True)
    return text


def choose(config: Config, wanted: str | None) -> Problem:
    """The problem of this id, from `config.problems` or any set of the package; without one, drawn by the seed."""
    return find_problem(wanted, config.problems, config.seed)


@command("selfplay.play")
def main(arguments: Sequence[str]) -> int:
    own = {"problem": PROBLEM, "player": PLAYER}
    given, mine = words(arguments, "python -m selfplay.play", ABOUT, PLAYING, own)
    play(mine.get("problem"), mine.get("player"), **given)
    return 0


callable_module(__name__, play)

if __name__ == "__main__":
    sys.exit(main())
