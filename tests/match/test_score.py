"""From verdicts to rewards: who is a target, what counts as a kill, and what the walk-through pays when really judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from selfplay.box.local import LocalBox
from selfplay.cases.case import Case, Refusal, Verdict
from selfplay.game.episode import Conversation
from selfplay.game.extract import Code
from selfplay.game.phases import Step
from selfplay.game.players import Sampling, ScriptedPlayer
from selfplay.game.problems import Problem
from selfplay.game.prompts import Prompts
from selfplay.game.rewards import get_rule
from selfplay.game.rollout import Table, play
from selfplay.judging.judge import Judge
from selfplay.judging.turns import WrittenTurn
from selfplay.match.examine import examine
from selfplay.match.record import Chain, Match, Suite, Target
from selfplay.match.score import score, suite_outcomes

PROBLEM = Problem("p", "", "f", "def f(n: int) -> int:", ())
BASE, EDGE, WRONG = (Case(name, name, name, "==", name) for name in ("base", "edge", "wrong"))


REFUSED = Refusal("wrong", "wrong", "reference")


def group(verdicts: Mapping[str, tuple[Verdict, Verdict, Verdict]], mutants: tuple[Verdict, ...] = ()) -> Match:
    """Programs by source with their verdicts on BASE, EDGE, WRONG; one suite of EDGE (valid) and WRONG (not)."""
    turn = WrittenTurn(1, (EDGE, WRONG), (None, REFUSED))
    return Match(
        PROBLEM,
        Step(0, 1, "both", ""),
        2,
        tuple(Chain(Conversation("generator"), Code(source, "bare")) for source in verdicts),
        (Suite(Conversation("discriminator"), 0, (turn,)),),
        (BASE, EDGE, WRONG),
        1,
        tuple(verdicts.values()),
        tuple(Target("paid", str(number), ("passed", verdict, None)) for number, verdict in enumerate(mutants)),
    )


RIGHT: tuple[Verdict, Verdict, Verdict] = ("passed", "passed", "failed")
MISSED: tuple[Verdict, Verdict, Verdict] = ("passed", "failed", "passed")


def generator(match: Match) -> tuple[float | None, ...]:
    return tuple(chain.reward for chain in match.chains)


def test_a_program_that_fails_only_an_invalid_case_is_no_target() -> None:
    assert list(group({"right": RIGHT}).wrong()) == []


def test_equal_wrong_programs_are_one_target_and_mutants_are_added() -> None:
    assert len(list(group({"right": RIGHT, "wrong": MISSED}, mutants=("failed", "passed")).wrong())) == 3


def test_a_program_that_does_not_load_is_no_target() -> None:
    assert list(group({"broken": ("not_collected", "not_collected", "not_collected")}).wrong()) == []


def test_infrastructure_is_neither_a_kill_nor_a_pass() -> None:
    [suite] = suite_outcomes(group({"wrong": MISSED}, mutants=("infra_error",)))
    assert suite.turns[0].cases[0].killed == (True, False)
    (scored,) = score([group({"lost": ("passed", "infra_error", "passed")})], get_rule("adversarial"))
    assert generator(scored) == (None,)


def test_the_exam_holds_valid_cases_only() -> None:
    (scored,) = score([group({"right": RIGHT, "wrong": MISSED})], get_rule("adversarial"))
    assert generator(scored) == pytest.approx((1.0, 0.2))


def test_a_rule_for_whole_suites_pays_every_turn_alike() -> None:
    (scored,) = score([group({"right": RIGHT})], get_rule("progressive"))
    assert scored.suites[0].rewards == (pytest.approx(0.25),)


def test_scoring_under_one_rule_leaves_nothing_for_the_next() -> None:
    match = group({"right": RIGHT, "wrong": MISSED})
    twice = score(score([match], get_rule("progressive")), get_rule("adversarial"))
    assert twice == score([match], get_rule("adversarial"))


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    box = LocalBox()
    yield Judge(box)
    box.close()


@pytest.mark.parametrize(
    ("rule", "generator", "discriminator"),
    [
        ("progressive", 0.9, 0.1 * 0.9),
        ("shifted", 0.5 * 22 / 24, 0.4 * 0.9 - 0.6 * 0.1),
        ("deepcoder", 1.0, 0.0),
        ("adversarial", 1.0, None),
    ],
)
def test_the_walk_through_pays_when_it_is_really_judged(
    judge: Judge, walk_through, rule: str, generator: float, discriminator: float | None
) -> None:
    long = Sampling(max_tokens=4000)
    step, table = Step(0, 1, "both", ""), Table(1, 1, 0, long, long)
    groups = play(ScriptedPlayer(walk_through.script), Prompts("instruct"), [walk_through.problem], step, table)
    (scored,) = score(examine(groups, step, judge, 2), get_rule(rule))
    if rule == "shifted":
        baseline = len(walk_through.problem.baseline_tests)
        generator = (baseline + 9) / (baseline + 10) - 0.5
    assert scored.chains[0].reward == pytest.approx(generator)
    if discriminator is None:  # two new valid cases a turn, one at stage 4, and nothing wrong to kill
        assert scored.suites[0].rewards == pytest.approx((0.6, 0.6, 0.6, 0.3, 0.6))
    else:
        assert scored.suites[0].rewards == (pytest.approx(discriminator),) * 5
