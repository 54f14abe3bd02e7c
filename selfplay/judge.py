"""Judge programs on tests: `python -m selfplay.judge --code a.py b.py --tests tests.py --entry add --reference ref.py`.

Literal tests are data; every other test runs under pytest in a sandbox of its own, where it asks and the program's sandbox
answers. With a reference, a case counts only where it passes.
Exit 0: at least one case admitted and every program passes all (with --strict: and no test refused); 1: not so; 2: bad
input, or no case that can be admitted; 3: the sandbox failed. With 2 and 3 standard output stays empty and standard error
says why.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from selfplay.errors import BadInput, SelfplayError
from selfplay.printing import printable

if TYPE_CHECKING:  # the rest is imported when there is something to judge: --help answers at once
    from selfplay.box.task import Box
    from selfplay.judging.judge import Judge
    from selfplay.judging.judgement import Judgement, Question

PASSED, NOT_PASSED, BAD_INPUT, INFRASTRUCTURE = range(4)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    from selfplay.box.local import BoxUnavailable
    from selfplay.box.tiers import TierTooLow
    from selfplay.judging.judgement import SandboxFailed

    try:
        found = judgement_of(options)
    except (SandboxFailed, BoxUnavailable, TierTooLow) as error:
        print(f"selfplay.judge: {printable(str(error))}", file=sys.stderr)
        return INFRASTRUCTURE
    except SelfplayError as error:
        print(f"selfplay.judge: {printable(str(error))}", file=sys.stderr)
        return BAD_INPUT
    print(json.dumps(found.as_json()) if options.json else printable(_as_text(found)))
    passed = found.all_pass and not (options.strict and found.refused)
    return PASSED if passed else NOT_PASSED


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
    add("--entry", metavar="NAME", help="the function under test (default: the one of the program that the tests call)")
    add("--reference", metavar="FILE", help="a correct program: cases that it fails do not count")
    add("--timeout", type=_seconds, default=2.0, metavar="S", help="CPU seconds per case (default: 2)")
    add("--memory-mib", type=_mebibytes, default=1024, metavar="M", help="memory of a program (default: 1024)")
    add("--sandbox", choices=("local", "e2b"), default="local", help="where programs run (default: local)")
    add(
        *("--sandbox-min-tier", "--sandbox.min-tier"),
        choices=("limited", "seatbelt", "confined", "jailed", "e2b"),
        help="refuse to judge where programs are confined less than this (default: tell the tier)",
    )
    add("--strict", action="store_true", help="exit 1 also where a test was refused")
    add("--show-values", action="store_true", help="say what was returned, raised or printed beside what was expected")
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
    from selfplay.box.task import Limits
    from selfplay.box.tiers import require_tier
    from selfplay.judging.files import program_of
    from selfplay.judging.judge import Judge
    from selfplay.judging.judgement import judgement

    programs = [(path, program_of(path)) for path in options.code]
    read = _files(options)
    judge = Judge(_open_box(options), Limits(options.timeout, options.memory_mib))
    try:
        require_tier(judge.box, options.sandbox_min_tier)
        question = _question(judge, options, *read, [source for _, source in programs])
        return judgement(judge, question, programs, options.show_values)
    finally:
        judge.close()


def _open_box(options: argparse.Namespace) -> Box:
    if options.sandbox == "local":
        from selfplay.box.local import LocalBox

        return LocalBox()
    from selfplay.box.e2b import E2BSettings, open_split

    return open_split(E2BSettings(label="judge"), references=options.reference is not None)


def _files(options: argparse.Namespace) -> tuple[str, str | None]:
    """The tests and the reference as texts. Raises BadInput, before anything is started."""
    from selfplay.judging.files import text_of

    reference = text_of(options.reference, "--reference") if options.reference else None
    if options.stdin_cases:
        if options.entry:
            raise BadInput("--entry names a function, and --stdin-cases are for whole programs: leave one out")
        return text_of(options.stdin_cases, "--stdin-cases"), reference
    if options.entry is not None and not options.entry.isidentifier():
        raise BadInput(f"--entry must name the function that the tests call, not {options.entry!r}")
    return text_of(options.tests, "--tests"), reference


def _question(
    judge: Judge, options: argparse.Namespace, text: str, reference: str | None, sources: Sequence[str]
) -> Question:
    """What the command line asks of the programs."""
    from selfplay.judging.files import stdin_tests
    from selfplay.judging.judgement import entry_point_of, function_question, program_question

    if options.stdin_cases:
        return program_question(stdin_tests(text, options.stdin_cases), text, reference)
    known = [reference] if reference is not None else sources
    return function_question(judge, text, options.entry or entry_point_of(judge, known, text), reference)


# ---- printing ----


def _as_text(found: Judgement) -> str:
    from selfplay.cases.case import Case
    from selfplay.judging.admission import is_weak
    from selfplay.judging.judgement import SHOWN

    admitted = [case for case in found.cases if isinstance(case, Case)]
    lines = [f"sandbox: {found.tier}; {len(admitted)} of {len(found.cases)} cases admitted"]
    if found.salvaged:
        lines.append(
            f"  {found.salvaged} x the tests' own definition of the entry point left out: the program's is tested"
        )
    lines += [f"  not {case.name}: {case.why}" for case in found.refused[:SHOWN]]
    if len(found.refused) > SHOWN:
        lines.append(f"  ... and {len(found.refused) - SHOWN} more; --json has them all")
    weak = [case for case in admitted if is_weak(case.mark)]
    lines += [f"  weak {case.name}: it accepts much of what is near the right outcome" for case in weak[:SHOWN]]
    for each in found.programs:
        lines.append(f"{each.path}: {each.verdicts.count('passed')} of {len(each.verdicts)} passed")
        if each.why:
            lines.append(f"  it does not load: {each.why}")
            continue
        for place, (case, verdict) in enumerate(zip(admitted, each.verdicts, strict=True)):
            if verdict != "passed":
                lines.append(f"  {verdict} {case.name}: {' '.join(case.source.split())[:120]}")
                if each.values:
                    shown = each.values[place]
                    lines.append(f"    it {shown.did}; expected: {shown.expected}")
                    lines += [f"      {line}" for line in shown.assertion.splitlines()]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
