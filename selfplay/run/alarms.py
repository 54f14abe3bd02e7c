"""Alarms: what a run's records say that somebody should look at, in plain words, with what to do.

    watch = Watch(facts); watch.step(metrics)      the alarms that this step raises
    watch.raised                                   those so far, for a report

A rule is a pure function of the steps so far, the last one included; it returns what it found, or nothing. An alarm sounds when
its condition begins, and again only after it has ended in between. Thresholds are wide: none is reached in a run of
the embedded player, and a rule that compares with earlier steps needs two windows of them. Left out: stopping a run, which
the loop does itself where going on is no use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from selfplay.game.episode import ROLES, Role
from selfplay.game.phases import STAGE_IDS
from selfplay.game.stages import get_stage
from selfplay.printing import printable
from selfplay.run.figures import Metrics, is_number, of_role, trained
from selfplay.run.recorders import Recorder

WINDOW = 3  # steps that a mean is taken over, and in a row that count as lasting
GAP_WARNING, GAP_LIMIT = 0.05, 0.5  # nats; the limit is for a run that does not say what it allows
EMPTY = 0.1  # of the turns of a stage
LOOKED = 400  # characters of a description that an example is taken from
FALLEN = 0.1  # of the entropy's best
Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Alarm:
    """`name` is the rule's, `about` a role, a role and a stage, or empty; `found` is a clause, `advice` says what to do."""

    name: str
    about: str
    step: int
    found: str
    advice: str

    def __str__(self) -> str:
        return f"ALARM at step {self.step + 1}: {self.found}. {self.advice}"


@dataclass(frozen=True, slots=True)
class Rule:
    """`find` sees the steps so far (those that trained the role, if the rule is `by_role`) and says what is wrong."""

    name: str
    find: Callable[[Sequence[Metrics], Role, Facts], str]
    advice: str
    by_role: bool = True


def _uninformative(steps: Sequence[Metrics], role: Role, facts: Facts) -> str:
    last = steps[-WINDOW:]
    groups = [of_role(step, "groups", role) or 0 for step in last]
    informative = [of_role(step, "informative_groups", role) or 0 for step in last]
    if len(last) < WINDOW or not all(groups) or any(informative):
        return ""
    return f"no group of the {role}'s last {WINDOW} steps was informative, so it learnt nothing"


def _still(steps: Sequence[Metrics], role: Role, facts: Facts) -> str:
    last = steps[-2:]
    taught = [of_role(step, "informative_groups", role) and not of_role(step, "skipped", role) for step in last]
    if len(last) < 2 or not all(taught):
        return ""
    for name, why in (("grad_norm", "its gradient is 0"), ("moved", "an update leaves every weight as it was")):
        if all(of_role(step, name, role) == 0 for step in last):
            return f"the {role}'s adapter does not move: {why}, though there were informative groups"
    return ""


def _skipped(steps: Sequence[Metrics], role: Role, facts: Facts) -> str:
    return (
        f"the {role}'s update was skipped: its gradient was not finite" if of_role(steps[-1], "skipped", role) else ""
    )


def _gap(steps: Sequence[Metrics], role: Role, facts: Facts) -> str:
    gap, limit = of_role(steps[-1], "logprob_gap", role), float(facts.get("logprob_gap_limit") or GAP_LIMIT)
    if gap is None or gap <= min(limit / 2, GAP_WARNING):
        return ""
    return f"sampler and trainer differ by {gap:.2g} nats per token on the {role}'s turns; the run stops at {limit:.2g}"


def _entropy(steps: Sequence[Metrics], role: Role, facts: Facts) -> str:
    values = [of_role(step, "entropy", role) for step in steps if of_role(step, "tokens", role)]
    now, best = _windows([value for value in values if value is not None])
    if best is None or now is None or now >= FALLEN * best:
        return ""
    return f"the {role}'s entropy fell from {best:.3f} to {now:.3f} nats per token: it says nearly the same every time"


def _truncated(steps: Sequence[Metrics], role: Role, facts: Facts) -> str:
    share = steps[-1].get("truncated") or 0
    return f"{share:.0%} of the turns were cut off at the token limit" if share > 0.5 else ""


def _testless(steps: Sequence[Metrics], role: Role, facts: Facts) -> str:
    share = steps[-1].get("no_test") or 0
    return f"{share:.0%} of the discriminator's turns hold no test" if share > 0.5 else ""


def _fall(name: str, share: float, least: float, found: str) -> Callable[[Sequence[Metrics], Role, Facts], str]:
    """Finds a figure that fell below this share of its best and below `least`."""

    def find(steps: Sequence[Metrics], role: Role, facts: Facts) -> str:
        measured = [float(step[name]) for step in steps if step.get(name) is not None and step.get("written")]
        now, best = _windows(measured)
        if now is None or best is None or now >= share * best or now >= least:
            return ""
        return f"{found} fell from {best:.0%} to {now:.0%} of those written"

    return find


def _sandbox(steps: Sequence[Metrics], role: Role, facts: Facts) -> str:
    lost = [steps[-1].get(name) or 0 for name in ("masked", "refused/infra_error")]
    if not any(lost):
        return ""
    return f"the sandbox failed on {lost[0]} verdicts and {lost[1]} tests; they count for nothing"


RULES = (
    Rule(
        "no informative group",
        _uninformative,
        "All episodes of a group earn the same. Raise --num-generations or --temperature, give problems that are "
        "neither solved nor hopeless, or see what is played with `python -m selfplay.play`.",
    ),
    Rule(
        "adapter does not move",
        _still,
        "Look at --learning-rate; where the gradient is 0, at --lora-target-modules: the tokens that earned something carry "
        "none.",
    ),
    Rule(
        "update skipped",
        _skipped,
        "Once is an accident. If it comes again halve --learning-rate, or load the model in bf16 or fp32.",
    ),
    Rule(
        "log-probability gap",
        _gap,
        "Sampler and trainer do not see the same weights, or not in the same precision. See that both load the adapter; "
        "what rounding explains may be allowed with --logprob-gap-limit.",
    ),
    Rule(
        "entropy collapse",
        _entropy,
        "Halve --learning-rate, raise --temperature, set --epsilon 0.2 0.28, or hold it to the base with --beta 0.01.",
    ),
    Rule(
        "truncated turns",
        _truncated,
        "Raise --max-completion-length; thinking models need about 4096.",
        by_role=False,
    ),
    Rule(
        "turns without a test",
        _testless,
        "See what is written with `python -m selfplay.play`. Raise --max-completion-length where turns are cut off, else take "
        "a model that keeps to the form of its prompt.",
        by_role=False,
    ),
    Rule(
        "validity collapse",
        _fall("validity", 0.5, 0.25, "valid tests"),
        "Kills pay more than right tests. Raise --validity-weight, or halve the discriminator's --learning-rate.",
        by_role=False,
    ),
    Rule(
        "distinct tests collapse",
        _fall("distinct", 0.6, 0.5, "different tests within a suite"),
        "The discriminator repeats itself. Raise --temperature, or halve the discriminator's --learning-rate.",
        by_role=False,
    ),
    Rule(
        "sandbox errors",
        _sandbox,
        "See `python -m selfplay.doctor`. Locally memory or processes ran out: lower --sandbox-workers; with e2b look at "
        "its quota and --e2b-budget.",
        by_role=False,
    ),
)


@dataclass(slots=True)
class Watch:
    """Listens to a run. `facts`: what is known of it, such as `logprob_gap_limit`. With `ledger` off nobody calls `episodes`
    with anything, and empty turns are found in the metrics, without an example."""

    facts: dict[str, Any] = field(default_factory=dict)
    raised: list[Alarm] = field(default_factory=list)
    _steps: list[Metrics] = field(default_factory=list)
    _sounding: set[tuple[str, str]] = field(default_factory=set)

    def step(self, metrics: Metrics) -> list[Alarm]:
        """The alarms that begin with this step."""
        self._steps.append(metrics)
        number = int(metrics.get("step") or 0)
        found: list[Alarm] = []
        for rule in RULES:
            for role in trained(metrics) if rule.by_role else ROLES[:1]:
                own = [step for step in self._steps if role in trained(step)] if rule.by_role else self._steps
                about = role if rule.by_role else ""
                text = rule.find(own, role, self.facts)
                found += self._begins(Alarm(rule.name, about, number, text, rule.advice))
        if self.facts.get("ledger") == "off":
            found += [alarm for each in _empty_shares(metrics) for alarm in self._begins(each)]
        return found

    def episodes(self, records: Iterable[Mapping[str, Any]]) -> list[Alarm]:
        """The alarms that the matches of one step begin; `records` as the ledger writes them."""
        return [alarm for each in empty_turns(list(records)) for alarm in self._begins(each)]

    def _begins(self, alarm: Alarm) -> list[Alarm]:
        key = (alarm.name, alarm.about)
        if not alarm.found:
            self._sounding.discard(key)
            return []
        if key in self._sounding:
            return []
        self._sounding.add(key)
        self.raised.append(alarm)
        return [alarm]


class Alarms(Recorder):
    """A recorder that says alarms as they begin. `facts`: what is known of the run before it says so."""

    def __init__(self, say: Callable[[str], None], **facts: Any) -> None:
        self.watch, self._say = Watch(facts), say

    def about(self, **facts: Any) -> None:
        self.watch.facts |= facts

    def step(self, metrics: Metrics) -> None:
        self._sound(self.watch.step(metrics))

    def episodes(self, records: Sequence[Mapping[str, Any]]) -> None:
        self._sound(self.watch.episodes(records))

    def _sound(self, alarms: Sequence[Alarm]) -> None:
        for alarm in alarms:
            self._say(str(alarm))


def empty_turns(records: Sequence[Mapping[str, Any]]) -> list[Alarm]:
    """For each role and stage of a step's matches: an alarm where many turns are empty, one without text where few are."""
    turns: dict[tuple[str, int], list[tuple[bool, Mapping[str, Any]]]] = {}
    for match in records:
        for turn in match.get("turns", ()):
            turns.setdefault((turn["role"], turn["stage"]), []).append((not turn["text"].strip(), match))
    return [_of_turns(role, stage, own) for (role, stage), own in turns.items()]


def _of_turns(role: str, stage: int, turns: Sequence[tuple[bool, Mapping[str, Any]]]) -> Alarm:
    empty = [match["problem"] for is_empty, match in turns if is_empty]
    found = ""
    if len(empty) > EMPTY * len(turns):
        name, asked = (printable(" ".join(str(empty[0][key])[:LOOKED].split())[:80]) for key in ("id", "description"))
        found = f'{len(empty)} of {len(turns)} {_turns(role, stage)} are empty, for instance for {name}, "{asked}"'
    return _empty(int(turns[0][1]["step"]["index"]), role, stage, found)


def _empty_shares(metrics: Metrics) -> list[Alarm]:
    """The same by a step's metrics, which hold no example."""
    alarms = []
    for role, stage in product(ROLES, STAGE_IDS):
        share = metrics.get(f"empty/{role}/{stage}")
        if is_number(share):
            found = f"{share:.0%} of the {_turns(role, stage)} are empty; --ledger texts would keep examples"
            alarms.append(_empty(int(metrics.get("step") or 0), role, stage, found if share > EMPTY else ""))
    return alarms


def _turns(role: str, stage: int) -> str:
    return f"turns of the {role} at stage {stage} ({get_stage(stage).name})"


def _empty(step: int, role: str, stage: int, found: str) -> Alarm:
    advice = (
        "Usual causes: a temperature that is too low or too high (0.7 to 1.0 suits most models), a "
        "--max-completion-length that a thinking model uses up before it answers, or a model that follows no instructions. "
        f"The prompt is {role}/{stage}.jinja of the style that --prompts names."
    )
    return Alarm("empty turns", f"{role}, stage {stage}", step, found, advice)


def _windows(values: Sequence[float]) -> tuple[float | None, float | None]:
    """The mean of the last window, and the best mean of the windows that lie wholly before it."""
    means = [sum(values[i : i + WINDOW]) / WINDOW for i in range(len(values) - WINDOW + 1)]
    return (means[-1], max(means[:-WINDOW])) if len(means) > WINDOW else (None, None)
