"""Tests worth having: `python -m selfplay.bank build --problems mine.jsonl --out bank.jsonl`.

    build     a player hunts wrong programs of your functions, and the strongest small suite of each is kept
    collect   what the episodes of a run hold already: every test that counts and killed something
    export    a bank, or that of a run, as pytest modules that run without this package, or as a problem file

A test generator for people who never train: it needs problems with references. Exit codes: 0 done, 2 bad input.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from selfplay.config.flags import words
from selfplay.errors import BadInput
from selfplay.printing import printable
from selfplay.run.command import PLAYING, command, say

if TYPE_CHECKING:
    from selfplay.match.testbank import BankedSuite

ABOUT = "Build, collect and export suites of tests that kill wrong programs."
FORMATS = ("pytest", "jsonl")
OWN: dict[str, str | Mapping[str, Any]] = {
    "ACTION": {"metavar": "build|collect|export", "help": "What to do."},
    "FROM": {"metavar": "FROM", "help": "collect: the folder of a run. export: a bank, or the folder of a run."},
    "player": "build: embedded, base (with --model), a run, RUN@STEP or a folder of adapters. Default: the newest run.",
    "num-samples": {"metavar": "N", "type": int, "help": "build: programs and suites for each problem. Default: 8."},
    "out": {"metavar": "FILE", "help": "The file to write; for pytest modules a folder."},
    "format": {"choices": FORMATS, "help": "export: pytest (default) or jsonl, a problem file."},
    "with-model-text": {
        "action": "store_true",
        "help": "export: also the tests that are no data, as the text that a model wrote, to files of their own.",
    },
    "module": {"metavar": "NAME", "help": "export: the module of the solution. Default: the problem's id."},
}


@command("selfplay.bank")
def main(arguments: Sequence[str]) -> int:
    given, own = words(arguments, "python -m selfplay.bank", ABOUT, PLAYING, OWN)
    action = own.get("action")
    if action not in ("build", "collect", "export"):
        raise BadInput(f"say what to do: build, collect or export{f', not {action!r}' if action else ''}; see --help")
    if "out" not in own:
        raise BadInput(f"{action} needs --out: where to write")
    if action == "build":
        return _build(given, own)
    if "from" not in own:
        raise BadInput(f"{action} needs {'the folder of a run' if action == 'collect' else 'a bank'}; see --help")
    return _collect(own) if action == "collect" else _export(own)


def _build(given: Mapping[str, Any], own: Mapping[str, Any]) -> int:
    from selfplay.game.problems import load_problems
    from selfplay.learning.sources import default_player, source_of
    from selfplay.match.testbank import build
    from selfplay.run.bankfile import write_bank

    if "problems" not in given:
        raise BadInput("build needs --problems: a file of your functions with references, or a set")
    name = own.get("player") or default_player()
    source = source_of(name, say)
    config = source.config(given)
    problems = load_problems(config.problems)
    known = [problem for problem in problems if problem.reference_solution is not None]
    if not known:
        raise BadInput(f"no problem of {config.problems} has a reference, and nothing else tells which tests are right")
    for problem in problems:
        if problem.reference_solution is None:
            say(f"{problem.id}: left out, it has no reference")
    from selfplay.learning.problem_check import check_references
    from selfplay.learning.setup import open_judge

    with closing(open_judge(config)) as judge:
        check_references(config.problems, known, judge)
        say(f"player: {name}; {len(known)} problems; sandbox: {judge.box.tier}")
        suites = build(source.open(config), known, judge, own.get("num_samples", 8))
    write_bank(Path(own["out"]), suites)
    print(printable("\n".join(map(_line, suites))))
    return 0


def _line(suite: BankedSuite) -> str:
    scores = ", ".join(
        f"{kind.replace('_', ' ')} {own['kept']:.2f} of {own['before']:.2f}"
        for kind, own in suite.scores.items()
        if own["before"] is not None
    )
    return f"{suite.problem.id}: {len(suite.tests)} of {suite.written} tests kept; {scores or 'nothing to kill'}"


def _collect(own: Mapping[str, Any]) -> int:
    from selfplay.match.testbank import collect
    from selfplay.run.bankfile import write_bank
    from selfplay.run.folder import EPISODES
    from selfplay.run.reading import Ledger, Lines

    ledger = Ledger(Lines(Path(own["from"]) / EPISODES))
    suites = collect((match for _, match in ledger), own["from"])
    write_bank(Path(own["out"]), suites)
    print(f"{sum(len(suite.tests) for suite in suites)} tests that killed something, of {len(suites)} problems")
    return 0


def _export(own: Mapping[str, Any]) -> int:
    from selfplay.run.bankfile import export, left_out, read_bank

    suites, texts = read_bank(Path(own["from"])), own.get("with_model_text", False)
    written = export(suites, own.get("format", "pytest"), Path(own["out"]), own.get("module"), texts)
    if not texts and (count := left_out(suites)):
        say(f"{count} tests are left out, since only a model's own text says them; --with-model-text writes them too")
    print(printable("\n".join(map(str, written))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
