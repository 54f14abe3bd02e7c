"""The checkpoints of a run: `python -m selfplay.checkpoints RUN`.

One line each: step, stage, score, when and how large; the best and the newest are marked. What is torn or corrupt is named on
stderr. Exit 0: there is one; 1: there is none; 2: bad input. From Python: `selfplay.run.checkpoints`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from selfplay.errors import BadInput
from selfplay.printing import printable
from selfplay.run.checkpoints import GREEDY, PROTOTYPE, Checkpoint, best, latest, listed
from selfplay.run.command import command, parser

FOUND, NONE = 0, 1
_ROW = "{step:>9}  {stage:>5}  {score:>8}  {time:<25}  {size:>10}  {marks}"


@command("selfplay.checkpoints")
def main(arguments: Sequence[str]) -> int:
    flags = parser("selfplay.checkpoints", __doc__)
    flags.add_argument("run", metavar="RUN", help="folder of a run")
    flags.add_argument(
        "--best-by",
        choices=(GREEDY, PROTOTYPE),
        default=GREEDY,
        help=f"the score: {GREEDY} of its evaluation (the default), or {PROTOTYPE}: 0.7 x mean reward of the generator + 0.3 x "
        "validity of its last step",
    )
    flags.add_argument("--json", action="store_true", help="print one JSON object")
    options = flags.parse_args(arguments)
    return _show(Path(options.run), options.best_by, options.json)


def _show(run: Path, by: str, as_json: bool) -> int:
    if not run.is_dir():
        raise BadInput(f"{run} is no folder; name the --output-dir of a run")
    newest = latest(run, lambda trouble: print(printable(trouble), file=sys.stderr))
    held, top = listed(run), best(run, by)
    if as_json:
        records = [_record(each, by) | {"best": each == top, "latest": each == newest} for each in held]
        print(json.dumps({"run": str(run), "checkpoints": records}))
    elif held:
        print(_ROW.format(step="step", stage="stage", score="score", time="written", size="bytes", marks="").rstrip())
        print(printable("\n".join(_row(each, by, top, newest) for each in held)))
        print(printable(f"score: {by}; go on with `python -m selfplay.train --resume {run}`"))
    else:
        print(f"{run} has no checkpoints")
    return FOUND if held else NONE


def _record(checkpoint: Checkpoint, by: str) -> dict[str, object]:
    about, score = checkpoint.about, checkpoint.score(by)
    weights = {"step": about.step, "steps": about.steps, "stage": about.stage, "evaluated": about.evaluated}
    scores = {"score": score, "best_by": by, "scores": dict(about.scores), "metrics": dict(about.metrics)}
    return weights | scores | {"time": checkpoint.time, "size": checkpoint.size, "path": str(checkpoint.path)}


def _row(checkpoint: Checkpoint, by: str, top: Checkpoint | None, newest: Checkpoint | None) -> str:
    about, score = checkpoint.about, checkpoint.score(by)
    return _ROW.format(
        step=f"{about.step}/{about.steps}",
        stage=about.stage,
        score="-" if score is None else f"{score:.3f}",
        time=checkpoint.time,
        size=f"{checkpoint.size:,}",
        marks=" ".join(["best"] * (checkpoint == top) + ["latest"] * (checkpoint == newest)),
    ).rstrip()


if __name__ == "__main__":
    sys.exit(main())
