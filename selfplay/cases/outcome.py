"""What one call did, as data: the value or the exception, what it printed, and its arguments where it changed them.

As text it is a line of JSON: {"v": tree} or {"x": [names], "m": message}, with "a" (an exception's arguments and attributes),
"p" (printed), "c" (the call's arguments afterwards) and "i" (the place of the argument that it returned) only where there is
something to say. Trees are those of values.py.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from selfplay.cases.alike import alike
from selfplay.cases.trees import MAX_BYTES, MAX_NODES, Tree, checked, dump, reader

MAX_NAMES = 20  # of an exception's classes, of at most MAX_NAME characters each
MAX_NAME = 100


@dataclass(frozen=True, slots=True)
class Outcome:
    """`raised`: the names of the exception's classes, most derived first; empty where the call returned `value`.

    `changed`: all arguments after the call, in the form in which they were given to it; None where it changed none.
    """

    value: Tree | None = None
    raised: tuple[str, ...] = ()
    message: str = ""
    printed: str = ""
    changed: Tree | None = None
    argument: int | None = None  # the place of the one that the call returned itself, and no copy of it
    details: Tree | None = None  # of an exception: a tuple of its arguments and a dictionary of its public attributes


def outcome_text(outcome: Outcome) -> str:
    """The one text of an outcome."""
    said: dict[str, Any] = {"x": [*outcome.raised], "m": outcome.message} if outcome.raised else {"v": outcome.value}
    if outcome.details is not None:
        said["a"] = outcome.details
    if outcome.printed:
        said["p"] = outcome.printed
    if outcome.changed is not None:
        said["c"] = outcome.changed
    if outcome.argument is not None:
        said["i"] = outcome.argument
    return dump(said)


def outcome_of(text: str, *, nodes: int = MAX_NODES, size: int = MAX_BYTES) -> Outcome:
    """The outcome of a text of any origin, checked part by part; raises ValueError for anything else."""
    if len(text) > size:
        raise ValueError(f"an outcome takes {len(text)} characters, the limit is {size}")
    objects: list[dict[str, Any]] = []
    try:
        said = reader(lambda pairs: objects.append(dict(pairs))).decode(text)
    except RecursionError:
        raise ValueError("an outcome is nested too deep") from None
    if said is not None or len(objects) != 1:
        raise ValueError("an outcome is one JSON object")
    said = objects[0]
    if set(said) - {"p", "c", "i"} not in ({"v"}, {"x", "m"}, {"x", "m", "a"}):
        raise ValueError(f"an outcome has a value or an exception, not {json.dumps(sorted(said))[:100]}")
    checked(said.get("v"), said.get("c"), said.get("a"), nodes=nodes)
    raised, message, printed = said.get("x", []), said.get("m", ""), said.get("p", "")
    if type(message) is not str or type(printed) is not str or ("x" in said and not _are_names(raised)):
        raise ValueError("an outcome's exception, message or printed text is none")
    if type(said.get("i", 0)) is not int or said.get("i", 0) < 0:
        raise ValueError("an outcome's argument is no place")
    return Outcome(said.get("v"), tuple(raised), message, printed, said.get("c"), said.get("i"), said.get("a"))


def _are_names(names: object) -> bool:
    if type(names) is not list or not 0 < len(names) <= MAX_NAMES:
        return False
    return all(type(name) is str and 0 < len(name) <= MAX_NAME for name in names)


def is_like(outcome: Outcome, reference: Outcome) -> bool:
    """Whether an outcome counts as what the reference did.

    Of an exception its classes count and what it holds but words; what the reference does not print or change, another may;
    and whether it is an argument that was returned, or another object, counts for nothing.
    """
    if outcome.raised != reference.raised or (not reference.raised and not alike(outcome.value, reference.value)):
        return False
    if reference.raised and not alike(_attributes(outcome), _attributes(reference)):
        return False
    if reference.printed and outcome.printed != reference.printed:
        return False
    return reference.changed is None or (outcome.changed is not None and alike(outcome.changed, reference.changed))


def _attributes(outcome: Outcome) -> Tree:
    """The public attributes of an exception that are no text, by name."""
    match outcome.details:
        case ["t", _, ["d", *pairs]]:
            return ["d", *sorted((pair for pair in pairs if type(pair[1]) is not str), key=dump)]
    return ["d"]
