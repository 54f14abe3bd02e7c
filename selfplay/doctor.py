"""What this machine offers: `python -m selfplay.doctor`.

Python, packages against our bounds, GPU and backend, the sandbox's tier and what would raise it, disk, credentials
(present or not, never printed). Exit 0: `python -m selfplay.train` can work here; 1: it cannot, and what to do.

    python -m selfplay.doctor --model Qwen/Qwen2.5-Coder-7B-Instruct --preset t4

prints the memory plan of a model on a card instead, without loading the model and without a network. Exit 0: it fits; 1: not.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from selfplay.run.command import command, parser

if TYPE_CHECKING:
    from selfplay.run.checks import Finding

_PLANNED = (
    *("model", "preset", "device", "backend", "sampler", "load_in_4bit", "dtype", "gradient_checkpointing"),
    *("max_seq_length", "generation_rows", "micro_batch_tokens", "lora_rank", "lora_target_modules"),
    *("max_completion_length", "thinking", "thinking_tokens", "schedule", "stages"),
)
_MARKS = {"ok": "ok", "note": "note", "missing": "MISSING"}


@command("selfplay.doctor")
def main(arguments: Sequence[str]) -> int:
    flags = parser("selfplay.doctor", __doc__)
    flags.add_argument("--output-dir", default="runs/selfplay", metavar="DIR", help="where a run would write")
    flags.add_argument("--json", action="store_true", help="print the findings as one JSON object")
    flags.add_argument_group("memory plan", f"any of: {', '.join(f'--{key}' for key in _PLANNED).replace('_', '-')}")
    options, keys = flags.parse_known_args(arguments)
    if keys:
        from selfplay.config import from_flags
        from selfplay.learning.choice import memory_plan

        text, fits = memory_plan(from_flags(keys, "python -m selfplay.doctor", __doc__, _PLANNED))
        print(text, flush=True)
        return 0 if fits else 1
    from selfplay.run.checks import findings, works

    found = findings(Path(options.output_dir))
    report = {"works": works(found), "findings": [asdict(each) for each in found]}
    print(json.dumps(report) if options.json else _as_text(found), flush=True)
    return 0 if works(found) else 1


def _as_text(found: Sequence[Finding]) -> str:
    wide = max(len(each.about) for each in found)
    lines = []
    for each in found:
        lines.append(f"{_MARKS[each.status]:<8} {each.about:<{wide}}  {each.found}")
        if each.advice:
            lines.append(f"{'':<8} {'':<{wide}}  -> {each.advice}")
    missing = ", ".join(each.about for each in found if each.status == "missing")
    verdict = f"cannot work here yet: {missing}" if missing else "can work here"
    return "\n".join([*lines, "", f"python -m selfplay.train {verdict}"])


if __name__ == "__main__":
    sys.exit(main())
