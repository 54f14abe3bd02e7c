"""Python expressions as terms, for tests: `f0`, `f1` and `f2` are what the calls returned."""

from __future__ import annotations

import ast
import json
import math
from typing import Any

from selfplay.cases.terms import satisfied
from selfplay.cases.values import encode, load

COMPARISONS = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "in",
    ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip
OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip
UNARY = {ast.Not: "not", ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}


def term(node: ast.AST, names: dict[str, int]) -> Any:
    """The term of an expression; KeyError and TypeError for what has none."""
    match node:
        case ast.Expression(body=body):
            return term(body, names)
        case ast.Constant(value=value):
            return ["data", load(encode(value))]
        case ast.Name(id="f0" | "f1" | "f2" as name):
            return ["result", int(name[1])]
        case ast.Name(id=name):
            return ["item", names[name]]
        case ast.BoolOp(op=op, values=values):
            return ["and" if isinstance(op, ast.And) else "or", *(term(value, names) for value in values)]
        case ast.UnaryOp(op=op, operand=operand):
            return ["call", UNARY[type(op)], term(operand, names)]
        case ast.BinOp(left=left, op=op, right=right):
            return ["call", OPERATORS[type(op)], term(left, names), term(right, names)]
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return ["call", COMPARISONS[type(op)], term(left, names), term(right, names)]
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return ["if", term(test, names), term(body, names), term(orelse, names)]
        case ast.Subscript(value=of, slice=ast.Slice(lower=a, upper=b, step=c)):
            bounds = [term(bound or ast.Constant(None), names) for bound in (a, b, c)]
            return ["call", "[:]", term(of, names), *bounds]
        case ast.Subscript(value=of, slice=index):
            return ["call", "[]", term(of, names), term(index, names)]
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            name = {ast.List: "[,]", ast.Tuple: "(,)", ast.Set: "{,}"}[type(node)]
            return ["call", name, *(term(item, names) for item in items)]
        case ast.Call(func=ast.Name(id="isinstance"), args=[of, ast.Name(id=kind)]):
            return ["call", "isinstance", term(of, names), ["data", kind]]
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return ["call", name, *(term(argument, names) for argument in arguments)]
        case ast.Call(func=ast.Attribute(value=of, attr=name), args=arguments):
            return ["call", f".{name}", *(term(argument, names) for argument in (of, *arguments))]
        case ast.ListComp(elt=body, generators=generators) | ast.GeneratorExp(elt=body, generators=generators):
            return _comprehension("list", body, generators, dict(names))
        case ast.SetComp(elt=body, generators=generators):
            return _comprehension("set", body, generators, dict(names))
    raise TypeError(ast.dump(node))


def _comprehension(kind: str, body: ast.expr, generators: list[ast.comprehension], names: dict[str, int]) -> Any:
    made = []
    for generator in generators:
        iterable = term(generator.iter, names)
        targets = generator.target.elts if isinstance(generator.target, ast.Tuple) else [generator.target]
        for target in targets:
            assert isinstance(target, ast.Name)
            names[target.id] = len(names)
        numbers = [names[target.id] for target in targets if isinstance(target, ast.Name)]
        made.append([iterable, numbers, [term(condition, names) for condition in generator.ifs]])
    return ["for", kind, made, term(body, names)]


def term_text(expression: str) -> str:
    """The text of the term of a Python expression."""
    return json.dumps(term(ast.parse(expression, mode="eval"), {}))


def ours(expression: str, *results: Any) -> bool:
    """The verdict on some results."""
    return satisfied(term_text(expression), [load(encode(result)) for result in results])


def pythons(expression: str, *results: Any) -> bool:
    """What Python says: false where it raises."""
    names = {f"f{number}": result for number, result in enumerate(results)}
    try:
        return bool(eval(expression, {**vars(math), **names}))
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
        return False
