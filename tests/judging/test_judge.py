"""The judge: the matrix of verdicts, retries, admission by reference, and the sampled second run."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Sequence

import pytest

from selfplay.box.local import LocalBox
from selfplay.box.task import Box, Execution, Limits, Task
from selfplay.cases.case import Case
from selfplay.game.problems import Problem
from selfplay.judging.execute import execute_tests, validate_tests_against_solution
from selfplay.judging.judge import Job, Judge
from selfplay.reading import read_cases

ADD = "def add(a, b): return a + b"
WRONG = "def add(a, b): return a - b"


@pytest.fixture(scope="module")
def box() -> Iterator[LocalBox]:
    with LocalBox() as box:
        yield box


class Counting(Box):
    """A box that passes tasks on, remembers them, and fails the first `failures` calls."""

    def __init__(self, box: LocalBox, failures: int = 0) -> None:
        self.box, self.failures = box, failures
        self.calls: list[list[Task]] = []
        self.tier = box.tier

    def stream(self, tasks: Sequence[Task]) -> Generator[tuple[int, tuple[Execution, ...]]]:
        self.calls.append(list(tasks))
        if len(self.calls) <= self.failures:
            yield from ((i, (Execution("infra_error"),) * len(task.inputs)) for i, task in enumerate(tasks))
        else:
            yield from self.box.stream(tasks)

    def close(self) -> None: ...


def cases(*tests: str) -> tuple[Case, ...]:
    return read_cases("\n".join(f"assert {test}" for test in tests), "add").cases


def test_a_matrix_has_a_row_per_program_and_a_column_per_case(box: LocalBox) -> None:
    matrix = Judge(box).matrix("add", [ADD, WRONG, "def add("], cases("add(1, 2) == 3", "add(0, 0) == 0"))
    assert matrix.verdicts == (("passed", "passed"), ("failed", "passed"), ("not_collected", "not_collected"))


def test_python_s_equality_decides(box: LocalBox) -> None:
    told = cases("add(1, 0) == True", "add(1, 0) == 1.0", "add(1, 0) != 2", "add([1], [2]) == (1, 2)", "add(1, 0) > 0")
    assert Judge(box).matrix("add", [ADD], told).verdicts == (("passed", "passed", "passed", "failed", "passed"),)


def test_an_object_equal_to_everything_equals_nothing(box: LocalBox) -> None:
    liar = "class Liar:\n    def __eq__(self, other): return True\ndef add(a, b): return Liar()"
    assert Judge(box).matrix("add", [liar], cases("add(1, 2) == 3")).verdicts == (("failed",),)


def test_all_jobs_go_to_the_box_in_one_call_and_equal_programs_run_once(box: LocalBox) -> None:
    counting = Counting(box)
    own = cases("add(1, 2) == 3", "add(1, 2) != 4")
    jobs = [Job("add", (ADD, WRONG, ADD), own), Job("add", (ADD,), own), Job("add", (), own), Job("add", (ADD,), ())]
    matrices = Judge(counting, recheck=0.0).matrices(jobs)
    assert [len(task.inputs) for task in counting.calls[0]] == [1, 1, 0]
    assert [len(matrix.verdicts) for matrix in matrices] == [3, 1, 0, 1]
    assert matrices[0].verdicts[0] == matrices[0].verdicts[2] == ("passed", "passed")
    assert len(counting.calls) == 1


def test_a_failure_of_the_box_is_tried_once_more(box: LocalBox) -> None:
    judge = Judge(Counting(box, failures=1), recheck=0.0)
    assert judge.matrix("add", [ADD], cases("add(1, 2) == 3")).verdicts == (("passed",),)


def test_a_box_that_fails_twice_is_an_infrastructure_error_and_no_zero(box: LocalBox) -> None:
    judge = Judge(Counting(box, failures=2), recheck=0.0)
    assert judge.matrix("add", [ADD], cases("add(1, 2) == 3")).verdicts == (("infra_error",),)


def test_a_second_run_that_disagrees_is_told(box: LocalBox, caplog: pytest.LogCaptureFixture) -> None:
    fickle = "import os\ndef add(a, b): return os.urandom(8)"
    judge = Judge(box, recheck=1.0)
    with caplog.at_level(logging.WARNING):
        judge.matrix("add", [ADD, fickle], cases("add(1, 2) == 3"))
    assert judge.disagreements == 1
    assert "os.urandom" in caplog.text


def test_a_program_that_is_logged_cannot_move_the_cursor(box: LocalBox, caplog: pytest.LogCaptureFixture) -> None:
    fickle = "import os  # \x1b[2J\x9b\u202e\ndef add(a, b): return os.urandom(8)"
    with caplog.at_level(logging.WARNING):
        Judge(box, recheck=1.0).matrix("add", [fickle], cases("add('\x9b', 2) == 3"))
    assert "os.urandom" in caplog.text
    assert not {"\x1b", "\x9b", "\u202e"} & set(caplog.records[-1].getMessage())


MEMO = "seen = {}\ndef add(a, b):\n    if a not in seen: seen[a] = a + b\n    return seen[a]"


def test_a_program_whose_verdicts_depend_on_order_runs_a_case_per_child(box: LocalBox) -> None:
    judge = Judge(box)
    told = cases("add(1, 2) == 3", "add(1, 5) == 6")
    assert judge.matrix("add", [MEMO, ADD], told).verdicts == (("passed", "passed"), ("passed", "passed"))
    assert judge.order_dependent == 1


def test_a_program_without_state_is_called_in_one_order(box: LocalBox) -> None:
    counting = Counting(box)
    judge = Judge(counting, recheck=0.0)
    judge.matrix("add", [ADD, WRONG], cases("add(1, 2) == 3", "add(1, 5) == 6"))
    assert len(counting.calls) == 1
    assert judge.order_dependent == 0


def test_a_reference_that_remembers_meets_each_case_afresh(box: LocalBox) -> None:
    problem = Problem("add", "Add.", "add", "def add(a, b):", (), MEMO)
    told = cases("add(1, 2) == 3", "add(1, 5) == 6")
    assert Judge(box).admit([(problem, [told])])[0][0].admitted == told


def test_suites_of_a_problem_are_admitted_apart(box: LocalBox) -> None:
    problem = Problem("add", "Add.", "add", "def add(a, b):", (), ADD)
    one, other = cases("add(1, 2) == 3"), cases("add(1, 2) == 3", "add(2, 2) == 5")
    own = Judge(box).admit([(problem, [one, other])])[0]
    assert [[refusal and refusal.reason for refusal in each.refusals] for each in own] == [[None], [None, "reference"]]


def test_why_a_program_does_not_load_is_told(box: LocalBox) -> None:
    broken = ["def add(a, b):\n    return a +", "import nothing_of_the_sort\ndef add(a, b): return a + b", ADD]
    matrix = Judge(box).matrix("add", broken, cases("add(1, 2) == 3"))
    assert "SyntaxError" in matrix.why[0]
    assert "line 2" in matrix.why[0]
    assert "ModuleNotFoundError" in matrix.why[1]
    assert "nothing_of_the_sort" in matrix.why[1]
    assert matrix.why[2] == ""


def test_the_reference_admits_what_it_passes(box: LocalBox) -> None:
    problem = Problem("add", "Add.", "add", "def add(a, b):", (), ADD)
    told = cases("add(1, 2) == 3", "add(2, 2) == 5")
    [[admission]] = Judge(box).admit([(problem, [told])])
    assert admission.admitted == told[:1]
    assert [refusal.reason for refusal in admission.refused] == ["reference"]


def test_a_case_that_takes_the_reference_most_of_the_time_is_not_admitted(box: LocalBox) -> None:
    slow = """
import time
def add(a, b):
    start = time.process_time()
    while time.process_time() < start + 0.4: pass
    return 3
"""
    problem = Problem("add", "Add.", "add", "def add(a, b):", (), slow)
    [[admission]] = Judge(box, Limits(cpu_seconds=0.6)).admit([(problem, [cases("add(1, 2) == 3")])])
    assert [refusal.reason for refusal in admission.refused] == ["slow"]


def test_without_a_reference_all_cases_are_admitted(box: LocalBox) -> None:
    problem = Problem("add", "Add.", "add", "def add(a, b):", ())
    told = cases("add(1, 2) == 3", "add(2, 2) == 5")
    assert Judge(box).admit([(problem, [told])])[0][0].admitted == told


def test_execute_tests_counts_and_tells_details() -> None:
    outcome = execute_tests(ADD, "assert add(1, 2) == 3\nassert add(2, 2) == 5")
    assert (outcome.total, outcome.passed, outcome.failed, outcome.timed_out) == (2, 1, 1, False)
    assert [detail.verdict for detail in outcome.details] == ["passed", "failed"]
    assert outcome.seconds > 0


def test_execute_tests_says_when_a_program_timed_out() -> None:
    outcome = execute_tests("def f(): \n    while True: pass", ["assert f() == 1"], limits=Limits(cpu_seconds=0.1))
    assert outcome.timed_out


def test_tests_are_validated_against_a_solution() -> None:
    outcome = validate_tests_against_solution(
        ["assert add(1, 2) == 3", "assert add(1) ==", "assert add(1, 1) == 3"], ADD
    )
    assert (outcome.total, outcome.passed, outcome.unreadable) == (2, 1, 1)


def test_the_entry_point_is_the_function_that_the_tests_call() -> None:
    code = f"{ADD}\ndef helper(): return 0"
    assert execute_tests(code, "assert add(1, 2) == 3").passed == 1


def test_execute_tests_gives_values_where_they_are_asked_for() -> None:
    [detail] = execute_tests(ADD, "assert add(2, 2) == 5", values=True).details
    assert (detail.returned, detail.expected) == ("returned 4", "returned 5")
    [detail] = execute_tests(ADD, "assert add(2, 2) == 5").details
    assert (detail.returned, detail.expected) == ("", "")
