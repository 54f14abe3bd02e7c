"""Where the top-level folders are: prompts, datasets, sandbox, attacks.

They hold no importable Python for the host, so they are found as files: beside the package in a checkout or an editable
install, under `selfplay/_data/` in an installed wheel. importlib.resources was left out: the folders are not packages.
"""

from __future__ import annotations

import functools
from pathlib import Path

from selfplay.errors import SelfplayError

_PACKAGE = Path(__file__).resolve().parent


class MissingResource(SelfplayError):
    """A folder that belongs to selfplay is not where an installation puts it."""


@functools.cache
def resource(name: str) -> Path:
    """The folder (or file) `name`, for instance `resource("prompts")`. Raises MissingResource."""
    packed, beside = _PACKAGE / "_data" / name, _PACKAGE.parent / name
    for path in (packed, beside):
        if path.exists():
            return path
    raise MissingResource(
        f"selfplay's {name!r} is neither at {packed} (an installed wheel) nor at {beside} (a checkout): "
        "the installation is incomplete, install the package again"
    )
