"""One judgement for a command line: programs, tests and perhaps a reference as texts, verdicts on what counts.

Without a reference every test counts, runs on each program's own outcomes exactly as under pytest, and the entry point is the
one function of the program that the tests call. Tests are read the same whatever programs stand beside them: no program's
signature has a say. Left out: files, flags and
printing, which are selfplay/judge.py's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from selfplay.cases.case import Case, Refusal, Verdict
from selfplay.cases.read import Reading, read_stdin_cases
from selfplay.errors import BadInput, SelfplayError
from selfplay.game.problems import Problem, StdinTest
from selfplay.game.syntax import definition, parsed
from selfplay.judging.admission import is_weak
from selfplay.judging.clerk.desk import MAX_CASES
from selfplay.judging.entry import signature_of
from selfplay.judging.judge import Job, Judge
from selfplay.judging.references import subject_of
from selfplay.judging.script import Shown
from selfplay.judging.turns import WrittenTurn

SHOWN = 50  # refusals that people are told; JSON has all


class SandboxFailed(SelfplayError):
    """The sandbox did not answer, twice."""


@dataclass(frozen=True, slots=True)
class ProgramJudgement:
    """One program: its verdicts on the cases that count, and why it did not load where it did not.

    `values`, where they were asked for: for each case what the program did, what the case expects, and pytest's words.
    """

    path: str
    verdicts: tuple[Verdict, ...]
    why: str = ""
    values: tuple[Shown, ...] = ()

    def as_json(self) -> dict[str, object]:
        """The values only where they were asked for."""
        told: dict[str, object] = {"path": self.path, "verdicts": list(self.verdicts), "why": self.why or None}
        if self.values:
            told["values"] = [one._asdict() for one in self.values]
        return told


@dataclass(frozen=True, slots=True)
class Judgement:
    """All cases in order (a Refusal where one does not count), and each program.

    `salvaged`: definitions of the entry point in the tests, which were left out: the programs' own is tested.
    """

    tier: str
    cases: tuple[Case | Refusal, ...]
    programs: tuple[ProgramJudgement, ...]
    salvaged: int = 0

    @property
    def refused(self) -> tuple[Refusal, ...]:
        """The cases that do not count."""
        return tuple(case for case in self.cases if isinstance(case, Refusal))

    @property
    def all_pass(self) -> bool:
        """Whether every program passes every case that counts."""
        return all(verdict == "passed" for program in self.programs for verdict in program.verdicts)

    def as_json(self) -> dict[str, object]:
        """What `--json` prints: the tier, all cases with why they do not count, and the programs with their verdicts."""
        refused = [case if isinstance(case, Refusal) else None for case in self.cases]
        return {
            "tier": self.tier,
            "cases": [
                {
                    "name": case.name,
                    "source": case.source,
                    "admitted": refusal is None,
                    "reason": refusal and refusal.why,
                    "weak": isinstance(case, Case) and is_weak(case.mark),
                }
                for case, refusal in zip(self.cases, refused, strict=True)
            ],
            "programs": [each.as_json() for each in self.programs],
        }


@dataclass(frozen=True, slots=True)
class Question:
    """What the programs are asked: a problem without description, its tests as text, and as cases."""

    problem: Problem
    text: str
    reading: Reading


def function_question(judge: Judge, text: str, entry_point: str, reference: str | None) -> Question:
    """Tests of a function. A reference's signature tells how many arguments a row of a table holds."""
    signature = signature_of(reference, entry_point) if reference is not None else ""
    problem = Problem("command-line", "", entry_point, signature, (), reference)
    return Question(problem, text, judge.desk.tests(text, entry_point, signature))


def program_question(tests: Sequence[StdinTest], text: str, reference: str | None) -> Question:
    """Tests of whole programs: pairs of standard input and output."""
    problem = Problem("command-line", "", "", "", (), reference, kind="stdio")
    return Question(problem, text, read_stdin_cases(tests))


def entry_point_of(judge: Judge, sources: Sequence[str], text: str) -> str:
    """The one function that the tests call and the first of the sources defines. Raises BadInput."""
    called = judge.desk.called(sources[0], text)
    if len(called) == 1:
        return called[0]
    if called:
        raise BadInput(f"the tests call {', '.join(called)}: say with --entry which of them is under test")
    raise BadInput("the tests call no function that the program defines: name it with --entry")


def judgement(judge: Judge, question: Question, programs: Sequence[tuple[str, str]], values: bool = False) -> Judgement:
    """Judges programs, given as (path, source). Raises BadInput where no case can be admitted, and SandboxFailed."""
    problem, reading = question.problem, question.reading
    screened = tuple(judge.desk.screened(problem, reading))
    turn = WrittenTurn(5, reading.cases, screened, reading.refused, text=reading.rest)
    sources = tuple(source for _, source in programs)
    [[(turn,)]] = judge.settle([(problem, [(turn,)], sources)], trust=True, limit=MAX_CASES)
    if any(case.reason == "infra_error" for case in turn.refused):
        raise SandboxFailed("the sandbox failed on the reference, twice: see selfplay.doctor")
    cases = [refusal or case for case, refusal in zip(turn.cases, turn.refusals, strict=True)]
    cases = [*cases, *turn.unread]
    admitted = turn.admitted
    if not admitted:
        raise BadInput(_nothing_admitted(problem, turn.refused))
    subject = subject_of(problem, everything=True)
    [matrix] = judge.matrices([Job(problem.entry_point, sources, admitted, problem.imports, subject=subject)])
    if any("infra_error" in row for row in matrix.verdicts):
        raise SandboxFailed("the sandbox failed on a program, twice: see selfplay.doctor")
    judged = zip(programs, matrix.verdicts, matrix.why, strict=True)
    return Judgement(
        judge.box.tier,
        tuple(cases),
        tuple(
            ProgramJudgement(
                path,
                verdicts,
                why,
                tuple(judge.shown(problem.entry_point, source, admitted, problem.imports, subject)) if values else (),
            )
            for (path, source), verdicts, why in judged
        ),
        question.reading.salvaged,
    )


def _nothing_admitted(problem: Problem, refused: Sequence[Refusal]) -> str:
    reference = problem.reference_solution
    tree = parsed(reference or "")
    if reference is not None and tree is None:
        return "no case can be admitted: the reference is not Python"
    if reference is not None and tree and problem.entry_point and definition(tree, problem.entry_point) is None:
        return f"no case can be admitted: the reference does not define {problem.entry_point!r}"
    if not refused:
        return "there is no test in what was given"
    counts = Counter(case.why for case in refused)
    rest = len(counts) - SHOWN
    lines = [f"  {count} x {why}" for why, count in counts.most_common(SHOWN)]
    return "\n".join(["no case can be admitted:", *lines, *([f"  ... and {rest} more"] if rest > 0 else [])])
