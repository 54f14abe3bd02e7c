"""A program in E2B's cloud that performs operations: each call is an ordinary task of the box there.

Tests and references stay on this machine, so a call is all that goes there. A task answers with a value or an exception:
a text that uses classes, or looks at what was printed or at changed arguments, is not judged on programs there. Calls that
are asked whatever the outcomes are go together; every other one is a journey.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from selfplay.box.task import Box, Execution, Limits, Task
from selfplay.judging.actors import Actor, NotLoaded, Stopped, Subject
from selfplay.judging.script import Interface, Script, Unusable


class CloudActor(Actor):
    """An actor without a child of its own."""

    def __init__(self, box: Box, limits: Limits, subject: Subject, source: str) -> None:
        self.box, self.limits, self.subject, self.source = box, limits, subject, source
        self._known: dict[str, Execution] = {}

    def load(self) -> Interface:
        """Nothing is asked before the first call."""
        return {}

    def prepare(self, operations: Sequence[str]) -> None:
        """Has these calls performed together. Raises NotLoaded."""
        asked = {operation: call for operation in operations if (call := _call(operation, self.subject.entry_point))}
        task = Task(self.source, self.subject.entry_point, tuple(asked.values()), self.subject.imports, self.limits)
        if asked:
            self._known.update(zip(asked, self.box.run([task])[0], strict=True))
        if any(one.status == "not_collected" for one in self._known.values()):
            raise NotLoaded(next(one.detail for one in self._known.values() if one.status == "not_collected"))

    def ask(self, operation: str) -> str:
        """The outcome of an operation, as text. Raises Stopped where there is none."""
        if operation not in self._known:
            self.prepare([operation])
        one = self._known.get(operation, Execution("crashed"))
        if one.status == "returned":
            return f'{{"v":{one.value}}}'
        if one.status == "raised":
            return json.dumps({"x": list(one.exception) or ["Exception"], "m": ""})
        raise Stopped(
            "timeout" if one.status == "timeout" else "infra_error" if one.status == "infra_error" else "error"
        )

    def close(self) -> None:
        """Nothing is held."""


def check_reach(script: Script) -> None:
    """Raises Unusable for a text that cannot be judged on programs in the cloud."""
    besides = any("p" in told or "c" in told for told in map(json.loads, script.story.outcomes))
    if script.stateful or besides or any(not operation.startswith('["call"') for operation in script.story.operations):
        raise Unusable("cloud", "tests of classes, printed text or changed arguments need programs on this machine")


def _call(operation: str, entry_point: str) -> str:
    """The arguments of a call of the entry point as a task's input; empty for any other operation."""
    kind, *parts = json.loads(operation)
    if kind != "call" or parts[0] != entry_point:
        return ""
    positional, keywords = ["l", *parts[1][1:]], parts[2][1:]
    tree = ["d", ["", positional], *sorted(keywords)] if keywords else positional
    return json.dumps(tree, separators=(",", ":"))
