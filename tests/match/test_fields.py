"""A record is held against one table: the page shows the same, and what differs is named before anything is computed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from selfplay.cases.case import Verdict
from selfplay.match.fields import KINDS, Fields
from selfplay.match.ledger import LedgerError, from_json, to_json
from tests.match.groups import group

PAGE = (Path(__file__).parents[2] / "docs" / "ledger.md").read_text(encoding="utf-8")
PART = re.compile(r"^### .*?(?:`([\w.\[\]]+\.)`)?\n\n((?:[* ] .*\n)+)", re.MULTILINE)
FIELD = re.compile(r"`([^`]+)`\s+([a-z ]+)")


def record() -> dict[str, Any]:
    """A match as JSON has it: two programs, two suites, a mutant."""
    rows: dict[str, tuple[Verdict, ...]] = {
        "right": ("passed", "passed", "failed"),
        "wrong": ("passed", "failed", "failed"),
    }
    match = group(rows, [{1: ["x"]}, {2: ["x", "y"]}], refused=["y"], mutants=[("passed", "failed", "passed")])
    return json.loads(json.dumps(to_json(match)))


def test_the_page_shows_every_field_with_its_type_and_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = [
        (prefix + name, kind.strip())
        for prefix, items in PART.findall(PAGE)
        for item in items.split("* ")[1:]
        for name, kind in FIELD.findall(item.partition(": ")[0])
    ]
    assert dict(shown) == read(monkeypatch) | {"schema": "integer"}
    assert len(shown) == len(dict(shown))


def read(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Every field that is read of a record in which no list is empty, with its kind."""
    kinds: dict[str, str] = {}

    def noted(method: str, behind: str) -> None:
        plain = getattr(Fields, method)

        def noting(self: Fields, name: str, kind: str) -> Any:
            kinds[re.sub(r"\[\d+\]", "[]", self.at(name)) + behind] = kind
            return plain(self, name, kind)

        monkeypatch.setattr(Fields, method, noting)

    for method, behind in (("__call__", ""), ("each", "[]"), ("lists", "[][]")):
        noted(method, behind)
    full = record()
    full["outside"] = [full["chains"][0] | {"verdicts": full["programs"][0]}]
    written = full["suites"][0]["written"][0]
    written["unread"] = [{"name": "a", "source": "b", "reason": "c", "detail": "d"}]
    full["problem"]["baseline_tests"] = [{"source": "a", "input": None, "output": None}]
    from_json(full)
    return kinds


def test_the_page_explains_every_type() -> None:
    listed = re.search(r"\| type \| what stands there \|\n\|---\|---\|\n(.*?)\n\n", PAGE, re.DOTALL)
    assert listed
    rows = [line.strip("| ").split(" | ") for line in listed[1].splitlines()]
    assert {kind for kinds, _ in rows for kind in kinds.split(", ")} == set(KINDS)
    for kind, words in rows:
        assert all(KINDS[kind](word) for word in re.findall(r"`(\w+)`", words))


def test_a_field_that_a_later_version_adds_is_left_alone() -> None:
    assert from_json(record() | {"mood": "good"}) == from_json(record())


def spoilt(change: Callable[[dict[str, Any]], object]) -> str:
    told = record()
    change(told)
    with pytest.raises(LedgerError) as raised:
        from_json(told)
    return str(raised.value)


@pytest.mark.parametrize(
    ("change", "flaw"),
    [
        (lambda r: r.pop("own"), "own is missing"),
        (lambda r: r["step"].pop("role"), "step.role is missing"),
        (lambda r: r.update(chains={}), "chains is an object, where a list is due"),
        (lambda r: r.update(turns=[7]), "turns[0] is 7, where an object is due"),
        (lambda r: r["chains"][1].update(reward="1"), "chains[1].reward is '1', where number or null is due"),
        (lambda r: r["chains"][0].update(reward=True), "chains[0].reward is True"),
        (lambda r: r["chains"][0].update(reward=float("nan")), "chains[0].reward is nan"),
        (lambda r: r["chains"][0].update(reward=10**400), "chains[0].reward is a number of many digits"),
        (lambda r: r["programs"][0].__setitem__(1, "fine"), "programs[0][1] is 'fine', where verdict or null is due"),
        (lambda r: r["programs"][0].__setitem__(1, ["failed"]), "programs[0][1] is a list"),
        (lambda r: r["suites"][0]["written"][0].update(dropped=-1), "written[0].dropped is -1, where count is due"),
        (lambda r: r["step"].update(stage=6), "step.stage is 6, where stage is due"),
        (
            lambda r: r["step"].update(played=[2, 3, 4, 5]),
            "step.played is [2, 3, 4, 5], where stages in order are due, 1",
        ),
        (lambda r: r["step"].update(played=[1, 1]), "step.played is [1, 1]"),
        (lambda r: r["suites"][0].update(reads=5), "suites[0].reads is 5, where 0 to 1 is due"),
        (lambda r: r["suites"][0].update(reads=-1), "suites[0].reads is -1, where"),
        (lambda r: r["chains"][0].update(turns=[99] * 5), "chains[0].turns[] is 99, where 0 to 19 is due"),
        (lambda r: r["chains"][0].update(turns=[-1] * 5), "chains[0].turns[] is -1, where 0 to 19"),
        (lambda r: r["chains"][0].update(turns=[0]), "other stages than the step played"),
        (lambda r: r["chains"][0].update(trained=[True]), "not one advantage for each turn"),
        (lambda r: r["suites"][0].update(rewards=[1]), "not one reward for each turn"),
        (lambda r: r["suites"][0].update(written=[]), "what a suite wrote is of other stages"),
        (lambda r: r["suites"][0]["written"][0]["cases"][0].update(case=3), "cases[0].case is 3, where 0 to 2 is due"),
        (lambda r: r["suites"][0]["written"][0]["cases"][0].update(case=-1), "cases[0].case is -1, where 0 to 2"),
        (lambda r: r.update(own=4), "own is 4, where 0 to 3 is due"),
        (lambda r: r["programs"].pop(), "programs has 1 rows for 2 chains"),
        (lambda r: r["programs"][0].pop(), "not one verdict for each of the 3 cases"),
        (lambda r: r["targets"][0].update(verdicts=[]), "not one verdict for each of the 3 cases"),
    ],
)
def test_what_is_wrong_with_a_record_is_named(change: Callable[[dict[str, Any]], object], flaw: str) -> None:
    assert flaw in spoilt(change)


def test_a_record_too_wide_to_be_scored_in_time_is_refused_before_it_is() -> None:
    """A few megabytes may ask for 10^10 lookups: many suites' cases against many targets."""

    def widen(told: dict[str, Any]) -> None:
        told["suites"][0]["written"][0]["cases"] *= 20_000
        told["targets"] *= 20_000

    assert "more than can be scored" in spoilt(widen)


def test_a_message_holds_no_line_breaks_and_no_escapes_of_the_record() -> None:
    said = spoilt(lambda r: r["chains"][0].update(reward="\x1b[2J\n" * 1000))
    assert said.isprintable()
    assert len(said) < 300
