"""How far the judge says of honest tests what plain pytest says, and how many of them it can judge at all.

    python -m benchmarks.agreement [--data FOLDER] [--sample N] [--seconds S] [--min-reach SHARE]

Every test of benchmarks/honest_set, and with `--data` of HumanEval and MBPP below that folder, meets the reference,
the right programs, the wrong ones and mutants of the reference. An honest test is one that the reference passes under
plain pytest (plain_pytest.py); a pair is an honest test that the judge counts and a program. Two tables:

    reach       how many honest tests the judge counts after admission, literal ones apart from those that run
    agreement   how many pairs there are, in how many the test really ran (the program did something else than the
                reference), and in how many the two verdicts differ

Some differences are meant: the judge hands a test what the reference did wherever a program did the like (POLICIES).
The tests that notice are listed in honest_set/policies.tsv, and only a kinder verdict is explained by that. A stricter one
is explained where the program used up its time, here or before: after three calls that never end it is asked no more. The
exit is 1 where any other difference is found, or where less is reached than --min-reach says.
"""

from __future__ import annotations

import argparse
import difflib
import functools
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from benchmarks.honest_suites import SET, Suite, own_set, real_sets
from benchmarks.plain_pytest import MODULE, Job, Outcome, outcomes
from selfplay.box.local import LocalBox
from selfplay.cases.case import Case
from selfplay.game.problems import Problem
from selfplay.judging.clerk.desk import MAX_CASES
from selfplay.judging.entry import signature_of
from selfplay.judging.judge import Job as Exam
from selfplay.judging.judge import Judge, Matrix
from selfplay.judging.references import subject_of
from selfplay.judging.replay import Performance
from selfplay.judging.script import Script, Unusable
from selfplay.judging.turns import WrittenTurn
from selfplay.mutation.mutants import mutants

MUTANTS = 6  # of each reference of the own set; those of a real set come with its suites
BATCH = 16  # suites that plain pytest runs before the judge sees them
TABLE = SET / "policies.tsv"
Kind = Literal["literal", "run", "mixed"]
KINDS: tuple[Kind, ...] = get_args(Kind)
POLICIES = {
    "message": "an exception of the class that the reference raises, whatever it says",
    "float": "a number within 1e-9 of the reference's",
    "type": "a result that is equal though of another type, as 1, 1.0 and True are",
    "print": "something printed where the reference prints nothing",
    "change": "an argument changed, or kept and changed later, where the reference leaves it alone",
}


@dataclass(frozen=True, slots=True)
class TestReport:
    """What the judge says of one test. Every tuple has one item for each program."""

    __test__ = False

    name: str  # pytest's id without the file: "test_add", "TestStack::test_push", "test_x[1-2]"; "module" for bare asserts
    kind: Kind
    refused: str  # why it does not count; empty where it does
    passed: tuple[bool, ...]  # the whole test's verdict
    ran: tuple[bool, ...]  # whether its text ran with that program, which did something else than the reference
    stopped: tuple[bool, ...] = ()  # whether the program used up its time, in this test or before it


Judged = Callable[[Suite, Sequence[str]], Sequence[TestReport]]


@dataclass(frozen=True, slots=True)
class Pair:
    """An honest test that counts and a program, with both verdicts. `program`: its place among those of the suite."""

    suite: Suite
    test: str
    program: int
    plain: bool
    judged: bool
    ran: bool
    stopped: bool


@dataclass(frozen=True, slots=True)
class Examined:
    """A suite with all its programs: what plain pytest says of them, and what the judge reports."""

    suite: Suite
    programs: tuple[str, ...]
    plain: tuple[Outcome, ...]
    reports: Mapping[str, TestReport]

    @property
    def honest(self) -> list[str]:
        """The tests that the reference passes."""
        return [test for test, passed in self.plain[0].passed.items() if passed and self.plain[0].collected]

    def refused(self, test: str) -> str:
        """Why the judge does not count a test; empty where it does."""
        return self.reports[test].refused if test in self.reports else "the judge does not report it"

    @property
    def unknown(self) -> list[str]:
        """Tests that the judge counts and pytest does not know."""
        known = {MODULE, *self.plain[0].passed}
        return [name for name, report in self.reports.items() if not report.refused and name not in known]

    def pairs(self) -> Iterator[Pair]:
        """Without those of which pytest could not tell, since the process ended before the test."""
        for test in self.honest:
            if not self.refused(test):
                report = self.reports[test]
                for place, outcome in enumerate(self.plain):
                    plain = outcome.of(test)
                    if plain is not None:
                        stopped = bool(report.stopped) and report.stopped[place]
                        yield Pair(self.suite, test, place, plain, report.passed[place], report.ran[place], stopped)


def judged(judge: Judge, suite: Suite, programs: Sequence[str]) -> list[TestReport]:
    """What the judge says of every test of a suite; the first program is the reference."""
    signature = signature_of(suite.reference, suite.entry_point)
    problem = Problem("honest", "", suite.entry_point, signature, (), suite.reference)
    reading = judge.desk.tests(suite.tests, suite.entry_point, signature)
    turn = WrittenTurn(5, reading.cases, (None,) * len(reading.cases), reading.refused)
    [[(turn,)]] = judge.settle([(problem, [(turn,)], ())], trust=True, limit=MAX_CASES)
    [matrix] = judge.matrices([Exam(suite.entry_point, tuple(programs), turn.cases)])
    literal: dict[str, list[int]] = {}
    for place, case in enumerate(turn.cases):
        literal.setdefault(_test_of(case), []).append(place)
    subject = subject_of(problem, everything=True)
    run: dict[str, str] = {}
    performances: list[Performance] = []
    lost = "; ".join(refusal.why for refusal in reading.refused)
    if reading.rest:
        try:
            run = _run_tests(judge.texts.script(subject, reading.rest))
            performances = [judge.texts.verdicts(subject, reading.rest, program) for program in programs]
        except Unusable as error:
            lost = f"{error.reason}: {error.detail}"
    return [
        _report(test, literal.get(test, []), turn, matrix, run.get(test), performances, lost)
        for test in dict.fromkeys((*literal, *run, *_named(reading.rest if lost else "")))
    ]


def _test_of(case: Case) -> str:
    name = case.name.partition("[")[0]
    return name if name.startswith("test") else MODULE


def _named(text: str) -> list[str]:
    return re.findall(r"^def (test\w*)", text, re.MULTILINE)


def _run_tests(script: Script) -> dict[str, str]:
    """The tests of a text that runs, each with why it does not count."""
    story, unstable = script.story, script.unstable
    asserting = {name.rpartition(":")[0] for name in story.sites if not name.endswith(":end")}
    return {
        test: "" if told.outcome == "passed" and test not in unstable else f"{told.outcome}: {told.why}"
        for test, told in story.tests.items()
        if test != MODULE or MODULE in asserting
    }


def _report(
    test: str,
    places: Sequence[int],
    turn: WrittenTurn,
    matrix: Matrix,
    run: str | None,
    performances: Sequence[Performance],
    lost: str,
) -> TestReport:
    refusals = [refusal.why for place in places if (refusal := turn.refusals[place])]
    literal = [all(row[place] == "passed" for place in places) for row in matrix.verdicts]
    if run is None:
        refused = "" if places and not refusals else "; ".join(refusals) or lost
        return TestReport(test, "literal", refused, tuple(literal), (False,) * len(literal))
    passed = [one.tests.get(test, one.otherwise) == "passed" for one in performances]
    both = tuple(a and b for a, b in zip(literal, passed, strict=True))
    kind: Kind = "mixed" if places else "run"
    ran = tuple(one.ran for one in performances)
    stopped = tuple("timeout" in (*one.sites.values(), *one.tests.values(), one.otherwise) for one in performances)
    return TestReport(test, kind, run or "; ".join(refusals), both, ran, stopped)


def programs_of(suite: Suite) -> tuple[str, ...]:
    """The programs of a suite, then mutants of the reference; no text twice."""
    made = () if suite.style in ("HumanEval", "MBPP") else mutants(suite.reference, suite.entry_point, "paid", MUTANTS)
    texts: dict[str, str] = {}
    for text in (*suite.programs, *(mutant.source for mutant in made)):
        texts.setdefault(text.strip(), text)
    return tuple(texts.values())


def label(suite: Suite, program: int) -> str:
    """What a program is, by its place: "reference", "right 1", "wrong 2", "mutant 3"."""
    place = program - 1
    for kind, count in (("right", len(suite.right)), ("wrong", len(suite.wrong))):
        if 0 <= place < count:
            return f"{kind} {place + 1}"
        place -= count
    return f"mutant {place + 1}" if program else "reference"


def sampled(suites: Sequence[Suite], count: int | None) -> list[Suite]:
    """So many suites, spread evenly; all of them where `count` is None."""
    if count is None or count >= len(suites):
        return list(suites)
    return [suites[position * len(suites) // count] for position in range(count)]


def examine(suites: Sequence[Suite], judge: Judged, until: float = float("inf")) -> Iterator[Examined]:
    """Runs every suite under plain pytest and under the judge; stops where the monotonic clock says `until`."""
    for start in range(0, len(suites), BATCH):
        if time.monotonic() > until:
            return
        batch = [(suite, programs_of(suite)) for suite in suites[start : start + BATCH]]
        jobs = [Job(suite.reference, suite.entry_point, text, suite.tests) for suite, texts in batch for text in texts]
        plain = iter(outcomes(jobs))
        for suite, texts in batch:
            if time.monotonic() > until:
                return
            told = tuple(next(plain) for _ in texts)
            yield Examined(suite, texts, told, {report.name: report for report in judge(suite, texts)})


def policies(path: Path = TABLE) -> dict[tuple[str, str], str]:
    """The policy that each listed (suite, test) notices. Raises ValueError for a policy that has no name here."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    for row in rows:
        if len(row) != 3 or row[2] not in POLICIES:
            raise ValueError(
                f"{path.name}: {row} must be a suite, a test and one of {', '.join(POLICIES)}, tabs between"
            )
    return {(suite, test): policy for suite, test, policy in rows}


def explained(pair: Pair, table: Mapping[tuple[str, str], str]) -> str:
    """The policy that makes the judge say something else than pytest; empty where none does."""
    if pair.judged:
        return table.get((pair.suite.name, pair.test), "")
    return "time" if pair.stopped else ""


def reach_of(sets: Mapping[str, Sequence[Examined]]) -> Iterator[str]:
    """The table of reach, and a line for each honest test that does not count."""
    yield f"{'reach':28}{'files':>6}{'honest':>8}{'counted':>9}{'share':>9}" + "".join(f"{kind:>9}" for kind in KINDS)
    for name, examined in sets.items():
        honest = [(each, test) for each in examined for test in each.honest]
        counted = [each.reports[test].kind for each, test in honest if not each.refused(test)]
        kinds = Counter(counted)
        figures = f"{len(examined):6}{len(honest):8}{len(counted):9}{share(len(counted), len(honest)):>9}"
        yield f"  {name:26}{figures}" + "".join(f"{kinds[kind]:9}" for kind in KINDS)
    for examined in sets.values():
        for each in examined:
            for test in each.honest:
                if each.refused(test):
                    kind = each.reports[test].kind if test in each.reports else "?"
                    yield f"  refused ({kind}): {each.suite.name}::{test}: {each.refused(test)}"


def agreement_of(sets: Mapping[str, Sequence[Examined]], table: Mapping[tuple[str, str], str]) -> Iterator[str]:
    """The table of agreement, and every difference with its policy."""
    columns = ("pairs", "ran", "failed", "differ", "by policy", "share")
    yield f"{'agreement':28}" + "".join(f"{column:>10}" for column in columns)
    for name, examined in sets.items():
        pairs = [pair for each in examined for pair in each.pairs()]
        differ = [pair for pair in pairs if pair.plain != pair.judged]
        known = sum(bool(explained(pair, table)) for pair in differ)
        counts = (len(pairs), sum(p.ran for p in pairs), sum(not p.plain for p in pairs), len(differ), known)
        yield f"  {name:26}" + "".join(f"{count:10}" for count in counts) + f"{share(len(differ), len(pairs)):>10}"
    for examined in sets.values():
        for each in examined:
            yield from (f"  {each.suite.name}::{test} is no test for pytest: UNEXPLAINED" for test in each.unknown)
            for pair in each.pairs():
                if pair.plain != pair.judged:
                    yield from told(pair, each.programs, explained(pair, table))


def told(pair: Pair, programs: Sequence[str], policy: str) -> Iterator[str]:
    """A difference; where nothing explains it, with what the program does otherwise than the reference."""
    verdict = "passes" if pair.plain else "fails"
    yield (
        f"  {pair.suite.name}::{pair.test} {verdict} under pytest alone on {label(pair.suite, pair.program)}: "
        f"{policy or 'UNEXPLAINED'}"
    )
    if not policy:
        texts = (programs[0].splitlines(), programs[pair.program].splitlines())
        yield from (f"      {line}" for line in list(difflib.unified_diff(*texts, lineterm="", n=1))[2:40])


def share(part: int, whole: int) -> str:
    return f"{part / max(1, whole):.2%}"


def is_good(sets: Mapping[str, Sequence[Examined]], table: Mapping[tuple[str, str], str], min_reach: float) -> bool:
    """Whether every difference is explained and every set reached."""
    for examined in sets.values():
        honest = sum(len(each.honest) for each in examined)
        counted = sum(not each.refused(test) for each in examined for test in each.honest)
        pairs = (pair for each in examined for pair in each.pairs())
        if any(pair.plain != pair.judged and not explained(pair, table) for pair in pairs):
            return False
        if counted < min_reach * honest or any(each.unknown for each in examined):
            return False
    return True


def suites_of(data: Path | None) -> dict[str, list[Suite]]:
    """The sets by name: the own one in two parts, since all files with right programs were written later."""
    own = own_set()
    parts = {"own set": [s for s in own if not s.right], "own set, newer styles": [s for s in own if s.right]}
    return {**parts, **(real_sets(data) if data else {})}


def main(words: Sequence[str] | None = None, judge: Judged | None = None) -> int:
    """Prints the tables and returns the exit code. `judge` takes the judge's place in tests."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.agreement", description="The judge beside plain pytest."
    )
    parser.add_argument("--data", type=Path, help="a folder that holds humaneval/ and mbpp/, taken as well")
    parser.add_argument("--sample", type=int, help="take only so many files of each set")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no file after so many seconds")
    parser.add_argument("--min-reach", type=float, default=0.0, help="the least share of each set that must count")
    arguments = parser.parse_args(words)
    if judge is not None:
        return compared(arguments, judge)
    box = LocalBox()
    try:
        return compared(arguments, functools.partial(judged, Judge(box)))
    finally:
        box.close()


def compared(arguments: argparse.Namespace, judge: Judged) -> int:
    """Examines what the arguments name and prints both tables."""
    until, table = time.monotonic() + arguments.seconds, policies()
    taken = {name: sampled(suites, arguments.sample) for name, suites in suites_of(arguments.data).items()}
    sets = {name: list(examine(suites, judge, until)) for name, suites in taken.items()}
    left = sum(map(len, taken.values())) - sum(map(len, sets.values()))
    print(*reach_of(sets), "", *agreement_of(sets, table), sep="\n")
    if left:
        print(f"{left} files were left out after {arguments.seconds:g} s")
    return 0 if is_good(sets, table, arguments.min_reach) else 1


if __name__ == "__main__":
    sys.exit(main())
