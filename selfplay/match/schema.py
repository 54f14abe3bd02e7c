"""What the record of a match must look like: every field and its kind, and what is wrong with a record that differs.

A ledger may have been cut, edited or made up, so nothing is computed from a record before it was held against this
table; docs/ledger.md says what each field means. A shape is the name of a kind, a dictionary of fields, or a list with the
shape of its items. Fields beyond these are left alone: a later version may add some.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, get_args

from selfplay.cases.case import Verdict
from selfplay.game.phases import STAGE_IDS
from selfplay.match.record import Origin

Shape = str | Mapping[str, Any] | list[Any]

MAX_WORK = 20_000_000  # cases times programs, suites and targets; the widest steps that we play have thousands
_VERDICTS, _ORIGINS = frozenset(get_args(Verdict)), frozenset(get_args(Origin))
_ROLES = frozenset(("generator", "discriminator"))

KINDS: Mapping[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: type(value) is int,
    "count": lambda value: type(value) is int and 0 <= value < 2**53,
    "number": lambda value: type(value) in (int, float) and abs(value) < 2**1023,  # not NaN, and a float takes it
    "stage": lambda value: type(value) is int and value in STAGE_IDS,
    "verdict": lambda value: isinstance(value, str) and value in _VERDICTS,
    "role": lambda value: isinstance(value, str) and value in _ROLES,
    "trained": lambda value: isinstance(value, str) and value in _ROLES | {"both"},
    "origin": lambda value: isinstance(value, str) and value in _ORIGINS,
}

_CHAIN: Shape = {
    "turns": ["integer"],
    "code": "text or null",
    "how": "text",
    "reward": "number or null",
    "trained": ["boolean"],
    "advantages": ["number"],
    "correct": "boolean or null",
    "greedy": "boolean",
}
RECORD: Mapping[str, Any] = {
    "kind": "text",
    "schema": "integer",
    "step": {
        "index": "integer",
        "stage": "stage",
        "role": "trained",
        "phase": "text",
        "ends_stage": "boolean",
        "played": ["stage"],
    },
    "problem": {
        "id": "text",
        "description": "text",
        "entry_point": "text",
        "signature": "text",
        "reference_solution": "text or null",
        "difficulty": "text or null",
        "kind": "text",
        "tolerance": "number or null",
        "helpers": "text",
        "tags": ["text"],
        "imports": ["text"],
        "has_contract": "boolean",
        "requires": ["text"],
        "raises": ["text"],
        "baseline_tests": [{"source": "text or null", "input": "text or null", "output": "text or null"}],
    },
    "asked": "count",
    "chains": [_CHAIN],
    "outside": [{**_CHAIN, "verdicts": ["verdict or null"]}],
    "suites": [
        {
            "turns": ["integer"],
            "reads": "integer",
            "rewards": ["number or null"],
            "trained": ["boolean"],
            "advantages": ["number"],
            "written": [
                {
                    "stage": "stage",
                    "critique": "text",
                    "salvaged": "count",
                    "dropped": "count",
                    "cases": [
                        {
                            "case": "integer",
                            "name": "text",
                            "source": "text",
                            "reason": "text or null",
                            "detail": "text or null",
                        }
                    ],
                    "unread": [{"name": "text", "source": "text", "reason": "text", "detail": "text"}],
                }
            ],
        }
    ],
    "turns": [
        {
            "step": "integer",
            "problem": "text",
            "role": "role",
            "branch": "integer",
            "stage": "stage",
            "text": "text",
            "thought": "text",
            "truncated": "boolean",
            "fresh": "boolean",
            "prompt_ids": ["integer"],
            "ids": ["integer"],
            "logprobs": ["number"],
        }
    ],
    "cases": [
        {
            "name": "text",
            "source": "text",
            "arguments": "text",
            "operator": "text",
            "expected": "text",
            "relative": "number",
            "absolute": "number",
            "calls": ["text"],
            "text": "integer",
            "mark": "text",
        }
    ],
    "texts": ["text"],
    "own": "integer",
    "replayed": "integer",
    "programs": [["verdict or null"]],
    "targets": [{"origin": "origin", "code": "text", "verdicts": ["verdict or null"]}],
}


def fields(shape: Shape = RECORD, path: str = "") -> Iterator[tuple[str, str]]:
    """Every field that holds a value, as (path, kind): `("chains[].code", "text or null")`."""
    if isinstance(shape, str):
        yield path, shape
    elif isinstance(shape, list):
        yield from fields(shape[0], f"{path}[]")
    else:
        for name, inner in shape.items():
            yield from fields(inner, f"{path}.{name}" if path else name)


def flaw_of(record: Mapping[str, Any]) -> str:
    """What keeps the record from being read, in a few words: the first thing found; empty where nothing does."""
    return _unlike(record, RECORD, "") or _unfit(record)


def _unlike(value: Any, shape: Shape, path: str) -> str:
    """Where the value has another shape."""
    if isinstance(shape, str):
        return "" if _is(value, shape) else f"{path} is {_said(value)}, where {shape} is due"
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{path} is {_said(value)}, where a list is due"
        if isinstance(shape[0], str) and all(_is(item, shape[0]) for item in value):
            return ""
        return next(filter(None, (_unlike(each, shape[0], f"{path}[{i}]") for i, each in enumerate(value))), "")
    if not isinstance(value, Mapping):
        return f"{path} is {_said(value)}, where an object is due"
    missing = next((name for name in shape if name not in value), "")
    if missing:
        return f"{path}{'.' if path else ''}{missing} is missing"
    inner = (_unlike(value[name], each, f"{path}.{name}" if path else name) for name, each in shape.items())
    return next(filter(None, inner), "")


def _is(value: Any, kind: str) -> bool:
    return (value is None and kind.endswith(" or null")) or KINDS[kind.removesuffix(" or null")](value)


def _said(value: Any) -> str:
    """A value in a message, short and without line breaks."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    if isinstance(value, int) and not -(2**64) < value < 2**64:
        return "a number of many digits"
    return ascii(value[:40] if isinstance(value, str) else value)


def _unfit(record: Mapping[str, Any]) -> str:
    """Where the parts of a record that has the right shape do not fit together."""
    step, chains, suites, cases = record["step"], record["chains"], record["suites"], len(record["cases"])
    if step["played"] != sorted(set(step["played"])) or step["stage"] not in step["played"]:
        return f"step.played is {step['played'][:10]}, where stages in order are due, {step['stage']} among them"
    written = [turn for suite in suites for turn in suite["written"]]
    rows = [*record["programs"], *(each["verdicts"] for each in (*record["targets"], *record["outside"]))]
    work = (len(rows) + len(suites) + 1) * (cases + sum(len(turn["cases"]) for turn in written))
    if work > MAX_WORK:
        return f"it holds {len(rows)} programs and {cases} cases, more than can be scored"
    if len(record["programs"]) != len(chains):
        return f"programs has {len(record['programs'])} rows for {len(chains)} chains"
    if any(len(row) != cases for row in rows):
        return f"a program or a target has not one verdict for each of the {cases} cases"
    if not 0 <= record["own"] <= cases:
        return f"own is {record['own']}, where there are {cases} cases"
    if not 0 <= record["replayed"] <= cases - record["own"]:
        return f"replayed is {record['replayed']}, where {record['own']} of {cases} cases are the problem's own"
    if any(not 0 <= each["case"] < cases for turn in written for each in turn["cases"]):
        return f"a suite names a case beyond the {cases} that there are"
    if any(not -1 <= case["text"] < len(record["texts"]) for case in record["cases"]):
        return f"a case names a text beyond the {len(record['texts'])} that there are"
    told = (_conversation_flaw(each, record) for each in (*chains, *suites, *record["outside"]))
    return next(filter(None, told), "") or next(filter(None, (_suite_flaw(each, record) for each in suites)), "")


def _conversation_flaw(each: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    turns, played = record["turns"], record["step"]["played"]
    if any(not 0 <= number < len(turns) for number in each["turns"]):
        return f"a conversation names a turn beyond the {len(turns)} that there are"
    stages = [turns[number]["stage"] for number in each["turns"]]
    if stages != played and not _is_golden(stages, each, played):
        return f"a conversation has other stages than the step played, {played}"
    if not len(each["trained"]) == len(each["advantages"]) in (0, len(stages)):
        return "a conversation has not one advantage for each turn"
    return ""


def _is_golden(stages: Sequence[int], each: Mapping[str, Any], played: Sequence[int]) -> bool:
    """Whether it is a suite of `--adversary golden`, which says everything in its last turn."""
    return "written" in each and stages == played[-1:]


def _suite_flaw(suite: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    stages, chains = [record["turns"][number]["stage"] for number in suite["turns"]], len(record["chains"])
    if [turn["stage"] for turn in suite["written"]] != stages:
        return f"what a suite wrote is of other stages than its turns, {stages}"
    if len(suite["rewards"]) not in (0, len(stages)):
        return "a suite has not one reward for each turn"
    if not -1 <= suite["reads"] < chains or (suite["reads"] == -1 and not record["outside"]):
        return f"a suite reads chain {suite['reads']}, where there are {chains}"
    return ""
