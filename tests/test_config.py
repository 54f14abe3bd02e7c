from __future__ import annotations

import pickle
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from selfplay.box.tiers import TIERS
from selfplay.config import PRESETS, Config, ConfigError, configure, from_flags, to_flags
from selfplay.config.knobs import hints
from selfplay.errors import UnknownName


def written(folder: Path, text: str) -> Path:
    path = folder / "my.yaml"
    path.write_text(text)
    return path


def test_nothing_given_is_the_embedded_player_on_procedural_problems() -> None:
    config = configure()
    assert (config.model, config.problems, config.prompts, config.max_completion_length) == (
        None,
        "procedural",
        "compact",
        96,
    )


def test_a_model_brings_what_suits_a_model() -> None:
    config = configure({"model": "some/model"})
    assert (config.prompts, config.max_completion_length, config.learning_rate) == ("instruct", 512, (2e-5,))


def test_what_is_given_wins_over_what_suits_the_model() -> None:
    assert configure({"model": "some/model", "prompts": "compact"}).prompts == "compact"


def test_flags_win_over_the_file_and_the_file_over_the_preset(tmp_path: Path) -> None:
    path = written(tmp_path, "preset: smoke\nproblems_per_step: 6\nnum_generations: 6\n")
    config = from_flags(["--config", str(path), "--num-generations", "5"])
    assert (config.k, config.problems_per_step, config.num_generations) == (1, 6, 5)


def test_a_flag_chooses_the_preset_under_a_file(tmp_path: Path) -> None:
    path = written(tmp_path, "problems_per_step: 6\n")
    config = from_flags(["--config", str(path), "--preset", "smoke"])
    assert (config.problems_per_step, config.num_generations) == (6, 4)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_a_configuration(preset: str) -> None:
    config = configure({"preset": preset})
    assert config == configure(PRESETS[preset] | {"preset": preset})


def test_smoke_has_one_step_per_phase() -> None:
    config = configure({"preset": "smoke"})
    assert (config.n_discriminator_steps, config.n_generator_steps, config.k) == (1, 1, 1)


@pytest.mark.parametrize("preset", [None, *PRESETS])
def test_flags_written_from_a_configuration_read_back_as_the_same(preset: str | None) -> None:
    config = replace(configure({"preset": preset}), epsilon=(0.2, 0.28), lora_target_modules=("q_proj", "v_proj"))
    assert from_flags(to_flags(config)) == config


@pytest.mark.parametrize("text", ["1e-3", "0.001", ".001"])
def test_a_number_may_be_written_in_any_way(tmp_path: Path, text: str) -> None:
    assert from_flags(["--learning-rate", text]).learning_rate == (1e-3,)
    assert configure(file=written(tmp_path, f"learning_rate: {text}")).learning_rate == (1e-3,)


@pytest.mark.parametrize("words", [["1,3"], ["1", "3"], ["1,", "3"]])
def test_stages_may_be_written_with_commas_or_spaces(words: list[str]) -> None:
    if words == ["1,", "3"]:
        with pytest.raises(ConfigError, match="whole numbers"):
            from_flags(["--stages", *words])
    else:
        assert from_flags(["--stages", *words]).stages == (1, 3)


def test_one_stage_alone_is_a_list_of_one(tmp_path: Path) -> None:
    assert configure(file=written(tmp_path, "stages: 3")).stages == (3,)


def test_a_bare_word_of_yaml_can_be_none() -> None:
    assert configure({"adversary": "none"}).adversary == "none"
    assert configure({"model": "none"}).model is None


@pytest.mark.parametrize("word", ["on", "off", "auto"])
def test_a_bare_word_of_yaml_can_be_on_or_off(tmp_path: Path, word: str) -> None:
    assert configure(file=written(tmp_path, f"thinking: {word}")).thinking == word
    assert from_flags(["--thinking", word]).thinking == word


def test_a_bare_off_of_yaml_is_the_word(tmp_path: Path) -> None:
    assert configure(file=written(tmp_path, "ledger: off")).ledger == "off"


@pytest.mark.parametrize("key", ["n_generator_step", "learning-rate", "learningrate"])
def test_an_unknown_key_fails_with_a_suggestion(tmp_path: Path, key: str) -> None:
    with pytest.raises(ConfigError, match=r"my\.yaml: unknown key .*did you mean '(n_generator_steps|learning_rate)'"):
        configure(file=written(tmp_path, f"{key}: 1"))


def test_an_unknown_flag_fails_with_a_suggestion() -> None:
    with pytest.raises(ConfigError, match=r"unknown key --n-generator-step, did you mean 'n-generator-steps'"):
        from_flags(["--n-generator-step", "3"])


def test_an_unknown_keyword_fails_with_a_suggestion() -> None:
    with pytest.raises(ConfigError, match="did you mean 'seed'"):
        configure({"sed": 1})


def test_a_flag_is_never_completed() -> None:
    with pytest.raises(ConfigError, match="unknown key --problems-per"):
        from_flags(["--problems-per", "3"])


@pytest.mark.parametrize(
    ("key", "ours"), [("clip_epsilon", "epsilon"), ("max_new_tokens", "max_completion_length"), ("K", "k")]
)
def test_a_key_of_the_prototype_says_what_it_is_called_here(tmp_path: Path, key: str, ours: str) -> None:
    with pytest.raises(ConfigError, match=f"'{key}' is called '{ours}' here"):
        configure(file=written(tmp_path, f"{key}: 1"))
    flag = key.replace("_", "-")
    with pytest.raises(ConfigError, match=f"--{flag} is called --{ours.replace('_', '-')} here"):
        from_flags([f"--{flag}", "1"])


def test_two_models_are_told_that_one_plays_both_roles(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="one model plays both roles"):
        configure(file=written(tmp_path, "generator_model: a\ndiscriminator_model: b"))
    with pytest.raises(ConfigError, match="one model plays both roles"):
        configure(file=written(tmp_path, "model: [a, b]"))
    with pytest.raises(ConfigError, match="one model plays both roles"):
        from_flags(["--model", "a", "--model", "b"])


def test_one_model_under_both_of_the_prototypes_names_is_a_matter_of_renaming(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'generator_model' is called 'model' here"):
        configure(file=written(tmp_path, "generator_model: a\ndiscriminator_model: a"))


def test_a_flag_given_twice_is_an_error() -> None:
    with pytest.raises(ConfigError, match="--seed is given twice, as 1 and as 2"):
        from_flags(["--seed", "1", "--seed", "2"])


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("k", "two", "k is 'two': give a whole number"),
        ("k", 2.5, "k is 2.5: give a whole number"),
        ("k", True, "k is True: give a whole number"),
        ("k", -1, "k is -1: it must be at least 0; the default is 2"),
        ("epsilon", 0, "epsilon is 0.0: it must be above 0"),
        ("learning_rate", "nan", "learning_rate is nan"),
        ("temperature", 11, "temperature is 11.0: it must be above 0 and at most 10"),
        ("processes", "many", "processes is 'many': give a whole number or auto"),
        ("problems", 3, "problems is 3: give text"),
        ("stages", [2, 1], "stages is 2, 1: give some of 1 2 3 4 5, each once, in order"),
        ("stages", [], "stages is \\[\\]: give whole numbers"),
        ("num_suites", 9, "num_suites is 9, more than num_generations, 8"),
    ],
)
def test_a_value_that_cannot_be_used_is_named_with_its_limit(key: str, value: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        configure({key: value})


@pytest.mark.parametrize(("key", "value"), [("device", "gpu"), ("adversary", "train"), ("preset", "smok")])
def test_a_word_that_is_none_of_a_few_gets_the_list(key: str, value: str) -> None:
    with pytest.raises(UnknownName, match="choose from"):
        configure({key: value})


@pytest.mark.parametrize(
    ("text", "message"),
    [("- 1\n- 2", "holds list"), ("k: [", "is not YAML"), ("just words", "holds str")],
)
def test_a_file_that_is_no_table_of_keys_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=rf"my\.yaml {message}"):
        configure(file=written(tmp_path, text))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml does not exist"):
        configure(file=tmp_path / "none.yaml")


def test_every_key_has_help_and_a_type() -> None:
    assert {each.name for each in fields(Config)} == set(hints())
    assert all(len(each.metadata["help"]) > 20 for each in fields(Config))


def test_help_explains_each_knob(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        from_flags(["--help"])
    text = capsys.readouterr().out
    assert left.value.code == 0
    assert all(f"--{each.name.replace('_', '-')}" in text for each in fields(Config))


def test_help_names_every_schedule_and_every_rule_of_advantages() -> None:
    from selfplay.game.advantages import ADVANTAGES
    from selfplay.game.phases import SCHEDULES

    text = {each.name: each.metadata["help"] for each in fields(Config)}
    assert all(name in text["schedule"] for name in SCHEDULES)
    assert all(name in text["advantages"] for name in ADVANTAGES)


def test_the_embedded_player_stays_on_the_cpu_unless_told_otherwise() -> None:
    assert configure().device == "cpu"
    assert configure({"device": "cuda"}).device == "cuda"
    assert configure({"model": "some/model"}).device == "auto"


def test_one_process_serves_a_model() -> None:
    assert configure({"model": "some/model"}).processes == 1


def test_the_minimum_tier_has_two_spellings_and_knows_every_tier() -> None:
    for flag in ("--sandbox-min-tier", "--sandbox.min-tier"):
        assert from_flags([flag, "jailed"]).sandbox_min_tier == "jailed"
    known = {word for each in get_args(hints()["sandbox_min_tier"]) for word in get_args(each)}
    assert known == set(TIERS) - {"unjailed"}


@pytest.mark.parametrize(
    "given", [{}, {"seed": 1}, {"model": "some/model"}, {"preset": "t4"}, {"preset": "smoke", "k": 0}]
)
def test_a_config_is_what_configure_makes_of_the_same_values(given: dict[str, Any]) -> None:
    assert Config(**given) == configure(given) == from_flags([f"--{key}={value}" for key, value in given.items()])


def test_a_config_reads_its_values_as_a_file_does() -> None:
    assert Config(stages=5).stages == (5,)
    with pytest.raises(ConfigError, match="did you mean 'seed'"):
        Config(sed=1)


def test_a_config_survives_replace_and_pickle() -> None:
    config = Config(preset="t4", seed=3)
    assert pickle.loads(pickle.dumps(config)) == config
    assert replace(config, seed=4) == Config(preset="t4", seed=4)


@pytest.mark.parametrize("key", ["learning_rate", "epsilon", "eval_problems"])
def test_two_numbers_may_be_given_as_one(tmp_path: Path, key: str) -> None:
    assert getattr(configure({key: 1}), key) == getattr(configure(file=written(tmp_path, f"{key}: 1")), key) == (1,)
    assert getattr(from_flags([f"--{key}", "1", "2"]), key) == getattr(configure({key: [1, 2]}), key) == (1, 2)
    with pytest.raises(ConfigError, match=f"{key} is 1.*, 2.*, 3.*: give one number or two"):
        configure({key: [1, 2, 3]})


@pytest.mark.parametrize("model", [None, "some/model"])
def test_none_asks_for_what_suits_the_player(model: str | None) -> None:
    keys = [each.name for each in fields(Config) if "model" in each.metadata]
    assert {"prompts", "problems_per_step", "learning_rate"} <= set(keys)
    assert Config(model=model, **dict.fromkeys(keys, "none")) == Config(model=model)


def test_no_key_that_a_player_decides_is_left_open() -> None:
    for config in (Config(), Config(model="some/model")):
        assert None not in (config.prompts, config.max_completion_length, config.learning_rate)


def test_none_stays_none_where_it_means_that_there_is_no_limit() -> None:
    assert Config(e2b_budget="none").e2b_budget is None


def test_help_shows_what_each_player_and_each_preset_gets(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        from_flags(["--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "Default: 32; 8 for a model; smoke: 4; t4: 4; l4: 4; h100: 16." in text
    assert "Default: 0.0025 0.004; 2e-05 for a model." in text


def test_a_flag_may_be_written_with_underscores() -> None:
    assert from_flags(["--learning_rate", "1e-4", "--lora_target_modules=q_proj"]) == from_flags(
        ["--learning-rate", "1e-4", "--lora-target-modules", "q_proj"]
    )


def test_a_key_that_a_file_repeats_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"my\.yaml: 'k' is given twice, the second time in line 3"):
        configure(file=written(tmp_path, "k: 1\nseed: 2\nk: 3\n"))


def test_more_problems_after_a_stage_than_before_and_after_are_refused() -> None:
    with pytest.raises(ConfigError, match="eval_problems is 60, 10: what is evaluated after a stage"):
        Config(eval_problems=(60, 10))


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """The folder of a run, as far as a configuration is concerned."""
    config = configure({"preset": "smoke", "seed": 3, "processes": 1})
    keys = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(config).items()}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(keys))
    (tmp_path / "checkpoints" / "8").mkdir(parents=True)
    return tmp_path


def test_a_resumed_run_is_configured_as_it_began(begun: Path) -> None:
    config = configure({"resume": str(begun)})
    began = configure({"preset": "smoke", "seed": 3, "processes": 1})
    assert config == replace(began, output_dir=str(begun), resume=str(begun))
    assert from_flags(to_flags(config)) == config


def test_a_checkpoint_names_its_run(begun: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert configure({"resume": str(begun / "checkpoints" / "8")}).output_dir == str(begun)
    monkeypatch.chdir(begun / "checkpoints")
    assert configure({"resume": "8"}).output_dir == ".."


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("processes", 2),
        ("device", "auto"),
        ("sandbox_workers", 2),
        ("e2b_budget", 9),
    ],
)
def test_what_decides_nothing_may_be_given_anew(begun: Path, key: str, value: object) -> None:
    assert getattr(configure({"resume": str(begun), key: value}), key) in (value, "cpu")


@pytest.mark.parametrize(
    ("key", "value"), [("learning_rate", 1e-3), ("seed", 4), ("timeout", 9), ("init_from", "runs/a")]
)
def test_what_decides_the_steps_may_not_be_given_anew(begun: Path, key: str, value: object) -> None:
    with pytest.raises(ConfigError, match=rf"{key} is .*, but the run in .* began with .*leave it out"):
        configure({"resume": str(begun), key: value})


def test_a_resumed_run_goes_on_in_its_own_folder(begun: Path) -> None:
    with pytest.raises(ConfigError, match="goes on in its own folder"):
        configure({"resume": str(begun), "output_dir": "elsewhere"})


def test_the_same_value_may_be_given_again(begun: Path) -> None:
    assert configure({"resume": str(begun), "seed": 3, "preset": "smoke"}).seed == 3


def test_where_no_run_is_nothing_can_be_resumed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nothing to resume in .*: it holds no config\.yaml"):
        configure({"resume": str(tmp_path)})
