"""A bank keeps few tests that kill what many kill, and what it exports runs without us."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.box.local import LocalBox
from selfplay.cases.case import Case
from selfplay.cases.values import encode
from selfplay.errors import BadInput
from selfplay.game.episode import TurnKey
from selfplay.game.phases import Step
from selfplay.game.players import Sampling
from selfplay.game.problems import Problem, StdinTest, load_problems
from selfplay.game.prompts import Prompts
from selfplay.game.rollout import Table, play
from selfplay.judging.judge import Judge
from selfplay.match.entrant import Entrant
from selfplay.match.examine import examine
from selfplay.match.ledger import to_json
from selfplay.match.match import Match
from selfplay.match.testbank import BankedSuite, BankedTest, build, collect, small
from selfplay.match.testfile import LONGEST, model_text, module_name, spelled
from selfplay.run.bankfile import export, left_out, read_bank, write_bank
from selfplay.run.reading import Ledger, Lines
from tests.scripted import ScriptedPlayer

BIG = Problem(
    "big-1",
    "Is it at least 3?",
    "f",
    "def f(n: int) -> bool:",
    ("assert f(7) == True",),
    "def f(n):\n    return n >= 3",
)
HALF = "print(int(input()) / 2)"
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


def played(player: Entrant, problem: Problem, step: Step, judge: Judge) -> list[Match]:
    """A step of two chains and two suites."""
    table = Table(2, 2, 0, player.sampling, player.sampling)
    return examine(play(player.player, player.prompts, [problem], step, table), step, judge, 2)


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
    player = entrant([WRONG, RIGHT], {3: TESTS[3]})
    matches = [match for index in (4, 9) for match in played(player, BIG, Step(index, 1, "both", "joint"), judge)]
    lines = [json.dumps(to_json(match)) for match in matches]
    (tmp_path / "episodes.jsonl").write_text("\n".join([*lines, lines[0][:100]]))
    [suite] = collect((match for _, match in Ledger(Lines(tmp_path / "episodes.jsonl"))), "runs/a")
    [test] = suite.tests
    assert (test.test, test.run, test.step, test.stage) == ("assert f(3) == True", "runs/a", 4, 3)
    assert [suite.programs[number] for number in test.kills] == [WRONG]
    assert collect([replace(matches[0], problem=replace(BIG, reference_solution=None))], "runs/a") == []


def test_a_test_that_cannot_be_written_down_is_not_collected(judge: Judge) -> None:
    asked = Problem("half", "Half of it.", "", "", (StdinTest("2", "1"),), HALF, kind="stdio", tolerance=1e-6)
    player = entrant([f"```python\n{HALF}\n```", "```python\nprint(1)\n```"], {5: "input:\n9\noutput:\n4.5"})
    [match] = played(player, asked, Step(0, 1, "both", "joint"), judge)
    assert "failed" in match.verdicts_on(match.programs[1], match.admitted)
    assert collect([match], "runs/a") == []


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
    ],
)
def test_a_case_is_spelled_as_one_line(case: Case, text: str) -> None:
    assert spelled(case, BIG) == text


@pytest.mark.parametrize(
    ("operator", "expected", "text"),
    [
        *((sign, 3, f"assert f(1) {sign} 3") for sign in ("==", "!=", "<", "<=", ">", ">=")),
        ("in", (1, 2), "assert f(1) in (1, 2)"),
        ("not_in", {1}, "assert f(1) not in {1}"),
        ("is", None, "assert f(1) is None"),
        ("is_not", True, "assert f(1) is not True"),
        ("truthy", None, "assert f(1)"),
        ("falsy", None, "assert not f(1)"),
    ],
)
def test_every_comparison_is_spelled_from_data(operator: str, expected: object, text: str) -> None:
    assert spelled(Case("t", "import os", encode([1]), operator, encode(expected)), BIG) == text


def run_case(text: str, name: str = "module") -> Case:
    """An assertion that is run, by itself in its text."""
    return Case(name, text, "", "runs", f"{name}:0.0", calls=(encode([1]),), text=text, mark="111111111")


NOT_DATA = [
    run_case("assert len(f(1)) == 2"),
    run_case("assert f(1) > f(2)"),
    Case("t", "assert f(1) is 5", encode([1]), "is", encode(5)),
    Case("t", "f(1)", encode([1]), "raises", '["Mine"]'),
]
FORGED = [
    Case("t", "", encode([1]), "raises", json.dumps(["ValueError): __import__('os'); f(1) #"])),
    *(Case("t", "", encode([1]), "raises", text) for text in ("5", "[]", "[[]]", "{}", "(")),
    Case("t", "", encode({"": [], "n=f(1)) or __import__('os').system('x') #": 1}), "==", "1"),
    Case("t", "", '["d",["",["l"]],["class",1]]', "==", "1"),
    Case("t", "", '["d",[5,6]]', "==", "1"),
    Case("t", "", "__import__('os')", "==", "1"),
    Case("t", "", "[]", "==", "1"),
    Case("t", "", "5", "==", "1"),
    Case("t", "", encode([1]), "==", '["o","f(1)"]'),
    Case("t", "", encode([1]), "== 1 or __import__('os') ==", "1"),
    Case("t", "", encode([1]), "approx", "1", tolerance=(float("inf"), 0.0)),
    Case("t", "", "a", "stdout", "b"),
]


@pytest.mark.parametrize("case", [*NOT_DATA, *FORGED])
def test_what_data_do_not_say_is_not_spelled(case: Case) -> None:
    assert spelled(case, BIG) is None


def test_what_a_model_wrote_is_kept_where_it_has_to_be_run_and_is_not_too_long() -> None:
    assert model_text(run_case("assert f(1) > f(2)")) == "assert f(1) > f(2)"
    assert model_text(run_case("assert f(1) > f(2)  #" + "." * LONGEST)) == ""
    assert model_text(Case("t", "assert f(1) == 2", encode([1]), "==", encode(2))) == ""


def bank_of(*cases: Case, **fields: str) -> list[dict[str, Any]]:
    """A bank of one function's cases, whose file says something else of each test than its data do."""
    texts = [model_text(case) if spelled(case, BIG) is None else "" for case in cases]
    tests = tuple(
        BankedTest("" if text else "import os; os.abort()", 1, (0,), "r", case, 2, text, case.name)
        for case, text in zip(cases, texts, strict=True)
    )
    return [BankedSuite(BIG, tests, ("x",), 1, {}).as_json() | fields]


def test_an_exported_test_is_written_from_data_whatever_the_file_says(tmp_path: Path) -> None:
    bank = bank_of(Case("t", "assert f(1), __import__('os').abort()", encode([1]), "==", encode("\u202e'''\n")))
    [file] = export(bank, "pytest", tmp_path)
    assert "os" not in {node.id for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Name)}
    assert "assert f(1) == \"\\u202e'''\\n\"" in file.read_text()
    [file] = export(bank, "jsonl", tmp_path / "problems.jsonl")
    assert "abort" not in file.read_text()


@pytest.mark.parametrize("name", ['a"""\nimport os', "a\\", "'''", "{0}", "\ud800\u202e", "class", 'a"'])
@pytest.mark.parametrize("texts", [False, True])
def test_an_id_is_no_code(name: str, texts: bool, tmp_path: Path) -> None:
    for file in export(
        bank_of(NOT_DATA[0], Case("t", "", encode([1]), "==", "2"), id=name), "pytest", tmp_path, None, texts
    ):
        tree = ast.parse(file.read_text())
        assert (ast.get_docstring(tree) or "").find(
            f"Tests of {json.dumps(name)}".encode().decode("unicode_escape")
        ) >= 0
        assert all(
            isinstance(each, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.Assign) for each in tree.body[1:]
        )
        assert "import os" not in [ast.unparse(each) for each in tree.body]


@pytest.mark.parametrize("name", ["f; import os", "f\n", "", "class", "a.b"])
def test_an_entry_point_that_is_no_name_is_refused(name: str, tmp_path: Path) -> None:
    for form in ("pytest", "jsonl"):
        with pytest.raises(BadInput, match=r"big-1: the entry point .* is no name"):
            export(bank_of(NOT_DATA[0], entry_point=name), form, tmp_path)
    assert not [*tmp_path.iterdir()]


def test_a_model_s_text_is_written_where_it_is_asked_for_and_runs_in_the_sandbox(tmp_path: Path) -> None:
    hostile = "assert [f(3), f(4).__class__.__name__] != [__import__('os').system('touch here')]"
    bank = bank_of(
        run_case("assert [f(3)] == [True]", "a"),
        run_case(hostile, "b"),
        Case("c", "", encode([3]), "==", "true"),
    )
    assert left_out(bank) == 2
    [plain] = export(bank, "pytest", tmp_path / "plain")
    assert "[True]" not in plain.read_text()
    same, own = export(bank, "pytest", tmp_path, None, True)
    assert same.read_text() == plain.read_text()
    assert own.read_text().startswith('"""A MODEL WROTE THE TESTS IN THIS FILE, AND RUNNING THE FILE RUNS THEM.\n')
    assert "__import__" not in {node.id for node in ast.walk(ast.parse(own.read_text())) if isinstance(node, ast.Name)}
    (tmp_path / "big_1.py").write_text(RIGHT)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", own.name]
    ran = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": os.getcwd()}, capture_output=True, text=True
    )
    assert "2 passed" in ran.stdout  # the hostile one runs, in the jail
    assert not (tmp_path / "here").exists()
    (tmp_path / "big_1.py").write_text("def f(n):\n    return None")
    ran = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": os.getcwd()}, capture_output=True, text=True
    )
    assert "1 failed, 1 passed" in ran.stdout
    assert not (tmp_path / "here").exists()


def test_a_bank_of_texts_alone_says_which_flag_writes_them(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="none that are data; --with-model-text writes the 1"):
        export(bank_of(NOT_DATA[0]), "pytest", tmp_path)
    with pytest.raises(BadInput, match="a problem file holds data alone"):
        export(bank_of(NOT_DATA[0]), "jsonl", tmp_path, None, True)
    assert [file.name for file in export(bank_of(NOT_DATA[0]), "pytest", tmp_path, None, True)] == [
        "test_big_1_by_a_model.py"
    ]


def test_modules_are_named_after_problems() -> None:
    assert [module_name(name) for name in ("two_sum", "a-b/c", "3sum", "if")] == ["two_sum", "a_b_c", "p_3sum", "p_if"]


def test_what_is_no_bank_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bank.jsonl").write_text('{"id": "a"}')
    with pytest.raises(BadInput, match="line 1 is no suite of a bank"):
        read_bank(tmp_path / "bank.jsonl")
    whole = bank_of(Case("t", "", encode([1]), "==", "1"))[0]
    for broken in (whole | {"entry_point": 5}, whole | {"tests": [whole["tests"][0] | {"case": {"name": "t"}}]}):
        (tmp_path / "bank.jsonl").write_text(json.dumps(broken))
        with pytest.raises(BadInput, match="line 1 is no suite of a bank"):
            read_bank(tmp_path / "bank.jsonl")
    with pytest.raises(BadInput, match=r"cannot be read .*bank build"):
        read_bank(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="holds no tests"):
        export([], "pytest", tmp_path)
