"""Reward rules by name: what an outcome pays each player. Pure functions; the formulas stand in a file per rule.

To add a rule, write its file and one line in RULES; one in a module of yours is named `module:name`. To change a parameter,
make a rule of your own:

    rule = get_rule("adversarial").with_validity_weight(validity_weight=0.3)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from math import isfinite
from typing import Any

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

    def program_reward(self, program: ProgramOutcome) -> float | None:
        """What a program earns. Raises BadInput where the rule returns no number."""
        return self._number(self.generator(program))

    def turn_rewards(self, suite: SuiteOutcome) -> tuple[float | None, ...]:
        """What each turn of a suite earns: its own, or the whole suite's. Raises BadInput where the rule returns neither."""
        paid, turns = self.discriminator(suite), len(suite.turns)
        due = turns if self.per_turn else 1
        if not isinstance(paid, tuple) or len(paid) != due:
            raise BadInput(
                f"the reward rule {self.name!r} paid {paid!r} for a suite of {turns} turns, not a tuple of {due}; return one "
                "reward for each turn where per_turn is True, and one in all where it is False"
            )
        rewards = tuple(map(self._number, paid))
        return rewards if self.per_turn else rewards * turns

    def _number(self, reward: float | None) -> float | None:
        if reward is None or (isinstance(reward, int | float) and isfinite(reward)):
            return reward
        raise BadInput(
            f"the reward rule {self.name!r} paid {reward!r}; return a finite number, or None where the sandbox failed"
        )

    def with_validity_weight(self, validity_weight: float) -> RewardRule:
        """The rule with this weight of validity, where its discriminator takes one."""
        if "validity_weight" not in signature(self.discriminator).parameters:
            return self
        return replace(self, discriminator=partial(self.discriminator, validity_weight=validity_weight))


def _episode(name: str, module: Any, description: str) -> RewardRule:
    """The rule of a module whose discriminator pays whole suites."""
    return RewardRule(name, module.generator, lambda suite: (module.discriminator(suite),), False, description)


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
    _episode("progressive", progressive, "the prototype's: passed / total; (1 - pass rate) x validity"),
    _episode("shifted", shifted, "the prototype's second: pass rate - 0.5; 0.4 valid - 0.6 invalid + 0.6 bug catch"),
    _episode("fractional", fractional, "passed / total over right tests; share of the written cases that catch a bug"),
    _episode("deepcoder", deepcoder, "1 if every test passes, else 0; 1 if some valid case fails the program, else 0"),
)
RULES: dict[str, RewardRule] = {rule.name: rule for rule in _RULES}


def get_rule(name: str) -> RewardRule:
    """The rule of this name, or that of a reference `module:name`.

    Raises UnknownName, with the nearest one, and BadInput where a reference stands for no rule, or for one that pays otherwise
    than it says.
    """
    if plugins.is_reference(name):
        rule = plugins.load(name)
        if not isinstance(rule, RewardRule):
            raise BadInput(
                f"{name} is no reward rule but {plugins.name_of(rule)}; write RewardRule(name, generator, discriminator, "
                "per_turn, description)"
            )
        # So that a rule of another shape is refused before anything is trained.
        rule.program_reward(ProgramOutcome(True, True, ("passed",), ("failed",), ("failed",)))
        rule.turn_rewards(SuiteOutcome(tuple(TurnOutcome(stage, (CaseOutcome(True),), 0, 2) for stage in (1, 2))))
        return rule
    if name not in RULES:
        raise UnknownName("reward rule", name, RULES, ", or name a rule of yours, module:name")
    return RULES[name]
