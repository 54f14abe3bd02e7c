"""What the README promises and what the wheel holds."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import tomllib
import zipfile
from dataclasses import fields
from pathlib import Path

import pytest

from selfplay import _COMMANDS, _HOMES, __all__, __version__, bank, solve
from selfplay.__main__ import COMMANDS
from selfplay.config import PRESETS, Config
from selfplay.evaluate import OWN as EVALUATE
from selfplay.game.phases import SCHEDULES
from selfplay.game.rewards import RULES

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def command(name: str) -> str:
    """The README's command after the mark `<!-- NAME command -->`."""
    found = re.search(rf"<!-- {name} command -->\n```bash\n(.*?)\n```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found, f"README.md has no {name} command"
    return found[1]


def test_the_readme_has_two_commands_that_install_with_the_tested_versions() -> None:
    assert command("train") == "pip install -c constraints.txt . && python -m selfplay.train"
    assert command("test") == 'pip install -c constraints.txt ".[dev]" && python -m pytest -n 2'


def test_nothing_that_is_written_here_installs_another_project_of_the_same_name() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    bare = re.compile(r"\b(?:install|uv add)\b[^\n`]*[\s'\"]selfplay(?![-\w./:])|['\"\s]selfplay\[[a-z]")
    files = (
        ROOT / name for name in listed.stdout.split("\0") if name.endswith((".md", ".py", ".ipynb", ".toml", ".txt"))
    )
    here = Path(__file__).resolve()
    found = [f"{file}: {match[0]}" for file in files if file != here for match in bare.finditer(file.read_text())]
    assert found == []
    assert bare.search("pip install selfplay")
    assert bare.search("pip install -U 'selfplay[gpu]'")
    assert not bare.search("pip install selfplay-code")


def test_the_command_selfplay_lists_every_command_and_no_other() -> None:
    modules = {path.stem for path in (ROOT / "selfplay").glob("*.py") if "def main(" in path.read_text()} - {"__main__"}
    assert set(COMMANDS) == modules
    ran = subprocess.run([sys.executable, "-m", "selfplay"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert all(f"\n  {name} " in ran.stdout for name in COMMANDS)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [(["tran"], 2, "did you mean 'train'"), (["hub"], 2, "selfplay.hub"), (["report", "--help"], 0, "HTML")],
)
def test_a_command_by_its_name_is_the_command_of_the_module(words: list[str], code: int, said: str) -> None:
    ran = subprocess.run([sys.executable, "-m", "selfplay", *words], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == code
    assert said in ran.stdout + ran.stderr


def test_ci_runs_the_command_of_the_readme() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    found = re.search(r"^ *command=\$\((.*)\)$", script, re.MULTILINE)
    assert found
    ran = subprocess.run(["bash", "-c", found[1]], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == command("test")


def test_every_constraint_names_an_exact_version() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    assert "torch==2.13.0" in lines


def test_every_direct_dependency_is_constrained_or_has_a_floor() -> None:
    constrained = {
        line.split("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line
    }
    names = {re.split(r"[<>=!]", each)[0].lower() for each in PROJECT["dependencies"]}
    assert names <= constrained


def test_the_bounds_that_a_gpu_install_needs_stand_in_what_the_tests_install() -> None:
    extras = PROJECT["optional-dependencies"]
    assert extras["dev"][0] == "selfplay-code[trl,datasets]"
    bounds = " ".join(PROJECT["dependencies"] + extras["trl"] + extras["datasets"])
    for bound in ("torch>=2.8,<2.15", "<=5.17.0", "<=1.15.0", "!=4.0.*,!=4.1.0,!=4.4.*,!=4.5.*,<5"):
        assert bound in bounds


def test_what_the_package_offers_can_be_had() -> None:
    import selfplay

    assert {name for names in _HOMES.values() for name in names} | {*_COMMANDS} == set(__all__)
    assert all(callable(getattr(selfplay, name)) for name in __all__)
    assert __version__ == "0.1.0"


def test_importing_the_package_and_its_commands_loads_nothing_heavy() -> None:
    heavy = "{'torch', 'transformers', 'peft'}"
    code = f"import sys, selfplay, selfplay.train, selfplay.play; print(sorted({heavy} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


@pytest.mark.slow
def test_a_wheel_finds_its_prompts_and_data_away_from_the_checkout(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, capture_output=True, check=True)
    [wheel] = tmp_path.glob("*.whl")
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(site)
    assert not [
        name for name in names if name.startswith(("tests/", "datasets/", "prompts/", "sandbox/", "attacks/", "runs/"))
    ]
    for beside_code in ("report/page.html.jinja", "report/page.css", "report/page.js", "hub/card.md.jinja"):
        assert f"selfplay/run/{beside_code}" in names
    code = (
        "from selfplay.game.problems import load_problems; from selfplay.game.stages import get_stage\n"
        "from selfplay.resources import resource; import selfplay\n"
        "assert 'site' in selfplay.__file__, selfplay.__file__\n"
        "print(len(load_problems('procedural')) > 0, len(get_stage(3).generator_prompt) > 0)\n"
        "print((resource('sandbox') / 'codec.py').is_file())\n"
        "from selfplay.attacks.library import attacks; print(len(attacks()) > 500)\n"
    )
    paths = {"PYTHONPATH": str(site), "PATH": ""}
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=paths, capture_output=True, text=True)
    assert ran.stdout.split() == ["True"] * 4, ran.stderr


PAGES = ["README.md", "docs/coming-from-the-prototype.md", "docs/using.md", "docs/troubleshooting.md"]


@pytest.mark.parametrize("page", PAGES)
def test_every_flag_that_a_page_names_exists(page: str) -> None:
    text = (ROOT / page).read_text()
    flags = {name.replace("-", "_") for name in re.findall(r"--([a-z][a-z-]+)", text)}
    others = {"config", "problem", "help", "extra_index_url", "code", "tests", "entry", "reference", "show_values"}
    others |= {"public", "base", "dataset", "best_by"}
    others |= {name.replace("-", "_") for own in (solve.OWN, EVALUATE, bank.OWN) for name in own}
    assert flags <= {each.name for each in fields(Config)} | others


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_names_exists(page: str) -> None:
    paths = re.findall(r"`((?:selfplay|prompts|datasets|sandbox|docs)/[\w./-]*)`", (ROOT / page).read_text())
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_rule_and_schedule_that_a_page_names_exists(page: str) -> None:
    text = (ROOT / page).read_text()
    assert set(re.findall(r"--rewards (\w+)", text)) <= set(RULES)
    assert set(re.findall(r"--schedule (\w+)", text)) <= set(SCHEDULES)
    assert set(re.findall(r"--preset (\w+)", text)) <= set(PRESETS)


def test_the_page_of_the_api_is_made_of_the_present_docstrings() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "api.py"))
    assert sorted(name for names in made["GROUPS"].values() for name in names) == sorted(__all__)
    assert (ROOT / "docs" / "api.md").read_text(encoding="utf-8") == made["page"](), "run `python docs/api.py`"


@pytest.mark.parametrize("name", __all__)
def test_a_public_name_says_what_it_is(name: str) -> None:
    import selfplay

    thing = getattr(selfplay, name)
    thing = getattr(thing, name) if name in _COMMANDS else thing
    assert thing.__doc__
    assert not thing.__doc__.startswith(f"{name}(")  # what a dataclass writes itself


def test_nothing_else_of_the_package_looks_public() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", "import selfplay; print(*vars(selfplay))"], cwd=ROOT, capture_output=True, text=True
    )
    found = {name for name in ran.stdout.split() if not name.startswith("_")}
    assert found == {"annotations", "TYPE_CHECKING", "Any", "import_module"}


@pytest.mark.parametrize("name", ["rewards", "problems", "export", "compare", "serve", "warmup"])
def test_a_name_for_later_is_free(name: str) -> None:
    import selfplay

    assert not hasattr(selfplay, name)


@pytest.mark.parametrize("name", _COMMANDS)
def test_a_command_is_a_function_and_a_module_whatever_is_imported_first(name: str) -> None:
    code = (
        f"import selfplay, inspect; first = selfplay.{name}; import selfplay.{name} as module\n"
        f"from selfplay import {name} as named; assert first is module is named, (first, module, named)\n"
        f"assert callable(named) and inspect.signature(named) == inspect.signature(module.{name})"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_a_citation_and_the_workflow_are_of_this_version() -> None:
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == __version__
    matrix = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]["gate"]["strategy"]["matrix"]
    classified = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if each.startswith("Programming Language")]
    assert matrix["python"] == classified
