"""Trackers get every figure under its role's name, and none of their failures reaches the run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from selfplay.config import Config
from selfplay.errors import BadInput, UnknownName
from selfplay.run import trackers
from selfplay.run.figures import by_role, of_evaluation
from selfplay.run.trackers import TRACKERS, Tracking, names

STEP = {
    "kind": "step",
    "schema": 1,
    "step": 3,
    "steps": 40,
    "stage": 2,
    "role": "generator",
    "phase": "stage 2 generator",
}
FIGURES = {
    "loss": 0.5,
    "validity": 0.25,
    "refused/reference": 3,
    "reward/generator": 1.0,
    "seconds": 9.0,
    "seconds/play": 7.0,
}


class Kept:
    """A tracker that keeps what it gets, and fails when told to."""

    def __init__(self, fails: str = "") -> None:
        self.fails, self.got, self.ended = fails, [], 0

    def log(self, values: Mapping[str, float], step: int) -> None:
        if self.fails == "log":
            raise ConnectionError("no route to \x1b[2J host")
        self.got.append((step, dict(values)))

    def end(self) -> None:
        self.ended += 1
        if self.fails == "end":
            raise ConnectionError("gone")


def tracking(kept: Kept, said: list[str]) -> Tracking:
    return Tracking("kept", Config(), said.append, lambda config: kept)


def test_figures_are_named_by_role() -> None:
    assert by_role(STEP | FIGURES) == {
        "generator/loss": 0.5,
        "discriminator/validity": 0.25,
        "discriminator/refused/reference": 3.0,
        "generator/reward": 1.0,
        "time/step": 9.0,
        "time/play": 7.0,
        "run/stage": 2.0,
    }


def test_a_figure_of_a_role_and_a_stage_is_named_by_the_role_first() -> None:
    assert by_role({"role": "generator", "empty/discriminator/3": 0.5}) == {"discriminator/empty/3": 0.5}


def test_a_step_of_both_roles_names_no_figure_twice() -> None:
    both = {"role": "both", "loss": 0.5, "loss/discriminator": 0.5, "loss/generator": 0.25}
    assert by_role(both) == {"discriminator/loss": 0.5, "generator/loss": 0.25}


def test_what_was_not_measured_is_left_out() -> None:
    assert by_role({"role": "generator", "kills": None, "kl": float("nan")}) == {}


def test_an_evaluation_gives_its_values() -> None:
    record = {
        "when": "before",
        "problems": 8,
        "code_greedy": {"value": 0.5, "low": 0, "high": 1},
        "by_problem": {"a": {}},
    }
    assert of_evaluation(record) == {"eval/code_greedy": 0.5}


def test_a_tracker_gets_steps_and_evaluations_in_order_and_is_ended() -> None:
    kept = Kept()
    one = tracking(kept, [])
    one.evaluation({"when": "before", "code_greedy": {"value": 0.25}})
    assert kept.got == []
    one.step(STEP | {"loss": 0.5})
    one.evaluation({"when": "after", "code_greedy": {"value": 0.75}})
    one.close()
    assert [step for step, _ in kept.got] == [0, 4, 4]
    assert kept.got[2][1] == {"eval/code_greedy": 0.75}
    assert kept.ended == 1


@pytest.mark.parametrize("fails", ["log", "end"])
def test_a_tracker_that_fails_is_said_once_and_stops_nothing(fails: str) -> None:
    said: list[str] = []
    one = tracking(Kept(fails), said)
    for _ in range(3):
        one.step(STEP)
    one.close()
    assert len(said) == 1
    assert said[0].startswith("kept failed (ConnectionError: ")
    assert "\x1b" not in said[0]
    assert said[0].endswith("the run goes on without it, metrics.jsonl holds everything")


def test_a_tracker_that_cannot_be_opened_stops_nothing() -> None:
    def refuse(config: Config) -> Kept:
        raise RuntimeError("no key")

    said: list[str] = []
    one = Tracking("kept", Config(), said.append, refuse)
    one.step(STEP)
    one.close()
    assert len(said) == 1


def test_an_unknown_tracker_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(UnknownName, match="unknown tracker 'tensorbord', did you mean 'tensorboard'"):
        names(Config(report_to="tensorbord"))


def test_a_tracker_that_is_not_installed_is_refused_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trackers, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"pip install 'selfplay-code\[wandb\]'"):
        names(Config(report_to=("wandb", "trackio")))


def test_by_default_nothing_is_reported() -> None:
    assert names(Config()) == ()


def test_tensorboard_shows_what_was_logged(tmp_path: Path) -> None:
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator", reason="needs tensorboard")
    said: list[str] = []
    one = Tracking("tensorboard", Config(output_dir=str(tmp_path)), said.append)
    for number in range(3):
        one.step(STEP | {"step": number, "loss": number / 2})
    one.close()
    events = reader.EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [(event.step, event.value) for event in events.Scalars("generator/loss")] == [(1, 0.0), (2, 0.5), (3, 1.0)]
    assert said == []


@pytest.mark.parametrize("name", ["trackio", "wandb"])
def test_a_tracker_of_the_network_works_without_one(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(name)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    said: list[str] = []
    one = Tracking(name, Config(output_dir=str(tmp_path)), said.append)
    one.step(STEP | {"loss": 0.5})
    one.evaluation({"when": "after", "code_greedy": {"value": 0.75}})
    one.close()
    assert said == []


def test_every_tracker_is_an_extra() -> None:
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert set(TRACKERS) <= set(project["optional-dependencies"])
