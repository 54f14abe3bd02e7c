"""The clerk's process: its answers, its limits, and what becomes of a request that passes them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from selfplay.cases.read import read_cases
from selfplay.game.problems import Problem
from selfplay.judging.clerk import client
from selfplay.judging.clerk.client import Clerk, GaveUp

PROBLEM = Problem("p", "", "f", "def f(n):", ())


@pytest.fixture
def clerk() -> Iterator[Clerk]:
    clerk = Clerk(seconds=0.5)
    yield clerk
    clerk.close()


def test_what_the_clerk_reads_is_what_is_read_here(clerk: Clerk) -> None:
    text = "def test_f():\n    assert f(1) == 2\n    assert f(\n"
    for source in (text, "assert f([1, {2: 3.5}]) == (1, 'a')", ""):
        assert clerk.do("tests", source, "f", "", 10) == read_cases(source, "f", limit=10)


def test_a_request_that_spends_its_seconds_is_given_up_and_the_next_one_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client, "SECONDS_PER_MIB", 0.0)
    hasty = Clerk(seconds=0.02)  # the request takes half a second and more
    with pytest.raises(GaveUp, match="CPU seconds") as caught:
        hasty.do("tests", "assert f(1) == [1, 2, 3]\n" * 30_000, "f", "", 30_000)
    assert caught.value.reason == "budget"
    assert hasty.do("state", "def f(): return 1") is False
    hasty.close()


def test_memory_beyond_the_limit_ends_the_request_and_not_this_process() -> None:
    small = Clerk(seconds=60, memory=200 << 20)
    try:
        with pytest.raises(GaveUp) as caught:
            small.do("code", PROBLEM, "x" * (150 << 20))
        assert caught.value.reason == "budget"
        assert small.do("state", "def f(): return 1") is False
    finally:
        small.close()


@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited on Linux alone")
def test_under_a_limit_of_the_shell_s_the_clerk_takes_what_there_is() -> None:
    script = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (1_000_000 << 10,) * 2)\n"
        "from selfplay.judging.clerk.client import Clerk; clerk = Clerk()\n"
        "assert clerk.do('state', 'x = []') is True; print(clerk.started)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (ran.stdout, ran.stderr) == ("1\n", "")


def test_a_clerk_that_was_killed_is_replaced(clerk: Clerk) -> None:
    clerk.do("state", "")
    assert clerk._process
    os.kill(clerk._process.pid, signal.SIGKILL)
    assert clerk.do("state", "def f(): return 1") is False
    assert clerk.started == 2


def test_an_answer_of_another_kind_is_refused() -> None:
    import io
    import pickle

    from selfplay.judging.clerk.client import _Unpickler

    with pytest.raises(pickle.UnpicklingError, match="system"):
        _Unpickler(io.BytesIO(pickle.dumps(os.system))).load()


def test_an_error_of_ours_is_logged_and_told_from_a_budget(clerk: Clerk, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(GaveUp, match="TypeError") as caught:
        clerk.do("state", 5, 6)
    assert caught.value.reason == "clerk_failed"
    assert "Traceback" in caplog.text


class Quoting:
    """What the clerk cannot load, with an exception that quotes a model."""

    def __reduce__(self) -> tuple[object, ...]:
        return exec, ("raise ValueError('\\x1b[2J')",)


def test_an_error_that_quotes_a_model_moves_no_cursor(clerk: Clerk, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(GaveUp):
        clerk.do("state", Quoting())
    assert "ValueError" in caplog.text
    assert "\x1b" not in caplog.text


def test_several_threads_may_ask_at_once(clerk: Clerk) -> None:
    answers: list[object] = []
    threads = [threading.Thread(target=lambda: answers.append(clerk.do("state", "x = []"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [True] * 8
    assert clerk.started == 1


def test_a_lone_surrogate_goes_to_the_clerk_and_back(clerk: Clerk) -> None:
    assert clerk.do("code", PROBLEM, "def f(n):\n    return '\ud800'") is not None
