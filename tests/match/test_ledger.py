"""A match survives its record: exactly, with one type per field, without what must stay secret."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.box.local import LocalBox
from selfplay.game.episode import Conversation, TurnKey
from selfplay.game.phases import Step
from selfplay.game.players import Sampling
from selfplay.game.problems import Contract, Problem, StdinTest
from selfplay.game.prompts import Prompts
from selfplay.game.rewards import RULES, get_rule
from selfplay.game.rollout import Table, play
from selfplay.judging.judge import Judge
from selfplay.match.counts import step_counts
from selfplay.match.examine import examine
from selfplay.match.ledger import LedgerError, from_json, records, to_json
from selfplay.match.match import Match
from selfplay.match.score import score
from selfplay.match.show import sample_text
from selfplay.mutation.cache import MutantCache
from tests.match.groups import BIG
from tests.match.matches import matches
from tests.scripted import ScriptedPlayer

PROBLEM = replace(
    BIG,
    tags=("number",),
    contract=Contract(("n >= 0",), ("ValueError",)),
    hidden_tests=("assert f(123456) == True",),
)
TESTS = {
    1: "assert f(9) == True\nassert f(9) == 1",
    3: "assert f(3) is True\nassert f(4) == False\nassert f(((",
    5: "no",
}
RUNS = {
    2: "ns = [2, 3]\nassert [f(n) for n in ns] == [False, True]\nassert [f(n) for n in ns] == [True, True]",
    3: "assert f(9) == True",
    4: "def test_all():\n    found = {f(n) for n in (0, 8)}\n    assert True in found\n    assert len(found) == 2",
}


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with LocalBox() as box:
        yield Judge(box)


@pytest.fixture(scope="module")
def match(judge: Judge) -> Match:
    """A generator's step from stage 3 on, with a shared prefix, refused and unreadable tests, mutants and rewards."""
    return played(judge, TESTS)


@pytest.fixture(scope="module")
def with_runs(judge: Judge) -> Match:
    """The same with tests that are no literals."""
    return played(judge, RUNS)


def played(judge: Judge, tests: dict[int, str]) -> Match:
    def said(key: TurnKey) -> str:
        if key.role == "discriminator":
            return tests.get(key.stage, "")
        return ("def f(n):\n    return n > 3", "I do not know.")[key.branch] if key.stage == 5 else "thinking"

    long = Sampling(max_tokens=4000)
    step = Step(4, 3, "generator", "stage 3 generator")
    groups = play(ScriptedPlayer(said), Prompts("compact"), [PROBLEM], step, Table(2, 1, 0, long, long))
    return score(examine(groups, step, judge, 2, MutantCache()), get_rule("novel_kills"))[0]


def test_a_match_is_read_back_exactly(match: Match) -> None:
    line = json.dumps(to_json(match))
    again = from_json(json.loads(line))
    assert again == match
    assert json.dumps(to_json(again)) == line


def test_tests_that_are_run_are_read_back_exactly_and_their_texts_written_once(with_runs: Match) -> None:
    line = json.dumps(to_json(with_runs))
    assert from_json(json.loads(line)) == with_runs
    assert [text for text in RUNS.values() if "assert f(9)" not in text] == json.loads(line)["texts"]
    assert sum(not case.literal for case in with_runs.cases) > len(json.loads(line)["texts"])
    assert [case["text"] for case in json.loads(line)["cases"] if case["operator"] != "runs"] == [-1, -1, -1]


def test_a_match_with_tests_that_are_run_is_scored_again_without_a_sandbox(
    with_runs: Match, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("fork", "posix_spawn"):
        monkeypatch.delattr(os, name)
    monkeypatch.delattr(subprocess, "Popen")
    for name in RULES:
        rule = get_rule(name)
        assert score([through_json(with_runs)], rule) == score([with_runs], rule)


def test_a_record_of_the_schema_before_is_refused_with_what_to_do(match: Match) -> None:
    told = "a record of schema 2, where 3 is read; use the version of selfplay that wrote it"
    with pytest.raises(LedgerError, match=told):
        from_json(to_json(match) | {"schema": 2})


def test_a_record_with_replayed_cases_is_refused_and_one_without_is_read(match: Match) -> None:
    assert from_json(to_json(match) | {"replayed": 0}) == match
    with pytest.raises(LedgerError, match="a record of a run with replay"):
        from_json(to_json(match) | {"replayed": 1})


def test_a_case_that_names_a_text_that_is_not_there_is_refused(with_runs: Match) -> None:
    record = to_json(with_runs)
    record["texts"] = record["texts"][:-1]
    with pytest.raises(LedgerError, match=r"cases\[5\]\.text is 1, where -1 to 0 is due"):
        from_json(record)


def thoughtful(match: Match) -> Match:
    """The match, whose first chain thought at stage 4, and thought of nothing but thoughts at stage 5."""
    first, *others = match.chains
    *turns, before, last = first.conversation.turns
    turns += [replace(before, thought="<think>hm</think>"), replace(last, thought="<think>", text="", truncated=True)]
    return replace(match, chains=(replace(first, conversation=Conversation("generator", tuple(turns))), *others))


def test_thoughts_are_recorded_and_those_cut_off_counted(match: Match) -> None:
    thought = thoughtful(match)
    assert from_json(to_json(thought)) == thought
    assert step_counts([match], (0.0, 0)).metrics()["thought_cut"] is None
    assert step_counts([thought], (0.0, 0)).metrics()["thought_cut"] == 0.5


def test_a_thought_that_was_cut_off_is_shown_as_such(match: Match) -> None:
    assert "generator (cut off in a thought at the token limit):" in sample_text(thoughtful(match))


def test_without_tokens_everything_else_is_kept_and_rewards_are_the_same(match: Match) -> None:
    whole, [slim] = to_json(match), records([match], "texts")
    for turn, kept in zip(whole["turns"], slim["turns"], strict=True):
        assert turn | {"prompt_ids": [], "ids": [], "logprobs": []} == kept
    assert {name: slim[name] for name in slim if name != "turns"} == {n: whole[n] for n in whole if n != "turns"}
    again = from_json(slim)
    assert score([again], get_rule("novel_kills")) == [again]
    assert records([match], "off") == []


def through_json(match: Match) -> Match:
    return from_json(json.loads(json.dumps(to_json(match))))


@given(matches())
def test_any_match_is_read_back_exactly(match: Match) -> None:
    assert through_json(match) == match


@given(matches(), st.sampled_from(sorted(RULES)), st.sampled_from(sorted(RULES)))
def test_a_match_that_went_through_json_scores_the_same(match: Match, played: str, asked: str) -> None:
    (scored,) = score([match], get_rule(played))
    assert score([through_json(scored)], get_rule(asked)) == score([match], get_rule(asked))


@given(matches())
def test_a_chain_from_outside_and_what_is_known_of_a_program_are_kept(match: Match) -> None:
    outside = replace(match.chains[0], correct=True, greedy=True, reward=0.1 + 0.2, advantages=(None, -0.0, 1e-300))
    read = replace(match, outside=outside, outside_verdicts=match.programs[0])
    assert through_json(read) == read
    assert through_json(match).outside is None


@given(matches())
def test_one_schema_holds_for_all_matches(match: Match) -> None:
    found: dict[str, set[str]] = {}
    for scored in (match, *(score([match], RULES["adversarial"]))):
        for where, kind in kinds(to_json(scored)):
            found.setdefault(where, set()).add(kind)
    assert all(len(own) == 1 for own in found.values())


@pytest.mark.parametrize("number", [99, "0", None])
def test_a_record_that_numbers_a_turn_it_does_not_hold_is_refused(match: Match, number: object) -> None:
    record = to_json(match)
    record["chains"][0]["turns"] = [number]
    with pytest.raises(LedgerError, match="not the record of a match"):
        from_json(record)


@pytest.mark.parametrize("name", ["schema", "step", "problem", "chains", "suites", "turns", "cases", "own", "targets"])
def test_a_record_that_lacks_a_part_is_refused(match: Match, name: str) -> None:
    record = to_json(match)
    del record[name]
    with pytest.raises(LedgerError):
        from_json(record)


def test_a_turn_that_branches_share_is_written_once(match: Match) -> None:
    record = to_json(match)
    shared = set(record["chains"][0]["turns"]) & set(record["chains"][1]["turns"])
    assert {record["turns"][number]["stage"] for number in shared} == {1, 2}


def test_hidden_tests_never_enter_a_match(match: Match) -> None:
    assert match.problem == replace(PROBLEM, hidden_tests=())
    assert "123456" not in json.dumps(to_json(match))


def test_every_written_test_is_there_with_why_it_does_not_count(match: Match) -> None:
    [suite] = to_json(match)["suites"]
    cases = [case for turn in suite["written"] for case in turn["cases"]]
    assert [(case["source"], case["reason"]) for case in cases] == [
        ("assert f(9) == True", None),
        ("assert f(9) == 1", "duplicate"),
        ("assert f(3) is True", None),
        ("assert f(4) == False", "reference"),
    ]
    assert sum(turn["dropped"] + len(turn["unread"]) for turn in suite["written"]) == 1


def test_the_matrix_names_where_each_target_comes_from(match: Match) -> None:
    record = to_json(match)
    assert {target["origin"] for target in record["targets"]} == {"paid"}
    assert all(len(row) == len(record["cases"]) for row in record["programs"])
    assert all(len(target["verdicts"]) == len(record["cases"]) for target in record["targets"])


def kinds(value: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """Every field's path with the type that stands there; numbers are one type, null stands for none."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from kinds(inner, f"{where}.{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from kinds(inner, f"{where}[]")
    elif value is not None:
        yield where, "number" if type(value) in (int, float) else type(value).__name__


def test_every_field_always_has_one_type(match: Match, judge: Judge) -> None:
    stdin = Problem("sum", "", "", "", (StdinTest("1\n", "1\n"),), "print(input())", kind="stdio", tolerance=0.5)
    silent = replace(PROBLEM, id="silent", contract=None, reference_solution=None)
    long, step = Sampling(max_tokens=4000), Step(0, 1, "both", "")
    groups = play(ScriptedPlayer(lambda _: ""), Prompts("compact"), [stdin, silent], step, Table(1, 1, 0, long, long))
    matches = [match, *score(examine(groups, step, judge, 2), get_rule("progressive"))]
    found: dict[str, set[str]] = {}
    for each in matches:
        for where, kind in kinds(to_json(each)):
            found.setdefault(where, set()).add(kind)
    assert {where: own for where, own in found.items() if len(own) > 1} == {}


def test_records_load_in_pandas_and_in_the_datasets_library(match: Match, tmp_path: Path) -> None:
    """Records of both roles' steps, many enough that the reader takes several blocks."""
    pandas, datasets = pytest.importorskip("pandas"), pytest.importorskip("datasets")
    trained = tuple(replace(suite, advantages=(0.5,) * len(suite.advantages)) for suite in match.suites)
    both = [to_json(match), to_json(replace(match, suites=trained))]
    file = tmp_path / "episodes.jsonl"
    file.write_text("\n".join(json.dumps(record) for record in both for _ in range(40)), "utf-8")
    assert list(pandas.read_json(file, lines=True)["own"]) == [2] * 80
    loaded = datasets.load_dataset("json", data_files=str(file), cache_dir=str(tmp_path / "cache"), chunksize=1 << 16)
    assert loaded["train"].num_rows == 80


@pytest.mark.parametrize("record", [{}, {"schema": 1}, {"schema": 4}, {"schema": 3}, {"schema": 3, "turns": [{}]}])
def test_a_record_of_another_kind_is_refused(record: dict[str, Any]) -> None:
    with pytest.raises(LedgerError, match=r"schema|not the record"):
        from_json(record)
