"""The doctor: what it says of this machine, and of machines that lack something."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from selfplay import doctor
from selfplay.box import local
from selfplay.box.tiers import Tier
from selfplay.box.zygotes import BoxUnavailable
from selfplay.run import checks
from selfplay.run.checks import Finding, fits, requirements, works


def found(about: str, among: list[Finding]) -> Finding:
    return next(each for each in among if each.about == about)


@pytest.fixture(autouse=True)
def no_gpu_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "gpu_and_backend", lambda: [Finding("GPU", "ok", "none")])


def test_a_machine_that_can_train_exits_with_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor.main(["--output-dir", str(tmp_path)]) == 0
    assert "can work here" in capsys.readouterr().out


def test_json_holds_every_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    doctor.main(["--output-dir", str(tmp_path / "not" / "yet"), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["works"] is True
    about = {finding["about"] for finding in told["findings"]}
    assert {"Python", "torch", "GPU", "sandbox", "disk", "hub", "E2B", "embedded player"} <= about


def test_transformers_is_not_imported() -> None:
    script = "import sys; from selfplay import doctor; doctor.main([]); sys.exit('transformers' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parents[1], capture_output=True)
    assert ran.returncode == 0


def test_the_bounds_are_those_of_the_project() -> None:
    bounds = {package: (limits, extra) for package, limits, extra in requirements()}
    assert bounds["torch"] == (">=2.8,<2.15", "") or set(bounds["torch"][0].split(",")) == {">=2.8", "<2.15"}
    assert bounds["e2b"][1] == "e2b"
    assert {"peft", "transformers", "pytest"} <= set(bounds)


def test_what_needs_no_extra_and_is_absent_stops_the_embedded_run(monkeypatch: pytest.MonkeyPatch) -> None:
    real = checks.installed
    monkeypatch.setattr(
        checks, "installed", lambda package: None if package in ("peft", "rich", "trl") else real(package)
    )
    told = checks.packages()
    assert found("peft", told).status == "missing"
    assert "pip install 'peft" in found("peft", told).advice
    assert found("rich", told).status == "note"
    assert "trl (trl)" in found("not installed", told).found


def test_a_package_that_several_extras_name_is_listed_once() -> None:
    names = [each.about for each in checks.packages()]
    assert len(names) == len(set(names))


def test_a_version_outside_the_bounds_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "installed", lambda package: "99.0")
    assert found("torch", checks.packages()).status == "note"
    assert works(checks.packages())


def test_local_builds_and_bounds_with_holes_are_understood() -> None:
    assert fits("2.13.0+cpu", ">=2.8,<2.15") is True
    assert fits("4.4.1", ">=3.4.1,!=4.4.*,<5") is False


def test_an_old_python_is_missing_something(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "requires_python", lambda: ">=99")
    (told,) = checks.python()
    assert (told.status, told.advice) == ("missing", "use a Python >=99")


def test_a_lower_tier_is_noted_with_what_would_raise_it(monkeypatch: pytest.MonkeyPatch) -> None:
    low = Tier("confined", (("landlock", "not in this kernel"),), ("a newer kernel",))
    monkeypatch.setattr(local, "probe", lambda: low)
    told = checks.sandbox()
    assert works(told)
    assert "confined" in told[0].found
    assert "a newer kernel" in told[0].advice
    assert told[1].found == "not in this kernel"


def test_no_sandbox_at_all_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Tier:
        raise BoxUnavailable("Windows has no local sandbox")

    monkeypatch.setattr(local, "probe", refuse)
    assert not works(checks.sandbox())


def test_a_full_disk_stops_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    usage = namedtuple("usage", "total used free")(1 << 40, 1 << 40, 5 << 20)
    monkeypatch.setattr(checks.shutil, "disk_usage", lambda path: usage)
    assert checks.disk(tmp_path / "run").status == "missing"


def test_credentials_are_never_printed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_verysecret")
    monkeypatch.setenv("E2B_API_KEY", "e2b_verysecret")
    doctor.main(["--output-dir", str(tmp_path)])
    told = capsys.readouterr().out
    assert "verysecret" not in told
    assert "a token is set" in told
    assert "a key is set" in told


def test_a_stored_token_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    assert "no token" in checks.credentials()[0].found
    (tmp_path / "token").write_text("hf_verysecret")
    assert "a token lies in" in checks.credentials()[0].found


def test_missing_weights_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "WEIGHTS", ("config.json", "no-such-weights"))
    (told,) = checks.embedded_player()
    assert told.status == "missing"
    assert "no-such-weights" in told.found


def test_a_folder_that_cannot_be_written_is_a_finding() -> None:
    told = checks.disk(Path("x" * 300))
    assert (told.status, told.advice) == ("missing", "give another --output-dir")
    assert "File name too long" in told.found


def test_the_memory_plan_of_a_model_on_a_card_needs_neither_model_nor_network(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert doctor.main(["--model", "Qwen/Qwen2.5-Coder-7B-Instruct", "--preset", "t4"]) == 0
    assert "fits in the 14.7 GiB of t4" in capsys.readouterr().out
    assert doctor.main(["--model", "Qwen/Qwen2.5-32B-Instruct", "--preset", "t4"]) == 1
    assert "does not fit" in capsys.readouterr().out


def test_the_memory_plan_of_a_folder_is_that_of_its_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama", "vocab_size": 300, **sizes}))
    assert doctor.main(["--model", str(tmp_path), "--device", "cpu"]) == 0
    assert "32 bit" in capsys.readouterr().out


@pytest.mark.parametrize("flags", [["--modle", "x"], ["--model", "nobody/knows"], ["--preset", "smoke"]])
def test_a_plan_that_cannot_be_made_is_refused_in_a_sentence(
    flags: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert doctor.main(flags) == 2
    assert capsys.readouterr().err.startswith("selfplay.doctor: ")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"quantization_config": {"quant_method": "awq"}}, "quantised by awq"),
        ({"architectures": ["BertForMaskedLM"]}, "no causal language model"),
        ({"model_type": "strange", "auto_map": {"AutoModelForCausalLM": "own.Own"}}, "brings code of its own"),
    ],
)
def test_there_is_no_plan_for_a_model_that_cannot_play(
    keys: dict[str, object], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama", "vocab_size": 300, **sizes, **keys}))
    assert doctor.main(["--model", str(tmp_path), "--device", "cpu"]) == 2
    assert said in capsys.readouterr().err
