"""The bank of a run while it goes on: what its steps found to kill wrong programs, kept small.

    banked(bank, matches, run)     the suites that a step's matches change; a bank maps problems to suites

A bank is part of the state of a run, so it is bounded: a problem keeps TESTS tests, those that are needed to kill what is
known first and then the newest, and the last PROGRAMS wrong programs that its tests killed. Left out: what `collect` makes
of a ledger, which has no bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from selfplay.game.problems import Problem
from selfplay.match.cover import cover
from selfplay.match.fields import Fields
from selfplay.match.ledger import case_from_json
from selfplay.match.match import Match
from selfplay.match.testbank import BankedSuite, BankedTest, joined

TESTS = 20  # of a problem, as many as a golden exam holds
PROGRAMS = 32  # of a problem: the mutants of a long reference, or four groups that are all wrong

Bank = Mapping[str, BankedSuite]  # by the id of the problem


def banked(bank: Bank, matches: Iterable[Match], run: str) -> dict[str, BankedSuite]:
    """The suites of the matches' problems, with what these matches killed; problems without a reference have none."""
    found: dict[str, BankedSuite] = {}
    for match in matches:
        problem = match.problem
        if problem.reference_solution is not None:
            known = found.get(problem.id) or bank.get(problem.id) or BankedSuite(problem, (), (), 0, {})
            suite = _bounded(joined(known, match, run))
            if suite.tests:
                found[problem.id] = suite
    return found


def suite_from_json(record: Mapping[str, Any]) -> BankedSuite:
    """The suite of a bank that `as_json` told. Its problem is what the bank says of it, without reference and tests.

    Raises LedgerError.
    """
    fields = Fields(record)
    names = ("id", "description", "entry_point", "signature", "kind")
    problem = Problem(**{name: fields(name, "text") for name in names}, baseline_tests=())
    tests = tuple(_test_of(each, problem.kind) for each in fields.objects("tests"))
    return BankedSuite(problem, tests, fields.each("programs", "text"), fields("written", "count"), record["scores"])


def _test_of(fields: Fields, kind: str) -> BankedTest:
    if kind == "function":
        test = fields("test", "text")
    else:
        pair = fields.object("test")
        test = {name: pair(name, "text") for name in ("input", "output")}
    return BankedTest(
        test,
        fields("stage", "stage"),
        fields.each("kills", "count"),
        fields("run", "text"),
        case_from_json(fields.object("case")),
        fields("step", "integer or null"),
        fields.optional("text", "text", ""),
        fields.optional("site", "text", ""),
    )


def _bounded(suite: BankedSuite) -> BankedSuite:
    """The suite with the tests that are worth the most, and the last programs that these kill."""
    tests = suite.tests
    if len(tests) > TESTS:
        needed = cover([frozenset(test.kills) for test in tests])
        strongest = sorted(needed, key=lambda number: -len(tests[number].kills))
        newest = [number for number in reversed(range(len(tests))) if number not in needed]
        tests = tuple(tests[number] for number in sorted([*strongest, *newest][:TESTS]))
    killed = sorted({number for test in tests for number in test.kills})[-PROGRAMS:]
    place = {number: new for new, number in enumerate(killed)}
    return replace(
        suite,
        tests=tuple(replace(test, kills=tuple(place[n] for n in test.kills if n in place)) for test in tests),
        programs=tuple(suite.programs[number] for number in killed),
    )
