"""A run as one HTML page: `python -m selfplay.report runs/selfplay`, or `selfplay.report("runs/selfplay")` from Python.

Works on a finished run, on one that is still running and on one that was interrupted. Exit codes: 0 written, 2 bad input.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from selfplay.run.command import callable_module, command, parser

if TYPE_CHECKING:
    from selfplay.run.report.page import ReportFile


ABOUT = "Write one HTML page with a run's figures, curves, alarms and episodes. It needs no server and no network."


def report(run: str | Path, out: str | Path | None = None) -> ReportFile:
    """Write the page, to `out` or into the run's folder. What comes back shows it in a notebook. Raises SelfplayError."""
    from selfplay.run.report import write_report

    return write_report(Path(run), Path(out) if out else None)


@command("selfplay.report")
def main(arguments: Sequence[str]) -> int:
    flags = parser("selfplay.report", ABOUT)
    flags.add_argument("run", metavar="RUN", help="The --output-dir of a run.")
    flags.add_argument("--out", metavar="FILE", help="Where to write it. Default: RUN/report.html.")
    options = flags.parse_args(arguments)
    print(report(options.run, options.out))
    return 0


callable_module(__name__, report)

if __name__ == "__main__":
    sys.exit(main())
