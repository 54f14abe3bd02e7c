"""Each formula with its worked examples."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.config import Config
from selfplay.errors import UnknownName
from selfplay.game.rewards import (
    RULES,
    CaseOutcome,
    ProgramOutcome,
    RewardRule,
    SuiteOutcome,
    TurnOutcome,
    adversarial,
    get_rule,
)
from selfplay.game.rewards.outcomes import Verdict

Verdicts = tuple[Verdict, ...]


def verdicts(passed: int, total: int, masked: int = 0) -> Verdicts:
    counts: list[tuple[Verdict, int]] = [("passed", passed), ("failed", total - passed), ("infra_error", masked)]
    return tuple(verdict for verdict, count in counts for _ in range(count))


def program(baseline: Verdicts = (), exam: Verdicts = (), well_formed: Verdicts = ()) -> ProgramOutcome:
    return ProgramOutcome(True, True, baseline, exam, well_formed)


def suite(
    valid: int, invalid: int = 0, caught: int = 0, passed: int | None = None, unreadable: int = 0
) -> SuiteOutcome:
    """`caught` of the valid cases fail the program; `passed` of all cases pass it, by default all the others."""
    cases = [CaseOutcome(True, program_failed=n < caught) for n in range(valid)]
    cases += [CaseOutcome(False, program_failed=False)] * invalid
    passed = valid + invalid - caught if passed is None else passed
    turn = TurnOutcome(1, tuple(cases), unreadable, asked=2)
    return SuiteOutcome((turn,), verdicts(passed, valid + invalid))


def pays(name: str, outcome: ProgramOutcome) -> float | None:
    return get_rule(name).generator(outcome)


def pays_suite(name: str, outcome: SuiteOutcome) -> float | None:
    (reward,) = get_rule(name).discriminator(outcome)
    return reward


def pays_turn(*cases: CaseOutcome, unreadable: int = 0, asked: int = 2, name: str = "adversarial") -> float | None:
    return pays_suite(name, SuiteOutcome((TurnOutcome(1, cases, unreadable, asked),)))


# progressive


@pytest.mark.parametrize(("passed", "reward"), [(8, 0.80), (10, 1.00), (0, 0.00)])
def test_progressive_pays_the_generator_its_pass_rate(passed: int, reward: float):
    assert pays("progressive", program(well_formed=verdicts(passed, 10))) == pytest.approx(reward)


def test_progressive_pays_a_program_that_does_not_load_nothing():
    assert pays("progressive", ProgramOutcome(False, True, well_formed=("not_collected",) * 3)) == 0
    assert pays("progressive", ProgramOutcome(False, True)) == 0


def test_progressive_pays_a_program_that_times_out_as_a_whole_nothing():
    assert pays("progressive", program(well_formed=("timeout",) * 3)) == 0


def test_progressive_pays_half_without_cases():
    assert pays("progressive", program()) == 0.5


@pytest.mark.parametrize(("valid", "invalid", "reward"), [(10, 0, 0.20), (6, 4, 0.12)])
def test_progressive_pays_the_discriminator_failures_times_validity(valid: int, invalid: int, reward: float):
    assert pays_suite("progressive", suite(valid, invalid, passed=8)) == pytest.approx(reward)


def test_progressive_pays_a_suite_nothing_where_the_program_that_it_read_never_ran():
    turn = TurnOutcome(1, (CaseOutcome(True),), 0, 2)
    assert pays_suite("progressive", SuiteOutcome((turn,))) == 0


def test_progressive_pays_a_suite_without_cases_nothing():
    assert pays_suite("progressive", suite(0)) == 0


@pytest.mark.parametrize(("wrong", "reward"), [(0, 0.0), (5, 0.25), (10, 0.0)])
def test_progressive_has_a_hole_wrong_cases_are_paid_against_a_perfect_program(wrong: int, reward: float):
    assert pays_suite("progressive", suite(10 - wrong, wrong, passed=10 - wrong)) == pytest.approx(reward)


# shifted


def test_shifted_counts_baseline_and_the_discriminators_cases_together():
    assert pays("shifted", program(baseline=verdicts(2, 4), well_formed=verdicts(1, 2))) == 0


def test_shifted_pays_a_perfect_program_a_half_and_one_that_does_not_load_minus_a_half():
    assert pays("shifted", program(baseline=verdicts(2, 2))) == 0.5
    assert pays("shifted", ProgramOutcome(False, True, baseline=("not_collected",))) == -0.5
    assert pays("shifted", ProgramOutcome(False, False)) == -0.5


def test_shifted_pays_nothing_either_way_without_cases():
    assert pays("shifted", program()) == 0


def test_shifted_pays_no_verdict_of_a_program_that_does_not_load():
    assert pays("shifted", ProgramOutcome(False, True, baseline=verdicts(2, 2))) == -0.5


@given(st.integers(0, 6), st.integers(0, 6), st.integers(0, 6), st.integers(0, 6))
def test_shifted_pays_suites_between_all_invalid_and_every_case_a_bug(valid: int, invalid: int, caught: int, bad: int):
    reward = pays_suite("shifted", suite(valid, invalid, caught=min(caught, valid), unreadable=bad))
    assert reward is not None
    assert -0.6 <= reward <= 1 + 1e-9


@pytest.mark.parametrize(
    ("outcome", "reward"),
    [
        (suite(10), 0.4),
        (suite(10, caught=10), 1.0),
        (suite(0, 10), -0.6),
        (suite(6, 4, caught=2), 0.4 * 0.6 - 0.6 * 0.4 + 0.6 * 0.2),
        (suite(0), -0.6),
        (suite(0, unreadable=3), -0.6),
        (suite(1, unreadable=1), 0.4 * 0.5 - 0.6 * 0.5),
    ],
)
def test_shifted_weighs_valid_invalid_and_caught(outcome: SuiteOutcome, reward: float):
    assert pays_suite("shifted", outcome) == pytest.approx(reward)


# fractional and deepcoder


def test_fractional_counts_right_tests_only():
    outcome = program(baseline=verdicts(1, 2), exam=verdicts(2, 2), well_formed=verdicts(2, 8))
    assert pays("fractional", outcome) == 0.75


def test_fractional_pays_the_share_of_written_cases_that_catch_a_bug():
    assert pays_suite("fractional", suite(3, 1, caught=1, unreadable=1)) == 0.2


def test_fractional_pays_nothing_without_tests():
    assert pays("fractional", program()) == 0


def test_fractional_pays_a_suite_that_wrote_nothing_nothing():
    assert pays_suite("fractional", SuiteOutcome(())) == 0


@pytest.mark.parametrize(("passed", "reward"), [(4, 1.0), (3, 0.0), (0, 0.0)])
def test_deepcoder_is_all_or_nothing(passed: int, reward: float):
    assert pays("deepcoder", program(exam=verdicts(passed, 4))) == reward


def test_deepcoder_pays_nothing_without_code_or_without_tests():
    assert pays("deepcoder", ProgramOutcome(False, False)) == 0
    assert pays("deepcoder", program()) == 0


@pytest.mark.parametrize(("caught", "reward"), [(0, 0.0), (1, 1.0), (3, 1.0)])
def test_deepcoder_pays_a_suite_that_catches_the_program(caught: int, reward: float):
    assert pays_suite("deepcoder", suite(3, caught=caught)) == reward


# adversarial


def test_adversarial_pays_a_perfect_program_one():
    assert pays("adversarial", program(verdicts(2, 2), verdicts(5, 5))) == pytest.approx(1.0)


def test_adversarial_weighs_exam_everything_and_baseline():
    assert pays("adversarial", program(verdicts(1, 2), verdicts(3, 4))) == pytest.approx(0.4 * 0.75 + 0.2 * 0.5)


def test_adversarial_wants_exam_and_baseline_for_the_bonus():
    assert pays("adversarial", program(verdicts(1, 2), verdicts(4, 4))) == pytest.approx(0.4 + 0.2 * 0.5)


def test_adversarial_counts_the_baseline_for_an_empty_exam():
    assert pays("adversarial", program(verdicts(1, 2))) == pytest.approx(0.4 * 0.5 + 0.2 * 0.5)
    assert pays("adversarial", program(verdicts(2, 2))) == pytest.approx(1.0)


def test_adversarial_counts_the_exam_for_an_empty_baseline():
    assert pays("adversarial", program(exam=verdicts(1, 2))) == pytest.approx(0.4 * 0.5 + 0.2 * 0.5)


def test_adversarial_pays_nothing_without_code_or_any_test():
    assert pays("adversarial", ProgramOutcome(False, False, baseline=verdicts(0, 2))) == 0
    assert pays("adversarial", program()) == 0


@pytest.mark.parametrize(("baseline", "exam"), [("infra_error", "passed"), ("passed", "infra_error")])
def test_adversarial_pays_nobody_for_half_of_what_was_asked(baseline: Verdict, exam: Verdict):
    assert pays("adversarial", program((baseline,), (exam,))) is None


def test_a_valid_case_earns_its_weight_and_its_kills():
    case = CaseOutcome(True, killed=(True, False, True, False))
    assert pays_turn(case, asked=1) == pytest.approx(0.6 + 0.5)


def test_an_invalid_or_repeated_case_earns_nothing():
    assert pays_turn(CaseOutcome(False, killed=(True,)), CaseOutcome(True, fresh=False, killed=(True,))) == 0


def test_a_case_that_several_suites_hold_is_worth_less():
    assert pays_turn(CaseOutcome(True, shared=4), asked=1) == pytest.approx(0.6 / sqrt(4))


def test_one_safe_case_does_not_beat_two():
    safe = CaseOutcome(True, killed=(True,))
    assert pays_turn(safe) == pytest.approx(0.8)
    assert pays_turn(safe, safe) == pytest.approx(1.6)


def test_no_more_cases_are_paid_than_were_asked_for():
    safe = CaseOutcome(True)
    assert pays_turn(*[safe] * 4) == pytest.approx(2 * 0.6 / 4)


def test_cases_are_paid_in_the_order_written():
    invalid, valid = CaseOutcome(False), CaseOutcome(True)
    assert pays_turn(invalid, invalid, valid) == 0


def test_unreadable_tests_enlarge_the_denominator():
    assert pays_turn(CaseOutcome(True), unreadable=2) == pytest.approx(0.6 / 3)


def test_an_empty_turn_earns_nothing():
    assert pays_turn() == 0
    assert pays_turn(asked=0) == 0


def test_each_turn_is_paid_for_its_own_cases():
    outcome = SuiteOutcome((TurnOutcome(1, (CaseOutcome(True),), 0, 1), TurnOutcome(2, (CaseOutcome(False),), 0, 1)))
    assert get_rule("adversarial").discriminator(outcome) == (0.6, 0.0)


def test_novel_kills_pays_nothing_for_a_kill_that_the_baseline_makes():
    case = CaseOutcome(True, killed=(True, True, False, False), killed_by_baseline=(True, False, True, False))
    assert pays_turn(case, asked=1, name="novel_kills") == pytest.approx(0.6 + 1 / 4)
    assert pays_turn(case, asked=1) == pytest.approx(0.6 + 2 / 4)


def test_novel_kills_pays_the_kill_of_what_the_baseline_misses_and_no_miss():
    assert pays_turn(CaseOutcome(True, killed=(True,), killed_by_baseline=(False,)), name="novel_kills") == 0.8
    assert pays_turn(CaseOutcome(True, killed=(True,), killed_by_baseline=(True,)), name="novel_kills") == 0.3


def test_kills_that_are_not_aligned_with_the_baselines_are_an_error():
    with pytest.raises(ValueError, match="shorter"):
        pays_turn(CaseOutcome(True, killed=(True, True), killed_by_baseline=(False,)), name="novel_kills")


def test_a_rules_weight_can_be_changed():
    mine = replace(RULES["adversarial"], discriminator=partial(adversarial.discriminator, validity_weight=0.3))
    assert mine.discriminator(SuiteOutcome((TurnOutcome(1, (CaseOutcome(True),), 0, 1),))) == (0.3,)


# infrastructure


@pytest.mark.parametrize("name", RULES)
def test_a_verdict_lost_to_infrastructure_changes_no_count(name: str):
    whole = program(verdicts(1, 2), verdicts(2, 3), verdicts(2, 4))
    masked = program(verdicts(1, 2, 1), verdicts(2, 3, 2), verdicts(2, 4, 3))
    assert pays(name, whole) == pays(name, masked)


@pytest.mark.parametrize("name", RULES)
def test_a_program_lost_to_infrastructure_has_no_reward(name: str):
    lost: Verdicts = ("infra_error",) * 2
    assert pays(name, ProgramOutcome(False, True, lost, lost, lost)) is None


@pytest.mark.parametrize("name", [rule.name for rule in RULES.values() if not rule.per_turn])
def test_a_suite_whose_program_was_lost_has_no_reward(name: str):
    turn = TurnOutcome(1, (CaseOutcome(True), CaseOutcome(True)), 0, 2)
    assert pays_suite(name, SuiteOutcome((turn,), ("infra_error", "infra_error"))) is None


# the walk-through: the reference plays the generator and passes nine of ten tests, the tenth is wrong


def walked(walk_through) -> tuple[ProgramOutcome, SuiteOutcome]:
    by_stage = walk_through.reference_passes.items()
    turns = [
        TurnOutcome(s, tuple(CaseOutcome(ok, program_failed=not ok) for ok in passes), 0, 2) for s, passes in by_stage
    ]
    all_cases: Verdicts = tuple("passed" if ok else "failed" for _, passes in by_stage for ok in passes)
    return program(verdicts(2, 2), verdicts(9, 9), all_cases), SuiteOutcome(tuple(turns), all_cases)


@pytest.mark.parametrize(
    ("name", "generator", "discriminator"),
    [
        ("progressive", 0.9, (0.1 * 0.9,)),
        ("shifted", 11 / 12 - 0.5, (0.4 * 0.9 - 0.6 * 0.1,)),
        ("fractional", 1.0, (0.0,)),
        ("deepcoder", 1.0, (0.0,)),
        ("adversarial", 1.0, (0.6, 0.6, 0.6, 0.3, 0.6)),
        ("novel_kills", 1.0, (0.6, 0.6, 0.6, 0.3, 0.6)),
    ],
)
def test_the_walk_through_pays(walk_through, name: str, generator: float, discriminator: tuple[float, ...]):
    played, suite_played = walked(walk_through)
    assert pays(name, played) == pytest.approx(generator)
    assert get_rule(name).discriminator(suite_played) == pytest.approx(discriminator)


# the registry


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_pays_per_turn_or_once_as_it_says(rule: RewardRule):
    turns = tuple(TurnOutcome(stage, (CaseOutcome(True, killed_by_baseline=()),), 0, 2) for stage in range(1, 6))
    rewards = rule.discriminator(SuiteOutcome(turns, ("passed",) * 5))
    assert len(rewards) == (5 if rule.per_turn else 1)


@pytest.mark.parametrize("name", RULES)
def test_every_rule_prefers_the_better_program(name: str):
    good, bad = (program(verdicts(n, 2), verdicts(n, 2), verdicts(n, 2)) for n in (2, 0))
    assert (pays(name, good) or 0) > (pays(name, bad) or 0)


# what holds for every rule

SEEN: list[Verdict] = ["passed", "failed", "error", "timeout", "not_collected", "infra_error"]
VERDICTS = st.lists(st.sampled_from(SEEN), max_size=5).map(tuple)
PROGRAMS = st.builds(ProgramOutcome, st.booleans(), st.booleans(), VERDICTS, VERDICTS, VERDICTS)
CASES = st.tuples(st.booleans(), st.booleans(), st.lists(st.tuples(st.booleans(), st.booleans()), max_size=3)).map(
    lambda c: CaseOutcome(c[0], c[1], tuple(kill for kill, _ in c[2]), tuple(old for _, old in c[2]))
)


@pytest.mark.parametrize("name", RULES)
@given(outcome=PROGRAMS)
def test_no_program_earns_more_than_one_that_passes_everything(name: str, outcome: ProgramOutcome):
    passed: Verdicts = ("passed",)
    assert (pays(name, outcome) or 0) <= (pays(name, program(passed, passed, passed)) or 0) + 1e-9


@pytest.mark.parametrize("name", RULES)
@given(outcome=PROGRAMS)
def test_the_order_of_verdicts_changes_no_reward(name: str, outcome: ProgramOutcome):
    turned = replace(
        outcome, baseline=outcome.baseline[::-1], exam=outcome.exam[::-1], well_formed=outcome.well_formed[::-1]
    )
    assert pays(name, turned) == pays(name, outcome)


@pytest.mark.parametrize("name", RULES)
@given(outcome=PROGRAMS, collected=st.booleans())
def test_a_turn_without_code_or_with_code_that_does_not_load_earns_least(
    name: str, outcome: ProgramOutcome, collected: bool
):
    least = -0.5 if name == "shifted" else 0
    assert pays(name, replace(outcome, has_code=False, collected=collected)) == least
    assert pays(name, replace(outcome, has_code=True, collected=False)) in (least, None)


@pytest.mark.parametrize("name", ["adversarial", "novel_kills", "deepcoder"])
@given(outcome=PROGRAMS)
def test_no_wrong_program_is_paid_in_full(name: str, outcome: ProgramOutcome):
    wrong = replace(outcome, exam=(*outcome.exam, "failed"))
    assert (pays(name, wrong) or 0) < 1


@pytest.mark.parametrize("name", RULES)
@given(exam=st.lists(st.sampled_from(SEEN[:4]), min_size=1, max_size=5), place=st.integers(0, 4))
def test_a_failed_case_that_passes_instead_never_costs_a_program(name: str, exam: list[Verdict], place: int):
    better: list[Verdict] = [*exam]
    better[place % len(exam)] = "passed"
    before, after = (pays(name, program((), tuple(each), tuple(each))) or 0 for each in (exam, better))
    assert after >= before


@pytest.mark.parametrize("name", ["adversarial", "novel_kills"])
@given(cases=st.lists(CASES, max_size=4), asked=st.integers(0, 4))
def test_a_turn_earns_between_nothing_and_a_kill_of_every_target_for_each_case(
    name: str, cases: list[CaseOutcome], asked: int
):
    reward = pays_turn(*cases, asked=asked, name=name)
    assert reward is not None
    assert 0 <= reward <= 1.6


@pytest.mark.parametrize("name", ["adversarial", "novel_kills"])
@given(cases=st.lists(CASES, max_size=4))
def test_a_turn_of_invalid_cases_earns_nothing_whatever_they_kill(name: str, cases: list[CaseOutcome]):
    assert pays_turn(*(replace(case, valid=False) for case in cases), asked=4, name=name) == 0


@given(cases=st.lists(CASES, max_size=4))
def test_novel_kills_never_pays_more_than_adversarial(cases: list[CaseOutcome]):
    assert (pays_turn(*cases, name="novel_kills") or 0) <= (pays_turn(*cases) or 0)


@given(case=CASES, held=st.integers(1, 8))
def test_a_case_that_one_more_suite_holds_is_never_worth_more(case: CaseOutcome, held: int):
    one, more = (pays_turn(replace(case, shared=count), asked=1) or 0 for count in (held, held + 1))
    assert one >= more


def test_a_rule_that_is_called_alone_weighs_validity_as_a_run_does():
    assert Config().validity_weight == adversarial.VALIDITY_WEIGHT


def test_an_unknown_rule_names_the_nearest():
    with pytest.raises(UnknownName, match="reward rule 'progresive', did you mean 'progressive'"):
        get_rule("progresive")
