"""What an appearance counts, with players whose every turn is known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from docs.glossary import FIGURES, names
from selfplay.box.local import LocalBox
from selfplay.errors import BadInput
from selfplay.evaluation.bugs import Bug, bug_columns, hunt
from selfplay.evaluation.crossplay import cross_play
from selfplay.evaluation.evaluator import Evaluator, check_samples
from selfplay.evaluation.figures import Figures, appearance_figures
from selfplay.game.episode import TurnKey
from selfplay.game.players import Sampling
from selfplay.game.prompts import Prompts
from selfplay.judging.judge import Judge
from selfplay.match.entrant import Entrant
from selfplay.mutation.cache import MutantCache
from tests.match.groups import BIG
from tests.scripted import ScriptedPlayer

RIGHT, WRONG = "def f(n):\n    return n >= 3", "def f(n):\n    return n > 3"
BOUNDARY, HAPPY, FALSE = "assert f(3) == True", "assert f(9) == True", "assert f(3) == False"


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    box = LocalBox()
    yield Judge(box)
    box.close()


def entrant(programs: list[str], tests: dict[int, str], name: str = "scripted") -> Entrant:
    """Samples end in the programs by turns; tests by stage."""

    def said(key: TurnKey) -> str:
        if key.role == "discriminator":
            return tests.get(key.stage, "")
        return programs[key.branch % len(programs)] if key.stage == 5 else "thought"

    return Entrant(name, ScriptedPlayer(said), Prompts("compact"), Sampling(max_tokens=2000))


def told(judge: Judge, player: Entrant, samples: int = 4) -> Figures:
    evaluator = Evaluator(judge, MutantCache(), [BIG], samples)
    return appearance_figures(evaluator.appearance(player, evaluator.opponent(entrant([WRONG], {}))), [1, samples])


def values(judge: Judge, player: Entrant, samples: int = 4) -> dict[str, float]:
    return {name: one.value for name, one in told(judge, player, samples).estimates().items()}


def test_best_of_n_lies_between_chance_and_the_oracle_by_the_player_s_own_tests(judge: Judge) -> None:
    found = values(judge, entrant([WRONG, RIGHT], {5: BOUNDARY}))
    assert (found["code_correct"], found["best_of_n"], found["oracle"], found["gap_closed"]) == (0.5, 1.0, 1.0, 1.0)
    misled = values(judge, entrant([WRONG, RIGHT], {5: FALSE}))
    assert (misled["best_of_n"], misled["gap_closed"]) == (0.0, -1.0)


def test_kills_by_stage_are_those_that_no_earlier_stage_made(judge: Judge) -> None:
    found = values(judge, entrant([RIGHT], {1: HAPPY, 2: BOUNDARY, 4: "assert f(4) == True\nassert f(3) == True"}))
    assert found["fixed_kills"] == 1.0
    assert found["new_kills/stage-2"] > 0
    assert found["new_kills/stage-4"] == 0
    assert found["test_validity/stage-4"] == 0.5  # the second repeats what stage 2 wrote


def test_the_bug_catch_rate_counts_tests_that_count_and_fail_the_program_read(judge: Judge) -> None:
    assert values(judge, entrant([RIGHT], {5: f"{BOUNDARY}\n{HAPPY}\n{FALSE}"}))["bug_catch_rate"] == pytest.approx(
        1 / 3
    )


def test_the_prototype_s_figures_are_of_own_programs_on_own_tests(judge: Judge) -> None:
    found = values(judge, entrant([WRONG], {5: f"{BOUNDARY}\n{HAPPY}"}))
    assert found["average_test_pass_rate"] == 0.75  # two baseline tests and the happy one
    assert found["failure_rate"] == 0.5
    assert found["test_diversity"] == 0.25  # four suites say the same


def test_ending_agreement_is_that_of_programs_that_end_one_chain(judge: Judge) -> None:
    assert values(judge, entrant([RIGHT], {}))["ending_agreement"] == 1.0
    # Branches 0, 1001, 1002 and 1003 end in a right, a wrong, a right and a wrong program: two pairs of six agree.
    assert values(judge, entrant([RIGHT, WRONG], {}))["ending_agreement"] == pytest.approx(2 / 6)
    assert "ending_agreement" in values(judge, entrant([RIGHT], {}).single_stage())


def test_differences_are_paired_over_the_same_problems(judge: Judge) -> None:
    before, after = told(judge, entrant([WRONG], {})), told(judge, entrant([RIGHT], {5: BOUNDARY}))
    change = after.changes(before)
    assert (change["code_greedy"].value, change["fixed_kills"].value) == (1.0, 1.0)


@pytest.mark.parametrize(("samples", "ks", "said"), [(4, [1, 8], "pass@8 needs 8 samples"), (0, [], "at least 1")])
def test_pass_at_k_beyond_the_samples_is_refused(samples: int, ks: list[int], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        check_samples(samples, ks)


def test_a_bug_is_caught_by_a_test_that_counts(judge: Judge) -> None:
    named = replace(
        BIG, entry_point="big", signature="def big(n: int) -> bool:", reference_solution=RIGHT.replace("f(", "big(")
    )
    bug = Bug(replace(named, baseline_tests=("assert big(7) == True",)), WRONG.replace("f(", "big("))
    for tests, caught in ((BOUNDARY, 1.0), (HAPPY, 0.0), (FALSE, 0.0)):
        columns = bug_columns(hunt(entrant([], {5: tests}), [bug], judge, 2))
        assert columns["bugs_caught"] == ([2 * caught], [2.0])
        assert columns["bugs_caught_by_any"] == ([caught], [1.0])


def test_in_cross_play_every_generator_meets_every_discriminator(judge: Judge) -> None:
    weak, strong = entrant([WRONG], {5: HAPPY}), entrant([RIGHT], {5: BOUNDARY})
    found = cross_play([("start", lambda: weak), ("end", lambda: strong)], [BIG], judge)
    assert found.names == ("start", "end")
    assert [[cell.value for cell in row] for row in found.survives] == [[1.0, 0.0], [1.0, 1.0]]
    assert [cell.value for cell in found.kills[0]] == [0.0, 1.0]
    assert found.kills[1][0].value != found.kills[1][0].value  # no wrong program was there to kill


def test_every_figure_stands_in_the_glossary(judge: Judge) -> None:
    bugs = bug_columns(hunt(entrant([], {}), [Bug(BIG, WRONG)], judge, 1))
    for name in (*values(judge, entrant([RIGHT], {5: BOUNDARY})), *bugs):
        general = re.sub(r"stage-\d", "stage-S", re.sub(r"tokens/\w+", "tokens/ROLE", re.sub(r"_at_\d", "_at_K", name)))
        assert general in names(FIGURES), name
