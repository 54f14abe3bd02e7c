"""The commands of benchmarks/ that measure choices: among the tests of a bank, and among the programs of best of n."""

from __future__ import annotations

import pytest

from benchmarks import bank, best_of
from selfplay.box.local import LocalBox
from selfplay.cases.case import Verdict
from selfplay.evaluation.evaluator import Evaluator
from selfplay.game.problems import load_problems
from selfplay.judging.judge import Judge
from selfplay.learning.sources import source_of
from selfplay.mutation.cache import MutantCache
from tests.match.groups import group

SOURCE = source_of("embedded")


@pytest.fixture(scope="module")
def hunted() -> list[bank.Hunted]:
    config = SOURCE.config()
    return bank.hunt(SOURCE.open(config), config, 2, 3)


@pytest.mark.parametrize("rule", [name for name in bank.RULES if "cover" in name])
def test_a_rule_with_a_cover_keeps_every_kill_that_it_is_shown(hunted: list[bank.Hunted], rule: str) -> None:
    tests, kills = bank.measured(hunted, bank.RULES[rule], "shown")
    assert kills.value == 1
    assert 0 < tests.value < 1


def test_no_rule_is_shown_what_it_is_measured_on(hunted: list[bank.Hunted]) -> None:
    for each in hunted:
        assert not each.shown & each.unseen["both"]
        assert each.unseen["both"] == each.unseen["wrong programs"] | each.unseen["kept mutants"]
    assert any(each.unseen["kept mutants"] for each in hunted)


def test_unseen_kills_are_counted_by_kind() -> None:
    kills = [frozenset({0, 2}), frozenset({1}), frozenset({3})]
    one = bank.Hunted(kills, "aab", frozenset({0, 1}), {"both": frozenset({2, 3})})
    assert one.kept(bank.RULES["set cover"], "both") == (2, 1, 2)
    assert one.kept(bank.RULES["set cover"], "shown") == (2, 2, 2)


def test_each_choice_takes_the_program_that_its_tests_speak_for() -> None:
    """The last program alone is right; two others agree on a wrong test and fail the right ones."""
    wrong: tuple[Verdict, ...] = ("passed", "passed", "failed", "failed")
    right: tuple[Verdict, ...] = ("passed", "failed", "passed", "passed")
    odd: tuple[Verdict, ...] = ("failed", "passed", "passed", "passed")
    programs: dict[str, tuple[Verdict, ...]] = {"odd": odd, "a": wrong, "b": wrong, "right": right}
    match = group(programs, [{1: ["wrong", "edge", "far"]}] + [{}] * 3, refused=["wrong"])
    assert [choice(match) for choice in best_of.CHOICES.values()] == [1, 1, 1, 3]


def test_every_choice_lies_between_chance_and_the_oracle() -> None:
    entrant, problems = SOURCE.open(SOURCE.config()), load_problems("procedural/dev")[:2]
    box = LocalBox()
    try:
        evaluator = Evaluator(Judge(box), MutantCache(), problems, 3)
        every = evaluator.appearance(entrant, evaluator.opponent(entrant)).played
    finally:
        box.close()
    rows = list(best_of.table(every))
    assert len(rows) == 4 + len(best_of.CHOICES)
    oracle = sum(any(chain.correct for chain in played.sampled) for played in every) / len(every)
    assert all(best_of.closed(every, choice)[0].value <= oracle for choice in best_of.CHOICES.values())
