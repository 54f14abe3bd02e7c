"""A bank keeps few tests that kill what many kill, and what it exports runs without us."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.box.local import LocalBox
from selfplay.cases.case import Case
from selfplay.cases.values import encode
from selfplay.errors import BadInput
from selfplay.game.episode import TurnKey
from selfplay.game.phases import Step
from selfplay.game.players import Sampling, ScriptedPlayer
from selfplay.game.problems import Problem, StdinTest, load_problems
from selfplay.game.prompts import Prompts
from selfplay.judging.judge import Judge
from selfplay.match.entrant import Entrant
from selfplay.match.ledger import to_json
from selfplay.match.record import Match
from selfplay.match.testbank import BankedSuite, build, collect, small
from selfplay.match.testfile import Unspellable, module_name, spelled
from selfplay.run.bankfile import export, matches_of, read_bank, write_bank

BIG = Problem(
    "big-1",
    "Is it at least 3?",
    "f",
    "def f(n: int) -> bool:",
    ("assert f(7) == True",),
    "def f(n):\n    return n >= 3",
)
RIGHT, WRONG, OTHER = (f"def f(n):\n    return {test}" for test in ("n >= 3", "n > 3", "n != 2"))
TESTS = {
    1: "assert f(9) == True\nassert f(8) == True",
    3: "assert f(3) == True",
    5: "assert f(1) == False\nassert f(0) is False\nassert f(2) == True",
}


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    box = LocalBox()
    yield Judge(box)
    box.close()


def entrant(programs: list[str], tests: dict[int, str]) -> Entrant:
    def said(key: TurnKey) -> str:
        if key.role == "discriminator":
            return tests.get(key.stage, "")
        return programs[key.branch] if key.stage == 5 else "thought"

    return Entrant("scripted", ScriptedPlayer(said), Prompts("compact"), Sampling(max_tokens=2000))


@pytest.fixture(scope="module")
def suite(judge: Judge) -> BankedSuite:
    [suite] = build(entrant([RIGHT, WRONG, OTHER], TESTS), [BIG], judge, 3)
    return suite


def test_a_suite_kills_what_all_tests_killed_with_half_of_them(suite: BankedSuite) -> None:
    assert suite.scores["wrong_programs"] == {"before": 1.0, "kept": 1.0}
    assert suite.scores["mutation_score"]["kept"] == suite.scores["mutation_score"]["before"]
    assert len(suite.tests) <= suite.written / 2 + 1
    assert {WRONG, OTHER} <= set(suite.programs)


def test_a_test_says_where_it_is_from_and_what_it_kills(suite: BankedSuite) -> None:
    [boundary] = [test for test in suite.tests if test.test == "assert f(3) == True"]
    assert (boundary.stage, boundary.run, boundary.step) == (3, "scripted", None)
    assert suite.programs.index(WRONG) in boundary.kills
    assert suite.programs.index(OTHER) not in boundary.kills


@given(st.lists(st.tuples(st.frozensets(st.integers(0, 6), max_size=4), st.sampled_from("abc")), max_size=10))
def test_a_small_suite_kills_everything_and_stays_small(tests: list[tuple[frozenset[int], str]]) -> None:
    kills, results = [own for own, _ in tests], [result for _, result in tests]
    chosen = small(kills, results)
    assert frozenset().union(*(kills[number] for number in chosen)) == frozenset().union(*kills)
    needed = len({number for own in kills for number in own})
    assert len(chosen) <= max(needed, (len(kills) + 1) // 2)


def run_pytest(folder: Path, name: str, solution: str) -> int:
    (folder / f"{name}.py").write_text(solution)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"test_{name}.py"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    return ran.returncode


def test_exported_tests_pass_on_the_reference_and_fail_on_what_they_kill(suite: BankedSuite, tmp_path: Path) -> None:
    write_bank(tmp_path / "bank.jsonl", [suite])
    [file] = export(read_bank(tmp_path / "bank.jsonl"), "pytest", tmp_path / "out")
    assert file.name == "test_big_1.py"
    assert "selfplay" not in file.read_text()
    assert run_pytest(file.parent, "big_1", BIG.reference_solution or "") == 0
    killed = {number for test in suite.tests for number in test.kills}
    for number in sorted(killed)[:4]:
        assert run_pytest(file.parent, "big_1", suite.programs[number]) == 1


def test_programs_get_inputs_and_outputs(judge: Judge, tmp_path: Path) -> None:
    asked = Problem("echo", "Print it.", "", "", (StdinTest("a", "a"),), "print(input())", kind="stdio")
    bad = "print(input()[:1])"
    player = entrant(["```python\nprint(input())\n```", f"```python\n{bad}\n```"], {5: "input:\nab\noutput:\nab"})
    [suite] = build(player, [asked], judge, 2)
    export([suite.as_json()], "pytest", tmp_path)
    assert run_pytest(tmp_path, "echo", "print(input())") == 0
    assert run_pytest(tmp_path, "echo", bad) == 1


def test_as_a_problem_file_the_bank_loads_and_the_tests_are_the_problem_s(suite: BankedSuite, tmp_path: Path) -> None:
    [file] = export([suite.as_json()], "jsonl", tmp_path / "problems.jsonl")
    [problem] = load_problems(file)
    assert problem.baseline_tests == tuple(test.test for test in suite.tests)


def test_a_run_s_ledger_is_collected_with_provenance(judge: Judge, tmp_path: Path) -> None:
    matches: list[Match] = []
    from selfplay.game.rollout import Table, play
    from selfplay.match.examine import examine

    player = entrant([WRONG, RIGHT], {3: TESTS[3]})
    for index in (4, 9):
        step = Step(index, 1, "both", "joint")
        table = Table(2, 2, 0, player.sampling, player.sampling)
        matches += examine(play(player.player, player.prompts, [BIG], step, table), step, judge, 2)
    lines = [json.dumps(to_json(match)) for match in matches]
    (tmp_path / "episodes.jsonl").write_text("\n".join([*lines, lines[0][:100]]))
    [suite] = collect(matches_of(tmp_path), "runs/a")
    [test] = suite.tests
    assert (test.test, test.run, test.step, test.stage) == ("assert f(3) == True", "runs/a", 4, 3)
    assert [suite.programs[number] for number in test.kills] == [WRONG]
    assert collect([replace(matches[0], problem=replace(BIG, reference_solution=None))], "runs/a") == []


@pytest.mark.parametrize(
    ("case", "text"),
    [
        (Case("t", "", encode([[1], "a"]), "==", encode((1.5, None))), "assert f([1], 'a') == (1.5, None)"),
        (Case("t", "", encode({"": [1], "k": 2}), "==", encode(True)), "assert f(1, k=2) == True"),
        (Case("t", "", encode([1]), "raises", '["ValueError"]'), "with pytest.raises(ValueError): f(1)"),
        (
            Case("t", "", encode([1]), "approx", encode(0.5), tolerance=(0.0, 1e-6)),
            "assert f(1) == pytest.approx(0.5, rel=0.0, abs=1e-06)",
        ),
        (Case("t", "assert len(f(1)) == 2", encode([1]), "==", encode(2), view=("len",)), "assert len(f(1)) == 2"),
    ],
)
def test_a_case_is_spelled_as_one_line(case: Case, text: str) -> None:
    assert spelled(case, BIG) == text


@pytest.mark.parametrize("source", ["assert len(f(n)) == 2", "x = f(1)\nassert len(x) == 2", "assert helper(f(1))"])
def test_what_does_not_stand_by_itself_is_not_spelled(source: str) -> None:
    with pytest.raises(Unspellable):
        spelled(Case("t", source, encode([1]), "==", encode(2), view=("len",)), BIG)


def test_modules_are_named_after_problems() -> None:
    assert [module_name(name) for name in ("two_sum", "a-b/c", "3sum")] == ["two_sum", "a_b_c", "p_3sum"]


def test_what_is_no_bank_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bank.jsonl").write_text('{"id": "a"}')
    with pytest.raises(BadInput, match="line 1 is no suite of a bank"):
        read_bank(tmp_path / "bank.jsonl")
    with pytest.raises(BadInput, match=r"cannot be read .*bank build"):
        read_bank(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="holds no tests"):
        export([], "pytest", tmp_path)
    with pytest.raises(BadInput, match="collected from a run with a ledger"):
        list(matches_of(tmp_path / "nowhere"))
