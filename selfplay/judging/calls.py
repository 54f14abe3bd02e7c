"""The arguments of one call as canonical text: what a test calls the entry point with, and what the box decodes.

    f(1, [2])          ["l",1,["l",2]]                             positional arguments alone: a list
    f(1, key="a")      ["d",["",["l",1]],["key","a"]]              with keywords: a dictionary, the positional ones under ""

Keywords reach the program as keywords, so a program that names its parameters otherwise fails as it would under pytest.
`folded` puts them in their places where a signature is known: for who must see that f(1, b=2) and f(1, 2) ask the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from selfplay.judging.values import decode, encode


def call_text(positional: Sequence[Any], keywords: Mapping[str, Any] | None = None) -> str:
    """The text of a call. Raises ValueError for arguments that are no plain data or too large."""
    if not keywords:
        return encode(list(positional), strict=True)
    return encode({"": list(positional), **keywords}, strict=True)


def call_of(text: str) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments of a text that this process made."""
    arguments = decode(text)
    if isinstance(arguments, dict):
        return arguments.pop(""), arguments
    return list(arguments), {}
