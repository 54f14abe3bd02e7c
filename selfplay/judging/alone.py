"""By which of its calls an assertion fails, when that one is changed and the others are not.

Near runs (near_runs.py) change all calls at once. That tells what a site refuses, not by which call: an idle half of an
assertion, or an empty one behind a guard, fails with the call that carries the test. So further runs change some calls each. A
code says which: of K runs each call is changed in half, no two in the same half (Sperner): 6 runs tell 20 calls apart. A site
looks at a call if it fails in every run that changes it, and nothing else explains each of these failures:

    site                                         fails in the runs that change     looks at
    assert f(1) == 1                             f(1)                              f(1)
    assert f(1) == 1 and f(2) is not None        f(1)                              f(1)
    if f(1) != 1: raise ...                      f(1)
    assert f(2) is not None                      f(1)                              none of its own: it is weak

A call is changed in one leaf and to something drawn, by turns: what is weak refuses the one or the other. Sites that fail where
none of their calls is changed stand behind a guard. Of these, and of sites of several calls, the rarest call is changed again,
none beside it that may explain the same, in rounds: first for sites without a guard. Left out: guards behind guards, and
disjunctions that lean on each other's calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import combinations, cycle
from math import comb

from selfplay.cases.near import EACH

FEWEST, MOST = 4, 7  # runs of a code, for 6 and for 35 calls; of more calls some share theirs
ROUNDS = 2  # for sites that stand behind a guard, and for those that do not: one drawn, one leaf

Rests = Mapping[str, Sequence[str]]  # by site the calls that it rests on, in their order
Run = Callable[[Mapping[str, int]], tuple[Set[str], Set[str]]]
# Of calls to change, each to a near outcome of this number: the sites that fail, and the calls that were asked.


def looked_at(calls: Sequence[str], rests: Rests, marks: Mapping[str, str], run: Run) -> dict[str, set[str]]:
    """For each site the calls that it fails by alone, of the distinct `calls` of a text.

    `marks`: which near outcomes it refuses where all calls are changed."""
    sharing = Counter(call for own in rests.values() for call in own)
    order = {call: place for place, call in enumerate(calls)}
    told = _CodedRuns(coded(calls), _numbers(calls, rests, marks), dict.fromkeys(rests, 0), dict.fromkeys(calls, 0))
    told.ask(run)
    found: dict[str, set[str]] = {}
    # By whether a guard stands before a site: the site's calls, rarest first.
    unclear: dict[bool, dict[str, list[str]]] = {False: {}, True: {}}
    for name, own in rests.items():
        likely, sure, is_guarded = told.explained(name, own, marks[name])
        found[name] = set() if is_guarded else sure
        if likely and (is_guarded or len(own) > 1 or not sure):
            unclear[is_guarded][name] = sorted(likely, key=lambda call: (sharing[call], -order[call]))
    for sites in unclear.values():
        _ask_alone(sites, marks, found, run)
    return found


def coded(calls: Sequence[str]) -> dict[str, int]:
    """For each call the runs that change it, as bits: of as few runs as tell all apart."""
    count = next((count for count in range(FEWEST, MOST) if comb(count, count // 2) >= len(calls)), MOST)
    halves = combinations(range(count), count // 2)
    return dict(zip(calls, cycle(sum(1 << run for run in half) for half in halves), strict=False))


def _numbers(calls: Sequence[str], rests: Rests, marks: Mapping[str, str]) -> dict[str, list[int]]:
    """For each call a near outcome with one leaf changed, one drawn, and another leaf: those that most of its sites refuse."""
    refusing = Counter(
        (call, number)
        for name, own in rests.items()
        for number, digit in enumerate(marks[name])
        if digit == "1"
        for call in own
    )
    found = {}
    for call in calls:
        drawn, leaf = (
            sorted(range(first, first + EACH), key=lambda number: -refusing[call, number]) for first in (EACH, 2 * EACH)
        )
        found[call] = [leaf[0], drawn[0], leaf[1]]
    return found


@dataclass(frozen=True, slots=True)
class _CodedRuns:
    """The runs of a code, a bit each. By call: its code, the near outcomes that it has there by turns, and the runs in which it
    was `changed`, since the tests did ask it; by site the runs in which it `failed`."""

    codes: dict[str, int]
    numbers: dict[str, list[int]]
    failed: dict[str, int]
    changed: dict[str, int]

    def ask(self, run: Run) -> None:
        """Has each of the runs made."""
        for place in range(max(self.codes.values(), default=0).bit_length()):
            changes = {call: self._number(call, place) for call, code in self.codes.items() if code >> place & 1}
            failing, asked = run(changes)
            for name in failing & self.failed.keys():
                self.failed[name] |= 1 << place
            for call in asked & changes.keys():
                self.changed[call] |= 1 << place

    def _number(self, call: str, place: int) -> int:
        earlier = self.codes[call] & ((1 << place) - 1)
        return self.numbers[call][earlier.bit_count() % len(self.numbers[call])]

    def explained(self, name: str, own: Sequence[str], mark: str) -> tuple[list[str], set[str], bool]:
        """The calls of a site that may explain the runs that it failed in, those that do for sure, since nothing else explains
        some of these, and whether it failed in others too.

        Of a site that fails by several at once alone, all may be."""
        failed = self.failed[name]
        changed = {call: self.codes[call] & (self.changed[call] | failed) for call in own}
        expected = {call: changed[call] & self._refusing(call, mark) for call in own}
        likely = [call for call in own if expected[call] and not expected[call] & ~failed]
        causes = {code for code in self.changed.values() if code and not code & ~failed}
        by_many = _any_and_many(causes | {changed[call] for call in likely})[1]
        sure = {call for call in likely if expected[call] & ~by_many}
        is_guarded = bool(failed & ~_any_and_many(changed.values())[0])
        if not likely and not is_guarded and (len(own) > 1 or not any(expected.values())):
            likely = list(own)
        return likely, sure, is_guarded

    def _refusing(self, call: str, mark: str) -> int:
        """The runs that change a call to what a site with this mark refuses."""
        code = self.codes[call]
        return sum(
            1 << run for run in range(code.bit_length()) if code >> run & 1 and mark[self._number(call, run)] == "1"
        )


def _any_and_many(codes: Iterable[int]) -> tuple[int, int]:
    """The runs that any of these codes has, and those that more than one has."""
    by_any = by_many = 0
    for code in codes:
        by_any, by_many = by_any | code, by_many | (by_any & code)
    return by_any, by_many


def _ask_alone(sites: Rests, marks: Mapping[str, str], found: dict[str, set[str]], run: Run) -> None:
    """Changes the first call of each site, and no other of its calls, to something drawn and then in one leaf, and enters in
    `found` whether the site fails both times. Sites that cannot be asked beside others keep what was found."""
    tries = {name: [_first(marks[name], EACH), _first(marks[name], 2 * EACH)] for name in sites}
    for _ in range(ROUNDS):
        changes: dict[str, int] = {}
        fixed: set[str] = set()
        asking: list[str] = []
        for name in filter(tries.get, sites):
            call, *others = sites[name]
            number = tries[name][0]
            if call not in fixed and changes.get(call, number) == number and changes.keys().isdisjoint(others):
                changes[call] = number
                fixed.update(others)
                asking.append(name)
        failing, asked = run(changes) if changes else (set[str](), set[str]())
        for name in asking:
            call = sites[name][0]
            if name in failing:
                del tries[name][0]
                if not tries[name]:
                    found[name].add(call)
            elif call in asked:
                tries[name] = []
                found[name].discard(call)


def _first(mark: str, start: int) -> int:
    """The first near outcome of a kind that a site refuses; no site that is not weak refuses none."""
    return max(mark.find("1", start, start + EACH), start)
