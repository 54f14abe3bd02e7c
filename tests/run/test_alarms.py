"""Alarms: each sounds where it should, once, and none in a run of the embedded player."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from selfplay.run.alarms import RULES, Alarm, Alarms, Watch, empty_turns

RECORDED = Path(__file__).parent / "default_run.jsonl"
GOOD: dict[str, Any] = {
    "kind": "step",
    "role": "discriminator",
    "groups": 8,
    "informative_groups": 6,
    "grad_norm": 0.4,
    "moved": 0.02,
    "skipped": 0,
    "logprob_gap": 1e-6,
    "entropy": 0.5,
    "tokens": 1000,
    "truncated": 0.1,
    "no_test": 0.1,
    "validity": 0.6,
    "distinct": 0.9,
    "written": 100,
    "masked": 0,
}


def run_of(*steps: dict[str, Any]) -> list[dict[str, Any]]:
    return [GOOD | {"step": number} | step for number, step in enumerate(steps)]


def raised(steps: Iterable[dict[str, Any]], facts: dict[str, Any] | None = None) -> list[Alarm]:
    watch = Watch(facts or {})
    for step in steps:
        watch.step(step)
    return watch.raised


def names(*steps: dict[str, Any], **facts: Any) -> list[str]:
    return [alarm.name for alarm in raised(run_of(*steps), facts)]


PROVOKED: dict[str, list[dict[str, Any]]] = {
    "no informative group": [{"informative_groups": 0, "grad_norm": 0.1}] * 3,
    "adapter does not move": [{"grad_norm": 0.0}] * 2,
    "update skipped": [{"skipped": 1}],
    "log-probability gap": [{"logprob_gap": 0.06}],
    "entropy collapse": [{}] * 3 + [{"entropy": 0.01}] * 3,
    "truncated turns": [{"truncated": 0.51}],
    "turns without a test": [{"no_test": 0.51}],
    "validity collapse": [{}] * 3 + [{"validity": 0.1}] * 3,
    "distinct tests collapse": [{}] * 3 + [{"distinct": 0.2}] * 3,
    "sandbox errors": [{"masked": 1}],
}


@pytest.mark.parametrize("name", PROVOKED)
def test_an_alarm_sounds_where_its_condition_holds_and_no_other_does(name: str) -> None:
    assert names(*PROVOKED[name]) == [name]


def test_an_update_that_leaves_every_weight_as_it_was_is_heard_though_there_is_a_gradient() -> None:
    [alarm] = raised(run_of({"moved": 0.0}, {"moved": 0.0}))
    assert alarm.name == "adapter does not move"
    assert "an update leaves every weight as it was" in alarm.found
    assert "--learning-rate" in alarm.advice
    assert names({"moved": 0.0}, {}, {"moved": 0.0}) == []
    assert names(*[{"moved": 0.0, "skipped": 1}] * 3) == ["update skipped"]


def test_every_rule_is_provoked() -> None:
    assert {rule.name for rule in RULES} == set(PROVOKED)


@pytest.mark.parametrize("name", PROVOKED)
def test_an_alarm_sounds_once_while_its_condition_lasts(name: str) -> None:
    assert names(*PROVOKED[name], PROVOKED[name][-1]) == [name]


def test_an_alarm_sounds_again_after_its_condition_ended() -> None:
    assert names({"skipped": 1}, {}, {"skipped": 1}) == ["update skipped"] * 2


def test_a_step_of_one_role_says_nothing_of_the_other() -> None:
    other = {"role": "generator", "informative_groups": 0}
    assert names({"informative_groups": 0}, other, {"informative_groups": 0}, other) == []


def test_a_step_of_both_roles_is_read_role_by_role() -> None:
    both = {"role": "both", "groups/generator": 8, "informative_groups/generator": 0, "groups/discriminator": 8}
    [alarm] = raised(run_of(*[both | {"informative_groups/discriminator": 2, "grad_norm/generator": 0.0}] * 3))
    assert (alarm.name, alarm.about, alarm.step) == ("no informative group", "generator", 2)


def test_a_gap_is_measured_against_the_limit_of_the_run() -> None:
    assert names({"logprob_gap": 8e-5}, logprob_gap_limit=1e-4) == ["log-probability gap"]
    assert names({"logprob_gap": 8e-5}) == []


def test_an_update_without_tokens_says_nothing_of_entropy() -> None:
    assert names(*[{}] * 3, *[{"entropy": 0.0, "tokens": 0}] * 3) == []


def test_a_step_that_measured_nothing_raises_nothing() -> None:
    assert raised([{"kind": "step", "step": 0, "role": "generator"}] * 6) == []


def test_empty_turns_are_said_with_stage_problem_and_usual_causes(match_record: dict[str, Any]) -> None:
    found = {alarm.about: alarm for alarm in empty_turns([match_record]) if alarm.found}
    alarm = found["discriminator, stage 2"]
    assert (
        '1 of 1 turns of the discriminator at stage 2 (Structured Reasoning) are empty, for instance for big, "Is it'
        in str(alarm)
    )
    assert "temperature" in alarm.advice
    assert "discriminator/2.jinja" in alarm.advice
    assert "discriminator, stage 1" not in found


def test_empty_turns_sound_once_while_they_last(match_record: dict[str, Any]) -> None:
    watch = Watch()
    assert len(watch.episodes([match_record])) == 3
    assert watch.episodes([match_record]) == []


def test_without_a_ledger_empty_turns_are_heard_by_the_metrics() -> None:
    steps = run_of({"empty/generator/5": 0.11}, {"empty/generator/5": 0.5}, {"empty/generator/5": 0.1})
    [alarm] = raised(steps, {"ledger": "off"})
    assert (alarm.name, alarm.about, alarm.step) == ("empty turns", "generator, stage 5", 0)
    assert "11% of the turns of the generator at stage 5 (Executable Code) are empty" in str(alarm)
    assert raised(steps, {"ledger": "full"}) == []


def test_an_example_of_an_empty_turn_is_short_and_fit_to_be_printed(match_record: dict[str, Any]) -> None:
    odd = json.loads(json.dumps(match_record))
    odd["problem"] |= {"id": "\x1b[2J" * 50, "description": "\u2028\ud800" * 10**6}
    for alarm in empty_turns([odd]):
        assert alarm.found.isprintable()
        assert len(alarm.found) < 1500


def test_a_few_empty_turns_are_no_alarm(match_record: dict[str, Any]) -> None:
    full = json.loads(json.dumps(match_record))
    for turn in full["turns"]:
        turn["text"] = "said"
    assert [alarm for alarm in empty_turns([match_record, *[full] * 9]) if alarm.found] == []
    assert [alarm for alarm in empty_turns([match_record, *[full] * 8]) if alarm.found]


def test_the_page_on_trouble_lists_every_alarm() -> None:
    page = (Path(__file__).parents[2] / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1].strip() for line in page.partition("|---")[2].partition("\n\n")[0].splitlines()[1:]]
    assert sorted(rows) == sorted([*PROVOKED, "empty turns"])


def test_no_alarm_sounds_in_the_recorded_default_run() -> None:
    records = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
    assert len(records) == 40
    assert raised(records, {"logprob_gap_limit": 1e-4}) == []


def test_an_alarm_is_said_after_its_step_by_what_is_known_of_the_run() -> None:
    said: list[str] = []
    alarms = Alarms(said.append)
    alarms.about(logprob_gap_limit=1e-4)
    alarms.step({"step": 0, "role": "generator", "logprob_gap": 1e-6})
    alarms.step({"step": 1, "role": "generator", "logprob_gap": 9e-5})
    [alarm] = said
    assert alarm.startswith(
        "ALARM at step 2: sampler and trainer differ by 9e-05 nats per token on the generator's turns"
    )


def test_an_alarm_about_episodes_is_said(match_record: dict[str, Any]) -> None:
    said: list[str] = []
    Alarms(said.append).episodes([match_record])
    assert any("turns of the discriminator at stage 4" in alarm for alarm in said)


def test_without_a_ledger_an_alarm_about_empty_turns_is_said_by_the_metrics() -> None:
    said: list[str] = []
    Alarms(said.append, ledger="off").step({"step": 0, "role": "generator", "empty/discriminator/2": 1.0})
    [alarm] = said
    assert "100% of the turns of the discriminator at stage 2 (Structured Reasoning) are empty" in alarm
