"""Reward rules by name: what an outcome pays each player. Pure functions; the formulas stand in a file per rule.

To add a rule, write its file and one line in RULES; one in a module of yours is named `module:name`. To change a parameter,
make a rule of your own:

    rule = get_rule("adversarial").weighing(validity_weight=0.3)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature

from selfplay import plugins
from selfplay.errors import BadInput, UnknownName
from selfplay.game.rewards import adversarial, deepcoder, fractional, progressive, shifted
from selfplay.game.rewards.outcomes import CaseOutcome, ProgramOutcome, SuiteOutcome, TurnOutcome, lost, share_passed

__all__ = ["RULES", "CaseOutcome", "ProgramOutcome", "RewardRule", "SuiteOutcome", "TurnOutcome"]
__all__ += ["get_rule", "lost", "share_passed"]

GeneratorRule = Callable[[ProgramOutcome], float | None]
# Called with a SuiteOutcome; keyword parameters, such as validity_weight, are a rule's own.
DiscriminatorRule = Callable[..., tuple[float | None, ...]]


@dataclass(frozen=True, slots=True)
class RewardRule:
    """Both players' rewards. None: infrastructure took the verdicts, and the episode leaves its group.

    `discriminator` returns one reward per turn of the suite where `per_turn`, else exactly one, for the whole episode.
    """

    name: str
    generator: GeneratorRule
    discriminator: DiscriminatorRule
    per_turn: bool
    description: str

    def weighing(self, validity_weight: float) -> RewardRule:
        """The rule with this weight of validity, where its discriminator takes one."""
        if "validity_weight" not in signature(self.discriminator).parameters:
            return self
        return replace(self, discriminator=partial(self.discriminator, validity_weight=validity_weight))


def _episode(rule: Callable[[SuiteOutcome], float | None]) -> DiscriminatorRule:
    """A rule for whole suites in the common shape."""
    return lambda suite: (rule(suite),)


_RULES = (
    RewardRule(
        "adversarial",
        adversarial.generator,
        adversarial.discriminator,
        True,
        "ours: pooled exam and baseline; per turn, valid new cases and the wrong programs they kill, sameness priced",
    ),
    RewardRule(
        "novel_kills",
        adversarial.generator,
        adversarial.novel_discriminator,
        True,
        "adversarial, where a kill that the baseline tests make already counts nothing",
    ),
    RewardRule(
        "progressive",
        progressive.generator,
        _episode(progressive.discriminator),
        False,
        "the prototype's: passed / total; (1 - pass rate) x validity",
    ),
    RewardRule(
        "shifted",
        shifted.generator,
        _episode(shifted.discriminator),
        False,
        "the prototype's second: pass rate - 0.5; 0.4 valid - 0.6 invalid + 0.6 bug catch",
    ),
    RewardRule(
        "fractional",
        fractional.generator,
        _episode(fractional.discriminator),
        False,
        "passed / total over right tests; share of the written cases that catch a bug",
    ),
    RewardRule(
        "deepcoder",
        deepcoder.generator,
        _episode(deepcoder.discriminator),
        False,
        "1 if every test passes, else 0; 1 if some valid case fails the program, else 0",
    ),
)
RULES: dict[str, RewardRule] = {rule.name: rule for rule in _RULES}


def get_rule(name: str) -> RewardRule:
    """The rule of this name, or that of a reference `module:name`.

    Raises UnknownName, with the nearest one, and BadInput where a reference stands for no rule.
    """
    if plugins.is_reference(name):
        rule = plugins.load(name)
        if not isinstance(rule, RewardRule):
            raise BadInput(
                f"{name} is no reward rule but {plugins.name_of(rule)}; write RewardRule(name, generator, discriminator, "
                "per_turn, description)"
            )
        return rule
    if name not in RULES:
        raise UnknownName("reward rule", name, RULES)
    return RULES[name]
