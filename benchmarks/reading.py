"""How many honest tests are read, and why the others are not.

    python -m benchmarks.reading [--data FOLDER] [--refused]

Reads the files of benchmarks/honest_set, written in the styles of models and people, and, with `--data`, HumanEval and
MBPP below that folder. A function is read where it gives a case, as a whole where every assertion of it about a result is
one (an assertion about something known may be left out). Some styles cannot be read by anybody who does not run them
(mocks, random draws): they are in the set because they are in the world.

Every function is also run by Python itself, on the reference (honest tests pass it, others are told and left out) and on
wrong programs. Where it was read, the judge must say the same; a disagreement is printed in full, and the exit is 1.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.reading_plain import Outcomes, outcomes
from benchmarks.honest_suites import Suite, own_set, real_sets
from selfplay.box.local import LocalBox
from selfplay.cases.case import Case, Refusal, Verdict
from selfplay.judging.entry import signature_of
from selfplay.judging.judge import Job, Judge
from selfplay.reading import read_cases

LEFT_OUT = frozenset({"not_a_call", "known"})  # refused statements that say nothing about a result


@dataclass(frozen=True, slots=True)
class Function:
    """One honest test function as it was read. `positions`: its cases among those of the suite."""

    name: str
    positions: tuple[int, ...]
    refused: tuple[Refusal, ...]

    @property
    def how(self) -> str:
        """`read`, `in part` or `refused`."""
        if not self.positions:
            return "refused"
        return "in part" if any(refusal.reason not in LEFT_OUT for refusal in self.refused) else "read"

    @property
    def cause(self) -> str:
        """Why it is not read, by its first refusal."""
        causes = [each for each in self.refused if each.reason not in LEFT_OUT] or list(self.refused)
        return f"{causes[0].reason}: {causes[0].detail}".strip(": ") if causes else "nothing was found in it"


@dataclass(frozen=True, slots=True)
class Examined:
    """A suite, what plain execution says of it program by program, and how it was read."""

    suite: Suite
    plain: tuple[Outcomes, ...]
    cases: tuple[Case, ...]
    functions: tuple[Function, ...]


def examine(suites: Sequence[Suite]) -> list[Examined]:
    """Reads every suite and runs it plainly, on the reference and on the wrong programs."""
    jobs = [(suite.entry_point, program, suite.tests) for suite in suites for program in suite.programs]
    done = iter(outcomes(jobs))
    return [_examined(suite, tuple(next(done) for _ in suite.programs)) for suite in suites]


def _examined(suite: Suite, plain: tuple[Outcomes, ...]) -> Examined:
    reading = read_cases(suite.tests, suite.entry_point, signature_of(suite.reference, suite.entry_point))
    honest = [name for name, passed in plain[0].items() if passed]
    functions = tuple(_function(name, reading.cases, reading.refused) for name in honest)
    return Examined(suite, plain, reading.cases, functions)


def _function(name: str, cases: Sequence[Case], refused: Sequence[Refusal]) -> Function:
    """A refusal of the whole class or file stands for each of its functions."""
    owner, _, own = name.rpartition("::")
    positions = tuple(position for position, case in enumerate(cases) if _base(case.name) == own)
    mine = [each for each in refused if _base(each.name) == own]
    return Function(name, positions, tuple(mine or [each for each in refused if each.name in (owner, "module")]))


def _base(name: str) -> str:
    return name.partition("[")[0]


def disagreements(examined: Sequence[Examined], judge: Judge) -> Iterator[str]:
    """Functions of which the judge says something else than plain execution, in full.

    What is read in part may pass where the whole fails, never the other way round.
    """
    jobs = [Job(each.suite.entry_point, each.suite.programs, each.cases) for each in examined]
    for each, matrix in zip(examined, judge.matrices(jobs), strict=True):
        for program, plain, row in zip(each.suite.programs, each.plain, matrix.verdicts, strict=True):
            for function in each.functions:
                passed = plain.get(function.name, False)
                verdicts: list[Verdict] = [row[position] for position in function.positions]
                judged = all(verdict == "passed" for verdict in verdicts)
                unsure = function.how == "refused" or (function.how == "in part" and judged)
                if not unsure and judged != passed:
                    yield _told(each, function, program, passed, verdicts)


def _told(each: Examined, function: Function, program: str, passed: bool, verdicts: Sequence[Verdict]) -> str:
    cases = (f"  {v}: {each.cases[p]}" for p, v in zip(function.positions, verdicts, strict=True))
    said = "passes" if passed else "fails"
    return "\n".join((f"{each.suite.name}::{function.name} {said} under Python on", program.strip(), "judged:", *cases))


def report(examined: Sequence[Examined], name: str, refused: bool) -> Iterator[str]:
    """The figures of one set as lines of text."""
    functions = [(each.suite.style, function) for each in examined for function in each.functions]
    dishonest = [f"{e.suite.name}::{n}" for e in examined for n, passed in e.plain[0].items() if not passed]
    hows = Counter(function.how for _, function in functions)
    read = sum(len(function.positions) for _, function in functions)
    lost = sum(r.reason not in LEFT_OUT for _, function in functions for r in function.refused)
    yield f"{name}: {len(examined)} files, {len(functions)} honest functions"
    yield f"  functions read   {_share(hows['read'] + hows['in part'], len(functions))}"
    yield f"    as a whole     {_share(hows['read'], len(functions))}"
    yield f"    in part        {_share(hows['in part'], len(functions))}: something else of it was refused"
    yield f"  assertions read  {_share(read, read + lost)} (a refused function or file counts as one)"
    if dishonest:
        yield f"  {len(dishonest)} functions fail their own reference and are left out: {', '.join(dishonest[:8])}"
    unkilled = [e.suite.name for e in examined for plain in e.plain[1:] if all(plain.values())]
    if unkilled:
        yield f"  {len(unkilled)} wrong programs pass every test: {', '.join(unkilled[:8])}"
    yield from _by_style(functions)
    yield from _by_cause(examined)
    if refused:
        for each in examined:
            for function in each.functions:
                if function.how != "read":
                    yield f"  {function.how}: {each.suite.name}::{function.name}: {function.cause}"


def _by_style(functions: Iterable[tuple[str, Function]]) -> Iterator[str]:
    styles: dict[str, Counter[bool]] = defaultdict(Counter)
    for style, function in functions:
        styles[style][function.how != "refused"] += 1
    if len(styles) > 1:
        yield "  read, by style"
        for style, counts in sorted(styles.items(), key=lambda item: -item[1].total()):
            yield f"    {counts[True]:4} of {counts.total():4}  {style}"


def _by_cause(examined: Iterable[Examined]) -> Iterator[str]:
    unread = ((each.suite.entry_point, one.cause) for each in examined for one in each.functions if one.how != "read")
    causes = Counter(
        re.sub(rf"\b{re.escape(entry_point)}\b", "the entry point", cause) for entry_point, cause in unread
    )
    if causes:
        yield "  not read, or not as a whole, by cause"
        yield from (f"    {count:4}  {cause}" for cause, count in causes.most_common(25))


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / max(1, whole):.1%})"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reading", description="Share of honest tests read.")
    parser.add_argument("--data", type=Path, help="a folder that holds humaneval/ and mbpp/, read as well")
    parser.add_argument("--refused", action="store_true", help="name every function that is not read")
    parser.add_argument("--limit", type=int, help="read only so many files of each set")
    arguments = parser.parse_args()
    sets = {"reading set": own_set(), **(real_sets(arguments.data) if arguments.data else {})}
    differing = 0
    for name, suites in sets.items():
        examined = examine(suites[: arguments.limit])
        print("\n".join(report(examined, name, arguments.refused)), flush=True)
        box = LocalBox()
        try:
            found = list(disagreements(examined, Judge(box)))
        finally:
            box.close()
        print(f"  disagreements with plain execution: {len(found)}", *found, sep="\n\n" if found else "", flush=True)
        differing += len(found)
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
