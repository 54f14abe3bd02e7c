"""Scoring again: figures per role and stage by hand, steps in order, and what the run itself recorded, exactly."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import asdict, replace
from math import sqrt
from typing import Any

import pytest

from selfplay.cases.case import Verdict
from selfplay.config import configure
from selfplay.errors import UnknownName
from selfplay.game.phases import Step
from selfplay.match.ledger import LedgerError, from_json, to_json
from selfplay.match.match import Match
from selfplay.match.rescore import RescoreResult, rescore, scoring
from tests.match.groups import group, trained

RIGHT: tuple[Verdict, ...] = ("passed", "passed", "passed", "failed")
HALF: tuple[Verdict, ...] = ("passed", "failed", "passed", "failed")
WRONG: tuple[Verdict, ...] = ("failed", "failed", "failed", "passed")
GENERATOR, DISCRIMINATOR = Step(0, 4, "generator", ""), Step(1, 4, "discriminator", "")


def played(step: Step, programs: Sequence[tuple[Verdict, ...]] = (RIGHT, HALF, WRONG)) -> Match:
    """Two valid tests and a refused one, which the right programs fail and the wrong one passes."""
    return group(
        {f"program {i}": row for i, row in enumerate(programs)},
        [{4: ["x"], 5: ["y"]}, {5: ["z"]}],
        refused=["z"],
        step=step,
    )


def again(
    lines: Sequence[tuple[int, Match]], rule: str | None, credit: str | None = None, **knobs: Any
) -> RescoreResult:
    config = configure(knobs)
    return rescore(lines, config, scoring(rule, credit, config))


BOTH = [
    played(GENERATOR),
    played(GENERATOR, (WRONG, RIGHT, HALF)),
    played(DISCRIMINATOR),
    played(replace(GENERATOR, index=2)),
]


@pytest.mark.parametrize("advantages", ["group_std", "group", "running", "raw"])
@pytest.mark.parametrize("rule", ["novel_kills", "progressive"])
def test_the_runs_own_rule_gives_what_was_recorded(rule: str, advantages: str) -> None:
    knobs = {"rewards": rule, "advantages": advantages}
    told = again(trained(BOTH, **knobs), None, None, **knobs)
    assert (told.steps, told.groups, told.differing) == (3, 4, 0)
    assert told.compared > 50
    for row in told.rows:
        assert row.recorded == row.again
        assert row.reward_order in (None, pytest.approx(1.0))


def test_a_changed_record_is_noticed() -> None:
    [(line, match), *others] = trained(BOTH)
    chain = replace(match.chains[0], reward=0.123)
    told = again([(line, replace(match, chains=(chain, *match.chains[1:]))), *others], "shifted")
    assert told.differing > 0


def test_figures_are_those_of_both_rules() -> None:
    """Rewards of the default rule: 1, 0.4/2 + 0.2, 0. Shifted: all four readable cases, less a half."""
    told = again(trained([played(GENERATOR)]), "shifted", "group")
    [row] = told.rows
    assert (row.role, row.stage, row.groups, row.rewards) == ("generator", 4, 1, 3)
    assert row.recorded.mean == pytest.approx((1 + 0.4 + 0) / 3)
    rewards = [0.25, 0.0, -0.25]
    assert row.again.mean == pytest.approx(0.0)
    assert row.again.spread == pytest.approx(sqrt(sum(each * each for each in rewards) / 3))
    assert row.reward_order == pytest.approx(1.0)
    assert (row.recorded.informative, row.again.informative) == (1.0, 1.0)


def test_a_discriminators_rewards_are_those_of_its_trained_turns() -> None:
    told = again(trained([played(DISCRIMINATOR)]), "progressive")
    [row] = told.rows
    assert (row.role, row.stage, row.rewards) == ("discriminator", 4, 4)  # two suites, stages 4 and 5
    assert again(trained([played(DISCRIMINATOR)], adversary="frozen"), "progressive", adversary="frozen").rows == ()


def test_groups_that_one_rule_finds_alike_are_informative_under_the_other_alone() -> None:
    right = [played(GENERATOR, (RIGHT, RIGHT, (*RIGHT[:3], "passed")))]
    [row] = again(trained(right), "shifted").rows
    assert (row.recorded.informative, row.again.informative) == (0.0, 1.0)
    assert row.reward_order is None  # all alike on one side


def test_running_means_of_the_other_rule_are_replayed_from_the_first_step() -> None:
    """Equal rewards at a higher level than the first step's: the first step teaches nothing, and the third less than the
    second, since the mean has followed."""
    levels = [WRONG, RIGHT, RIGHT]
    lines = trained([played(replace(GENERATOR, index=i), (row,) * 3) for i, row in enumerate(levels)], advantages="raw")
    [row] = again(lines, None, "running", advantages="raw").rows
    assert row.again.informative == pytest.approx(2 / 3)
    assert row.reward_order == pytest.approx(1.0)
    assert 0 < (row.advantage_order or 0) < 1  # steps 2 and 3 are alike under raw


def test_the_episodes_shown_are_those_that_stand_most_differently() -> None:
    """The refused case turns the order around: what the default rule pays least passes most readable tests here."""
    turned: tuple[Verdict, ...] = ("failed", "failed", "passed", "passed")
    told = again(trained([played(GENERATOR, (RIGHT, turned, turned))]), "shifted")
    assert {each.number for each in told.disagreements} == {0, 1, 2}
    distances = [each.distance for each in told.disagreements]
    assert distances == sorted(distances, reverse=True)
    assert all(each.text[0].startswith("passes ") for each in told.disagreements)
    assert rescore(trained(BOTH), configure(), scoring("shifted", None, configure()), shown=0).disagreements == ()


def test_an_episode_that_infrastructure_took_is_in_no_figure() -> None:
    lost: tuple[Verdict, ...] = ("infra_error",) * 4
    [row] = again(trained([played(GENERATOR, (RIGHT, HALF, lost))]), "shifted").rows
    assert row.rewards == 3
    assert row.again.mean == pytest.approx((0.25 + 0.0) / 2)


def test_an_episode_that_one_rule_cannot_pay_is_shown_without_that_reward() -> None:
    """The default rule needs the exam, of which infrastructure took all; shifted has the problem's own test."""
    half: tuple[Verdict, ...] = ("passed", "infra_error", "infra_error", "infra_error")
    told = again(trained([played(GENERATOR, (RIGHT, WRONG, half))]), "shifted")
    assert {each.number: each.rewards[0] for each in told.disagreements}[2] is None


def test_a_match_that_was_never_paid_is_refused() -> None:
    with pytest.raises(LedgerError, match="line 1: its suites have no rewards"):
        again([(1, played(GENERATOR))], "shifted")


def test_numbers_too_large_for_figures_give_none(recwarn: pytest.WarningsRecorder) -> None:
    [(line, match)] = trained([played(GENERATOR)])
    huge = replace(match, chains=tuple(replace(chain, reward=1e300 * i) for i, chain in enumerate(match.chains)))
    [row] = again([(line, huge)], "shifted").rows
    assert row.recorded.spread is None
    assert not recwarn.list


def test_a_last_step_that_lacks_groups_is_left_out_and_named() -> None:
    lines, config = trained(BOTH), configure()
    told = rescore(lines, config, scoring("shifted", None, config), {0: 2, 1: 1, 2: 32})
    assert (told.steps, told.incomplete) == (2, 2)


def test_an_earlier_step_that_lacks_groups_is_refused() -> None:
    lines, config = trained(BOTH), configure()
    with pytest.raises(LedgerError, match=r"step 0 has other groups than metrics\.jsonl says"):
        rescore(lines, config, scoring("shifted", None, config), {0: 3})


def test_steps_out_of_order_are_refused() -> None:
    lines, config = trained(BOTH), configure()
    with pytest.raises(LedgerError, match="step 0 comes after step 2"):
        rescore([*lines, lines[0]], config, scoring("shifted", None, config))


def test_an_unknown_rule_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'shifted'"):
        scoring("shifty", None, configure())
    with pytest.raises(UnknownName, match="unknown advantage 'grup'"):
        scoring(None, "grup", configure())


VALUES = (None, True, -1, 0, 1, 7, 2.5, 1e300, "", "failed", "generator", [], [0], {}, [[]], [None])


def spoilt(value: Any, rng: random.Random) -> Any:
    """A copy with something in it replaced, removed or repeated."""
    if isinstance(value, dict) and value and rng.random() < 0.95:
        name = rng.choice(list(value))
        return {key: spoilt(each, rng) if key == name else each for key, each in value.items()}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = rng.randrange(len(value))
        turn = rng.random()
        middle = [] if turn < 0.1 else [value[at]] * 2 if turn < 0.2 else [spoilt(value[at], rng)]
        return [*value[:at], *middle, *value[at + 1 :]]
    return rng.choice(VALUES)


@pytest.mark.filterwarnings("error")
def test_whatever_stands_in_a_ledger_it_is_scored_or_refused_in_words() -> None:
    rng, config = random.Random(0), configure({"advantages": "running"})
    records = [to_json(match) for _, match in trained(BOTH, advantages="running")]
    refused: list[str] = []
    for _ in range(500):
        changed = [spoilt(records[0], rng), *records[1:]]
        try:
            lines = [(line, from_json(record)) for line, record in enumerate(changed, 1) if isinstance(record, dict)]
            told = rescore(lines, config, scoring("shifted", "group_std", config))
            json.dumps(asdict(told), allow_nan=False)
        except LedgerError as error:
            refused.append(str(error))
    assert all(map(str.isprintable, refused))
    assert 100 < len(refused) < 500
