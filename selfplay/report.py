"""A run as one HTML page: `python -m selfplay.report runs/selfplay`, or `selfplay.report("runs/selfplay")` from Python.

Works on a finished run, on one that is still running and on one that was interrupted. Exit codes: 0 written, 2 bad input.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from selfplay.run.command import callable_module, command

if TYPE_CHECKING:
    from selfplay.run.report.page import Written


def report(run: str | Path, out: str | Path | None = None) -> Written:
    """Write the page, to `out` or into the run's folder. What comes back shows it in a notebook. Raises SelfplayError."""
    from selfplay.run.report import write_report

    return write_report(Path(run), Path(out) if out else None)


@command("selfplay.report")
def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    print(report(options.run, options.out))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m selfplay.report",
        description="Write one HTML page with a run's figures, curves, alarms and episodes. It needs no server and no network.",
    )
    parser.add_argument("run", metavar="RUN", help="The --output-dir of a run.")
    parser.add_argument("--out", metavar="FILE", help="Where to write it. Default: RUN/report.html.")
    return parser


callable_module(__name__, report)

if __name__ == "__main__":
    sys.exit(main())
