"""The card of a pushed run: the hub's metadata, with evaluation results in its own form, and a page from a template.

Figures come from the run's records, the command from its settings. What models wrote stands in a fence longer than any
in it. Left out: a list of data sets in the metadata, since the package's own sets are not on the hub.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any

from selfplay.config import Config, configure, to_flags
from selfplay.config.layers import PRESETS
from selfplay.errors import SelfplayError
from selfplay.match.show import sample_text
from selfplay.printing import printable
from selfplay.run.folder import CONFIG
from selfplay.run.progress import FIGURES
from selfplay.run.report.curves import held_out
from selfplay.run.report.page import before_after
from selfplay.run.report.reading import Matches, RunRecord

CURVES = "curves.svg"
TAG = "selfplay"  # by which a repository of ours is known
LOOKED = 200  # matches among which the sample is looked for
_STYLE = (
    "<style>text{font:10px sans-serif;fill:#5b6675}.grid{stroke:#d8dee6}polyline{fill:none;stroke:currentColor;"
    "stroke-width:1.6}circle{fill:currentColor}.bar{stroke:currentColor;opacity:.6}.c0{color:#0b57c2}.c1{color:#b3500b}"
    ".c2{color:#17803d}.c3{color:#7a3fb0}</style>"
)


@dataclass(frozen=True, slots=True)
class Subject:
    """What the card is of: the repository, the base on the hub (None: the embedded player, pushed along), the LoRA rank."""

    repo: str
    base: str | None
    curves: bool
    rank: int


def card(record: RunRecord, about: Subject) -> str:
    """The text of README.md."""
    from huggingface_hub import ModelCardData
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    data = ModelCardData(
        base_model=about.base,
        license="other" if about.base else "mit",
        license_name="that-of-the-base-model" if about.base else None,
        library_name="peft",
        pipeline_tag="text-generation",
        tags=[TAG, "self-play", "reinforcement-learning", "lora", "code"],
        model_name=about.repo.split("/")[-1],
        eval_results=results(record),
    )
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # it writes Markdown, not HTML
    )
    sample = _sample(record)
    return environment.get_template("card.md.jinja").render(
        metadata=data.to_yaml(),
        about=about,
        base=about.base or about.repo,
        run=record,
        change=before_after(record.evaluations),
        command=command(record.path),
        sample=sample,
        fence=_fence(sample),
        settings=record.config,
    )


def results(record: RunRecord) -> list[Any] | None:
    """The last evaluation's figures as the hub lists them; None without one."""
    from huggingface_hub import EvalResult

    if not record.evaluations:
        return None
    last = record.evaluations.get("after") or list(record.evaluations.values())[-1]
    problems = printable(str(record.config.get("problems", "problems")))
    found = [
        EvalResult(
            task_type="text-generation",
            dataset_type=problems,
            dataset_name=f"{problems}, {last.get('problems')} held-out problems",
            dataset_split=str(last.get("split")),
            metric_type=key,
            metric_name=label,
            metric_value=last[key]["value"],
        )
        for key, label in FIGURES.items()
        if isinstance(last.get(key), Mapping) and last[key].get("value") is not None
    ]
    return found or None


def command(run: Path) -> str:
    """The command line that makes this run again: what differs from the defaults; empty where the settings are lost."""
    try:
        made = configure(file=run / CONFIG)
    except SelfplayError:
        return ""
    named: dict[str, str | None] = {"preset": made.preset} if made.preset else {}
    if made.model != PRESETS.get(made.preset or "", {}).get("model"):
        named["model"] = made.model
    usual = to_flags(Config(**named))
    given = [
        flag
        for each, flag, default in zip(fields(Config), to_flags(made), usual, strict=True)
        if flag != default and not each.metadata["anew"] and each.name != "output_dir"
    ]
    return " ".join(["python -m selfplay.train", *(f"--{name}={value}" for name, value in named.items()), *given])


def curves(record: RunRecord) -> str:
    """The held-out figures over the stages, as a picture of its own; empty without them."""
    chart = held_out(record.evaluations)
    if len(record.evaluations) < 2 or not chart.lines:
        return ""
    return chart.svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1).replace(">", f">{_STYLE}", 1)


def _sample(record: RunRecord) -> str:
    """One of the last episodes; empty where none is kept."""
    found = None
    for _, match in islice(Matches(record.path), LOOKED):
        found = match
    return printable(sample_text(found)) if found else ""


def _fence(text: str) -> str:
    return "`" * (max([3, *(len(run) + 1 for run in re.findall(r"`+", text))]))
