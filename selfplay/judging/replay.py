"""Texts of tests before programs: who asks, who performs, and what is given back.

    replay = Replay(talker, desk, limits)
    script = replay.script(subject, text)           the text before the reference
    replay.before(script, subject, program)         the same text before a program: a Performance

The child of a test never meets a program, the child of a program never meets a test; between them stand operations and
outcomes as data. What a program did like the reference is given to the test as what the reference did. So equal outcomes
give equal verdicts by construction, and a program equal to the reference on all calls passes without a run:

    every operation like the reference's            every site passes; nothing is run
    a site rests on none that differs               it passes
    else                                            the text runs, and what fails is run once more from the record

A program gets an operation only when it has given what its arguments are made of: past the first difference only those
that are asked whatever the outcomes are. A failure that does not repeat is the test's, and costs the program nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from selfplay.box.talk import Budget, Ended, Talker
from selfplay.box.task import Limits
from selfplay.cases.case import Verdict
from selfplay.judging.actors import Actor, Follower, NotLoaded, Stopped, Subject, grown, places
from selfplay.judging.clerk import Desk
from selfplay.judging.near_runs import try_near
from selfplay.judging.script import (
    MAX_OPERATIONS,
    MAX_TRAINING,
    Broken,
    Interface,
    Script,
    Story,
    Unusable,
    frame_of,
    is_stateful,
)

_log = logging.getLogger(__name__)

TEST = Budget(turn_seconds=2.0, seconds=4.0, frame_bytes=4 << 20, bytes=16 << 20, memory_mib=1024)


@dataclass(slots=True)
class Performance:
    """A text before one program: a verdict for each of the script's sites, and for each of its tests.

    `ran`: whether the text ran, since the program did something else than the reference. `why`: it does not load.
    `otherwise`: the verdict of what is not listed. `outcomes`: what the program did, by place; `differing`: places where that
    is not what the reference did. `explained`: what pytest says of a failure, where that was asked for.
    """

    sites: dict[str, Verdict] = field(default_factory=dict)
    tests: dict[str, Verdict] = field(default_factory=dict)
    ran: bool = False
    why: str = ""
    otherwise: Verdict = "error"
    outcomes: dict[str, str] = field(default_factory=dict)
    differing: set[str] = field(default_factory=set)
    explained: dict[str, str] = field(default_factory=dict)

    def of(self, site: str) -> Verdict:
        """The verdict of a site."""
        return self.sites.get(site, self.otherwise)


def told_alone(story: Story) -> Performance:
    """What a story says where there is no reference: exactly what pytest would."""
    sites: dict[str, Verdict] = {
        name: "passed" if site.held else "error" if site.why else "failed" for name, site in story.sites.items()
    }
    tests: dict[str, Verdict] = {
        name: "passed" if told.outcome == "passed" else "failed" for name, told in story.tests.items()
    }
    ended = next(iter(story.stopped.values()), None) or "error"
    return Performance(sites, tests | story.stopped, ran=True, otherwise=ended)


Answer = Callable[[str], str]


class Replay:
    """Runs texts of tests. `seed` draws the near outcomes; `cloud` has programs perform elsewhere. Serves one thread."""

    def __init__(
        self, talker: Talker, desk: Desk, limits: Limits, seed: int = 0, cloud: Callable[..., Any] | None = None
    ) -> None:
        self.talker, self.desk, self.limits, self.seed = talker, desk, limits, seed
        self.spent = 0.0  # CPU seconds of the tests of the text that is at hand
        self.current = Story()  # the run that is at hand
        self.cloud = cloud

    # ---- one run ----

    def story(
        self, text: str, interface: Interface, answer: Answer, *, hashes: int = 0, seed: int = 0,
        skip: Sequence[str] = (), blob: str = "", imports: tuple[str, ...] = (), most: int = MAX_OPERATIONS,
        explain: bool = False,
    ) -> tuple[Story, str]:  # fmt: skip
        """One run of a text, and what preparing it came to. `explain`: with what pytest says of failures, for people. Raises
        Unusable where the text is at fault."""
        story = self.current = Story(most=most)
        settings = {"skip": list(skip), "seed": seed, "prepared": "" if explain else blob, "explain": explain}
        with self.talker.tests(text, interface, settings, TEST, hashes, imports) as child:
            try:
                frame = frame_of(child.say())
                if isinstance(frame.get("prepared"), str):
                    blob = frame["prepared"]
                    frame = frame_of(child.say("go"))
                while isinstance(frame.get("q"), str):
                    story.take(frame)
                    story.ask(frame["q"])
                    try:
                        outcome = answer(frame["q"])
                    except Stopped as stop:
                        del story.operations[-1], story.labels[-1]
                        story.stopped[story.running] = stop.verdict
                        return story, blob
                    story.outcomes.append(outcome)
                    frame = frame_of(child.say(outcome))
                story.take(frame)
                story.refused = str(frame.get("end", ""))[:300]
            except Broken as error:
                raise Unusable("budget", str(error), story) from None
            except Ended as end:
                if end.ending is None:
                    raise Stopped("infra_error") from None
                why = "its time" if end.ending.timed_out else "its process"
                raise Unusable("budget", f"the tests use up {why}", story) from None
            finally:
                child.close()
                self.spent += child.cpu_seconds
        return story, blob

    def _whole(self, run: Callable[[Sequence[str]], Story]) -> Story:
        """A story to its end: where a program ends a test, or keeps it from ending, the tests after it run on in further
        children. What sites rest on are operations of their own child's story."""
        before = self.spent
        done = story = run(())
        while done.stopped and "module" not in done.stopped and len(story.stopped) < self.limits.timeouts:
            if self.spent - before > TEST.seconds:
                break
            done = run((*story.tests, *story.stopped))
            for name in ("sites", "tests", "stopped", "explained"):
                getattr(story, name).update({k: v for k, v in getattr(done, name).items() if k not in ("module",)})
        return story

    # ---- the reference ----

    def script(self, subject: Subject, text: str) -> Script:
        """The text before the reference, which has half of what a program may use: what it passes leaves a right program a
        margin. Raises Unusable, and Stopped where the sandbox failed."""
        reference = Actor(self.talker, self.limits.halved(), subject, subject.reference or "", beside=True)
        try:
            return self._script(subject, text, reference)
        finally:
            reference.close()

    def _script(self, subject: Subject, text: str, reference: Actor) -> Script:
        interface = reference.load()
        self.spent = 0.0
        try:
            most = MAX_OPERATIONS if subject.public is None else MAX_TRAINING
            story, blob = self.story(text, interface, reference.ask, imports=subject.imports, most=most)
        except Stopped as stop:
            raise _unusable(stop.verdict) from None
        if story.refused:
            raise Unusable("unreadable", story.refused)
        module = story.tests.get("module")
        if module and module.outcome == "error":
            raise Unusable("unreadable", f"pytest cannot collect it: {module.why}")
        if story.stopped:
            raise _unusable(next(iter(story.stopped.values())))
        if not story.operations:
            raise Unusable(
                "no_call", f"nothing of what is under test is used ({subject.entry_point or 'no entry point'})"
            )
        script = Script(text, interface, story, blob)
        script.stateful = is_stateful(story.operations) or self.desk.keeps_state(subject.reference or "")
        script.known = dict(zip(places(story.operations, script.stateful), story.outcomes, strict=True))
        script.story = self.like(script, subject, Follower(script, reference).outcome)
        if script.story.stopped:
            raise _unusable(next(iter(script.story.stopped.values())))
        first, second = story.verdicts(), script.story.verdicts()
        script.unstable = frozenset(name for name in {*first, *second} if first.get(name) != second.get(name))
        try_near(self, script, subject, reference)
        return script

    def like(
        self, script: Script, subject: Subject, answer: Answer, *, hashes: int = 1, interface: Interface | None = None,
        skip: Sequence[str] = (), explain: bool = False,
    ) -> Story:  # fmt: skip
        """A run that differs in its outcomes alone from the one that is the script's story: the same seeds, and prepared.
        A test that could tell them apart by anything else would pass the reference and fail all that is near it."""
        story, _ = self.story(
            script.text, interface or script.interface, answer, hashes=hashes, seed=1, skip=skip, blob=script.blob,
            imports=subject.imports, explain=explain,
        )  # fmt: skip
        return story

    # ---- a program ----

    def actor(self, subject: Subject, source: str, secret: bool = False) -> Actor:
        """The program, ready to load. A secret one stays on this machine."""
        if secret or self.cloud is None:
            return Actor(self.talker, self.limits, subject, source)
        return self.cloud(subject, source)

    def before(
        self, script: Script, subject: Subject, source: str, secret: bool = False, explain: bool = False
    ) -> Performance:
        """The text before one program. Raises Stopped where the sandbox failed."""
        reference = Actor(self.talker, self.limits, subject, subject.reference or "", beside=True)
        with self.actor(subject, source, secret) as program, reference:
            program.objects = any('["h"' in outcome for outcome in script.story.outcomes)
            try:
                interface = program.load()
            except NotLoaded as error:
                return Performance(otherwise="not_collected", why=str(error))
            trial = Trial(self, script, subject, program, reference, explain)
            errors = {
                name: own for name, own in interface.items() if own[0] == script.interface.get(name, [""])[0] == "error"
            }
            trial.interface = {**script.interface, **errors}  # what its exceptions derive from is the program's own
            try:
                return trial.performance()
            except NotLoaded as error:
                return Performance(otherwise="not_collected", why=str(error))

    def alone(self, subject: Subject, text: str, source: str, explain: bool = False) -> Story | None:
        """The text on a program's own outcomes, as under pytest; None where the program does not load. Raises Unusable."""
        with self.actor(subject, source) as program:
            try:
                interface = program.load()
            except NotLoaded:
                return None

            def run(skip: Sequence[str]) -> Story:
                return _as_far(
                    lambda: self.story(
                        text, interface, program.ask, skip=skip, imports=subject.imports, explain=explain
                    )[0]
                )

            story = self._whole(run)
        if story.refused:
            raise Unusable("unreadable", story.refused)
        return story


def _as_far(run: Callable[[], Story]) -> Story:
    """A run as far as it comes before this program: a test that uses up what tests may use is stopped there."""
    try:
        return run()
    except Unusable as error:
        if error.story is None:
            raise
        error.story.stopped[error.story.running] = "timeout"
        return error.story


def _unusable(verdict: Verdict) -> Unusable | Stopped:
    if verdict == "infra_error":
        return Stopped(verdict)
    if verdict == "timeout":
        return Unusable("slow", "the reference is not done within half of what a program may use")
    return Unusable("reference", f"the reference ends in {verdict}")


class Trial:
    """One text before one program; see the table at the top of the module."""

    def __init__(
        self, replay: Replay, script: Script, subject: Subject, program: Actor, reference: Actor, explain: bool = False
    ) -> None:
        self.replay, self.script, self.subject, self.explain = replay, script, subject, explain
        self.program, self.reference = program, reference
        self.interface = script.interface
        self.own: dict[str, str] = {}  # by place: what the program did, as the reference did where that is alike
        self.ended: dict[str, Verdict] = {}  # by place: how it ended the program
        self.differing: set[str] = set()  # places
        self.affected: set[str] = set()  # sites that rest on one of these

    def performance(self) -> Performance:
        story = self.script.story
        self._rehearse()
        places_of = list(places(story.operations, self.script.stateful))
        touched = {number for number, place in enumerate(places_of) if place in self.differing or place not in self.own}
        found = Performance(
            {name: "passed" if site.held else "failed" for name, site in story.sites.items()},
            {name: "passed" if told.outcome == "passed" else "failed" for name, told in story.tests.items()},
        )
        found.outcomes, found.differing = self.own, self.differing
        if not touched:
            return found
        hit = [name for name, site in story.sites.items() if not touched.isdisjoint(site.rests)]
        found.ran = True
        run = self.replay._whole(self._run)
        again = self._again(run) if not run.stopped else run
        for name in hit:
            found.sites[name] = self._verdict(name, run, again)
        for name in found.tests:
            found.tests[name] = self._of_test(name, run)
        found.explained = {name: text for name, text in run.explained.items() if found.of(name) != "passed"}
        return found

    def _rehearse(self) -> None:
        """Asks the program what the script asks, as far as it may know it."""
        story = self.script.story
        stateful = self.script.stateful
        self.program.prepare([operation for operation in story.operations if operation in self.script.free])
        for operation, place, right in zip(
            story.operations, places(story.operations, stateful), story.outcomes, strict=True
        ):
            if self.differing and (stateful or operation not in self.script.free):
                if stateful:
                    return
                continue
            if place not in self.own and place not in self.ended:
                self._ask(operation, place, right)

    def _ask(self, operation: str, place: str, right: str | None) -> None:
        """Has the program perform an operation, and enters what it did: as the reference did, where that is alike."""
        if len(self.ended) >= self.replay.limits.timeouts:
            self.ended[place] = "timeout"
        else:
            try:
                outcome = self.program.ask(operation)
                if right is not None and (outcome == right or self.replay.desk.alike(outcome, right)):
                    self.own[place] = right
                    return
                self.own[place] = outcome
            except NotLoaded:
                self.ended[place] = "error"
            except Stopped as stop:
                if stop.verdict == "infra_error":
                    raise
                self.ended[place] = stop.verdict
        self.differing.add(place)

    def _run(self, skip: Sequence[str]) -> Story:
        """The text, answered by the program; where it is stateful the program starts anew and both go along."""
        follow = Follower(self.script, self.reference)
        if self.script.stateful:
            self.program.close()
            self.own.clear()
            self.ended.clear()

        def answer(operation: str) -> str:
            right = follow.outcome(operation)
            place = follow.history or operation
            if place not in self.own and place not in self.ended:
                self._ask(operation, place, right)
            if place in self.ended:
                raise Stopped(self.ended[place])
            return self.own[place]

        story = _as_far(
            lambda: self.replay.like(
                self.script, self.subject, answer, interface=self.interface, skip=skip, explain=self.explain
            )
        )
        own = list(places(story.operations, self.script.stateful))
        self.affected.update(
            name for name, site in story.sites.items() if any(own[number] in self.differing for number in site.rests)
        )
        return story

    def _again(self, run: Story) -> Story:
        """The same from the record, under another seed of hashes: what an honest test tells twice."""
        record = dict(zip(places(run.operations, self.script.stateful), run.outcomes, strict=True))
        history = ""

        def answer(operation: str) -> str:
            nonlocal history
            history = grown(history, operation) if self.script.stateful else ""
            outcome = record.get(history or operation)
            if outcome is None:
                raise Stopped("error")
            return outcome

        try:
            return self.replay.like(self.script, self.subject, answer, hashes=0, interface=self.interface)
        except Unusable:
            return Story()

    def _verdict(self, name: str, run: Story, again: Story) -> Verdict:
        site = run.sites.get(name)
        test = name.rpartition(":")[0]
        if site is None:
            return run.stopped.get(test) or run.stopped.get("module") or "error"
        if site.held:
            return "passed"
        other = again.sites.get(name)
        if run is not again and (other is None or other.held):
            _log.warning("a test failed a program once and not again: it does not count against it")
            return "passed"
        if name not in self.affected:
            return "passed"
        return "error" if site.why else "failed"

    def _of_test(self, name: str, run: Story) -> Verdict:
        if name in run.stopped or "module" in run.stopped:
            return run.stopped.get(name) or run.stopped["module"]
        told = run.tests.get(name)
        return "passed" if told and told.outcome == "passed" else "failed"
