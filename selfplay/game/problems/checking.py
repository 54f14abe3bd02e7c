"""What is wrong with a problem, found by reading alone: nothing of it is ever run here.

That the reference passes its own tests is the judge's to show (`judging`). Left out: types of arguments; a reference
that disagrees with the annotations shows when its tests are judged.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from selfplay.game.problems.problem import Problem, StdinTest
from selfplay.game.syntax import bound, definition, parsed

Flaws = Iterator[tuple[str, str, str]]  # field, why, action


def validate_problem(problem: Problem) -> list[str]:
    """One sentence per flaw, each with its field in front and the way out at the end; empty for a sound problem."""
    return [f"{field}: {why}; {action}" for field, why, action in problem_flaws(problem)]


def problem_flaws(problem: Problem, tested: bool = True) -> Flaws:
    """The same as (field, why, action), for messages that also know the file and the line.

    `tested` False lets a problem come with neither tests nor a reference.
    """
    yield from _common_flaws(problem, tested)
    yield from _function_flaws(problem) if problem.kind == "function" else _stdio_flaws(problem)


def _common_flaws(problem: Problem, tested: bool) -> Flaws:
    if not problem.description.strip():
        yield "description", "is empty", "say what is asked"
    if tested and not problem.baseline_tests and problem.reference_solution is None:
        yield "baseline_tests", "is empty and there is no reference_solution", "give at least one of the two"
    for name in problem.imports:
        if not name.isidentifier():
            yield "imports", f"{name!r} is not a top-level package", "write numpy, not numpy.linalg or a version"


def _function_flaws(problem: Problem) -> Flaws:
    parameters = signature_parameters(problem)
    if parameters is None:
        form = f"write def {problem.entry_point or 'name'}(...): on one line"
        yield "signature", f"{problem.signature!r} does not define {problem.entry_point!r}", form
    yield from _reference_flaws(problem, parameters)
    for field in ("baseline_tests", "hidden_tests"):
        for number, test in enumerate(getattr(problem, field)):
            yield from _test_flaws(problem, f"{field}[{number}]", test)
    yield from _contract_flaws(problem, parameters or ())


def signature_parameters(problem: Problem) -> tuple[str, ...] | None:
    """The parameters' names (a star in front of *args), None where the signature does not define the entry point."""
    tree = parsed(f"{problem.signature.strip().removesuffix(':')}: pass")
    match tree.body if tree else []:
        case [ast.FunctionDef(name=name, args=arguments)] if name == problem.entry_point:
            return _names(arguments)
    return None


def _names(arguments: ast.arguments) -> tuple[str, ...]:
    starred = [f"*{each.arg}" for each in (arguments.vararg, arguments.kwarg) if each]
    return (*(each.arg for each in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]), *starred)


def _reference_flaws(problem: Problem, parameters: tuple[str, ...] | None) -> Flaws:
    if problem.reference_solution is None:
        return
    tree = parsed(problem.reference_solution)
    if tree is None:
        yield "reference_solution", "is not valid Python", "correct it, or leave the field out"
        return
    match definition(tree, problem.entry_point):
        case None:
            why = f"does not define the entry point {problem.entry_point!r}"
            yield "reference_solution", why, "name its function as the signature does"
        case ast.FunctionDef(args=arguments) if parameters is not None and _names(arguments) != parameters:
            why = f"takes ({', '.join(_names(arguments))}), the signature ({', '.join(parameters)})"
            yield "reference_solution", why, "give both the same parameters"


def _test_flaws(problem: Problem, field: str, test: str | StdinTest) -> Flaws:
    if isinstance(test, StdinTest):
        yield field, "is an input with its output", "write an assert, or give the problem kind stdio"
        return
    tree = parsed(test)
    if tree is None or not tree.body:
        form = f"write for instance assert {problem.entry_point}(...) == ..."
        yield field, f"{_short(test)} is not valid Python", form
        return
    # (inputs, expected), or a list of such
    pairs = all(isinstance(each, ast.Expr) and isinstance(each.value, ast.Tuple | ast.List) for each in tree.body)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if not pairs and problem.entry_point not in names:
        yield field, f"{_short(test)} never calls {problem.entry_point!r}", "call the entry point, or remove the test"


def _contract_flaws(problem: Problem, parameters: tuple[str, ...]) -> Flaws:
    if problem.contract is None:
        return
    helpers = parsed(problem.helpers)
    known = {name.lstrip("*") for name in parameters} | {"math", *dir(builtins)}
    known.update(*(bound(statement) for statement in (helpers.body if helpers else ())))
    for number, condition in enumerate(problem.contract.requires):
        tree = parsed(f"({condition}\n)")
        loose = sorted(_free_names(tree) - known) if tree else []
        field = f"contract.requires[{number}]"
        if tree is None or len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
            yield field, f"{_short(condition)} is not an expression", "write a condition such as len(xs) <= 100"
        elif loose:
            why = f"{_short(condition)} uses {', '.join(loose)}"
            yield field, why, f"use the parameters {', '.join(parameters)} only"
    for name in problem.contract.raises:
        if not name.isidentifier():
            yield "contract.raises", f"{name!r} is not an exception's name", "write for instance ValueError"


def _free_names(tree: ast.AST) -> set[str]:
    """Names that are read and neither bound by a comprehension nor parameters of a lambda."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    own = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    own |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return {node.id for node in names} - own


def _stdio_flaws(problem: Problem) -> Flaws:
    if problem.entry_point or problem.signature:
        yield "signature", "is given for a program that reads stdin", "leave signature and entry_point out"
    if problem.reference_solution is not None and parsed(problem.reference_solution) is None:
        yield "reference_solution", "is not valid Python", "correct it, or leave the field out"
    for field in ("baseline_tests", "hidden_tests"):
        for number, test in enumerate(getattr(problem, field)):
            if not isinstance(test, StdinTest):
                yield f"{field}[{number}]", f"{_short(test)} is not an input with its output", _STDIN_FORM


_STDIN_FORM = 'write {"input": "...", "output": "..."}'


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
