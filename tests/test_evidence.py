"""The headline of the arms: how much of the gap between no adversary and golden tests another arm closes."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.evidence import FIGURES, flags, table

ESTIMATE = {"value": 0.5, "low": 0.4, "high": 0.6}


def write(folder: Path, arm: str, seed: int, greedy: list[bool]) -> None:
    """A run that ended with these greedy programs right, and as many of four samples."""
    run = folder / f"{arm}.{seed}"
    run.mkdir(parents=True)
    problems = {f"p{place}": {"correct": 4 * right, "greedy": right} for place, right in enumerate(greedy)}
    share = ESTIMATE | {"value": sum(greedy) / len(greedy)}
    record = dict.fromkeys(FIGURES, share) | {"kind": "evaluation", "by_problem": problems}
    record["seconds"] = 1.0
    step = {"kind": "step", "tokens": 1, "seconds": 1.0}
    start = record | dict.fromkeys(FIGURES, ESTIMATE) | {"when": "before"}
    lines = [start, step, record | {"when": "after"}]
    (run / "metrics.jsonl").write_text("\n".join(map(json.dumps, lines)))


def closed(folder: Path) -> list[str]:
    return [line for line in table(folder) if "gap" in line]


def test_an_arm_half_way_between_none_and_golden_closes_half_of_the_gap(tmp_path: Path) -> None:
    for seed in (0, 1):
        write(tmp_path, "none", seed, [False] * 20)
        write(tmp_path, "golden", seed, [True] * 20)
        write(tmp_path, "trained", seed, [place % 2 == seed for place in range(20)])
    greedy, correct = closed(tmp_path)
    assert greedy.startswith(
        "* greedy: trained closes 0.50 of the gap between none and golden (0.50 to 0.50 over problems"
    )
    assert "; 0.50 to 0.50 over 2 seeds)" in greedy
    assert correct.startswith("* correct: trained closes 0.50")


def test_where_golden_tests_teach_nothing_there_is_no_gap_to_close(tmp_path: Path) -> None:
    for arm in ("none", "golden", "trained"):
        write(tmp_path, arm, 0, [True, False] * 10)
    assert [line.endswith("no gap to close") for line in closed(tmp_path)] == [True, True]


def test_without_both_ends_nothing_is_said(tmp_path: Path) -> None:
    write(tmp_path, "none", 0, [True, False])
    write(tmp_path, "trained", 0, [True, False])
    assert closed(tmp_path) == []


def test_an_arm_s_settings_are_flags() -> None:
    assert flags("shifted:thinking=off,train_problems=64") == (
        *("--rewards", "shifted", "--thinking", "off", "--train-problems", "64"),
    )


def test_where_nothing_was_right_at_the_start_no_share_of_it_is_told(tmp_path: Path) -> None:
    write(tmp_path, "trained", 0, [True])
    [line] = [line for line in table(tmp_path) if line.startswith("| trained | +")]
    assert "+0.500 (+0.500 to +0.500), +100%" in line
    path = tmp_path / "trained.0" / "metrics.jsonl"
    path.write_text(path.read_text().replace('"value": 0.5', '"value": 0.0'))
    [line] = [line for line in table(tmp_path) if line.startswith("| trained | +")]
    assert "%" not in line


def test_a_dearer_run_is_read_where_the_cheaper_one_ends(tmp_path: Path) -> None:
    for arm, tokens, last in (("trained", 100, 1.0), ("frozen", 50, 0.25)):
        for seed in (0, 1):
            write(tmp_path, arm, seed, [True] * int(4 * last) + [False] * (4 - int(4 * last)))
            run = tmp_path / f"{arm}.{seed}"
            start, step, after = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
            start["by_problem"] = {name: {"correct": 0, "greedy": False} for name in after["by_problem"]}
            lines = [start, step | {"generated_tokens": tokens}, after]
            (run / "metrics.jsonl").write_text("\n".join(map(json.dumps, lines)))
            (tmp_path / f"{run.name}.log").write_text("CPU seconds of the run: 30.0\n")
    at_tokens, at_cpu = [line for line in table(tmp_path) if "at equal" in line]
    assert at_tokens.startswith("* greedy at equal generated tokens: trained minus frozen, 50 each: +0.250")
    assert at_cpu.startswith("* greedy at equal CPU seconds of steps: trained minus frozen, 10 each: +0.750")
    assert "over 2 seeds" in at_tokens
