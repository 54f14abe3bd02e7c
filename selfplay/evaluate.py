"""Measure players side by side: `python -m selfplay.evaluate --players embedded runs/a --num-problems 50`.

Both roles on held-out problems, with the same random numbers and against the same opponent: the untrained player. Code by
pass@k, greedily and by the best of n that own tests choose; tests by validity, kills and mutation score, as a whole and by
stage; 95 % intervals over problems, and paired differences to the first player. `--bugs` measures tests on bugs that no
player made, `--cross-play RUN` every generator of a run against every discriminator. The glossary has the formulas. Exit
codes: 0 measured, 2 bad input.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from selfplay.config.flags import words
from selfplay.errors import BadInput, UnknownName
from selfplay.printing import printable
from selfplay.run.command import PLAYING, callable_module, command, say

if TYPE_CHECKING:
    from selfplay.config import Config
    from selfplay.evaluation.comparison import Comparison
    from selfplay.learning.sources import Source
    from selfplay.match.entrant import Entrant

ABOUT = "Measure both roles of players side by side on held-out problems."
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
        "const": True,
        "metavar": "FILE",
        "help": "Also the bug benchmark; without FILE the package's own.",
    },
    "cross-play": {"metavar": "RUN", "help": "In place of all this: the checkpoints of a run against each other."},
    "json": {"metavar": "FILE", "help": "Write everything as one JSON object; - prints it in place of the tables."},
    "chart": {"metavar": "FILE", "help": "Draw the main figures, .png or .svg (needs the extra report)."},
}


def evaluate(
    players: str | Sequence[str] | None = None,
    *,
    opponent: str | None = None,
    split: str = "dev",
    num_problems: int | None = None,
    num_samples: int = 8,
    k: Sequence[int] | None = None,
    single_stage: bool = False,
    bugs: str | Path | bool = False,
    **knobs: Any,
) -> Comparison:
    """Measures both roles of players on held-out problems, side by side; None: the newest run.

    `opponent`: whose chains are read, None for the first player untrained. `split`: of the problems, or all; `num_problems`:
    the first so many. `k`: of pass@k, from `num_samples` programs. `single_stage`: each player once more without a chain.
    `bugs`: also the bug benchmark, the package's own or a file's. Keywords are the configuration's keys.

    Raises BadInput for what cannot be played or measured, before anything is loaded.
    """
    from selfplay.evaluation.evaluator import check_samples
    from selfplay.learning.sources import default_player, source_of

    if split not in SPLITS:
        raise UnknownName("split", split, SPLITS)
    ks = k or [k for k in (1, 4, 8) if k <= num_samples]
    check_samples(num_samples, ks)
    names = [players] if isinstance(players, str) else players or [default_player()]
    sources = [source_of(name, say) for name in dict.fromkeys(names)]
    # What cannot be played is refused before torch loads.
    opened = [(source, source.config(knobs)) for source in sources]
    from selfplay.evaluation.bugs import load_bugs
    from selfplay.evaluation.comparison import compare
    from selfplay.evaluation.evaluator import Evaluator
    from selfplay.learning.heldout import held_out
    from selfplay.learning.setup import open_judge
    from selfplay.mutation.cache import MutantCache

    hunted = load_bugs(None if bugs is True else bugs) if bugs else ()
    config = opened[0][1]
    with closing(open_judge(config)) as judge:
        problems = held_out(config, judge, split, num_problems, say)
        evaluator = Evaluator(judge, MutantCache(), problems, num_samples)
        recorded = evaluator.opponent(_opponent(opened[0], opponent))
        openings = [partial(source.open, config) for source, config in opened]
        comparison = compare(openings, recorded, evaluator, ks, hunted, single_stage, say)
    comparison.about |= {"set": config.problems, "split": split, "num_problems": len(problems), "samples": num_samples}
    comparison.about |= {"seed": config.seed, "opponent": opponent, "bugs": len(hunted), "tier": judge.box.tier}
    return comparison


def _opponent(first: tuple[Source, Config], name: str | None) -> Entrant:
    """The player whose chains all suites read: the one of this name, without one the first player, untrained."""
    from selfplay.learning.sources import Source, source_of

    source, config = first
    other = source_of(name) if name else Source(f"{source.name}, untrained")
    say(f"recording the opponent: {other.name}")
    return other.open(other.config({"seed": config.seed, "device": config.device}) if name else config)


@command("selfplay.evaluate")
def main(arguments: Sequence[str]) -> int:
    given, own = words(arguments, "python -m selfplay.evaluate", ABOUT, PLAYING, OWN)
    from selfplay.evaluation.standings import chart, check_chart, text_table

    if "chart" in own:
        check_chart(Path(own["chart"]))
    if "cross_play" in own:
        return _cross_play(given, own)
    shown = ("json", "chart")
    comparison = evaluate(**{name: value for name, value in own.items() if name not in shown}, **given)
    estimates, differences = comparison.estimates(), comparison.differences()
    tables = text_table(
        estimates, f"{comparison.about['num_problems']} problems, {comparison.about['samples']} samples"
    )
    if differences:
        tables += "\n\n" + text_table(differences, "difference", signed=True)
    _write(own, comparison.about | comparison.as_json(), tables)
    if "chart" in own:
        chart(estimates, Path(own["chart"]))
    return 0


def _cross_play(given: Mapping[str, Any], own: Mapping[str, Any]) -> int:
    if "players" in own:
        raise BadInput("--cross-play takes its players from the run; leave out --players")
    from selfplay.evaluation.crossplay import cross_play
    from selfplay.evaluation.standings import cross_chart, cross_json, cross_text
    from selfplay.learning.heldout import held_out
    from selfplay.learning.setup import open_judge
    from selfplay.learning.sources import moments

    run = own["cross_play"]
    players = moments(Path(run))
    config = players[0][1].config(given)
    with closing(open_judge(config)) as judge:
        problems = held_out(config, judge, own.get("split", "dev"), own.get("num_problems"), say)
        named = [(name, partial(source.open, source.config(given))) for name, source in players]
        cross = cross_play(named, problems, judge)
    about = {"run": run, "set": config.problems, "split": own.get("split", "dev"), "num_problems": len(problems)}
    _write(own, about | {"seed": config.seed} | cross_json(cross), cross_text(cross))
    if "chart" in own:
        cross_chart(cross, Path(own["chart"]))
    return 0


def _write(own: Mapping[str, Any], record: Mapping[str, Any], tables: str) -> None:
    """The JSON to its file and the tables to standard output; with `--json -` the JSON alone."""
    text = json.dumps(record, indent=1)  # in ASCII: what models wrote may be no text for a terminal or a file
    if own.get("json") == "-":
        print(text)
        return
    print(printable(tables))
    if "json" in own:
        try:
            Path(own["json"]).write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise BadInput(f"--json {own['json']} cannot be written ({error.strerror})") from None


callable_module(__name__, evaluate)

if __name__ == "__main__":
    sys.exit(main())
