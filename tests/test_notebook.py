"""The notebook: short, without logic or outputs, naming only what exists; and it runs from top to bottom on a CPU."""

from __future__ import annotations

import ast
import importlib
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from selfplay.config import Config
from selfplay.run import notebook

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "notebooks" / "selfplay_colab.ipynb"
nbformat = pytest.importorskip("nbformat", reason="needs nbformat (the extra dev)")


@pytest.fixture(scope="module")
def cells() -> list[Any]:
    page = nbformat.read(PAGE, as_version=4)
    nbformat.validate(page)
    return page.cells


def python_of(cells: list[Any]) -> ast.Module:
    """All cells as one module, without magics and shell commands."""
    lines = [line for each in cells if each.cell_type == "code" for line in each.source.splitlines()]
    return ast.parse("\n".join(line for line in lines if not line.startswith(("%", "!"))))


def test_it_has_twelve_cells_at_most(cells: list[Any]) -> None:
    assert len(cells) <= 12


def test_no_outputs_are_stored(cells: list[Any]) -> None:
    assert [each.outputs for each in cells if each.cell_type == "code" and each.outputs] == []
    assert {each.execution_count for each in cells if each.cell_type == "code"} == {None}


def test_it_has_no_logic_of_its_own(cells: list[Any]) -> None:
    allowed = ast.Assign | ast.Expr | ast.Import | ast.ImportFrom
    assert all(isinstance(node, allowed) for node in python_of(cells).body)
    assert not [node for node in ast.walk(python_of(cells)) if isinstance(node, ast.IfExp | ast.Lambda | ast.ListComp)]


def test_every_name_that_it_imports_or_asks_for_exists(cells: list[Any]) -> None:
    tree = python_of(cells)
    known: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            known |= {each.asname or each.name: importlib.import_module(each.name) for each in node.names}
        if isinstance(node, ast.ImportFrom):
            for each in node.names:
                known[each.asname or each.name] = importlib.import_module(f"{node.module}.{each.name}")
    asked = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
    assert asked
    for node in asked:
        assert isinstance(node.value, ast.Name)
        assert hasattr(known[node.value.id], node.attr)


def test_every_key_that_it_gives_to_training_is_one() -> None:
    Config(**notebook.settings(Path("runs/none"), "smoke"))


def test_every_command_that_it_runs_exists_with_its_flags(cells: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    commands = [
        shlex.split(line) for each in cells for line in each.source.splitlines() if line.startswith("!python -m ")
    ]
    assert len(commands) >= 3
    for _, _, module, *arguments in commands:
        words = [word for word in arguments if not word.startswith("-") and "{" not in word and not word.isdigit()]
        with pytest.raises(SystemExit):
            importlib.import_module(module).main([*words, "--help"])
        told = capsys.readouterr().out
        assert all(flag in told for flag in arguments if flag.startswith("--"))


@pytest.mark.slow
def test_it_runs_from_top_to_bottom_without_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder beside links to the checkout, with pip told to install nothing. The executed notebook is kept where
    EXECUTED_NOTEBOOK says."""
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient and ipykernel (the extra dev)")
    pytest.importorskip("ipykernel", reason="needs ipykernel (the extra dev)")
    for path in ROOT.iterdir():
        if path.name != "notebooks":
            (tmp_path / path.name).symlink_to(path)
    (tmp_path / "notebooks").mkdir()
    monkeypatch.setenv("PIP_DRY_RUN", "1")
    monkeypatch.setenv(
        "PIP_NO_BUILD_ISOLATION", "0"
    )  # a dry run would not install hatchling there; 0 is how pip spells it
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    page = nbformat.read(PAGE, as_version=4)
    place = {"metadata": {"path": str(tmp_path / "notebooks")}}
    nbclient.NotebookClient(page, timeout=1800, kernel_name="python3", resources=place).execute()
    kept = os.environ.get("EXECUTED_NOTEBOOK")
    if kept:
        nbformat.write(page, kept)
    said = [
        "".join(
            output.get("text", "") + str(output.get("data", {}).get("text/plain", ""))
            for output in each.get("outputs", ())
        )
        for each in page.cells
    ]
    assert "ERROR" not in said[1]
    assert "can work here" in said[2]
    assert "smoke runs/selfplay" in said[3]
    assert re.search(r"== evaluation after .*8 problems", said[4])
    assert "done in 15 steps" in said[5]
    assert "srcdoc=" in page.cells[6].outputs[0]["data"]["text/html"]
    assert "there is no token for the hub" in said[9]
