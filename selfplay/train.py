"""Train both players: `python -m selfplay.train`, or `selfplay.train(seed=1, output_dir="runs/a")` from Python.

With nothing but the package it trains the embedded player on procedural problems. Exit codes: 0 done, 2 bad input,
130 interrupted (the adapters are saved). Here is only reading, calling and printing; the loop is learning/loop.py.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

NOTHING_BEGAN = "interrupted before training began; no adapters were saved"


def _leave(*_: object) -> None:
    """Ctrl-C while modules load: nothing is open yet, and an interrupted import would end in somebody's traceback."""
    os.write(2, f"\nselfplay.train: {NOTHING_BEGAN}\n".encode())
    os._exit(130)


if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _leave)

from selfplay.config import Config, configure, from_flags, to_flags  # noqa: E402 -- Ctrl-C is looked after first
from selfplay.config.layers import cores  # noqa: E402
from selfplay.errors import SelfplayError, UnknownName  # noqa: E402

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
        _check(config)
    # A folder that is taken is refused here, before torch is loaded.
    progress = Progress()
    recorder = Recorders(RunFolder(config), progress) if first else Memory()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    recorder.say("loading PyTorch")
    if first:
        _hint(config)
    try:
        result = _on_all_ranks(config, recorder)
    except Exception as error:
        # The folder was free when we began: adapters in it are this run's.
        if first and (Path(config.output_dir) / "adapters").is_dir():
            error.add_note(f"the adapters as they were are saved in {_adapters(config)}")
        raise
    if first:
        print(_last_words(config, result, evaluation_table(result.evaluations, progress.width)), flush=True)
    return result


def _check(config: Config) -> None:
    """Refuses what cannot be run before anything heavy is loaded and other processes are started."""
    from selfplay.game.advantages import ADVANTAGES
    from selfplay.game.phases import SCHEDULES
    from selfplay.game.problems import load_problems
    from selfplay.game.prompts import STYLES
    from selfplay.game.rewards import RULES
    from selfplay.learning.plan import planned_steps

    for kind, name, known in (
        ("reward rule", config.rewards, RULES),
        ("advantage", config.advantages, ADVANTAGES),
        ("schedule", config.schedule, SCHEDULES),
        ("prompt style", config.prompts, STYLES),
    ):
        if name is not None and name not in known:
            raise UnknownName(kind, name, known)
    planned_steps(config)
    load_problems(config.problems)
    if isinstance(config.processes, int) and config.processes > cores() and not config.oversubscribe:
        raise SelfplayError(
            f"processes is {config.processes}, this machine has {cores()} cores: as many processes as cores are fastest; "
            f"give --processes {cores()}, or --oversubscribe to have it all the same"
        )


def _on_all_ranks(config: Config, recorder: Any) -> Result:
    """The loop, in this process and those started beside it. On Ctrl-C they are ended rather than waited for."""
    from selfplay.learning import loop
    from selfplay.learning.ranks import connect, launch

    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # from here on there is something to end in order
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


def _adapters(config: Config) -> str:
    folder = Path(config.output_dir) / "adapters"
    return f"{folder / 'generator'} and {folder / 'discriminator'}"


def _last_words(config: Config, result: Result, table: str) -> str:
    folder = Path(config.output_dir)
    if result.interrupted:
        return f"\ninterrupted after {result.steps} steps; the adapters are saved in {_adapters(config)}"
    records = f"metrics: {folder / 'metrics.jsonl'}"
    if config.ledger != "off":
        records += f" · episodes: {folder / 'episodes.jsonl'}"
    return f"\n{table}\n\nadapters: {_adapters(config)}\n{records}"


def main(argv: Sequence[str] | None = None) -> int:
    from selfplay.run.command import INTERRUPTED, run_command

    def body() -> int:
        try:
            result = _run(from_flags(sys.argv[1:] if argv is None else argv, about=ABOUT))
        except SelfplayError:
            if not _first():
                time.sleep(3)  # the first process most likely says the same, and ends this one
            raise
        return INTERRUPTED if result.interrupted else 0

    return run_command("selfplay.train", body, NOTHING_BEGAN)


class _Callable(ModuleType):
    """`selfplay.train` is this module to `python -m` and, once imported, to Python; it can be called all the same."""

    def __call__(self, config: Config | str | Path | None = None, **knobs: Any) -> Result:
        return train(config, **knobs)


sys.modules[__name__].__class__ = _Callable

if __name__ == "__main__":
    sys.exit(main())
