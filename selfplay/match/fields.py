"""The fields of a record, read by name and kind. What is missing or of another kind is named with its path.

A ledger or a bank may have been cut, edited or made up, so nothing is computed from a field before it was held against its
kind. docs/ledger.md says what each field means. Fields that nobody asks for are left alone: a later version may add some.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

from selfplay.cases.case import Verdict
from selfplay.errors import SelfplayError
from selfplay.game.episode import ROLES
from selfplay.game.phases import STAGE_IDS
from selfplay.match.match import Origin


class LedgerError(SelfplayError):
    """A record that is none, or of another schema."""


_VERDICTS, _ORIGINS = frozenset(get_args(Verdict)), frozenset(get_args(Origin))
KINDS: Mapping[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: type(value) is int,
    "count": lambda value: type(value) is int and 0 <= value < 2**53,
    "number": lambda value: type(value) in (int, float) and abs(value) < 2**1023,  # not NaN, and a float takes it
    "stage": lambda value: type(value) is int and value in STAGE_IDS,
    "verdict": lambda value: isinstance(value, str) and value in _VERDICTS,
    "role": lambda value: isinstance(value, str) and value in ROLES,
    "trained": lambda value: isinstance(value, str) and value in (*ROLES, "both"),
    "origin": lambda value: isinstance(value, str) and value in _ORIGINS,
}


class Fields:
    """An object of a record. Every method raises LedgerError where the field is missing or of another kind.

    A kind is a name of KINDS, with ` or null` behind it where the field may be empty.
    """

    def __init__(self, value: object, path: str = "") -> None:
        if not isinstance(value, Mapping):
            raise _unlike(path, value, "an object")
        self._value, self._path = value, path

    def __call__(self, name: str, kind: str) -> Any:
        """The value of a field."""
        value = self._get(name)
        if not _is(value, kind):
            raise _unlike(self.at(name), value, kind)
        return value

    def plain(self, kinds: Mapping[str, str]) -> dict[str, Any]:
        """The values of several fields, by name."""
        return {name: self(name, kind) for name, kind in kinds.items()}

    def optional(self, name: str, kind: str, otherwise: Any) -> Any:
        """The value of a field that may be missing."""
        return self(name, kind) if name in self._value else otherwise

    def each(self, name: str, kind: str) -> tuple[Any, ...]:
        """The values of a list."""
        return _all(self.at(name), self._get(name), kind)

    def lists(self, name: str, kind: str) -> tuple[tuple[Any, ...], ...]:
        """The lists of a list."""
        return tuple(_all(path, values, kind) for path, values in self._items(name))

    def object(self, name: str) -> Fields:
        return Fields(self._get(name), self.at(name))

    def objects(self, name: str) -> list[Fields]:
        """The objects of a list."""
        return [Fields(value, path) for path, value in self._items(name)]

    def place(self, name: str, end: int, first: int = 0) -> int:
        """A whole number from `first` to below `end`."""
        return _within(self.at(name), self(name, "integer"), end, first)

    def places(self, name: str, end: int) -> list[int]:
        """A list of such numbers, from 0."""
        return [_within(f"{self.at(name)}[]", number, end, 0) for number in self.each(name, "integer")]

    def _get(self, name: str) -> Any:
        if name not in self._value:
            raise LedgerError(f"{self.at(name)} is missing")
        return self._value[name]

    def at(self, name: str) -> str:
        """The path of a field."""
        return f"{self._path}.{name}" if self._path else name

    def _items(self, name: str) -> list[tuple[str, Any]]:
        values = _list(self.at(name), self._get(name))
        return [(f"{self.at(name)}[{number}]", value) for number, value in enumerate(values)]


def _list(path: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _unlike(path, value, "a list")
    return value


def _all(path: str, values: Any, kind: str) -> tuple[Any, ...]:
    for number, value in enumerate(_list(path, values)):
        if not _is(value, kind):
            raise _unlike(f"{path}[{number}]", value, kind)
    return tuple(values)


def _is(value: Any, kind: str) -> bool:
    name = kind.removesuffix(" or null")
    return KINDS[name](value) or (value is None and name != kind)


def _within(path: str, number: int, end: int, first: int) -> int:
    if not first <= number < end:
        raise _unlike(path, number, f"{first} to {end - 1}" if first < end else "none")
    return number


def _unlike(path: str, value: Any, due: str) -> LedgerError:
    return LedgerError(f"{path or 'it'} is {_said(value)}, where {due} is due")


def _said(value: Any) -> str:
    """A value in a message, short and without line breaks."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    if isinstance(value, int) and not -(2**64) < value < 2**64:
        return "a number of many digits"
    return ascii(value[:40] if isinstance(value, str) else value)
