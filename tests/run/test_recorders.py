from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from selfplay.run.checkpoints import About
from selfplay.run.recorders import Memory, Recorders, Watched


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
