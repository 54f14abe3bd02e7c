"""What matches add up to: merging over ranks changes nothing, and each metric counts what it says."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.game.rewards import RULES
from selfplay.match.counts import Counts, Share, merged, step_counts
from selfplay.match.record import Match
from selfplay.match.score import score
from tests.match.matches import matches

SEVERAL = st.lists(matches(), max_size=4)


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
