"""In the virtual machine: runs a batch of tasks in the local box there.

    python3 -m selfplay.box.e2b.remote     reads `tasks` in the working folder, writes `answers`

`tasks` is one JSON object: `seconds`, `bytes` and `tasks`; its name is gone before the first program runs. `answers` has a line
for each task that was done, its number and its executions, and a last one: how many lines there are before it, and how the
machine confines programs. When the seconds or bytes are spent the rest is left out, and the host asks for it again; one task is
always done, so that every batch gets on. Expected values, references and verdicts are not known here.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from selfplay.box.local import LocalBox
from selfplay.box.task import Limits, Task
from selfplay.box.zygotes import BoxUnavailable

TASKS, ANSWERS = "tasks", "answers"


def main() -> None:
    batch = json.loads(Path(TASKS).read_bytes())
    os.unlink(TASKS)
    tasks = [_task(record) for record in batch["tasks"]]
    deadline, count = time.monotonic() + batch["seconds"], 0
    workers = min(len(os.sched_getaffinity(0)), len(tasks))
    with LocalBox(workers) as box, open(f"{ANSWERS}.part", "w", encoding="ascii") as file:
        with contextlib.closing(box.stream(tasks)) as done:
            for number, executions in done:
                file.write(f"[{number}")
                for one in executions:
                    file.write(", " + json.dumps([one.status, one.value, one.exception, one.seconds, one.detail]))
                file.write("]\n")
                count += 1
                if time.monotonic() > deadline or file.tell() > batch["bytes"]:
                    break
        file.write(json.dumps([count, box.confinement.name, box.confinement.missing]) + "\n")
    os.replace(f"{ANSWERS}.part", ANSWERS)


def _task(record: dict[str, Any]) -> Task:
    limits = Limits(**record.pop("limits"))
    owners = tuple(map(tuple, record.pop("owners")))
    inputs, imports = tuple(record.pop("inputs")), tuple(record.pop("imports"))
    return Task(**record, inputs=inputs, imports=imports, limits=limits, owners=owners)


if __name__ == "__main__":
    try:
        main()
    except BoxUnavailable as error:
        sys.exit(str(error))
