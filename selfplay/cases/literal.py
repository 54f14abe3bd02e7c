"""A value as the Python that spells it, for people and for exported tests; what a case expects, and what a program did.

Written from the tree, so no object of a program's choosing is ever built. What cannot be spelled (an object of a class) is
shown in angle brackets. Classes of the standard library are named without their module, dates with it (`datetime.date`).
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Iterator
from itertools import chain

from selfplay.box.task import Execution
from selfplay.cases.case import Case
from selfplay.cases.values import Tree, load, number, whole

SHOWN = 200  # characters of a value that are shown to people
_BRACKETS = {"l": ("[", "]"), "t": ("(", ")"), "s": ("{", "}"), "z": ("frozenset({", "})"), "g": ("iter([", "])")}
_PAIRS = {"d": ("{", "}"), "C": ("Counter({", "})"), "O": ("OrderedDict({", "})"), "dd": ("defaultdict(None, {", "})")}
_DATES = {"date": dt.date, "datetime": dt.datetime, "time": dt.time}
_EMPTY = {"s": "set()", "z": "frozenset()"}
_LONG = 30  # digits of a hexadecimal integer that is written in decimal


def literal(tree: Tree, limit: int | None = None) -> str:
    """Python's expression for a tree; with a `limit`, its beginning of so many characters and dots."""
    parts, size = list[str](), 0
    for part in _parts(tree):
        parts.append(part)
        size += len(part)
        if limit is not None and size > limit:
            return "".join(parts)[:limit] + " ..."
    return "".join(parts)


def _parts(tree: Tree) -> Iterator[str]:
    if type(tree) is not list:
        yield repr(tree)
        return
    tag, parts = tree[0], tree[1:]
    if tag in _BRACKETS and (parts or tag not in _EMPTY):
        before, after = _BRACKETS[tag]
        yield before
        yield from _joined(_parts(part) for part in parts)
        yield "," + after if tag == "t" and len(parts) == 1 else after
    elif tag in _PAIRS:
        before, after = _PAIRS[tag]
        yield before
        yield from _joined(_pair(key, value) for key, value in parts)
        yield after
    elif tag == "n":
        yield f"{parts[0]}("
        yield from _joined(chain([f"{name}="], _parts(item)) for name, item in zip(parts[1], parts[2:], strict=True))
        yield ")"
    elif tag == "q":
        yield "deque(["
        yield from _joined(_parts(part) for part in parts[1:])
        yield "])" if parts[0] is None else f"], maxlen={parts[0]})"
    else:
        yield _EMPTY.get(tag) or _scalar(tree)


def _joined(items: Iterable[Iterable[str]]) -> Iterator[str]:
    for place, item in enumerate(items):
        if place:
            yield ", "
        yield from item


def _pair(key: Tree, value: Tree) -> Iterator[str]:
    yield from _parts(key)
    yield ": "
    yield from _parts(value)


def _scalar(tree: Tree) -> str:
    tag, *parts = tree
    match tag:
        case "I":
            return parts[0] if len(parts[0]) > _LONG else str(int(parts[0], 16))
        case "f":
            return repr(number(tree)) if parts[0] not in ("inf", "-inf", "nan") else f"float('{parts[0]}')"
        case "c":
            return f"complex({', '.join(_scalar(['f', part]) for part in parts)})"
        case "b":
            return repr(bytes.fromhex(parts[0]))
        case "B":
            return f"bytearray({bytes.fromhex(parts[0])!r})"
        case "r":
            return repr(range(*map(whole, parts)))
        case "D":
            return f"Decimal('{parts[0]}')"
        case "F":
            return f"Fraction({parts[0].replace('/', ', ')})"
        case "date" | "datetime" | "time":
            return repr(_DATES[tag].fromisoformat(parts[0]))
        case "delta":
            return repr(dt.timedelta(*parts))
        case "e":
            return f"<raises {parts[0]}>"
        case "h":
            return f"<{parts[0]} {parts[1]}>"
        case "u" | "y":
            return f"({parts[0]})" if tag == "y" else parts[0]
    return f"<{parts[0]}>"


def did(execution: Execution, stdio: bool = False) -> str:
    """What a call gave: the value it returned, the class of what it raised, what the program printed; else its end."""
    if execution.status == "raised":
        return f"raised {execution.exception[0] if execution.exception else 'an exception'}"
    if execution.status != "returned":
        return execution.status.replace("_", " ")
    if stdio:
        return f"printed {literal(execution.value, SHOWN)}"
    try:
        return f"returned {literal(load(execution.value), SHOWN)}"
    except ValueError:
        return "returned what cannot be read"


def wanted(case: Case) -> str:
    """What a case expects, in the same words."""
    match case.operator:
        case "stdout":
            return f"printed {literal(case.expected, SHOWN)}"
        case "raises":
            return f"raised {' or '.join(json.loads(case.expected))}"
        case "==":
            return f"returned {literal(load(case.expected), SHOWN)}"
        case "truthy" | "falsy":
            return f"the result {case.operator}"
        case "runs":
            return " ".join(case.source.split())[:SHOWN]
    return f"the result {case.operator} {literal(load(case.expected), SHOWN)}"
