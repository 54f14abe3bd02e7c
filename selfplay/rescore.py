"""Score a run again: `python -m selfplay.rescore runs/selfplay --rewards shifted --advantages group`.

Reads the run's ledger and needs no model: per role and stage what the recorded rule and the other one make of the same
verdicts, and the episodes on which they disagree most. Without --rewards the run's own rule is checked against what was
recorded. Exit codes: 0 scored, 1 the run's own rule does not give what was recorded, 2 bad input.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from selfplay.printing import printable
from selfplay.run.command import callable_module, command, parser

if TYPE_CHECKING:
    from selfplay.config import Config
    from selfplay.match.rescore import Disagreement, RescoreResult, Scoring, StageScores

SAME, DIFFERENT = 0, 1


def rescore(
    run: str | Path, rewards: str | None = None, advantages: str | None = None, shown: int = 5
) -> RescoreResult:
    """What another reward rule, or other advantages, make of a run's verdicts; None: the run's own.

    `rewards` is a name or a reference `module:name`; `shown` episodes of most disagreement are told. Raises UnknownName, and
    RunFolderError and LedgerError where the run's records cannot be read.
    """
    return _rescored(Path(run), rewards, advantages, shown)[0]


def _rescored(
    run: Path, rewards: str | None, advantages: str | None, shown: int
) -> tuple[RescoreResult, Config, Scoring, bool]:
    from selfplay.match import rescore as scored
    from selfplay.run.reading import groups_of_steps, open_ledger, read_config

    config = read_config(run)
    other = scored.scoring(rewards, advantages, config)
    ledger = open_ledger(run, config)
    return scored.rescore(ledger, config, other, groups_of_steps(run), shown), config, other, ledger.lines.torn


@command("selfplay.rescore")
def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    result, config, other, torn = _rescored(options.run, options.rewards, options.advantages, options.shown)
    sides = {
        "recorded": {"rewards": config.rewards, "advantages": config.advantages},
        "again": {"rewards": other.rule.name, "advantages": other.advantages},
    }
    record = sides | {"torn": torn} | asdict(result)
    print(json.dumps(record) if options.json else _as_text(result, sides, torn), flush=True)
    return DIFFERENT if result.differing else SAME


def _parser() -> argparse.ArgumentParser:
    flags = parser("selfplay.rescore", __doc__)
    add = flags.add_argument
    add("run", type=Path, metavar="RUN", help="the folder of a run, finished or not")
    add("--rewards", metavar="RULE", help="the other reward rule, such as shifted (default: the run's own)")
    add("--advantages", metavar="NAME", help="the other advantages, such as group (default: the run's own)")
    add("--shown", type=_count, default=5, metavar="N", help="episodes shown, those of most disagreement (default: 5)")
    add("--json", action="store_true", help="print one JSON object")
    return flags


def _count(text: str) -> int:
    if not text.isdecimal() or int(text[:9]) > 1000:
        raise argparse.ArgumentTypeError(f"{text!r}: give a number from 0 to 1000")
    return int(text)


def _as_text(result: RescoreResult, sides: Mapping[str, Mapping[str, str]], torn: bool) -> str:
    lines = [f"{result.steps} steps, {result.groups} groups"]
    lines += [f"  {name:<9} {', '.join(side.values())}" for name, side in sides.items()]
    if result.differing:
        lines.append(
            f"WARNING: the run's own rule gives something else than was recorded for {result.differing} of {result.compared} "
            "rewards and advantages: the rule or the ledger was changed since"
        )
    else:
        lines.append(
            f"the run's own rule gives again, exactly, what was recorded: {result.compared} rewards and advantages"
        )
    if torn:
        lines.append("the last line has no end, as in a run that is writing or was killed: it is left out")
    if result.incomplete is not None:
        lines.append(f"step {result.incomplete} is not complete and left out: advantages need all groups of a step")
    lines += ["", *_table(result.rows), *(line for each in result.disagreements for line in _episode(each))]
    return "\n".join(lines)


_HEAD = """\
                                          mean            spread     informative  rank correlation
role          stage groups rewards   recorded  again  recorded  again   rec. again  rewards advantages"""
_ROW = "{:<13} {:>5} {:>6} {:>7}   {:>8} {:>6}  {:>8} {:>6}  {:>5} {:>5}  {:>7} {:>10}"


def _table(rows: Sequence[StageScores]) -> Iterator[str]:
    yield _HEAD
    for row in rows:
        sides = (row.recorded, row.again)
        yield _ROW.format(
            *(row.role, row.stage, row.groups, row.rewards),
            *(_number(side.mean) for side in sides),
            *(_number(side.spread) for side in sides),
            *(f"{side.informative:.0%}" for side in sides),
            *(_number(order) for order in (row.reward_order, row.advantage_order)),
        )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _episode(each: Disagreement) -> Iterator[str]:
    what = "chain" if each.role == "generator" else "suite"
    yield ""
    yield printable(
        f"line {each.line}, step {each.step}, stage {each.stage}, problem {each.problem[:60]}, {what} {each.number}: "
        f"reward {_number(each.rewards[0])} recorded, {_number(each.rewards[1])} again"
    ).replace("\n", " ")
    yield f"  in its group {each.standings[0]:+.2f} and {each.standings[1]:+.2f} deviations from the mean"
    yield from (f"    {printable(line)}" for line in each.text)


callable_module(__name__, rescore)

if __name__ == "__main__":
    sys.exit(main())
