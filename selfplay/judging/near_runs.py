"""Near runs: a text runs again with outcomes near the reference's in place of them, which tells what its assertions refuse.

Nine runs change all calls at once; of what they refuse, `alone` tells by which calls. A run that never ends refuses what it was
given; one that the sandbox failed says nothing, and ends the text's judging.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from selfplay.cases.near import NEAR
from selfplay.judging.actors import Actor, Follower, Stopped, Subject
from selfplay.judging.admission import is_weak
from selfplay.judging.alone import looked_at
from selfplay.judging.script import Script, Story, Unusable

if TYPE_CHECKING:
    from selfplay.judging.replay import Replay

TEXT_SECONDS = 20.0  # CPU seconds of all runs of one text before the reference
LOST_SECONDS = 5.0  # of these, that runs without an end may take: what is near should be refused, not waited for


def try_near(replay: Replay, script: Script, subject: Subject, reference: Actor) -> None:
    """Runs the text with the reference's outcomes changed, and notes what each site refuses, and by which calls. Raises
    Unusable where that takes too long, Stopped where the sandbox failed."""
    runs = NearRuns(replay, script, subject, reference)
    stories = [runs.story(lambda _, number=number: number)[0] for number in range(NEAR)]
    script.free = frozenset(script.story.operations).intersection(*(story.operations for story in stories))
    script.marks = {
        name: "".join("0" if story.holds(name) else "1" for story in stories) for name in script.story.sites
    }
    at = script.story.labels if script.stateful else script.story.operations
    cases = {name for names in script.story.cases().values() for name in names}
    rests = {
        name: list(dict.fromkeys(at[number] for number in site.rests))
        for name, site in script.story.sites.items()
        if site.held and site.rests and name in cases and not is_weak(script.marks[name])
    }
    looks: Mapping[str, Collection[str]] = rests
    if rests and len(script.known) > 1:  # else all calls were one already
        looks = looked_at(list(dict.fromkeys(at)), rests, script.marks, runs.changed)
    script.looks = {name: frozenset(n for n, label in enumerate(at) if label in own) for name, own in looks.items()}


class NearRuns:
    """Runs of a text in which outcomes near the reference's stand in place of some. All together have the text's time."""

    def __init__(self, replay: Replay, script: Script, subject: Subject, reference: Actor) -> None:
        self.replay, self.script, self.subject, self.reference = replay, script, subject, reference
        self.lost = 0.0
        self._known: dict[tuple[str, str], tuple[str, ...]] = {}

    def changed(self, numbers: Mapping[str, int]) -> tuple[set[str], set[str]]:
        """Of a run in which some operations have near outcomes: the sites that fail, or that it does not come to, and all that
        was asked."""
        story, asked = self.story(numbers.get)
        return {name for name in self.script.story.sites if not story.holds(name)}, asked

    def story(self, number_of: Callable[[str], int | None]) -> tuple[Story, set[str]]:
        """A run in which each operation, by its label, has the near outcome of its number, None: the right one; and what was
        asked. Where the tests never end, an empty story: they refuse that. Raises Unusable where all these runs take too long,
        Stopped where the sandbox failed."""
        follow = Follower(self.script, self.reference)
        before, asked = self.replay.spent, set[str]()

        def answer(operation: str) -> str:
            right = follow.outcome(operation)
            name = self.replay.current.labels[-1] if self.script.stateful else operation
            asked.add(name)
            number = number_of(name)
            return right if number is None else self._near(operation, right)[number]

        try:
            story = self.replay.like(self.script, self.subject, answer)
        except (Unusable, Stopped) as stop:
            if isinstance(stop, Stopped) and stop.verdict == "infra_error":
                raise
            story = Story()
            self.lost += self.replay.spent - before
        if self.lost > LOST_SECONDS:
            raise Unusable("budget", "on outcomes near the right ones the tests do not come to their end")
        if self.replay.spent > TEXT_SECONDS:
            raise Unusable("budget", f"to try what it refuses takes more than {TEXT_SECONDS:g} CPU seconds")
        return story, asked

    def _near(self, operation: str, outcome: str) -> tuple[str, ...]:
        key = operation, outcome
        if key not in self._known:
            subject = self.subject
            self._known[key] = self.replay.desk.near(
                outcome, str(self.replay.seed), operation, subject.entry_point, subject.signature
            )
        return self._known[key]
