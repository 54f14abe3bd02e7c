"""Problems of your own: objects, rows, or a function that returns such, by reference or from Python.

    python -m selfplay.train --preset smoke --problems my_problems:PROBLEMS     # from this folder, or with it on PYTHONPATH
    python -m selfplay.train --preset smoke --problems my_problems:from_table
    python examples/my_problems.py

A `datasets.Dataset` with these columns is rows too. What a problem may hold stands at selfplay.Problem.
"""

from __future__ import annotations

from typing import Any

import selfplay

SCALED = "def scaled_{n}(numbers: list[int]) -> list[int]:"
PROBLEMS = [
    selfplay.Problem(
        id=f"scaled_{n}",
        description=f"Multiply each number of a list by {n}.",
        entry_point=f"scaled_{n}",
        signature=SCALED.format(n=n),
        baseline_tests=(f"assert scaled_{n}([1, 2]) == [{n}, {2 * n}]",),
        reference_solution=f"{SCALED.format(n=n)}\n    return [{n} * number for number in numbers]",
    )
    for n in range(2, 32)
]


def from_table() -> list[dict[str, Any]]:
    """The same as rows, as they would come from a file, a database or a data set; signatures name the function."""
    fields = ("id", "description", "signature", "baseline_tests", "reference_solution")
    rows = [{field: getattr(problem, field) for field in fields} for problem in PROBLEMS]
    return [row | {"baseline_tests": list(row["baseline_tests"])} for row in rows]


if __name__ == "__main__":
    print(selfplay.train(preset="smoke", problems=PROBLEMS, output_dir="runs/scaled"))
