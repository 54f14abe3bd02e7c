"""The page: one HTML file from a run's folder, made of the template, style and script beside this module.

Every text is escaped by the template or, in the viewer's data, by `embedded`; the script shows it as text alone, and the page's
own policy lets the browser run this script and load nothing. The file is written beside its place and then moved there.
"""

from __future__ import annotations

import base64
import hashlib
import html
import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from selfplay.errors import BadInput
from selfplay.game.stages import STAGES
from selfplay.match.show import LEGEND
from selfplay.printing import printable
from selfplay.run.alarms import Alarm, Watch
from selfplay.run.progress import FIGURES, change, interval
from selfplay.run.reading import Ledger, RunRecord, ledger_of, read_run
from selfplay.run.report.curves import charts
from selfplay.run.report.episodes import Gallery, embedded
from selfplay.run.report.tallies import Tallies

HERE = Path(__file__).parent
NAME = "report.html"


@dataclass(frozen=True, slots=True)
class ReportFile:
    """Where the report lies, how large it is, and how much of the run it shows. In a notebook it shows itself."""

    path: Path
    size: int
    shown: int
    episodes: int

    def __str__(self) -> str:
        some = "" if self.shown == self.episodes else f", the viewer holds {self.shown} of them"
        return f"{self.path}: {self.size / 1e6:.1f} MB, {self.episodes} episodes{some}"

    def _repr_html_(self) -> str:
        text = html.escape(self.path.read_text(encoding="utf-8"))
        return f'<iframe title="{html.escape(str(self.path))}" srcdoc="{text}" width="100%" height="900"></iframe>'


def write_report(run: Path, out: Path | None = None) -> ReportFile:
    """The report of the run in `run`, written to `out` (RUN/report.html). Raises BadInput."""
    record = read_run(run)
    ledger, gallery, tallies = ledger_of(run), Gallery(), Tallies()
    watch = Watch(dict(record.made_with) | {"ledger": record.config.get("ledger")})
    for step in record.steps:
        watch.step(step)
    for _, step in groupby(ledger.with_records(), key=lambda read: read[2].step.index):
        own = list(step)
        watch.episodes(record for _, record, _ in own)
        for _, _, match in own:
            gallery.take(match)
            tallies.take(match)
    text = page(record, ledger, gallery, tallies, sorted(watch.raised, key=lambda alarm: alarm.step))
    path = out or run / NAME
    _write(path, text)
    return ReportFile(path, len(text.encode()), gallery.shown, gallery.episodes)


def page(record: RunRecord, ledger: Ledger, gallery: Gallery, tallies: Tallies, alarms: list[Alarm]) -> str:
    """The whole page."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined)
    script = (HERE / "page.js").read_text(encoding="utf-8")
    everything = dict(record.config) | dict(record.made_with)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.get_template("page.html.jinja").render(
        run=record,
        name=printable(record.path.resolve().name),
        notes=notes(record, ledger, gallery),
        before_after=before_after(record.evaluations),
        charts=[(chart, Markup(chart.svg)) for chart in charts(record.steps, record.evaluations)],
        alarms=alarms,
        tallies=tallies,
        gallery=gallery,
        index=Markup(
            embedded({"legend": LEGEND, "stages": [stage.name for stage in STAGES], "groups": gallery.entries})
        ),
        texts=[Markup(text) for text in gallery.texts],
        settings=[(printable(str(name)), printable(str(value))) for name, value in everything.items()],
        style=Markup((HERE / "page.css").read_text(encoding="utf-8")),
        script=Markup(script),
        digest=digest,
    )


def notes(record: RunRecord, ledger: Ledger, gallery: Gallery) -> list[str]:
    """What a reader has to know about what is missing."""
    said = [record.state]
    if gallery.shown < gallery.episodes:
        said.append(
            f"The viewer holds {gallery.shown} of {gallery.episodes} episodes, evenly over the run, so that the page stays "
            "small; curves and counts are of all."
        )
    if not gallery.episodes:
        said.append("No episodes are recorded.")
    if not record.config:
        said.append("The settings (config.yaml) are missing or cannot be read.")
    damaged = record.damaged + ledger.lines.damaged
    if damaged:
        said.append(f"Lines left out because they are not whole: {damaged}.")
    if ledger.strange:
        said.append(f"Records left out because they are of another version: {ledger.strange}.")
    if record.steps and not record.adapters:
        said.append("There are no adapters in the folder (yet).")
    return said


@dataclass(frozen=True, slots=True)
class BeforeAfter:
    """The table of the held-out figures. `about` says what is compared, and on what."""

    about: str
    headers: tuple[str, str]
    rows: tuple[tuple[str, str, str, str], ...]


def before_after(evaluations: Mapping[str, Mapping[str, Any]]) -> BeforeAfter | None:
    """Before against after, or against the last evaluation there is; None without two of them."""
    if "before" not in evaluations or len(evaluations) < 2:
        return None
    last = "after" if "after" in evaluations else list(evaluations)[-1]
    before, after = evaluations["before"], evaluations[last]
    about = f"{after.get('split', '?')} split, {after.get('problems', '?')} problems; 95 % intervals over problems."
    if after.get("problems") != before.get("problems"):
        about += (
            f" The run has no evaluation at the end; `before` was measured on {before.get('problems', '?')} problems."
        )
    rows = tuple(
        (
            label,
            interval(before[key]),
            interval(after[key]),
            change(before[key], after[key], after.get("change", {}).get(key)),
        )
        for key, label in FIGURES.items()
        if key in before and key in after
    )
    return BeforeAfter(about, ("before", last), rows)


def _write(path: Path, text: str) -> None:
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise BadInput(f"{path} cannot be written ({error.strerror or error}); give another --out") from None
