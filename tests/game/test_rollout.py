"""Groups are laid out as the phases say, prefixes are played once, and what a role sees is what it should see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from selfplay.game.episode import TurnKey
from selfplay.game.phases import Step
from selfplay.game.players import Completion, Marks, Request, Sampling
from selfplay.game.problems import Problem
from selfplay.game.prompts import Prompts
from selfplay.game.rollout import PREFIX, Table, play
from tests.scripted import ByteChat, ScriptedPlayer

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


def test_a_shared_step_is_laid_out_for_one_role() -> None:
    (group,) = groups(Step(0, 1, "both", "stage 1 discriminator", layout="discriminator"))
    assert (len(group.chains), len(group.suites), group.reads) == (2, 3, (0, 0, 0))


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


def test_a_prompt_of_its_own_quotes_the_stages_so_far_under_their_names() -> None:
    player = ScriptedPlayer(PLAYER.script, ForgetfulChat())
    [group] = play(player, Prompts("instruct"), [PROBLEM], Step(0, 3, "generator", ""), TABLE)
    asked = ByteChat().text(group.chains[1].turns[3].prompt)
    parts = ("Double it.", "## Stage 1: Informal Reasoning", "g1 by -1", "## Stage 2: Structured", "g2 by -1")
    places = [
        asked.index(part) for part in (*parts, "## Stage 3: Pseudocode", "g3 by 1", "# Your turn", "## Stage 4 of 5")
    ]
    assert places == sorted(places)


def test_a_discriminator_asked_afresh_sees_all_stages_so_far_each_with_its_tests() -> None:
    player = ScriptedPlayer(PLAYER.script, ForgetfulChat())
    [group] = play(player, Prompts("instruct"), [PROBLEM], Step(0, 2, "generator", ""), TABLE)
    asked = ByteChat().text(group.suites[1].turns[2].prompt)
    parts = ("Double it.", "stage 1: Informal", "g1 by -1", "Your tests of stage 1", "d1 by -1")
    parts = (
        *parts,
        "stage 2: Structured",
        "g2 by 1",
        "Your tests of stage 2",
        "d2 by 1",
        "stage 3: Pseudocode",
        "g3 by 1",
    )
    places = [asked.index(part) for part in (*parts, "# Your turn")]
    assert places == sorted(places)
    assert "g4 by" not in asked


class ThinkingChat(ByteChat):
    """A thinking model's: everything up to a full stop is thought."""

    marks = Marks(frozenset(), (ord("."),), opened=True)

    def text(self, ids: Sequence[int]) -> str:
        return super().text(ids).rpartition(".")[2]

    def thought(self, ids: Sequence[int]) -> str:
        head, mark, _ = super().text(ids).rpartition(".")
        return head + mark


def test_a_thought_is_shown_to_nobody_and_the_turn_after_it_is_asked_afresh() -> None:
    def script(key: TurnKey) -> str:
        return f"{'secret.' if key.stage in (1, 4) else ''}{key.role[0]}{key.stage} said"

    (group,) = groups(Step(0, 1, "both", ""), player=ScriptedPlayer(script, ThinkingChat()))
    for conversation in (*group.chains, *group.suites):
        assert [turn.fresh for turn in conversation.turns] == [True, True, False, False, True]
        assert [turn.thought for turn in conversation.turns] == ["secret.", "", "", "secret.", ""]
        assert not any("secret" in ByteChat().text(turn.prompt) for turn in conversation.turns)
        last = ByteChat().text(conversation.turns[-1].prompt)
        assert all(f"{conversation.role[0]}{stage} said" in last for stage in (1, 2, 3, 4))


class Limited(ScriptedPlayer):
    """Says how many tokens it may."""

    def complete(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        said = tuple(str(sampling.most).encode())
        return [Completion(said, (0.0,) * len(said), False) for _ in requests]


@pytest.mark.parametrize(("chat", "limit"), [(ByteChat(), "7"), (ThinkingChat(), "107")])
def test_only_a_player_that_thinks_gets_tokens_for_it(chat: ByteChat, limit: str) -> None:
    sampling = Sampling(1.0, max_tokens=7, thinking_tokens=100)
    table = replace(TABLE, generator=sampling, discriminator=sampling)
    (group,) = groups(Step(0, 1, "both", ""), table, Limited(PLAYER.script, chat))
    assert {turn.text for each in (*group.chains, *group.suites) for turn in each.turns} == {limit}


@pytest.mark.parametrize(
    ("said", "limit", "cut"),
    [("secret.", 3, False), ("secret. x", 7, True), ("secret. x", 9, False), ("secret.", 99, False)],
)
def test_a_turn_that_the_limit_ended_in_its_thought_is_told_apart(said: str, limit: int, cut: bool) -> None:
    player = ScriptedPlayer(lambda key: said, ThinkingChat())
    (group,) = groups(Step(0, 1, "generator", ""), replace(TABLE, generator=Sampling(1.0, limit)), player)
    assert group.chains[0].turns[0].thought_cut == cut
