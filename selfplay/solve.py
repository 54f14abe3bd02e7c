"""Solve a problem with a trained player: `python -m selfplay.solve two_sum --player runs/a --num-samples 8`.

The player goes through its five stages and writes tests against itself; tests and the agreement between programs choose the
best of its programs. Prints the chain, the program, the tests with their verdicts, and what each stage cost. A problem is
the id of one in a set, a JSON file, - for standard input, or --description with --signature; tests and a reference may be
missing. Without a player it is the newest run under runs/, else the embedded one; without a problem one of the player's own
kind. Exit codes: 0 a program that passes every test known to be right (with --problems: all were tried), 1 none such, 2 bad
input.
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from selfplay.config import Config
from selfplay.config.flags import words
from selfplay.errors import BadInput
from selfplay.game.stages import get_stage
from selfplay.printing import printable
from selfplay.run.command import PLAYING, command, say

if TYPE_CHECKING:  # the rest is imported when there is something to solve: --help answers at once
    from selfplay.game.players import Completion, Request
    from selfplay.game.problems import Problem
    from selfplay.match.solver import Solver

SOLVED, NOT_SOLVED = 0, 1
ABOUT = "Solve problems with a player, through all five stages, and choose the best of several programs."
OWN: dict[str, str | Mapping[str, Any]] = {
    "PROBLEM": {
        "metavar": "PROBLEM",
        "help": "Id of a problem in a set, a JSON file, or - for standard input. Default: one of the player's own kind, drawn "
        "by --seed; with --problems, all of them.",
    },
    "player": "embedded, base (with --model), a run's folder, RUN@STEP or a folder of adapters. Default: the newest run.",
    "description": {"metavar": "TEXT", "help": "What is asked, in place of PROBLEM."},
    "signature": {
        "metavar": "DEF",
        "help": "The function that --description asks for; none: a program that reads stdin.",
    },
    "num-samples": {"metavar": "N", "type": int, "help": "Programs sampled, of which the best is chosen. Default: 1."},
    "no-execute": {"action": "store_true", "help": "Run nothing: the first program, its tests read and not judged."},
    "single-stage": {"action": "store_true", "help": "Write the program at once, without a reasoning chain."},
    "json": {"action": "store_true", "help": "Print one JSON object (with --problems, one on each line)."},
    "out": {
        "metavar": "FOLDER",
        "help": "Folder for ID.json and ID.py; with --problems for solutions.jsonl, where an interrupted command goes on.",
    },
}


@command("selfplay.solve", "interrupted; with --problems and --out the same command goes on")
def main(arguments: Sequence[str]) -> int:
    return _solve(*words(arguments, "python -m selfplay.solve", ABOUT, PLAYING, OWN))


def _solve(given: Mapping[str, Any], own: Mapping[str, Any]) -> int:
    from selfplay.learning.sources import EMBEDDED, default_player, source_of

    name = own.get("player") or default_player()
    if "player" not in own:
        say(f"player: {name}" + ", since no run under runs/ holds adapters" * (name == EMBEDDED))
    source = source_of(name, say)
    config = source.config(given)
    problems = _asked(config, own, every="problems" in given)  # what cannot be used is refused before torch loads
    entrant = source.open(config)
    from selfplay.learning.setup import open_judge
    from selfplay.match.solver import Solver

    with nullcontext() if own.get("no_execute") else closing(open_judge(config)) as judge:
        solver = Solver(
            entrant.single_stage() if own.get("single_stage") else entrant,
            own.get("num_samples", 1),
            judge is not None,
            judge,
            None if own.get("json") or len(problems) > 1 else _hear,
        )
        return _print(solver, problems, config, own)


def _asked(config: Config, own: Mapping[str, Any], every: bool) -> Sequence[Problem]:
    """The problems to solve. `every`: where none is named, all of the set. Raises BadInput, ProblemError, UnknownProblem."""
    from selfplay.game.problems import described_problem, find_problem, given_problem, load_problems

    named, description, signature = own.get("problem"), own.get("description"), own.get("signature")
    if named is not None and description is not None:
        raise BadInput("PROBLEM and --description both say what is asked; give one of the two")
    if signature is not None and description is None:
        raise BadInput("--signature belongs to --description; a problem in a file has its own")
    if description is not None:
        return [described_problem(description, signature)]
    if named is not None:
        return [given_problem(named, config.problems, sys.stdin.read() if named == "-" else None)]
    if every:
        return load_problems(config.problems, tested=False)
    held_out = "procedural/dev" if config.problems == "procedural" else config.problems
    return [find_problem(None, held_out, config.seed)]


def _print(solver: Solver, problems: Sequence[Problem], config: Config, own: Mapping[str, Any]) -> int:
    from selfplay.run.solutions import save, solved

    folder = Path(own["out"]) if "out" in own else None
    if len(problems) == 1:
        problem = problems[0]
        if solver.hear:
            print(printable(f"problem {problem.id}: {problem.description}\n{problem.signature}".rstrip()), flush=True)
        solution = solver.solve(problem)
        print(json.dumps(solution.as_json()) if own.get("json") else solution.text(chain=solution.sample > 0))
        if folder:
            save(solution, folder)
        return SOLVED if solution.solved else NOT_SOLVED
    count = 0
    for solution in solved(solver, problems, folder, config.seed):
        print(json.dumps(solution.as_json()) if own.get("json") else solution.line(), flush=True)
        count += solution.solved
    say(f"{count} solved" + (f"; {folder}/solutions.jsonl holds all {len(problems)} problems" if folder else ""))
    return SOLVED


def _hear(request: Request, text: str, done: Completion) -> None:
    """The turns of the first sample, as they come."""
    key = request.key
    if key.branch > 0:
        return
    what = get_stage(key.stage).name if key.role == "generator" else "tests"
    print(f"-- stage {key.stage}, {what}{' (cut off at the token limit)' if done.truncated else ''}")
    print(printable(textwrap.indent(text.strip() or "(nothing)", "  ")), flush=True)


if __name__ == "__main__":
    sys.exit(main())
