"""What a case states, measured: which outputs it refuses near a right one, and whether earlier cases refuse them too.

A case that refuses few outputs checks little, and one that refuses nothing more than the cases before it says the same
in another dress: `round(f(x), 3) == 5` after `f(x) == 5`. Neither is seen in the text of a case; both are by trying it.
"""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from selfplay.box.task import Execution
from selfplay.cases.calls import folded
from selfplay.cases.case import Case
from selfplay.cases.compare import holds
from selfplay.cases.equality import equal
from selfplay.cases.steps import Steps
from selfplay.cases.terms import Term, check
from selfplay.cases.values import Tree, integer, load
from selfplay.cases.views import steps as steps_of
from selfplay.judging.perturb import changed_at, drawn, perturbed, variants

TRIED = 400  # outputs that are tried for a case, over all its calls

Outputs = Mapping[str, Tree]  # what each call of a case might have returned


def is_vacuous(case: Case, *rights: Tree, samples: Sequence[Tree] = (), steps: Steps | None = None) -> bool:
    """Whether the case checks next to nothing, seen from the right results (one per call), of which one is changed at a
    time. It must refuse more than half of what is near a result and of what differs only at the place that it looks at, a
    third of what is drawn at random (a bound may lie in the middle), and a tenth of the `samples` that differ: a test of a
    prefix (`primes(20)[:3]`) rightly passes on the reference's other outputs. Raises Mismatch beyond `steps`."""
    if is_exact(case):
        return False
    steps = steps or Steps()
    some = samples[: max(4, TRIED // len(rights))]
    looked_at = _indices(case)
    changes: tuple[tuple[float, Callable[[Tree], Iterable[Tree]]], ...] = (
        (0.5, perturbed),
        (0.3, lambda right: drawn(right, repr(case.key))),
        (0.5, lambda right: changed_at(right, looked_at)),
        (0.1, lambda right: (one for one in some if not equal(one, right))),
    )
    for share, change in changes:
        tried = [_with(rights, place, other) for place, right in enumerate(rights) for other in change(right)][:TRIED]
        if tried and sum(_refuses(case, outputs, steps) for outputs in tried) <= share * len(tried):
            return True
    return False


def _indices(case: Case) -> set[int]:
    """The positions that a case looks at, in its view or its term."""
    found = {int(argument) for name, argument in steps_of(case.view) if name == "index" and len(argument) < 10}
    if case.operator == "satisfies":
        found.update(_subscripts(check(case.expected, len(case.calls))))
    return found


def _subscripts(term: Term) -> Iterator[int]:
    match term:
        case ["call", "[]", _, ["data", int(place)]] if type(place) is int:
            yield place
    for part in term:
        if type(part) is list:
            yield from _subscripts(part)


def _refuses(case: Case, outputs: Sequence[Tree], steps: Steps) -> bool:
    """Whether a case fails on some outputs; what runs out of steps is no failure, but a Mismatch."""
    for tree in outputs:
        steps.weigh(tree)
    refused = not holds(case, *outputs, steps=steps)
    steps.spend(0)
    return refused


def is_exact(case: Case) -> bool:
    """Whether the case refuses everything that differs from the one value that it expects."""
    return case.operator == "==" and not case.view


def _with(rights: Sequence[Tree], place: int, other: Tree) -> tuple[Tree, ...]:
    return (*rights[:place], other, *rights[place + 1 :])


class Earlier:
    """The admitted cases of a suite so far, and which wrong outputs they let pass.

    `cases` are all that will be asked about: what they name is tried, the places of a result and the values.
    """

    def __init__(self, cases: Sequence[Case], signature: str) -> None:
        self.signature = signature
        self.admitted: list[tuple[tuple[str, ...], Case]] = []
        self.passing: dict[tuple[str, ...], list[Outputs]] = {}  # by calls: what all admitted cases on them let pass
        self.hints: dict[str, _Hints] = {}
        for case in cases:
            for call in self._calls(case):
                self.hints.setdefault(call, _Hints(set(), [])).add(case)

    def adds(
        self,
        case: Case,
        executions: Sequence[Execution],
        samples: Sequence[Tree] = (),
        steps: Steps | None = None,
    ) -> bool:
        """Whether `case`, which passes on the right `executions`, states more than those before it; then it joins.

        Raises Mismatch where that takes more than `steps`.
        """
        steps = steps or Steps()
        calls = self._calls(case)
        before = [(own, one) for own, one in self.admitted if set(own) <= set(calls)]
        if before and not self._states_more(case, calls, before, executions, samples, steps):
            return False
        for others, outputs in self.passing.items():
            if set(calls) <= set(others):
                self.passing[others] = list(_let_pass([(calls, case)], outputs, steps))
        self.admitted.append((calls, case))
        return True

    def _calls(self, case: Case) -> tuple[str, ...]:
        if case.operator == "stdout":
            return case.calls
        return tuple(folded(call, self.signature) for call in case.calls)

    def _states_more(
        self,
        case: Case,
        calls: tuple[str, ...],
        before: Sequence[tuple[tuple[str, ...], Case]],
        executions: Sequence[Execution],
        samples: Sequence[Tree],
        steps: Steps,
    ) -> bool:
        if case.operator == "stdout":
            return all(case.tolerance < other.tolerance for _, other in before)
        if case.operator == "raises":
            return all(_is_narrower(case, other) for _, other in before)
        if calls not in self.passing:
            rights = dict(zip(calls, (load(execution.value) for execution in executions), strict=True))
            self.passing[calls] = list(_let_pass(before, _tried(rights, self.hints, samples), steps))
        return any(_refuses(case, [outputs[call] for call in calls], steps) for outputs in self.passing[calls])


def _let_pass(
    cases: Sequence[tuple[tuple[str, ...], Case]], tried: Iterable[Outputs], steps: Steps
) -> Iterator[Outputs]:
    """The outputs that all of the cases accept."""
    for outputs in tried:
        if not any(_refuses(case, [outputs[call] for call in calls], steps) for calls, case in cases):
            yield outputs


def _tried(rights: Outputs, hints: Mapping[str, _Hints], samples: Sequence[Tree]) -> Iterator[Outputs]:
    """Outputs of all calls, one of them not the right one."""
    most = max(8, TRIED // len(rights))
    for call, right in rights.items():
        named = hints[call]
        others = [*islice(variants(right, named.places), most), *samples[:most], *named.values[:most]]
        yield from ({**rights, call: other} for other in others)


def _is_narrower(case: Case, other: Case) -> bool:
    """Whether some exception that `other` accepts is none for `case`."""
    accepted = json.loads(case.expected)
    return any(not any(_is_a(name, wanted) for wanted in accepted) for name in json.loads(other.expected))


def _is_a(name: str, wanted: str) -> bool:
    kind, above = getattr(builtins, name, None), getattr(builtins, wanted, None)
    if isinstance(kind, type) and isinstance(above, type):
        return issubclass(kind, above)
    return name == wanted


@dataclass(frozen=True, slots=True)
class _Hints:
    """What cases name: the positions in views and terms, and the values that results are compared with as they are.

    Not the centres of roundings and tolerances: the finer of two states more, but hardly another fact.
    """

    places: set[int]
    values: list[Tree]

    def add(self, case: Case) -> None:
        """Enter what one case names."""
        self.places.update(int(a) for name, a in steps_of(case.view) if name == "index" and len(a) < 10)
        if case.operator == "satisfies":
            for tree in _data(check(case.expected, len(case.calls))):
                self._value(tree)
        elif case.operator not in ("raises", "stdout", "approx") and not case.view:
            self._value(load(case.expected))

    def _value(self, tree: Tree) -> None:
        if type(tree) is int:
            self.places.add(tree)
        several = tree[1 : 1 + TRIED] if type(tree) is list and tree[0] in ("l", "t", "s", "z") else []
        for value in (tree, *several):
            for other in (value, *(integer(value + step) for step in (-1, 1))) if type(value) is int else (value,):
                if len(self.values) < TRIED and other not in self.values:
                    self.values.append(other)


def _data(term: Term) -> Iterator[Tree]:
    """The constants of a checked term."""
    if term[0] == "data":
        yield term[1]
        return
    for part in term[1:]:
        if type(part) is list:
            yield from _data(part if part and type(part[0]) is str else ["", *part])
