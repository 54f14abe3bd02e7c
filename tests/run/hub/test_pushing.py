"""Pushing while a run goes on: what arrives when, and that no fault of the hub reaches the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import HfApi

from selfplay.config import Config
from selfplay.run.hub.client import HubError
from selfplay.run.hub.push import Pushing


class Nothing:
    def save(self, folder: Path) -> None: ...


def pushing(run: Path, api: HfApi, said: list[str]) -> Pushing:
    return Pushing(Config(output_dir=str(run), push_to_hub="me/run"), said.append, api)


def test_the_end_of_a_run_is_pushed_and_waited_for(finished: Path, hub: Any, api: HfApi) -> None:
    said: list[str] = []
    one = pushing(finished, api, said)
    one.save(Nothing())
    one.close()
    assert hub.repositories["me/run"].commits == 1
    assert said[-1].startswith(f"pushed to {hub.url}/me/run (")


@pytest.mark.parametrize("fault", [401, 409, 503, "break"])
def test_a_push_that_fails_is_said_with_the_command_that_repeats_it(
    fault: int | str, finished: Path, hub: Any, api: HfApi
) -> None:
    hub.fails["/preupload/"] = [fault] * 50
    said: list[str] = []
    one = pushing(finished, api, said)
    one.save(Nothing())
    one.close()
    assert said[-1].startswith("me/run was not pushed: ")
    assert said[-1].endswith(f"To push later: python -m selfplay.hub push {finished} me/run")
    assert str(api.token) not in "".join(said)


def test_a_run_that_saved_nothing_pushes_nothing_and_says_so(run_folder: Path, hub: Any, api: HfApi) -> None:
    said: list[str] = []
    one = pushing(run_folder, api, said)
    one.save(Nothing())
    one.close()
    assert "no adapters in" in said[-1]


def test_without_a_token_a_run_is_refused_before_it_begins(
    finished: Path, hub: Any, api: HfApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    with pytest.raises(HubError, match="there is no token"):
        pushing(finished, HfApi(endpoint=hub.url), [])
