"""Which box a configuration asks for: the one place that knows every kind."""

from __future__ import annotations

from pathlib import Path

from selfplay.box.local import LocalBox
from selfplay.box.task import Box
from selfplay.config import Config


def open_box(config: Config) -> Box:
    """The box that `config.sandbox` names. Raises BoxUnavailable where it cannot be had."""
    workers = None if config.sandbox_workers == "auto" else config.sandbox_workers
    if config.sandbox == "local":
        return LocalBox(workers or 1)
    from selfplay.box.e2b import E2BSettings, open_split

    settings = E2BSettings(size=workers or 4, budget=config.e2b_budget, label=Path(config.output_dir).name)
    return open_split(settings, workers or 1)
