"""Mutation operators: the small changes that make a wrong program of a right one.

Two families, disjoint by construction: `paid` is used in rewards, `kept` only in evaluation, so that a discriminator
cannot learn the operators by heart and look better than it is.

    paid    boundary (< to <=), comparison (== to !=), arithmetic (+ to -), constant (3 to 4), connective (and to or)
    kept    slice (bounds dropped or shifted), guard (`if not xs: return 0` removed), builtin (min to max, sort order),
            return (the result changed), condition (forced), break (the loop ends early), range (one step short)
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import Any, Literal

Family = Literal["paid", "kept"]
Change = tuple[str, Any]  # operator, and the node that takes the place of the old one (None removes a statement)

_BOUNDARY: dict[type, type] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
_OPPOSITE: dict[type, type] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_ARITHMETIC: dict[type, tuple[type, ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add, ast.FloorDiv),
    ast.Div: (ast.FloorDiv, ast.Mult),
    ast.FloorDiv: (ast.Div, ast.Mult),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.BitXor: (ast.BitOr,),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
}


def _comparison(node: ast.Compare, parent: ast.AST) -> Iterator[Change]:
    for position, op in enumerate(node.ops):
        for name, table in (("boundary", _BOUNDARY), ("comparison", _OPPOSITE)):
            if type(op) in table:
                ops = [*node.ops[:position], table[type(op)](), *node.ops[position + 1 :]]
                yield name, ast.Compare(node.left, ops, node.comparators)


def _arithmetic(node: ast.BinOp, parent: ast.AST) -> Iterator[Change]:
    for other in _ARITHMETIC.get(type(node.op), ()):
        yield "arithmetic", ast.BinOp(node.left, other(), node.right)


def _augmented(node: ast.AugAssign, parent: ast.AST) -> Iterator[Change]:
    for other in _ARITHMETIC.get(type(node.op), ())[:1]:
        yield "arithmetic", ast.AugAssign(node.target, other(), node.value)


def _constant(node: ast.Constant, parent: ast.AST) -> Iterator[Change]:
    if type(node.value) is int:
        yield "constant", ast.Constant(node.value + 1)
        yield "constant", ast.Constant(node.value - 1)


def _connective(node: ast.BoolOp, parent: ast.AST) -> Iterator[Change]:
    yield "connective", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)


def _slice(node: ast.Slice, parent: ast.AST) -> Iterator[Change]:
    for field in ("lower", "upper", "step"):
        bound = getattr(node, field)
        if bound is not None:
            yield "slice", _with(node, field, None)
            if field != "step":
                yield "slice", _with(node, field, _plus(bound, 1))
                yield "slice", _with(node, field, _plus(bound, -1))


def _index(node: ast.Subscript, parent: ast.AST) -> Iterator[Change]:
    if isinstance(node.slice, (ast.Slice, ast.Tuple)) or isinstance(node.ctx, ast.Store):
        return
    if isinstance(node.slice, ast.Constant) and not isinstance(node.slice.value, int):
        return
    yield "slice", ast.Subscript(node.value, _plus(node.slice, 1), node.ctx)
    yield "slice", ast.Subscript(node.value, _plus(node.slice, -1), node.ctx)


def _with(node: ast.Slice, field: str, value: ast.expr | None) -> ast.Slice:
    parts: dict[str, Any] = {"lower": node.lower, "upper": node.upper, "step": node.step, field: value}
    return ast.Slice(**parts)


def _plus(node: ast.expr, step: int) -> ast.expr:
    """The expression plus `step`, as a reader would write it."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return ast.Constant(node.value + step)
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return ast.Constant(step - value)
    return ast.BinOp(node, ast.Add() if step > 0 else ast.Sub(), ast.Constant(abs(step)))


_EXITS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def _guard(node: ast.If, parent: ast.AST) -> Iterator[Change]:
    if len(node.body) == 1 and isinstance(node.body[0], _EXITS) and not node.orelse:
        yield "guard", None


def _condition(node: ast.If | ast.IfExp, parent: ast.AST) -> Iterator[Change]:
    removed = isinstance(node, ast.If) and any(_guard(node, parent))
    for value in (True,) if removed else (True, False):
        other = copy.copy(node)
        other.test = ast.Constant(value)
        yield "condition", other


def _filter(node: ast.comprehension, parent: ast.AST) -> Iterator[Change]:
    for position in range(len(node.ifs)):
        ifs = [*node.ifs[:position], *node.ifs[position + 1 :]]
        yield "condition", ast.comprehension(node.target, node.iter, ifs, node.is_async)


_SWAPPED = {
    "min": "max", "max": "min", "sum": "len", "len": "sum", "any": "all", "all": "any",
    "sorted": "list", "reversed": "list", "set": "list", "abs": "int", "int": "round", "round": "int",
}  # fmt: skip
_SWAPPED_METHODS = {
    "lower": "upper", "upper": "lower", "lstrip": "rstrip", "rstrip": "lstrip", "find": "rfind", "rfind": "find",
    "startswith": "endswith", "endswith": "startswith", "union": "intersection", "intersection": "union",
    "index": "count", "isalpha": "isalnum", "isdigit": "isalnum", "isalnum": "isalpha",
}  # fmt: skip


def _builtin(node: ast.Call, parent: ast.AST) -> Iterator[Change]:
    function = node.func
    if isinstance(function, ast.Name) and function.id in _SWAPPED:
        swapped = _SWAPPED[function.id]
        keywords = [] if swapped in ("list", "int", "len", "sum") else node.keywords
        yield "builtin", ast.Call(ast.Name(swapped, ast.Load()), node.args, keywords)
    if isinstance(function, ast.Attribute) and function.attr in _SWAPPED_METHODS:
        other = ast.Attribute(function.value, _SWAPPED_METHODS[function.attr], ast.Load())
        yield "builtin", ast.Call(other, node.args, node.keywords)
    if (isinstance(function, ast.Name) and function.id == "sorted") or (
        isinstance(function, ast.Attribute) and function.attr == "sort"
    ):
        yield "builtin", ast.Call(function, node.args, _reversed(node.keywords))


def _reversed(keywords: list[ast.keyword]) -> list[ast.keyword]:
    """The order of a sort turned round."""
    rest = [keyword for keyword in keywords if keyword.arg != "reverse"]
    was = next((keyword.value for keyword in keywords if keyword.arg == "reverse"), ast.Constant(False))
    return [*rest, ast.keyword("reverse", ast.UnaryOp(ast.Not(), was))]


def _range(node: ast.Call, parent: ast.AST) -> Iterator[Change]:
    if isinstance(node.func, ast.Name) and node.func.id == "range" and 1 <= len(node.args) <= 2:
        yield "range", ast.Call(node.func, [*node.args[:-1], _plus(node.args[-1], -1)], [])
        if len(node.args) == 1:
            yield "range", ast.Call(node.func, [ast.Constant(1), *node.args], [])


def _result(node: ast.Return, parent: ast.AST) -> Iterator[Change]:
    value = node.value
    match value:
        case ast.Constant(value=bool(truth)):
            yield "return", ast.Return(ast.Constant(not truth))
        case ast.List(elts=[_, *_]) | ast.Tuple(elts=[_, *_]):
            yield "return", ast.Return(type(value)(value.elts[::-1], ast.Load()))
            yield "return", ast.Return(type(value)(value.elts[1:], ast.Load()))
        case ast.List(elts=[]):
            yield "return", ast.Return(ast.Constant(None))
        case ast.ListComp():
            yield "return", ast.Return(ast.Subscript(value, ast.Slice(step=ast.Constant(-1)), ast.Load()))
            yield "return", ast.Return(ast.Subscript(value, ast.Slice(lower=ast.Constant(1)), ast.Load()))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "return", ast.Return(operand)
        case ast.Compare() | ast.BoolOp():
            yield "return", ast.Return(ast.UnaryOp(ast.Not(), value))
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult(), left=left):
            yield "return", ast.Return(left)
        case ast.Call() if _gives_number(value):
            yield "return", ast.Return(_plus(value, 1))


def _gives_number(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id in ("len", "sum", "int", "abs", "round")


def _break(node: ast.For | ast.While, parent: ast.AST) -> Iterator[Change]:
    other = copy.copy(node)
    other.body = [*node.body, ast.Break()]
    yield "break", other


Operator = Callable[[Any, ast.AST], Iterator[Change]]
PAID: dict[type[ast.AST], tuple[Operator, ...]] = {
    ast.Compare: (_comparison,),
    ast.BinOp: (_arithmetic,),
    ast.AugAssign: (_augmented,),
    ast.Constant: (_constant,),
    ast.BoolOp: (_connective,),
}
KEPT: dict[type[ast.AST], tuple[Operator, ...]] = {
    ast.Slice: (_slice,),
    ast.Subscript: (_index,),
    ast.If: (_guard, _condition),
    ast.IfExp: (_condition,),
    ast.comprehension: (_filter,),
    ast.Call: (_builtin, _range),
    ast.Return: (_result,),
    ast.For: (_break,),
    ast.While: (_break,),
}
OPERATORS: dict[Family, dict[type[ast.AST], tuple[Operator, ...]]] = {"paid": PAID, "kept": KEPT}
