"""One value of one key: read by its type, held to its range. Errors name the key, the value, the limit and what to do.

Text that spells a number is a number, since flags are text and YAML reads `1e-3` as text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import Field
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from selfplay.errors import SelfplayError, UnknownName

_NOTHING = ("none", "null", "")
_TRUTH = {"true": True, "yes": True, "false": False, "no": False}
_WORDS: Mapping[Any, str] = {
    int: "a whole number",
    float: "a number",
    str: "text",
    bool: "true or false",
    NoneType: "none",
}
_MANY: Mapping[Any, str] = {int: "whole numbers", float: "numbers", str: "names"}
_SHORT: Mapping[Any, str] = {int: "N", float: "X", str: "NAME", bool: "true|false"}


class ConfigError(SelfplayError):
    """A configuration that cannot be used."""


class _Unfit(Exception):
    """The value is not of this type."""


def read(name: str, value: object, hint: Any) -> Any:
    """`value` as the type `hint`. Raises ConfigError, or UnknownName where it should be one of a few words."""
    choices = tuple(part for part in _parts(hint) if isinstance(part, str))
    if isinstance(value, bool) and "off" in choices:
        value = "on" if value else "off"  # what YAML takes a bare on or off for
    if choices == _parts(hint) and value not in choices:
        raise UnknownName(name, value, choices)
    try:
        return _as(value, hint)
    except _Unfit:
        raise ConfigError(f"{name} is {value!r}: give {describe(hint)}") from None


def is_nothing(value: object) -> bool:
    """Whether a value says none, in any of its spellings."""
    return value is None or (isinstance(value, str) and value.lower() in _NOTHING)


def describe(hint: Any) -> str:
    """A type in words: "a whole number or auto"."""
    return " or ".join(_word(part) for part in _parts(hint))


def shape(hint: Any) -> str:
    """A type as help shows it: "N|auto"."""
    parts = [part for part in _parts(hint) if part is not NoneType]
    items = [get_args(part)[0] if get_args(part) else part for part in parts]
    return "|".join(dict.fromkeys(str(_SHORT.get(item, item)) for item in items))


def _word(part: Any) -> str:
    if get_origin(part) is tuple:
        return _MANY[get_args(part)[0]]
    return str(_WORDS.get(part, part))


def check_range(field: Field[Any], value: object) -> None:
    """Raises ConfigError where a number lies outside `low`..`high` or not `above` its bound."""
    if isinstance(value, tuple):
        for each in value:
            check_range(field, each)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    low, above, high = (field.metadata[bound] for bound in ("low", "above", "high"))
    limits = [f"at least {low}"] * (low is not None) + [f"above {above}"] * (above is not None)
    limits += [f"at most {high}"] * (high is not None)
    outside = (low is not None and value < low) or (above is not None and value <= above)
    if not math.isfinite(value) or outside or (high is not None and value > high):
        wanted = " and ".join(limits) or "finite"
        raise ConfigError(f"{field.name} is {value}: it must be {wanted}; the default is {spelled(field.default)}")


def spelled(value: object) -> str:
    """A value as a command line has it."""
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _parts(hint: Any) -> tuple[Any, ...]:
    """The alternatives of a union, words of a Literal among them; else the type itself."""
    if get_origin(hint) in (Union, UnionType):
        return tuple(part for each in get_args(hint) for part in _parts(each))
    return get_args(hint) if get_origin(hint) is Literal else (hint,)


def _as(value: Any, hint: Any) -> Any:
    for part in sorted(_parts(hint), key=lambda each: each is str):  # text last: it takes anything written
        try:
            return _as_one(value, part)
        except _Unfit:
            continue
    raise _Unfit


def _as_one(value: Any, part: Any) -> Any:
    if get_origin(part) is tuple:
        return _several(value, get_args(part)[0])
    if part is NoneType and is_nothing(value):
        return None
    if part is bool and (isinstance(value, bool) or str(value).lower() in _TRUTH):
        return _TRUTH[str(value).lower()]
    if part is int or part is float:
        return _number(value, part)
    if isinstance(value, str) and value.strip() and (part is str or part == value):
        return value
    raise _Unfit


def _number(value: Any, kind: type[int | float]) -> int | float:
    if isinstance(value, bool) or not isinstance(value, (str, int) if kind is int else (str, int, float)):
        raise _Unfit
    try:
        return kind(value)
    except (ValueError, OverflowError):
        raise _Unfit from None


def _several(value: Any, item: Any) -> tuple[Any, ...]:
    """A list, one item, or text with commas. One name of many is text, so that `str | tuple` can tell them apart."""
    pieces = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else [value]
    pieces = [piece for each in pieces for piece in (each.split(",") if isinstance(each, str) else [each])]
    if not pieces or (item is str and isinstance(value, str) and len(pieces) == 1):
        raise _Unfit
    return tuple(_as_one(piece.strip() if isinstance(piece, str) else piece, item) for piece in pieces)
