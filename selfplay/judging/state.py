"""Which programs may keep something from one call to the next, told from their text.

A function without decorators, mutable defaults, `global` or attributes that it sets, in a module that holds nothing but
definitions, imports and constants, answers every call alike, so the order of its calls decides nothing. Anything else
*may* keep state: the judge calls such a program in two orders. Left out: the roads that only a program which wants to be
inconsistent takes (frames, `sys.modules`); it harms nobody but itself.
"""

from __future__ import annotations

import ast
import hashlib
import re
from dataclasses import replace

from selfplay.box.task import Execution, Task
from selfplay.game.syntax import parsed

Story = tuple[str, ...]
UNSTEADY = Execution("crashed", detail="order")  # stands for what a reference did differently after other calls

# What most programs are: functions on one line each without defaults, imports, comments, and what is indented under them.
_LINE = re.compile(r"(?:def [^=@;]*:|(?:import|from) [^=;]*|#.*|[ \t].*)?")
_TELLING = re.compile(r"@|\bglobal\b|\bnonlocal\b|\bclass\b|setattr|__|\.\s*\w+\s*(?:\*\*|//|>>|<<|[-+*/%&|^])?=(?!=)")

_HARMLESS = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Pass)
_CHANGING = (ast.Global, ast.Nonlocal)
_CONSTANT = (ast.Constant, ast.UnaryOp, ast.USub, ast.UAdd, ast.Invert, ast.Tuple, ast.Load, ast.BinOp, ast.operator)


def keeps_state(source: str) -> bool:
    """Whether the program may answer a call differently after another one; True for what does not parse.

    A look at the text settles most programs; to parse one costs more than to compare what it answered.
    """
    if is_plain(source):
        return False
    tree = parsed(source)
    return tree is None or not all(map(_is_harmless, tree.body)) or any(map(_remembers, ast.walk(tree)))


def is_plain(source: str) -> bool:
    """Whether a look at the text settles that the program keeps nothing; linear in its length."""
    lines = source.split("\n")
    return not _TELLING.search(source) and all(map(_LINE.fullmatch, lines))


def _is_harmless(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value) | ast.Expr(value=value):
            return _is_constant(value)
    return isinstance(statement, _HARMLESS)


def _is_constant(value: ast.expr) -> bool:
    return all(isinstance(node, _CONSTANT) for node in ast.walk(value))


def _remembers(node: ast.AST) -> bool:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            defaults = [*node.args.defaults, *(default for default in node.args.kw_defaults if default)]
            return bool(node.decorator_list) or not all(map(_is_constant, defaults))
        case ast.ClassDef():
            return not all(map(_is_harmless, node.body))
        case ast.Attribute(ctx=ast.Store() | ast.Del(), value=ast.Name(id=owner)):
            return owner != "self"
        case ast.Attribute(ctx=ast.Store() | ast.Del()):
            return True
    return isinstance(node, _CHANGING)


def turned(task: Task) -> Task:
    """The task with its last input first."""
    return replace(task, inputs=task.inputs[::-1], owners=task.owners[::-1])


def story(execution: Execution) -> Story:
    """What a run did, in a few bytes; nothing for limits and infrastructure, which may vary."""
    if execution.status in ("timeout", "infra_error"):
        return ()
    value = hashlib.blake2b(execution.value.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return (execution.status, value, *execution.exception)
