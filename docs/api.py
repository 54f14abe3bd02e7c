"""Makes docs/api.md from the docstrings of the public names: `python docs/api.py`."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import selfplay

PAGE = Path(__file__).with_suffix(".md")
OPENING = """# API

<!-- made by `python docs/api.py` from the docstrings -->

These names of `import selfplay` are public, and nothing else is: other modules and names may change without notice. The
keys of a configuration are those that `selfplay train --help` explains; [glossary.md](glossary.md) has the words and metrics,
[ledger.md](ledger.md) the records. Examples: `examples/minimal_loop.py`, `my_reward.py`, `my_problems.py`, `callback.py`.

`rewards`, `problems`, `sampler`, `backend` and `callbacks` take a reference `module:name` in place of a name, in `config.yaml`,
on a command line and from Python, where an object may stand too; `prompts` takes a folder of templates. What a module holds is
known by its reference. What none holds (a lambda, a list, what a script defines) trains in one process, and a resume asks for
it again. `sampler` refers to a function of (trainer, ids that end a turn, seed) that returns a `Sampler`, `backend` to one of
(model, settings, seed, device) that returns a `Trainer`.
"""
GROUPS = {
    "Commands": ("train", "play", "evaluate", "judge", "rescore", "report"),
    "What they return": ("Result", "Match", "Comparison", "Judgement", "RescoreResult"),
    "Settings and errors": ("Config", "configure", "Callback", "SelfplayError"),
    "Problems": ("Problem", "Contract", "StdinTest", "load_problems", "validate_problem"),
    "Reward rules": (
        *("RewardRule", "ProgramOutcome", "SuiteOutcome", "TurnOutcome", "CaseOutcome"),
        *("get_rule", "share_passed", "lost"),
    ),
    "Programs and tests as text": (
        *("execute_tests", "validate_tests_against_solution", "extract_code", "extract_tests"),
    ),
    "Players": ("open_player", "Entrant", "Policy", "Solver", "Stage", "get_stage", "get_all_stages"),
    "Samplers and trainers": ("Sampler", "Trainer", "Request", "TurnKey", "Sampling", "Completion", "Rows"),
}


def page() -> str:
    """The text of docs/api.md."""
    parts = [OPENING]
    for title, names in GROUPS.items():
        parts += [f"## {title}\n", *(_entry(name, getattr(selfplay, name)) for name in names)]
    return "\n".join(parts)


def _entry(name: str, thing: Any) -> str:
    thing = getattr(thing, name) if inspect.ismodule(thing) else thing  # a command, which can be called
    lines = [f"### `{name}{_signature(thing)}`\n", _doc(thing), ""]
    if inspect.isclass(thing):
        for method, held in vars(thing).items():
            if not method.startswith("_") and (inspect.isfunction(held) or isinstance(held, property)) and _doc(held):
                call = "" if isinstance(held, property) else _signature(held)
                lines.append(f"* `{method}{call}`: {' '.join(_doc(held).split())}")
        lines += [""] * (lines[-1] != "")
    return "\n".join(lines)


def _signature(thing: Any) -> str:
    if inspect.isclass(thing) and (issubclass(thing, Exception) or getattr(thing, "_is_protocol", False)):
        return ""
    text = str(inspect.signature(thing))
    text = re.sub(r"\(self(, )?", "(", text)
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)  # annotations are text
    return re.sub(r" -> None$", "", text).replace(" = <factory>", " = ...")


def _doc(thing: Any) -> str:
    return inspect.cleandoc(thing.__doc__ or "")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
