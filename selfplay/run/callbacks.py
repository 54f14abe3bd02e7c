"""Callbacks: what a user wants done as a run goes on, from a reference or an object.

A callback that raises ends the run, once the step in progress is whole and can be resumed: what it raised is kept until the
next checkpoint can be made. Before the first step there is nothing to keep, and the run ends at once.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from selfplay import plugins
from selfplay.config import Config
from selfplay.errors import BadInput, SelfplayError
from selfplay.run.recorders import Recorder, Resumable


class CallbackError(SelfplayError):
    """A callback raised something."""


class Callback(Recorder):
    """What happens in a run, as it happens. Subclass it and override what you care for: `about(**facts)` of the run,
    `step(metrics)`, `evaluation(record)`, `episodes(records)` of the step's groups, `sample(text)` of an episode, `close()`.

    The first process alone calls it, and nothing that it does changes what is computed. What it raises ends the run.
    """


def callbacks(config: Config) -> list[Recorder]:
    """Those of the configuration, opened. Raises BadInput where one is none."""
    given = (config.callbacks,) if isinstance(config.callbacks, str) else config.callbacks or ()
    return [Guarded(_opened(reference), reference) for reference in given]


def _opened(reference: str) -> Callback:
    if not plugins.is_reference(reference):
        raise BadInput(f"callbacks is {reference!r}: give references, module:name, or from Python objects")
    thing = plugins.load(reference)
    callback = thing() if isinstance(thing, type) and issubclass(thing, Callback) else thing
    if not isinstance(callback, Callback):
        raise BadInput(
            f"{reference} is no callback but {plugins.name_of(thing)}; derive its class from selfplay.Callback"
        )
    return callback


class Guarded(Recorder):
    """A callback whose errors wait for the end of the step."""

    def __init__(self, callback: Callback, name: str) -> None:
        self._callback, self._name = callback, name
        self._begun = False  # whether there is something to lose
        self._error: CallbackError | None = None

    def about(self, **facts: Any) -> None:
        self._call("about", **facts)

    def step(self, metrics: Mapping[str, Any]) -> None:
        self._begun = True
        self._call("step", metrics)

    def evaluation(self, record: Mapping[str, Any]) -> None:
        self._call("evaluation", record)

    def episodes(self, records: Sequence[Mapping[str, Any]]) -> None:
        self._call("episodes", records)

    def sample(self, text: str) -> None:
        self._call("sample", text)

    def checkpoint(self, state: Resumable, must: bool = False) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def rewind(self, step: int, records: Mapping[str, int]) -> None:
        self._begun = step > 0

    def close(self) -> None:
        self._begun = False
        self._call("close")

    def _call(self, method: str, *arguments: Any, **facts: Any) -> None:
        if self._error is not None:
            return
        try:
            getattr(self._callback, method)(*arguments, **facts)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            self._error = CallbackError(
                f"the callback {self._name} raised in {method}: {type(error).__name__}: {error} "
                f"({place.filename}, line {place.lineno})"
            )
            self._error.__cause__ = error
            if not self._begun:
                raise self._error from error
