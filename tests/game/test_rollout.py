"""Groups are laid out as the phases say, prefixes are played once, and what a role sees is what it should see."""

from __future__ import annotations

import pytest

from selfplay.game.episode import TurnKey
from selfplay.game.phases import Step
from selfplay.game.players import ByteChat, ScriptedPlayer
from selfplay.game.problems import Problem
from selfplay.game.prompts import Prompts
from selfplay.game.rollout import PREFIX, Table, play

PROBLEM = Problem(
    "double", "Double it.", "f", "def f(n: int) -> int:", ("assert f(2) == 4",), "def f(n):\n    return 2 * n"
)
PLAYER = ScriptedPlayer(lambda key: f"{key.role[0]}{key.stage} by {key.branch}")
TABLE = Table(num_generations=3, num_suites=2, num_targets=1)


def groups(step: Step, table: Table = TABLE, player: ScriptedPlayer = PLAYER):
    return play(player, Prompts("compact"), [PROBLEM], step, table)


def test_a_generator_step_has_many_chains_of_which_some_are_read() -> None:
    (group,) = groups(Step(0, 1, "generator", "stage 1 generator"))
    assert (len(group.chains), len(group.suites), group.reads) == (3, 2, (0, 1))


def test_a_discriminator_step_has_many_suites_that_read_one_chain_and_further_targets() -> None:
    (group,) = groups(Step(0, 1, "discriminator", "stage 1 discriminator"))
    assert (len(group.chains), len(group.suites), group.reads) == (2, 3, (0, 0, 0))


def test_a_joint_step_pairs_each_chain_with_a_suite_of_its_own() -> None:
    (group,) = groups(Step(0, 1, "both", "joint"))
    assert (len(group.chains), len(group.suites), group.reads) == (3, 3, (0, 1, 2))


def test_without_suites_the_discriminator_is_never_asked() -> None:
    def only_generator(key: TurnKey) -> str:
        assert key.role == "generator"
        return "said"

    (group,) = groups(Step(0, 3, "generator", ""), Table(3, num_suites=0), ScriptedPlayer(only_generator))
    assert group.suites == ()


@pytest.mark.parametrize("stage", [1, 3, 5])
def test_stages_before_the_branch_are_played_once_and_shared(stage: int) -> None:
    (group,) = groups(Step(0, stage, "generator", ""))
    for turns in zip(*(chain.turns for chain in group.chains), strict=True):
        branches = [turn.key.branch for turn in turns]
        assert branches == ([PREFIX] * 3 if turns[0].stage < stage else [0, 1, 2])


def test_ids_are_append_only() -> None:
    (group,) = groups(Step(0, 4, "discriminator", ""))
    for conversation in (*group.chains, *group.suites):
        assert conversation.sequences == (conversation.turns,)
        text = ByteChat().text(conversation.ids)
        assert all(turn.text in text for turn in conversation.turns)


def test_a_suite_reads_its_own_chain_stage_by_stage_and_never_a_later_one() -> None:
    (group,) = groups(Step(0, 2, "generator", ""))
    for suite, read in zip(group.suites, group.reads, strict=True):
        for turn in suite.turns:
            asked = ByteChat().text(turn.prompt)
            assert group.chains[read].text(turn.stage) in asked
            assert f"g{turn.stage + 1} by" not in asked


def test_stages_that_are_not_played_are_not_asked_for() -> None:
    (group,) = groups(Step(0, 5, "generator", "", played=(5,)))
    assert [turn.stage for turn in group.chains[0].turns] == [5]
    assert PROBLEM.description in ByteChat().text(group.chains[0].turns[0].prompt)


class ForgetfulChat(ByteChat):
    """A template that rewrites earlier turns, as some thinking models' do."""

    prefix_preserving = False


def test_a_template_that_rewrites_history_is_asked_with_independent_prompts() -> None:
    (group,) = groups(Step(0, 1, "generator", ""), player=ScriptedPlayer(PLAYER.script, ForgetfulChat()))
    chain = group.chains[0]
    assert [len(turns) for turns in chain.sequences] == [1] * 5
    last = ByteChat().text(chain.turns[-1].prompt)
    assert PROBLEM.description in last
    assert "g4 by 0" in last


def test_a_turn_that_hits_the_token_limit_is_marked_and_closed() -> None:
    (group,) = groups(
        Step(0, 1, "generator", ""), Table(3, 2, 1, generator=TABLE.generator.__class__(1.0, max_tokens=3))
    )
    first, second = group.chains[0].turns[:2]
    assert first.truncated
    assert len(first.ids) == 3
    assert second.prompt[0] == ByteChat.end
