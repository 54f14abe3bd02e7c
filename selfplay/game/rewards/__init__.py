"""Reward rules by name: what an outcome pays each player. Pure functions; the formulas stand in a file per rule.

To add a rule, write its file and one line in RULES. To change a parameter, make a rule of your own:

    rule = get_rule("adversarial").weighing(validity_weight=0.3)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from selfplay.errors import UnknownName
from selfplay.game.rewards import adversarial, deepcoder, fractional, progressive, shifted
from selfplay.game.rewards.outcomes import CaseOutcome, ProgramOutcome, SuiteOutcome, TurnOutcome

__all__ = ["RULES", "CaseOutcome", "ProgramOutcome", "RewardRule", "SuiteOutcome", "TurnOutcome", "get_rule"]

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
        """The rule with this weight of validity, where it has one: rules that pay each turn do."""
        if not self.per_turn:
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
    """The rule of this name; UnknownName, with the nearest one, otherwise."""
    if name not in RULES:
        raise UnknownName("reward rule", name, RULES)
    return RULES[name]
