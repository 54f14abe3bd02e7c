"""The commands of benchmarks/: fuzzing, what a GPU is asked, memory, generation, kills."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from benchmarks import gpu, random_models, resume, unsloth_cuda_path
from benchmarks.fuzz import hunt, jobs, smaller
from benchmarks.fuzz_guard import Finding
from benchmarks.fuzz_targets import TARGETS, Input, Target
from benchmarks.honest_suites import parsed

ROOT = Path(__file__).parent.parent


def command(*words: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, cwd=cwd, env=environment)


def planted(run: Callable[[Input], str | None]) -> list[tuple[int, Finding]]:
    """What is found in a target that runs `run`, with a bound of 0.3 s and 32 MiB."""
    target = Target(lambda random: {"text": "a\nb\nc"}, run, (0.3, 0.0), (32.0, 0.0))
    return hunt({"planted": target}, 60, "0", inputs=3)[1]


def slow(given: Input) -> str | None:
    while True:
        pass


def slow_in_c(given: Input) -> str | None:
    pow(3, 10**9)
    return None


def crashing(given: Input) -> str | None:
    os.abort()


def greedy(given: Input) -> str | None:
    return "a" * 0 * len(bytearray(200 << 20)) or None


def raising(given: Input) -> str | None:
    raise KeyError("a")


def wrong(given: Input) -> str | None:
    return "the judge says True: and Python False"


@pytest.mark.parametrize(
    ("run", "kind"),
    [
        (slow, "over its bound of CPU time"),
        (slow_in_c, "over its bound of CPU time"),
        (crashing, "killed by SIGABRT"),
        (greedy, "over its bound of memory"),
        (raising, "KeyError"),
        (wrong, "the judge says True"),
    ],
)
def test_what_is_planted_is_found_and_the_fuzzer_goes_on(run: Callable[[Input], str | None], kind: str) -> None:
    ((count, finding),) = planted(run)
    assert count == 3
    assert finding.kind.startswith(kind)


def test_a_finding_is_made_smaller() -> None:
    target = Target(lambda random: {}, lambda given: "b is there" if "b" in given["text"] else None, (1, 0), (64, 0))
    finding = Finding("planted", "b is there", "", {"text": "a\na\nb\na\na\na"})
    assert smaller({"planted": target}, finding, 30).given == {"text": "b"}


def test_seed_and_number_say_what_an_input_is() -> None:
    for name, seed, _ in jobs(TARGETS, "7", 30):
        assert TARGETS[name].draw(Random(seed)) == TARGETS[name].draw(Random(seed))


def test_an_input_that_never_ends_is_left_when_the_time_is_up() -> None:
    assert hunt({"planted": Target(lambda random: {}, slow, (600, 0), (64, 0))}, 0.5, "0") == (0, [])


def test_a_short_run_of_the_fuzzer_finds_nothing(tmp_path: Path) -> None:
    done = command("benchmarks.fuzz", "--minutes", "0.2", "--seed", "0", "--findings", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.startswith("seed 0\n")


def test_a_file_of_the_set_that_lacks_a_section_is_refused() -> None:
    with pytest.raises(ValueError, match="needs entry_point"):
        parsed("x", "# entry_point: f\n# style: y\n# ---- tests ----\nassert f(1)\n")


def test_the_benchmark_of_gpus_runs_on_tiny_models_without_one() -> None:
    ran = command("benchmarks.gpu", "--dry-run")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("| hold |") == len(gpu.DRY)


@pytest.mark.gpu
@pytest.mark.parametrize("part", gpu.PARTS, ids=lambda part: part.name)
def test_every_invariant_holds_on_a_gpu(part: gpu.Part) -> None:
    ran = command("benchmarks.gpu", "--part", part.name)
    assert ran.returncode == 0, ran.stderr
    assert "| hold |" in ran.stdout


def test_the_parts_on_a_gpu_keep_to_their_limits() -> None:
    assert gpu.LIMIT <= 9 * 60
    assert len({part.name for part in gpu.PARTS}) == len(gpu.PARTS)
    assert {part.shape for part in (*gpu.PARTS, *gpu.DRY, *unsloth_cuda_path.PARTS)} <= set(random_models.SHAPES)


@pytest.mark.unsloth
@pytest.mark.slow
@pytest.mark.parametrize("part", unsloth_cuda_path.PARTS[:2], ids=lambda part: part.dtype)
def test_unsloths_cuda_path_keeps_every_invariant_where_it_offloads(part: unsloth_cuda_path.Part) -> None:
    ran = command("benchmarks.unsloth_cuda_path", "--part", part.name)
    if ran.stdout.startswith("not run"):
        pytest.skip(ran.stdout)
    assert part.offloads  # the command runs the others, which do not
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "| an update that resumes | bit for bit |" in ran.stdout


def test_an_invariant_that_does_not_hold_is_marked() -> None:
    told = unsloth_cuda_path.table(
        {"one": {"ratio": (True, "1.0")}, "other": {"ratio": (False, "1.2"), "rows": (True, "8")}}
    )
    assert told.splitlines()[2:] == ["| ratio | 1.0 | **FAILS** 1.2 |", "| rows |  | 8 |"]


def test_a_part_that_would_begin_when_the_time_is_up_is_skipped_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    now, given = [0.0], list[float]()

    def run(part: gpu.Part, most: float) -> int:
        given.append(most)
        now[0] += most
        return 0

    assert gpu.in_time(gpu.PARTS, run, 60.0 * gpu.MINUTES, lambda: now[0]) == 1
    assert given == [540, 540, 540, 180]
    assert capsys.readouterr().out.count("skipped: the 30 minutes are over") == len(gpu.PARTS) - 4


def test_a_dry_run_without_time_says_what_it_left_out() -> None:
    ran = command("benchmarks.gpu", "--dry-run", "--minutes", "0")
    assert ran.returncode == 1, ran.stderr
    assert ran.stdout.count("| skipped: the 0 minutes are over") == len(gpu.DRY)


def test_the_memory_plan_counts_what_stays_to_the_byte() -> None:
    ran = command("benchmarks.memory", "--dry-run")
    assert ran.returncode == 0, ran.stderr
    for part in ("weights", "adapters", "optimizers"):
        assert re.search(rf"{part} .* 1\.00 \|$", ran.stdout, re.MULTILINE)


def test_the_benchmark_of_generation_plays_the_same_turns_by_each_sampler() -> None:
    ran = command(
        "benchmarks.generation", "--dry-run", "--stages", "4", "--rounds", "1", "--tokens", "8", "--suites", "1"
    )
    assert ran.returncode == 0, ran.stderr
    counted = re.findall(r"(\d+) of (\d+) turns the same", ran.stdout)
    assert len(counted) == 2
    assert all(same == played for same, played in counted)


def test_kills_come_to_every_place_of_a_run_and_are_the_same_for_a_seed() -> None:
    kills = resume.draw(20, Random(1))
    assert len(kills) == 20
    assert {kill.place for kill in kills} == set(resume.PLACES)
    assert kills == resume.draw(20, Random(1))
