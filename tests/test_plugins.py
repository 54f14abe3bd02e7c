"""References and objects in place of names: what they are known by, what they stand for, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from selfplay import plugins
from selfplay.config import Config, ConfigError, configure, from_flags, to_flags
from selfplay.errors import BadInput, ProblemError, UnknownName
from selfplay.game.problems import Problem, load_problems, problems_of
from selfplay.game.prompts import STYLES, TEMPLATES, Prompts
from selfplay.game.rewards import RULES, RewardRule, get_rule
from selfplay.resources import resource
from selfplay.run.callbacks import Callback, CallbackError, callbacks
from selfplay.run.recorders import Recorder

MODULE = """
import selfplay

def paid(program):
    return 1.0

def suite(suite):
    return (0.5,)

RULE = selfplay.RewardRule("mine", paid, suite, False, "everything is well")
NOT_A_RULE = 7

class Log(selfplay.Callback):
    pass

def problems():
    return [selfplay.Problem("double", "Twice x.", "double", "def double(x):", ("assert double(2) == 4",))]
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module from outside."""
    name = f"outside_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    return name


def double(id: str = "double", **fields: str) -> dict[str, Any]:
    row: dict[str, Any] = {"id": id, "description": "Twice x.", "signature": "def double(x):"}
    return row | {"baseline_tests": ["assert double(2) == 4"]} | fields


# ---- references ----


@pytest.mark.parametrize("name", ["mine:rule", "my.rules:RULE", "my_rules:Rules.strict"])
def test_a_module_and_a_name_are_a_reference(name: str) -> None:
    assert plugins.is_reference(name)


@pytest.mark.parametrize(
    "name", ["novel_kills", "mine.jsonl", "a/b:c.jsonl", "C:/mine.jsonl", "procedural/dev", "", None, 3]
)
def test_names_and_paths_are_no_references(name: object) -> None:
    assert not plugins.is_reference(name)


def test_what_a_module_holds_is_known_by_a_reference_that_gives_it_back(module: str) -> None:
    for name in ("paid", "RULE", "Log"):
        thing = plugins.load(f"{module}:{name}")
        assert plugins.reference(thing) == f"{module}:{name}"


def test_what_no_module_holds_is_known_in_this_process_alone() -> None:
    def here() -> None: ...

    name = plugins.reference(here)
    assert plugins.is_here(name)
    assert plugins.load(name) is here
    assert plugins.reference(here) == name


def test_a_script_of_its_own_is_no_module_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def rule() -> None: ...

    rule.__module__, rule.__qualname__ = "__main__", "rule"
    monkeypatch.setattr(sys.modules["__main__"], "rule", rule, raising=False)
    assert plugins.reference(rule) == "here:rule"


def test_two_objects_of_one_name_are_told_apart_and_the_same_function_again_is_not() -> None:
    def made(value: int) -> object:
        return type("Thing", (), {"value": value})()

    assert plugins.reference(made(1)) != plugins.reference(made(2))
    again = [plugins.reference(eval(code)) for code in [compile("lambda x: x + 1", "cell", "eval")] * 2]
    assert again[0] == again[1]


def test_other_problems_are_another_reference() -> None:
    assert plugins.reference([double()]) == plugins.reference([double()])
    assert plugins.reference([double()]) != plugins.reference([double("twice")])


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("no_such_module:x", "there is no module 'no_such_module'"),
        ("selfplay.no_such:x", "there is no module 'selfplay.no_such'"),
        ("selfplay.errors:UnknownNam", "has no 'UnknownNam', did you mean 'UnknownName'"),
        ("here:gone", "is an object of the process that began the run; give it again"),
    ],
)
def test_a_reference_that_stands_for_nothing_is_refused(reference: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        plugins.load(reference)


def test_a_module_that_needs_what_is_not_installed_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "needy_module.py").write_text("import nothing_that_exists")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BadInput, match="needy_module needs 'nothing_that_exists', which is not installed"):
        plugins.load("needy_module:x")


# ---- in a configuration ----


def test_a_configuration_holds_words_and_comes_back_from_flags(module: str) -> None:
    config = configure(
        {"rewards": plugins.load(f"{module}:RULE"), "callbacks": [plugins.load(f"{module}:Log"), f"{module}:Log"]}
    )
    assert (config.rewards, config.callbacks) == (f"{module}:RULE", (f"{module}:Log",) * 2)
    assert from_flags(to_flags(config)) == config


def test_a_path_is_text_wherever_it_stands() -> None:
    config = configure({"output_dir": Path("runs/a"), "prompts": Path("my/prompts")})
    assert (config.output_dir, config.prompts) == ("runs/a", "my/prompts")


def test_what_no_other_process_can_import_trains_in_one() -> None:
    assert Config(rewards=lambda: None).processes == 1
    with pytest.raises(ConfigError, match="processes is 2, but no other process can import here:<lambda>"):
        Config(rewards=lambda: None, processes=2)


def test_an_unknown_word_is_still_refused_where_a_reference_could_stand() -> None:
    with pytest.raises(UnknownName, match="did you mean 'small'"):
        Config(sampler="smal")
    assert Config(sampler="mine:sampler").sampler == "mine:sampler"


# ---- what is referred to ----


def test_a_rule_of_a_module_is_found_by_its_reference(module: str) -> None:
    assert get_rule(f"{module}:RULE").name == "mine"


def test_an_object_that_is_no_rule_is_refused(module: str) -> None:
    with pytest.raises(BadInput, match="NOT_A_RULE is no reward rule but int"):
        get_rule(f"{module}:NOT_A_RULE")


@pytest.mark.parametrize(
    ("generator", "discriminator", "per_turn", "why"),
    [
        (lambda program: "1", lambda suite: (1.0,), False, r"'odd' paid '1'; return a finite number"),
        (lambda program: float("nan"), lambda suite: (1.0,), False, r"paid nan"),
        (lambda program: 1.0, lambda suite: 1.0, False, r"paid 1.0 for a suite of 2 turns, not a tuple of 1"),
        (lambda program: 1.0, lambda suite: (1.0,), True, r"paid \(1.0,\) for a suite of 2 turns, not a tuple of 2"),
        (lambda program: 1.0, lambda suite: ("1", None), True, r"paid '1'; return a finite number"),
    ],
)
def test_a_rule_that_pays_otherwise_than_it_says_is_refused_at_once(
    generator: Any, discriminator: Any, per_turn: bool, why: str
) -> None:
    rule = RewardRule("odd", generator, discriminator, per_turn, "")
    with pytest.raises(BadInput, match=why):
        get_rule(plugins.reference(rule))


def test_a_name_in_capitals_is_suggested_too(module: str) -> None:
    with pytest.raises(BadInput, match="did you mean 'RULE'"):
        get_rule(f"{module}:RULES")


def test_only_a_rule_that_takes_a_weight_of_validity_is_given_one() -> None:
    rule = RewardRule("plain", lambda program: 1.0, lambda suite: (1.0,) * len(suite.turns), True, "")
    assert rule.with_validity_weight(0.3) is rule
    assert all(own.with_validity_weight(0.3) is not own for own in RULES.values() if own.per_turn)


def test_problems_come_from_a_function_a_list_and_rows(module: str) -> None:
    [problem] = load_problems(f"{module}:problems")
    assert isinstance(problem, Problem)
    assert problems_of([problem], "mine") == (problem,)
    assert problems_of([double()], "mine") == (problem,)


def test_problems_come_from_a_dataset() -> None:
    dataset = pytest.importorskip("datasets", reason="needs datasets (the extra dev)").Dataset
    rows = dataset.from_list([double("a") | {"tags": None}, double("b") | {"tags": ["list"]}])
    assert [problem.id for problem in load_problems(plugins.reference(rows))] == ["a", "b"]


def test_a_dataset_without_the_fields_is_refused_in_a_sentence() -> None:
    dataset = pytest.importorskip("datasets", reason="needs datasets (the extra dev)").Dataset
    rows = dataset.from_list([{"prompt": "a", "id": "b"}])
    with pytest.raises(
        BadInput, match="has the fields prompt, id, but not description, baseline_tests, which a problem needs"
    ):
        problems_of(rows, "mine")


@pytest.mark.parametrize("held", [7, "text", None, {"id": "a"}])
def test_an_object_that_holds_no_problems_is_refused(held: object) -> None:
    with pytest.raises(BadInput, match="mine holds no problems but"):
        problems_of(held, "mine")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([7], "line 1: holds the number 7"),
        ([object()], "line 1: holds a object, not an object"),
        ([double(), double()], "line 2, field 'id'"),
        ([], "holds no problem"),
    ],
)
def test_what_is_wrong_with_a_row_is_said_with_its_number(rows: list[object], said: str) -> None:
    with pytest.raises(ProblemError, match=said):
        problems_of(rows, "mine")


@pytest.fixture
def templates(tmp_path: Path) -> Path:
    """A folder of templates that can be used."""
    for name in TEMPLATES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{{ problem.description }}" if "system" not in name else "")
    return tmp_path


def test_a_folder_of_templates_is_a_style(templates: Path) -> None:
    [problem] = problems_of([double()], "mine")
    assert Prompts(str(templates)).ask(problem, "generator", 1) == "Twice x."


@pytest.mark.parametrize("style", STYLES)
def test_a_copy_of_a_style_can_be_used(style: str) -> None:
    Prompts(str(resource("prompts") / style))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "No such file"),
        ("{% if %}", "Expected an expression"),
        ("{{ task }}", "uses task; a template may use cases"),
    ],
)
def test_a_template_that_cannot_be_used_is_refused_by_its_name(templates: Path, text: str | None, said: str) -> None:
    file = templates / "discriminator" / "3.jinja"
    file.unlink() if text is None else file.write_text(text)
    with pytest.raises(BadInput, match=f"discriminator/3.jinja .*{said}"):
        Prompts(str(templates))


# ---- callbacks ----


class Loud(Callback):
    def step(self, metrics: object) -> None:
        raise KeyError("loss")

    def evaluation(self, record: object) -> None:
        raise ValueError("early")


def opened(callback: object) -> Recorder:
    return callbacks(Config(callbacks=[callback]))[0]


def test_a_callback_is_a_class_or_an_object(module: str) -> None:
    assert len(callbacks(Config(callbacks=[f"{module}:Log", Callback()]))) == 2
    assert len(callbacks(Config(callbacks=f"{module}:Log"))) == 1


@pytest.mark.parametrize("thing", [print, object(), Recorder])
def test_an_object_that_is_no_callback_is_refused(thing: object) -> None:
    with pytest.raises(BadInput, match="is no callback but"):
        opened(thing)


def test_what_a_callback_raises_in_a_step_waits_until_the_step_can_be_kept(tmp_path: Path) -> None:
    callback = opened(Loud())
    callback.step({})
    callback.episodes([])
    state: object = None
    with pytest.raises(CallbackError, match=r"Loud.* raised in step: KeyError: 'loss' \(.*test_plugins.py, line \d+\)"):
        callback.checkpoint(state)  # type: ignore[arg-type]
    callback.checkpoint(state, must=True)  # type: ignore[arg-type] -- what is kept as the run ends


def test_what_a_callback_raises_before_training_ends_the_run_at_once() -> None:
    with pytest.raises(CallbackError, match="raised in evaluation: ValueError: early"):
        opened(Loud()).evaluation({})
