"""Train both players: `python -m selfplay.train`, or `selfplay.train(seed=1, output_dir="runs/a")` from Python.

With nothing but the package it trains the embedded player on procedural problems; `--resume RUN` goes on with a run. Exit
codes: 0 done, 2 bad input, 130 interrupted, 143 and 129 ended by SIGTERM and SIGHUP (all three after the step in progress,
with a checkpoint). Here is only reading, calling and printing; the loop is learning/loop.py.
"""

# ruff: noqa: E402 -- Ctrl-C is looked after before modules are loaded that take time
from __future__ import annotations

import os
import signal
import sys

NOTHING_BEGAN = "interrupted before training began; no adapters were saved"


def _leave(*_: object) -> None:
    """Ctrl-C while modules load: nothing is open yet, and an interrupted import would end in somebody's traceback."""
    os.write(2, f"\nselfplay.train: {NOTHING_BEGAN}\n".encode())
    os._exit(130)


if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _leave)

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from selfplay import plugins
from selfplay.config import Config, configure, fitting_preset, from_flags, to_flags
from selfplay.config.layers import cores
from selfplay.errors import BadInput, SelfplayError, UnknownName
from selfplay.run.command import INTERRUPTED, callable_module, run_command

if TYPE_CHECKING:
    from selfplay.learning.loop import Result, Shield
    from selfplay.learning.ranks import Ranks
    from selfplay.run.recorders import Recorder

ABOUT = "Train the generator and the discriminator against each other."
HINT = (
    "a GPU was found ({name}). This run trains the small embedded player on the CPU; for a real model:\n"
    "  python -m selfplay.train --preset {preset} --output-dir runs/{preset}"
)


def train(config: Config | str | Path | None = None, **knobs: Any) -> Result:
    """Run the schedule; prints progress and fills the run folder.

    `config`: a Config, or a YAML file whose values the keywords win over. Keywords are the keys of a configuration; some take
    objects too (docs/api.md). Raises SelfplayError for bad input, SystemExit where SIGTERM or SIGHUP ended it.
    """
    if isinstance(config, Config):
        if knobs:
            raise SelfplayError(
                f"give a Config or keywords, not both: {', '.join(knobs)}; dataclasses.replace changes one"
            )
        return _train(config)
    return _train(configure(knobs, config))


def _train(given: Config | Sequence[str]) -> Result:
    """The run of a configuration, or of the flags of one."""
    from selfplay.run import ending
    from selfplay.run.progress import evaluation_table

    config = given if isinstance(given, Config) else from_flags(given, about=ABOUT)
    if _first():
        _check(config)
    if config.resume and (done := _finished(config)):
        return done
    if config.init_from and not config.resume:
        from selfplay.run.adapters import begun_on

        config = begun_on(config)  # rank, scale and layers are those of the adapters
    with _recording(config) as recorder:
        from selfplay.learning import loop  # torch

        with _all_ranks(config) as (ranks, held, end_others):
            result = loop.train(config, recorder, ranks, held)
            if result.interrupted:
                end_others()
    if _first() and result.interrupted:
        print(ending.interrupted(Path(config.output_dir), result.steps), flush=True)
    elif _first():
        print(ending.done(config, evaluation_table(result.evaluations)), flush=True)
    if result.interrupted and result.stopped_by != signal.SIGINT:
        raise SystemExit(128 + result.stopped_by)
    return result


@contextmanager
def _recording(config: Config) -> Iterator[Recorder]:
    """Where the records go: those of the first process, to every place that is asked for. An error gets notes of what is left.

    A folder that is taken is refused here, before torch is loaded.
    """
    from selfplay.run import ending
    from selfplay.run.alarms import Alarms
    from selfplay.run.callbacks import callbacks
    from selfplay.run.folder import RunFolder
    from selfplay.run.live import display
    from selfplay.run.recorders import Recorder, Recorders

    if not _first():
        try:
            yield Recorder()
        except SelfplayError:
            time.sleep(3)  # the first process most likely says the same, and ends this one
            raise
        return
    screen = display(config)
    alarms = Alarms(screen.say, ledger=config.ledger)
    recorder = Recorders(RunFolder(config), screen, *_elsewhere(config, screen.say), alarms, *callbacks(config))
    try:
        recorder.say("loading PyTorch")
        _hint(config)
        yield recorder
    except BaseException as error:
        ending.add_what_is_left(Path(config.output_dir), error)
        raise
    finally:
        recorder.close()


def _finished(config: Config) -> Result | None:
    """The result of a resumed run that is done already; None where it can go on. Raises CheckpointError where it cannot."""
    from selfplay.run import ending
    from selfplay.run.progress import Progress

    last = ending.finished(config)
    if last is None:
        return None
    if _first():
        run = Path(config.output_dir)
        Progress().say(f"{run} is finished: all {last.step} steps are done; adapters: {ending.adapters_of(run)}")
    from selfplay.learning.loop import Result
    from selfplay.learning.state import evaluations_in

    return Result(evaluations_in(last.path), last.step, output_dir=config.output_dir)


def _elsewhere(config: Config, say: Callable[[str], None]) -> list[Any]:
    """Recorders that send what they get away from here. Raises SelfplayError where one cannot work."""
    from selfplay.run.trackers import Tracking, names

    sent: list[Any] = [Tracking(name, config, say) for name in names(config)]
    if config.push_to_hub:
        from selfplay.run.hub.push import Pushing

        sent.append(Pushing(config, say))
    return sent


def _check(config: Config) -> None:
    """Refuses what cannot be run before anything heavy is loaded and other processes are started."""
    from selfplay.game.advantages import ADVANTAGES
    from selfplay.game.phases import SCHEDULES
    from selfplay.game.problems import load_problems
    from selfplay.game.prompts import Prompts
    from selfplay.game.rewards import get_rule
    from selfplay.learning.plan import planned_steps

    for kind, name, known in (
        ("advantage", config.advantages, ADVANTAGES),
        ("schedule", config.schedule, SCHEDULES),
    ):
        if name not in known:
            raise UnknownName(kind, name, known)
    for reference in (config.sampler, config.backend):
        if plugins.is_reference(reference) and not callable(thing := plugins.load(reference)):
            raise BadInput(
                f"{reference} is no function but {plugins.name_of(thing)}; see selfplay.Sampler and selfplay.Trainer"
            )
    get_rule(config.rewards)
    Prompts(config.prompts, config.cases_per_turn)
    planned_steps(config)
    load_problems(config.problems, say=lambda text: None)  # the run says it
    if isinstance(config.processes, int) and config.processes > 2 * cores():
        raise SelfplayError(
            f"processes is {config.processes}, this machine has {cores()} cores: as many processes as cores are fastest, and "
            f"more than twice as many are refused; give --processes {cores()}"
        )
    if isinstance(config.processes, int) and config.processes > 1 and not config.embedded and config.device != "cpu":
        import torch

        if 0 < (gpus := torch.cuda.device_count()) < config.processes:
            raise SelfplayError(
                f"processes is {config.processes}, this machine has {gpus} GPU{'s' * (gpus > 1)}: each process takes a whole "
                f"one; give --processes {gpus}"
            )


@contextmanager
def _all_ranks(config: Config) -> Iterator[tuple[Ranks, Shield, Callable[[], None]]]:
    """This process's place among those that train, started beside it where it is the first; what a signal waits for; and what
    ends the others, rather than waiting for them."""
    from selfplay.learning.ranks import connect, launch, launched
    from selfplay.run.signals import Signals

    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # from here on there is something to end in order
    ranks = None
    processes = config.processes if isinstance(config.processes, int) else 1
    try:
        # What is launched ends with the first process, which hears of signals.
        with nullcontext() if launched() else Signals() as signals, launch(processes, to_flags(config)) as end_others:
            ranks = connect()
            yield ranks, signals.held if signals else nullcontext, end_others
    finally:
        if ranks is not None:
            ranks.close()


def _first() -> bool:
    """Whether this process prints and writes; the others are started with a RANK."""
    return os.environ.get("RANK", "0") == "0"


def _hint(config: Config) -> None:
    """Where a GPU lies idle, say how to use it."""
    import torch

    if config.embedded and config.device != "cuda" and torch.cuda.is_available():
        found = torch.cuda.get_device_properties(0)
        preset = fitting_preset(found.total_memory / (1 << 30))
        if preset:
            print(HINT.format(name=found.name, preset=preset), flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    flags = sys.argv[1:] if arguments is None else arguments
    result = run_command("selfplay.train", partial(_train, flags), NOTHING_BEGAN)
    return result if isinstance(result, int) else INTERRUPTED if result.interrupted else 0


callable_module(__name__, train)

if __name__ == "__main__":
    sys.exit(main())
