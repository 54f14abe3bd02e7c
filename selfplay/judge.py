"""Judge programs on tests: `python -m selfplay.judge --code a.py b.py --tests tests.py --entry add --reference ref.py`.

Tests are read, not run; programs run in the sandbox; with a reference, a case counts only where it passes.
Exit 0: at least one case admitted and every program passes all; 1: not so; 2: bad input, or no case that can be
admitted; 3: the sandbox failed. With 2 and 3 standard output stays empty and standard error says why.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import sys
import tokenize
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from selfplay.errors import SelfplayError

if TYPE_CHECKING:  # the rest is imported when there is something to judge: --help answers at once
    from selfplay.game.problems import Problem, StdinTest
    from selfplay.judging.cases import Box, Case, Refusal, Verdict
    from selfplay.judging.judge import Judge
    from selfplay.judging.reading import Reading

PASSED, NOT_PASSED, BAD_INPUT, INFRASTRUCTURE = range(4)


class BadInput(SelfplayError):
    """An argument or file that cannot be used."""


class SandboxFailed(SelfplayError):
    """The sandbox did not answer, twice."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """All cases in order (a Refusal where one does not count), and each program's verdicts on those that count."""

    tier: str
    cases: tuple[Case | Refusal, ...]
    programs: tuple[tuple[str, tuple[Verdict, ...]], ...]

    @property
    def all_pass(self) -> bool:
        return all(verdict == "passed" for _, verdicts in self.programs for verdict in verdicts)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    from selfplay.judging.box.local import BoxUnavailable
    from selfplay.judging.box.tiers import TierTooLow

    try:
        judgement = judgement_of(options)
    except (SandboxFailed, BoxUnavailable, TierTooLow) as error:
        print(f"selfplay.judge: {error}", file=sys.stderr)
        return INFRASTRUCTURE
    except SelfplayError as error:
        print(f"selfplay.judge: {error}", file=sys.stderr)
        return BAD_INPUT
    print(_as_json(judgement) if options.json else _as_text(judgement))
    return PASSED if judgement.all_pass else NOT_PASSED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m selfplay.judge", description=(__doc__ or "").split("\n")[0])
    add = parser.add_argument
    add("--code", nargs="+", required=True, metavar="FILE", help="programs to judge")
    tests = parser.add_mutually_exclusive_group(required=True)
    tests.add_argument(
        "--tests", metavar="FILE", help="pytest functions, bare asserts, or JSON [[arguments, expected], ...]"
    )
    tests.add_argument(
        "--stdin-cases", metavar="FILE", help='lines of {"input": ..., "output": ...}, for programs that read stdin'
    )
    add("--entry", metavar="NAME", help="the function that the tests call (with --tests)")
    add("--reference", metavar="FILE", help="a correct program: cases that it fails do not count")
    add("--timeout", type=_seconds, default=2.0, metavar="S", help="CPU seconds per case (default: 2)")
    add("--memory-mib", type=_mebibytes, default=1024, metavar="M", help="memory of a program (default: 1024)")
    add("--sandbox", choices=("local", "e2b"), default="local", help="where programs run (default: local)")
    add(
        *("--sandbox-min-tier", "--sandbox.min-tier"),
        choices=("limited", "seatbelt", "confined", "jailed", "e2b"),
        help="refuse to judge where programs are confined less than this (default: tell the tier)",
    )
    add("--json", action="store_true", help="print cases and verdicts as one JSON object")
    return parser


def _seconds(text: str) -> float:
    value = float(text)
    if not (math.isfinite(value) and 0 < value <= 3600):
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 3600 seconds")
    return value


def _mebibytes(text: str) -> int:
    value = int(text)
    if not 64 <= value <= 1 << 20:
        raise argparse.ArgumentTypeError(f"{text} is not between 64 and {1 << 20} MiB")
    return value


# ---- reading ----


def judgement_of(options: argparse.Namespace) -> Judgement:
    """What the options ask for. Raises BadInput, SandboxFailed, BoxUnavailable, TierTooLow."""
    from selfplay.judging.box.tiers import require_tier
    from selfplay.judging.cases import Limits
    from selfplay.judging.judge import Judge

    programs = [_program(path) for path in options.code]
    problem, reading, text = _questions(options, programs)
    box = _open_box(options)
    try:
        require_tier(box, options.sandbox_min_tier)
        judge = Judge(box, Limits(options.timeout, options.memory_mib))
        return _judged(judge, problem, reading, text, options, programs)
    finally:
        box.close()


def _open_box(options: argparse.Namespace) -> Box:
    if options.sandbox == "local":
        from selfplay.judging.box.local import LocalBox

        return LocalBox()
    from selfplay.judging.cloud import CloudSettings, open_split

    return open_split(CloudSettings(label="judge"), references=options.reference is not None)


def _questions(options: argparse.Namespace, programs: Sequence[str]) -> tuple[Problem, Reading, str]:
    """The problem that the command line amounts to, its cases, and the text that they were read from."""
    from selfplay.game.problems import Problem
    from selfplay.judging.execute import signature_of
    from selfplay.judging.reading import read_cases, read_stdin_cases

    reference = _text(options.reference, "--reference") if options.reference else None
    if options.stdin_cases:
        if options.entry:
            raise BadInput("--entry names a function, and --stdin-cases are for whole programs: leave one out")
        text = _text(options.stdin_cases, "--stdin-cases")
        problem = Problem("command-line", "", "", "", (), reference, kind="stdio")
        return problem, read_stdin_cases(_stdin_tests(text, options.stdin_cases)), text
    if not options.entry or not options.entry.isidentifier():
        raise BadInput(f"--entry must name the function that the tests call, not {options.entry!r}")
    text = _text(options.tests, "--tests")
    known = [reference] if reference is not None else programs
    signature = next(filter(None, (signature_of(source, options.entry) for source in known)), "")
    problem = Problem("command-line", "", options.entry, signature, (), reference)
    return problem, read_cases(text, options.entry, signature), text


def _bytes(path: str, flag: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise BadInput(f"{flag} {path}: {error.strerror or error}") from None


def _text(path: str, flag: str) -> str:
    data = _bytes(path, flag)
    try:
        return _decoded(data)
    except (SyntaxError, UnicodeDecodeError) as error:
        raise BadInput(f"{flag} {path} is not text: {error}") from None


def _program(path: str) -> str:
    """A program's source. One that cannot be decoded keeps its bytes as lone surrogates, so that it does not load."""
    data = _bytes(path, "--code")
    try:
        return _decoded(data)
    except (SyntaxError, UnicodeDecodeError):
        return data.decode("utf-8", "surrogateescape") + "\udcff"


def _decoded(data: bytes) -> str:
    """As Python reads a source file: a byte order mark or coding line decides, else UTF-8."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return data.decode(encoding)


def _stdin_tests(text: str, path: str) -> list[StdinTest]:
    return [_stdin_test(line, f"--stdin-cases {path}, line {number}") for number, line in _lines(text)]


def _lines(text: str) -> list[tuple[int, str]]:
    return [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def _stdin_test(line: str, where: str) -> StdinTest:
    from selfplay.game.problems import StdinTest

    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{where}: not JSON ({error})") from None
    if not isinstance(value, dict):
        raise BadInput(f'{where}: a {type(value).__name__}, where an object with "input" and "output" belongs')
    return StdinTest(_field(value, where, "input", "stdin"), _field(value, where, "output", "stdout"))


def _field(value: dict[str, object], where: str, *names: str) -> str:
    found = next((value[name] for name in names if name in value), None)
    if not isinstance(found, str):
        raise BadInput(f'{where}: "{names[0]}" must be a text, not {found!r:.50}')
    return found


# ---- judging ----


def _judged(
    judge: Judge, problem: Problem, reading: Reading, text: str, options: argparse.Namespace, programs: Sequence[str]
) -> Judgement:
    from selfplay.judging.admission import screen
    from selfplay.judging.cases import Case

    kept, refused = screen(problem, reading, trust_reference=True)
    admission = judge.admit([(problem, kept)])[0]
    cases = _in_order([*admission.admitted, *admission.refused, *refused], text)
    admitted = [case for case in cases if isinstance(case, Case)]
    if any(case.reason == "infra_error" for case in admission.refused):
        raise SandboxFailed("the sandbox failed on the reference, twice: see selfplay.doctor")
    if not admitted:
        raise BadInput(_nothing_admitted(problem, admission.refused or refused, options))
    verdicts = judge.matrix(problem.entry_point, programs, admitted).verdicts
    if any("infra_error" in row for row in verdicts):
        raise SandboxFailed("the sandbox failed on a program, twice: see selfplay.doctor")
    return Judgement(judge.box.tier, tuple(cases), tuple(zip(options.code, verdicts, strict=True)))


def _in_order(cases: Sequence[Case | Refusal], text: str) -> list[Case | Refusal]:
    """As they stand in the tests' text; cases of one statement by their index."""

    def place(case: Case | Refusal) -> tuple[int, int]:
        index = case.name.rpartition("[")[2].rstrip("]")
        return text.find(case.source[:500]), int(index) if index.isdigit() else 0

    return sorted(cases, key=place)


def _nothing_admitted(problem: Problem, refused: Sequence[Refusal], options: argparse.Namespace) -> str:
    from selfplay.game.syntax import definition, parsed

    reference, tree = problem.reference_solution, parsed(problem.reference_solution or "")
    if reference is not None and tree is None:
        return f"no case can be admitted: the reference {options.reference} is not Python"
    if reference is not None and tree and problem.entry_point and definition(tree, problem.entry_point) is None:
        return f"no case can be admitted: the reference {options.reference} does not define {problem.entry_point!r}"
    if not refused:
        return f"{options.tests or options.stdin_cases} holds no test"
    counts = Counter(f"{case.reason}: {case.detail}" if case.detail else case.reason for case in refused)
    return "no case can be admitted:\n" + "\n".join(f"  {count} x {why}" for why, count in counts.most_common())


# ---- printing ----


def _as_json(judgement: Judgement) -> str:
    from selfplay.judging.cases import Refusal

    cases = [
        {
            "name": case.name,
            "source": case.source,
            "admitted": not isinstance(case, Refusal),
            "reason": _why(case) if isinstance(case, Refusal) else None,
        }
        for case in judgement.cases
    ]
    programs = [{"path": path, "verdicts": list(verdicts)} for path, verdicts in judgement.programs]
    return json.dumps({"tier": judgement.tier, "cases": cases, "programs": programs})


def _as_text(judgement: Judgement) -> str:
    from selfplay.judging.cases import Case, Refusal

    admitted = [case for case in judgement.cases if isinstance(case, Case)]
    lines = [f"sandbox: {judgement.tier}; {len(admitted)} of {len(judgement.cases)} cases admitted"]
    lines += [f"  not {case.name}: {_why(case)}" for case in judgement.cases if isinstance(case, Refusal)]
    for path, verdicts in judgement.programs:
        lines.append(f"{path}: {verdicts.count('passed')} of {len(verdicts)} passed")
        lines += [
            f"  {verdict} {case.name}: {' '.join(case.source.split())[:120]}"
            for case, verdict in zip(admitted, verdicts, strict=True)
            if verdict != "passed"
        ]
    return "\n".join(lines)


def _why(case: Refusal) -> str:
    return f"{case.reason}: {case.detail}" if case.detail else case.reason


if __name__ == "__main__":
    sys.exit(main())
