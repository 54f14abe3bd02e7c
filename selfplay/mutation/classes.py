"""Function classes: which problems compute the same function, whatever their wording.

Two problems are in one class when their references agree on the same 200 seeded inputs. Inputs come from the parameter
types alone, so that equal functions meet equal inputs; what raises or does not end is an answer too. Programs that read
standard input are compared on their own baseline inputs, and a problem without a reference is a class of its own.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Hashable, Sequence
from typing import Any

from selfplay.box.task import Task
from selfplay.box.zygotes import BoxUnavailable
from selfplay.cases.values import encode
from selfplay.game.problems import Problem
from selfplay.judging.judge import Judge
from selfplay.judging.probes import variations

INPUTS = 200
_SEEDS: dict[str, Any] = {
    "int": 3,
    "float": 1.5,
    "str": "ab c",
    "bool": True,
    "list": [2, 1, 3],
    "tuple": (1, 2),
    "dict": {"a": 1},
    "set": {1, 2},
}


def function_classes(problems: Sequence[Problem], judge: Judge) -> dict[str, Hashable]:
    """The class of each problem, by id; all references run in one call of the box. Raises BoxUnavailable."""
    known = [p for p in problems if p.reference_solution is not None]
    tasks = [
        Task(p.reference_solution or "", p.entry_point, _inputs(p), p.imports, judge.limits, secret=True) for p in known
    ]
    classes: dict[str, Hashable] = {p.id: ("no reference", p.id) for p in problems}
    for problem, task, ran in zip(known, tasks, judge.run(tasks), strict=True):
        if any(one.status == "infra_error" for one in ran):
            raise BoxUnavailable(
                f"the sandbox failed twice on the reference of {problem.id!r}, so problems cannot be split by what they "
                "compute; `python -m selfplay.doctor` tells what is wrong with it"
            )
        classes[problem.id] = (task.inputs, tuple(one.value if one.status == "returned" else one.status for one in ran))
    return classes


def _inputs(problem: Problem) -> tuple[str, ...]:
    """Canonical argument texts, the same for all problems with the same parameter types."""
    if problem.kind == "stdio":
        return tuple(test.input for test in problem.baseline_tests if not isinstance(test, str))
    function = ast.parse(f"{problem.signature.strip().removesuffix(':')}: ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    kinds = [_kind(argument.annotation) for argument in function.args.posonlyargs + function.args.args]
    rng = random.Random("function class")
    pools = [list(variations(_SEEDS.get(kind, 3), range(-9, 10))) for kind in kinds]
    return tuple(dict.fromkeys(encode([rng.choice(pool) for pool in pools]) for _ in range(INPUTS)))


def _kind(annotation: ast.expr | None) -> str:
    """The outer type of an annotation: `list` of `list[int]`."""
    outer = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    return ast.unparse(outer) if outer is not None else ""
