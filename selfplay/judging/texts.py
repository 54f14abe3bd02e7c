"""Texts of tests as cases, and programs before them. Scripts are made once and kept.

    texts.cases(subject, signature, text)      the cases that its sites are, each with why it does not count
    texts.performance(subject, text, source)   what one program does before it

Tests run only behind all walls: at a weaker tier a text is refused with a sentence, and literal tests are judged alone.
Where programs run in the cloud, tests and references stay here, and a program gets its calls as ordinary tasks.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from selfplay.box.talk import Talker
from selfplay.box.task import Box, Limits
from selfplay.cases.case import Case, Refusal
from selfplay.judging.actors import NotLoaded, Stopped, Subject, places
from selfplay.judging.admission import NOTHING
from selfplay.judging.clerk import Desk
from selfplay.judging.cloud import CloudActor, check_reach
from selfplay.judging.replay import Performance, Replay, told_alone
from selfplay.judging.script import END, Script, Shown, Site, Story, Told, Unusable, outcome_said, raised, spelled

Found = tuple[Case, Refusal | None]
Demanded = Callable[[Sequence[str]], bool]
NO_PASS = "a skipped test and an expected failure are no pass"
NO_CROSSING = (
    "it needs what does not cross between a test and a program: a private name, a function as an argument, a subclass"
)
_CROSSING = "CannotCross"  # of sandbox/proxy.py
KEPT, KEPT_SIZE = 256, 256 << 20  # scripts, and characters of all of them
_SHOWN = 200  # characters of a text that stand for it where it is refused


class Texts:
    """Runs texts of tests. `seed` draws the near outcomes. Serves one thread."""

    def __init__(self, box: Box, desk: Desk, limits: Limits, seed: int = 0) -> None:
        self.box, self.desk = box, desk
        self._talker = Talker(jail=box.tier != "unjailed")
        cloud = partial(CloudActor, box, limits) if box.tier == "e2b" else None
        self._replay = Replay(self._talker, desk, limits, seed, cloud)
        self._scripts: OrderedDict[tuple[Subject, str], Script | Unusable] = OrderedDict()

    def script(self, subject: Subject, text: str) -> Script:
        """The text before the reference. Raises Unusable, and Stopped where the sandbox failed."""
        key = subject, text
        if key not in self._scripts:
            self._scripts[key] = self._made(subject, text)
            while len(self._scripts) > KEPT or (len(self._scripts) > 1 and self._size() > KEPT_SIZE):
                self._scripts.popitem(last=False)
        self._scripts.move_to_end(key)
        found = self._scripts[key]
        if isinstance(found, Unusable):
            raise found
        return found

    def _size(self) -> int:
        return sum(one.size for one in self._scripts.values() if isinstance(one, Script))

    def _made(self, subject: Subject, text: str) -> Script | Unusable:
        if self.box.tier not in ("jailed", "e2b", "unjailed"):
            return Unusable(
                "no_jail", f"a test that is no literal runs only behind all walls, and the tier here is {self.box.tier}"
            )
        try:
            script = self._replay.script(subject, text)
            if self.box.tier == "e2b":
                check_reach(script)
            return script
        except Unusable as error:
            return Unusable(error.reason, error.detail)  # without how far it came
        except NotLoaded as error:
            return Unusable("reference", f"the reference does not load: {error}")

    def cases(
        self,
        subject: Subject,
        signature: str,
        text: str,
        programs: Sequence[str] = (),
        demanded: Demanded | None = None,
    ) -> list[Found]:
        """A case for each site of the text, with why it does not count, None where nothing is wrong so far. Where the whole
        text does not count, one case without a site says so.

        Without a reference the sites are those that any of the `programs` comes to. `demanded` says whether the problem asks
        for an exception with one of these names; None: every exception of the reference may be asked for.
        """
        whole = Case("module", text[:_SHOWN], "", "runs", "", text=text)
        try:
            if subject.reference is None:
                return self._sites_of(subject, text, programs)
            script = self.script(subject, text)
        except Unusable as error:
            return [(whole, Refusal(whole.name, whole.source, error.reason, error.detail))]
        except Stopped:
            return [(whole, Refusal(whole.name, whole.source, "infra_error", "the sandbox failed on the reference"))]
        return list(_cases(self.desk, script, subject, signature, demanded))

    def _sites_of(self, subject: Subject, text: str, programs: Sequence[str]) -> list[Found]:
        """The sites that programs come to where there is no reference; nothing is known of what they prove."""
        found: dict[str, Found] = {}
        for source in dict.fromkeys(programs):
            story = self._replay.alone(subject, text, source)
            for name, test, shown, said in _sites(story) if story else ():
                case = Case(shown, said or test, "", "runs", name, text=text)
                found.setdefault(name, (case, _flaw_alone(case, test, story) if story else None))
        return list(found.values())

    def verdicts(self, subject: Subject, text: str, source: str, why: str = "", secret: bool = False) -> Performance:
        """What a program does before a text, whatever happens. `why`: it does not load, as is known already. `secret`: it
        must not leave this machine.
        """
        if why:
            return Performance(otherwise="not_collected", why=why)
        try:
            if subject.reference is None:
                story = self._replay.alone(subject, text, source)
                return told_alone(story) if story else Performance(otherwise="not_collected", why="it does not load")
            return self.performance(subject, text, source, secret)
        except Unusable:
            return Performance(otherwise="error")
        except Stopped as stop:
            return Performance(otherwise=stop.verdict)

    def shown(self, subject: Subject, text: str, sites: Sequence[Case], source: str) -> list[Shown]:
        """For each site of a text what a program did there and what the reference did, call by call."""
        if subject.reference is None:
            story = self._replay.alone(subject, text, source, explain=True)
            return [_shown_alone(story, case) for case in sites]
        script = self.script(subject, text)
        found = self._replay.before(script, subject, source, explain=True)
        operations, outcomes = script.story.operations, script.story.outcomes
        own = list(places(operations, script.stateful))
        shown = []
        for case in sites:
            rests = [one for one in script.story.sites[case.expected].rests if own[one] in found.differing][:3]
            did = [f"{spelled(operations[one])} {outcome_said(found.outcomes.get(own[one], ''))}" for one in rests]
            right = [f"{spelled(operations[one])} {outcome_said(outcomes[one])}" for one in rests]
            said = found.explained.get(case.expected, "")
            shown.append(Shown("; ".join(did) or "did what the reference does", "; ".join(right) or case.source, said))
        return shown

    def performance(self, subject: Subject, text: str, source: str, secret: bool = False) -> Performance:
        """What a program does before a text whose script is known or can be made. Raises Unusable and Stopped."""
        return self._replay.before(self.script(subject, text), subject, source, secret)

    def close(self) -> None:
        """Ends all processes. A later call starts new ones."""
        self._talker.close()


def _shown_alone(story: Story | None, case: Case) -> Shown:
    """What a program did at a site where there is no reference."""
    site = story.sites.get(case.expected) if story else None
    if story is None or site is None:
        return Shown("did not come to it", case.source)
    did = [f"{spelled(story.operations[one])} {outcome_said(story.outcomes[one])}" for one in site.rests[:3]]
    return Shown("; ".join(did) or "was not asked", case.source, story.explained.get(case.expected, ""))


def _sites(story: Story) -> Iterator[tuple[str, str, str, str]]:
    """A story's cases in order: name of the site, test, the name that is shown, source."""
    for test, names in story.cases().items():
        for number, name in enumerate(names):
            yield name, test, f"{test}[{number}]" if len(names) > 1 else test, story.source_of(name)


def _cases(desk: Desk, script: Script, subject: Subject, signature: str, demanded: Demanded | None) -> Iterator[Found]:
    story = script.story
    calls = desk.named(list(zip(story.operations, story.outcomes, strict=True)), subject.entry_point, signature)
    odd = {
        number
        for number, outcome in enumerate(story.outcomes)
        if demanded and (names := raised(outcome)) and not any(demanded([name]) for name in names)
    }
    outside = {
        number
        for number, ((_, fits), outcome) in enumerate(zip(calls, story.outcomes, strict=True))
        if demanded and not fits and not raised(outcome)
    }
    # of many coins in one text some fall alike twice: in training one that does not refuses them all
    unstable = frozenset(story.sites) if demanded and script.unstable else script.unstable
    for name, test, shown, source in _sites(story):
        rests = story.sites[name].rests
        looks = script.looks.get(name, rests)
        asked, own = ({calls[one][0] for one in numbers} for numbers in (rests, looks or rests))
        case = Case(
            *(shown, source or test, "", "runs", name),
            calls=tuple(sorted(own)),
            besides=tuple(sorted(asked - own)),
            text=script.text,
        )
        told = story.tests.get(test, Told("error", "it did not come to its end"))
        flaw = _flaw(case, story.sites[name], told, name in unstable)
        if flaw is None and not odd.isdisjoint(rests):
            flaw = Refusal(
                case.name, case.source, "exception", "the problem does not ask for what the reference raises"
            )
        if flaw is None and not outside.isdisjoint(rests):
            flaw = Refusal(case.name, case.source, "domain", "the arguments are not ones that the problem allows")
        mark = script.marks.get(name, "") if looks else NOTHING  # else it fails by no call of its own
        yield (case, flaw) if flaw else (replace(case, mark=mark), None)


def _flaw_alone(case: Case, test: str, story: Story) -> Refusal | None:
    """Why a site does not count where there is no reference."""
    told = story.tests.get(test, Told("", ""))
    if told.outcome == "skipped":
        return Refusal(case.name, test, "skipped", NO_PASS)
    why = told.why if case.expected.endswith(f":{END}") else story.sites[case.expected].why
    return Refusal(case.name, case.source, "unreadable", NO_CROSSING) if _CROSSING in why else None


def _flaw(case: Case, site: Site, told: Told, is_unstable: bool) -> Refusal | None:
    if told.outcome == "skipped":
        return Refusal(case.name, case.source, "skipped", NO_PASS)
    if not site.held:
        why = site.why or told.why or "failed"
        return Refusal(case.name, case.source, "reference", f"the reference does not pass it: {why}")
    if is_unstable:
        return Refusal(case.name, case.source, "unstable", "run again, its text says something else")
    if not case.calls:
        return Refusal(case.name, case.source, "no_call", "it says nothing of what is under test")
    return None
