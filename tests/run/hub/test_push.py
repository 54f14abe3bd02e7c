"""A push by the real client to a hub on this machine: what arrives, what is refused, and what every fault says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import HfApi

from selfplay.errors import BadInput
from selfplay.run import checkpoints
from selfplay.run.adapters import AdapterError
from selfplay.run.checkpoints import About
from selfplay.run.hub.client import HubError
from selfplay.run.hub.push import push

ROOT = Path(__file__).parents[3]


def settings_of(hub: Any, role: str) -> dict[str, Any]:
    return json.loads(hub.files("me/run")[f"{role}/adapter_config.json"])


def test_a_push_makes_a_private_repository_with_both_adapters_and_a_card(finished: Path, hub: Any, api: HfApi) -> None:
    pushed = push(finished, "me/run", api=api)
    assert hub.repositories["me/run"].private
    for role in ("generator", "discriminator"):
        weights = (finished / "adapters" / role / "adapter_model.safetensors").read_bytes()
        assert hub.files("me/run")[f"{role}/adapter_model.safetensors"] == weights
    assert pushed.url == f"{hub.url}/me/run"
    assert pushed.size == sum(map(len, hub.files("me/run").values()))
    assert hub.repositories["me/run"].commits == 1


def test_what_is_pushed_is_what_a_player_of_this_name_plays(finished: Path, hub: Any, api: HfApi) -> None:
    for step, score in ((1, 0.9), (2, 0.1)):

        def save(folder: Path, step: int = step) -> None:
            shutil.copytree(finished / "adapters", folder / "adapters")
            (folder / "adapters" / "generator" / "adapter_model.safetensors").write_bytes(b"after %d" % step)

        checkpoints.write(finished, About(step, 2, 1, True, scores={"code_greedy": score}), save)
    push(finished, "me/run", api=api)
    assert hub.files("me/run")["generator/adapter_model.safetensors"] == b"after 1"


def test_everybody_can_read_only_what_was_pushed_as_public(finished: Path, hub: Any, api: HfApi) -> None:
    push(finished, "me/run", public=True, api=api)
    assert not hub.repositories["me/run"].private


def test_a_second_push_goes_into_the_same_repository(finished: Path, hub: Any, api: HfApi) -> None:
    push(finished, "me/run", api=api)
    push(finished, "me/run", api=api)
    assert hub.repositories["me/run"].commits == 2


def test_a_push_to_a_branch_leaves_main_alone(finished: Path, hub: Any, api: HfApi) -> None:
    push(finished, "me/run", revision="trial", api=api)
    assert "README.md" in hub.files("me/run", "trial")
    assert "README.md" not in hub.files("me/run")


def test_no_path_of_this_machine_is_in_the_adapters(finished: Path, hub: Any, api: HfApi) -> None:
    push(finished, "me/run", api=api)
    assert settings_of(hub, "generator")["base_model_name_or_path"] == "me/run"


def name_base(run: Path, base: str) -> None:
    for role in ("generator", "discriminator"):
        path = run / "adapters" / role / "adapter_config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"base_model_name_or_path": base}))


@pytest.mark.parametrize("named", ["embedded", "/somewhere/selfplay/tiny/player"])
def test_the_embedded_player_is_pushed_along(named: str, finished: Path, hub: Any, api: HfApi) -> None:
    name_base(finished, named)
    push(finished, "me/run", api=api)
    assert {"model.safetensors", "config.json", "tokenizer.json"} <= set(hub.files("me/run"))
    assert settings_of(hub, "generator")["base_model_name_or_path"] == "me/run"
    assert "base_model" not in hub.files("me/run")["README.md"].decode().split("---")[1]


@pytest.mark.parametrize("named", ["FOLDER", "my-model", "", "/models/somebody/model"])
def test_a_base_in_a_folder_needs_its_name_on_the_hub(
    named: str, finished: Path, hub: Any, api: HfApi, tmp_path: Path
) -> None:
    name_base(finished, str(tmp_path) if named == "FOLDER" else named)
    with pytest.raises(BadInput, match="give --base with its name on the hub"):
        push(finished, "me/run", api=api)
    push(finished, "me/run", base="somebody/model", api=api)
    assert settings_of(hub, "discriminator")["base_model_name_or_path"] == "somebody/model"
    assert "base_model: somebody/model" in hub.files("me/run")["README.md"].decode()
    assert "model.safetensors" not in hub.files("me/run")


@pytest.mark.parametrize("name", ["../../evil", "a b", "<script>"])
def test_a_base_or_a_data_set_that_is_no_name_is_refused(name: str, finished: Path, hub: Any, api: HfApi) -> None:
    with pytest.raises(HubError, match="is no name on the hub"):
        push(finished, "me/run", base=name, api=api)
    with pytest.raises(HubError, match="is no name on the hub"):
        push(finished, "me/run", dataset=name, api=api)
    assert hub.asked == []


def test_a_run_without_adapters_is_refused_before_the_hub_is_asked_to_make_anything(
    run_folder: Path, hub: Any, api: HfApi
) -> None:
    with pytest.raises(AdapterError, match="no adapters in"):
        push(run_folder, "me/run", api=api)
    assert hub.repositories == {}


def test_a_repository_that_holds_something_else_is_left_alone(finished: Path, hub: Any, api: HfApi) -> None:
    push(finished, "me/run", api=api)
    hub.repositories["me/run"].branches["main"] = {"README.md": b"mine", "model.bin": b""}
    with pytest.raises(HubError, match=r"me/run holds something else \(README.md, model.bin\); give another name"):
        push(finished, "me/run", api=api)


def test_a_public_repository_is_not_pushed_to_by_accident(finished: Path, hub: Any, api: HfApi) -> None:
    push(finished, "me/run", public=True, api=api)
    with pytest.raises(HubError, match="can be read by everybody; give --public"):
        push(finished, "me/run", api=api)


@pytest.mark.parametrize("name", ["run", "a/b/c", "me/ru n", "me/..", ""])
def test_a_name_that_is_none_is_refused(name: str, finished: Path, api: HfApi) -> None:
    with pytest.raises(HubError, match="the name of a repository is user/name"):
        push(finished, name, api=api)


def test_a_name_of_somebody_else_is_refused(finished: Path, api: HfApi) -> None:
    with pytest.raises(HubError, match="the token may not write there; take a name of your own"):
        push(finished, "you/run", api=api)


def test_without_a_token_it_is_said_how_to_get_one(
    finished: Path, hub: Any, api: HfApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    with pytest.raises(HubError, match="log in with `hf auth login`, or set HF_TOKEN"):
        push(finished, "me/run", api=HfApi(endpoint=hub.url))
    assert hub.asked == []


def test_a_wrong_token_is_said_and_not_shown(finished: Path, hub: Any, api: HfApi) -> None:
    with pytest.raises(HubError, match="the token is not accepted") as caught:
        push(finished, "me/run", api=HfApi(endpoint=hub.url, token="hf_wrong"))
    assert "hf_wrong" not in str(caught.value)
    assert caught.value.__cause__ is None


FAULTS = {
    ("/repos/create", 401): "the token is not accepted",
    ("/repos/create", 403): "may not write there",
    ("/preupload/", 404): "there is no such user",
    ("/commit/", 409): "somebody changed it at the same moment; try again",
    ("/batch", 413): "too large",
    ("/commit/", 429): "the hub asks to wait",
    ("/commit/", 503): r"the hub failed \(status 503\)",
    ("/blob/", 500): r"the hub failed \(status 500\)",
    ("/blob/", "break"): "the connection failed",
    ("/preupload/", "page"): r"the connection failed \(JSONDecodeError\)",
    ("/commit/", 418): r"the hub refused it \(status 418: as the test wants it\)",
}


@pytest.mark.parametrize(("where", "fault"), FAULTS, ids=lambda each: str(each))
def test_a_fault_of_the_hub_is_a_sentence_with_the_way_out(
    where: str, fault: int | str, finished: Path, hub: Any, api: HfApi
) -> None:
    hub.fails[where] = [fault] * 50
    with pytest.raises(HubError, match=FAULTS[where, fault]) as caught:
        push(finished, "me/run", api=api)
    assert str(api.token) not in str(caught.value)
    if "me/run" in hub.repositories:
        assert hub.repositories["me/run"].commits == 0


@pytest.mark.parametrize(("where", "fault"), [("/blob/", 503), ("/blob/", "break"), ("/batch", 429)])
def test_a_fault_that_passes_is_tried_again(where: str, fault: int | str, finished: Path, hub: Any, api: HfApi) -> None:
    hub.fails[where] = [fault]
    push(finished, "me/run", api=api)
    assert hub.repositories["me/run"].commits == 1


def test_the_command_says_in_one_line_why_nothing_was_pushed(finished: Path, hub: Any, tmp_path: Path) -> None:
    place = {"HF_ENDPOINT": hub.url, "HF_TOKEN": "hf_wrong", "HF_HOME": str(tmp_path), "HF_HUB_DISABLE_XET": "1"}
    command = [sys.executable, "-m", "selfplay.hub", "push", str(finished), "me/run"]
    ran = subprocess.run(command, env=os.environ | place, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 2
    assert ran.stderr == (
        "selfplay.hub: me/run was not pushed: the token is not accepted; log in again with `hf auth login`, or set HF_TOKEN\n"
    )
