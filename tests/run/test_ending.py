"""What a run says at its end: where its adapters lie, and how to go on."""

from __future__ import annotations

from pathlib import Path

from selfplay.config import Config
from selfplay.run import checkpoints, ending


def left(run: Path, error: BaseException) -> list[str]:
    ending.add_what_is_left(run, error)
    return getattr(error, "__notes__", [])


def kept(run: Path, step: int, finished: bool = False) -> None:
    checkpoints.write(run, checkpoints.About(step=step, steps=2, stage=1, finished=finished), lambda folder: None)


def test_an_error_before_anything_was_kept_says_nothing(run_folder: Path) -> None:
    assert left(run_folder, ValueError()) == []
    assert left(run_folder, KeyboardInterrupt()) == []


def test_an_error_says_where_adapters_and_the_last_checkpoint_are(run_folder: Path) -> None:
    (run_folder / "adapters").mkdir()
    kept(run_folder, 1)
    adapters, checkpoint = left(run_folder, ValueError())
    assert adapters.endswith(f"{run_folder}/adapters/generator and {run_folder}/adapters/discriminator")
    assert checkpoint == f"the last checkpoint is of step 1: go on with --resume {run_folder}"


def test_a_run_that_was_cut_off_says_how_to_go_on(run_folder: Path) -> None:
    kept(run_folder, 1)
    [said] = left(run_folder, KeyboardInterrupt())
    assert said.endswith(f"`python -m selfplay.train --resume {run_folder}`")


def test_only_a_run_with_all_steps_and_adapters_is_finished(run_folder: Path) -> None:
    config = Config(output_dir=str(run_folder), resume=str(run_folder))
    assert ending.finished(config) is None
    kept(run_folder, 2, finished=True)
    assert ending.finished(config) is None
    (run_folder / "adapters").mkdir()
    found = ending.finished(config)
    assert found is not None
    assert found.step == 2


def test_the_last_words_name_the_records_that_there_are() -> None:
    assert ending.done(Config(output_dir="a"), "TABLE").endswith(
        "metrics: a/metrics.jsonl · episodes: a/episodes.jsonl"
    )
    assert ending.done(Config(output_dir="a", ledger="off"), "TABLE").endswith("metrics: a/metrics.jsonl")
