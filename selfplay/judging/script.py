"""What a text of tests does before one program, as it was told: operations with their outcomes, sites, tests.

A *story* is one run of a text. A *script* is the text before the reference: its story, what else is known of the reference,
and which near outcomes each site refuses. Whatever a child told is checked here, and bounded: it shares its process with
the test.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from selfplay.cases.case import Verdict
from selfplay.cases.literal import SHOWN, literal
from selfplay.cases.outcome import outcome_of
from selfplay.cases.values import checked, dump, parsed

MAX_OPERATIONS = 2_000  # of one run of a text, for a command line
MAX_TRAINING = 300  # the same of a model's text in training, which may hold 64 cases
MAX_ASKED = 4 << 20  # characters of all its operations
MAX_SITES = 10_000
END = "end"
_STATEFUL = frozenset(("new", "method", "get", "set", "del", "cmethod", "cget"))

_HANDLE = re.compile(r'(?<=\["h",)"\w*",\d+')

Interface = Mapping[str, Any]  # by public name its kind and members, as sandbox/session.py tells it


class Broken(ValueError):
    """A child told what makes no sense, or more than it may."""


class Site(NamedTuple):
    """The verdict of one assertion: whether it `held`, else the exception that was no AssertionError (`why`), and the
    numbers of the operations that it rests on."""

    held: bool
    why: str
    rests: tuple[int, ...]


class Shown(NamedTuple):
    """For people: what a program did, what was expected, and what pytest says of the assertion where it ran and failed."""

    did: str
    expected: str
    assertion: str = ""


class Told(NamedTuple):
    """What became of one test: passed, failed, skipped, error, or how the program ended it; and why."""

    outcome: str
    why: str


@dataclass(slots=True)
class Story:
    """One run. `labels`: what tells operations apart in every run: the test, and which of those that ask this of an instance,
    whose number may be another. `sources` by number of a site's statement; a site's name is `test:number.occurrence`, and
    `test:end` is the whole test: the one case of a test that has no site.

    `refused`: why nothing could be run. `stopped`: by test, how the program ended it. `explained`: what pytest says of sites
    that failed, where that was asked for.
    """

    operations: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    outcomes: list[str] = field(default_factory=list)
    sites: dict[str, Site] = field(default_factory=dict)
    tests: dict[str, Told] = field(default_factory=dict)
    stopped: dict[str, Verdict] = field(default_factory=dict)
    sources: dict[int, str] = field(default_factory=dict)
    explained: dict[str, str] = field(default_factory=dict)
    refused: str = ""
    running: str = "module"
    most: int = MAX_OPERATIONS
    first: int = 0  # number of the first operation of the test that runs
    asked: int = 0  # characters of the operations
    counts: Counter[str] = field(default_factory=Counter)

    def verdicts(self) -> dict[str, bool]:
        """What can be compared with another run: sites, and whole tests."""
        return {name: site.held for name, site in self.sites.items()} | {
            name: told.outcome == "passed" for name, told in self.tests.items()
        }

    def holds(self, site: str) -> bool:
        """Whether the run came to a site, and it held."""
        return site in self.sites and self.sites[site].held

    def cases(self) -> dict[str, list[str]]:
        """By test the names of its sites, in order; a test without one is a site itself, by its end."""
        tests: dict[str, list[str]] = {test: [] for test in self.tests}
        for name in self.sites:
            tests.setdefault(name.rpartition(":")[0], []).append(name)
        asserting = {test: [name for name in names if not name.endswith(f":{END}")] for test, names in tests.items()}
        return {
            test: asserting[test] or names
            for test, names in tests.items()
            if test != "module" or asserting[test]  # else nothing is asserted outside of the tests
        }

    def take(self, frame: Mapping[str, Any]) -> None:
        """Enters a child's events. Raises Broken."""
        events = frame.get("e")
        if not isinstance(events, list):
            raise Broken("no events")
        for event in events:
            self._enter(event)
            if max(len(self.sites), len(self.sources)) > MAX_SITES:
                raise Broken(f"more than {MAX_SITES} assertions were made")

    def _enter(self, event: object) -> None:
        match event:
            case ["t", str(test)]:
                self.running, self.first = test[:300], len(self.operations)
            case ["d", str(test), str(outcome), str(why)]:
                self.tests[test[:300]] = Told(outcome[:20], why[:300])
                rests = tuple(range(self.first, len(self.operations)))
                self.sites[f"{test[:300]}:{END}"] = Site(outcome == "passed", "", rests)
                self.first = len(self.operations)  # a test that is over again rests on nothing
            case ["s", str(name), bool(held), str(why), [*rests]] if _are_numbers(rests, len(self.operations)):
                self.sites[name[:400]] = Site(held, why[:100], tuple(rests))
            case ["n", int(number), str(source)]:
                self.sources[number] = source[:2_000]
            case ["x", str(name), str(text)] if name in self.sites:
                self.explained[name] = text[:2_000]
            case _:
                raise Broken("an event of no known kind")

    def ask(self, operation: str) -> None:
        """Enters an operation that is to be performed. Raises Broken past the budgets of a text, and for what is none."""
        self.operations.append(operation)
        name = f"{self.running} {_HANDLE.sub('', operation)}"
        self.counts[name] += 1
        self.labels.append(f"{self.counts[name]} {name}")
        self.asked += len(operation)
        if len(self.operations) > self.most:
            raise Broken(f"more than {self.most} calls of what is under test")
        if self.asked > MAX_ASKED:
            raise Broken(f"more than {MAX_ASKED >> 20} MiB of arguments")
        _check_operation(operation)

    def source_of(self, site: str) -> str:
        """The assertion that stands at a site."""
        number = site.rpartition(":")[2].partition(".")[0]
        return self.sources.get(int(number), "") if number.isdigit() else ""


def frame_of(body: bytes) -> dict[str, Any]:
    """What a child that runs tests said. Raises Broken."""
    if body[:1] != b"T":
        raise Broken("a frame of no known kind")
    try:
        told = json.loads(body[1:])
    except (ValueError, RecursionError):
        raise Broken("not JSON") from None
    if not isinstance(told, dict):
        raise Broken("not an object")
    return told


def interface_of(body: bytes) -> Interface:
    """What a program says that it has to offer. Raises Broken."""
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        raise Broken("not JSON") from None
    if not isinstance(told, dict) or not all(map(_is_offer, told.values())):
        raise Broken("no public names with their kinds")
    return told


def _is_offer(told: object) -> bool:
    match told:
        case ["function" | "constant"]:
            return True
        case ["error", [*bases]]:
            return _are_texts(bases)
        case ["class", [*bases], dict(members), [*operators]]:
            return _are_texts([*bases, *members.values(), *operators])
    return False


def _are_texts(values: Sequence[object]) -> bool:
    return all(type(one) is str for one in values)


def _check_operation(text: str) -> None:
    """Raises Broken for what is no operation (sandbox/proxy.py lists them): a test may ask anything, past its proxies."""
    try:
        tree = parsed(text)
        match tree:
            case ["call" | "new", str(), ["t", *_] as arguments, ["d", *_] as keywords]:
                checked(arguments, keywords)
            case ["cmethod", str(), str(), ["t", *_] as arguments, ["d", *_] as keywords]:
                checked(arguments, keywords)
            case ["method", ["h", *_] as instance, str(), ["t", *_] as arguments, ["d", *_] as keywords]:
                checked(instance, arguments, keywords)
            case ["set", ["h", *_] as instance, str(), value]:
                checked(instance, value)
            case ["get" | "del", ["h", *_] as instance, str()]:
                checked(instance)
            case ["cget", str(), str()] | ["const", str()]:
                pass
            case _:
                raise ValueError("of no known kind")
        if dump(tree) != text:
            raise ValueError("not as it is written")
    except ValueError as error:
        raise Broken(f"it asks what is no operation: {error}") from None


def _are_numbers(rests: Sequence[object], count: int) -> bool:
    return all(type(one) is int and 0 <= one < count for one in rests)


class Unusable(Exception):
    """A text that does not count at all: a slug and a sentence. `story`: how far it came."""

    def __init__(self, reason: str, detail: str, story: Story | None = None) -> None:
        super().__init__(detail)
        self.reason, self.detail, self.story = reason, detail, story


@dataclass(slots=True)
class Script:
    """A text before the reference. `known`: its outcomes by place (see `place`); `blob`: the text, prepared.

    `marks`: by site which near outcomes it refuses. `looks`: by site that is not weak the numbers of the operations that it
    fails by when they alone are changed. `free`: operations that are asked whatever the outcomes are, so that their arguments
    hold no result. `unstable`: sites whose verdict differs when the text is run again.
    """

    text: str
    interface: Interface
    story: Story
    blob: str = ""
    stateful: bool = False
    known: dict[str, str] = field(default_factory=dict)
    marks: dict[str, str] = field(default_factory=dict)
    looks: dict[str, frozenset[int]] = field(default_factory=dict)
    free: frozenset[str] = frozenset()
    unstable: frozenset[str] = frozenset()

    @property
    def size(self) -> int:
        """Characters that it holds."""
        return len(self.text) + len(self.blob) + self.story.asked + sum(map(len, self.known.values()))


def is_stateful(operations: Sequence[str]) -> bool:
    """Whether an operation's outcome may hang on those before it: instances and classes are at work."""
    return any(operation[2 : operation.find('"', 2)] in _STATEFUL for operation in operations)


def raised(outcome: str) -> tuple[str, ...]:
    """Names of the exception in an outcome of the reference, without those that every exception has; none if it returned."""
    names = json.loads(outcome).get("x", ())
    return tuple(name for name in names if name not in ("Exception", "BaseException")) or tuple(names[:1])


def spelled(operation: str) -> str:
    """An operation as Python would spell it, for people."""
    try:
        kind, *parts = json.loads(operation)
        names = [
            f"{part[1]}#{part[2]}" if isinstance(part, list) and part[:1] == ["h"] else str(part) for part in parts
        ]
        if kind in ("get", "cget", "const", "set", "del"):
            return ".".join(names[:2])
        target = ".".join(names[:-2])
        positional = [literal(item, SHOWN) for item in parts[-2][1:]]
        keywords = [f"{name}={literal(value, SHOWN)}" for name, value in parts[-1][1:]]
        return f"{target}({', '.join([*positional, *keywords])})"
    except (ValueError, TypeError, IndexError, RecursionError):
        return "a call"


def outcome_said(outcome: str) -> str:
    """What became of an operation, for people."""
    try:
        found = outcome_of(outcome)
    except ValueError:
        return "ended the program" if not outcome else "gave what cannot be read"
    if found.raised:
        return f"raised {found.raised[0]}" + (f": {found.message[:SHOWN]}" if found.message else "")
    return f"returned {literal(found.value, SHOWN)}"
