"""What it costs to watch and to publish a run: its report, a push to a hub on this machine, the display and the alarms by step.

    python -m benchmarks.publishing runs/selfplay

Seconds are CPU seconds of this process, so that other work on the machine does not count; the hub is that of the tests, a
thread of this process, whose part is counted too.
"""

from __future__ import annotations

import argparse
import io
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

os.environ["HF_HUB_DISABLE_XET"] = "1"  # the hub of the tests speaks plain LFS

from rich.console import Console

from selfplay.config import Config
from selfplay.run.alarms import Watch
from selfplay.run.hub.push import push
from selfplay.run.live import REFRESH, Live
from selfplay.run.report import read_run, write_report
from tests.run.hub.hub_server import TOKEN, Hub

TIMES = 20


class Terminal(io.StringIO):
    """One that takes everything."""

    encoding = "utf-8"  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True


def cpu(call: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    began = time.process_time()
    call()
    return time.process_time() - began


def main() -> None:
    from huggingface_hub import HfApi
    from huggingface_hub.utils import disable_progress_bars

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="A finished run.")
    run = parser.parse_args().run
    disable_progress_bars()
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        seconds = cpu(lambda: print(write_report(run, page)))
        print(f"report: {seconds:.1f} s, {page.stat().st_size / 1e6:.1f} MB")
    with Hub() as hub:
        seconds = cpu(lambda: push(run, "me/run", api=HfApi(endpoint=hub.url, token=TOKEN)))
        print(f"push: {seconds:.1f} s, {sum(map(len, hub.files('me/run').values())) / 1e6:.1f} MB")
    steps = read_run(run).steps
    step = median(float(each["seconds"]) for each in steps)
    console = Console(file=Terminal(), width=120, force_terminal=True, color_system="truecolor")
    live, watch = Live(Config(), console), Watch()
    for each in steps[:-1]:
        live.step(each)
        watch.step(each)
    drawn = median(cpu(lambda: console.print(live._drawn())) for _ in range(TIMES))
    told = cpu(lambda: (live.step(steps[-1]), watch.step(steps[-1])))
    live.close()
    share = drawn * REFRESH + told / step
    print(f"display: {drawn * 1e3:.1f} ms drawn {REFRESH} time a second, line and alarms {told * 1e3:.1f} ms a step")
    print(f"of a step of {step:.1f} s: {share:.2%}")


if __name__ == "__main__":
    main()
