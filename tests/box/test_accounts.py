"""Each owner of a task's inputs pays for its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from selfplay.box.accounts import Account, Accounts, Ending
from selfplay.box.local import LocalBox
from selfplay.box.orders import RunningTask
from selfplay.box.task import Execution, Limits, Task

BURN = """
import time
def f(x):
    end = time.process_time() + x
    while time.process_time() < end: pass
    return "y" * int(x)
"""
QUICK = Limits(cpu_seconds=0.1)
_TOTAL, _FULL = 5, 6  # why a child ended


@pytest.fixture(scope="module")
def box() -> Iterator[LocalBox]:
    with LocalBox() as box:
        yield box


def told(
    box: LocalBox, source: str, owned: Sequence[tuple[float, tuple[int, ...]]], limits: Limits = QUICK
) -> list[str]:
    """What became of calls with these numbers, each with those who ask for it."""
    inputs = tuple(f'["t",["f","{number}"]]' for number, _ in owned)
    [row] = box.run([Task(source, "f", inputs, limits=limits, owners=tuple(owners for _, owners in owned))])
    return [one.exception[0] if one.exception else one.status for one in row]


def test_inputs_of_all_owners_share_a_child_where_nothing_goes_wrong(box: LocalBox) -> None:
    source = "seen = []\ndef f(x):\n    seen.append(x)\n    assert len(seen) == x"
    assert told(box, source, [(1, (0,)), (2, (1,)), (3, (0, 1)), (4, (2,))]) == ["returned"] * 4


def test_timeouts_of_one_owner_are_no_others(box: LocalBox) -> None:
    owned = [(9, (0,)), (0, (1,))] * 5
    assert told(box, BURN, owned) == ["timeout", "returned"] * 5
    assert told(box, BURN, [(9, (0,))] * 3 + [(0, (0,)), (0, (1,))]) == ["timeout"] * 4 + ["returned"]


def test_seconds_of_one_owner_are_no_others(box: LocalBox) -> None:
    row = told(box, BURN, [(0.07, (0,))] * 40 + [(0.07, (1,))] * 5)
    done = row[:40].count("returned")
    assert 10 <= done <= 20
    assert row == ["returned"] * done + ["timeout"] * (40 - done) + ["returned"] * 5


def test_bytes_of_one_owner_are_no_others(box: LocalBox) -> None:
    source = "def f(x): return 'y' * int(x)"
    limits = Limits(cpu_seconds=2, answer_bytes=1_000_000)
    row = told(box, source, [(300_000, (0,))] * 8 + [(300_000, (1,))] * 3, limits)
    assert row == ["returned"] * 3 + ["OutputTooLarge"] * 5 + ["returned"] * 3


def test_what_several_ask_for_is_paid_by_the_first_that_can(box: LocalBox) -> None:
    owned = [(9, (0,))] * 3 + [(0, (0, 1)), (0, (0,)), (0, (1,))]
    assert told(box, BURN, owned) == ["timeout"] * 3 + ["returned", "timeout", "returned"]


def test_a_child_too_poor_to_load_is_no_verdict_on_the_program(box: LocalBox) -> None:
    source = f"import os\n{BURN}\nf(0.08)\nburn = f\ndef f(x):\n    burn(x)\n    os._exit(0)"
    assert set(told(box, source, [(0.04, (0,))] * 20)) == {"crashed", "timeout"}


def test_seconds_that_no_report_tells_are_charged_to_the_last_case() -> None:
    accounts = Accounts([(0,), (1,), (2,)], {owner: Account(1.0, 9.0, 100, 3) for owner in range(3)})
    assert accounts.charge([0, 1, 2], [(0.2, 0.3, 10)], Ending(0, 9, 2, 0.9, 9.0)) == ["", ""]
    assert [round(account.cpu, 3) for account in accounts.accounts.values()] == [0.8, 0.3, 1.0]
    assert [round(account.wall, 3) for account in accounts.accounts.values()] == [8.7, 0.3, 9.0]


@pytest.mark.parametrize(("reason", "status"), [(_TOTAL, "timeout"), (_FULL, "raised")])
def test_a_case_cut_short_by_a_total_of_several_runs_again_among_its_owner_s(reason: int, status: str) -> None:
    running = RunningTask(0, Task("", "f", ("a", "b", "c"), limits=QUICK, owners=((0,), (1,), (0,))))
    first = running.next_order()
    first.reports = [b"L"]
    running.settle(first, Ending(reason, 9, 1, 0.0, 0.0))
    again = running.next_order()
    assert again.cases == [0]
    again.reports = [b"L"]
    running.settle(again, Ending(reason, 9, 1, 0.0, 0.0))
    assert running.next_order().cases == [1]
    assert [one and one.status for one in running.known] == [status, None, None]


def test_every_byte_of_a_report_is_charged(box: LocalBox) -> None:
    """Names of exceptions too: what the host keeps of one program is bounded, whatever its children forge."""
    forge = "import json, os, struct\ndef f(x):\n    body = b'X' + bytes(16) + json.dumps(['e' * 900_000]).encode()\n"
    forge += "    frame = memoryview(struct.pack('!I', len(body)) + body)\n"
    forge += "    while frame: frame = frame[os.write(3, frame):]\n    os._exit(0)"
    row = told(box, forge, [(0, (0,))] * 40, Limits(answer_bytes=4_000_000))
    assert row.count("OutputTooLarge") > 30


def test_a_program_that_forges_what_its_calls_took_harms_itself_alone(box: LocalBox) -> None:
    frame = "struct.pack('!I', 18) + b'V' + struct.pack('!dd', 1e300, -1e300) + b'1'"
    forge = f"import os, struct\ndef f(x): os.write(3, {frame})"
    lying, honest = box.run(
        [Task(source, "f", ('["t",1]',) * 4, limits=QUICK) for source in (forge, "def f(x): return x")]
    )
    assert [one.status for one in lying] == ["returned"] + ["timeout"] * 3
    assert set(honest) <= {Execution("returned", "1", seconds=one.seconds) for one in honest}
