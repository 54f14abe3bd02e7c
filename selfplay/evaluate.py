"""Measure players side by side: `python -m selfplay.evaluate --players embedded runs/a --num-problems 50`.

Both roles on held-out problems, with the same random numbers and against the same opponent: the untrained player. Code by
pass@k, greedily and by the best of n that own tests choose; tests by validity, kills and mutation score, as a whole and by
stage; 95 % intervals over problems, and paired differences to the first player. `--bugs` measures tests on bugs that no
player made, `--cross-play RUN` every generator of a run against every discriminator. The glossary has the formulas. Exit
codes: 0 measured, 2 bad input.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from selfplay.config.flags import words
from selfplay.errors import BadInput
from selfplay.printing import printable
from selfplay.run.command import run_command

if TYPE_CHECKING:
    from selfplay.config import Config
    from selfplay.learning.opening import Source
    from selfplay.match.entrant import Entrant

ABOUT = "Measure both roles of players side by side on held-out problems."
KEYS = (
    *("seed", "device", "model", "prompts", "problems", "cases_per_turn", "temperature", "max_completion_length"),
    *("thinking", "thinking_tokens"),
    *("timeout", "sandbox", "sandbox_workers", "sandbox_min_tier"),
)
SPLITS = ("train", "dev", "test", "all")
OWN: dict[str, str | Mapping[str, Any]] = {
    "players": {
        "nargs": "+",
        "metavar": "NAME",
        "help": "embedded, base (with --model), a run's folder, RUN@STEP or a folder of adapters. Default: the newest run.",
    },
    "opponent": "Whose chains are read and whose wrong programs are to be killed. Default: the first player, untrained.",
    "split": {"choices": SPLITS, "help": "Which problems of the set. Choose on dev, read test once. Default: dev."},
    "num-problems": {"metavar": "N", "type": int, "help": "The first so many of them. Default: all."},
    "num-samples": {
        "metavar": "N",
        "type": int,
        "help": "Programs sampled per problem, or suites per bug. Default: 8.",
    },
    "k": {"nargs": "+", "metavar": "K", "type": int, "help": "The k of pass@k. Default: 1 4 8, as far as samples go."},
    "single-stage": {"action": "store_true", "help": "Each player once more, without a reasoning chain."},
    "bugs": {
        "nargs": "?",
        "const": "",
        "metavar": "FILE",
        "help": "Also the bug benchmark; without FILE the package's own.",
    },
    "cross-play": {"metavar": "RUN", "help": "In place of all this: the checkpoints of a run against each other."},
    "json": {"metavar": "FILE", "help": "Write everything as one JSON object; - prints it in place of the tables."},
    "chart": {"metavar": "FILE", "help": "Draw the main figures, .png or .svg (needs the extra report)."},
}


def main(argv: Sequence[str] | None = None) -> int:
    def body() -> int:
        given, own = words(sys.argv[1:] if argv is None else argv, "python -m selfplay.evaluate", ABOUT, KEYS, OWN)
        return _evaluate(given, own)

    return run_command("selfplay.evaluate", body)


def _evaluate(given: Mapping[str, Any], own: Mapping[str, Any]) -> int:
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from selfplay.evaluation.evaluator import check_samples
    from selfplay.evaluation.standings import check_chart
    from selfplay.learning.opening import default_player, source_of

    samples = own.get("num_samples", 8)
    ks = own.get("k") or [k for k in (1, 4, 8) if k <= samples]
    check_samples(samples, ks)
    if "chart" in own:
        check_chart(Path(own["chart"]))
    if "cross_play" in own:
        return _cross_play(given, own)
    names = list(dict.fromkeys(own.get("players") or [default_player()]))
    sources = [source_of(name, _say) for name in names]
    players = [
        (source, source.config(given)) for source in sources
    ]  # what cannot be played is refused before torch loads
    from selfplay.evaluation.bugs import load_bugs
    from selfplay.evaluation.comparison import compare
    from selfplay.evaluation.evaluator import Evaluator
    from selfplay.evaluation.standings import chart, text_table
    from selfplay.learning.heldout import held_out
    from selfplay.learning.setup import open_judge
    from selfplay.mutation.cache import MutantCache

    bugs = load_bugs(own["bugs"] or None) if "bugs" in own else ()
    config = players[0][1]
    judge = open_judge(config)
    try:
        problems = held_out(config, judge, own.get("split", "dev"), own.get("num_problems"), _say)
        evaluator = Evaluator(judge, MutantCache(), problems, samples)
        opponent = evaluator.opponent(_opponent(players[0], own.get("opponent")))
        openings = [partial(source.open, config) for source, config in players]
        found = compare(openings, opponent, evaluator, ks, bugs, own.get("single_stage", False), _say)
    finally:
        judge.close()
    estimates, differences = found.estimates(), found.differences()
    about = {
        "set": config.problems,
        "split": own.get("split", "dev"),
        "num_problems": len(problems),
        "samples": samples,
    }
    about |= {"seed": config.seed, "opponent": own.get("opponent"), "bugs": len(bugs), "tier": judge.box.tier}
    tables = text_table(estimates, f"{len(problems)} problems, {samples} samples")
    if differences:
        tables += "\n\n" + text_table(differences, "difference", signed=True)
    _write(own, about | found.as_json(), tables)
    if "chart" in own:
        chart(estimates, Path(own["chart"]))
    return 0


def _opponent(first: tuple[Source, Config], name: str | None) -> Entrant:
    """The player whose chains all suites read: the one of this name, without one the first player, untrained."""
    from selfplay.learning.opening import Source, source_of

    source, config = first
    other = source_of(name) if name else Source(f"{source.name}, untrained")
    _say(f"recording the opponent: {other.name}")
    return other.open(other.config({"seed": config.seed, "device": config.device}) if name else config)


def _cross_play(given: Mapping[str, Any], own: Mapping[str, Any]) -> int:
    if "players" in own:
        raise BadInput("--cross-play takes its players from the run; leave out --players")
    from selfplay.evaluation.crossplay import cross_play
    from selfplay.evaluation.standings import cross_chart, cross_json, cross_text
    from selfplay.learning.heldout import held_out
    from selfplay.learning.opening import moments
    from selfplay.learning.setup import open_judge

    run = own["cross_play"]
    players = moments(Path(run))
    config = players[0][1].config(given)
    judge = open_judge(config)
    try:
        problems = held_out(config, judge, own.get("split", "dev"), own.get("num_problems"), _say)
        named = [(name, partial(source.open, source.config(given))) for name, source in players]
        found = cross_play(named, problems, judge)
    finally:
        judge.close()
    about = {"run": run, "set": config.problems, "split": own.get("split", "dev"), "num_problems": len(problems)}
    _write(own, about | {"seed": config.seed} | cross_json(found), cross_text(found))
    if "chart" in own:
        cross_chart(found, Path(own["chart"]))
    return 0


def _write(own: Mapping[str, Any], told: Mapping[str, Any], tables: str) -> None:
    """The JSON to its file and the tables to standard output; with `--json -` the JSON alone."""
    text = json.dumps(told, indent=1)  # in ASCII: what models wrote may be no text for a terminal or a file
    if own.get("json") == "-":
        print(text)
        return
    print(printable(tables))
    if "json" in own:
        try:
            Path(own["json"]).write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise BadInput(f"--json {own['json']} cannot be written ({error.strerror})") from None


def _say(text: str) -> None:
    print(printable(text), file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
