from __future__ import annotations

import json
from pathlib import Path

import pytest

import selfplay
from selfplay.config import configure
from selfplay.game.problems import UnknownProblem
from selfplay.play import choose, main


@pytest.fixture
def file(tmp_path: Path) -> str:
    problem = {
        "id": "double",
        "description": "Return twice the number.",
        "signature": "def double(n: int) -> int:",
        "baseline_tests": ["assert double(2) == 4"],
        "reference_solution": "def double(n):\n    return 2 * n",
    }
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps(problem) + "\n" + json.dumps(problem | {"id": "twice"}))
    return str(path)


def test_a_problem_is_found_by_its_id_in_any_set_of_the_package() -> None:
    assert choose(configure(), "two_sum").entry_point == "two_sum"


def test_without_an_id_the_seed_draws_a_problem(file: str) -> None:
    drawn = {choose(configure({"problems": file, "seed": seed}), None).id for seed in range(20)}
    assert drawn == {"double", "twice"}
    assert choose(configure({"seed": 3}), None) == choose(configure({"seed": 3}), None)


def test_an_unknown_problem_is_named_with_the_nearest(file: str) -> None:
    with pytest.raises(
        UnknownProblem, match=r"unknown problem 'doubel', did you mean 'double'\?; .*mine\.jsonl holds 2"
    ):
        choose(configure({"problems": file}), "doubel")


def test_bad_input_exits_2_and_leaves_stdout_empty(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--problem", "two_sums"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "did you mean 'two_sum'" in said.err


def test_a_key_of_training_alone_is_no_flag_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--n-generator-steps", "3"]) == 2
    assert "unknown key --n-generator-steps; `python -m selfplay.play --help` lists them" in capsys.readouterr().err


def test_the_embedded_player_plays_before_any_training(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--problem", "two_sum", "--seed", "1"]) == 0
    said = capsys.readouterr().out
    for part in ("problem two_sum", "-- stage 5, Executable Code", "-- tests", "-- matrix", "-- rewards by rule"):
        assert part in said


def test_from_python_an_episode_is_text(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = selfplay.play("double", problems=file)
    assert text.startswith("problem double: Return twice the number.")
    assert capsys.readouterr().out == text + "\n"


def test_a_named_player_plays_and_an_unknown_one_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--problem", "two_sum", "--player", "embeded"]) == 2
    assert "no player 'embeded', did you mean 'embedded'" in capsys.readouterr().err
    assert main(["--problem", "two_sum", "--player", "embedded", "--seed", "1"]) == 0
    named = capsys.readouterr().out.partition("usual causes")[0]
    assert main(["--problem", "two_sum", "--seed", "1"]) == 0
    assert capsys.readouterr().out.partition("usual causes")[0] == named
