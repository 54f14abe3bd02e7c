"""The arguments of one call as canonical text: what a test calls the entry point with, and what the box decodes.

    f(1, [2])          ["l",1,["l",2]]                             positional arguments alone: a list
    f(1, key="a")      ["d",["",["l",1]],["key","a"]]              with keywords: a dictionary, the positional ones under ""

Keywords reach the program as keywords, so a program that names its parameters otherwise fails as it would under pytest.
`normal_call` and `stdin_call` are the form in which calls are compared: f(1, b=2) and f(1, 2) ask the same.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from selfplay.cases.values import Tree, decode, dump, encode, load


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


def normal_call(text: str, signature: str) -> str:
    """The one text of all calls that ask the same: keywords in their places, literal defaults written out, what remains in
    the order of names. With b=2 by default, f(1), f(1, 2) and f(1, b=2) are one."""
    spec = _parameters_of(signature)
    tree = load(text)
    keywords: dict[str, Tree] = dict(tree[1:]) if tree[0] == "d" else {"": tree}
    positional = keywords.pop("")[1:]
    given = len(positional)
    for place, name in enumerate(spec.names[given:], given):
        if name in keywords and place >= spec.only_by_place:
            positional.append(keywords.pop(name))
        elif name in spec.defaults:
            positional.append(spec.defaults[name])
        else:
            break
    rest = spec.names[max(len(positional), spec.only_by_place) :]
    filled = {name: spec.defaults[name] for name in (*rest, *spec.only_by_name) if name in spec.defaults}
    keywords = filled | keywords
    if not keywords:
        return dump(["l", *positional])
    return dump(["d", ["", ["l", *positional]], *([name, keywords[name]] for name in sorted(keywords))])


def stdin_call(text: str) -> str:
    """The form in which inputs of a program are compared: blanks between words and blank lines at the ends count for
    nothing. The text itself where no word is left."""
    return "\n".join(" ".join(line.split()) for line in text.split("\n")).strip("\n") or text


class _Parameters(NamedTuple):
    """`names` of parameters that have a place, the first of them `only_by_place`; `defaults`: trees of literal ones."""

    names: tuple[str, ...] = ()
    only_by_place: int = 0
    only_by_name: tuple[str, ...] = ()
    defaults: dict[str, Tree] = {}  # noqa: RUF012


@lru_cache(maxsize=1024)
def _parameters_of(signature: str) -> _Parameters:
    spec = parameters(signature)
    if spec is None:
        return _Parameters()
    placed = [*spec.posonlyargs, *spec.args]
    pairs = [*zip(placed[len(placed) - len(spec.defaults) :], spec.defaults, strict=True)]
    pairs += [(one, default) for one, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default]
    defaults: dict[str, Tree] = {}
    for parameter, default in pairs:
        try:
            defaults[parameter.arg] = load(encode(ast.literal_eval(default), strict=True))
        except (ValueError, TypeError, RecursionError):
            continue  # a default that is no literal
    names = tuple(parameter.arg for parameter in placed)
    return _Parameters(names, len(spec.posonlyargs), tuple(one.arg for one in spec.kwonlyargs), defaults)


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


def is_call(text: str) -> bool:
    """Whether a text is the arguments of a call, and no other operation."""
    return text.startswith(('["l"', '["d"'))


def placed_call(text: str, place: str) -> str:
    """The name of a call whose outcome hangs on those before it: `place` stands for them."""
    return f"{text}#{place}"


def bare_call(text: str) -> str:
    """The call alone, of its name."""
    return text[: text.rindex("]") + 1]
