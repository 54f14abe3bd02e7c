"""Solutions of many problems as a file, one line of JSON each, that an interrupted command goes on with.

What stands in the file is kept; a last line that a kill cut off is taken back and solved again. A file that was made with
another player or number of samples is refused: its lines and new ones could not be compared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from selfplay.errors import BadInput
from selfplay.game.problems import Problem
from selfplay.match.solution import Solution
from selfplay.match.solver import Solver
from selfplay.run.folder import append_lines

NAME = "solutions.jsonl"
TURNS = 64  # of a role that are played at once


def save(solution: Solution, folder: Path) -> None:
    """Writes folder/ID.json and, where there is a program, folder/ID.py."""
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^\w.-]", "_", solution.problem.id)
    (folder / f"{name}.json").write_text(json.dumps(solution.as_json(), indent=1), encoding="utf-8")
    if solution.code is not None:
        (folder / f"{name}.py").write_text(solution.code + "\n", encoding="utf-8", errors="backslashreplace")


def solved(solver: Solver, problems: Sequence[Problem], folder: Path | None, seed: int) -> Iterator[Solution]:
    """The solutions of all problems, in batches of about `TURNS` samples; with a `folder`, of those that its file lacks.

    Raises BadInput where that file was made with another player, seed, stages or number of samples.
    """
    entrant = solver.entrant
    made = {"player": entrant.name, "seed": seed, "samples": solver.num_samples, "stages": list(entrant.stages)}
    done = _done(folder / NAME, made) if folder else set()
    left = [problem for problem in problems if problem.id not in done]
    size = max(1, TURNS // solver.num_samples)
    for start in range(0, len(left), size):
        found = solver.solve_all(left[start : start + size])
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
            append_lines(folder / NAME, [solution.as_json() | {"made": made} for solution in found])
        yield from found


def _done(path: Path, made: dict[str, Any]) -> set[str]:
    """Ids of the problems that the file holds; what comes after its last whole line is cut off."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return set()
    whole = data[: data.rfind(b"\n") + 1]
    try:
        lines = [json.loads(line) for line in whole.splitlines()]
        held, ids = {json.dumps(line["made"]) for line in lines}, {line["problem"]["id"] for line in lines}
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path} holds something else than solutions ({error}); give another --out") from None
    if held - {json.dumps(made)}:
        raise BadInput(f"{path} was made with {held.pop()}, this would be {json.dumps(made)}; give another --out")
    if len(whole) < len(data):
        path.write_bytes(whole)
    return ids
