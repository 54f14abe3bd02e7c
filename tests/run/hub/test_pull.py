"""A player from the hub: what was pushed comes back, and what is no player is refused."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import HfApi

from selfplay.errors import BadInput
from selfplay.learning.sources import source_of
from selfplay.run.adapters import AdapterError, find_adapters
from selfplay.run.hub.client import HubError
from selfplay.run.hub.pull import pull
from selfplay.run.hub.push import push


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))


def test_what_was_pushed_comes_back(finished: Path, hub: Any, api: HfApi) -> None:
    push(finished, "me/run", api=api)
    folder = pull("me/run", endpoint=hub.url, token=str(api.token))
    for role in ("generator", "discriminator"):
        name = f"{role}/adapter_model.safetensors"
        assert (folder / name).read_bytes() == (finished / "adapters" / name).read_bytes()
    assert (folder / "config.yaml").read_text() == (finished / "config.yaml").read_text()


def test_nothing_else_is_fetched(finished: Path, hub: Any, api: HfApi) -> None:
    push(finished, "me/run", api=api)
    hub.repositories["me/run"].branches["main"]["evil.py"] = b"print(1)"
    folder = pull("me/run", endpoint=hub.url, token=str(api.token))
    assert not (folder / "evil.py").exists()
    assert not (folder / "model.safetensors").exists()


def test_a_repository_that_is_not_there_is_said(hub: Any, api: HfApi) -> None:
    with pytest.raises(HubError, match="me/none was not fetched: there is no such user"):
        pull("me/none", endpoint=hub.url, token=str(api.token))


def test_a_repository_without_adapters_is_refused(finished: Path, hub: Any, api: HfApi) -> None:
    push(finished, "me/run", api=api)
    del hub.repositories["me/run"].branches["main"]["discriminator/adapter_model.safetensors"]
    with pytest.raises(BadInput, match="holds no adapter of the discriminator"):
        pull("me/run", endpoint=hub.url, token=str(api.token))


def test_a_run_can_begin_on_adapters_from_the_hub(
    finished: Path, hub: Any, api: HfApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(finished, "me/run", api=api)
    monkeypatch.setattr("selfplay.run.hub.pull.client", lambda: api)
    monkeypatch.setenv("HF_TOKEN", str(api.token))
    found = find_adapters("me/run")
    assert found.rank == 2
    assert set(found.folders) == {"generator", "discriminator"}
    with pytest.raises(BadInput, match="me/none is no folder here, and me/none was not fetched: there is no such user"):
        find_adapters("me/none")


def test_a_player_is_named_by_its_place_on_the_hub(
    finished: Path, hub: Any, api: HfApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(finished, "me/run", api=api)
    monkeypatch.setattr("selfplay.run.hub.pull.client", lambda: api)
    monkeypatch.setenv("HF_TOKEN", str(api.token))
    source = source_of("me/run")
    assert (source.name, source.settings["lora_rank"], source.config().embedded) == ("me/run", 2, True)


def test_a_folder_that_is_not_there_is_not_looked_for_on_the_hub(
    tmp_path: Path, hub: Any, api: HfApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("selfplay.run.hub.pull.client", lambda: api)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    with pytest.raises(AdapterError, match="no adapters in runs/typo"):
        find_adapters("runs/typo")
    assert hub.asked == []


@pytest.fixture
def silent() -> Iterator[str]:
    """An address where somebody listens and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture
def closed() -> str:
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.mark.parametrize("place", ["silent", "closed"])
def test_a_mistyped_player_is_refused_where_no_hub_answers(
    place: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("selfplay.run.hub.pull.PATIENCE", 0.2)
    monkeypatch.setattr("selfplay.run.hub.pull.client", lambda: HfApi(endpoint=request.getfixturevalue(place)))
    with pytest.raises(
        BadInput, match=r"me/typo is no folder here, and me/typo cannot be fetched: http://127\S* does not"
    ):
        source_of("me/typo")


def test_what_was_fetched_before_plays_without_a_hub(finished: Path, hub: Any, api: HfApi, closed: str) -> None:
    push(finished, "me/run", api=api)
    fetched = pull("me/run", endpoint=hub.url, token=str(api.token))
    assert pull("me/run", endpoint=closed) == fetched
