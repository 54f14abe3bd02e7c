"""A hub on this machine, a client of it, and a run with real adapters of the embedded player."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from selfplay.game.episode import ROLES
from selfplay.learning.setup import EMBEDDED
from tests.learning.conftest import tokenizer as tokenizer  # the fixture

# The folder is no package, and pytest imports its files by their paths.
_spec = importlib.util.spec_from_file_location("hub_server", Path(__file__).parent / "hub_server.py")
assert _spec is not None
assert _spec.loader is not None
hub_server: Any = importlib.util.module_from_spec(_spec)
sys.modules["hub_server"] = hub_server
_spec.loader.exec_module(hub_server)


@pytest.fixture
def hub() -> Iterator[Any]:
    with hub_server.Hub() as started:
        yield started


@pytest.fixture
def api(hub: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The real client, without xet, without waiting between its tries, and with nobody's token but the hub's own."""
    from huggingface_hub import HfApi, constants
    from huggingface_hub.utils import disable_progress_bars

    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)
    disable_progress_bars()
    return HfApi(endpoint=hub.url, token=hub_server.TOKEN)


@pytest.fixture(scope="session")
def adapters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """generator/ and discriminator/ of the embedded player, their B stirred, as PEFT saves them."""
    from peft import LoraConfig, PeftModel, get_peft_model
    from transformers import AutoModelForCausalLM

    settings = LoraConfig(r=2, target_modules=["q_proj"], task_type="CAUSAL_LM", init_lora_weights=False)
    torch.manual_seed(0)
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(str(EMBEDDED)), settings, "generator")
    assert isinstance(model, PeftModel)
    model.add_adapter("discriminator", settings)
    folder = tmp_path_factory.mktemp("adapters")
    model.save_pretrained(str(folder))
    for role in ROLES:  # a run names its base so
        path = folder / role / "adapter_config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"base_model_name_or_path": "embedded"}))
    return folder


@pytest.fixture
def finished(run_folder: Path, adapters: Path) -> Path:
    """A run with its adapters."""
    shutil.copytree(adapters, run_folder / "adapters")
    return run_folder
