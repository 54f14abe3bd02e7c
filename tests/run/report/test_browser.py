"""The report in a real browser: what a model wrote does nothing there, and keys alone are enough to read it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from selfplay.run.report import write_report

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright (pip install playwright)")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if CHROMIUM is None:
    pytest.skip("needs Chromium (apt install chromium)", allow_module_level=True)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Any, run_folder: Path) -> Iterator[Any]:
    path = write_report(run_folder).path
    page = browser.new_page(viewport={"width": 390, "height": 844})
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    yield page
    assert asked == [path.as_uri()]
    page.close()


def test_a_script_in_a_models_text_does_nothing_and_is_shown(opened: Any) -> None:
    opened.keyboard.press("j")
    shown = opened.inner_text("#group")
    assert "<script>window.harmed = 1</script>" in shown
    assert opened.evaluate("window.harmed === undefined && document.images.length === 0")


def test_a_script_that_came_into_the_page_all_the_same_is_not_run(browser: Any, run_folder: Path) -> None:
    path = write_report(run_folder).path
    path.write_text(path.read_text().replace("<main>", "<main><script>window.harmed = 1</script>"))
    page = browser.new_page()
    page.goto(path.as_uri())
    assert page.evaluate("window.harmed === undefined")


def test_groups_are_read_with_keys_alone(opened: Any) -> None:
    opened.keyboard.press("j")
    opened.keyboard.press("j")
    assert opened.evaluate("location.hash") == "#group-1"
    opened.keyboard.press("k")
    assert opened.evaluate("location.hash") == "#group-0"
    assert opened.evaluate("document.activeElement.id") == "group"


def test_filters_leave_the_groups_that_they_ask_for(opened: Any) -> None:
    opened.fill("#f-problem", "nothing of this name")
    assert opened.inner_text("#count") == "0 of 2 groups"
    opened.fill("#f-problem", "BIG")
    opened.check("#f-failed")
    assert opened.inner_text("#count") == "2 of 2 groups"


def test_the_viewer_works_in_the_frame_of_a_notebook(browser: Any, run_folder: Path, tmp_path: Path) -> None:
    outer = tmp_path / "notebook.html"
    outer.write_text(write_report(run_folder)._repr_html_(), encoding="utf-8")
    page = browser.new_page()
    page.goto(outer.as_uri())
    frame = page.frames[1]
    frame.click("#list li:nth-child(2) a")
    assert frame.inner_text("#group h3").startswith("big, step 1")
    assert frame.get_attribute("#list li:nth-child(2) a", "aria-current") == "true"
    assert page.url == outer.as_uri()


def test_the_page_is_as_wide_as_a_phone(opened: Any) -> None:
    opened.keyboard.press("j")
    assert opened.evaluate("document.documentElement.scrollWidth") == 390


def test_without_scripts_figures_and_curves_are_there_and_the_viewer_says_what_it_needs(
    browser: Any, run_folder: Path
) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(write_report(run_folder).path.as_uri())
    assert "The episode viewer needs JavaScript" in page.inner_text("body")
    assert page.locator("svg polyline").count() > 4


@pytest.mark.slow
def test_two_thousand_groups_open_in_three_seconds_and_twenty_megabytes(
    browser: Any, run_folder: Path, match_record: dict[str, Any]
) -> None:
    with open(run_folder / "episodes.jsonl", "a", encoding="utf-8") as file:
        file.writelines(json.dumps(match_record) + "\n" for _ in range(2000))
    written = write_report(run_folder)
    page = browser.new_page()
    page.goto(written.path.as_uri(), timeout=3000)
    page.wait_for_selector("#list a", timeout=3000)
    assert written.size < 20e6
