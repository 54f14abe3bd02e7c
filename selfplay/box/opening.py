"""Which box a configuration asks for: the one place that knows every kind."""

from __future__ import annotations

from pathlib import Path

from selfplay.box.local import LocalBox
from selfplay.box.task import Box
from selfplay.config import Config


def open_box(config: Config) -> Box:
    """The box that `config.sandbox` names. Raises BoxUnavailable where it cannot be had."""
    if config.sandbox == "local":
        return LocalBox(workers=config.sandbox_workers)
    from selfplay.box.e2b import E2BSettings, open_split

    settings = E2BSettings(
        size=config.e2b_sandboxes,
        lifetime=config.e2b_lifetime,
        internet=config.e2b_internet,
        budget=config.e2b_budget,
        template=config.e2b_template,
        label=Path(config.output_dir).name,
    )
    return open_split(settings, config.sandbox_workers, fallback=config.e2b_fallback)
