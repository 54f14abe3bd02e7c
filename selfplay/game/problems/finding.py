"""One problem, however it is given: the id of one in a set, a file, a text, or a description and a signature.

Nothing of it is run here. Left out: problems from the web.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

from selfplay.errors import BadInput, UnknownName, suggestion
from selfplay.game.problems.loading import SETS, load_problems, read_problems
from selfplay.game.problems.problem import Problem


class UnknownProblem(UnknownName):
    """No problem of this id; names the nearest, and some of the many."""

    def __init__(self, wanted: str, known: Iterable[str], source: str) -> None:
        super().__init__("problem", wanted, known)
        few = ", ".join(self.known[:5])
        close = suggestion(wanted, self.known)
        where = f"{source} and the package's sets hold" if source in SETS else f"{source} holds"
        self.args = (f"unknown problem {wanted!r}{close}; {where} {len(self.known)}, for instance {few}",)


def find_problem(wanted: str | None, source: str, seed: int = 0) -> Problem:
    """The problem of this id, from `source` or any set of the package; without one, drawn from `source` by the seed.

    Raises UnknownProblem, ProblemError.
    """
    problems = load_problems(source)
    if wanted is None:
        return random.Random(seed).choice(problems)
    others = [] if source not in SETS else [name for name in SETS if name != source and "/" not in name]
    known = {problem.id: problem for problem in problems}
    for name in others:
        if wanted in known:
            break
        known = {problem.id: problem for problem in load_problems(name)} | known
    if wanted not in known:
        raise UnknownProblem(wanted, known, source)
    return known[wanted]


def given_problem(given: str, source: str, typed: str | None = None) -> Problem:
    """The problem that `given` names: a JSON file of one, `-` for the text `typed`, or an id as `find_problem` takes it.

    A file or text may leave out id, tests and reference. Raises BadInput where it holds several problems, ProblemError,
    UnknownProblem.
    """
    if given == "-":
        return _only(read_problems(typed or "", "standard input", tested=False), "standard input")
    if given.endswith((".json", ".jsonl")) or Path(given).is_file():
        return _only(load_problems(given, tested=False), given)
    return find_problem(given, source)


def described_problem(description: str, signature: str | None) -> Problem:
    """A problem in words: a function where there is a signature, else a program that reads standard input.

    Raises ProblemError where the signature does not parse or nothing is asked.
    """
    asked = {"description": description, **({"signature": signature} if signature else {"kind": "stdio"})}
    return _only(read_problems(json.dumps(asked), "--description and --signature", tested=False), "")


def _only(problems: Sequence[Problem], name: str) -> Problem:
    if len(problems) > 1:
        raise BadInput(f"{name} holds {len(problems)} problems; give one, or solve them all with --problems {name}")
    return problems[0]
