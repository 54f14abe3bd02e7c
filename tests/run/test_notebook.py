"""What the notebook needs: a folder that lasts, a preset that fits, and going on where a run broke off."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from selfplay.run import checkpoints, notebook


def test_elsewhere_than_in_colab_the_folder_is_the_one_named() -> None:
    assert notebook.lasting_folder("runs/a") == Path("runs/a")


def test_in_colab_the_folder_lies_on_the_mounted_drive(monkeypatch: pytest.MonkeyPatch) -> None:
    mounted: list[str] = []
    drive = ModuleType("google.colab.drive")
    monkeypatch.setattr(drive, "mount", mounted.append, raising=False)
    monkeypatch.setitem(sys.modules, "google.colab.drive", drive)
    monkeypatch.setattr(notebook, "_on_colab", lambda: True)
    assert notebook.lasting_folder("runs/a") == Path("/content/drive/MyDrive/runs/a")
    assert mounted == ["/content/drive"]


def test_without_a_gpu_the_small_run_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert notebook.fitting_preset() == "smoke"


@pytest.mark.parametrize(
    ("gib", "preset"), [(8, "smoke"), (14.6, "t4"), (15, "t4"), (22, "l4"), (39.4, "a100"), (139, "h100")]
)
def test_a_gpu_gets_the_preset_of_the_largest_card_that_it_can_stand_in_for(
    gib: float, preset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Card:
        total_memory = int(gib * (1 << 30))

    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.get_device_properties", lambda index: Card)
    assert notebook.fitting_preset() == preset


def test_a_run_goes_on_where_it_has_a_checkpoint_and_begins_elsewhere(run_folder: Path) -> None:
    assert notebook.settings(run_folder, "smoke") == {"preset": "smoke", "output_dir": str(run_folder)}
    checkpoints.write(run_folder, checkpoints.About(step=2, steps=2, stage=1), lambda folder: None)
    assert notebook.settings(run_folder, "smoke") == {"resume": str(run_folder)}
