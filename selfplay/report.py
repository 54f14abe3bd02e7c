"""A run as one HTML page: `python -m selfplay.report runs/selfplay`.

Works on a finished run, on one that is still running and on one that was interrupted. Exit codes: 0 written, 2 bad input.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from selfplay.run.command import run_command


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    from selfplay.run.report import write_report

    def body() -> int:
        written = write_report(Path(options.run), Path(options.out) if options.out else None)
        some = "" if written.shown == written.episodes else f", the viewer holds {written.shown} of them"
        print(f"{written.path}: {written.size / 1e6:.1f} MB, {written.episodes} episodes{some}")
        return 0

    return run_command("selfplay.report", body)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m selfplay.report",
        description="Write one HTML page with a run's figures, curves, alarms and episodes. It needs no server and no network.",
    )
    parser.add_argument("run", metavar="RUN", help="The --output-dir of a run.")
    parser.add_argument("--out", metavar="FILE", help="Where to write it. Default: RUN/report.html.")
    return parser


if __name__ == "__main__":
    sys.exit(main())
