from __future__ import annotations

from pathlib import Path

from selfplay.run.recorders import Memory, Recorders


class Nothing:
    def save(self, folder: Path) -> None: ...


def test_every_recorder_gets_every_record() -> None:
    one, other = Memory(), Memory()
    both = Recorders(one, other)
    both.about(tier="jailed")
    both.step({"step": 1})
    both.evaluation({"when": "before"})
    both.episodes([{"problem": "a"}])
    both.sample("text")
    both.save(Nothing())
    assert vars(one) == vars(other)
    assert (one.steps, one.samples, one.saved, one.facts) == ([{"step": 1}], ["text"], 1, {"tier": "jailed"})
