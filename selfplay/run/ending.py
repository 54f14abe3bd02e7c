"""How a run ends, in words: what it left, where that lies, and how to go on with it.

A run that broke off says it in the notes of its error. Left out: saving, which the loop does before.
"""

from __future__ import annotations

from pathlib import Path

from selfplay.config import Config
from selfplay.game.episode import ROLES
from selfplay.run import checkpoints
from selfplay.run.checkpoints import Checkpoint
from selfplay.run.folder import ADAPTERS, EPISODES, METRICS

CUT_OFF = "stopped at once; go on from the last checkpoint with `python -m selfplay.train --resume {run}`"


def finished(config: Config) -> Checkpoint | None:
    """The last checkpoint of a resumed run that is done already; None where it can go on. Raises CheckpointError where it
    cannot."""
    found = checkpoints.to_resume(config.resume or "")  # the loop says what is wrong with newer ones
    if found is None or not found.about.finished or not (Path(config.output_dir) / ADAPTERS).is_dir():
        return None
    return found


def add_what_is_left(run: Path, error: BaseException) -> None:
    """Notes to an error: the adapters and the checkpoint that there are. The folder was ours: they are this run's."""
    made = checkpoints.listed(run)
    if isinstance(error, KeyboardInterrupt):
        if made:
            error.add_note(CUT_OFF.format(run=run))
        return
    if (run / ADAPTERS).is_dir():
        error.add_note(f"the adapters as they were are saved in {adapters_of(run)}")
    if made:
        error.add_note(f"the last checkpoint is of step {made[-1].step}: go on with --resume {run}")


def adapters_of(run: Path) -> str:
    return " and ".join(str(run / ADAPTERS / role) for role in ROLES)


def interrupted(run: Path, steps: int) -> str:
    """The last words of a run that a signal ended after so many steps."""
    saved = f"the adapters are saved in {adapters_of(run)}"
    return f"\ninterrupted after {steps} steps; {saved}\ngo on with `python -m selfplay.train --resume {run}`"


def done(config: Config, table: str) -> str:
    """The last words of a run that came to its end, with the table of its evaluations."""
    run = Path(config.output_dir)
    records = f"metrics: {run / METRICS}"
    if config.ledger != "off":
        records += f" · episodes: {run / EPISODES}"
    return f"\n{table}\n\nadapters: {adapters_of(run)}\n{records}"
