"""What a program may use: clocks that it cannot restart, totals, answers; and orders of any length."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from selfplay.box.accounts import Ending
from selfplay.box.local import LocalBox
from selfplay.box.orders import LONGEST, ORDER_SIZE, Order, RunningTask
from selfplay.box.task import Execution, Limits, Task
from selfplay.box.wire import conclude

NOTHING = '["t"]'
QUICK = Limits(cpu_seconds=0.2)
FORGE = """
import os, struct, time
def forge(kind, body=b""):
    try: os.write(3, struct.pack("!I", len(body) + 1) + kind + body)
    except OSError: pass
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
"""


@pytest.fixture(scope="module")
def box() -> Iterator[LocalBox]:
    with LocalBox() as box:
        yield box


def run(box: LocalBox, task: Task) -> tuple[Execution, ...]:
    return box.run([task])[0]


def statuses(executions: tuple[Execution, ...]) -> list[str]:
    return [execution.status for execution in executions]


# ---- clocks ----


@pytest.mark.parametrize("kind", ["b'L'", "b'P'", "b'W'", "b'X', bytes(16) + b'[]'", "b'V', bytes(16) + b'1'"])
def test_a_program_that_reads_standard_input_cannot_restart_its_clock(box: LocalBox, kind: str) -> None:
    source = f"{FORGE}\nfor _ in range(4):\n    burn(0.08)\n    forge({kind})\nburn(0.08)\nprint(12)"
    (execution,) = run(box, Task(source, "", ("",), limits=QUICK))
    assert execution.status in ("timeout", "crashed")


def test_the_time_on_the_wall_is_not_restarted_either(box: LocalBox) -> None:
    source = f"{FORGE}\nfor _ in range(3):\n    time.sleep(0.5)\n    forge(b'X', bytes(16) + b'[]')\nprint(12)"
    (execution,) = run(box, Task(source, "", ("",), limits=Limits(cpu_seconds=0.02)))
    assert execution.status in ("timeout", "crashed")


def test_forged_reports_of_a_function_spend_its_cases(box: LocalBox) -> None:
    body = "    for _ in range(40):\n        burn(0.05)\n        forge(b'V', bytes(16) + b'0')\n    return x"
    source = f"{FORGE}\ndef f(x):\n{body}"
    inputs = tuple(f'["t",{n}]' for n in range(5))
    executions, honest = box.run([Task(source, "f", inputs, limits=QUICK), Task("def f(): return 2", "f", (NOTHING,))])
    assert sum(execution.status == "returned" for execution in executions) <= 5
    assert honest[0].value == "2"


def test_a_case_pays_nothing_for_the_one_before_it(box: LocalBox) -> None:
    inputs = ('["t",["f","0.185"]]', '["t",["f","0.1"]]') * 4
    executions = run(box, Task(f"{FORGE}\ndef f(x): burn(x)", "f", inputs, limits=QUICK))
    assert statuses(executions) == ["returned"] * 8


def test_reading_a_long_order_is_not_the_programs_time(box: LocalBox) -> None:
    numbers = f'["t",["l",{",".join(["1"] * 400_000)}]]'
    task = Task("def f(x): return 7", "f", (numbers,) * 9, limits=Limits(cpu_seconds=0.2, timeouts=9))
    assert {one.status for one in run(box, task)} <= {"returned", "timeout"}  # decoding them is the call's own time
    long = Task("def f(x): return len(x)", "f", (f'["t","{"x" * 4_000_000}"]',) * 4, limits=Limits(cpu_seconds=0.05))
    assert [one.value for one in run(box, long)] == ["4000000"] * 4


# ---- totals ----


def test_a_program_stops_after_a_few_timeouts(box: LocalBox) -> None:
    source = "def f(x):\n    while x: pass\n    return x"
    inputs = tuple(f'["t",{n}]' for n in (0, 1, 0, 1, 1, 0, 0))
    task = Task(source, "f", inputs, limits=Limits(cpu_seconds=0.05))
    assert statuses(run(box, task)) == ["returned", "timeout", "returned", *["timeout"] * 4]


def test_sleepers_are_not_waited_for_a_thousand_times(box: LocalBox) -> None:
    task = Task("import time\ndef f(): time.sleep(60)", "f", (NOTHING,) * 1000, limits=Limits(cpu_seconds=0.01))
    assert set(statuses(run(box, task))) == {"timeout"}


@pytest.mark.parametrize("entry", ["f", ""])
def test_all_cases_of_a_program_together_have_a_limit(box: LocalBox, entry: str) -> None:
    limits = Limits(cpu_seconds=0.1)
    assert limits.total_cpu_seconds(40) == pytest.approx(1.4)
    body = f"{FORGE}\ndef f(x=0):\n    burn(0.07)\n    return x\nif not {entry!r}: print(f())"
    inputs = tuple(f'["t",{n}]' for n in range(40))
    found = statuses(run(box, Task(body, entry, inputs, limits=limits)))
    done = found.count("returned")
    assert 10 <= done <= 20
    assert found == ["returned"] * done + ["timeout"] * (40 - done)


def test_the_answers_of_a_program_have_a_limit_together(box: LocalBox) -> None:
    limits = Limits(cpu_seconds=2, answer_bytes=1_000_000)
    task = Task("def f(): return 'x' * 300_000", "f", (NOTHING,) * 8, limits=limits)
    executions = run(box, task)
    assert statuses(executions) == ["returned"] * 3 + ["raised"] * 5
    assert {one.exception for one in executions[3:]} == {("OutputTooLarge",)}


def test_a_room_that_is_filled_to_the_last_byte_is_full(box: LocalBox) -> None:
    source = "import os\ndef f(x):\n    if x: os._exit(0)\n    return 'y' * 98"
    task = Task(source, "f", tuple(f'["t",{n}]' for n in (0, 0, 1, 0)), limits=Limits(cpu_seconds=2, answer_bytes=200))
    assert statuses(run(box, task)) == ["returned", "raised", "raised", "raised"]
    task = Task(source, "f", tuple(f'["t",{n}]' for n in (0, 1, 0)), limits=Limits(cpu_seconds=2, answer_bytes=120))
    assert statuses(run(box, task)) == ["returned", "crashed", "raised"]


def test_what_a_program_prints_counts_as_its_answers(box: LocalBox) -> None:
    limits = Limits(cpu_seconds=2, answer_bytes=700_000)
    executions = run(box, Task("print('x' * 300_000)", "", ("",) * 4, limits=limits))
    assert statuses(executions) == ["returned"] * 2 + ["raised"] * 2
    assert executions[-1].exception == ("OutputTooLarge",)


@pytest.mark.parametrize("kind", [b"X" + bytes(16), b"N"])
@pytest.mark.parametrize("names", [["n"] * 5000, ["n" * 9000, "m"], ["n" * 100] * 10**5])
def test_forged_names_of_exceptions_are_cut(kind: bytes, names: list[str]) -> None:
    order = Order(RunningTask(0, Task("", "f", (NOTHING,))), [0])
    told = names if kind != b"N" else [names, "why"]
    order.reports = [b"L"] * (kind != b"N") + [kind + json.dumps(told).encode()]
    [execution] = conclude(order.task, 1, order.reports, b"", Ending(0, 0, 2, 0.0, 0.0), order.calls)
    assert execution.status == ("not_collected" if kind == b"N" else "raised")
    assert execution.exception == (tuple(name[:100] for name in names[:20]) if len(names) < 10**5 else ())


def test_a_program_that_cannot_be_loaded_is_loaded_once() -> None:
    running = RunningTask(0, Task("def f(", "f", ("x" * ORDER_SIZE,) * 3))
    running.settle(running.next_order(), Ending(0, 0, 1, 0.0, 0.0))
    assert statuses(running.executions) == ["not_collected"] * 3


# ---- orders ----


def test_orders_are_cut_by_the_bytes_of_their_inputs() -> None:
    text = "x" * (ORDER_SIZE // 3)
    running = RunningTask(0, Task("", "f", (text,) * 7 + ("",)))
    assert running.next_order().cases == [0, 1, 2]
    one = RunningTask(0, Task("", "f", ("x" * (ORDER_SIZE + 1), "")))
    assert one.next_order().cases == [0]


def test_no_list_of_arguments_is_too_long_for_the_box(box: LocalBox) -> None:
    text = json.dumps('"' * 600_000)  # twice as long once more
    inputs = tuple(f'["t",{n},{text}]' for n in range(24))
    limits = Limits(cpu_seconds=2)
    rows = box.run(
        [Task("def f(n, x): return n", "f", inputs, limits=limits), Task("def f(): return 2", "f", (NOTHING,))]
    )
    assert [one.value for one in rows[0]] == [str(n) for n in range(24)]
    assert rows[1][0].value == "2"


def test_an_input_beyond_every_order_crashes_that_case_alone(box: LocalBox) -> None:
    task = Task("print(len(input()))", "", ("x", "x" * (LONGEST + 1), "xyz"))
    assert [(one.status, one.value) for one in run(box, task)] == [
        ("returned", "1\n"),
        ("crashed", ""),
        ("returned", "3\n"),
    ]


def test_a_source_beyond_every_order_is_not_collected(box: LocalBox) -> None:
    assert statuses(run(box, Task("#" * (LONGEST + 1), "f", (NOTHING,) * 2))) == ["not_collected"] * 2
