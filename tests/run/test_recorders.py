from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

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
