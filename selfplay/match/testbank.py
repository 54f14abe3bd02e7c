"""A bank of tests: cases that count and killed something, each with where it came from and what it killed.

    build(entrant, problems, judge)     a player hunts wrong programs of each problem; the strongest small suite is kept
    collect(matches, run)               what the matches of a run hold already; livebank.py keeps it while the run goes on

A small suite is a set cover over the kills (cover.py) of wrong programs that the player wrote and of mutants of the paid
operators. A cover alone fits the wrong programs that are known and kills few others, so it is filled up, to half of the
tests at most, with those that expect a result which no test before them does. Mutants of the kept operators have no say:
how many of them the small suite still kills tells what leaving tests out costs (docs/experiments.md). Left out: kills
by time limit, since plain pytest has none and would wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from selfplay.cases.case import Case
from selfplay.game.problems import Problem
from selfplay.game.rollout import play
from selfplay.judging.judge import Judge
from selfplay.match.cover import cover
from selfplay.match.entrant import Entrant
from selfplay.match.examine import Submission, judge_submissions, mutant_targets
from selfplay.match.ledger import case_to_json
from selfplay.match.match import Match, Row
from selfplay.match.testfile import model_text, spelled
from selfplay.mutation.cache import MutantCache

BANKING = -4  # the step number that keys the random numbers
SHOWING = ("failed", "error")  # verdicts that plain pytest shows as well
SHARE = 0.5  # of the tests that count, to which a cover is filled up


@dataclass(frozen=True, slots=True)
class BankedTest:
    """`test`: for a function a line of Python, for a program its input and output. `kills`: numbers of the suite's programs.

    `stage`, `step` and `run` say where it was written first; `step` is None outside of a run, `run` then the player's name.
    `case`: the test as data, which programs can be held against again. Where data do not say it all, `test` is empty,
    `text` is what a model wrote, and `site` says which assertion of it is meant.
    """

    test: str | Mapping[str, str]
    stage: int
    kills: tuple[int, ...]
    run: str
    case: Case
    step: int | None = None
    text: str = ""
    site: str = ""

    def as_json(self) -> dict[str, Any]:
        record = {"test": self.test, "stage": self.stage, "step": self.step, "run": self.run, "kills": list(self.kills)}
        written = {"text": self.text, "site": self.site} if self.text else {}
        return record | {"case": case_to_json(self.case)} | written


@dataclass(frozen=True, slots=True)
class BankedSuite:
    """The tests of one problem with the wrong programs that they kill. `written`: tests that counted before the choice.

    `scores`: shares killed `before` and after (`kept`) the choice, by kind of program; None where there is none.
    """

    problem: Problem
    tests: tuple[BankedTest, ...]
    programs: tuple[str, ...]
    written: int
    scores: Mapping[str, Mapping[str, float | None]]

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.problem.id,
            "kind": self.problem.kind,
            "entry_point": self.problem.entry_point,
            "signature": self.problem.signature,
            "description": self.problem.description,
            "tests": [one.as_json() for one in self.tests],
            "programs": list(self.programs),
            "written": self.written,
            "scores": {kind: dict(own) for kind, own in self.scores.items()},
        }


@dataclass(frozen=True, slots=True)
class Wrong:
    """A wrong program: where it is from (`program`, or a target's origin), its source, and its verdicts."""

    origin: str
    source: str
    row: Row


def build(entrant: Entrant, problems: Sequence[Problem], judge: Judge, samples: int) -> list[BankedSuite]:
    """The strongest small suite that a player finds for each problem, with `samples` chains and as many suites."""
    return [_strongest(match, entrant.name) for match in hunted(entrant, problems, judge, samples)]


def hunted(entrant: Entrant, problems: Sequence[Problem], judge: Judge, samples: int) -> list[Match]:
    """What a player finds for each problem: a match whose tests all faced all programs and the mutants of both families."""
    step = entrant.step(BANKING, "bank")
    groups = play(entrant.player, entrant.prompts, problems, step, entrant.table(samples))
    submissions = [
        Submission(group.problem, group.chains, group.suites, group.reads, targets)
        for group, targets in zip(groups, mutant_targets(problems, judge, MutantCache()), strict=True)
    ]
    return judge_submissions(submissions, step, judge, entrant.prompts.cases)


def _strongest(match: Match, run: str) -> BankedSuite:
    """The match's small suite, with the mutation scores before and after."""
    wrong = [*wrong_of(match)]
    usable = [number for number, one in enumerate(wrong) if one.origin != "kept"]
    stages = match.first_stages
    tests = [_banked(case, match.problem, stages[case.identity], run) for case in match.admitted]
    writable = sorted((test for test in tests if test), key=lambda test: bool(test.text))  # of equals, data first
    kills = kills_of(match, [test.case for test in writable], wrong)
    chosen = small([own & frozenset(usable) for own in kills], [test.case.expected for test in writable])
    scores = {
        name: {"before": _score(kills, own), "kept": _score([kills[number] for number in chosen], own)}
        for name, origin in (("wrong_programs", "program"), ("mutation_score", "paid"), ("mutation_score_kept", "kept"))
        for own in [frozenset(number for number, one in enumerate(wrong) if one.origin == origin)]
    }
    kept = tuple(replace(writable[number], kills=tuple(sorted(kills[number]))) for number in chosen)
    return BankedSuite(match.problem, kept, tuple(one.source for one in wrong), len(match.admitted), scores)


def small(kills: Sequence[frozenset[int]], results: Sequence[str]) -> list[int]:
    """Numbers of the tests to keep, by what each kills and which result it expects; in the order in which they were written."""
    chosen = list(cover(kills))
    seen = {results[number] for number in chosen}
    for number, result in enumerate(results):
        if len(chosen) < SHARE * len(kills) and result not in seen:
            chosen.append(number)
            seen.add(result)
    return sorted(chosen)


def collect(matches: Iterable[Match], run: str) -> list[BankedSuite]:
    """All tests in the matches of a run that count and killed something there, each with the step that wrote it first."""
    found: dict[str, BankedSuite] = {}
    for match in matches:
        if match.problem.reference_solution is None:
            continue
        known = found.get(match.problem.id) or BankedSuite(match.problem, (), (), 0, {})
        found[match.problem.id] = joined(known, match, run)
    return [suite for suite in found.values() if suite.tests]


def joined(known: BankedSuite, match: Match, run: str) -> BankedSuite:
    """The suite with what one more match of its problem killed, new programs behind those that are known."""
    wrong, stages = [*wrong_of(match)], match.first_stages
    programs = dict.fromkeys((*known.programs, *(one.source for one in wrong)))
    number = {source: place for place, source in enumerate(programs)}
    tests = {one.case.identity: one for one in known.tests}
    for case, killed in zip(match.admitted, kills_of(match, match.admitted, wrong), strict=True):
        own = {number[wrong[place].source] for place in killed}
        if own:
            held = tests.get(case.identity) or _banked(
                case, match.problem, stages[case.identity], run, match.step.index
            )
            if held:
                tests[case.identity] = replace(held, kills=tuple(sorted({*held.kills, *own})))
    return replace(
        known, tests=tuple(tests.values()), programs=tuple(programs), written=known.written + len(match.admitted)
    )


def wrong_of(match: Match) -> Iterator[Wrong]:
    """The group's programs that load and fail what counts, equal ones once, then the targets."""
    counting = len(match.counting)
    seen: set[str] = set()
    for chain, row in zip(match.chains, match.programs, strict=True):
        verdicts, source = row[:counting], chain.code.source
        if source and source not in seen and "not_collected" not in verdicts and set(verdicts) & set(SHOWING):
            seen.add(source)
            yield Wrong("program", source, row)
    yield from (Wrong(target.origin, target.source, target.verdicts) for target in match.targets)


def kills_of(match: Match, cases: Sequence[Case], wrong: Sequence[Wrong]) -> list[frozenset[int]]:
    """For each case the numbers of the wrong programs that it kills."""
    rows = [match.row_on(one.row, cases) for one in wrong]
    return [
        frozenset(number for number, row in enumerate(rows) if row[place] in SHOWING) for place in range(len(cases))
    ]


def _banked(case: Case, problem: Problem, stage: int, run: str, step: int | None = None) -> BankedTest | None:
    """The case as a test that can be written down, from data or else as its model's text; None where neither can."""
    test = spelled(case, problem)
    if test is not None:
        return BankedTest(test, stage, (), run, case, step)
    text = model_text(case)
    return BankedTest("", stage, (), run, case, step, text, case.name) if text else None


def _score(kills: Sequence[frozenset[int]], targets: frozenset[int]) -> float | None:
    return round(len(targets & frozenset().union(*kills)) / len(targets), 5) if targets else None
