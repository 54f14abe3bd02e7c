"""Play one episode before any training: `python -m selfplay.play --problem two_sum`, or `selfplay.play("two_sum")`.

Prints the chain, the tests, the matrix of verdicts and what every reward rule would pay, and says what to look into
where a turn came to nothing. Exit codes: 0 played, 2 bad input. Left out: playing with trained adapters.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any

from selfplay.config import Config, configure
from selfplay.config.flags import parse
from selfplay.errors import UnknownName, suggestion
from selfplay.game.problems import SETS, Problem, load_problems
from selfplay.run.command import run_command

ABOUT = "Play one episode with an untrained player and show everything that happens in it."
PROBLEM = "Id of the problem to play, such as two_sum. Default: one of --problems, drawn by --seed."
KEYS = (
    *("seed", "device", "model", "prompts", "problems", "cases_per_turn", "temperature", "max_completion_length"),
    *("thinking", "thinking_tokens"),
    *("timeout", "memory_mib", "sandbox", "sandbox_min_tier"),
)


def play(problem: str | None = None, **knobs: Any) -> str:
    """One episode as text; also prints it. Keywords are the configuration's keys. Raises SelfplayError."""
    text = _play(configure(knobs), problem)
    print(text, flush=True)
    return text


def _play(config: Config, wanted: str | None) -> str:
    problem = choose(config, wanted)  # a problem that does not exist is refused before torch loads
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from selfplay.learning import setup
    from selfplay.learning.references import check_references
    from selfplay.match.show import play_and_show

    judge = setup.open_judge(config)
    try:
        check_references(config.problems, [problem], judge)  # it decides which tests are right
        prompts, sampling = setup.open_prompts(config), setup.table(config).generator
        name = config.model or "the embedded player"
        return play_and_show(setup.open_player(config), name, problem, prompts, sampling, judge)
    finally:
        judge.close()


def choose(config: Config, wanted: str | None) -> Problem:
    """The problem of this id, from `config.problems` or any set of the package; without one, drawn by the seed."""
    problems = load_problems(config.problems)
    if wanted is None:
        return random.Random(config.seed).choice(problems)
    others = (
        [] if config.problems not in SETS else [name for name in SETS if name != config.problems and "/" not in name]
    )
    known = {problem.id: problem for problem in problems}
    for name in others:
        if wanted in known:
            break
        known = {problem.id: problem for problem in load_problems(name)} | known
    if wanted not in known:
        raise UnknownProblem(wanted, known, config.problems)
    return known[wanted]


class UnknownProblem(UnknownName):
    """No problem of this id; names the nearest, and some of the many."""

    def __init__(self, wanted: str, known: Iterable[str], source: str) -> None:
        super().__init__("problem", wanted, known)
        few = ", ".join(self.known[:5])
        close = suggestion(wanted, self.known)
        where = f"{source} and the package's sets hold" if source in SETS else f"{source} holds"
        self.args = (f"unknown problem {wanted!r}{close}; {where} {len(self.known)}, for instance {few}",)


def main(argv: Sequence[str] | None = None) -> int:
    prog = "python -m selfplay.play"

    def body() -> int:
        config, own = parse(sys.argv[1:] if argv is None else argv, prog, ABOUT, KEYS, {"problem": PROBLEM})
        print(_play(config, own.get("problem")), flush=True)
        return 0

    return run_command("selfplay.play", body)


class _Callable(ModuleType):
    """`selfplay.play` is this module to `python -m` and, once imported, to Python; it can be called all the same."""

    def __call__(self, problem: str | None = None, **knobs: Any) -> str:
        return play(problem, **knobs)


sys.modules[__name__].__class__ = _Callable

if __name__ == "__main__":
    sys.exit(main())
