"""The card of a pushed run: the hub's metadata, with evaluation results in its own form, and a page from a template.

Figures come from the run's records, the command from its settings. What models wrote stands in a fence longer than any
in it. Problems are named by the package's sets, or by the name on the hub that whoever pushes gives to a file; a file's path
stands in the command alone.
"""

from __future__ import annotations

import shlex
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from selfplay.config import Config, configure, to_flags
from selfplay.config.layers import PRESETS
from selfplay.errors import SelfplayError
from selfplay.game.problems import SETS
from selfplay.match.show import sample_text
from selfplay.printing import printable
from selfplay.run.folder import CONFIG
from selfplay.run.progress import FIGURES
from selfplay.run.reading import RunRecord, ledger_of
from selfplay.run.report.curves import held_out
from selfplay.run.report.page import before_after

if TYPE_CHECKING:
    from huggingface_hub import HfApi

CURVES = "curves.svg"
TAG = "selfplay"  # by which a repository of ours is known
LOOKED = 200  # matches among which the sample is looked for
LONGEST = 20_000  # characters of the sample
PATIENCE = 10  # seconds that the hub may take to tell of a base
VLLM_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)  # the values that its `max_lora_rank` takes
_STYLE = (
    "<style>text{font:10px sans-serif;fill:#5b6675}.grid{stroke:#d8dee6}polyline{fill:none;stroke:currentColor;"
    "stroke-width:1.6}circle{fill:currentColor}.bar{stroke:currentColor;opacity:.6}.c0{color:#0b57c2}.c1{color:#b3500b}"
    ".c2{color:#17803d}.c3{color:#7a3fb0}</style>"
)


@dataclass(frozen=True, slots=True)
class Subject:
    """What the card is of: the repository, the base on the hub (None: the embedded player, pushed along), the LoRA rank, the
    name on the hub of the problems (None: it is not known)."""

    repo: str
    base: str | None
    curves: bool
    rank: int
    dataset: str | None = None

    @property
    def served_rank(self) -> int | None:
        """What vLLM is told: the least of its ranks that holds this one; None where none does."""
        return next((rank for rank in VLLM_RANKS if rank >= self.rank), None)


def card(record: RunRecord, about: Subject, api: HfApi) -> str:
    """The text of README.md; `api` is asked for the base's licence."""
    from huggingface_hub import ModelCardData
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    licence: dict[str, Any] = licence_of(about.base, api)
    data = ModelCardData(
        base_model=about.base,
        datasets=datasets(record, about),
        library_name="peft",
        pipeline_tag="text-generation",
        tags=[TAG, "self-play", "reinforcement-learning", "lora", "code"],
        model_name=about.repo.split("/")[-1],
        eval_results=results(record, about),
        **licence,
    )
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # it writes Markdown, not HTML
    )
    sample, fence = _sample(record), "```"
    while fence in sample:
        fence += "`"
    return environment.get_template("card.md.jinja").render(
        metadata=data.to_yaml(),
        about=about,
        base=about.base or about.repo,
        run=record,
        change=before_after(record.evaluations),
        command=command(record.path),
        sample=sample,
        fence=fence,
        settings=record.config,
        problems=_problems(record),
        licence=licence,
    )


def datasets(record: RunRecord, about: Subject) -> list[str] | None:
    """What the problems are called; None where they are a file without a name on the hub."""
    if about.dataset:
        return [about.dataset]
    own = str(record.config.get("problems"))
    return [own.partition("/")[0]] if own in SETS else None


def _problems(record: RunRecord) -> str:
    """A set of the package, or a file's name without its path."""
    own = str(record.config.get("problems", "problems"))
    return own if own in SETS else printable(Path(own).name)


def results(record: RunRecord, about: Subject) -> list[Any] | None:
    """The last evaluation's figures as the hub lists them; None without one."""
    from huggingface_hub import EvalResult

    if not record.evaluations:
        return None
    last = record.evaluations.get("after") or list(record.evaluations.values())[-1]
    problems = _problems(record)
    found = [
        EvalResult(
            task_type="text-generation",
            dataset_type=about.dataset or problems,
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
    return shlex.join(
        ["python", "-m", "selfplay.train", *(f"--{name}={value}" for name, value in named.items()), *given]
    )


def curves(record: RunRecord) -> str:
    """The held-out figures over the stages, as a picture of its own; empty without them."""
    chart = held_out(record.evaluations)
    if len(record.evaluations) < 2 or not chart.lines:
        return ""
    return chart.svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1).replace(">", f">{_STYLE}", 1)


def _sample(record: RunRecord) -> str:
    """One of the last episodes; empty where none is kept."""
    matches = deque((match for _, match in islice(ledger_of(record.path), LOOKED)), maxlen=1)
    text = sample_text(matches[0]) if matches else ""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n... {len(text) - LONGEST} more characters"


def licence_of(base: str | None, api: HfApi) -> dict[str, str]:
    """Of adapters: that of the model that they were made for, as its own card on the hub says it, in the hub's form.

    A model that names no licence, or none in a plain form, leaves `other`, with its page to look at. None: the embedded player.
    """
    from httpx import HTTPError
    from huggingface_hub.errors import HFValidationError

    if base is None:
        return {"license": "mit"}
    page = f"{api.endpoint}/{base}"
    try:
        stated = api.model_info(base, timeout=PATIENCE).card_data or {}
    except (OSError, HTTPError, HFValidationError, ValueError):
        stated = {}
    given = stated.get("license")
    name = _plain(given[0] if isinstance(given, list) and len(given) == 1 else given)
    if name and name != "other":
        return {"license": name}
    link = _plain(stated.get("license_link"), "/:?=%#_~") if name else ""
    if link and not link.startswith("https://"):
        link = "" if "/" in link or ":" in link else f"{page}/blob/main/{link}"
    own = _plain(stated.get("license_name")) if name else ""
    return {"license": "other", "license_name": own or "that-of-the-base-model", "license_link": link or page}


def _plain(value: object, signs: str = "") -> str:
    """A word of letters, digits, dots, dashes and these signs; nothing for any other text, which is a stranger's."""
    text = value if isinstance(value, str) and len(value) <= 300 else ""
    return text if text.isascii() and all(each.isalnum() or each in f".-+{signs}" for each in text) else ""
