"""The local box: what it reports of honest programs, and that no program can spoil the next one's run."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from selfplay.box import zygotes
from selfplay.box.local import BoxUnavailable, LocalBox
from selfplay.box.task import Execution, Limits, Task

QUICK = Limits(cpu_seconds=0.3)


@pytest.fixture(scope="module")
def box() -> Iterator[LocalBox]:
    with LocalBox() as box:
        yield box


def call(box: LocalBox, source: str, *inputs: str, entry: str = "f", limits: Limits = QUICK) -> tuple[Execution, ...]:
    return box.run([Task(source, entry, inputs or ('["t"]',), limits=limits)])[0]


def statuses(executions: tuple[Execution, ...]) -> list[str]:
    return [execution.status for execution in executions]


def test_a_function_returns_data(box: LocalBox) -> None:
    (execution,) = call(box, "def add(a, b): return a + b", '["t",1,2]', entry="add")
    assert (execution.status, execution.value) == ("returned", "3")


def test_executions_come_in_the_order_of_tasks_and_inputs() -> None:
    sources = [f"def f(x): return x * {factor}" for factor in range(20)]
    with LocalBox(workers=2) as box:
        results = box.run([Task(source, "f", ('["t",1]', '["t",10]')) for source in sources])
    assert [[one.value for one in row] for row in results] == [[str(n), str(10 * n)] for n in range(20)]


def test_no_tasks_give_no_executions(box: LocalBox) -> None:
    assert box.run([]) == []
    assert box.run([Task("def f(): pass", "f", ())]) == [()]


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("None", "null"),
        ("True", "true"),
        ("'a\\u00e9\\ud800'", '"a\\u00e9\\ud800"'),
        ("2 ** 53 - 1", "9007199254740991"),
        ("-2 ** 53", '["I","-0x20000000000000"]'),
        ("[0.1, float('nan'), -float('inf')]", '["l",["f","0.1"],["f","nan"],["f","-inf"]]'),
        ("(1, [True, 'x'], ())", '["t",1,["l",true,"x"],["t"]]'),
        ("{3, 20, 'b'}", '["s","b",20,3]'),
        ("frozenset({(1,)})", '["z",["t",1]]'),
        ("{'b': 1, 'a': [2]}", '["d",["b",1],["a",["l",2]]]'),
        ("[b'\\x00\\xff', bytearray(b'a')]", '["l",["b","00ff"],["B","61"]]'),
        ("[1j, range(0, 9, 2)]", '["l",["c","0.0","1.0"],["r",0,9,2]]'),
        ("object()", '["o","object"]'),
    ],
)
def test_values_are_written_in_canonical_text(box: LocalBox, expression: str, text: str) -> None:
    (execution,) = call(box, f"def f(): return {expression}")
    assert execution.value == text


def test_a_subclass_is_reduced_by_its_base(box: LocalBox) -> None:
    source = """
class Liar(list):
    def __iter__(self): return iter([1, 2, 3])
    def __len__(self): return 3
    def __eq__(self, other): return True
    __hash__ = None
class Text(str):
    def __str__(self): return "lie"
    __repr__ = __str__
class Number(int):
    def __index__(self): return 7
    def __repr__(self): return "7"
    __int__ = __index__
def f(): return [Liar(), Text("truth"), Number(1)]
"""
    assert call(box, source)[0].value == '["l",["l"],"truth",1]'


def test_arguments_are_decoded_afresh_for_each_call(box: LocalBox) -> None:
    same = '["t",["l",1,2]]'
    values = [one.value for one in call(box, "def f(x): x.append(3); return x", same, same)]
    assert values == ['["l",1,2,3]'] * 2


@pytest.mark.parametrize(
    ("source", "exception"),
    [
        ("def f(: pass", "SyntaxError"),
        ("1 / 0\ndef f(): pass", "ZeroDivisionError"),
        ("def g(): pass", "KeyError"),
        ("f = 3", "TypeError"),
        ("import sys\ndef f(): pass\nsys.exit(0)", "SystemExit"),
        ("# \udcff\ndef f(): pass", "UnicodeEncodeError"),
        ("def f(): pass\n\0", "Exception"),
    ],
)
def test_a_program_that_does_not_load_is_not_collected(box: LocalBox, source: str, exception: str) -> None:
    executions = call(box, source, '["t"]', '["t"]')
    assert [(one.status, exception in one.exception) for one in executions] == [("not_collected", True)] * 2


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("x = 1\ndef f(: pass", "line 2: invalid syntax"),
        ("import math\nimport numpi\ndef f(): pass", "line 2: No module named 'numpi'"),
        ("def g(): pass", "it defines no f"),
        ("class E(Exception):\n    def __str__(self): raise self\nraise E", ""),
        ("raise ValueError('\\x1b[2J' + 'x' * 999)", f"line 1: ?[2J{'x' * 188}"),
    ],
)
def test_a_program_that_is_not_collected_says_why(box: LocalBox, source: str, why: str) -> None:
    assert call(box, source)[0].detail == why


@pytest.mark.parametrize("load", ["while True: pass", "import os; os._exit(0)", "import os; os.kill(os.getpid(), 19)"])
def test_a_program_that_dies_while_loading_is_not_collected(box: LocalBox, load: str) -> None:
    assert statuses(call(box, f"def f(): pass\n{load}", '["t"]', '["t"]')) == ["not_collected"] * 2


def test_an_exception_is_told_by_the_names_of_its_classes(box: LocalBox) -> None:
    (execution,) = call(box, "def f(): {}['a']")
    assert execution.status == "raised"
    assert execution.exception == ("KeyError", "LookupError", "Exception", "BaseException")


def test_an_exception_cannot_pose_as_a_builtin_one(box: LocalBox) -> None:
    (execution,) = call(box, "class ValueError(Exception): pass\ndef f(): raise ValueError")
    assert "ValueError" not in execution.exception


def test_leaving_during_a_call_is_no_success(box: LocalBox) -> None:
    assert call(box, "def f(): raise SystemExit(0)")[0].status == "raised"
    assert call(box, "import os\ndef f(): os._exit(0)")[0].status == "crashed"


MISBEHAVING = """
import os, signal, sys, time
def f(how):
    if how == "loop":
        while True: pass
    if how == "die": os._exit(0)
    if how == "abort": os.abort()
    if how == "stop": os.kill(os.getpid(), signal.SIGSTOP)
    if how == "flood":
        while True: os.write(3, bytes(4096))
    if how == "garbage": os.write(3, bytes(range(256)))
    if how == "half": os.write(3, b"\\0\\0\\0\\x50Vhalf"); os._exit(0)
    if how == "close": os.close(3)
    if how == "recurse":
        sys.setrecursionlimit(10 ** 8)
        class A:
            def __getattr__(self, name): return getattr(self, name + "a")
        A().a
    return how
"""


@pytest.mark.parametrize("how", ["die", "abort", "stop", "flood", "garbage", "half", "close"])
def test_a_child_that_misbehaves_spoils_no_other_case(box: LocalBox, how: str) -> None:
    executions = call(box, MISBEHAVING, '["t","a"]', f'["t","{how}"]', '["t","b"]')
    assert statuses(executions)[::2] == ["returned", "returned"]
    assert executions[1].status == "crashed"
    assert call(box, "def f(): return 1")[0].value == "1"


def test_a_stopped_child_is_killed_at_once(box: LocalBox) -> None:
    start = time.monotonic()
    call(box, MISBEHAVING, '["t","stop"]', limits=Limits(cpu_seconds=10))
    assert time.monotonic() - start < 1


def test_an_endless_case_times_out_alone(box: LocalBox) -> None:
    executions = call(box, MISBEHAVING, '["t","a"]', '["t","loop"]', '["t","b"]')
    assert statuses(executions) == ["returned", "timeout", "returned"]


def test_a_program_cannot_disarm_the_clock(box: LocalBox) -> None:
    source = """
import signal
def f():
    for number in range(1, 65):
        try: signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError): pass
    signal.setitimer(signal.ITIMER_PROF, 0)
    while True: pass
"""
    assert call(box, source)[0].status == "timeout"


def test_a_sleeping_program_times_out_by_the_clock_on_the_wall(box: LocalBox) -> None:
    start = time.monotonic()
    assert call(box, "import time\ndef f(): time.sleep(60)", limits=Limits(cpu_seconds=0.05))[0].status == "timeout"
    assert time.monotonic() - start < 3


def test_cpu_time_of_all_threads_counts(box: LocalBox) -> None:
    source = """
import threading
def burn():
    while True: pass
def f():
    thread = threading.Thread(target=burn, daemon=True)
    thread.start()
    thread.join()
"""
    assert call(box, source)[0].status == "timeout"


def test_memory_is_limited(box: LocalBox) -> None:
    (execution,) = call(box, "def f(): return len(bytearray(2 << 30))")
    assert execution.exception[:1] == ("MemoryError",)


@pytest.mark.parametrize("value", ["list(range(10 ** 6))", "'a' * 2_000_000", "nested()", "cycle()", "10 ** 3_000_000"])
def test_a_value_past_the_caps_is_an_error_of_the_program(box: LocalBox, value: str) -> None:
    source = f"""
def nested():
    x = []
    for _ in range(100_000): x = [x]
    return x
def cycle():
    x = []
    x.append(x)
    return x
def f(): return {value}
"""
    assert call(box, source, limits=Limits(cpu_seconds=3))[0].status == "raised"


def test_a_stress_test_of_ten_thousand_numbers_is_ordinary(box: LocalBox) -> None:
    numbers = f'["t",["l",{",".join(map(str, range(10_000)))}]]'
    assert len(call(box, "def f(x): return x", numbers)[0].value) > 40_000


def test_runs_repeat_exactly() -> None:
    source = """
import os, random, time
def f(): return [random.random(), hash("a"), list({"x", "y", "z"}), time.tzname[0], os.environ.get("HOME")]
"""
    values = []
    for _ in range(2):
        with LocalBox() as box:
            values += [one.value for one in call(box, source, '["t"]', '["t"]')]
    assert len(set(values)) == 1


def test_printing_is_no_answer(box: LocalBox) -> None:
    (execution,) = call(box, "def f(): print('V' * 3_000_000); return 1", limits=Limits(cpu_seconds=2))
    assert execution.value == "1"


def test_the_main_guard_of_a_function_program_stays_shut(box: LocalBox) -> None:
    source = "def f(): return __name__\nif __name__ == '__main__': raise SystemExit"
    assert call(box, source)[0].value == '"solution"'


def test_dataclasses_work_in_programs(box: LocalBox) -> None:
    source = "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: 'int'\ndef f(): return P(3).x"
    assert call(box, source)[0].value == "3"


# ---- programs that read standard input ----


def program(box: LocalBox, source: str, *inputs: str, limits: Limits = QUICK) -> tuple[Execution, ...]:
    return call(box, source, *inputs, entry="", limits=limits)


def test_a_program_is_run_once_per_input(box: LocalBox) -> None:
    executions = program(box, "n = int(input())\nprint(n + 1)", "1\n", "41\n")
    assert [(one.status, one.value) for one in executions] == [("returned", "2\n"), ("returned", "42\n")]


def test_standard_input_is_a_regular_file(box: LocalBox) -> None:
    source = "import os, sys\nsize = os.fstat(0).st_size\nprint(size, len(sys.stdin.buffer.read()))"
    assert program(box, source, "abc")[0].value == "3 3\n"


@pytest.mark.parametrize("ending", ["raise SystemExit(1)", "exit('no')", "1 / 0", "import os; os._exit(3)"])
def test_output_before_a_bad_exit_status_does_not_count(box: LocalBox, ending: str) -> None:
    (execution,) = program(box, f"print(1, flush=True)\n{ending}", "")
    assert (execution.status, execution.value) == ("raised", "1\n")


@pytest.mark.parametrize("ending", ["raise SystemExit", "exit(0)", "import atexit; atexit.register(print, 2)"])
def test_a_clean_exit_counts(box: LocalBox, ending: str) -> None:
    (execution,) = program(box, f"print(1)\n{ending}", "")
    assert execution.status == "returned"
    assert execution.value == ("1\n2\n" if "atexit" in ending else "1\n")


def test_threads_are_awaited_before_a_program_ends(box: LocalBox) -> None:
    source = "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.05), print('late'))).start()"
    assert program(box, source, "")[0].value == "late\n"


def test_output_past_the_cap_is_an_error(box: LocalBox) -> None:
    limits = Limits(cpu_seconds=2, output_bytes=1000)
    assert program(box, "print('a' * 999)", "", limits=limits)[0].status == "returned"
    swallowed = "import sys\ntry:\n    print('a' * 2000, flush=True)\nexcept OSError:\n    sys.stdout = None"
    assert program(box, swallowed, "", limits=limits)[0].status == "raised"
    assert program(box, "while True: print('a' * 2000)", "", limits=limits)[0].status == "raised"


def test_a_program_that_does_not_compile_is_not_collected(box: LocalBox) -> None:
    assert program(box, "print(", "")[0].status == "not_collected"


def test_a_program_without_text_prints_nothing(box: LocalBox) -> None:
    (execution,) = program(box, "", "x")
    assert (execution.status, execution.value) == ("returned", "")


def test_a_program_that_hangs_times_out_alone(box: LocalBox) -> None:
    source = "n = int(input())\nwhile n: pass\nprint(n)"
    assert statuses(program(box, source, "0", "1", "0")) == ["returned", "timeout", "returned"]


# ---- the box itself ----


def is_running(pid: int | str) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def zygote_pid(box: LocalBox) -> int:
    return box._slots[0][0].process.pid


def test_a_zygote_that_dies_is_replaced_and_its_orders_tried_again(box: LocalBox) -> None:
    call(box, "def f(): return 1")
    os.kill(zygote_pid(box), signal.SIGKILL)
    assert call(box, "def f(): return 2")[0].value == "2"


def test_a_zygote_that_dies_twice_with_an_order_is_an_infrastructure_error() -> None:
    with LocalBox() as box:
        killed: set[int] = set()

        def kill_each_once() -> None:
            deadline = time.monotonic() + 10
            while len(killed) < 2 and time.monotonic() < deadline:
                for zygote in list(box._slots[0]):
                    if zygote.orders and zygote.process.pid not in killed:
                        time.sleep(0.05)
                        killed.add(zygote.process.pid)
                        zygote.process.kill()
                time.sleep(0.005)

        killer = threading.Thread(target=kill_each_once)
        killer.start()
        executions = call(box, "import time\ndef f(): time.sleep(5)", limits=Limits(cpu_seconds=2))
        killer.join()
        assert statuses(executions) == ["infra_error"]
        assert call(box, "def f(): return 2")[0].value == "2"


@pytest.mark.parametrize(
    ("fault", "survives"),
    [("raise OSError('no walls today')", True), ("os._exit(0)", False), ("os.kill(os.getpid(), 9)", False)],
)
def test_walls_that_do_not_go_up_are_an_infrastructure_error(
    fault: str, survives: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = "    def enter(self, memory_bytes, cpu_seconds, file_bytes):\n"
    modules = [(name, text.replace(head, f"{head}        {fault}\n")) for name, text in zygotes.box_modules()]
    monkeypatch.setattr(zygotes, "box_modules", lambda tests=False: modules)
    with LocalBox(jail=False) as box:
        before = box.pids
        assert statuses(call(box, "def f(): return 1", '["t"]', '["t"]')) == ["infra_error"] * 2
        assert statuses(program(box, "print(1)", "")) == ["infra_error"]
        assert (box.pids == before) == survives


def test_a_zygote_that_dies_charges_only_the_order_that_it_was_at() -> None:
    with LocalBox() as box:
        sleeper = Task("import time\ndef f(): time.sleep(0.4); return 1", "f", ('["t"]',), limits=Limits(cpu_seconds=2))
        killer = threading.Timer(0.2, lambda: os.kill(zygote_pid(box), signal.SIGKILL))
        killer.start()
        stream = box.stream([sleeper] * 3)
        assert [one.value for _, row in stream for one in row] == ["1"] * 3


def test_closing_leaves_no_process_behind() -> None:
    box = LocalBox(workers=2)
    box.run([Task("def f(): return 1", "f", ('["t"]',))] * 4)
    pids = [zygote.process.pid for slot in box._slots for zygote in slot]
    box.close()
    assert len(pids) == 2
    assert not any(is_running(pid) for pid in pids)


def test_a_child_dies_with_its_zygote() -> None:
    with LocalBox() as box:
        runner = threading.Thread(target=call, args=(box, "import time\ndef f(): time.sleep(20)"))
        runner.start()
        pid = zygote_pid(box)
        child = ""
        while not child:
            with open(f"/proc/{pid}/task/{pid}/children") as children:
                child = children.read().strip()
        for zygote in box._slots[0]:
            zygote.orders[0].running.attempts = 1  # no second chance
        os.kill(pid, signal.SIGKILL)
        runner.join(5)
        time.sleep(0.1)
        assert not is_running(child)


def test_several_threads_may_share_a_box(box: LocalBox) -> None:
    values: dict[int, str] = {}

    def work(number: int) -> None:
        values[number] = call(box, f"def f(): return {number}")[0].value

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values == {number: str(number) for number in range(8)}


def test_large_tasks_and_answers_do_not_block_each_other(box: LocalBox) -> None:
    text = "x" * 900_000
    task = Task("def f(x): return x", "f", (f'["t","{text}"]',) * 3, limits=Limits(cpu_seconds=5))
    results = box.run([task] * 4)
    assert all(one.value == f'"{text}"' for row in results for one in row)


def test_windows_is_refused_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    with pytest.raises(BoxUnavailable, match=r"WSL.*E2B"):
        LocalBox()


def test_a_python_that_cannot_be_started_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(BoxUnavailable, match="/bin/false"):
        LocalBox()
