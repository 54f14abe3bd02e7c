"""Train both players: `python -m selfplay.train`, or `selfplay.train(seed=1, output_dir="runs/a")` from Python.

With nothing but the package it trains the embedded player on procedural problems. Exit codes: 0 done, 2 bad input,
130 interrupted (the adapters are saved). Here is only reading, calling and printing; the loop is learning/loop.py.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from selfplay.config import Config, configure, from_flags, to_flags
from selfplay.errors import SelfplayError, UnknownName

if TYPE_CHECKING:
    from selfplay.learning.loop import Result

ABOUT = "Train the generator and the discriminator against each other."
HINT = (
    "a GPU was found ({name}). This run trains the small embedded player on the CPU; for a real model:\n"
    "  python -m selfplay.train --preset t4 --output-dir runs/t4"
)


def train(config: Config | str | Path | None = None, **knobs: Any) -> Result:
    """Run the schedule; prints progress and fills the run folder.

    `config`: a Config, or a YAML file whose values the keywords win over. Returns the evaluations (`before`, `stage-1`
    ... `after`), the number of steps, and whether Ctrl-C ended it. Raises SelfplayError for bad input.
    """
    if isinstance(config, Config):
        if knobs:
            raise SelfplayError(
                f"give a Config or keywords, not both: {', '.join(knobs)}; dataclasses.replace changes one"
            )
        return _run(config)
    return _run(configure(knobs, config))


def _run(config: Config) -> Result:
    from selfplay.run.folder import RunFolder
    from selfplay.run.progress import Progress, evaluation_table
    from selfplay.run.recorders import Memory, Recorders

    first = _first()
    if first:
        _check_names(config)
    # A folder that is taken is refused here, before torch is loaded.
    recorder = Recorders(RunFolder(config), Progress()) if first else Memory()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    if first:
        _hint(config)
    result = _on_all_ranks(config, recorder)
    if first:
        print(_last_words(config, result, evaluation_table(result.evaluations)), flush=True)
    return result


def _check_names(config: Config) -> None:
    """Refuses what does not exist before anything heavy is loaded and other processes are started."""
    from selfplay.game.advantages import ADVANTAGES
    from selfplay.game.phases import SCHEDULES
    from selfplay.game.problems import load_problems
    from selfplay.game.prompts import STYLES
    from selfplay.game.rewards import RULES

    for kind, name, known in (
        ("reward rule", config.rewards, RULES),
        ("advantage", config.advantages, ADVANTAGES),
        ("schedule", config.schedule, SCHEDULES),
        ("prompt style", config.prompts, STYLES),
    ):
        if name is not None and name not in known:
            raise UnknownName(kind, name, known)
    load_problems(config.problems)


def _on_all_ranks(config: Config, recorder: Any) -> Result:
    """The loop, in this process and those started beside it. On Ctrl-C they are ended rather than waited for."""
    from selfplay.learning import loop
    from selfplay.learning.ranks import connect, launch

    ranks, result = None, None
    processes = config.processes if isinstance(config.processes, int) else 1
    try:
        with launch(processes, to_flags(config)):
            ranks = connect()
            result = loop.train(config, recorder, ranks)
            if result.interrupted:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        if result is None:
            raise
    finally:
        if ranks is not None:
            ranks.close()
    return result


def _first() -> bool:
    """Whether this process prints and writes; the others are started with a RANK."""
    return os.environ.get("RANK", "0") == "0"


def _hint(config: Config) -> None:
    """Where a GPU lies idle, say how to use it."""
    import torch

    if config.embedded and config.device != "cuda" and torch.cuda.is_available():
        print(HINT.format(name=torch.cuda.get_device_name()), flush=True)


def _last_words(config: Config, result: Result, table: str) -> str:
    folder = Path(config.output_dir)
    adapters = f"{folder / 'adapters' / 'generator'} and {folder / 'adapters' / 'discriminator'}"
    if result.interrupted:
        return f"\ninterrupted after {result.steps} steps; the adapters are saved in {adapters}"
    records = f"metrics: {folder / 'metrics.jsonl'} · episodes: {folder / 'episodes.jsonl'}"
    return f"\n{table}\n\nadapters: {adapters}\n{records}"


def main(argv: Sequence[str] | None = None) -> int:
    try:
        result = _run(from_flags(sys.argv[1:] if argv is None else argv, about=ABOUT))
    except SelfplayError as error:
        if not _first():
            time.sleep(3)  # the first process most likely says the same, and ends this one
        print(f"selfplay.train: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nselfplay.train: interrupted before training began; no adapters were saved", file=sys.stderr)
        return 130
    return 130 if result.interrupted else 0


class _Callable(ModuleType):
    """`selfplay.train` is this module to `python -m` and, once imported, to Python; it can be called all the same."""

    def __call__(self, config: Config | str | Path | None = None, **knobs: Any) -> Result:
        return train(config, **knobs)


sys.modules[__name__].__class__ = _Callable

if __name__ == "__main__":
    sys.exit(main())
