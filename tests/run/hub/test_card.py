"""The card: its lines load what was pushed, its metadata is the hub's, and what models wrote stays in its fence."""

from __future__ import annotations

import ast
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from huggingface_hub import HfApi
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import PreTrainedTokenizerFast

from selfplay.game.episode import ROLES
from selfplay.run.hub.card import Subject, card, command
from selfplay.run.hub.push import push
from selfplay.run.reading import read_run
from tests.learning.conftest import build_model


def card_of(hub: Any) -> str:
    return hub.files("me/run")["README.md"].decode()


def metadata_of(hub: Any) -> dict[str, Any]:
    return yaml.safe_load(card_of(hub).split("---\n")[1])


def lines_of(hub: Any, title: str) -> str:
    """The lines that the card gives for loading."""
    return card_of(hub).partition(f"{title}\n")[2].partition("```python\n")[2].partition("```")[0]


def printed(code: str, api: HfApi, home: Path) -> str:
    """What a program prints in a process of its own whose hub is that of `api`."""
    place = {"HF_ENDPOINT": api.endpoint, "HF_TOKEN": str(api.token), "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1"}
    ran = subprocess.run([sys.executable, "-c", code], env=os.environ | place, cwd=home, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran.stdout.strip()


@pytest.fixture
def chatty(finished: Path, hub: Any, tmp_path: Path, tokenizer: PreTrainedTokenizerFast) -> Path:
    """A run of a small random model with a chat template, which lies on the hub as me/base."""
    base = tmp_path / "base"
    model = build_model(hidden_size=64, intermediate_size=128, initializer_range=0.2)  # 4 bit needs 64 and more
    model.save_pretrained(base)
    tokenizer.save_pretrained(base)
    hub.put("me/base", {path.name: path.read_bytes() for path in base.iterdir()})
    settings = LoraConfig(r=4, target_modules=["q_proj"], task_type="CAUSAL_LM", init_lora_weights=False)
    torch.manual_seed(0)
    adapted = get_peft_model(model, settings, "generator")
    assert isinstance(adapted, PeftModel)
    adapted.add_adapter("discriminator", settings)
    shutil.rmtree(finished / "adapters")
    adapted.save_pretrained(str(finished / "adapters"))
    for role in ROLES:
        path = finished / "adapters" / role / "adapter_config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"base_model_name_or_path": "me/base"}))
    return finished


def test_the_lines_for_peft_load_both_adapters(finished: Path, hub: Any, api: HfApi, tmp_path: Path) -> None:
    push(finished, "me/run", api=api)
    told = "print(sorted(model.peft_config), model.active_adapter)"
    assert printed(f"{lines_of(hub, 'With PEFT:')}\n{told}", api, tmp_path) == (
        "['discriminator', 'generator'] generator"
    )


BOTH_SPEAK = """
import torch
asked = tokenizer.apply_chat_template(
    [{"role": "user", "content": "f"}], add_generation_prompt=True, return_tensors="pt", return_dict=True
)
said = {}
for role in ("generator", "discriminator"):
    model.set_adapter(role)
    with torch.no_grad():
        said[role] = model(**asked.to(model.device)).logits
print("TOLD", model.is_quantized, sorted(said), bool((said["generator"] != said["discriminator"]).any()))
"""


@pytest.mark.unsloth
@pytest.mark.parametrize("run", ["chatty", "finished"])
def test_the_lines_for_unsloth_load_both_adapters_in_four_bit(
    run: str, request: pytest.FixtureRequest, hub: Any, api: HfApi, tmp_path: Path
) -> None:
    push(request.getfixturevalue(run), "me/run", api=api)
    said = printed(lines_of(hub, "With Unsloth:") + BOTH_SPEAK, api, tmp_path)
    assert said.rpartition("TOLD ")[2] == "True ['discriminator', 'generator'] True"


def test_the_metadata_is_the_hubs(finished: Path, hub: Any, api: HfApi) -> None:
    push(finished, "me/run", api=api)
    metadata = metadata_of(hub)
    assert (metadata["library_name"], metadata["license"], metadata["tags"][0]) == ("peft", "mit", "selfplay")
    [result] = metadata["model-index"][0]["results"]
    assert result["dataset"] == {"name": "procedural, 8 held-out problems", "type": "procedural", "split": "dev"}
    assert result["metrics"] == [{"type": "code_greedy", "value": 0.75, "name": "code correct, greedy"}]


LICENCES: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"license": "apache-2.0"}, {"license": "apache-2.0"}),
    ({"license": ["mit"]}, {"license": "mit"}),
    (
        {"license": "other", "license_name": "qwen-research", "license_link": "https://example.org/qwen"},
        {"license": "other", "license_name": "qwen-research", "license_link": "https://example.org/qwen"},
    ),
    (
        {"license": "other", "license_name": "qwen-research", "license_link": "LICENSE"},
        {"license": "other", "license_name": "qwen-research", "license_link": "HUB/me/base/blob/main/LICENSE"},
    ),
    ({}, {"license": "other", "license_name": "that-of-the-base-model", "license_link": "HUB/me/base"}),
    (
        {"license": "x\n| <script>", "license_link": "javascript:alert(1)"},
        {"license": "other", "license_name": "that-of-the-base-model", "license_link": "HUB/me/base"},
    ),
    (
        {"license": "other", "license_name": "A\nB", "license_link": "https://example.org/a b"},
        {"license": "other", "license_name": "that-of-the-base-model", "license_link": "HUB/me/base"},
    ),
]


@pytest.mark.parametrize(("told", "due"), LICENCES)
def test_the_licence_is_that_of_the_base_model(
    told: dict[str, Any], due: dict[str, str], chatty: Path, hub: Any, api: HfApi
) -> None:
    hub.put("me/base", {"README.md": f"---\n{yaml.safe_dump(told)}---\n".encode()})
    push(chatty, "me/run", api=api)
    metadata = metadata_of(hub)
    found = {name: value.replace(hub.url, "HUB") for name, value in metadata.items() if name.startswith("license")}
    assert found == due


def test_a_base_that_the_hub_does_not_show_leaves_its_licence_open(chatty: Path, hub: Any, api: HfApi) -> None:
    del hub.repositories["me/base"]
    push(chatty, "me/run", api=api)
    assert metadata_of(hub)["license"] == "other"
    assert f"that of the base model, {hub.url}/me/base" in card_of(hub)


@pytest.mark.parametrize(
    ("problems", "dataset", "due", "kind"),
    [
        ("procedural/train", None, ["procedural"], "procedural/train"),
        ("stdio", None, ["stdio"], "stdio"),
        ("/home/me/secret plans.jsonl", None, None, "secret plans.jsonl"),
        ("/home/me/secret plans.jsonl", "me/plans", ["me/plans"], "me/plans"),
    ],
)
def test_problems_are_listed_by_the_name_of_their_set(
    problems: str, dataset: str | None, due: list[str] | None, kind: str, finished: Path, hub: Any, api: HfApi
) -> None:
    config = yaml.safe_load((finished / "config.yaml").read_text())
    (finished / "config.yaml").write_text(yaml.safe_dump(config | {"problems": problems}))
    push(finished, "me/run", dataset=dataset, api=api)
    metadata = metadata_of(hub)
    assert metadata.get("datasets") == due
    assert metadata["model-index"][0]["results"][0]["dataset"]["type"] == kind
    assert "/home/me" not in card_of(hub).partition("## How it was made")[0]


@pytest.mark.parametrize(("rank", "served"), [(2, 8), (8, 8), (12, 16), (24, 32), (300, 320), (512, 512)])
def test_vllm_is_told_a_rank_that_it_takes(rank: int, served: int) -> None:
    assert Subject("me/run", None, False, rank).served_rank == served


def test_adapters_of_a_rank_that_vllm_does_not_serve_get_no_lines_for_it(finished: Path, hub: Any, api: HfApi) -> None:
    for role in ROLES:
        path = finished / "adapters" / role / "adapter_config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"r": 1024}))
    push(finished, "me/run", api=api)
    assert "With vLLM" not in card_of(hub)
    assert "vLLM serves no adapters of rank 1024." in card_of(hub)


def test_the_lines_for_vllm_are_python(finished: Path, hub: Any, api: HfApi) -> None:
    push(finished, "me/run", api=api)
    assert "max_lora_rank=8" in lines_of(hub, "With vLLM:")
    ast.parse(lines_of(hub, "With vLLM:"))


def test_the_command_can_be_pasted_into_a_shell(finished: Path) -> None:
    config = yaml.safe_load((finished / "config.yaml").read_text())
    (finished / "config.yaml").write_text(yaml.safe_dump(config | {"problems": "my problems; rm.jsonl", "seed": 3}))
    assert shlex.split(command(finished))[3:] == ["--seed=3", "--problems=my problems; rm.jsonl"]


def test_what_a_model_wrote_stays_in_its_fence(finished: Path, hub: Any, api: HfApi) -> None:
    record = json.loads((finished / "episodes.jsonl").read_text().splitlines()[0])
    record["turns"][0]["text"] = "```\n# A heading\n````"
    (finished / "episodes.jsonl").write_text(json.dumps(record) + "\n")
    push(finished, "me/run", api=api)
    assert "\n`````text\n" in card_of(hub)
    assert "\x1b" not in card_of(hub)


@pytest.mark.parametrize("text", ["x" * 10**6, "a\n" * 10**5, "`" * 10**5, "\ud800\u2028\x1b[2J" * 10**4])
def test_the_card_is_a_page_however_much_a_model_wrote(text: str, finished: Path) -> None:
    record = json.loads((finished / "episodes.jsonl").read_text().splitlines()[0])
    record["problem"]["description"] = text
    for each in (*record["turns"], *record["chains"], *record["cases"]):
        each.update(dict.fromkeys({"text", "code", "source"} & set(each), text))
    (finished / "episodes.jsonl").write_text(json.dumps(record) + "\n")
    page = card(read_run(finished), Subject("me/run", None, False, 2), HfApi())
    assert len(page.encode()) < 60_000
    assert "\x1b" not in page
    assert "\u2028" not in page
