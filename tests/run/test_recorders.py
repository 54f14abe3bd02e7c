"""Several recorders as one, and one that remembers."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from selfplay.run.checkpoints import About
from selfplay.run.recorders import Memory, Recorders, Silent, Watched


class Nothing:
    def save(self, folder: Path) -> None: ...

    def about(self, records: Mapping[str, int]) -> About:
        return About(8, 40, 1)


def test_every_recorder_gets_every_record() -> None:
    one, other = Memory(), Memory()
    both = Recorders(one, other)
    both.about(tier="jailed")
    both.step({"step": 1})
    both.evaluation({"when": "before"})
    both.episodes([{"problem": "a"}])
    both.sample("text")
    both.save(Nothing())
    both.keep(Nothing(), must=True)
    assert vars(one) == vars(other)
    assert one.kept == [8]
    assert (one.steps, one.samples, one.saved, one.facts) == ([{"step": 1}], ["text"], 1, {"tier": "jailed"})


def test_an_alarm_is_said_to_every_recorder_after_its_step() -> None:
    one, other = Memory(), Memory()
    watched = Watched(one, other)
    watched.about(logprob_gap_limit=1e-4)
    watched.step({"step": 0, "role": "generator", "logprob_gap": 1e-6})
    watched.step({"step": 1, "role": "generator", "logprob_gap": 9e-5})
    [said] = one.said
    assert said.startswith(
        "ALARM at step 2: sampler and trainer differ by 9e-05 nats per token on the generator's turns"
    )
    assert other.said == one.said


def test_an_alarm_about_episodes_is_said(match_record: dict[str, Any]) -> None:
    one = Memory()
    Watched(one).episodes([match_record])
    assert [said for said in one.said if "turns of the discriminator at stage 4" in said]


def test_without_a_ledger_an_alarm_about_empty_turns_is_said_by_the_metrics() -> None:
    one = Memory()
    Watched(one, ledger="off").step({"step": 0, "role": "generator", "empty/discriminator/2": 1.0})
    [said] = one.said
    assert "100% of the turns of the discriminator at stage 2 (Structured Reasoning) are empty" in said


CALLS = {
    "say": ("loading",),
    "about": (),
    "step": ({"step": 1},),
    "evaluation": ({"when": "before"},),
    "episodes": ([{"problem": "a"}],),
    "sample": ("text",),
    "save": (Nothing(),),
    "keep": (Nothing(),),
    "rewind": (3, {}),
    "close": (),
}


def public(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}


def test_whatever_one_recorder_can_do_several_can() -> None:
    assert public(Recorders) == public(Memory) == public(Silent) == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_a_call_reaches_each_recorder_once_in_order(name: str) -> None:
    heard: list[int] = []

    class Hearing:
        def __init__(self, number: int) -> None:
            self.number = number

        def __getattr__(self, called: str):
            assert called == name
            return lambda *arguments, **facts: heard.append(self.number)

    getattr(Recorders(Hearing(1), Hearing(2), Hearing(3)), name)(*CALLS[name])
    assert heard == [1, 2, 3]


def test_no_recorder_is_a_recorder_too() -> None:
    nobody = Recorders()
    for name, arguments in CALLS.items():
        assert getattr(nobody, name)(*arguments) is None


def test_a_memory_keeps_what_came_in_order_and_the_last_word_on_a_fact() -> None:
    memory = Memory()
    for number in range(3):
        memory.say(str(number))
        memory.step({"step": number})
        memory.episodes([{"n": number}, {"n": -number}])
        memory.about(last=number)
    assert memory.said == ["0", "1", "2"]
    assert [step["step"] for step in memory.steps] == [0, 1, 2]
    assert [record["n"] for record in memory.episode_records] == [0, 0, 1, -1, 2, -2]
    assert memory.facts == {"last": 2}
