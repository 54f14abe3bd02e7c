"""A callback of your own: writes a line of a CSV file for each step, and says what an evaluation found.

    python -m selfplay.train --preset smoke --callbacks callback:Table      # from this folder, or with it on PYTHONPATH
    python examples/callback.py

The first process alone calls it. What it raises ends the run, once the step in progress can be resumed.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import selfplay

COLUMNS = ("step", "stage", "role", "reward/generator", "reward/discriminator", "validity")


class Table(selfplay.Callback):
    """By reference it is made without arguments; from Python give one as you like it."""

    def __init__(self, path: str = "steps.csv") -> None:
        self.path = Path(path)

    def step(self, metrics: Mapping[str, Any]) -> None:
        """docs/glossary.md has every metric; None where a step did not measure it."""
        new = not self.path.exists()
        with open(self.path, "a", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            if new:
                writer.writerow(COLUMNS)
            writer.writerow([metrics.get(name) for name in COLUMNS])

    def evaluation(self, record: Mapping[str, Any]) -> None:
        print(f"{record['when']}: {record['code_greedy']['value']:.3f} of the problems solved greedily")


if __name__ == "__main__":
    print(selfplay.train(preset="smoke", callbacks=[Table("runs/steps.csv")], output_dir="runs/with-a-callback"))
