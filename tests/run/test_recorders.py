"""Several recorders as one, and one that remembers."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path

import pytest

from selfplay.run.checkpoints import About
from selfplay.run.recorders import Memory, Recorders


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
}


def public(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}


def test_whatever_one_recorder_can_do_several_can() -> None:
    assert public(Recorders) == public(Memory) == set(CALLS)


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
