"""From verdicts to rewards: who is a target, what counts as a kill, and what the walk-through pays when really judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.box.local import LocalBox
from selfplay.cases.case import Case, Refusal, Verdict
from selfplay.game.episode import Conversation
from selfplay.game.extract import Code
from selfplay.game.phases import Step
from selfplay.game.players import Sampling
from selfplay.game.problems import Problem
from selfplay.game.prompts import Prompts
from selfplay.game.rewards import RULES, get_rule
from selfplay.game.rollout import Table, play
from selfplay.judging.judge import Judge
from selfplay.judging.turns import WrittenTurn
from selfplay.match.examine import examine
from selfplay.match.match import Chain, Match, Row, Suite, Target
from selfplay.match.score import program_outcome, score, suite_outcomes
from tests.match.matches import JUDGED, matches
from tests.scripted import ScriptedPlayer

PROBLEM = Problem("p", "", "f", "def f(n: int) -> int:", (), "def f(n): return n")
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


@pytest.mark.parametrize("name", RULES)
def test_without_a_reference_no_suite_is_paid_and_no_program_for_its_tests(name: str) -> None:
    judged = group({"a": RIGHT, "b": MISSED})
    (match,) = score([replace(judged, problem=replace(PROBLEM, reference_solution=None))], get_rule(name))
    assert [suite.rewards for suite in match.suites] == [(None,)]
    assert len(set(generator(match))) == 1


def test_a_program_that_fails_only_an_invalid_case_is_no_target() -> None:
    assert list(group({"right": RIGHT}).wrong_rows()) == []


def test_equal_wrong_programs_are_one_target_and_mutants_are_added() -> None:
    assert len(list(group({"right": RIGHT, "wrong": MISSED}, mutants=("failed", "passed")).wrong_rows())) == 3


def test_a_program_that_does_not_load_is_no_target() -> None:
    assert list(group({"broken": ("not_collected", "not_collected", "not_collected")}).wrong_rows()) == []


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


def paid(match: Match, name: str) -> Match:
    (scored,) = score([match], get_rule(name))
    return scored


NAMES = st.sampled_from(sorted(RULES))


@given(matches(), NAMES)
def test_every_turn_of_a_suite_has_a_reward_and_nothing_else_changes(match: Match, name: str) -> None:
    scored = paid(match, name)
    assert [len(suite.rewards) for suite in scored.suites] == [len(suite.turns) for suite in match.suites]
    chains = tuple(replace(chain, reward=None) for chain in scored.chains)
    assert replace(scored, chains=chains, suites=tuple(replace(s, rewards=()) for s in scored.suites)) == match


@given(matches(), NAMES)
def test_rewards_do_not_depend_on_the_order_of_suites(match: Match, name: str) -> None:
    straight, turned = paid(match, name), paid(replace(match, suites=match.suites[::-1]), name)
    assert generator(turned) == generator(straight)
    assert [suite.rewards for suite in turned.suites[::-1]] == [suite.rewards for suite in straight.suites]


@given(matches(), NAMES)
def test_rewards_do_not_depend_on_the_order_of_chains(match: Match, name: str) -> None:
    last = len(match.chains) - 1
    other = replace(
        match,
        chains=match.chains[::-1],
        programs=match.programs[::-1],
        suites=tuple(replace(suite, reads=last - suite.reads) for suite in match.suites),
    )
    straight, turned = paid(match, name), paid(other, name)
    assert generator(turned)[::-1] == generator(straight)
    if len({chain.code.source for chain in match.chains}) == len(
        match.chains
    ):  # equal sources are one target: the first
        assert [suite.rewards for suite in turned.suites] == [pytest.approx(suite.rewards) for suite in straight.suites]


@given(matches(), NAMES)
def test_programs_that_did_the_same_earn_the_same(match: Match, name: str) -> None:
    copied = replace(match, chains=(*match.chains, match.chains[0]), programs=(*match.programs, match.programs[0]))
    first, *_, copy = generator(paid(copied, name))
    assert copy == first


@given(matches(JUDGED), st.sampled_from(["adversarial", "novel_kills", "fractional", "deepcoder"]), st.data())
def test_what_programs_do_on_refused_cases_changes_no_reward(match: Match, name: str, data: st.DataObject) -> None:
    counting = len({*match.baseline, *match.admitted})

    def other(row: Row) -> Row:
        return (*row[:counting], *(data.draw(st.sampled_from(JUDGED)) for _ in row[counting:]))

    changed = paid(replace(match, programs=tuple(map(other, match.programs))), name)
    assert generator(changed) == generator(paid(match, name))
    assert [suite.rewards for suite in changed.suites] == [suite.rewards for suite in paid(match, name).suites]


@given(matches(JUDGED), st.sampled_from(["adversarial", "novel_kills", "deepcoder"]))
def test_no_wrong_program_is_credited_as_a_right_one(match: Match, name: str) -> None:
    counting = (*match.baseline, *match.admitted)
    for chain, row in zip(paid(match, name).chains, match.programs, strict=True):
        right = bool(counting) and chain.code.source is not None and set(match.verdicts_on(row, counting)) == {"passed"}
        assert chain.reward is not None
        assert (chain.reward == pytest.approx(1)) == right


@given(matches(JUDGED), NAMES)
def test_a_suite_without_a_case_that_counts_earns_no_more_than_silence_under_ours(match: Match, name: str) -> None:
    for suite, before in zip(paid(match, name).suites, match.suites, strict=True):
        if get_rule(name).per_turn and not before.admitted:
            assert set(suite.rewards) == {0}


@given(matches(), NAMES)
def test_one_more_target_that_nobody_kills_never_raises_a_reward(match: Match, name: str) -> None:
    alive: Row = ("passed",) * len({*match.baseline, *match.admitted})
    rest: Row = (None,) * (len(match.cases) - len(alive))
    more = paid(replace(match, targets=(*match.targets, Target("paid", "alive", alive + rest))), name)
    for one, other in zip(paid(match, name).suites, more.suites, strict=True):
        for before, after in zip(one.rewards, other.rewards, strict=True):
            assert (before is None and after is None) or (after or 0) <= (before or 0) + 1e-9


@given(matches())
def test_outcomes_hold_each_case_as_often_as_it_was_written(match: Match) -> None:
    for outcome, suite in zip(suite_outcomes(match), match.suites, strict=True):
        assert [len(turn.cases) for turn in outcome.turns] == [len(turn.cases) for turn in suite.turns]
        assert outcome.written == suite.written
        fresh = [case.fresh for case in outcome.cases]
        assert sum(fresh) == len({case.identity for case in suite.cases})
        assert all(case.fresh for case in outcome.cases if case.valid)
        assert all(1 <= case.shared <= len(match.suites) for case in outcome.cases)


def test_a_suite_that_reads_a_chain_from_outside_catches_nobody() -> None:
    match = group({"wrong": MISSED})
    outside = replace(match, suites=tuple(replace(suite, reads=-1) for suite in match.suites))
    assert [case.program_failed for case in suite_outcomes(match)[0].cases] == [True, False]
    assert [case.program_failed for case in suite_outcomes(outside)[0].cases] == [None, None]
    assert suite_outcomes(outside)[0].program == ()


def test_kills_of_the_baseline_are_those_of_the_problems_own_cases_alone() -> None:
    hopeless: tuple[Verdict, Verdict, Verdict] = ("error", "passed", "passed")
    [suite] = suite_outcomes(group({"missed": MISSED, "hopeless": hopeless}))
    assert suite.turns[0].cases[0].killed == (True, False)
    assert suite.turns[0].cases[0].killed_by_baseline == (False, True)


def test_a_program_that_nothing_was_run_on_counts_as_loaded() -> None:
    match = replace(group({"silent": RIGHT}), programs=((None, None, None),))
    assert program_outcome(match, 0).collected
    assert program_outcome(match, 0).baseline == ()


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
