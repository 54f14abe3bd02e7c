"""Whether a model may think is told from its chat template, by its switch, or by its family."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from selfplay.learning.choice import may_think

KNOWS, KNOWS_NOT = "{{ content.split('</think>')[-1] }}", "{{ content }}"


@pytest.mark.parametrize(("template", "thinks"), [(KNOWS, True), (KNOWS_NOT, False)])
@pytest.mark.parametrize("place", ["tokenizer_config.json", "chat_template.jinja"])
def test_a_template_that_names_the_marks_of_a_thought_may_think(
    place: str, template: str, thinks: bool, tmp_path: Path
) -> None:
    settings = {
        "added_tokens_decoder": {"7": "</think>"}
    }  # Qwen's tokenizers have the mark, whatever their template does
    if place == "tokenizer_config.json":
        settings["chat_template"] = template  # type: ignore[assignment]
    else:
        (tmp_path / place).write_text(template)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    assert may_think(str(tmp_path), "auto") is thinks
    assert may_think(str(tmp_path), "on")
    assert not may_think(str(tmp_path), "off")


@pytest.mark.parametrize(
    ("name", "thinks"),
    [
        ("Qwen/Qwen3-8B", True),
        ("Qwen/Qwen3-4B-Instruct-2507", False),
        ("Qwen/Qwen2.5-7B-Instruct", False),
        ("no such folder", False),
    ],
)
def test_a_name_alone_thinks_by_its_family(name: str, thinks: bool) -> None:
    assert may_think(name, "auto") is thinks


def test_files_that_cannot_be_read_are_left_to_the_tokenizer(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text("{")
    assert not may_think(str(tmp_path), "auto")
