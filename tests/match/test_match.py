"""What a match says of itself, whatever was played."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from selfplay.game.episode import ROLES
from selfplay.match.match import KILLS, Match, Target
from tests.match.matches import CASES, JUDGED, matches


@given(matches())
def test_what_counts_was_written_and_read(match: Match) -> None:
    for suite in match.suites:
        assert set(suite.admitted) <= set(suite.cases)
        assert suite.written >= len(suite.cases) >= len(suite.admitted)
    assert set(match.admitted) <= set(match.well_formed) <= set(match.cases)


@given(matches())
def test_cases_stand_with_the_problems_own_first_and_refused_ones_last(match: Match) -> None:
    counting = {*match.baseline, *match.admitted}
    assert match.cases[: match.num_baseline] == match.baseline
    assert set(match.cases[: len(counting)]) == counting
    assert len(set(match.cases)) == len(match.cases)


@given(matches())
def test_a_wrong_program_loads_and_fails_something_that_counts(match: Match) -> None:
    counting = (*match.baseline, *match.admitted)
    targets = [target.verdicts for target in match.targets]
    for row in list(match.wrong_rows())[: -len(targets) or None]:
        assert "not_collected" not in match.verdicts_on(row, counting)
        assert KILLS & set(match.verdicts_on(row, counting))


@given(matches())
def test_equal_programs_are_one_wrong_program(match: Match) -> None:
    doubled = replace(match, chains=match.chains * 2, programs=match.programs * 2)
    assert list(doubled.wrong_rows()) == list(match.wrong_rows())


@given(matches(JUDGED))
def test_what_a_refused_case_does_makes_no_program_wrong(match: Match) -> None:
    counting = len({*match.baseline, *match.admitted})
    failing = tuple((*row[:counting], *("failed",) * (len(row) - counting)) for row in match.programs)
    assert len(list(replace(match, programs=failing).wrong_rows())) == len(list(match.wrong_rows()))


@given(matches())
def test_targets_are_wrong_programs_whatever_they_did(match: Match) -> None:
    more = (*match.targets, Target("recorded", "x", (None,) * len(match.cases)))
    assert len(list(replace(match, targets=more).wrong_rows())) == len(list(match.wrong_rows())) + 1


@given(matches())
def test_a_program_that_ran_nothing_has_no_verdicts(match: Match) -> None:
    assert match.verdicts_on((), match.cases) == ()
    assert match.row_on((), match.cases) == (None,) * len(match.cases)
    assert match.verdicts_on(match.programs[0], match.cases) == match.programs[0]


@given(matches())
def test_verdicts_on_unknown_cases_are_an_error(match: Match) -> None:
    for case in set(CASES) - set(match.cases):
        with pytest.raises(KeyError):
            match.verdicts_on(match.programs[0] or ("passed",), [case])


@given(matches())
def test_conversations_are_those_of_the_role(match: Match) -> None:
    for role in ROLES:
        played = match.chains if role == "generator" else match.suites
        assert match.conversations(role) == tuple(each.conversation for each in played)
        assert {each.role for each in match.conversations(role)} <= {role}
