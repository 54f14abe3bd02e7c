"""What one call did, as data: the value or the exception, what it printed, and its arguments where it changed them.

As text it is a line of JSON: {"v": tree} or {"x": [names], "m": message}, with "p" (printed) and "c" (arguments after the
call) only where there is something to say. Trees are those of values.py.
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


def outcome_text(outcome: Outcome) -> str:
    """The one text of an outcome."""
    said: dict[str, Any] = {"x": [*outcome.raised], "m": outcome.message} if outcome.raised else {"v": outcome.value}
    if outcome.printed:
        said["p"] = outcome.printed
    if outcome.changed is not None:
        said["c"] = outcome.changed
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
    if set(said) - {"p", "c"} not in ({"v"}, {"x", "m"}):
        raise ValueError(f"an outcome has a value or an exception, not {json.dumps(sorted(said))[:100]}")
    checked(said.get("v"), said.get("c"), nodes=nodes)
    raised, message, printed = said.get("x", []), said.get("m", ""), said.get("p", "")
    if type(message) is not str or type(printed) is not str or ("x" in said and not _are_names(raised)):
        raise ValueError("an outcome's exception, message or printed text is none")
    return Outcome(said.get("v"), tuple(raised), message, printed, said.get("c"))


def _are_names(names: object) -> bool:
    if type(names) is not list or not 0 < len(names) <= MAX_NAMES:
        return False
    return all(type(name) is str and 0 < len(name) <= MAX_NAME for name in names)


def is_like(outcome: Outcome, reference: Outcome) -> bool:
    """Whether an outcome counts as what the reference did.

    Of an exception only its classes count; what the reference does not print or change, another may.
    """
    if outcome.raised != reference.raised or (not reference.raised and not alike(outcome.value, reference.value)):
        return False
    if reference.printed and outcome.printed != reference.printed:
        return False
    return reference.changed is None or (outcome.changed is not None and alike(outcome.changed, reference.changed))
