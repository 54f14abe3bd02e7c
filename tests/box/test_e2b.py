"""The E2B box, against a local server that speaks E2B's protocol to the real SDK and runs the real in-box runner."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

if importlib.util.find_spec("e2b") is None:
    pytest.skip('the package e2b is missing: pip install "selfplay-code[e2b]"', allow_module_level=True)

sys.path.insert(0, str(Path(__file__).parent))
import e2b_server as server_module
from e2b_server import Action, E2BServer

from selfplay.box.e2b import E2BBox, E2BSettings, SplitBox, machine, open_split
from selfplay.box.e2b.machine import Fault, calling, read_answers
from selfplay.box.kinds import open_box as open_box_of
from selfplay.box.local import LocalBox
from selfplay.box.task import Execution, Limits, Task
from selfplay.box.tiers import Tier
from selfplay.box.wire import INFRA
from selfplay.box.zygotes import BoxUnavailable
from selfplay.config import Config, from_flags
from selfplay.game.problems import Problem
from selfplay.judge import main as judge_command
from selfplay.judging.execute import execute_tests, validate_tests_against_solution
from selfplay.judging.judge import Job, Judge
from selfplay.judging.references import subject_of

ADD = "def add(a, b): return a + b"
WRONG = "def add(a, b): return a - b"
QUICK = E2BSettings(size=2, request_timeout=20.0, label="tests")
TASK = Task(ADD, "add", ('["t",1,2]', '["t",20,30]'))
SUMS = ["3", "50"]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[E2BServer]:
    server = E2BServer(tmp_path)
    for name, value in {
        "E2B_API_KEY": server.key,
        "E2B_API_URL": server.url,
        "E2B_SANDBOX_URL": server.url,
        "E2B_HTTP_VERSION": "1.1",
    }.items():
        monkeypatch.setenv(name, value)
    yield server
    server.close()


@pytest.fixture(scope="module")
def home() -> Iterator[LocalBox]:
    with LocalBox() as box:
        yield box


class Said(list[str]):
    """What a box announced."""

    def __call__(self, message: str) -> None:
        self.append(message)


def open_box(server: E2BServer, said: Said | None = None, **changes: Any) -> E2BBox:
    assert server.key
    return E2BBox(replace(QUICK, **changes), announce=Said() if said is None else said)


def values(rows: list[tuple[Execution, ...]]) -> list[str]:
    return [one.value if one.status == "returned" else one.status for row in rows for one in row]


# ---- verdicts ----

PROGRAMS = (
    ADD,
    WRONG,
    "def add(a, b):\n    while a == 20: pass\n    return a + b",
    "import os\ndef add(a, b):\n    if a == 1: os._exit(0)\n    return a + b",
    "def add(a, b): raise KeyError(a)",
    "def add(a, b) return",
    "def other(): pass",
    "class Same(int):\n    def __eq__(self, other): return True\ndef add(a, b): return Same(7)",
)


def test_programs_do_in_the_cloud_what_they_do_at_home(server: E2BServer, home: LocalBox) -> None:
    tasks = [Task(source, "add", TASK.inputs, limits=Limits(0.3)) for source in PROGRAMS]
    tasks.append(Task("print(int(input()) * 2)", "", ("4", "x")))

    def told(rows: list[tuple[Execution, ...]]) -> list[list[tuple[str, str, tuple[str, ...]]]]:
        return [[(one.status, one.value, one.exception) for one in row] for row in rows]

    with open_box(server) as box:
        assert told(box.run(tasks)) == told(home.run(tasks))


def test_a_crash_is_followed_by_the_remaining_cases_without_a_journey_home(server: E2BServer) -> None:
    source = "import os\ndef add(a, b):\n    if a % 2: os._exit(1)\n    return a + b"
    inputs = tuple(f'["t",{n},0]' for n in range(6))
    with open_box(server) as box:
        assert values(box.run([Task(source, "add", inputs)])) == ["0", "crashed", "2", "crashed", "4", "crashed"]
    assert server.requests.count(("POST", "/process.Process/Start")) == 1


def test_a_program_that_has_used_up_its_totals_gets_no_further_child(server: E2BServer, home: LocalBox) -> None:
    stuck = "def add(a, b):\n    while a % 2: pass\n    return a + b"
    inputs = tuple(f'["t",{n},0]' for n in range(12))
    large = "def add(a, b): return 'x' * 300_000"
    tasks = [
        Task(stuck, "add", inputs, limits=Limits(0.1)),
        Task("n = int(input())\nwhile n: pass\nprint(n)", "", ("0", "1", "1", "1", "0", "0"), limits=Limits(0.1)),
        Task(large, "add", inputs, limits=Limits(1.0, answer_bytes=1_000_000)),
        Task("print('x' * 300_000)", "", ("",) * 5, limits=Limits(1.0, answer_bytes=1_000_000)),
        Task("def add(a, b) return", "add", inputs),
        Task(stuck, "add", inputs, limits=Limits(0.1), owners=((0,),) * 8 + ((0, 1), (1,)) * 2),
        Task(large, "add", inputs, limits=Limits(1.0, answer_bytes=1_000_000), owners=((0,),) * 10 + ((1,),) * 2),
        TASK,
    ]

    def told(rows: list[tuple[Execution, ...]]) -> list[list[tuple[str, str, tuple[str, ...]]]]:
        return [[(one.status, one.value, one.exception) for one in row] for row in rows]

    with open_box(server) as box:
        rows = box.run(tasks)
    assert told(rows) == told(home.run(tasks))
    assert [one.status for one in rows[0]] == ["returned", "timeout"] * 3 + ["timeout"] * 6
    assert [one.status for one in rows[5]] == ["returned", "timeout"] * 3 + ["timeout"] * 2 + [
        "returned",
        "timeout",
    ] * 2
    assert [one.status for one in rows[6]] == ["returned"] * 3 + ["raised"] * 7 + ["returned"] * 2
    assert server.requests.count(("POST", "/process.Process/Start")) <= 2  # one for each sandbox


def test_large_answers_of_one_program_cost_no_other_its_verdict(server: E2BServer) -> None:
    server.memory_mib = 512
    flood = Task(
        "def add(a, b): return 'x' * 1_000_000",
        "add",
        TASK.inputs[:1] * 60,
        limits=Limits(2.0, 256, answer_bytes=1 << 30),
    )
    said = Said()
    with open_box(server, said, size=1) as box:
        rows = dict(box.stream([flood, *[TASK] * 15]))
        assert box.created == 1
    assert {one.status for one in rows[0]} == {"returned"}
    assert [values([rows[index]]) for index in range(1, 16)] == [SUMS] * 15
    assert not [line for line in said if "running a batch" in line]


def test_what_is_done_is_told_before_the_rest(server: E2BServer) -> None:
    slow = Task("import time\ndef add(a, b): time.sleep(1.5); return a + b", "add", TASK.inputs, limits=Limits(2.0))
    with open_box(server) as box:
        told = [index for index, _ in box.stream([TASK] * 16 + [slow] + [TASK] * 3)]
    assert sorted(told) == list(range(20))
    assert told.index(0) < told.index(16)


def test_a_stream_that_is_left_ends_what_runs_and_harms_no_later_one(server: E2BServer) -> None:
    with open_box(server) as box:
        with contextlib.closing(box.stream([TASK] * 20)) as stream:
            next(stream)
        assert values(box.run([TASK] * 3)) == SUMS * 3
    assert server.alive == {}


def test_a_batch_that_runs_out_of_time_goes_on_in_the_next(server: E2BServer) -> None:
    with open_box(server, batch_seconds=0.0) as box:
        assert values(box.run([TASK] * 3)) == SUMS * 3
    assert server.requests.count(("POST", "/process.Process/Start")) > 1


def test_named_packages_are_found_in_the_sandbox(server: E2BServer) -> None:
    source = "import numpy\ndef add(a, b): return int(numpy.array([a, b]).sum())"
    with open_box(server) as box:
        pairs = [
            Task(source, "add", TASK.inputs, imports=("numpy",), limits=Limits(5.0, 4096)),
            Task(ADD, "add", TASK.inputs),
        ]
        assert values(box.run(pairs)) == SUMS + SUMS


def test_nothing_to_run_creates_no_sandbox(server: E2BServer) -> None:
    with open_box(server) as box:
        assert box.run([Task(ADD, "add", ())]) == [()]
        assert box.created == 0


@pytest.mark.e2b
def test_the_real_cloud_judges_as_this_machine_does(home: LocalBox) -> None:
    if not os.environ.get("E2B_API_KEY"):
        pytest.skip("E2B_API_KEY is not set")
    tasks = [Task(source, "add", TASK.inputs, limits=Limits(1.0)) for source in PROGRAMS]
    with E2BBox(E2BSettings(size=1, lifetime=300, budget=300.0, label="tests")) as box:
        assert values(box.run(tasks)) == values(home.run(tasks))
        assert box.created == 1


# ---- secrets ----


@pytest.mark.parametrize(
    "suite",
    [
        pytest.param("assert add(1, 2) == 3\nassert add(1000000, 234567) == 1234567", id="literal"),
        pytest.param(
            "def test_sums():\n    secret_limit = add(1, 2)\n    assert secret_limit in {3, 1234567}\n"
            "    assert add(secret_limit, 1) + secret_limit == 7",
            id="runs",
        ),
    ],
)
def test_references_mutants_and_expected_values_never_leave_this_machine(
    server: E2BServer, home: LocalBox, suite: str
) -> None:
    reference = "def add(a, b):\n    secret_reference = a + b\n    return secret_reference"
    mutant = "def add(a, b):\n    secret_mutant = a - b\n    return secret_mutant"
    problem = Problem("p", "", "add", "def add(a, b):", (), reference)
    with SplitBox(open_box(server), home=home) as box:
        judge = Judge(box, recheck=1.0)
        asked = [judge.desk.suite(problem, [(1, f"```python\n{suite}\n```")])]
        [turn] = judge.settle([(problem, asked, ())])[0][0]
        assert turn.refusals == (None, None)
        job = Job("add", (ADD, WRONG, mutant), turn.cases, secret=(mutant,), subject=subject_of(problem))
        verdicts = judge.matrices([job])[0].verdicts
    assert [set(row) for row in verdicts] == [{"passed"}, {"failed"}, {"failed"}]
    sent = b"".join(server.uploads)
    assert ADD.encode() in sent
    assert not [word for word in (b"secret_reference", b"secret_mutant", b"secret_limit", b"1234567") if word in sent]


def test_a_reference_without_a_local_sandbox_is_refused(server: E2BServer) -> None:
    with SplitBox(open_box(server), home=None) as box:
        assert values(box.run([TASK])) == SUMS
        with pytest.raises(BoxUnavailable, match="never leaves this machine"):
            box.run([replace(TASK, secret=True)])


def test_programs_cannot_read_the_orders_of_others(server: E2BServer) -> None:
    spy = (
        "import glob, os\ndef add(a, b):\n    found = []\n"
        f"    for root, _, names in os.walk({str(server.folder)!r}):\n        found += names\n    return found"
    )
    with open_box(server) as box:
        assert values(box.run([Task(spy, "add", TASK.inputs[:1])])) == ['["l"]']


# ---- the pool ----


def test_sandboxes_are_offline_labelled_and_limited_in_life(server: E2BServer) -> None:
    with open_box(server) as box:
        box.run([TASK])
    (body,) = server.created
    assert (body["allow_internet_access"], body["timeout"], body["templateID"]) == (False, 900, "base")
    assert body["metadata"]["selfplay"] == "tests"


def test_a_sandbox_is_used_again(server: E2BServer) -> None:
    with open_box(server) as box:
        for _ in range(3):
            assert values(box.run([TASK])) == SUMS
        assert box.created == 1
    assert server.alive == {}


def test_many_orders_share_the_sandboxes(server: E2BServer) -> None:
    with open_box(server) as box:
        assert values(box.run([TASK] * 40)) == SUMS * 40
        assert box.created == 2
    assert server.alive == {}


def test_a_plan_with_fewer_sandboxes_is_made_do_with(server: E2BServer) -> None:
    server.concurrent = 1
    with open_box(server, size=3) as box:
        assert values(box.run([TASK] * 50)) == SUMS * 50
        assert box.created == 1


def test_a_sandbox_near_its_end_is_replaced(server: E2BServer) -> None:
    with open_box(server) as box:
        box.run([TASK])
        for machine in box._pool._idle:
            machine.began, machine.ends = machine.began - 890, machine.ends - 890
        assert values(box.run([TASK])) == SUMS
        assert box.created == 2
        assert len(server.alive) == 1


def test_a_run_that_died_is_swept_and_others_are_left_alone(server: E2BServer) -> None:
    with open_box(server) as box:
        box.run([TASK])
        (mine,) = server.alive.values()
        gone = subprocess.Popen(["true"])
        gone.wait()
        stale = server.add(mine.metadata | {"selfplay-process": f"{gone.pid}-x"}, 900)
        living = server.add(mine.metadata | {"selfplay-process": f"{os.getppid()}-x"}, 900)
        elsewhere = server.add(stale.metadata | {"selfplay-host": "another"}, 900)
        other = server.add(stale.metadata | {"selfplay": "another"}, 900)
        said = Said()
        open_box(server, said).close()
        assert stale.id not in server.alive
        assert {mine.id, living.id, elsewhere.id, other.id} <= server.alive.keys()
        assert "ended 1 sandboxes" in said[0]


def test_an_interrupt_ends_the_sandboxes(server: E2BServer) -> None:
    box = open_box(server)
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), 2))
    timer.start()
    sleeping = Task("import time\ndef add(a, b): time.sleep(60)", "add", TASK.inputs, limits=Limits(20.0))
    with pytest.raises(KeyboardInterrupt):
        box.run([sleeping])
    box.close()
    assert server.alive == {}


# ---- faults: right verdicts or infra_error, the next suite unharmed, nothing leaked ----

FAULTS: dict[str, tuple[str, Action]] = {
    "rate limit at creation": ("create", server_module.status(429, Should_Retry="false")),
    "rate limit that the SDK waits out": ("create", server_module.status(429, Retry_After="0")),
    "service busy at creation": ("create", server_module.status(503, Should_Retry="false")),
    "gateway error at creation": ("create", server_module.status(502)),
    "gateway error while writing": ("write", server_module.status(502, "The sandbox is running but port is not open")),
    "connection cut while writing": ("write", server_module.cut),
    "sandbox gone before writing": ("write", server_module.gone),
    "disk full": ("write", server_module.status(507)),
    "rate limit in the sandbox": ("run", server_module.status(429)),
    "service busy in the sandbox": ("run", server_module.status(503)),
    "connection cut before the command": ("run", server_module.cut),
    "connection cut during the command": ("run", server_module.cut_stream),
    "half a message": ("run", server_module.half_envelope),
    "noise for a message": ("run", server_module.garbage_envelope),
    "a command without an end": ("run", server_module.no_end_event),
    "the runner killed": ("run", server_module.failing),
    "sandbox gone before the command": ("run", server_module.gone),
    "sandbox gone before reading": ("read", server_module.gone),
    "no answers": ("read", server_module.status(404)),
    "half an answer": ("read", server_module.content(lambda data: data[: len(data) // 2])),
    "noise for an answer": ("read", server_module.content(lambda data: os.urandom(len(data)))),
    "an empty answer": ("read", server_module.content(lambda data: b"")),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_one_fault_costs_no_verdict_and_leaves_no_sandbox(server: E2BServer, fault: str) -> None:
    server.faults.append(FAULTS[fault])
    with open_box(server) as box:
        assert values(box.run([TASK])) == SUMS
        assert len(server.alive) == 1
    assert server.faults == []
    assert server.alive == {}


def test_faults_one_after_the_other_harm_no_suite(server: E2BServer) -> None:
    with open_box(server) as box:
        for name in ("connection cut during the command", "half an answer", "sandbox gone before writing"):
            server.faults.append(FAULTS[name])
            assert values(box.run([TASK])) == SUMS
        assert values(box.run([TASK])) == SUMS
    assert server.alive == {}


def test_a_fault_that_comes_twice_is_infrastructure_and_no_slow_program(server: E2BServer) -> None:
    said = Said()
    with open_box(server, said) as box:
        server.faults += [("run", server_module.gone), ("run", server_module.cut_stream)]
        assert box.run([TASK]) == [(INFRA, INFRA)]
        assert values(box.run([TASK])) == SUMS
    assert len([line for line in said if "running a batch" in line]) == 1  # each kind of trouble is told once
    assert server.alive == {}


def test_a_sandbox_that_ends_under_a_running_batch_is_replaced(server: E2BServer) -> None:
    slow = Task("import time\ndef add(a, b):\n    time.sleep(0.4)\n    return a + b", "add", TASK.inputs)

    def end_it(started: threading.Event) -> None:
        started.wait(20)
        time.sleep(0.3)
        server.remove(next(iter(server.alive)))

    started = threading.Event()
    server.faults.append(("run", lambda _: started.set()))
    threading.Thread(target=end_it, args=(started,)).start()
    with open_box(server) as box:
        assert values(box.run([slow])) == SUMS
        assert box.created == 2
    assert server.alive == {}


def test_a_slow_creation_is_given_up_and_its_sandbox_ended(server: E2BServer) -> None:
    server.faults.append(("create", server_module.slow(1.0)))
    with open_box(server, request_timeout=0.4) as box:
        assert values(box.run([TASK])) == SUMS
        time.sleep(0.8)  # now the server has created the first one all the same
        assert len(server.alive) == 2
    assert server.alive == {}


def test_one_poor_thread_does_not_lose_the_verdicts_of_others(server: E2BServer) -> None:
    server.faults += [("create", server_module.status(500)), ("run", server_module.cut_stream)]
    with open_box(server) as box:
        assert values(box.run([TASK] * 40)) == SUMS * 40
    assert server.alive == {}


def test_a_key_that_is_revoked_ends_in_infrastructure_errors_at_once(server: E2BServer) -> None:
    said = Said()
    with open_box(server, said) as box:
        server.key = "another"
        assert box.run([TASK]) == [(INFRA, INFRA)]
        assert "AuthenticationException" in said[0]
        server.key = server_module.KEY


def answers(*lines: object) -> bytes:
    """What a machine writes for `TASK`."""
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


THREE, FIFTY = ["returned", "3", [], 0.0, ""], ["returned", "50", [], 0.0, ""]


def test_no_end_of_an_answer_can_be_missing() -> None:
    data = answers([0, THREE, FIFTY], [1, "confined", [["landlock", "not in this kernel"]]])
    rows, inside = read_answers(data, [TASK])
    assert values([rows[0]]) == SUMS
    assert str(inside) == "confined (missing landlock: not in this kernel)"
    for length in range(len(data)):
        with pytest.raises(ValueError):
            read_answers(data[:length], [TASK])


@pytest.mark.parametrize(
    "lines",
    [
        ([1, "jailed", []],),  # no task was done
        ([0, THREE, FIFTY], [2, "jailed", []]),
        ([0, THREE], [1, "jailed", []]),  # a case without an execution
        ([0, THREE, FIFTY, FIFTY], [1, "jailed", []]),
        ([1, THREE, FIFTY], [1, "jailed", []]),  # no such task
        ([True, THREE, FIFTY], [1, "jailed", []]),
        ([0, THREE, FIFTY], [0, THREE, FIFTY], [2, "jailed", []]),
        ([0, THREE, ["passed", "50", [], 0.0, ""]], [1, "jailed", []]),
        ([0, THREE, ["returned", 50, [], 0.0, ""]], [1, "jailed", []]),
        ([0, THREE, ["returned", "50", [], float("nan"), ""]], [1, "jailed", []]),
        ([0, THREE, ["returned", "50", [], 10**400, ""]], [1, "jailed", []]),
        ([0, THREE, FIFTY], [1, "safe", []]),
        ([0, THREE, FIFTY], [1, "jailed", 3]),
        ([0, THREE, FIFTY], {}),
    ],
)
def test_answers_that_no_sound_machine_writes_are_refused(lines: tuple[object, ...]) -> None:
    with pytest.raises(ValueError):
        read_answers(answers(*lines), [TASK])


def test_every_exception_of_the_sdk_is_a_failure_of_the_cloud() -> None:
    from e2b import exceptions

    kinds = [each for each in vars(exceptions).values() if isinstance(each, type) and issubclass(each, Exception)]
    assert len(kinds) > 10
    for kind in (*kinds, ValueError, OSError):
        error = kind.__new__(kind)
        Exception.__init__(error, "why")
        with pytest.raises(Fault, match=f"asking: {kind.__name__}") as caught, calling("asking"):
            raise error
        assert caught.value.refused == (kind.__name__ == "AuthenticationException")


def test_walls_that_are_missing_in_the_cloud_are_announced_once(
    server: E2BServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    low = Tier("confined", (("landlock", "not in this kernel"),))
    monkeypatch.setattr(machine, "read_answers", lambda *arguments: (read_answers(*arguments)[0], low))
    said = Said()
    with open_box(server, said) as box:
        box.run([TASK])
        box.run([TASK])
        assert box.inside == low
    assert sum("missing landlock" in line for line in said) == 1


# ---- money ----


def test_no_more_lifetime_is_ordered_than_the_budget_allows(server: E2BServer) -> None:
    with open_box(server, budget=100.0) as box:
        box.run([TASK] * 40)
        assert sum(body["timeout"] for body in server.created) <= 100
        assert box.created == 2


def test_a_spent_budget_is_told_once_and_fails_what_follows(server: E2BServer) -> None:
    said = Said()
    with open_box(server, said, budget=40.0) as box:
        assert values(box.run([TASK])) == SUMS
        box._pool._promised += 30.0
        box.close()
        said.clear()
        assert [box.run([TASK]) for _ in range(2)] == [[(INFRA, INFRA)]] * 2
    assert [line for line in said if "budget is spent" in line] == said[:1]
    assert "e2b_budget" in said[0]


def test_the_cost_is_shown_at_the_end(server: E2BServer) -> None:
    said = Said()
    with open_box(server, said) as box:
        box.run([TASK])
        assert 0 < box.seconds < 60
    assert "1 sandboxes" in said[-1]
    assert "of 36000 sandbox-seconds used" in said[-1]


# ---- opening ----


def test_without_a_key_the_message_names_it_and_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("E2B_API_KEY", raising=False)
    with pytest.raises(BoxUnavailable, match=r"E2B_API_KEY.*selfplay-code\[e2b\]"):
        E2BBox()


def test_without_the_package_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("E2B_API_KEY", "x")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BoxUnavailable, match=r"pip install 'selfplay-code\[e2b\]'"):
        E2BBox()


def test_a_key_that_is_refused_is_said_at_once_and_never_shown(
    server: E2BServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("E2B_API_KEY", "e2b_5ecre7")
    with pytest.raises(BoxUnavailable, match="refuses the key") as caught:
        open_box(server)
    assert "invalid API key" in str(caught.value)  # the server repeats it, the message does not
    assert "e2b_5ecre7" not in str(caught.value)


def test_a_cloud_that_is_down_at_the_start_is_said(server: E2BServer) -> None:
    down = server_module.status(503, Should_Retry="false")
    server.faults += [("list", down)]
    with pytest.raises(BoxUnavailable, match="cannot be used now"):
        open_split(QUICK)


def test_flags_open_the_cloud_for_programs_and_this_machine_for_references(server: E2BServer) -> None:
    flags = ["--sandbox", "e2b", "--sandbox-workers", "3", "--e2b-budget", "none", "--output-dir", "runs/mine"]
    box = open_box_of(from_flags(flags))
    try:
        assert isinstance(box, SplitBox)
        assert isinstance(box.home, LocalBox)
        settings = box.cloud.settings
        assert (settings.size, settings.budget, settings.label) == (3, None, "mine")
        assert server.requests == [("GET", "/v2/sandboxes")]
    finally:
        box.close()


def test_local_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("E2B_API_KEY", raising=False)
    assert Config().sandbox == "local"


@pytest.fixture
def files(tmp_path: Path) -> Callable[[str, str], str]:
    def write(name: str, text: str) -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


def test_the_judge_command_judges_in_the_cloud(
    server: E2BServer, files: Callable[[str, str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--sandbox", "e2b", "--json", "--entry", "add", "--code", files("a.py", ADD), files("b.py", WRONG)]
    tests = ["--tests", files("t.py", "assert add(1, 2) == 3"), "--reference", files("r.py", ADD + "  # ref")]
    assert judge_command([*arguments, *tests]) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["tier"] == "e2b"
    assert [program["verdicts"] for program in said["programs"]] == [["passed"], ["failed"]]
    assert server.alive == {}
    assert b"# ref" not in b"".join(server.uploads)


def test_the_judge_command_without_a_key_exits_3(
    monkeypatch: pytest.MonkeyPatch, files: Callable[[str, str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("E2B_API_KEY", raising=False)
    code, tests = files("a.py", ADD), files("t.py", "assert add(1, 2) == 3")
    assert judge_command(["--sandbox", "e2b", "--entry", "add", "--code", code, "--tests", tests]) == 3
    assert "E2B_API_KEY" in capsys.readouterr().err


def test_execute_tests_takes_the_environment(server: E2BServer, monkeypatch: pytest.MonkeyPatch) -> None:
    from selfplay.judging import execute

    execute._box.cache_clear()
    outcome = execute_tests(ADD, "assert add(1, 2) == 3\nassert add(1, 1) == 3", environment="e2b")
    assert (outcome.passed, outcome.failed) == (1, 1)
    execute._box("e2b").close()
    execute._box.cache_clear()
    assert server.alive == {}
    created = len(server.created)
    assert validate_tests_against_solution(["assert add(1, 2) == 3"], ADD).passed == 1
    assert len(server.created) == created
