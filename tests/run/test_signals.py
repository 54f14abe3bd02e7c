from __future__ import annotations

import signal
import threading

import pytest

from selfplay.run.command import run_command
from selfplay.run.signals import Signals, Stopped


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_outside_a_step_stops_at_once(number: signal.Signals) -> None:
    with Signals(), pytest.raises(Stopped) as stopped:
        signal.raise_signal(number)
    assert stopped.value.number == number


def held(*numbers: int, error: Exception | None = None) -> list[int]:
    """What a step that gets these signals has seen when it ends."""
    seen: list[int] = []

    def step(signals: Signals) -> None:
        with signals.held():
            for number in numbers:
                signal.raise_signal(number)
                seen.append(number)
            if error:
                raise error

    with Signals() as signals, pytest.raises(type(error) if error else Stopped):
        step(signals)
    return seen


def test_a_signal_in_a_step_waits_for_its_end(capfd: pytest.CaptureFixture[str]) -> None:
    assert held(signal.SIGTERM) == [signal.SIGTERM]
    assert "stopping after this step" in capfd.readouterr().err


def test_a_second_signal_in_a_step_cuts_it_off() -> None:
    assert held(signal.SIGINT, signal.SIGTERM) == [signal.SIGINT]


def test_an_error_of_a_step_is_not_hidden_by_a_signal() -> None:
    assert held(signal.SIGINT, error=OSError("the disk")) == [signal.SIGINT]


def test_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Signals():
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before


def test_what_was_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Signals():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_outside_the_main_thread_nothing_is_changed() -> None:
    def enter() -> None:
        with Signals() as signals, signals.held():
            seen.append(signal.getsignal(signal.SIGTERM))

    seen: list[object] = []
    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGTERM)]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_stopped_command_exits_as_a_shell_would_say(number: int, code: int) -> None:
    def body() -> int:
        raise Stopped(number)

    assert run_command("selfplay.test", body) == code
