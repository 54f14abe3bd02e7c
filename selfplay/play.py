"""Play one episode: `python -m selfplay.play --problem two_sum [--player runs/a]`, or `selfplay.play("two_sum")`.

Prints the chain, the tests, the matrix of verdicts and what every reward rule would pay, and says what to look into
where a turn came to nothing. Without --player it is the untrained one. Exit codes: 0 played, 2 bad input.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from selfplay.config import Config
from selfplay.config.flags import words
from selfplay.game.problems import Problem, find_problem
from selfplay.run.command import run_command

ABOUT = "Play one episode and show everything that happens in it; without --player before any training."
PROBLEM = "Id of the problem to play, such as two_sum. Default: one of --problems, drawn by --seed."
PLAYER = (
    "Whose adapters play: embedded, base (with --model), a run's folder, RUN@STEP or a folder of adapters. "
    "Default: the untrained player."
)
KEYS = (
    *("seed", "device", "model", "prompts", "problems", "cases_per_turn", "temperature", "max_completion_length"),
    *("thinking", "thinking_tokens"),
    *("timeout", "sandbox", "sandbox_min_tier"),
)


def play(problem: str | None = None, player: str | None = None, **knobs: Any) -> str:
    """One episode as text; also prints it. Keywords are the configuration's keys. Raises SelfplayError."""
    text = _play(knobs, problem, player)
    print(text, flush=True)
    return text


def _play(given: Mapping[str, Any], wanted: str | None, player: str | None) -> str:
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from selfplay.learning.opening import BASE, EMBEDDED, source_of

    source = source_of(player or (BASE if given.get("model") else EMBEDDED))
    config = source.config(given)
    problem = choose(config, wanted)  # a problem that does not exist is refused before torch loads
    entrant = source.open(config)
    from selfplay.learning.references import check_references
    from selfplay.learning.setup import open_judge
    from selfplay.match.show import play_and_show

    judge = open_judge(config)
    try:
        check_references(config.problems, [problem], judge)  # it decides which tests are right
        name = player or config.model or "the embedded player"
        return play_and_show(entrant.player, name, problem, entrant.prompts, entrant.sampling, judge)
    finally:
        judge.close()


def choose(config: Config, wanted: str | None) -> Problem:
    """The problem of this id, from `config.problems` or any set of the package; without one, drawn by the seed."""
    return find_problem(wanted, config.problems, config.seed)


def main(argv: Sequence[str] | None = None) -> int:
    prog = "python -m selfplay.play"

    def body() -> int:
        own = {"problem": PROBLEM, "player": PLAYER}
        given, mine = words(sys.argv[1:] if argv is None else argv, prog, ABOUT, KEYS, own)
        print(_play(given, mine.get("problem"), mine.get("player")), flush=True)
        return 0

    return run_command("selfplay.play", body)


class _Callable(ModuleType):
    """`selfplay.play` is this module to `python -m` and, once imported, to Python; it can be called all the same."""

    def __call__(self, problem: str | None = None, player: str | None = None, **knobs: Any) -> str:
        return play(problem, player, **knobs)


sys.modules[__name__].__class__ = _Callable

if __name__ == "__main__":
    sys.exit(main())
