"""A stream tells what is done as soon as it is done, can be left at any time, and holds only what is in flight."""

from __future__ import annotations

import contextlib
import resource
import threading
import time

import pytest

from selfplay.box.local import LocalBox
from selfplay.box.task import Limits, Task

ONE = ('["t"]',)
SLOW = Task("import time\ndef f(): time.sleep(0.6); return 'slow'", "f", ONE, limits=Limits(cpu_seconds=2))
FAST = Task("def f(): return 'fast'", "f", ONE)


def test_what_is_done_is_told_before_the_rest() -> None:
    with LocalBox(workers=2) as box:
        told = [index for index, _ in box.stream([SLOW, FAST, FAST])]
    assert sorted(told) == [0, 1, 2]
    assert told.index(1) < told.index(0)


def test_run_collects_a_stream_in_the_order_of_the_tasks() -> None:
    with LocalBox(workers=2) as box:
        assert [row[0].value for row in box.run([SLOW, FAST])] == ['"slow"', '"fast"']


def test_a_stream_that_is_left_leaves_no_half_told_frames() -> None:
    with LocalBox(workers=2) as box:
        for _ in range(3):
            with contextlib.closing(box.stream([FAST, SLOW, SLOW])) as stream:
                next(stream)
            assert [row[0].value for row in box.run([FAST] * 5)] == ['"fast"'] * 5


def test_an_error_of_who_takes_it_does_not_keep_the_box_from_being_closed() -> None:
    def take(box: LocalBox) -> None:
        with box:
            for _ in box.stream([FAST, SLOW]):
                raise KeyError  # the traceback holds the stream, and the box is closed all the same

    box = LocalBox()
    with pytest.raises(KeyError):
        take(box)
    assert box.pids == []


def test_a_second_stream_in_one_thread_is_refused_with_a_reason() -> None:
    with LocalBox() as box, contextlib.closing(box.stream([FAST, FAST])) as stream:
        next(stream)
        with pytest.raises(RuntimeError, match="in the middle of a stream"):
            box.run([FAST])


def test_another_threads_stream_waits_its_turn() -> None:
    with LocalBox() as box:
        values: list[str] = []
        other = threading.Thread(target=lambda: values.extend(row[0].value for row in box.run([FAST])))
        with contextlib.closing(box.stream([FAST, FAST])) as stream:
            next(stream)
            other.start()
        other.join()
    assert values == ['"fast"']


def test_time_that_the_caller_takes_is_not_the_programs() -> None:
    tight = Limits(cpu_seconds=0.01)  # a second on the wall, and a little more
    big = Task("def f(): return 'x' * 900_000", "f", ONE * 6, limits=Limits(cpu_seconds=0.05))
    with LocalBox() as box:
        told = []
        for _, row in box.stream([big, Task("def f(): return 1", "f", ONE, limits=tight), big]):
            time.sleep(1.4)
            told += [one.status for one in row]
    assert set(told) == {"returned"}


def test_the_host_holds_what_is_in_flight_and_no_more() -> None:
    task = Task("def f(): return 'x' * 1_000_000", "f", ONE * 12, limits=Limits(cpu_seconds=2))
    with LocalBox() as box:
        for _ in box.stream([task] * 2):
            pass
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in box.stream([task] * 10):  # 120 MB in all
            pass
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 40_000  # KiB
