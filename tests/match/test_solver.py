"""A solver plays all stages, and hands in the program that its tests and the agreement between programs speak for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from selfplay.box.local import LocalBox
from selfplay.game.episode import TurnKey
from selfplay.game.players import Completion, Request, Sampling
from selfplay.game.problems import Problem, StdinTest
from selfplay.game.prompts import Prompts
from selfplay.judging.judge import Judge
from selfplay.match.entrant import Entrant
from selfplay.match.solver import Solver
from tests.scripted import ScriptedPlayer

BIG = Problem("big", "Is it at least 3?", "f", "def f(n: int) -> bool:", ())
RIGHT, WRONG, OTHER = (f"def f(n):\n    return n {sign} 3" for sign in (">=", ">", "<"))


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    box = LocalBox()
    yield Judge(box)
    box.close()


def entrant(*programs: str, tests: str = "", stages: tuple[int, ...] = (1, 2, 3, 4, 5)) -> Entrant:
    """A player whose n-th sample ends in the n-th program; its tests of stage 5 are always the same."""

    def said(key: TurnKey) -> str:
        if key.role == "discriminator":
            return tests if key.stage == 5 else ""
        return programs[key.branch] if key.stage == 5 else f"thought {key.stage}"

    return Entrant("scripted", ScriptedPlayer(said), Prompts("compact"), Sampling(max_tokens=2000), stages)


def test_a_solution_carries_chain_code_tests_execution_and_costs(judge: Judge) -> None:
    solution = Solver(entrant(RIGHT, tests="assert f(3) == True\nassert f(4) != 7"), judge=judge).solve(BIG)
    assert solution.chain == {stage: f"thought {stage}" for stage in range(1, 5)}
    assert solution.code == RIGHT
    assert [(test.stage, test.verdict) for test in solution.tests] == [(5, "passed"), (5, None)]
    assert solution.execution
    assert (solution.execution.passed, solution.execution.total) == (1, 1)
    assert set(solution.spent) == {1, 2, 3, 4, 5}
    assert solution.tokens == sum(spent.tokens for spent in solution.spent.values()) > 0


def test_a_test_that_is_given_decides_before_agreement_does(judge: Judge) -> None:
    programs = entrant(WRONG, WRONG, RIGHT, tests="assert f(9) == True")
    asked = replace(BIG, baseline_tests=("assert f(3) == True",))
    assert Solver(programs, 3, judge=judge).solve(asked).code == RIGHT


def test_without_a_reference_agreement_of_programs_and_tests_decides(judge: Judge) -> None:
    programs = entrant(
        OTHER, RIGHT, WRONG, RIGHT, tests="assert f(3) == True\nassert f(2) == False\nassert f(9) == False"
    )
    solution = Solver(programs, 4, judge=judge).solve(BIG)
    assert (solution.sample, solution.code) == (1, RIGHT)
    assert solution.execution
    assert (solution.execution.passed, solution.execution.total, solution.execution.agreed) == (2, 3, 2)


def test_with_a_reference_wrong_tests_do_not_count(judge: Judge) -> None:
    tests = "assert f(3) == False\nassert f(4) == False\nassert f(2) == False"
    asked = replace(BIG, reference_solution=RIGHT)
    solution = Solver(entrant(OTHER, RIGHT, tests=tests), 2, judge=judge).solve(asked)
    assert solution.code == RIGHT
    assert ["does not pass" in test.refused for test in solution.tests] == [False, True, True]


def test_a_program_is_handed_in_rather_than_none(judge: Judge) -> None:
    solution = Solver(entrant("no code", "neither", RIGHT), 3, judge=judge).solve(BIG)
    assert solution.code == RIGHT
    assert Solver(entrant("none at all"), judge=judge).solve(BIG).code is None


def test_nothing_runs_where_nothing_is_to_be_executed() -> None:
    endless = "while True: pass\n" + RIGHT
    solution = Solver(entrant(endless, tests="assert f(3) == True"), execute=False).solve(BIG)
    assert solution.code == endless
    assert solution.execution is None
    assert [(test.stage, test.verdict) for test in solution.tests] == [(5, None)]


def test_tests_that_have_to_be_run_are_shown_where_nothing_is_executed() -> None:
    asked = replace(BIG, baseline_tests=("x = f(3)\nassert x == True",))
    solution = Solver(entrant(RIGHT, tests="assert f(3) == True\ny = f(4)\nassert y"), execute=False).solve(asked)
    assert [(test.stage, test.verdict) for test in solution.tests] == [(None, None), (5, None), (5, None)]
    assert ["assert x" in solution.tests[0].source, "assert y" in solution.tests[2].source] == [True, True]
    assert "y = f(4) assert y" in solution.text()


def test_tests_that_are_run_decide_between_programs(judge: Judge) -> None:
    tests = "ns = [2, 3]\nassert [f(n) for n in ns] == [False, True]"
    solution = Solver(entrant(WRONG, RIGHT, tests=tests), 2, judge=judge).solve(replace(BIG, reference_solution=RIGHT))
    assert solution.code == RIGHT
    assert [test.verdict for test in solution.tests] == ["passed"]
    assert "assert [f(n) for n in ns] == [False, True]" in solution.text()


def test_programs_that_read_standard_input_are_solved(judge: Judge) -> None:
    asked = Problem("echo", "Print it.", "", "", (StdinTest("a\n", "a\n"),), kind="stdio")
    program = "```python\nprint(input())\n```"
    solution = Solver(entrant(program, tests="input:\nb\noutput:\nb"), judge=judge).solve(asked)
    assert solution.execution
    assert solution.execution.passed == solution.execution.total > 0


def test_problems_of_one_batch_have_their_own_chains_and_costs(judge: Judge) -> None:
    heard: list[Request] = []

    def hear(request: Request, text: str, done: Completion) -> None:
        heard.append(request)

    player = entrant(RIGHT, stages=(5,))
    asked = [replace(BIG, id=name) for name in ("a", "b")]
    solutions = Solver(player, judge=judge, hear=hear).solve_all(asked)
    assert [solution.problem.id for solution in solutions] == ["a", "b"]
    assert [solution.chain for solution in solutions] == [{}, {}]
    assert [(request.key.problem, request.key.role) for request in heard] == [
        (name, role) for role in ("generator", "discriminator") for name in ("a", "b")
    ]


def test_a_solution_is_one_json_object_and_its_text_is_escaped(judge: Judge) -> None:
    solution = Solver(entrant(RIGHT + "  # \x1b[2J", tests="assert f(3)"), judge=judge).solve(BIG)
    told = json.loads(json.dumps(solution.as_json()))
    assert set(told) >= {"problem", "chain", "code", "tests", "execution", "seconds", "tokens"}
    assert told["problem"]["id"] == "big"
    assert "\x1b" not in repr(solution)
    assert "\\x1b[2J" in repr(solution)
