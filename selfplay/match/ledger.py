"""A match as one JSON object, and back, exactly: one line of episodes.jsonl.

Every field always has one type, what may be missing is null, and what depends on data stands in lists, so pandas and the
`datasets` library load the file as it is. A turn's text is `text`, a program's `code`, a case's `source`. Turns that
branches share (the frozen prefix) are written once: conversations are lists of numbers into `turns`, suites' cases numbers
into `cases`, and what has to be run to judge a case again numbers into `texts`. Log-probabilities keep every digit. A run
can leave token ids and log-probabilities out, or keep no ledger; what a record must look like is schema.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from selfplay.cases.case import Case, Refusal
from selfplay.errors import SelfplayError
from selfplay.game.advantages import Values
from selfplay.game.episode import Conversation, Turn, TurnKey
from selfplay.game.extract import Code
from selfplay.game.phases import Step
from selfplay.game.problems import Contract, Problem, StdinTest
from selfplay.judging.turns import WrittenTurn
from selfplay.match.record import Chain, Match, Suite, Target
from selfplay.match.schema import flaw_of

SCHEMA = 3
Kept = Literal["full", "texts", "off"]
NO_LEDGER = "--ledger off: no episode is kept, so this run cannot be scored again, nor its episodes be looked at"
_TOKENS = ("prompt_ids", "ids", "logprobs")  # all that `texts` leaves out; no reward and no advantage is made of it
_PROBLEM = (
    "id",
    "description",
    "entry_point",
    "signature",
    "reference_solution",
    "difficulty",
    "kind",
    "tolerance",
    "helpers",
)
_STEP = ("index", "stage", "role", "phase", "ends_stage")
_KEY = ("step", "problem", "role", "branch", "stage")


class LedgerError(SelfplayError):
    """A record that is none, or of another schema."""


def records(matches: Sequence[Match], kept: Kept = "full") -> list[dict[str, Any]]:
    """The matches as a ledger keeps them: whole, without what is counted in tokens (`texts`), or none (`off`)."""
    return [] if kept == "off" else [to_json(match, tokens=kept == "full") for match in matches]


def to_json(match: Match, tokens: bool = True) -> dict[str, Any]:
    """The match as an object of plain JSON values. Without `tokens` the lists of ids and log-probabilities are empty."""
    turns = Numbered()
    texts = {text: number for number, text in enumerate(dict.fromkeys(case.text for case in match.cases if case.text))}
    return {
        "kind": "match",
        "schema": SCHEMA,
        "step": {name: getattr(match.step, name) for name in _STEP} | {"played": list(match.step.played)},
        "problem": _problem(match.problem),
        "asked": match.asked,
        "chains": [_chain(chain, turns) for chain in match.chains],
        "outside": [
            _chain(chain, turns) | {"verdicts": list(match.outside_verdicts)}
            for chain in (match.outside,)
            if chain is not None
        ],
        "suites": [_suite(suite, match, turns) for suite in match.suites],
        "turns": [_turn(turn) | ({} if tokens else {name: [] for name in _TOKENS}) for turn in turns.values],
        "texts": [*texts],
        "cases": [case_to_json(case) | {"text": texts.get(case.text, -1)} for case in match.cases],
        "own": match.own,
        "replayed": match.replayed,
        "programs": [list(row) for row in match.programs],
        "targets": [
            {"origin": each.origin, "code": each.source, "verdicts": list(each.verdicts)} for each in match.targets
        ],
    }


def from_json(record: Mapping[str, Any]) -> Match:
    """The match that `to_json` wrote. Raises LedgerError where the record is another's, or does not hold together."""
    if record.get("schema") != SCHEMA:
        raise LedgerError(
            f"a record of schema {ascii(record.get('schema'))[:40]}, where {SCHEMA} is read; use the version of selfplay that "
            "wrote it, which config.yaml names"
        )
    record = {"replayed": 0, **record}  # ledgers of runs that knew no replay lack it
    flaw = flaw_of(record)
    if flaw:
        raise LedgerError(f"not the record of a match: {flaw}")
    return _match(record)


def _match(record: Mapping[str, Any]) -> Match:
    turns = [_turn_of(turn) for turn in record["turns"]]
    texts = [*record["texts"], ""]  # -1: a literal case has none
    cases = tuple(case_from_json(case | {"text": texts[case["text"]]}) for case in record["cases"])
    step = record["step"]
    outside = [_chain_of(chain, turns) for chain in record["outside"]]
    return Match(
        problem=_problem_of(record["problem"]),
        step=Step(**{name: step[name] for name in _STEP}, played=tuple(step["played"])),
        asked=record["asked"],
        chains=tuple(_chain_of(chain, turns) for chain in record["chains"]),
        suites=tuple(_suite_of(suite, turns, cases) for suite in record["suites"]),
        cases=cases,
        own=record["own"],
        programs=tuple(map(tuple, record["programs"])),
        targets=tuple(Target(each["origin"], each["code"], tuple(each["verdicts"])) for each in record["targets"]),
        outside=outside[0] if outside else None,
        outside_verdicts=tuple(record["outside"][0]["verdicts"]) if outside else (),
        replayed=record["replayed"],
    )


class Numbered:
    """Numbers turns in order of appearance; one that branches share has one number."""

    def __init__(self) -> None:
        self.values: list[Turn] = []
        self._numbers: dict[int, int] = {}

    def of(self, conversation: Conversation) -> list[int]:
        return [self._number(turn) for turn in conversation.turns]

    def _number(self, turn: Turn) -> int:
        if id(turn) not in self._numbers:
            self._numbers[id(turn)] = len(self.values)
            self.values.append(turn)
        return self._numbers[id(turn)]


# ---- problem ----


def _problem(problem: Problem) -> dict[str, Any]:
    contract = problem.contract or Contract()
    return {name: getattr(problem, name) for name in _PROBLEM} | {
        "tags": list(problem.tags),
        "imports": list(problem.imports),
        "has_contract": problem.contract is not None,
        "requires": list(contract.requires),
        "raises": list(contract.raises),
        "baseline_tests": [_test(test) for test in problem.baseline_tests],
    }


def _test(test: str | StdinTest) -> dict[str, str | None]:
    if isinstance(test, str):
        return {"source": test, "input": None, "output": None}
    return {"source": None, "input": test.input, "output": test.output}


def _problem_of(record: Mapping[str, Any]) -> Problem:
    contract = Contract(tuple(record["requires"]), tuple(record["raises"])) if record["has_contract"] else None
    tests = tuple(
        StdinTest(test["input"], test["output"]) if test["source"] is None else test["source"]
        for test in record["baseline_tests"]
    )
    own = {name: record[name] for name in _PROBLEM}
    tags, imports = tuple(record["tags"]), tuple(record["imports"])
    return Problem(**own, baseline_tests=tests, tags=tags, imports=imports, contract=contract)


# ---- conversations ----


def _turn(turn: Turn) -> dict[str, Any]:
    return {name: getattr(turn.key, name) for name in _KEY} | {
        "text": turn.text,
        "thought": turn.thought,
        "truncated": turn.truncated,
        "fresh": turn.fresh,
        "prompt_ids": list(turn.prompt),
        "ids": list(turn.ids),
        "logprobs": list(turn.logprobs),
    }


def _turn_of(record: Mapping[str, Any]) -> Turn:
    return Turn(
        TurnKey(**{name: record[name] for name in _KEY}),
        tuple(record["prompt_ids"]),
        tuple(record["ids"]),
        tuple(record["logprobs"]),
        record["text"],
        record["truncated"],
        record["fresh"],
        record["thought"],
    )


def _advantages(values: Values) -> dict[str, list[Any]]:
    """By turn whether it was trained, and its advantage, 0 where it was not: a column of nulls has no type, and Arrow's
    reader fails where one such meets another with numbers."""
    return {"trained": [value is not None for value in values], "advantages": [value or 0.0 for value in values]}


def _advantages_of(record: Mapping[str, Any]) -> Values:
    pairs = zip(record["advantages"], record["trained"], strict=True)
    return tuple(value if trained else None for value, trained in pairs)


def _chain(chain: Chain, turns: Numbered) -> dict[str, Any]:
    return {
        "turns": turns.of(chain.conversation),
        "code": chain.code.source,
        "how": chain.code.how,
        "reward": chain.reward,
        **_advantages(chain.advantages),
        "correct": chain.correct,
        "greedy": chain.greedy,
    }


def _chain_of(record: Mapping[str, Any], turns: Sequence[Turn]) -> Chain:
    return Chain(
        Conversation("generator", tuple(turns[number] for number in record["turns"])),
        Code(record["code"], record["how"]),
        record["reward"],
        _advantages_of(record),
        record["correct"],
        record["greedy"],
    )


def chain_to_json(chain: Chain) -> dict[str, Any]:
    """A chain by itself, with its turns."""
    turns = Numbered()
    told = _chain(chain, turns)
    return {"chain": told, "turns": [_turn(turn) for turn in turns.values]}


def chain_from_json(record: Mapping[str, Any]) -> Chain:
    """The chain that `chain_to_json` wrote."""
    return _chain_of(record["chain"], [_turn_of(turn) for turn in record["turns"]])


# ---- cases and suites ----


def case_to_json(case: Case) -> dict[str, Any]:
    """A case by itself."""
    return {
        "name": case.name,
        "source": case.source,
        "arguments": case.arguments,
        "operator": case.operator,
        "expected": case.expected,
        "relative": case.tolerance[0],
        "absolute": case.tolerance[1],
        "calls": list(case.calls),
        "text": case.text,
        "mark": case.mark,
    }


def case_from_json(record: Mapping[str, Any]) -> Case:
    """The case that `case_to_json` wrote."""
    return Case(
        record["name"],
        record["source"],
        record["arguments"],
        record["operator"],
        record["expected"],
        (record["relative"], record["absolute"]),
        tuple(record["calls"]),
        record["text"],
        record["mark"],
    )


def _suite(suite: Suite, match: Match, turns: Numbered) -> dict[str, Any]:
    place = {case.identity: number for number, case in enumerate(match.cases)}
    return {
        "turns": turns.of(suite.conversation),
        "reads": suite.reads,
        "rewards": list(suite.rewards),
        **_advantages(suite.advantages),
        "written": [
            {
                "stage": turn.stage,
                "critique": turn.critique,
                "salvaged": turn.salvaged,
                "dropped": turn.dropped,
                "cases": [
                    {"case": place[case.identity], "name": case.name, "source": case.source} | _reason(refusal)
                    for case, refusal in zip(turn.cases, turn.refusals, strict=True)
                ],
                "unread": [{"name": each.name, "source": each.source} | _reason(each) for each in turn.unread],
            }
            for turn in suite.turns
        ],
    }


def _reason(refusal: Refusal | None) -> dict[str, str | None]:
    return {"reason": refusal.reason if refusal else None, "detail": refusal.detail if refusal else None}


def _suite_of(record: Mapping[str, Any], turns: Sequence[Turn], cases: Sequence[Case]) -> Suite:
    return Suite(
        Conversation("discriminator", tuple(turns[number] for number in record["turns"])),
        record["reads"],
        tuple(_written_of(turn, cases) for turn in record["written"]),
        tuple(record["rewards"]),
        _advantages_of(record),
    )


def _written_of(record: Mapping[str, Any], cases: Sequence[Case]) -> WrittenTurn:
    return WrittenTurn(
        record["stage"],
        tuple(replace(cases[each["case"]], name=each["name"], source=each["source"]) for each in record["cases"]),
        tuple(None if each["reason"] is None else _refusal_of(each) for each in record["cases"]),
        tuple(_refusal_of(each) for each in record["unread"]),
        record["dropped"],
        record["critique"],
        record["salvaged"],
    )


def _refusal_of(record: Mapping[str, Any]) -> Refusal:
    return Refusal(record["name"], record["source"], record["reason"], record["detail"])
