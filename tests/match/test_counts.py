"""What matches add up to: each metric counts what it says, merging over ranks changes nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.game.rewards import RULES
from selfplay.match.counts import Counts, Share, merged, step_counts
from selfplay.match.match import Chain, Match, Suite
from selfplay.match.score import score
from tests.match.groups import group
from tests.match.matches import matches

SEVERAL = st.lists(matches(), max_size=4)


def told(*matches: Match) -> dict[str, float | int | None]:
    return step_counts(matches, (0.0, 0)).metrics()


def test_the_prototypes_pass_rate_is_a_mean_over_programs() -> None:
    lost = group(
        {"a": ("passed", "passed", "passed"), "b": ("failed", "passed", "infra_error")},
        [{1: ["x", "y"]}],
    )
    metrics = told(lost)
    assert metrics["test_pass_rate"] == 0.75  # of 1 and 1/2, where 4 of 5 verdicts passed
    assert metrics["pass_rate"] == 0.8
    assert metrics["test_pass_rate_baseline"] == 0.5
    assert metrics["test_pass_rate_discriminator"] == 1.0


def test_turns_without_text_are_counted_by_role_and_stage() -> None:
    match = group({"a": ("passed", "passed"), "b": ("passed", "passed")}, [{1: ["x"]}])
    first, *others = match.chains
    blank = tuple(replace(turn, text=" \n") if turn.stage == 5 else turn for turn in first.conversation.turns)
    lost = replace(match, chains=(replace(first, conversation=replace(first.conversation, turns=blank)), *others))
    assert told(lost)["empty/generator/5"] == 0.5
    assert told(match)["empty/generator/5"] == 0.0


def test_a_turn_that_branches_share_was_generated_once() -> None:
    plain = group({"a": ("passed", "passed"), "b": ("passed", "passed")}, [{1: ["x"]}])

    def said(chain: Chain) -> Chain:
        turns = tuple(replace(turn, ids=(5,) * turn.stage) for turn in chain.conversation.turns)
        return replace(chain, conversation=replace(chain.conversation, turns=turns))

    match = replace(plain, chains=tuple(map(said, plain.chains)))
    first, second = match.chains
    shared = replace(match, chains=(first, replace(second, conversation=first.conversation)))

    def tokens(*each: Chain | Suite) -> int:
        return sum(len(turn.ids) for one in each for turn in one.conversation.turns)

    assert told(match)["generated_tokens"] == tokens(*match.chains, *match.suites) == 30
    assert told(shared)["generated_tokens"] == tokens(first, *match.suites)


def test_turns_of_suites_that_hold_no_test_are_counted() -> None:
    match = group({"a": ("passed", "passed"), "b": ("passed", "passed")}, [{1: ["x"]}])  # tests at one stage of five
    assert told(match)["no_test"] == 0.8


def test_a_program_that_faces_no_test_of_the_discriminator_is_in_no_mean() -> None:
    assert told(group({"a": ("passed",)}))["test_pass_rate_discriminator"] is None


def test_a_bug_is_caught_by_valid_tests_that_the_program_read_fails_of_all_written() -> None:
    """The suite reads the first program: x and y fail it, y is refused; z fails the other one alone."""
    match = group(
        {"a": ("passed", "failed", "failed", "passed"), "b": ("passed", "passed", "passed", "failed")},
        [{1: ["x", "y"], 5: ["z"]}],
        refused=["y"],
    )
    assert told(match)["bug_catch_rate"] == pytest.approx(1 / 3, abs=1e-5)
    assert told(match)["test_validity"] == told(match)["validity"] == pytest.approx(2 / 3, abs=1e-5)


def test_a_suite_whose_verdicts_infrastructure_took_says_nothing_of_bugs() -> None:
    lost = group({"a": ("passed", "infra_error")}, [{1: ["x"]}])
    caught = group({"a": ("passed", "failed")}, [{1: ["x"]}])
    assert told(lost)["bug_catch_rate"] is None
    assert told(lost, caught)["bug_catch_rate"] == 1.0


def by_stage(match: Match, name: str) -> list[float | int | None]:
    metrics = told(match)
    return [metrics[f"{name}/{stage}"] for stage in range(1, 6)]


def test_a_kill_is_new_where_no_earlier_stage_of_the_suite_made_it() -> None:
    """x kills the program, y at the next stage kills it too, z kills what is left; two at one stage are both new."""
    match = group(
        {"a": ("passed", "failed", "failed", "passed", "passed")},
        [{1: ["x"], 2: ["y"], 4: ["z", "w"]}],
        mutants=[("passed", "passed", "passed", "failed", "failed")],
    )
    assert by_stage(match, "new_kills") == [1, 0, 0, 2, 0]


def test_a_test_that_repeats_one_of_the_problems_own_is_valid_and_not_new() -> None:
    match = group({"a": ("passed", "passed")}, [{1: ["base"], 3: ["x"]}])
    assert by_stage(match, "valid") == [1, 0, 1, 0, 0]
    assert by_stage(match, "new") == [0, 0, 1, 0, 0]


def test_a_refused_test_is_written_and_nothing_else() -> None:
    match = group({"a": ("passed", "failed")}, [{2: ["x"]}], refused=["x"])
    assert by_stage(match, "written") == [0, 1, 0, 0, 0]
    assert by_stage(match, "valid") == by_stage(match, "new") == by_stage(match, "new_kills") == [0] * 5


def test_a_suite_that_wrote_nothing_kills_none_of_the_targets() -> None:
    assert told(group({"a": ("failed",)}, [{}]))["kills"] == 0.0


def test_a_share_of_nothing_has_no_value() -> None:
    assert Share().value is None
    assert Share(0, 2).value == 0
    assert (Share(1, 2) + Share(1, 1)).value == pytest.approx(2 / 3, abs=1e-5)


def test_counts_add_up_by_name() -> None:
    one = Counts({"a": Share(1, 2)}, {"n": 1})
    other = Counts({"a": Share(0, 2), "b": Share(1, 1)}, {"n": 2, "m": 5})
    assert (one + other).metrics() == {"a": 0.25, "b": 1.0, "m": 5, "n": 3}
    assert (other + one).metrics() == (one + other).metrics()
    assert (one + Counts()).metrics() == one.metrics()


@given(SEVERAL, st.integers(0, 4))
def test_two_ranks_together_count_what_one_would(played: list[Match], cut: int) -> None:
    played = score(played, RULES["adversarial"])
    whole = step_counts(played, (3.0, 2), 1).metrics()
    split = merged([step_counts(played[:cut], (1.0, 1), 1), step_counts(played[cut:], (2.0, 1))]).metrics()
    assert list(split) == list(whole)
    assert split == {name: value if value is None else pytest.approx(value, abs=1e-5) for name, value in whole.items()}


@given(SEVERAL)
def test_shares_lie_between_nothing_and_all(played: list[Match]) -> None:
    counts = step_counts(score(played, RULES["adversarial"]), (0.0, 0))
    for name, share in counts.shares.items():
        if not name.startswith("reward/"):
            assert 0 <= share.hits <= share.of, name


@given(matches())
def test_every_written_test_is_valid_refused_or_dropped(match: Match) -> None:
    counts = step_counts([match], (0.0, 0))
    refused = sum(count for name, count in counts.plain.items() if name.startswith("refused/"))
    dropped = sum(turn.dropped for suite in match.suites for turn in suite.turns)
    valid = counts.shares["validity"].hits if match.suites else 0
    assert valid + refused + dropped == counts.plain.get("written", 0)


@given(matches())
def test_refusals_are_counted_by_their_reason(match: Match) -> None:
    reasons = Counter(r.reason for suite in match.suites for turn in suite.turns for r in turn.refused)
    plain = step_counts([match], (0.0, 0)).plain
    assert {name: plain[name] for name in plain if name.startswith("refused/")} == {
        f"refused/{reason}": count for reason, count in reasons.items()
    }


@given(matches(("passed",)))
def test_where_everything_passes_nothing_is_killed_but_what_is_wrong_anyway(match: Match) -> None:
    counts = step_counts([match], (0.0, 0))
    assert counts.shares["kills"].hits == 0
    assert counts.shares["pass_rate"].hits == counts.shares["pass_rate"].of
    assert counts.plain["masked"] == 0


@given(matches(("infra_error",)))
def test_what_the_machinery_lost_is_masked_and_in_no_rate(match: Match) -> None:
    counts = step_counts(score([match], RULES["adversarial"]), (0.0, 0))
    faced = len(match.chains) * (len(match.baseline) + len(match.admitted))
    assert counts.plain["masked"] == faced
    assert counts.shares["pass_rate"].of == counts.shares["pass_rate_baseline"].of == 0
    if faced:
        lost = [chain for chain in match.chains if chain.code.source is not None]
        assert counts.shares["reward/generator"].of == len(match.chains) - len(lost)


@given(matches())
def test_repeating_a_match_changes_no_share(match: Match) -> None:
    once, twice = (step_counts(score([match] * n, RULES["adversarial"]), (0.0, 0)).metrics() for n in (1, 2))
    for name, value in once.items():
        if isinstance(value, float) or value is None:
            assert twice[name] == (value if value is None else pytest.approx(value, abs=1e-5))


@given(matches())
def test_turns_that_were_cut_off_are_counted_for_both_roles(match: Match) -> None:
    counts = step_counts([match], (0.0, 0)).shares["truncated"]
    turns = [turn for each in (*match.chains, *match.suites) for turn in each.conversation.turns]
    assert (counts.hits, counts.of) == (sum(turn.truncated for turn in turns), len(turns))


@given(matches())
def test_a_turn_without_code_is_counted(match: Match) -> None:
    without = replace(match, chains=tuple(replace(c, code=replace(c.code, source=None)) for c in match.chains))
    assert step_counts([without], (0.0, 0)).shares["no_code"].value == 1


def test_drift_and_order_dependence_are_what_was_measured() -> None:
    told = step_counts([], (0.5, 4), 3).metrics()
    assert told == {"frozen_kl": 0.125, "order_dependent": 3}
