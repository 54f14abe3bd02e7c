"""Where the top-level folders are found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from selfplay import resources
from selfplay.resources import MissingResource, resource


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    resource.cache_clear()
    yield
    resource.cache_clear()


@pytest.mark.parametrize("name", ["prompts", "datasets", "sandbox", "attacks"])
def test_the_top_level_folders_are_found(name: str) -> None:
    assert resource(name).is_dir()


def test_an_installed_wheel_s_own_copy_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "selfplay" / "_data" / "prompts").mkdir(parents=True)
    (tmp_path / "prompts").mkdir()
    monkeypatch.setattr(resources, "_PACKAGE", tmp_path / "selfplay")
    assert resource("prompts") == tmp_path / "selfplay" / "_data" / "prompts"


def test_a_missing_folder_is_named_with_the_places_where_it_was_sought() -> None:
    with pytest.raises(MissingResource, match=r"'nothing'.*wheel.*checkout"):
        resource("nothing")
