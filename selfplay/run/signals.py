"""What asks a run to stop: Ctrl-C (SIGINT), SIGTERM, SIGHUP. What must not be cut off is done first; a second one cuts it off.

    with Signals() as signals:
        with signals.held():    # a step: the first signal waits for its end, and is raised there
            ...
        ...                     # elsewhere it is raised at once

Raised as `Stopped`, which is a KeyboardInterrupt that knows its number. A signal that was ignored before (nohup) stays so.
Outside the main thread Python has no handlers, and nothing is changed.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
FIRST = "\nstopping after this step; once more stops at once and keeps the last checkpoint\n"


class Stopped(KeyboardInterrupt):
    """Somebody wants the run to end. `number`: the signal; as an exit code 128 + `number`."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class Signals:
    """Handlers for as long as the `with` block lasts."""

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._holding = False
        self._asked: int | None = None

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.getsignal(number) for number in _NUMBERS}
            for number, before in self._before.items():
                if before is not signal.SIG_IGN:
                    signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    @contextmanager
    def held(self) -> Iterator[None]:
        """A block that the first signal lets come to its end. Raises Stopped there if one came."""
        self._holding = True
        try:
            yield
        finally:
            self._holding = False
        if self._asked is not None:
            raise Stopped(self._asked)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._holding and self._asked is None:
            self._asked = number
            os.write(2, FIRST.encode())  # a handler may come in the middle of a print
            return
        raise Stopped(number)
