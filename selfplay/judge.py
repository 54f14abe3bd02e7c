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
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Literal

from selfplay.errors import BadInput
from selfplay.printing import printable
from selfplay.run.command import callable_module, command, parser, say

if TYPE_CHECKING:  # the rest is imported when there is something to judge: --help answers at once
    from selfplay.box.task import Box
    from selfplay.game.problems import StdinTest
    from selfplay.judging.judgement import Judgement

PASSED, NOT_PASSED, _, INFRASTRUCTURE = range(4)
Sandbox = Literal["local", "e2b"]


def judge(
    programs: str | Mapping[str, str],
    tests: str | Sequence[StdinTest],
    entry: str | None = None,
    reference: str | None = None,
    *,
    timeout: float = 2.0,
    memory_mib: int = 1024,
    sandbox: Sandbox = "local",
    sandbox_min_tier: str | None = None,
    values: bool = False,
) -> Judgement:
    """Judges programs, each in a sandbox of its own: a source, or several by their names.

    `tests`: pytest functions, bare asserts, JSON [[arguments, expected], ...]; or pairs of input and output for programs that
    read standard input. `entry`: the function under test, None for the one of the program that the tests call. With a
    `reference`, a correct source, a case counts only where it passes. `timeout`: CPU seconds per case; `values`: tell what was
    returned, raised or printed beside what was expected.

    Raises BadInput where no case can be admitted, SandboxFailed, BoxUnavailable, TierTooLow.
    """
    from selfplay.box.task import Limits
    from selfplay.box.tiers import require_tier
    from selfplay.judging.judge import Judge
    from selfplay.judging.judgement import entry_point_of, function_question, judgement, program_question

    if not (math.isfinite(timeout) and 0 < timeout <= 3600):
        raise BadInput(f"--timeout is {timeout}: give more than 0 and at most 3600 seconds")
    if not 64 <= memory_mib <= 1 << 20:
        raise BadInput(f"--memory-mib is {memory_mib}: give 64 to {1 << 20} MiB")
    named = {"program": programs} if isinstance(programs, str) else programs
    with closing(Judge(_open_box(sandbox, reference is not None), Limits(timeout, memory_mib))) as judge:
        require_tier(judge.box, sandbox_min_tier)
        if isinstance(tests, str):
            known = list(named.values()) if reference is None else [reference]
            question = function_question(judge, tests, entry or entry_point_of(judge, known, tests), reference)
        else:
            question = program_question(tests, "", reference)
        return judgement(judge, question, list(named.items()), values)


def _open_box(sandbox: Sandbox, references: bool) -> Box:
    if sandbox == "local":
        from selfplay.box.local import LocalBox

        return LocalBox()
    from selfplay.box.e2b import E2BSettings, open_split

    return open_split(E2BSettings(label="judge"), references=references)


@command("selfplay.judge")
def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    from selfplay.box.local import BoxUnavailable
    from selfplay.box.tiers import TierTooLow
    from selfplay.judging.files import program_of, stdin_tests, text_of
    from selfplay.judging.judgement import SandboxFailed

    programs = {path: program_of(path) for path in options.code}
    reference = text_of(options.reference, "--reference") if options.reference else None
    if options.entry and options.stdin_cases:
        raise BadInput("--entry names a function, and --stdin-cases are for whole programs: leave one out")
    if options.entry is not None and not options.entry.isidentifier():
        raise BadInput(f"--entry must name the function that the tests call, not {options.entry!r}")
    if options.stdin_cases:
        tests = stdin_tests(text_of(options.stdin_cases, "--stdin-cases"), options.stdin_cases)
    else:
        tests = text_of(options.tests, "--tests")
    settings = ("timeout", "memory_mib", "sandbox", "sandbox_min_tier", "values")
    try:
        judged = judge(programs, tests, options.entry, reference, **{name: getattr(options, name) for name in settings})
    except (SandboxFailed, BoxUnavailable, TierTooLow) as error:
        say(f"selfplay.judge: {error}")
        return INFRASTRUCTURE
    print(json.dumps(judged.as_json()) if options.json else printable(_as_text(judged)))
    return PASSED if judged.all_pass and not (options.strict and judged.refused) else NOT_PASSED


def _parser() -> argparse.ArgumentParser:
    flags = parser("selfplay.judge", (__doc__ or "").split("\n")[0])
    add = flags.add_argument
    add("--code", nargs="+", required=True, metavar="FILE", help="programs to judge")
    tests = flags.add_mutually_exclusive_group(required=True)
    tests.add_argument(
        "--tests", metavar="FILE", help="pytest functions, bare asserts, or JSON [[arguments, expected], ...]"
    )
    tests.add_argument(
        "--stdin-cases", metavar="FILE", help='lines of {"input": ..., "output": ...}, for programs that read stdin'
    )
    add("--entry", metavar="NAME", help="the function under test (default: the one of the program that the tests call)")
    add("--reference", metavar="FILE", help="a correct program: cases that it fails do not count")
    add("--timeout", type=float, default=2.0, metavar="S", help="CPU seconds per case (default: 2)")
    add("--memory-mib", type=int, default=1024, metavar="M", help="memory of a program (default: 1024)")
    add("--sandbox", choices=("local", "e2b"), default="local", help="where programs run (default: local)")
    add(
        *("--sandbox-min-tier", "--sandbox.min-tier"),
        choices=("limited", "seatbelt", "confined", "jailed", "e2b"),
        help="refuse to judge where programs are confined less than this (default: tell the tier)",
    )
    add("--strict", action="store_true", help="exit 1 also where a test was refused")
    shown = "say what was returned, raised or printed beside what was expected"
    add("--show-values", dest="values", action="store_true", help=shown)
    add("--json", action="store_true", help="print cases and verdicts as one JSON object")
    return flags


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


callable_module(__name__, judge)

if __name__ == "__main__":
    sys.exit(main())
