"""The arguments of one call as canonical text: what a test calls the entry point with, and what the box decodes.

    f(1, [2])          ["l",1,["l",2]]                             positional arguments alone: a list
    f(1, key="a")      ["d",["",["l",1]],["key","a"]]              with keywords: a dictionary, the positional ones under ""

Keywords reach the program as keywords, so a program that names its parameters otherwise fails as it would under pytest.
`folded` puts them in their places where a signature is known: for who must see that f(1, b=2) and f(1, 2) ask the same.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from selfplay.cases.values import decode, encode


def call_text(positional: Sequence[object], keywords: Mapping[str, object] | None = None) -> str:
    """The text of a call. Raises ValueError for arguments that are no plain data or too large."""
    if not keywords:
        return encode(list(positional), strict=True)
    return encode({"": list(positional), **keywords}, strict=True)


def call_of(text: str) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments of a text that this process made."""
    arguments = decode(text)
    if isinstance(arguments, dict):
        return list(arguments.pop("")), arguments
    return list(arguments), {}


def folded(text: str, signature: str) -> str:
    """The text of the same call with as many keywords in their places as `signature` knows, gaps filled by its literal
    defaults. The text itself where there are none, or the signature tells nothing; keywords that have no place remain,
    in the order of their names."""
    spec = parameters(signature)
    if spec is None or not text.startswith('["d"'):
        return text
    positional, keywords = call_of(text)
    first = len(spec.args) + len(spec.posonlyargs) - len(spec.defaults)
    for place, parameter in list(enumerate((*spec.posonlyargs, *spec.args)))[len(positional) :]:
        if parameter.arg in keywords and place >= len(spec.posonlyargs):
            positional.append(keywords.pop(parameter.arg))
        elif not keywords or place < first:
            break
        else:
            try:
                positional.append(ast.literal_eval(spec.defaults[place - first]))
            except ValueError:
                break
    return call_text(positional, dict(sorted(keywords.items())))


@lru_cache(maxsize=1024)
def parameters(signature: str) -> ast.arguments | None:
    """The parameters in the text of a signature such as `def f(a: int, b=2) -> int:`; None where it is not one."""
    text = signature.strip()
    if not text:
        return None
    head = text if text.endswith(":") else f"{text}:"
    try:
        tree = ast.parse(f"{head} pass")
    except (SyntaxError, ValueError):
        return None
    function = tree.body[0]
    return function.args if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) else None
