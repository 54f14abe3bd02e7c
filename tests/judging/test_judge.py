"""The judge: the matrix of verdicts, retries, admission by reference, and the sampled second run."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

import pytest

from selfplay.box.local import LocalBox
from selfplay.box.task import Box, Execution, Limits, Task
from selfplay.cases.case import Case
from selfplay.cases.read import read_cases
from selfplay.game.problems import Problem
from selfplay.judging.execute import execute_tests, validate_tests_against_solution
from selfplay.judging.judge import Job, Judge
from selfplay.judging.turns import WrittenTurn

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


def settled(judge: Judge, problem: Problem, *suites: tuple[Case, ...]) -> list[WrittenTurn]:
    """Suites of one turn each, with the reference's word."""
    asked = [(WrittenTurn(1, own, (None,) * len(own)),) for own in suites]
    return [turn for [turn] in judge.settle([(problem, asked, ())])[0]]


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


FIRST_CALL = ["def add(a, b, seen=[]):\n    seen.append(a)\n    return a + b + len(seen) - 1"]
FIRST_CALL.append("total = 0\ndef add(a, b):\n    global total\n    total += a + b\n    return total")
FIVE = [f"add({n}, 2) == {n + 2}" for n in range(1, 6)]


@pytest.mark.parametrize("program", [*FIRST_CALL, MEMO])
def test_a_program_that_is_right_at_its_first_call_only_fails(box: LocalBox, program: str) -> None:
    judge = Judge(box, recheck=0.0)
    told = cases(*FIVE, "add(1, 9) == 10")
    assert "failed" in judge.matrix("add", [ADD, program], told).verdicts[1]
    assert judge.order_dependent == 1
    owners = ((0,), (0, 1), (1, 2), (2,), (0,), (0,))
    [matrix] = judge.matrices([Job("add", (program, ADD), told, owners=owners)])
    assert "failed" in matrix.verdicts[0]
    assert set(matrix.verdicts[1]) == {"passed"}


@pytest.mark.parametrize("head", ["import functools\n@functools.cache\n", "class A: seen = {}\n"])
def test_a_right_program_with_a_cache_passes_everything(box: LocalBox, head: str) -> None:
    judge = Judge(box)
    assert set(judge.matrix("add", [head + ADD], cases(*FIVE)).verdicts[0]) == {"passed"}
    assert judge.order_dependent == 0


def test_what_one_owner_asks_spoils_no_other_s_cases(box: LocalBox) -> None:
    spoilt = "seen = []\ndef add(a, b):\n    if a == 3: seen.append(a)\n    return a + b + len(seen) * (a < 3)"
    owners = ((0,), (0,), (1,), (1,), (1,))
    [matrix] = Judge(box).matrices([Job("add", (spoilt,), cases(*FIVE), owners=owners)])
    assert matrix.verdicts == (("passed",) * 5,)


def test_a_program_without_state_is_called_in_one_order(box: LocalBox) -> None:
    counting = Counting(box)
    judge = Judge(counting, recheck=0.0)
    judge.matrix("add", [ADD, WRONG], cases("add(1, 2) == 3", "add(1, 5) == 6"))
    assert len(counting.calls) == 1
    assert judge.order_dependent == 0


def test_cases_on_which_the_order_of_calls_changes_the_reference_are_refused(box: LocalBox) -> None:
    problem = Problem("add", "Add.", "add", "def add(a, b):", (), MEMO)
    suites = [cases("add(1, 2) == 3", "add(1, 5) == 3", "add(4, 4) == 8"), cases("add(1, 5) == 6")]
    assert reasons(settled(Judge(box), problem, *suites)) == [["state", "state", ""], [""]]


# ---- what one suite costs is its own ----

SLOW = "import time\ndef add(a, b):\n    end = time.process_time() + b\n    while time.process_time() < end: pass\n    return a"
LONG = "def add(a, b): return 'x' * b + str(a)"


def reasons(turns: Sequence[WrittenTurn]) -> list[list[str]]:
    return [[refusal.reason if refusal else "" for refusal in turn.refusals] for turn in turns]


def test_slow_inputs_of_one_suite_refuse_its_own_cases_alone(box: LocalBox) -> None:
    problem = Problem("add", "Add.", "add", "def add(a, b):", ("assert add(1, 0) == 1",), SLOW)
    suites = [cases("add(1, 9) == 1", "add(2, 9) == 2", "add(3, 9) == 3", "add(4, 0) == 4"), cases("add(4, 0) == 4")]
    judge = Judge(box, Limits(cpu_seconds=0.2))
    assert reasons(settled(judge, problem, *suites)) == [["slow"] * 3 + [""], [""]]


def test_long_answers_of_one_suite_refuse_its_own_cases_alone(box: LocalBox) -> None:
    problem = Problem("add", "Add.", "add", "def add(a, b):", (), LONG)
    long = tuple(case for n in range(24) for case in cases(f"add({n}, 400_000) == 'x' * 400_000 + '{n}'"))
    own, other = reasons(settled(Judge(box), problem, long, cases("add(7, 1) == 'x7'")))
    assert other == [""]
    assert own == [""] * own.count("") + ["margin"] * own.count("margin")
    assert 15 < own.count("") < 24


def test_a_program_slow_on_one_suite_s_cases_passes_another_s(box: LocalBox) -> None:
    told = cases(*(f"add({n}, 9) == {n}" for n in range(4)), "add(4, 0) == 4", "add(5, 0) == 5")
    owners = ((0,),) * 4 + ((0, 1), (0,))
    judge = Judge(box, Limits(cpu_seconds=0.1))
    [matrix] = judge.matrices([Job("add", (SLOW,), told, owners=owners)])
    assert matrix.verdicts == (("timeout",) * 4 + ("passed", "timeout"),)


def test_cases_that_do_not_count_spend_nothing_of_those_that_do(box: LocalBox) -> None:
    slow = cases(*(f"add({n}, 9) == {n}" for n in range(4)))
    after = (*slow, *cases("add(4, 0) == 4"))
    [matrix] = Judge(box, Limits(cpu_seconds=0.1)).matrices([Job("add", (SLOW,), after[4:], after=after)])
    assert matrix.verdicts == (("passed", *["timeout"] * 5),)


# ---- what the reference passes leaves a margin ----


def test_the_reference_judged_as_a_program_passes_all_that_is_admitted(box: LocalBox) -> None:
    """Fast cases that are refused bring a share of the total, which slow ones that are admitted must not live on."""
    problem = Problem("add", "Add.", "add", "def add(a, b):", (), SLOW)
    suites = [
        cases(*(f"add({n}, 0) == 0.5" for n in range(60)), *(f"add({n}, 0.012) == {n}" for n in range(m, m + 30)))
        for m in range(0, 180, 30)
    ]
    judge = Judge(box, Limits(cpu_seconds=0.06))
    owned: dict[Case, list[int]] = {}
    for number, turn in enumerate(settled(judge, problem, *suites)):
        for case in turn.admitted:
            owned.setdefault(replace(case, name=""), []).append(number)
    [matrix] = judge.matrices([Job("add", (SLOW,), tuple(owned), owners=tuple(map(tuple, owned.values())))])
    assert len(owned) >= 120
    assert set(matrix.verdicts[0]) == {"passed"}


DEEP = "def deep(a, b): return b if a == 0 else deep(a - 1, b)\n"
ZEROS = "def add(a, b): return [a] * b"


@pytest.mark.parametrize(
    ("reference", "program", "case", "admitted"),
    [
        (f"{DEEP}add = deep", f"{DEEP}def add(a, b): return deep(a, b)", "add({}, 1) == 1", (700, 950)),
        (ZEROS, "def add(a, b): return [float(a)] * b", "add(0, {0}) == [0] * {0}", (80_000, 95_000)),
    ],
)
def test_one_frame_more_or_floats_for_integers_kill_no_right_program(
    box: LocalBox, reference: str, program: str, case: str, admitted: tuple[int, int]
) -> None:
    problem = Problem("add", "Add.", "add", "def add(a, b):", (), reference)
    told = cases(*map(case.format, admitted))
    judge = Judge(box)
    [turn] = settled(judge, problem, told)
    assert reasons([turn]) == [["", "margin"]]
    assert judge.matrix("add", [program], turn.admitted).verdicts == (("passed",),)
    assert judge.matrix("add", [reference], told).verdicts == (("passed",) * 2,)


def test_suites_of_a_problem_are_admitted_apart(box: LocalBox) -> None:
    problem = Problem("add", "Add.", "add", "def add(a, b):", (), ADD)
    one, other = cases("add(1, 2) == 3"), cases("add(1, 2) == 3", "add(2, 2) == 5")
    assert reasons(settled(Judge(box), problem, one, other)) == [[""], ["", "reference"]]


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
    [turn] = settled(Judge(box), problem, told)
    assert [replace(case, mark="") for case in turn.admitted] == [told[0]]
    assert reasons([turn]) == [["", "reference"]]


def test_a_case_that_takes_the_reference_most_of_the_time_is_not_admitted(box: LocalBox) -> None:
    slow = """
import time
def add(a, b):
    start = time.process_time()
    while time.process_time() < start + 0.4: pass
    return 3
"""
    problem = Problem("add", "Add.", "add", "def add(a, b):", (), slow)
    judge = Judge(box, Limits(cpu_seconds=0.6))
    assert reasons(settled(judge, problem, cases("add(1, 2) == 3"))) == [["slow"]]


def test_without_a_reference_all_cases_are_admitted(box: LocalBox) -> None:
    problem = Problem("add", "Add.", "add", "def add(a, b):", ())
    told = cases("add(1, 2) == 3", "add(2, 2) == 5")
    assert settled(Judge(box), problem, told)[0].admitted == told


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
