"""Several recorders as one, and one that remembers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from selfplay.run.checkpoints import About
from selfplay.run.recorders import Recorder, Recorders
from tests.memory import Memory


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
    both.checkpoint(Nothing(), must=True)
    assert vars(one) == vars(other)
    assert one.checkpoints == [8]
    assert (one.steps, one.samples, one.saved, one.facts) == ([{"step": 1}], ["text"], 1, {"tier": "jailed"})


@pytest.mark.parametrize("name", [name for name in vars(Recorder) if not name.startswith("_")])
def test_a_call_reaches_each_recorder_once_in_order(name: str) -> None:
    reached: list[int] = []

    class Hearing(Recorder):
        def __init__(self, number: int) -> None:
            setattr(self, name, lambda *arguments, **facts: reached.append(number))

    getattr(Recorders(Hearing(1), Hearing(2), Hearing(3)), name)("a", b=1)
    assert reached == [1, 2, 3]


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
