"""What the notebook needs besides the commands: a folder that outlives its machine, a preset for what was found, going on.

    folder = notebook.lasting_folder("selfplay/run-1")                  on the mounted Drive in Colab, here elsewhere
    selfplay.train(**notebook.settings(folder, preset))       a new run, or the rest of the one that broke off

Left out: widgets; a notebook's form fields and the plain output of a run are enough.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from selfplay import config
from selfplay.run import checkpoints
from selfplay.run.folder import CONFIG

DRIVE = Path("/content/drive")


def lasting_folder(folder: str) -> Path:
    """`folder` on the user's Drive where this is Colab, which asks for it to be mounted; under the current folder elsewhere."""
    if not _on_colab():
        return Path(folder)
    import_module("google.colab.drive").mount(str(DRIVE))
    return DRIVE / "MyDrive" / folder


def fitting_preset() -> str:
    """The preset of the card that was found, else smoke, which is a small run of the embedded player."""
    import torch

    if not torch.cuda.is_available():
        return "smoke"
    return config.fitting_preset(torch.cuda.get_device_properties(0).total_memory / (1 << 30)) or "smoke"


def settings(folder: Path, preset: str) -> dict[str, Any]:
    """What `selfplay.train` is called with: to go on with the run in `folder`, or to begin one there."""
    if (folder / CONFIG).is_file() and checkpoints.listed(folder):
        return {"resume": str(folder)}
    return {"preset": preset, "output_dir": str(folder)}


def _on_colab() -> bool:
    try:
        return find_spec("google.colab") is not None
    except ModuleNotFoundError:  # there is no package `google` at all
        return False
