"""The report: one file that loads nothing, in which no text of a model is more than text."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import selfplay
from selfplay.errors import BadInput
from selfplay.match.ledger import from_json
from selfplay.report import main
from selfplay.run.report import page, write_report
from selfplay.run.report.episodes import Gallery, embedded, view


class Page(HTMLParser):
    """Elements of a page, the text of its data blocks, and its visible text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.data: dict[str, str] = {}
        self.text = ""
        self.scripts = 0
        self._inside: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = dict(attrs)
        self.tags.append((tag, own))
        if tag == "script":
            self.scripts += own.get("type") != "application/json"
            self._inside = own.get("id") or "script"
        if tag == "style":
            self._inside = "style"

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.data[self._inside] = self.data.get(self._inside, "") + data
        else:
            self.text += data


def read(folder: Path) -> Page:
    return Page(write_report(folder).path.read_text(encoding="utf-8"))


def cut(path: Path, count: int) -> None:
    path.write_bytes(path.read_bytes()[:-count])


def test_the_command_writes_the_page_into_the_run_and_says_its_size(
    run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(run_folder)]) == 0
    assert capsys.readouterr().out == f"{run_folder / 'report.html'}: 0.0 MB, 4 episodes\n"


def test_what_a_model_wrote_starts_no_element(run_folder: Path) -> None:
    shown = read(run_folder)
    assert shown.scripts == 1
    assert "img" not in {tag for tag, _ in shown.tags}


def test_the_page_loads_nothing(run_folder: Path) -> None:
    shown = read(run_folder)
    links = [own[name] for _, own in shown.tags for name in ("src", "href", "action", "srcset") if name in own]
    assert all(str(link).startswith("#") for link in links)
    assert "url(" not in shown.data["style"]
    assert "@import" not in shown.data["style"]


def test_the_browser_is_told_to_run_this_script_alone(run_folder: Path) -> None:
    policy = next(own["content"] for tag, own in read(run_folder).tags if tag == "meta" and "http-equiv" in own)
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "script-src 'sha256-" in policy


def test_a_match_is_whole_in_the_page(run_folder: Path, match_record: dict[str, Any]) -> None:
    group = json.loads(read(run_folder).data["m0"])
    assert group["problem"] == "big"
    assert "<script>window.harmed" in group["turns"][0][1]
    assert group["programs"] == ["....F", "...FF"]
    assert [chain["reward"] for chain in group["chains"]] == [
        round(chain["reward"], 3) for chain in match_record["chains"]
    ]


def test_a_character_that_hides_or_turns_text_is_escaped(run_folder: Path) -> None:
    assert "\\x1b\\u202e" in json.loads(read(run_folder).data["m0"])["turns"][0][1]


def test_before_and_after_stand_in_the_page_with_intervals(run_folder: Path) -> None:
    text = read(run_folder).text
    assert "0.25 [0.15, 0.35]" in text
    assert "+0.50" in text
    assert "Finished: 2 of 2 steps." in text


def test_a_run_that_was_cut_off_is_reported_as_far_as_it_is_whole(run_folder: Path) -> None:
    for name in ("metrics.jsonl", "episodes.jsonl"):
        cut(run_folder / name, 20)
    shown = read(run_folder)
    assert "Not finished: 2 of 2 steps are recorded." in shown.text
    assert "Lines left out because they are not whole: 2." in shown.text
    assert len(json.loads(shown.data["index"])["groups"]) == 1


def test_an_arm_that_leaves_steps_out_says_how_many_it_has(run_folder: Path) -> None:
    path = run_folder / "metrics.jsonl"
    path.write_text(path.read_text().replace('"step": 1, "steps": 2', '"step": 8, "steps": 10'))
    assert "Finished: 2 steps, the last of them 9 of 10." in read(run_folder).text


@pytest.mark.parametrize("step", ['"one"', "-1", "1.5", "null", "true", "1" + "0" * 400])
def test_a_step_without_a_number_is_left_out_and_counted(run_folder: Path, step: str) -> None:
    path = run_folder / "metrics.jsonl"
    path.write_text(path.read_text().replace('"step": 1,', f'"step": {step},'))
    shown = read(run_folder)
    assert "Finished: 1 of 2 steps." in shown.text
    assert "Lines left out because they are not whole: 1." in shown.text


def test_a_run_that_has_just_begun_is_reported(run_folder: Path) -> None:
    for name in ("metrics.jsonl", "episodes.jsonl"):
        (run_folder / name).unlink()
    shown = read(run_folder)
    assert "No step is done yet. No episodes are recorded." in shown.text


def test_settings_that_cannot_be_read_are_said_to_be_missing(run_folder: Path) -> None:
    (run_folder / "config.yaml").write_text("a: [")
    assert "The settings (config.yaml) are missing or cannot be read." in read(run_folder).text


@pytest.mark.parametrize("name", ["nothing", "file", "empty"])
def test_a_folder_without_a_run_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="give the --output-dir of"):
        write_report(tmp_path / name)


def test_a_place_that_cannot_be_written_is_named(run_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"cannot be written .*; give another --out"):
        write_report(run_folder, tmp_path / "no" / "report.html")


def test_a_report_over_its_room_keeps_matches_evenly_and_says_so(
    run_folder: Path, match_record: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(embedded(view(from_json(match_record))).encode())
    with open(run_folder / "episodes.jsonl", "a", encoding="utf-8") as file:
        file.writelines(json.dumps(match_record) + "\n" for _ in range(14))
    monkeypatch.setattr(page, "Gallery", lambda: Gallery(room=5 * size))
    shown = read(run_folder)
    assert [group["n"] for group in json.loads(shown.data["index"])["groups"]] == [0, 4, 8, 12]
    assert "The viewer holds 8 of 32 episodes" in shown.text


def test_alarms_of_steps_and_of_episodes_stand_in_the_page(run_folder: Path) -> None:
    with open(run_folder / "metrics.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps({"kind": "step", "step": 2, "role": "generator", "skipped": 1}) + "\n")
    text = read(run_folder).text
    assert "the generator's update was skipped" in text
    assert "2 of 2 turns of the discriminator at stage 2 (Structured Reasoning) are empty" in text
    assert text.index("are empty") < text.index("was skipped")


def test_what_fails_and_what_kills_is_counted_over_all_matches(run_folder: Path) -> None:
    text = read(run_folder).text
    assert "big24" in text
    assert "bigassert f(3) is True68" in text


def test_a_notebook_shows_the_report_in_a_frame_of_its_own(run_folder: Path) -> None:
    written = selfplay.report(run_folder)
    frame = Page(written._repr_html_())
    [(tag, own)] = frame.tags
    assert tag == "iframe"
    assert own["srcdoc"] == written.path.read_text(encoding="utf-8")
