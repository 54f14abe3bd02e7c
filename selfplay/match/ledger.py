"""A match as one JSON object, and back, exactly: one line of episodes.jsonl.

Every field always has one type, what may be missing is null, and what depends on data stands in lists, so pandas and the
`datasets` library load the file as it is. A turn's text is `text`, a program's `code`, a case's `source`. Turns that
branches share (the frozen prefix) are written once: conversations are lists of numbers into `turns`, suites' cases numbers
into `cases`, and what has to be run to judge a case again numbers into `texts`. Log-probabilities keep every digit. A run
can leave token ids and log-probabilities out, or keep no ledger. A record that is read is held against the kind of each of
its fields (fields.py), and its parts against each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from selfplay.cases.case import Case, Refusal
from selfplay.game.advantages import Values
from selfplay.game.episode import Conversation, Role, Turn, TurnKey
from selfplay.game.extract import Code
from selfplay.game.phases import Step
from selfplay.game.problems import Contract, Problem, StdinTest
from selfplay.judging.turns import WrittenTurn
from selfplay.match.fields import Fields, LedgerError
from selfplay.match.match import Chain, Match, Suite, Target

SCHEMA = 3
MAX_WORK = 20_000_000  # cases times programs, suites and targets; the widest steps that we play have thousands
Kept = Literal["full", "texts", "off"]
NO_LEDGER = "--ledger off: no episode is kept, so this run cannot be scored again, nor its episodes be looked at"


# What is plain of each part of a record, by the name of its field, with its kind (fields.py).
_STEP = {"index": "integer", "stage": "stage", "role": "trained", "phase": "text", "ends_stage": "boolean"}
_PROBLEM: dict[str, str] = {
    **dict.fromkeys(("id", "description", "entry_point", "signature"), "text"),
    **dict.fromkeys(("reference_solution", "difficulty"), "text or null"),
    "kind": "text",
    "tolerance": "number or null",
    "helpers": "text",
}
_KEY = {"step": "integer", "problem": "text", "role": "role", "branch": "integer", "stage": "stage"}
_TURN = {"text": "text", "thought": "text", "truncated": "boolean", "fresh": "boolean"}
_CASE: dict[str, str] = dict.fromkeys(("name", "source", "arguments", "operator", "expected"), "text")
_WRITTEN = {"stage": "stage", "critique": "text", "salvaged": "count", "dropped": "count"}
_REFUSAL: dict[str, str] = dict.fromkeys(("name", "source", "reason", "detail"), "text")


def records(matches: Sequence[Match], kept: Kept = "full") -> list[dict[str, Any]]:
    """The matches as a ledger keeps them: whole, without what is counted in tokens (`texts`), or none (`off`)."""
    return [] if kept == "off" else [to_json(match, tokens=kept == "full") for match in matches]


# ---- written ----


def to_json(match: Match, tokens: bool = True) -> dict[str, Any]:
    """The match as an object of plain JSON values. Without `tokens` the lists of ids and log-probabilities are empty: no
    reward and no advantage is made of them."""
    turns, step = Numbered(), match.step
    texts = {text: number for number, text in enumerate(dict.fromkeys(case.text for case in match.cases if case.text))}
    outside = () if match.outside is None else (match.outside,)
    return {
        "kind": "match",
        "schema": SCHEMA,
        "step": _named(step, _STEP) | {"played": list(step.played), "layout": step.layout},
        "problem": _problem(match.problem),
        "asked": match.asked,
        "chains": [_chain(chain, turns) for chain in match.chains],
        "outside": [_chain(chain, turns) | {"verdicts": list(match.outside_verdicts)} for chain in outside],
        "suites": [_suite(suite, match, turns) for suite in match.suites],
        "turns": [_turn(turn, tokens) for turn in turns.values],
        "texts": [*texts],
        "cases": [case_to_json(case) | {"text": texts.get(case.text, -1)} for case in match.cases],
        "own": match.num_baseline,
        "programs": [list(row) for row in match.programs],
        "targets": [
            {"origin": each.origin, "code": each.source, "verdicts": list(each.verdicts)} for each in match.targets
        ],
    }


class Numbered:
    """Numbers turns in order of appearance; one that branches share has one number."""

    def __init__(self) -> None:
        self.values: list[Turn] = []
        self._numbers: dict[int, int] = {}

    def of(self, conversation: Conversation) -> list[int]:
        for turn in conversation.turns:
            if id(turn) not in self._numbers:
                self._numbers[id(turn)] = len(self.values)
                self.values.append(turn)
        return [self._numbers[id(turn)] for turn in conversation.turns]


def _named(value: object, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


def _problem(problem: Problem) -> dict[str, Any]:
    contract = problem.contract or Contract()
    return _named(problem, _PROBLEM) | {
        "tags": list(problem.tags),
        "imports": list(problem.imports),
        "has_contract": problem.contract is not None,
        "requires": list(contract.requires),
        "raises": list(contract.raises),
        "baseline_tests": [
            {"source": test, "input": None, "output": None}
            if isinstance(test, str)
            else {"source": None, "input": test.input, "output": test.output}
            for test in problem.baseline_tests
        ],
    }


def _turn(turn: Turn, tokens: bool = True) -> dict[str, Any]:
    lists = {"prompt_ids": turn.prompt, "ids": turn.ids, "logprobs": turn.logprobs}
    return (
        _named(turn.key, _KEY)
        | _named(turn, _TURN)
        | {name: list(ids) if tokens else [] for name, ids in lists.items()}
    )


def _advantages(values: Values) -> dict[str, list[Any]]:
    """By turn whether it was trained, and its advantage, 0 where it was not: a column of nulls has no type, and Arrow's
    reader fails where one such meets another with numbers."""
    return {"trained": [value is not None for value in values], "advantages": [value or 0.0 for value in values]}


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


def chain_to_json(chain: Chain) -> dict[str, Any]:
    """A chain by itself, with its turns."""
    turns = Numbered()
    record = _chain(chain, turns)
    return {"chain": record, "turns": [_turn(turn) for turn in turns.values]}


def case_to_json(case: Case) -> dict[str, Any]:
    """A case by itself."""
    tolerance = dict(zip(("relative", "absolute"), case.tolerance, strict=True))
    return _named(case, _CASE) | tolerance | {"calls": list(case.calls), "text": case.text, "mark": case.mark}


def _suite(suite: Suite, match: Match, turns: Numbered) -> dict[str, Any]:
    place = {case.identity: number for number, case in enumerate(match.cases)}
    return {
        "turns": turns.of(suite.conversation),
        "reads": suite.reads,
        "rewards": list(suite.rewards),
        **_advantages(suite.advantages),
        "written": [
            {
                **_named(turn, _WRITTEN),
                "cases": [
                    {"case": place[case.identity], "name": case.name, "source": case.source}
                    | {name: getattr(refusal, name, None) for name in ("reason", "detail")}
                    for case, refusal in zip(turn.cases, turn.refusals, strict=True)
                ],
                "unread": [_named(each, _REFUSAL) for each in turn.unread],
            }
            for turn in suite.turns
        ],
    }


# ---- read ----


def from_json(record: Mapping[str, Any]) -> Match:
    """The match that `to_json` wrote. Raises LedgerError where the record is another's, or does not hold together."""
    if record.get("schema") != SCHEMA:
        raise LedgerError(
            f"a record of schema {ascii(record.get('schema'))[:40]}, where {SCHEMA} is read; use the version of selfplay that "
            "wrote it, which config.yaml names"
        )
    if record.get("replayed"):
        raise LedgerError("a record of a run with replay, which is no more; use the version of selfplay that wrote it")
    try:
        match = _match_of(Fields(record))
        _check(match)
    except LedgerError as error:
        raise LedgerError(f"not the record of a match: {error}") from None
    return match


def _match_of(fields: Fields) -> Match:
    fields("kind", "text")
    turns = [_turn_of(each) for each in fields.objects("turns")]
    texts = (*fields.each("texts", "text"), "")  # -1: a literal case has none
    cases = tuple(_case_of(each, texts[each.place("text", len(texts) - 1, -1)]) for each in fields.objects("cases"))
    chains = tuple(_chain_of(each, turns) for each in fields.objects("chains"))
    outside = [(_chain_of(each, turns), each.each("verdicts", "verdict or null")) for each in fields.objects("outside")]
    suites = [
        _suite_of(each, turns, cases, each.place("reads", len(chains), -1 if outside else 0))
        for each in fields.objects("suites")
    ]
    targets = tuple(
        Target(each("origin", "origin"), each("code", "text"), each.each("verdicts", "verdict or null"))
        for each in fields.objects("targets")
    )
    step, programs = fields.object("step"), fields.lists("programs", "verdict or null")
    if len(programs) != len(chains):
        raise LedgerError(f"programs has {len(programs)} rows for {len(chains)} chains")
    if any(
        len(row) != len(cases) for row in (*programs, *(each.verdicts for each in targets), *(r for _, r in outside))
    ):
        raise LedgerError(f"a program or a target has not one verdict for each of the {len(cases)} cases")
    return Match(
        problem=_problem_of(fields.object("problem")),
        step=Step(
            **step.plain(_STEP),
            played=step.each("played", "stage"),
            layout=step.optional("layout", "trained or null", None),
        ),
        asked=fields("asked", "count"),
        chains=chains,
        suites=tuple(suites),
        cases=cases,
        num_baseline=fields.place("own", len(cases) + 1),
        programs=programs,
        targets=targets,
        outside=outside[0][0] if outside else None,
        outside_verdicts=outside[0][1] if outside else (),
    )


def _check(match: Match) -> None:
    """Raises LedgerError where a conversation is not of the stages that the step played, or there is too much to be scored."""
    played, faced = match.step.played, len(match.cases) + sum(len(suite.cases) for suite in match.suites)
    if (len(match.programs) + len(match.targets) + len(match.suites) + 2) * faced > MAX_WORK:
        raise LedgerError(f"it holds {len(match.programs)} programs and {faced} cases, more than can be scored")
    if list(played) != sorted(set(played)) or match.step.stage not in played:
        raise LedgerError(
            f"step.played is {list(played[:10])}, where stages in order are due, {match.step.stage} among them"
        )
    outside = () if match.outside is None else (match.outside,)
    for episode in (*match.chains, *outside, *match.suites):
        stages = tuple(turn.stage for turn in episode.conversation.turns)
        golden = isinstance(episode, Suite) and stages == played[-1:]  # `--adversary golden` says all in its last turn
        if stages != played and not golden:
            raise LedgerError(f"a conversation has other stages than the step played, {list(played)}")
        if len(episode.advantages) not in (0, len(stages)):
            raise LedgerError("a conversation has not one advantage for each turn")
        if isinstance(episode, Suite) and tuple(turn.stage for turn in episode.turns) != stages:
            raise LedgerError(f"what a suite wrote is of other stages than its turns, {list(stages)}")
        if isinstance(episode, Suite) and len(episode.rewards) not in (0, len(stages)):
            raise LedgerError("a suite has not one reward for each turn")


def _problem_of(fields: Fields) -> Problem:
    contract = Contract(fields.each("requires", "text"), fields.each("raises", "text"))
    return Problem(
        **fields.plain(_PROBLEM),
        baseline_tests=tuple(map(_test_of, fields.objects("baseline_tests"))),
        tags=fields.each("tags", "text"),
        imports=fields.each("imports", "text"),
        contract=contract if fields("has_contract", "boolean") else None,
    )


def _test_of(fields: Fields) -> str | StdinTest:
    source, given, expected = (fields(name, "text or null") for name in ("source", "input", "output"))
    return StdinTest(given, expected) if source is None else source


def _turn_of(fields: Fields) -> Turn:
    return Turn(
        TurnKey(**fields.plain(_KEY)),
        fields.each("prompt_ids", "integer"),
        fields.each("ids", "integer"),
        fields.each("logprobs", "number"),
        **fields.plain(_TURN),
    )


def _conversation_of(fields: Fields, role: Role, turns: Sequence[Turn]) -> Conversation:
    return Conversation(role, tuple(turns[number] for number in fields.places("turns", len(turns))))


def _advantages_of(fields: Fields) -> Values:
    trained, values = fields.each("trained", "boolean"), fields.each("advantages", "number")
    if len(trained) != len(values):
        raise LedgerError("a conversation has not one advantage for each turn")
    return tuple(value if marked else None for value, marked in zip(values, trained, strict=True))


def _chain_of(fields: Fields, turns: Sequence[Turn]) -> Chain:
    return Chain(
        _conversation_of(fields, "generator", turns),
        Code(fields("code", "text or null"), fields("how", "text")),
        fields("reward", "number or null"),
        _advantages_of(fields),
        fields("correct", "boolean or null"),
        fields("greedy", "boolean"),
    )


def chain_from_json(record: Mapping[str, Any]) -> Chain:
    """The chain that `chain_to_json` wrote."""
    fields = Fields(record)
    return _chain_of(fields.object("chain"), [_turn_of(each) for each in fields.objects("turns")])


def _case_of(fields: Fields, text: str) -> Case:
    return Case(
        **fields.plain(_CASE),
        mark=fields("mark", "text"),
        tolerance=(fields("relative", "number"), fields("absolute", "number")),
        calls=fields.each("calls", "text"),
        text=text,
    )


def case_from_json(fields: Fields) -> Case:
    """The case that `case_to_json` wrote."""
    return _case_of(fields, fields("text", "text"))


def _suite_of(fields: Fields, turns: Sequence[Turn], cases: Sequence[Case], reads: int) -> Suite:
    return Suite(
        _conversation_of(fields, "discriminator", turns),
        reads,
        tuple(_written_of(each, cases) for each in fields.objects("written")),
        fields.each("rewards", "number or null"),
        _advantages_of(fields),
    )


def _written_of(fields: Fields, cases: Sequence[Case]) -> WrittenTurn:
    written = [(each, cases[each.place("case", len(cases))]) for each in fields.objects("cases")]
    return WrittenTurn(
        cases=tuple(replace(case, name=each("name", "text"), source=each("source", "text")) for each, case in written),
        refusals=tuple(_fate_of(each) for each, _ in written),
        unread=tuple(Refusal(**each.plain(_REFUSAL)) for each in fields.objects("unread")),
        **fields.plain(_WRITTEN),
    )


def _fate_of(fields: Fields) -> Refusal | None:
    reason, detail = (fields(name, "text or null") for name in ("reason", "detail"))
    return None if reason is None else Refusal(fields("name", "text"), fields("source", "text"), reason, detail or "")
